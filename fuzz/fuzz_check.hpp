#pragma once
// What every fuzz target demands: the only exception for bad bytes is InvalidInput, and its message is one line.

#include "gaussmith/errors.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

namespace gaussmith::fuzz {

/// Runs a reader; other exceptions escape and stop the fuzzer with the input that caused them.
template <class Read>
void one_line(const Read& read) {
  try {
    read();
  } catch (const InvalidInput& error) {
    const std::string_view message = error.what();
    FUZZ_CHECK(!message.empty() && message.size() < 4000 && message.find('\n') == std::string_view::npos);
  }
}

}  // namespace gaussmith::fuzz
