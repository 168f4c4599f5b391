#pragma once
// Ctrl-C and progress. The signal handler only sets a flag; the progress callback of the library reads it.

#include "command.hpp"
#include "gaussmith/report.hpp"

#include <functional>
#include <string>

namespace gaussmith::app {

/// From now on Ctrl-C sets a flag; a second one ends the program at once.
void watch_interrupts();

/// Throws Interrupted once Ctrl-C was pressed; called before anything is written.
void stop_if_interrupted();

/// Options of a run: threads and seed as asked, progress on a terminal, Ctrl-C answered with Next::discard.
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
