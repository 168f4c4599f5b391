#include "base/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace gaussmith {

namespace {

constexpr double gigabyte = 1e9;

double physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(pages) * static_cast<double>(size);
}

/// The limit of the control group that a container is; the file says "max" or does not exist where there is none.
double container_memory() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  double bytes = 0.0;
  return file >> bytes && bytes > 0.0 ? bytes : std::numeric_limits<double>::infinity();
}

}  // namespace

double machine_memory() { return std::min(physical_memory(), container_memory()); }

std::string memory_in_words(double bytes) {
  return bytes < 0.1 * gigabyte ? fmt::format("{:.2g} MB", 1e3 * bytes / gigabyte)
                                : fmt::format("{:.3g} GB", bytes / gigabyte);
}

}  // namespace gaussmith
