#pragma once
// E[log sum_c exp f_c] for f ~ N(m, V) and its derivatives, by a rule that does not change from call to call:
//   d/dm E = E[p],  d/dV E = E[diag p - pp']/2,  p = softmax(f).

#include "gaussmith/types.hpp"
#include "numerics/normal_points.hpp"

#include <optional>

namespace gaussmith {

/// One row at a time. Up to three classes: the trapezoidal rule, to 1e-10, where that takes few nodes. Otherwise
/// antithetic pairs of fixed points on a Cholesky factor of V in contrasts of the classes, so that what comes out is a
/// smooth function of m and V: 2^12 softmaxes a row.
class AveragedLogSumExp {
 public:
  /// Randomisations of the points.
  static constexpr Index shifts = 8;

  AveragedLogSumExp(Index classes, std::uint64_t seed);

  struct Out {
    Span probability;  ///< E[p]; empty if not wanted.
    Span curvature;    ///< E[diag p - pp'], C x C; empty if not wanted.
    Span replicates;   ///< The value by every randomisation of the points; empty if not wanted.
  };
  /// The value.
  double average(ConstSpan mean, ConstSpan covariance, const Out& out);

 private:
  bool by_quadrature(ConstSpan mean, ConstSpan covariance, double& value);
  double by_points(ConstSpan mean, ConstSpan covariance, Span replicates);

  Index classes_;
  std::uint64_t seed_;
  std::optional<Matrix> points_;  // Of all randomisations, one after the other; made when they are needed.
  Matrix contrast_, f_;
  Vector top_, total_, probability_;
  Matrix curvature_;
};

}  // namespace gaussmith
