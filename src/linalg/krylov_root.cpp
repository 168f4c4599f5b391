#include "linalg/krylov_root.hpp"

#include "gaussmith/random.hpp"
#include "linalg/lanczos.hpp"

#include <cmath>

namespace gaussmith {

namespace {

/// A pivot of T beside its diagonal entry below which rounding may have made it.
constexpr double smallest_share = 1e-13;

}  // namespace

Matrix krylov_root(const PrecisionSystem& system, Index steps, std::uint64_t seed) {
  if (steps == 0) return {system.dimension, 0};
  const Vector scale =
      system.diagonal.size() > 0 ? Vector(system.diagonal.cwiseSqrt().cwiseInverse()) : Vector::Ones(system.dimension);
  Random random(seed);
  const auto fresh = [&] {
    Vector out(system.dimension);
    for (double& value : out) value = random.normal();
    return out;
  };
  const auto scaled = [&](const Vector& x) -> Vector {
    return scale.asDiagonal() * system.times(scale.asDiagonal() * x);
  };
  LanczosBasis krylov = lanczos(scaled, fresh(), steps, fresh);
  // Q L^-T with T = L L', T and L having two diagonals: q_k = e_k w_(k-1) + d_k w_k.
  Matrix& w = krylov.basis;
  double last = 0.0;
  for (Index k = 0; k < w.cols(); ++k) {
    const double below = k > 0 ? krylov.projected(k, k - 1) / last : 0.0;
    const double pivot = krylov.projected(k, k) - below * below;
    if (!(pivot > smallest_share * krylov.projected(k, k))) {
      w.conservativeResize(Eigen::NoChange, k);
      break;
    }
    last = std::sqrt(pivot);
    if (k > 0) w.col(k) -= below * w.col(k - 1);
    w.col(k) /= last;
  }
  w.array().colwise() *= scale.array();
  return std::move(w);
}

}  // namespace gaussmith
