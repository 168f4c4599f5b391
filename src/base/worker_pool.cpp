#include "base/worker_pool.hpp"

#include "base/signals_held.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gaussmith {

namespace {

/// OpenBLAS prints warnings when more than 128 threads call it at once.
constexpr int most_threads = 64;

thread_local bool inside_work = false;

/// Work with free places for workers.
struct Invitation {
  const std::function<void()>* work = nullptr;
  int places = 0;
  int present = 0;
  std::condition_variable all_left = {};
};

class WorkerPool {
 public:
  void run(int helpers, const std::function<void()>& work) {
    Invitation invitation{.work = &work, .places = helpers};
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(&invitation);
      open_places_ += helpers;
      hire();
    }
    for (int h = 0; h < helpers; ++h) invited_.notify_one();
    inside_work = true;
    work();
    inside_work = false;
    std::unique_lock lock(mutex_);
    open_places_ -= invitation.places;
    std::erase(open_, &invitation);
    invitation.all_left.wait(lock, [&] { return invitation.present == 0; });
  }

 private:
  /// Makes workers until each open place has one, as far as the machine allows.
  void hire() {
    // Inherited by workers: signals are for the threads of the caller.
    const SignalsHeld held;
    while (workers_ < std::min(busy_ + open_places_, most_threads - 1)) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::exception&) {  // No thread, or no memory for one: those that there are must do.
        return;
      }
      ++workers_;
    }
  }

  [[noreturn]] void serve() {
    inside_work = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      invited_.wait(lock, [&] { return !open_.empty(); });
      Invitation& invitation = *open_.front();
      if (--invitation.places == 0) open_.erase(open_.begin());
      --open_places_;
      ++busy_;
      ++invitation.present;
      lock.unlock();
      (*invitation.work)();
      lock.lock();
      --busy_;
      if (--invitation.present == 0) invitation.all_left.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable invited_;
  std::vector<Invitation*> open_;
  int open_places_ = 0;
  int workers_ = 0;
  int busy_ = 0;
};

std::atomic<WorkerPool*> current_pool{nullptr};

/// Never destroyed: workers asleep at the end of the process must not hold it up, and a child of fork(), which has none
/// of them, starts a pool of its own.
WorkerPool& pool() {
  static const int forks = pthread_atfork(nullptr, nullptr, [] { current_pool = nullptr; });
  static_cast<void>(forks);
  WorkerPool* here = current_pool;
  if (!here) {
    auto* made = new WorkerPool;
    if (current_pool.compare_exchange_strong(here, made))
      here = made;
    else
      delete made;
  }
  return *here;
}

}  // namespace

int threads_at_hand(int threads) { return inside_work ? 1 : std::clamp(threads, 1, most_threads); }

void work_together(int threads, const std::function<void()>& work) {
  const int helpers = threads_at_hand(threads) - 1;
  if (helpers == 0)
    work();
  else
    pool().run(helpers, work);
}

}  // namespace gaussmith
