#pragma once
// Second derivatives of a function that gives its gradient: for Newton steps, standard errors and integration.

#include "learn/evaluation.hpp"

#include <optional>
#include <vector>

namespace gaussmith {

struct CurvatureOptions {
  /// Of the differences, on the scale of the coordinates. Central differences are then off by about
  /// step^2 f''''/6 + gradient_error/step, one-sided ones by step f'''/2 + 2 gradient_error/step.
  double step = 0.02;
  bool central = true;  ///< Two evaluations a coordinate instead of one.
};

/// The Hessian of a function over some of its coordinates.
struct Curvature {
  std::vector<Index> coordinates;  ///< Rows and columns of the Hessian.
  Matrix hessian;                  ///< Exactly symmetric.
  double asymmetry = 0.0;  ///< Largest |H_ij - H_ji| of the differences: what they are good to, where there are two.
};

/// The Hessian of f at a point inside the box lower <= x <= upper, by differences of gradients along the coordinates;
/// the others stay where they are. f is called once or twice a coordinate, in order, never outside the box. Where a
/// bound or a failed evaluation is in the way, the difference is one-sided; empty when a coordinate has an evaluation
/// on neither side.
[[nodiscard]] std::optional<Curvature> curvature(const PartialFunction& f, const Vector& point, const Vector& gradient,
                                                 const std::vector<Index>& coordinates, const Vector& lower,
                                                 const Vector& upper, const CurvatureOptions& options = {});

/// (-H)^-1: the covariance of the Gaussian with this curvature at its maximum. Empty unless -H is positive definite
/// beyond `error`, about what an entry of H is uncertain by.
[[nodiscard]] std::optional<Matrix> covariance_at_maximum(const Matrix& hessian, double error = 0.0);

}  // namespace gaussmith
