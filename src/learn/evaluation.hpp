#pragma once

#include "gaussmith/types.hpp"

#include <functional>
#include <optional>

namespace gaussmith {

/// A smooth function at one point.
struct Evaluation {
  double value;
  Vector gradient;
  double value_error = 0.0;     ///< About what rounding and unfinished iterations leave uncertain in the value.
  double gradient_error = 0.0;  ///< The same for an entry of the gradient.
};

/// A function that may have no value at some points: there it is empty.
using PartialFunction = std::function<std::optional<Evaluation>(const Vector&)>;

}  // namespace gaussmith
