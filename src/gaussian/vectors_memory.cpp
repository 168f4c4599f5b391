#include "gaussian/vectors_memory.hpp"

namespace gaussmith {

double vectors_memory(Index rows, Index weights) {
  constexpr double vectors = 60.0;
  return 8.0 * vectors * (static_cast<double>(rows) + static_cast<double>(weights));
}

}  // namespace gaussmith
