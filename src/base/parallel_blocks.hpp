#pragma once

#include "gaussmith/types.hpp"

#include <functional>

namespace gaussmith {

/// Calls body(begin, end) for consecutive blocks of [0, count), each of `block` items (the last may be shorter), on up
/// to `threads` threads. Blocks do not depend on the thread count, so work that writes only its own block gives the
/// same bits at any number of threads. The first exception is rethrown on the caller's thread. Calls from inside a body
/// stay on its thread.
void parallel_blocks(Index count, Index block, int threads, const std::function<void(Index, Index)>& body);

/// The number of threads that `requested` stands for: itself, or all cores for 0.
[[nodiscard]] int resolve_threads(int requested);

}  // namespace gaussmith
