#include "linalg/inverse_of_factor.hpp"

#include "linalg/dense.hpp"

namespace gaussmith {

Matrix inverse_of_factor(Matrix lower) {
  invert_lower(lower);
  lower_transposed_times_lower(lower);
  mirror_lower(lower);
  return lower;
}

}  // namespace gaussmith
