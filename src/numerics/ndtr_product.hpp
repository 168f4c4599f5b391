#pragma once
// Integrals of products of normal distribution functions over a few standard normal variables.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// log of the integral of N(z | 0, I) prod_j Phi(o_j + l_j'z) over z in R^q, q <= 2, with its derivatives in o. The
/// object is the memory of the work, for products of `factors`.
///
/// The trapezoidal rule about the mode of the integrand, whose logarithm bends by 1 to 1 + |l|^2 along an axis: with
/// that step it is accurate to rounding, about 1e-14 (1 + |log|), also where the integral underflows. For q = 1 small
/// derivatives are relatively accurate too; for q = 2 relatively to the largest.
class NdtrProduct {
 public:
  explicit NdtrProduct(Index factors);

  /// `loadings` has a row for each factor and orthogonal columns. `first` (K numbers) and `second` (K * K) get the
  /// derivatives; an empty span is not wanted, but `second` needs `first`. K evaluations of Phi for each of about
  /// prod_i 25 sqrt(1 + |column_i|^2) nodes.
  [[nodiscard]] double log_integral(const Vector& offset, const Matrix& loadings, Span first, Span second);

  /// The number of nodes that log_integral would use.
  [[nodiscard]] static double node_count(const Matrix& loadings);

 private:
  void find_mode();
  void add_node(double weight_log, bool with_second);

  Matrix loadings_;
  Vector offset_, centre_, step_, argument_, slope_, bend_, slope_sum_, bend_sum_;
  Vector mode_argument_, value_at_mode_, slope_at_mode_, excess_at_mode_;
  Matrix square_sum_, curvature_;
  double weight_sum_ = 0.0;
};

}  // namespace gaussmith
