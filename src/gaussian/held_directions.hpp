#pragma once
// Linear constraints C x = 0 on a Gaussian of precision A: conditioning by k solves (what geostatisticians call
// kriging).

#include "gaussmith/types.hpp"

#include <functional>

namespace gaussmith {

/// x given C x = 0: mean and draws lose W S^-1 C x, the covariance W S^-1 W', with W = A^-1 C' and S = C W.
class HeldDirections {
 public:
  /// `solve` is b := A^-1 b.
  HeldDirections(const Matrix& constraints, const std::function<void(Matrix&)>& solve);

  [[nodiscard]] bool any() const { return constraints_.rows() > 0; }
  /// Makes every column fulfil the constraints.
  void hold(Eigen::Ref<Matrix> x) const;
  /// Takes out of a gradient what the constraints take up.
  void project(Vector& gradient) const;
  /// r'(covariance that is lost) r for each column r.
  [[nodiscard]] Vector lost_variances(const Matrix& rows) const;
  /// The root of the lost covariance, D x k.
  [[nodiscard]] const Matrix& lost_root() const { return root_; }
  /// log|A| on the subspace less log|A|: log|C A^-1 C'| - log|C C'|.
  [[nodiscard]] double log_determinant() const { return log_determinant_; }

 private:
  Matrix constraints_, solved_, root_;
  Matrix inverse_, gram_inverse_;  // S^-1 and (C C')^-1.
  double log_determinant_ = 0.0;
};

}  // namespace gaussmith
