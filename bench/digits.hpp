#pragma once
// The published comparison of kl's solvers (docs/reproduce/solver_race.md), whose table is not bundled.

#include "reproduce/digits.hpp"

#include <cstdlib>

namespace gaussmith::bench {

/// The table that GAUSSMITH_DIGITS names; null where it names none.
inline const char* digits_path() { return std::getenv("GAUSSMITH_DIGITS"); }

inline Model digits(Index rows, double log_s) { return reproduce::digits(read_table(digits_path()), rows, log_s); }

}  // namespace gaussmith::bench
