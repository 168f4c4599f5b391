#pragma once
// Everything that EP compares at given site parameters: the marginals of q, the cavities and the tilted moments.

#include "gaussian/core.hpp"
#include "model/site_rows.hpp"

#include <vector>

namespace gaussmith {

struct EpState {
  SiteApproximation sites;
  LatentPoint point;  ///< Mean of q.
  RowMarginals rows;  ///< Its marginals.

  Vector cavity_mean, cavity_variance;
  Vector log_normaliser, tilted_mean, tilted_variance;
  int improper = 0;  ///< Rows whose cavity is not a distribution; their tilted moments stand for the marginal ones.

  Index inaccurate = 0;  ///< Rows whose tilted moments did not reach the accuracy that sites promise.

  double mean_mismatch = 0.0;  ///< Largest |tilted mean - mean| / (power sd), power that of the site in the tilting.
  double variance_mismatch = 0.0;  ///< Largest |tilted variance / variance - 1| / power.
  double mismatch = 0.0;           ///< The larger of the two, infinite with an improper cavity.
  double log_evidence = 0.0;       ///< log Z_EP, meaningful without improper cavities.
};

/// The cavities of EP: marginals without a share power / max(1, w) of each row's site.
[[nodiscard]] Marginals row_cavities(const RowMarginals& rows, const Vector& precision, const SiteRows& sites,
                                     double power);

/// Fills states for one model at one power.
class EpMoments {
 public:
  EpMoments(GaussianCore& core, const SiteRows& sites, double power);

  /// A row whose prior variance is zero: no site can move it, and its site counts with its value there.
  [[nodiscard]] bool is_pinned(Index row) const { return pinned_[static_cast<std::size_t>(row)]; }

  /// Whether the site is Gaussian and stands as it is: there is nothing to compare.
  [[nodiscard]] bool is_exact(const SiteApproximation& sites, Index row) const {
    return is_gaussian(row) && sites.precision(row) == exact_.precision(row) && sites.shift(row) == exact_.shift(row);
  }

  /// The share of a row's site that leaves for its cavity: a row of weight w > 1 is w copies of its site with one
  /// approximation each, and one copy leaves.
  [[nodiscard]] double power_of(Index row) const { return power_ / sites_->copies(row); }

  [[nodiscard]] double power() const { return power_; }
  void set_power(double power) { power_ = power; }

  /// All of the state at these site parameters; false when K^-1 + T is not positive definite.
  [[nodiscard]] bool evaluate(SiteApproximation sites, EpState& state) const;

  /// The parts of it: marginals from site parameters, cavities from marginals, tilted moments from cavities.
  [[nodiscard]] bool marginals(SiteApproximation sites, EpState& state) const;
  void cavities(EpState& state) const;
  void tilt(EpState& state) const;

  /// Brings the means closer to a fixed point at the current precisions, without another factorisation: O(N^2) and one
  /// more pass of tilted moments each time. Ends when the means agree better than the variances, or do not get closer.
  void settle_means(EpState& state, int most_passes) const;

  /// The site parameters that give the tilted moments in each row's cavity: the undamped EP step.
  [[nodiscard]] SiteApproximation targets(const EpState& state) const;

 private:
  GaussianCore* core_;
  const SiteRows* sites_;
  double power_;
  [[nodiscard]] bool is_gaussian(Index row) const {
    return !gaussian_.empty() && gaussian_[static_cast<std::size_t>(row)];
  }

  std::vector<bool> pinned_;
  std::vector<bool> gaussian_;  // Rows whose sites are Gaussian; empty if there are none.
  SiteApproximation exact_;     // Their parameters: differences of moments would lose digits.
};

}  // namespace gaussmith
