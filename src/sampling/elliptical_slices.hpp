#pragma once
// One move of elliptical slice sampling, for chains and for annealed particles.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <cmath>
#include <numbers>

namespace gaussmith {

/// Moves x and d = P x along the ellipse through them and (z, P z), z ~ N(0, s^2 I), to a point whose value exceeds a
/// level below the present one. value(d, x'x) is the log density beside N(0, s^2 I); `now` is the present value.
template <class Value>
void elliptical_move(Eigen::Ref<Vector> x, Eigen::Ref<Vector> d, const Eigen::Ref<const Vector>& z,
                     const Eigen::Ref<const Vector>& pz, double& now, Random& random, const Value& value) {
  const double level = now + std::log(random.uniform());
  const double xx = x.squaredNorm();
  const double xz = x.dot(z);
  const double zz = z.squaredNorm();
  double angle = 2.0 * std::numbers::pi * random.uniform();
  double low = angle - 2.0 * std::numbers::pi;
  double high = angle;
  Vector candidate(d.size());
  // The bracket shrinks towards the present point, which is above the level; rounding ends it after at most this many.
  for (int tries = 0; tries < 200; ++tries) {
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    candidate = c * d + s * pz;
    const double there = value(candidate, c * c * xx + 2.0 * c * s * xz + s * s * zz);
    if (there > level) {
      x = c * x + s * z;
      d = candidate;
      now = there;
      return;
    }
    (angle < 0.0 ? low : high) = angle;
    angle = low + (high - low) * random.uniform();
  }
}

}  // namespace gaussmith
