#include "linalg/lanczos.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

/// What is left of A v, beside its length, below which v closes an invariant subspace.
constexpr double smallest_rest = 1e-10;

}  // namespace

LanczosBasis lanczos(const std::function<Vector(const Vector&)>& a, const Vector& start, Index steps,
                     const std::function<Vector()>& fresh) {
  steps = std::min(steps, start.size());
  LanczosBasis out{Matrix::Zero(start.size(), steps), Matrix::Zero(steps, steps)};
  Vector v = start.normalized();
  for (Index used = 0; used < steps; ++used) {
    out.basis.col(used) = v;
    const auto q = out.basis.leftCols(used + 1);
    Vector next = a(v);
    const Vector coefficients = q.transpose() * next;
    out.projected.col(used).head(used + 1) = coefficients;
    out.projected.row(used).head(used + 1) = coefficients.transpose();
    if (used + 1 == steps) break;
    next -= q * coefficients;
    next -= q * (q.transpose() * next);
    double length = next.norm();
    if (length < smallest_rest * (1.0 + coefficients.norm())) {
      if (!fresh) {
        out.basis.conservativeResize(Eigen::NoChange, used + 1);
        out.projected.conservativeResize(used + 1, used + 1);
        break;
      }
      next = fresh();
      for (int twice = 0; twice < 2; ++twice) next -= q * (q.transpose() * next);
      length = next.norm();
    }
    v = next / length;
  }
  return out;
}

}  // namespace gaussmith
