#pragma once
// Long work beside the interpreter: its lock is released, Ctrl-C is heard, progress is told.

#include "arrays.hpp"
#include "gaussmith/report.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

/// How a run ended: by itself, by Ctrl-C with a result, by Ctrl-C while it goes on without its caller.
enum class Ended { finished, interrupted, left };

/// Does `work` without the interpreter's lock. On Python's main thread it runs on a thread of its own, so that this one
/// can hear Ctrl-C: the run is asked to stop and keep what it has; one that has nothing within a moment is left to
/// itself, and KeyboardInterrupt is raised unless `has_kept` says that there is something else to give. Whatever `work`
/// needs it must own.
Ended run_beside(const std::function<void(const Run&)>& work, const Running& running,
                 const std::function<bool()>& has_kept = {});

/// The best result so far of a run that is still on its way.
template <class Result>
class Kept {
 public:
  void put(Result result) {
    const std::lock_guard lock(mutex_);
    result_.emplace(std::move(result));
  }
  [[nodiscard]] bool has() const {
    const std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  [[nodiscard]] Result get() const {
    const std::lock_guard lock(mutex_);
    return *result_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Result> result_;
};

/// The same for work with a result, and whether Ctrl-C stopped it: then what is in `kept` stands for a result that
/// there is not.
template <class Result>
std::pair<Result, bool> run_for(std::function<Result(const Run&)> work, const Running& running,
                                const std::shared_ptr<Kept<Result>>& kept = {}) {
  auto result = std::make_shared<std::optional<Result>>();
  const Ended ended = run_beside([work = std::move(work), result](const Run& run) { result->emplace(work(run)); },
                                 running, [&kept] { return kept != nullptr && kept->has(); });
  if (ended == Ended::left) return {kept->get(), true};
  return {std::move(**result), ended == Ended::interrupted};
}

/// Raises KeyboardInterrupt.
[[noreturn]] void raise_interrupt(const char* message);

/// Work that has nothing to give until it is done: Ctrl-C is KeyboardInterrupt. `owner` is the object of Python that it
/// looks into; whatever else it needs it must own.
template <class Work>
auto heard(nb::handle owner, Work work, const Running& running = {}) {
  const auto own = std::make_shared<const Work>(std::move(work));
  using Result = decltype((*own)(Run()));
  auto [result, interrupted] = run_for<Result>(
      [own, keeps = kept(nb::borrow(owner))](const Run& run) -> Result { return (*own)(run); }, running);
  if (interrupted) raise_interrupt("interrupted");
  return Result(std::move(result));
}

}  // namespace gaussmith::python
