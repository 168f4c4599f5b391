#include "run_control.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

namespace gaussmith::app {

namespace {

// A signal handler can reach nothing but a flag of this kind.
volatile std::sig_atomic_t interrupt_flag = 0;

extern "C" void remember_interrupt(int) { interrupt_flag = 1; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr double seconds_between_lines = 0.1;
constexpr const char* erase_line = "\r\x1b[2K";

}  // namespace

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = remember_interrupt;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void stop_if_interrupted() {
  if (interrupt_flag != 0) {
    throw Interrupted();
  }
}

RunControl::RunControl(const CommonOptions& common, std::string label)
    : common_(&common), label_(std::move(label)), visible_(!common.quiet && isatty(STDERR_FILENO) == 1), last_(now()) {}

RunControl::~RunControl() {
  if (shown_) {
    std::fputs(erase_line, stderr);
  }
}

Run RunControl::run() {
  Run run;
  run.threads = common_->threads;
  run.seed = common_->seed;
  run.progress = [this](const Iteration& iteration) {
    if (interrupt_flag != 0) {
      return Next::discard;
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
  fmt::print(stderr, "{}{} {}: objective {:.8g}, residual {:.2g}", erase_line, label_, iteration.number,
             iteration.objective, iteration.residual);
  std::fflush(stderr);
}

}  // namespace gaussmith::app
