#pragma once
// L-BFGS for functions that are infinite outside their domain, as Lagrangian duals are: such values shorten the step.
// Directions start from an approximate inverse second derivative, which general libraries have no place for.

#include "gaussmith/types.hpp"

#include <deque>
#include <functional>
#include <utility>

namespace gaussmith {

/// The value at x and its gradient; infinite outside the domain, where the gradient need not be set.
using SmoothFunction = std::function<double(const Vector& x, Vector& gradient)>;
/// About the inverse of the second derivative at the last point, times a vector; symmetric and positive definite.
using InverseModel = std::function<Vector(const Vector& gradient)>;

enum class QuasiNewtonEnd { told, stuck, evaluations };

class QuasiNewton {
 public:
  /// `inverse` may be empty: then the steps' own curvature gives the scale.
  QuasiNewton(SmoothFunction function, InverseModel inverse)
      : function_(std::move(function)), inverse_(std::move(inverse)) {}

  /// From x, where the function is finite, until over(x, value) says so, which is asked after every step; until nothing
  /// can be gained; or until `most` evaluations.
  QuasiNewtonEnd minimise(Vector x, int most, const std::function<bool(const Vector& x, double value)>& over);

  [[nodiscard]] const Vector& point() const { return x_; }
  [[nodiscard]] const Vector& gradient() const { return gradient_; }
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }

 private:
  struct Pair {
    Vector step, change;
    double product;
  };
  [[nodiscard]] Vector direction() const;
  /// A point on the line with enough gain and a flatter slope.
  bool search(const Vector& along, double slope, int most);
  double evaluate(const Vector& x, Vector& gradient);

  SmoothFunction function_;
  InverseModel inverse_;
  std::deque<Pair> pairs_;  // Newest first.
  Vector x_, gradient_;
  double value_ = 0.0;
  int evaluations_ = 0;
};

}  // namespace gaussmith
