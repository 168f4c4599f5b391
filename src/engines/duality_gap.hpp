#pragma once
// How many nats the KL bound can still rise (docs/engines/kl_solvers.md, "The duality gap").

#include "engines/kl_full.hpp"

#include <limits>
#include <string>
#include <vector>

namespace gaussmith {

/// A certificate at one point: the optimum of the bound is at most `value` above it.
struct DualityGap {
  double value = std::numeric_limits<double>::infinity();  ///< Infinite where this point gives none.
  Vector rows = {};                                        ///< What the rows have in it.
};

/// With f_n(m, s) = -E_{N(m, s^2)}[log t_n], the dual slopes alpha of a Newton step of the mean, lambda = tau and
/// rho_n = lambda_n s_n,
///   U - bound = sum [f_n + f_n*(alpha_n, rho_n) - alpha_n m_n - lambda_n s_n^2] + 1/2 |u - u(alpha)|^2 >= 0,
/// where U is above the bound of every Gaussian. The core is at precisions of which Newton's step for the mean can be
/// taken. Where rho is outside the domain of f* a smaller lambda is used and what this may change is added. All sites
/// are log-concave. Costs one solve, and one pass over the sites where the point is near the optimum. Elsewhere
/// conjugates are sought by many, which is saved where second derivatives foretell a gap far beyond `most`: then there
/// is none.
[[nodiscard]] DualityGap duality_gap(const GaussianCore& core, const SiteRows& sites, const KlPoint& point,
                                     double most = std::numeric_limits<double>::infinity());

/// The rows with the largest shares of a gap, largest first, no more than a handful.
[[nodiscard]] std::vector<RowGap> worst_rows(const Vector& rows);

/// Why a model has no duality gap; empty if it has one.
[[nodiscard]] std::string why_no_gap(const Model& model);

}  // namespace gaussmith
