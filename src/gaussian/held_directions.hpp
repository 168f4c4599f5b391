#pragma once
// Linear constraints C x = 0 on a Gaussian of precision A: conditioning by solves (what geostatisticians call kriging).
// A may be singular where the constraints hold it: what is factorised is M = A + E a E', a diagonal, with a unit vector
// of E in every direction that is held, and the difference is taken back afterwards.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <functional>
#include <vector>

namespace gaussmith {

/// With W = M^-1 C', S = C W, V = M^-1 - W S^-1 W', U = V E and G = a^-1 - E'U the covariance of x given C x = 0 is
/// V + U G^-1 U'.
class HeldDirections {
 public:
  HeldDirections() = default;
  /// `solve` is b := M^-1 b. `grounds` are the places of the unit vectors, `weights` their a.
  HeldDirections(const Matrix& constraints, const std::vector<Index>& grounds, const Vector& weights,
                 const std::function<void(Matrix&)>& solve);

  [[nodiscard]] bool any() const { return constraints_.rows() > 0; }
  /// Whether A is positive definite within the constraints.
  [[nodiscard]] bool is_proper() const { return proper_; }
  /// From M^-1 b to the solution within the constraints, column by column.
  void hold(Eigen::Ref<Matrix> x) const;
  /// From draws of covariance M^-1 to draws within the constraints.
  void hold_draws(Eigen::Ref<Matrix> x, Random& random) const;
  /// Takes out of a gradient what the constraints take up.
  void project(Vector& gradient) const;
  /// r'(M^-1 - covariance) r for each column r.
  [[nodiscard]] Vector lost_variances(const Matrix& rows) const;
  /// Roots of what M^-1 loses and gains, D x k: M^-1 - lost lost' + gained gained' is the covariance.
  [[nodiscard]] const Matrix& lost_root() const { return lost_; }
  [[nodiscard]] const Matrix& gained_root() const { return gained_; }
  /// log|A| on the subspace less log|M|.
  [[nodiscard]] double log_determinant() const { return log_determinant_; }

 private:
  Matrix constraints_, solved_, lost_, gained_;
  Matrix inverse_, gram_inverse_;  // S^-1 and (C C')^-1.
  std::vector<Index> grounds_;
  Matrix back_;  // U G^-1.
  double log_determinant_ = 0.0;
  bool proper_ = true;
};

}  // namespace gaussmith
