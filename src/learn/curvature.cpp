#include "learn/curvature.hpp"

#include "linalg/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// One row of the Hessian: d gradient / d x_i.
std::optional<Vector> row(const PartialFunction& f, const Vector& point, const Vector& gradient, Index i, double lower,
                          double upper, const CurvatureOptions& options) {
  const auto at = [&](double place) -> std::optional<Vector> {
    if (place < lower || place > upper) return std::nullopt;
    Vector moved = point;
    moved(i) = place;
    auto evaluation = f(moved);
    return evaluation ? std::optional(std::move(evaluation->gradient)) : std::nullopt;
  };
  const double above = point(i) + options.step;
  const double below = point(i) - options.step;
  const std::optional<Vector> up = at(above);
  if (up && !options.central) return (*up - gradient) / (above - point(i));
  const std::optional<Vector> down = at(below);
  if (up && down) return (*up - *down) / (above - below);
  if (up) return (*up - gradient) / (above - point(i));
  if (down) return (gradient - *down) / (point(i) - below);
  return std::nullopt;
}

}  // namespace

std::optional<Curvature> curvature(const PartialFunction& f, const Vector& point, const Vector& gradient,
                                   const std::vector<Index>& coordinates, const Vector& lower, const Vector& upper,
                                   const CurvatureOptions& options) {
  const auto size = static_cast<Index>(coordinates.size());
  Curvature out{coordinates, Matrix(size, size)};
  for (Index r = 0; r < size; ++r) {
    const Index i = coordinates[static_cast<std::size_t>(r)];
    const auto derivatives = row(f, point, gradient, i, lower(i), upper(i), options);
    if (!derivatives) return std::nullopt;
    for (Index c = 0; c < size; ++c) out.hessian(r, c) = (*derivatives)(coordinates[static_cast<std::size_t>(c)]);
  }
  if (size > 0) out.asymmetry = (out.hessian - out.hessian.transpose()).lpNorm<Eigen::Infinity>();
  out.hessian = (0.5 * (out.hessian + out.hessian.transpose())).eval();
  return out;
}

std::optional<Matrix> covariance_at_maximum(const Matrix& hessian, double error) {
  if (hessian.size() == 0) return Matrix(0, 0);
  const SymmetricEigen eigen = symmetric_eigen(-hessian);
  // The negation also refuses NaN.
  if (!(eigen.values.minCoeff() > std::max(error, 1e-14 * std::abs(eigen.values.maxCoeff())))) return std::nullopt;
  return Matrix(eigen.vectors * eigen.values.cwiseInverse().asDiagonal() * eigen.vectors.transpose());
}

}  // namespace gaussmith
