#pragma once
// The peak of memory of a process's own work. A peak cannot be taken back, so each work is measured in a child.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace gaussmith::bench {

/// A line of /proc/self/status in bytes.
inline double memory_status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word != name + ":") continue;
    double kilobytes = 0.0;
    file >> kilobytes;
    return 1024.0 * kilobytes;
  }
  return 0.0;
}

/// Bytes that the work takes at its peak beyond those held before it.
inline double own_peak(const auto& work) {
  std::ofstream("/proc/self/clear_refs") << 5;  // The peak so far is that of making the input.
  const double before = memory_status("VmRSS");
  work();
  return memory_status("VmHWM") - before;
}

inline void in_a_child(const auto& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace gaussmith::bench
