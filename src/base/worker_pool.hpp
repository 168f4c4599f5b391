#pragma once
// The only place with threads of our own.

#include <functional>

namespace gaussmith {

/// Calls work() on this thread and, at the same time, on up to `threads` - 1 workers; returns when every call that
/// began has ended. A worker that has not begun when this thread's own call ends is no longer waited for, so work()
/// must take its share from a common store and be complete with one call. It must not throw. Workers are made when
/// first needed and sleep between calls; where none can be made, fewer take part. Inside work() further calls stay on
/// their thread.
void work_together(int threads, const std::function<void()>& work);

/// The number of threads that work_together would use when asked for `threads`: 1 inside work().
[[nodiscard]] int threads_at_hand(int threads);

}  // namespace gaussmith
