#pragma once
// Every option of every method is described once, here: validation, the command line and the docs derive from it.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// visit(name, member, lowest, highest, help); both ends of the range are allowed.
template <class Visitor>
void fields(Exact& /*options*/, Visitor&& /*visit*/) {}

template <class Visitor>
void fields(Laplace& options, Visitor&& visit) {
  visit("max_iterations", options.max_iterations, 1.0, 1e6, "Newton steps before giving up");
  visit("tolerance", options.tolerance, 1e-14, 1.0, "gradient norm at the mode, in posterior standard deviations");
}

}  // namespace gaussmith
