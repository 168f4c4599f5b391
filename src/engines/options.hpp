#pragma once
// Every option of every method is described once, here: validation, the command line and the docs derive from it.

#include "gaussmith/infer.hpp"

#include <array>
#include <cstddef>

namespace gaussmith {

/// Numbers that an option accepts; the highest is allowed, the lowest unless `above`.
struct Range {
  double lowest, highest;
  bool above = false;
};

/// The values of an enumeration and their names on the command line.
template <class Value, std::size_t count>
struct Choices {
  struct Choice {
    const char* name;
    Value value;
  };
  std::array<Choice, count> all;
};

/// visit(name, member, domain, help), where the domain is a Range or Choices.
template <class Visitor>
void fields(Exact& /*options*/, Visitor&& /*visit*/) {}

template <class Visitor>
void fields(Laplace& options, Visitor&& visit) {
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6}, "Newton steps before giving up");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0},
        "gradient norm at the mode, in posterior standard deviations");
}

}  // namespace gaussmith
