#pragma once
// A subject and its baseline timed in turns, so that a busy machine slows both: what is reported is their ratio.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

namespace gaussmith::bench {

inline double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of the processor, all threads together: what work on one thread costs beside other work.
inline double processor_seconds_of(const auto& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Times the subject; counters give the baseline's milliseconds and the ratio of the best times of both.
/// `prepare` runs untimed before each baseline; `seconds` times one call.
inline void paired(benchmark::State& state, const auto& subject, const auto& prepare, const auto& baseline,
                   const auto& seconds) {
  double best_subject = std::numeric_limits<double>::infinity();
  double best_baseline = best_subject;
  for (auto _ : state) {
    const double s = seconds(subject);
    prepare();
    best_baseline = std::min(best_baseline, seconds(baseline));
    best_subject = std::min(best_subject, s);
    state.SetIterationTime(s);
  }
  state.counters["best_ms"] = 1e3 * best_subject;
  state.counters["baseline_ms"] = 1e3 * best_baseline;
  state.counters["ratio"] = best_subject / best_baseline;
}

inline void paired(benchmark::State& state, const auto& subject, const auto& prepare, const auto& baseline) {
  paired(state, subject, prepare, baseline, [](const auto& work) { return seconds_of(work); });
}

}  // namespace gaussmith::bench
