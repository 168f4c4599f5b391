#include "base/task_graph.hpp"

#include "base/worker_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <queue>

namespace gaussmith {

void TaskGraph::wait_for(std::size_t earlier, std::size_t later) {
  if (earlier == none || earlier == later) return;
  tasks_[earlier].followers.push_back(later);
  ++tasks_[later].waits_for;
}

void TaskGraph::add(const std::vector<Index>& reads, const std::vector<Index>& writes, std::function<void()> task) {
  const std::size_t number = tasks_.size();
  tasks_.push_back({std::move(task), {}, 0});
  for (const Index thing : reads) {
    wait_for(last_writer_[static_cast<std::size_t>(thing)], number);
    readers_[static_cast<std::size_t>(thing)].push_back(number);
  }
  for (const Index thing : writes) {
    auto& readers = readers_[static_cast<std::size_t>(thing)];
    for (const std::size_t reader : readers) wait_for(reader, number);
    readers.clear();
    wait_for(last_writer_[static_cast<std::size_t>(thing)], number);
    last_writer_[static_cast<std::size_t>(thing)] = number;
  }
}

void TaskGraph::run(int threads) {
  if (threads_at_hand(threads) == 1) {
    for (const Task& task : tasks_) task.work();
    return;
  }
  std::mutex mutex;
  std::condition_variable more;
  // Room for all from the start: a worker must not throw for want of memory.
  std::vector<std::size_t> room;
  room.reserve(tasks_.size());
  std::priority_queue ready(std::greater<>{}, std::move(room));
  std::size_t left = tasks_.size();
  std::exception_ptr failure;
  for (std::size_t number = 0; number < tasks_.size(); ++number)
    if (tasks_[number].waits_for == 0) ready.push(number);

  work_together(threads, [&] {
    std::unique_lock lock(mutex);
    for (;;) {
      more.wait(lock, [&] { return !ready.empty() || left == 0 || failure; });
      if (left == 0 || failure) return;
      const Task& task = tasks_[ready.top()];
      ready.pop();
      lock.unlock();
      std::exception_ptr thrown;
      try {
        task.work();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !failure) failure = thrown;
      --left;
      for (const std::size_t follower : task.followers)
        if (--tasks_[follower].waits_for == 0) ready.push(follower);
      if (left == 0 || failure) more.notify_all();
      // This thread takes one of them itself.
      for (std::size_t others = 1; others < ready.size(); ++others) more.notify_one();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gaussmith
