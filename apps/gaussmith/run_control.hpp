#pragma once
// SIGINT, SIGTERM and progress. The first signal sets a flag, which the progress callback of the library reads, and
// starts a timer: whatever the program is busy with, 0.4 seconds later it ends.

#include "command.hpp"
#include "gaussmith/report.hpp"

#include <functional>
#include <string>

namespace gaussmith::app {

/// From now on SIGINT and SIGTERM set a flag; if that does not end the program soon, a timer does, and a second signal
/// does at once. All three with one line and exit_not_converged.
void watch_interrupts();

/// Throws Interrupted once a signal has come.
void stop_if_interrupted();

/// Says so, in one line; the timer then ends the program silently.
void tell_interrupted();

/// Called before anything is written: throws as stop_if_interrupted(), then marks that output is on its way. A signal
/// that comes later does not undo it.
void begin_writing();

/// From now on an interrupted command says that its state file holds what was done.
void keep_state();

/// From now on an interrupt ends sampling with what was drawn, which is reported; a second one ends at once.
void keep_draws();

/// Options of a run: threads and seed as asked, progress on a terminal, a signal answered with Next::discard.
class RunControl {
 public:
  RunControl(const CommonOptions& common, std::string label);
  ~RunControl();
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  [[nodiscard]] Run run();

 private:
  void show(const Iteration& iteration);

  const CommonOptions* common_;
  std::string label_;
  bool visible_;
  bool shown_ = false;
  double last_ = 0.0;
};

}  // namespace gaussmith::app
