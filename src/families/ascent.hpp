#pragma once
// The way up the bound: monotone, with the gradient as certificate at its end.

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
  /// Status, iterations and history; the residual is sqrt(gradient'step), the gradient norm in standard deviations of
  /// the model's step. `jittered` counts steps that needed a ridge, `clipped` deviations held at their floor.
  Report report;
  int products = 0;               ///< Gradients and Hessian products, each N D K.
  double largest_gradient = 0.0;  ///< Largest absolute entry of the gradient in (m, C).

  /// Adds what an ascent before this one did; its steps come first in the history unless they are left out.
  void count_earlier(const AscentResult& earlier, bool with_history);
};

/// Steps of the fixed-precision model (StepModel), combined with the last step: the best point of the span of both,
/// mean and root with coefficients of their own, found on N numbers because eta is linear and v quadratic in them. For
/// quadratic bounds that is conjugate gradients with the model as preconditioner.
[[nodiscard]] AscentResult ascend(const FamilyObjective& objective, Vector mean, Vector root,
                                  const AscentOptions& options);

/// A way up: `ascend`, or another to compare it with.
using Ascent = AscentResult (*)(const FamilyObjective& objective, Vector mean, Vector root,
                                const AscentOptions& options);

/// What every way up starts with: the point and, where the bound is not finite, the status numerical_failure.
[[nodiscard]] AscentResult begin_ascent(const FamilyObjective& objective, Vector mean, Vector root);
/// Records one iteration; whether the ascent ends here, with its status.
[[nodiscard]] bool ascent_is_over(AscentResult& result, const AscentOptions& options, std::string_view kind);

/// The entries of a diagonal root that suits the sites at the centre, to start from.
[[nodiscard]] Vector starting_root(const FamilyObjective& objective);

}  // namespace gaussmith
