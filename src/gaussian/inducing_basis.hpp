#pragma once
// A process seen through few of its values: with u ~ N(0, I) of as many numbers,
//   z = mean + L u,  k(z, z) + noise I = L L',  f(x) = mean + a(x)'u + rest,  a(x) = L^-1 k(z, x),
// where the rest is independent of u and has the covariance k(x, x') - a(x)'a(x').

#include "gaussian/inducing_points.hpp"
#include "linalg/dense.hpp"

#include <vector>

namespace gaussmith {

class InducingBasis {
 public:
  /// Of a process of one latent with inducing variables. Those that follow from the others to rounding are left out:
  /// M^3 / 3 flops. Throws InvalidModel where none is left.
  explicit InducingBasis(const GaussianProcess& process);
  /// Values at these of the process's own inputs, in this order, as saved models have them. Throws InvalidModel where
  /// one follows from those before it.
  InducingBasis(const GaussianProcess& process, std::vector<Index> pivots, const Vector& noise);

  /// M, and how many of them count.
  [[nodiscard]] Index given() const { return given_.size(); }
  [[nodiscard]] Index rank() const { return triangle_.rows(); }
  /// Where the values that count stand: among those given, and as points.
  [[nodiscard]] const std::vector<Index>& pivots() const { return pivots_; }
  [[nodiscard]] const InducingPoints& points() const { return points_; }
  /// The inputs of all that were given, M x d.
  [[nodiscard]] const Matrix& given_inputs() const { return given_.inputs(); }
  /// What is added to the variances of the values at these inputs: the noise, and white noise of sites.
  [[nodiscard]] Vector noise() const;
  /// L.
  [[nodiscard]] const Matrix& triangle() const { return triangle_; }
  /// The variances of z, noise included.
  [[nodiscard]] const Vector& variances() const { return variances_; }
  [[nodiscard]] const GaussianProcess& process() const { return given_.process(); }

  /// k(x, x), white noise included.
  [[nodiscard]] Vector prior_variances(const Matrix& x) const { return points_.prior_variances(x); }
  /// a(x_n) of the process's rows [begin, end), rank x their number.
  [[nodiscard]] Matrix at_rows(Index begin, Index end) const;
  /// All of them, N x rank. N (M d + M^2) flops.
  [[nodiscard]] Matrix all_rows(int threads) const;

  using Weights = InducingPoints::Weights;
  using Gradient = InducingPoints::Gradient;
  /// By the values that count; the gradient is in all inputs that were given.
  [[nodiscard]] Gradient contract(const Weights& weights, bool in_inputs, int threads) const;

 private:
  void factorise(Matrix covariance);

  InducingPoints given_;
  std::vector<Index> pivots_;
  InducingPoints points_;
  Matrix triangle_;
  Vector variances_;
};

/// A value whose variance given the others is below this share of its own follows from them: well above what rounding
/// leaves of the pivots, so that the same order can be factorised again without pivoting.
[[nodiscard]] double dependent_share(Index values);

}  // namespace gaussmith
