#pragma once

#include "gaussian/prior_geometry.hpp"

namespace gaussmith {

/// Mean (without offset) and variance of new points when u ~ N(coordinates, (L L')^-1): mean + g'u and |L^-1 g|^2 plus
/// what the weights leave open. The geometry must be whitened.
void predict_from_precision(const PriorGeometry& geometry, const Matrix& lower, const Vector& coordinates,
                            const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance);

}  // namespace gaussmith
