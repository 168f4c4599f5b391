#pragma once
// Long work beside the interpreter: its lock is released, Ctrl-C is heard, progress is told.

#include "arrays.hpp"
#include "gaussmith/report.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace gaussmith::python {

/// What a Python caller says about a run.
struct Running {
  int threads = 0;
  std::uint64_t seed = 0;
  CoreForm form = CoreForm::automatic;
  bool substitutes = true;
  /// Called as progress(number, objective, residual, step) on the caller's thread; False stops and keeps the result.
  nb::object progress = nb::none();
};

[[nodiscard]] Running to_running(int threads, std::uint64_t seed, const std::string& form, bool substitutes,
                                 nb::object progress);

/// Does `work` without the interpreter's lock. On Python's main thread it runs on a thread of its own, so that this one
/// can hear Ctrl-C: the run is asked to stop and keep what it has; one that has nothing within a moment is left to
/// itself and KeyboardInterrupt is raised. Whatever `work` needs it must own. Returns whether Ctrl-C stopped it.
bool run_beside(const std::function<void(const Run&)>& work, const Running& running);

/// The same for work with a result.
template <class Result>
std::pair<Result, bool> run_for(std::function<Result(const Run&)> work, const Running& running) {
  auto result = std::make_shared<std::optional<Result>>();
  const bool interrupted =
      run_beside([work = std::move(work), result](const Run& run) { result->emplace(work(run)); }, running);
  return {std::move(**result), interrupted};
}

}  // namespace gaussmith::python
