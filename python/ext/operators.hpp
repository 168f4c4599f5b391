#pragma once
// Designs that only multiply: those of scipy, and ours.

#include "arrays.hpp"
#include "gaussmith/operators.hpp"

namespace gaussmith::python {

/// A scipy.sparse.linalg.LinearOperator; its products must be those of one matrix, which is checked.
[[nodiscard]] Design wrap_operator(nb::object scipy_operator, const std::string& name);

/// Whether products of the design run Python.
[[nodiscard]] bool calls_python(const Design& design);

}  // namespace gaussmith::python
