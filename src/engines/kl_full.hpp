#pragma once
// The optimum of the KL bound over all Gaussians, in site form; with tangents in place of expectations that of the
// local variational bound, which has the same form (docs/engines/vb.md).

#include "engines/mean_ascent.hpp"
#include "gaussmith/infer.hpp"

#include <limits>
#include <optional>

namespace gaussmith {

/// Where an ascent stands: precisions tau, variances v of eta under q, and the mean with its site expectations. With
/// e_n = E[log t_n] under N(m_n, v_n) the bound is
///   sum e_n - 1/2 |u|^2 - 1/2 log|I + K T| + 1/2 sum tau_n v_n
/// (of v_n only what sites act upon, where a process is seen through inducing variables), and it is stationary where
/// the mean is optimal and tau_n = -2 de_n/dv_n.
struct KlPoint {
  Vector precision, variance;
  SmoothedPoint mean;
  double bound = 0.0;
  double residual = 0.0;  ///< The larger of the mean's residual and max |tau + 2 de/dv| v.

  /// With nu = de/dm + tau m the site form has this mean where the mean is optimal.
  [[nodiscard]] SiteApproximation sites() const {
    return {precision, mean.d_mean + precision.cwiseProduct(mean.at.eta)};
  }
};

/// What stands for the prior's variance where it is wider, or where there is no Gaussian factor.
inline constexpr double widest_variance = 1e8;

/// Where an ascent begins: site precisions, and a mean in the core's coordinates.
struct KlStart {
  Vector precision;
  LatentPoint mean;
};

/// A start that needs no factorisation: each site alone under the prior's marginal, widened or narrowed until
/// v (1/K_nn + tau(v)) = 1 at the mean.
[[nodiscard]] KlStart independent_start(const GaussianCore& core, const SiteRows& sites, LatentPoint mean);

/// How far an ascent goes, and the name of the method that it serves.
struct ClimbOptions {
  const char* method;
  int max_iterations;
  double tolerance;
  int starts;        ///< For sites that are not log-concave.
  bool gap = false;  ///< Whether every step has a duality gap; for log-concave sites under expectations.
  std::optional<double> gap_goal = std::nullopt;  ///< Stop at this gap, whatever the residual.
};

/// Keeps the least upper bound that any step of an ascent gives, and says how far a bound is from it.
class GapRecord {
 public:
  /// The gap of a point, or what earlier points leave of it, whichever is less; empty where there is none yet.
  /// That of a point which is likely to be far beyond `most` may be left out.
  [[nodiscard]] std::optional<double> add(const GaussianCore& core, const SiteRows& sites, const KlPoint& point,
                                          double most = std::numeric_limits<double>::infinity());
  /// The rows' shares in the last gap that a point gave.
  [[nodiscard]] const Vector& rows() const { return rows_; }

 private:
  std::optional<double> upper_;
  Vector rows_;
};

/// Climbs from a start at which K^-1 + T is positive definite. Writes iterations, history, residual, status and message
/// of the report; an iteration is one factorisation. Leaves the core at the sites of the result.
[[nodiscard]] KlPoint climb_kl(GaussianCore& core, const SiteRows& sites, const ClimbOptions& options, const Run& run,
                               const KlStart& start, Report& report);

}  // namespace gaussmith
