#include "base/memory.hpp"

#include <unistd.h>

#include <limits>

namespace gaussmith {

double machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(pages) * static_cast<double>(size);
}

}  // namespace gaussmith
