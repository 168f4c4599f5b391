#pragma once

#include "gaussmith/types.hpp"

#include <functional>
#include <vector>

namespace gaussmith {

/// A sequence of tasks that may run at the same time where they touch different things. Each task names the things that
/// it reads and writes by number; it waits for the tasks added before it that write what it touches or read what it
/// writes. Every thing thus sees the operations of the sequence in its order, whatever the number of threads.
class TaskGraph {
 public:
  explicit TaskGraph(Index things)
      : last_writer_(static_cast<std::size_t>(things), none), readers_(last_writer_.size()) {}

  void add(const std::vector<Index>& reads, const std::vector<Index>& writes, std::function<void()> task);

  /// Runs all tasks, once, on up to `threads` threads; earlier tasks go first where there is a choice. The first
  /// exception ends the run and is rethrown.
  void run(int threads);

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Task {
    std::function<void()> work;
    std::vector<std::size_t> followers;
    Index waits_for = 0;
  };
  void wait_for(std::size_t earlier, std::size_t later);

  std::vector<Task> tasks_;
  std::vector<std::size_t> last_writer_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace gaussmith
