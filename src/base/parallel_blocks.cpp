#include "base/parallel_blocks.hpp"

#include "base/worker_pool.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace gaussmith {

int resolve_threads(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_blocks(Index count, Index block, int threads, const std::function<void(Index, Index)>& body) {
  const Index blocks = (count + block - 1) / block;
  const auto run_block = [&](Index b) { body(b * block, std::min(count, (b + 1) * block)); };
  const int workers = threads_at_hand(static_cast<int>(std::min<Index>(threads, blocks)));
  if (workers <= 1) {
    for (Index b = 0; b < blocks; ++b) run_block(b);
    return;
  }
  std::atomic<Index> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  work_together(workers, [&] {
    try {
      for (Index b = next++; b < blocks; b = next++) run_block(b);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = blocks;
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gaussmith
