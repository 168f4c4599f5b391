#include "out_of_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace gaussmith::app {

void tell_out_of_memory() {
  constexpr double gigabyte = 1e9;
  rusage used{};
  rlimit limit{};
  // Linux counts in kilobytes.
  const double peak =
      getrusage(RUSAGE_SELF, &used) == 0 ? 1024.0 * static_cast<double>(used.ru_maxrss) / gigabyte : 0.0;
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / gigabyte;
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const double allowed = limited ? static_cast<double>(limit.rlim_cur) / gigabyte : machine;
  std::fprintf(stderr,
               "gaussmith: error: out of memory: more was refused after %.3g GB, the process may have %.3g GB (%s); "
               "fewer rows or fewer features need less\n",
               peak, allowed, limited ? "its limit of address space" : "the memory of this machine");
}

}  // namespace gaussmith::app
