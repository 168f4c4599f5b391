#include "base/worker_pool.hpp"

#include "base/parallel_blocks.hpp"
#include "base/task_graph.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace gaussmith {
namespace {

TEST(WorkerPool, OneThreadIsTheCallersOwn) {
  int calls = 0;
  work_together(1, [&, caller = std::this_thread::get_id()] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(threads_at_hand(0), 1);
  EXPECT_EQ(threads_at_hand(3), 3);
}

TEST(WorkerPool, WorkersMeet) {
  for (const int threads : {2, 3, 4}) {
    std::mutex mutex;
    std::condition_variable all_here;
    int here = 0;
    work_together(threads, [&] {
      std::unique_lock lock(mutex);
      if (++here == threads) all_here.notify_all();
      all_here.wait(lock, [&] { return here == threads; });
    });
    EXPECT_EQ(here, threads);
  }
}

TEST(WorkerPool, AWorkerThatComesTooLateIsNotWaitedFor) {
  // No worker can be at two calls: those of this thread end while every worker is held up in the other one.
  std::atomic<bool> hold{true};
  std::atomic<int> held{0};
  std::thread other([&] {
    work_together(2, [&] {
      ++held;
      while (hold) std::this_thread::yield();
    });
  });
  while (held < 2) std::this_thread::yield();
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> calls{0};
    work_together(2, [&] { ++calls; });
    EXPECT_GE(calls, 1);
    EXPECT_LE(calls, 2);
  }
  hold = false;
  other.join();
}

TEST(WorkerPool, NestedCallsStayOnTheirThread) {
  std::atomic<int> inner{0};
  parallel_blocks(8, 1, 4, [&](Index, Index) {
    EXPECT_EQ(threads_at_hand(4), 1);
    const auto here = std::this_thread::get_id();
    parallel_blocks(5, 1, 4, [&](Index, Index) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 40);
  EXPECT_EQ(threads_at_hand(4), 4);
}

TEST(WorkerPool, SeveralCallersShareTheWorkers) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<int> seen(97, 0);
        parallel_blocks(97, 3, 3, [&](Index begin, Index end) {
          for (Index i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (const int times : seen) wrong += times != 1;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerPool, TheFirstExceptionComesOutAndTheNextCallWorks) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(parallel_blocks(50, 1, 3,
                                 [](Index begin, Index) {
                                   if (begin % 7 == 3) throw std::runtime_error("x");
                                 }),
                 std::runtime_error);
    std::atomic<int> sum{0};
    parallel_blocks(50, 1, 3, [&](Index begin, Index) { sum += static_cast<int>(begin); });
    EXPECT_EQ(sum, 49 * 25);
  }
}

#ifndef GAUSSMITH_INSTRUMENTED
TEST(WorkerPool, AChildOfForkHasWorkersOfItsOwn) {
  parallel_blocks(4, 1, 2, [](Index, Index) {});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> sum{0};
    parallel_blocks(100, 1, 2, [&](Index begin, Index) { sum += static_cast<int>(begin); });
    _exit(sum == 4950 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(TaskGraph, EveryThingSeesTheSequence) {
  constexpr Index things = 6;
  std::vector<double> expected(things, 1.0);
  std::vector<std::vector<double>> found(5, expected);
  for (int threads = 1; threads <= 4; ++threads) {
    auto& values = found[static_cast<std::size_t>(threads)];
    TaskGraph graph(things);
    if (threads == 1) std::fill(expected.begin(), expected.end(), 1.0);
    for (Index t = 0; t < 300; ++t) {
      const Index from = t * 7 % things;
      const Index other = t * t % things;
      const Index to = (t * 5 + 1) % things;
      const auto step = [=](std::vector<double>& v) {
        auto& x = v[static_cast<std::size_t>(to)];
        x = 0.5 * x + v[static_cast<std::size_t>(from)] - 0.25 * v[static_cast<std::size_t>(other)] +
            static_cast<double>(t % 11);
      };
      graph.add({from, other}, {to}, [step, &values] { step(values); });
      if (threads == 1) step(expected);
    }
    graph.run(threads);
    EXPECT_EQ(values, expected);
  }
}

TEST(TaskGraph, AnExceptionEndsTheRun) {
  for (const int threads : {1, 3}) {
    TaskGraph graph(1);
    int after = 0;
    graph.add({}, {0}, [] { throw std::runtime_error("x"); });
    graph.add({0}, {}, [&] { ++after; });
    EXPECT_THROW(graph.run(threads), std::runtime_error);
    EXPECT_EQ(after, 0);
    TaskGraph empty(3);
    empty.run(threads);
  }
}

}  // namespace
}  // namespace gaussmith
