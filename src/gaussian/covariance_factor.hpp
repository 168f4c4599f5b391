#pragma once
// The factorised covariance form for fixed site precisions, negative ones included.
//
// Positive precisions T+ : B = I + T+^1/2 K T+^1/2 = L L'. K is never inverted and may be singular. Negative ones, rows
// J with S = |T_J|, are down-dated: V = V+ + V+ E S^1/2 C^-1 S^1/2 E'V+ with C = I - S^1/2 V+_JJ S^1/2, which is
// positive definite exactly when K^-1 + T is. No precision is ever clipped.

#include "linalg/dense.hpp"

#include <vector>

namespace gaussmith {

class CovarianceFactor {
 public:
  /// False when K^-1 + T is not positive definite.
  [[nodiscard]] bool factorise(const Matrix& k, const Vector& precision);

  /// (I + T K)^-1 r, the dual vector of a right-hand side.
  [[nodiscard]] Vector dual(const Matrix& k, const Vector& r) const;

  /// 1/2 log|I + K T|.
  [[nodiscard]] double half_log_det() const;

  /// tau of the last factorisation.
  [[nodiscard]] const Vector& precision() const { return precision_; }

  /// diag V; computes and keeps L^-1. `share` gets 1 - tau v, from (B^-1)_nn where tau is strong.
  [[nodiscard]] Vector variances(const Matrix& k, Vector& share);

  /// V, lower triangle: 2 N^3 flops.
  [[nodiscard]] Matrix covariance(const Matrix& k) const;

  /// 1/2 (a b' + b a' - Z) with Z = (K + T^-1)^-1, in the lower triangle: N^3 / 3 flops on the L^-1 that variances()
  /// keeps, twice that without.
  [[nodiscard]] Matrix gradient_weights(const Vector& a, const Vector& b) const;

  /// About the largest eigenvalue of D^1/2 Z+ D^1/2 for D >= 0, Z+ = (K + T+^-1)^-1: what an error of K as large as
  /// D_i^1/2 D_j^1/2 is multiplied by. Some solves.
  [[nodiscard]] double growth(const Eigen::ArrayXd& d) const;

  /// What c'Z c is made of for columns c of a cross-covariance block: c'Z c = |positive|^2 - |negative|^2.
  struct Reduction {
    Matrix positive;  ///< L^-1 T+^1/2 c, N x M.
    Matrix negative;  ///< Lc^-1 S^1/2 F'c, |J| x M; empty without negative precisions.
  };
  [[nodiscard]] Reduction reduce(Matrix cross) const;

 private:
  [[nodiscard]] Vector positive_dual(const Matrix& k, const Vector& r) const;

  Vector precision_;
  Vector root_;     // sqrt(tau) where positive, otherwise 0.
  Matrix lower_;    // L.
  Matrix inverse_;  // L^-1, after variances().
  std::vector<Index> negative_;
  Vector negative_root_;   // sqrt|tau| of the negative rows.
  Matrix negative_dual_;   // F = (I + T+ K)^-1 E, N x |J|.
  Matrix negative_cross_;  // V+ E, N x |J|.
  Matrix negative_lower_;  // Cholesky factor of C.
};

}  // namespace gaussmith
