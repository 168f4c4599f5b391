#include "base/parallel_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gaussmith {

int resolve_threads(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_blocks(Index count, Index block, int threads, const std::function<void(Index, Index)>& body) {
  const Index blocks = (count + block - 1) / block;
  const auto run_block = [&](Index b) { body(b * block, std::min(count, (b + 1) * block)); };
  const Index workers = std::min<Index>(threads, blocks);
  if (workers <= 1) {
    for (Index b = 0; b < blocks; ++b) run_block(b);
    return;
  }
  std::atomic<Index> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (Index b = next++; b < blocks; b = next++) run_block(b);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = blocks;
    }
  };
  {
    std::vector<std::jthread> pool;
    for (Index w = 1; w < workers; ++w) pool.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gaussmith
