#include "run_control.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

namespace gaussmith::app {

namespace {

// A signal handler can reach nothing but flags of this kind.
volatile std::sig_atomic_t interrupt_flag = 0;
volatile std::sig_atomic_t writing_flag = 0;
volatile std::sig_atomic_t kept_flag = 0;
volatile std::sig_atomic_t told_flag = 0;
volatile std::sig_atomic_t draws_flag = 0;
volatile std::sig_atomic_t progress_flag = 0;

timer_t patience_timer;
bool patience_limited = false;
constexpr itimerspec patience = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 400'000'000}};
constexpr itimerspec patience_with_draws = {.it_interval = {}, .it_value = {.tv_sec = 20, .tv_nsec = 0}};

constexpr std::string_view erase_line = "\r\x1b[2K";
constexpr std::string_view while_working = "gaussmith: error: interrupted; nothing was written\n";
constexpr std::string_view with_state =
    "gaussmith: error: interrupted; the state file holds what was done, and the same command goes on from there\n";
constexpr std::string_view while_writing =
    "gaussmith: error: interrupted while writing; an output file is complete or not there\n";

void put(std::string_view text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

std::string_view working_line() { return kept_flag != 0 ? with_state : while_working; }

// Only what a signal handler may call. Output files have no name until they are complete, so nothing is left behind.
[[noreturn]] void end_at_once() {
  if (told_flag == 0) {
    if (progress_flag != 0) {
      put(erase_line);
    }
    put(writing_flag != 0 ? while_writing : working_line());
  }
  ::_exit(exit_not_converged);
}

extern "C" void on_interrupt(int) {
  if (interrupt_flag != 0) {
    end_at_once();
  }
  interrupt_flag = 1;
  const int before = errno;
  const itimerspec& wait = draws_flag != 0 ? patience_with_draws : patience;
  if (!patience_limited || ::timer_settime(patience_timer, 0, &wait, nullptr) != 0) {
    ::alarm(draws_flag != 0 ? 20 : 1);
  }
  errno = before;
}

extern "C" void on_patience_lost(int) { end_at_once(); }

sigset_t watched_signals() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGALRM);
  return watched;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  action.sa_mask = watched_signals();
  sigaction(signal, &action, nullptr);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr double seconds_between_lines = 0.1;

}  // namespace

void watch_interrupts() {
  sigevent expiry = {};
  expiry.sigev_notify = SIGEV_SIGNAL;
  expiry.sigev_signo = SIGALRM;
  patience_limited = ::timer_create(CLOCK_MONOTONIC, &expiry, &patience_timer) == 0;
  handle(SIGALRM, on_patience_lost);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  // Whoever started the tool may have held them back.
  const sigset_t watched = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
}

void tell_interrupted() {
  const sigset_t watched = watched_signals();
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  put(working_line());
  told_flag = 1;
  ::pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
}

void keep_state() { kept_flag = 1; }

void keep_draws() { draws_flag = 1; }

void begin_writing() {
  // What is already in a file cannot be called back: the rest of the output follows it.
  if (writing_flag == 0) {
    stop_if_interrupted();
    writing_flag = 1;
  }
}

void stop_if_interrupted() {
  if (interrupt_flag != 0 && draws_flag == 0) {
    throw Interrupted();
  }
}

RunControl::RunControl(const CommonOptions& common, std::string label)
    : common_(&common), label_(std::move(label)), visible_(!common.quiet && isatty(STDERR_FILENO) == 1), last_(now()) {}

RunControl::~RunControl() {
  if (shown_) {
    put(erase_line);
    progress_flag = 0;
  }
}

Run RunControl::run() {
  Run run;
  run.threads = common_->threads;
  run.seed = common_->seed;
  run.progress = [this](const Iteration& iteration) {
    if (interrupt_flag != 0) {
      return draws_flag != 0 ? Next::accept : Next::discard;
    }
    if (visible_) {
      show(iteration);
    }
    return Next::proceed;
  };
  return run;
}

void RunControl::show(const Iteration& iteration) {
  const double time = now();
  if (time - last_ < seconds_between_lines) {
    return;
  }
  last_ = time;
  shown_ = true;
  progress_flag = 1;
  fmt::print(stderr, "{}{} {}: objective {:.8g}, residual {:.2g}", erase_line, label_, iteration.number,
             iteration.objective, iteration.residual);
  std::fflush(stderr);
}

}  // namespace gaussmith::app
