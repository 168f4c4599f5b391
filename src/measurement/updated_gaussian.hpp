#pragma once
// A Gaussian over the weights that takes in measurements with its sites held: V - U U', U a column a measurement.

#include "gaussmith/types.hpp"

#include <memory>

namespace gaussmith {

class UpdatedGaussian {
 public:
  /// The covariance with both triangles.
  UpdatedGaussian(Vector mean, std::shared_ptr<const Matrix> covariance)
      : mean_(std::move(mean)), covariance_(std::move(covariance)) {}

  [[nodiscard]] const Vector& mean() const { return mean_; }
  /// V X. D^2 k flops.
  [[nodiscard]] Matrix times(const Matrix& x) const;
  [[nodiscard]] Vector variances() const;
  /// V itself, both triangles: a copy where measurements were taken in.
  [[nodiscard]] std::shared_ptr<const Matrix> covariance() const;

  /// What measurements of the rows X (transposed, D x k) do: with G = V X', S = X G + variance I = L L',
  ///   gain = 1/2 log|S / variance|, mean += G S^-1 (y - X mean), V -= G S^-1 G', log evidence += log N(y | X mean, S).
  struct Step {
    double gain = 0.0;
    double log_density = 0.0;  ///< log N(y | X mean, S).
    Vector move;               ///< Of the mean.
    Matrix shrink;             ///< G L^-T, D x k: what variances lose.
  };
  /// The gain alone.
  [[nodiscard]] double gain(const Matrix& rows, double variance) const;
  [[nodiscard]] Step measure(const Matrix& rows, const Vector& values, double variance) const;
  void take(const Step& step);

 private:
  Vector mean_;
  std::shared_ptr<const Matrix> covariance_;
  Matrix lost_;  // U.
};

}  // namespace gaussmith
