#include "gaussmith/predict.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

Index ClassProbabilities::likeliest(Index point) const {
  Index best = 0;
  for (Index c = 1; c < probability.cols(); ++c)
    if (probability(point, c) > probability(point, best)) best = c;
  return best;
}

Vector ClassProbabilities::log_density(const Vector& labels) const {
  Vector out(labels.size());
  for (Index i = 0; i < labels.size(); ++i)
    out(i) = std::log(std::max(probability(i, static_cast<Index>(labels(i))), 0.0));
  return out;
}

}  // namespace gaussmith
