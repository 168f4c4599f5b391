#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Throws InvalidModel naming the first entry that is not a finite number.
void check_finite(const Vector& values, const char* what);

}  // namespace gaussmith
