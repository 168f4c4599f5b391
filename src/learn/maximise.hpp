#pragma once
// Maximisation over a box of a smooth function that is expensive, slightly inexact and may fail at some points.

#include "gaussmith/report.hpp"
#include "learn/curvature.hpp"
#include "learn/evaluation.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gaussmith {

struct SearchOptions {
  int max_evaluations = 200;
  double tolerance = 1e-5;      ///< Of the largest projected gradient; several times its own error where that is more.
  double radius = 1.0;          ///< Of the first step, in every coordinate.
  Index most_differences = 12;  ///< A Hessian by differences is taken up to this many coordinates.
  Index few = 3;                ///< Up to this many coordinates, the search also begins with a Hessian.
  double enough = 0.0;          ///< Ends where the model expects to gain no more than this.
  /// Ends, where the model is a Hessian by differences, within this many standard errors of its maximum.
  double near_enough = 0.0;
  const Curvature* curvature = nullptr;  ///< What is known of the Hessian around the start; lent.
};

/// Where a search ended.
struct Maximum {
  double value;  ///< -inf when every evaluation failed.
  Status status;
  std::string message;
  Vector point = {}, gradient = {};  ///< Empty when every evaluation failed.
  int evaluations = 0;               ///< All of them.
  int curvature_evaluations = 0;     ///< Those among them that went into Hessians.
  /// The Hessian by differences, if one was taken as near to the point as differences are good.
  std::optional<Curvature> curvature = {};
};

/// Trust-region steps on a quadratic model that every evaluation improves, accepted or not; where the model expects
/// little more and coordinates are few, the model is replaced by a Hessian of differences and the last steps are
/// Newton's. A failed evaluation (empty) makes the region smaller. Ends when the projected gradient is below the
/// tolerance, when what is left to gain cannot be seen in the values, or when `stop` says so after an evaluation. An
/// evaluation `at_start` that is known already is neither made again nor counted.
[[nodiscard]] Maximum maximise(const PartialFunction& f, const std::function<bool()>& stop, const Vector& start,
                               const Vector& lower, const Vector& upper, const SearchOptions& options,
                               std::optional<Evaluation> at_start = {});

/// A tolerance no sharper than an evaluation's own gradient is.
[[nodiscard]] double gradient_goal(double tolerance, const Evaluation& evaluation);

/// The Hessian at a point, over the coordinates that no bound holds back: steps as small as the gradient's error
/// allows, in one evaluation a coordinate where that is good to a part in a thousand or so, else in two. Empty when the
/// budget of evaluations does not suffice or they fail. `scale` is about what the diagonal of the Hessian is.
[[nodiscard]] std::optional<Curvature> curvature_inside(const PartialFunction& f, const Vector& point,
                                                        const Evaluation& there, const Vector& lower,
                                                        const Vector& upper, double scale, int budget);

}  // namespace gaussmith
