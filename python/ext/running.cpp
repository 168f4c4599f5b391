#include "running.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace gaussmith::python {

namespace {

using namespace std::chrono_literals;

/// How often signals are looked for, and how long a run may take to stop after one.
constexpr auto between_looks = 50ms;
constexpr auto patience = 700ms;
constexpr const char* without_result = "interrupted before there was a result";

/// What the working thread and the caller have in common. The caller may leave first.
struct Exchange {
  std::mutex mutex;
  std::condition_variable news;
  bool done = false;
  bool abandoned = false;  ///< The caller has left.
  std::exception_ptr failure;
  const Iteration* asked = nullptr;  ///< The working thread waits for an answer to this.
  Next answer = Next::proceed;
  std::atomic<Next> wanted = Next::proceed;  ///< What every step is told without asking.
};

/// The answer of a Python callback.
Next ask(nb::handle progress, const Iteration& iteration) {
  const nb::object answer =
      progress(iteration.number, iteration.objective, iteration.residual, std::string(iteration.step),
               iteration.duality_gap ? nb::object(nb::float_(*iteration.duality_gap)) : nb::object(nb::none()));
  return answer.is(nb::borrow(Py_False)) ? Next::accept : Next::proceed;
}

bool on_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return nb::cast<bool>(nb::bool_(threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"))));
}

Run plain_run(const Running& running) {
  Run run;
  run.threads = running.threads;
  run.seed = running.seed;
  run.form = running.form;
  run.substitutes = running.substitutes;
  run.every_gap = !running.progress.is_none();
  return run;
}

/// On the thread of the caller, who is not the one that signals go to.
void run_here(const std::function<void(const Run&)>& work, const Running& running) {
  Run run = plain_run(running);
  const nb::object progress = running.progress;
  if (!progress.is_none())
    run.progress = [&progress](const Iteration& iteration) {
      const Locked lock;
      return ask(progress, iteration);
    };
  const Unlocked unlocked;
  work(run);
}

/// Forgets a failure that nobody will see; it may hold objects of Python, which then go with the process.
void drop(std::exception_ptr failure) {
  try {
    const Locked lock;
    failure = nullptr;
  } catch (const Interrupted&) {
    static_cast<void>(std::make_unique<std::exception_ptr>(std::move(failure)).release());
  }
}

void serve(std::function<void(const Run&)> work, Run run, bool asks, const std::shared_ptr<Exchange>& exchange) {
  run.progress = [asks, exchange](const Iteration& iteration) {
    const Next wanted = is_ending() ? Next::discard : exchange->wanted.load();
    if (wanted != Next::proceed || !asks) return wanted;
    std::unique_lock lock(exchange->mutex);
    exchange->asked = &iteration;
    exchange->news.notify_all();
    exchange->news.wait(lock, [&] { return exchange->asked == nullptr; });
    return exchange->answer;
  };
  std::exception_ptr failure;
  try {
    work(run);
  } catch (...) {
    failure = std::current_exception();
  }
  // What belongs to Python goes before the caller does.
  work = nullptr;
  bool abandoned = false;
  {
    const std::lock_guard lock(exchange->mutex);
    abandoned = exchange->abandoned;
    if (!abandoned) exchange->failure = std::move(failure);
    exchange->done = true;
    exchange->news.notify_all();
  }
  if (abandoned) drop(std::move(failure));
}

/// Signals are for the thread that Python gives them to.
void start_beside(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(body)).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Takes a pending KeyboardInterrupt; other exceptions of handlers are thrown.
bool take_interrupt() {
  if (PyErr_CheckSignals() == 0) return false;
  nb::python_error error;
  if (!error.matches(PyExc_KeyboardInterrupt)) throw error;
  return true;
}

/// Waits with the caller's thread. Holds the interpreter's lock only to look for signals and to call back.
class Waiter {
 public:
  Waiter(std::shared_ptr<Exchange> exchange, nb::object progress, const std::function<bool()>& has_kept)
      : exchange_(std::move(exchange)), progress_(std::move(progress)), has_kept_(has_kept) {}

  Ended wait() {
    try {
      for (;;) {
        const auto [done, asked] = look();
        if (done) return finish();
        if (asked != nullptr) answer(*asked);
        if (!interrupted_ && take_interrupt()) interrupt();
        if (interrupted_ && std::chrono::steady_clock::now() > deadline_) {
          if (!has_kept_ || !has_kept_()) raise_interrupt(without_result);
          release(Next::discard);
          return Ended::left;
        }
      }
    } catch (...) {
      // The run finds this at its next step, and nobody waits for it.
      release(Next::discard);
      throw;
    }
  }

 private:
  std::pair<bool, const Iteration*> look() {
    const Unlocked unlocked;
    std::unique_lock lock(exchange_->mutex);
    exchange_->news.wait_for(lock, between_looks, [&] { return exchange_->done || exchange_->asked != nullptr; });
    return {exchange_->done, exchange_->asked};
  }

  void release(Next next) {
    exchange_->wanted = next;
    const std::lock_guard lock(exchange_->mutex);
    exchange_->abandoned = true;
    exchange_->answer = next;
    exchange_->asked = nullptr;
    exchange_->news.notify_all();
  }

  void answer(const Iteration& asked) {
    Next next = Next::proceed;
    try {
      next = ask(progress_, asked);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      interrupt();
      next = Next::accept;
    }
    const std::lock_guard lock(exchange_->mutex);
    exchange_->answer = next;
    exchange_->asked = nullptr;
    exchange_->news.notify_all();
  }

  void interrupt() {
    interrupted_ = true;
    deadline_ = std::chrono::steady_clock::now() + patience;
    exchange_->wanted = Next::accept;
  }

  /// A method that has nothing to keep when it is asked to stop says so; after Ctrl-C that is KeyboardInterrupt.
  [[noreturn]] void rethrow(const std::exception_ptr& failure) const {
    try {
      std::rethrow_exception(failure);
    } catch (const Interrupted&) {
      if (interrupted_) raise_interrupt(without_result);
      throw;
    }
  }

  Ended finish() {
    std::exception_ptr failure;
    {
      const std::lock_guard lock(exchange_->mutex);
      failure = std::move(exchange_->failure);
    }
    if (failure) rethrow(failure);
    return interrupted_ ? Ended::interrupted : Ended::finished;
  }

  std::shared_ptr<Exchange> exchange_;
  nb::object progress_;
  const std::function<bool()>& has_kept_;
  bool interrupted_ = false;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

Running to_running(int threads, std::uint64_t seed, const std::string& form, bool substitutes, nb::object progress) {
  if (threads < 0) throw InvalidOption(fmt::format("threads: expected 0 (all cores) or more, found {}", threads));
  Running running{.threads = threads, .seed = seed, .substitutes = substitutes, .progress = std::move(progress)};
  if (form == "covariance")
    running.form = CoreForm::covariance;
  else if (form == "precision")
    running.form = CoreForm::precision;
  else if (form == "sparse")
    running.form = CoreForm::sparse;
  else if (form == "matrix-free")
    running.form = CoreForm::matrix_free;
  else if (form != "auto")
    throw InvalidOption(
        fmt::format("form: expected auto, covariance, precision, sparse or matrix-free, found \"{}\"", form));
  return running;
}

void raise_interrupt(const char* message) {
  PyErr_SetString(PyExc_KeyboardInterrupt, message);
  throw nb::python_error();
}

Ended run_beside(const std::function<void(const Run&)>& work, const Running& running,
                 const std::function<bool()>& has_kept) {
  if (!on_main_thread()) {
    run_here(work, running);
    return Ended::finished;
  }
  auto exchange = std::make_shared<Exchange>();
  start_beside([work, run = plain_run(running), asks = !running.progress.is_none(), exchange]() mutable {
    const Beside counted;
    serve(std::move(work), run, asks, exchange);
  });
  return Waiter(exchange, running.progress, has_kept).wait();
}

}  // namespace gaussmith::python
