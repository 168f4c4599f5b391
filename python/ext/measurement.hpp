#pragma once

#include "bind.hpp"

namespace gaussmith::python {

/// Sequential design of measurements.
void bind_measurement(nb::module_& m);

}  // namespace gaussmith::python
