#include "engines/leave_one_out.hpp"

#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// A slack this small is rounding of zero: only the row's own site determines it.
constexpr double no_digits = 1e-13;

}  // namespace

Marginals cavities(const Vector& mean, const Vector& variance, const Vector& slack, const Vector& dual,
                   const Vector& precision, double power) {
  const auto v = variance.array();
  const Eigen::ArrayXd s = slack.array() + (1.0 - power) * precision.array() * v;
  return {mean.array() - power * v * dual.array() / s, v / s};
}

LeaveOneOut leave_one_out(const Posterior::State& state) {
  if (!state.core)
    throw InvalidOption("leave-one-out predictions need a posterior in the site form; use kl.covariance=full");
  const SiteRows sites(state.model.sites, state.threads);
  LeaveOneOut out;
  out.latent = cavities(state.latent.mean, state.latent.variance, state.slack,
                        state.core->dual(state.point, state.sites.shift), state.sites.precision, 1.0);
  Vector mean = out.latent.mean;
  Vector variance = out.latent.variance;
  std::vector<Index> missing;
  std::vector<Index> pinned;
  for (Index n = 0; n < mean.size(); ++n) {
    const bool exists = (state.slack(n) > no_digits || state.latent.variance(n) == 0.0) && variance(n) >= 0.0 &&
                        std::isfinite(variance(n)) && std::isfinite(mean(n));
    if (exists && variance(n) > std::numeric_limits<double>::min()) continue;
    (exists ? pinned : missing).push_back(n);
    mean(n) = state.latent.mean(n);
    variance(n) = 1.0;
  }
  Vector tilted_mean;
  Vector tilted_variance;
  sites.tilted(mean, variance, 1.0, out.log_density, tilted_mean, tilted_variance);
  if (!pinned.empty()) {
    Vector value;
    sites.log_density(state.latent.mean, &value);
    for (const Index n : pinned) out.log_density(n) = value(n);
  }
  for (const Index n : missing)
    out.log_density(n) = out.latent.mean(n) = out.latent.variance(n) = std::numeric_limits<double>::quiet_NaN();
  return out;
}

}  // namespace gaussmith
