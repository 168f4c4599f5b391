#pragma once

#include "gaussmith/types.hpp"

#include <string>

namespace gaussmith {

/// Throws InvalidModel.
[[noreturn]] void refuse_model(const std::string& message);

/// Throws InvalidModel naming the first entry that is not a finite number.
void check_finite(const Vector& values, const char* what);

}  // namespace gaussmith
