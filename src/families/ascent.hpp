#pragma once
// Ways up the bound. Both are monotone and end with the gradient as certificate.

#include "families/step_model.hpp"
#include "gaussmith/report.hpp"

namespace gaussmith {

struct AscentOptions {
  double tolerance = 1e-7;        ///< On the residual below.
  double largest_gradient = 0.0;  ///< Stop also when no entry of the gradient in (m, C) exceeds this; 0 for never.
  int max_iterations = 1000;
  std::function<Next(const Iteration&)> progress = {};
};

struct AscentResult {
  FamilyPoint point;
  Status status = Status::converged;
  int iterations = 0;
  int products = 0;       ///< Gradients and Hessian products, each N D K.
  double residual = 0.0;  ///< sqrt(gradient'step): the gradient norm in standard deviations of the model's step.
  double largest_gradient = 0.0;  ///< Largest absolute entry of the gradient in (m, C).
  std::vector<Iteration> history;
};

/// Steps of the fixed-precision model (StepModel), combined with the last step: the best point of the span of both,
/// mean and root with coefficients of their own, found on N numbers because eta is linear and v quadratic in them. For
/// quadratic bounds that is conjugate gradients with the model as preconditioner.
[[nodiscard]] AscentResult ascend(const FamilyObjective& objective, Vector mean, Vector root,
                                  const AscentOptions& options);

/// Truncated Newton: conjugate gradients on exact Hessian products, preconditioned by the diagonal of the model.
/// Triangular families only.
[[nodiscard]] AscentResult truncated_newton(const FamilyObjective& objective, Vector mean, Vector root,
                                            const AscentOptions& options);

/// The entries of a diagonal root that suits the sites at the centre, to start from.
[[nodiscard]] Vector starting_root(const FamilyObjective& objective);

}  // namespace gaussmith
