#include "posterior/leave_one_out.hpp"

#include "model/site_rows.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// A share this small is rounding of zero: only the row's own site determines it.
constexpr double no_digits = 1e-13;

}  // namespace

LeaveOneOut leave_one_out(const Posterior::State& state) {
  const SiteRows sites(state.model.sites, state.threads);
  LeaveOneOut out;
  out.latent = state.law->cavities();
  const RowMarginals& rows = state.rows();
  Vector mean = out.latent.mean;
  Vector variance = out.latent.variance;
  std::vector<Index> missing;
  std::vector<Index> pinned;
  for (Index n = 0; n < mean.size(); ++n) {
    const bool exists = (rows.share(n) > no_digits || rows.variance(n) == 0.0) && variance(n) >= 0.0 &&
                        std::isfinite(variance(n)) && std::isfinite(mean(n));
    if (exists && variance(n) > std::numeric_limits<double>::min()) continue;
    (exists ? pinned : missing).push_back(n);
    mean(n) = rows.mean(n);
    variance(n) = 1.0;
  }
  Vector tilted_mean;
  Vector tilted_variance;
  sites.tilted(mean, variance, 1.0, out.log_density, tilted_mean, tilted_variance);
  if (!pinned.empty()) {
    Vector value;
    sites.log_density(rows.mean, &value);
    for (const Index n : pinned) out.log_density(n) = value(n);
  }
  for (const Index n : missing)
    out.log_density(n) = out.latent.mean(n) = out.latent.variance(n) = std::numeric_limits<double>::quiet_NaN();
  return out;
}

}  // namespace gaussmith
