#pragma once
// q(w) of one unit, a pseudo regression of its activations h = X w: the factors of the weights times those of h.

#include "gaussmith/network.hpp"
#include "linalg/serial_blas.hpp"

namespace gaussmith {

/// Gaussian factors exp(nu x - tau x^2 / 2) side by side.
struct GaussianFactors {
  Vector precision, shift;

  explicit GaussianFactors(Index count = 0) : precision(Vector::Zero(count)), shift(Vector::Zero(count)) {}
};

class UnitLaw {
 public:
  /// `rows` is X, n x D, which is lent.
  UnitLaw(const Matrix& rows, bool covariance_form) : rows_(&rows), covariance_form_(covariance_form) {}

  /// From the factors of w, D, and of h, n. False, and nothing changes, where the precision is not positive definite.
  /// n D^2 + D^3 flops; in the covariance form n^2 (n + D), n one more for every weight without a positive precision.
  [[nodiscard]] bool refresh(const GaussianFactors& weights, const GaussianFactors& activations, int threads);

  [[nodiscard]] const Vector& mean() const { return mean_; }
  [[nodiscard]] const Vector& variance() const { return variance_; }           ///< Of every weight.
  [[nodiscard]] const Marginals& activations() const { return activations_; }  ///< Of h.
  /// log of the integral of all factors over w.
  [[nodiscard]] double log_integral() const { return log_integral_; }
  /// Mean and covariance as saved models hold them.
  [[nodiscard]] UnitWeights weights(const GaussianFactors& weights, const GaussianFactors& activations) const;

 private:
  [[nodiscard]] bool refresh_precision(const GaussianFactors& weights, const GaussianFactors& activations, int threads);
  [[nodiscard]] bool refresh_covariance(const GaussianFactors& weights, const GaussianFactors& activations);

  const Matrix* rows_;
  bool covariance_form_;
  Vector mean_, variance_;
  Marginals activations_;
  double log_integral_ = 0.0;
};

/// X'diag(weights) X, lower triangle, for weights of either sign: the sum of a fixed number of parts, so that any
/// number of threads gives the same bits.
[[nodiscard]] Matrix weighted_gram(ConstMatrixView rows, const Vector& weights, int threads);

}  // namespace gaussmith
