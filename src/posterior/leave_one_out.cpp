#include "posterior/leave_one_out.hpp"

#include "model/site_rows.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// A share this small is rounding of zero: only the row's own site determines it.
constexpr double no_digits = 1e-13;

/// Of rows with several latents: a label's log density is that of its class under the cavity.
LeaveOneOut joint_leave_one_out(const Posterior::State& state) {
  LeaveOneOut out;
  out.latent = state.law->cavities();
  const Index c = state.sites.width;
  const Index square = c * c;
  out.log_density = Vector::Constant(state.model.rows(), std::numeric_limits<double>::quiet_NaN());
  Index row = 0;
  for (const Sites& block : state.model.sites) {
    const bool labels = block->traits().response == ResponseKind::label;
    Vector probability(c);
    double error = 0.0;
    for (Index i = 0; i < block->size() && labels; ++i) {
      const Index n = row + i;
      const ConstSpan mean(out.latent.mean.data() + n * c, static_cast<std::size_t>(c));
      const ConstSpan covariance(out.latent.covariance.data() + n * square, static_cast<std::size_t>(square));
      if (!std::isfinite(out.latent.variance(n * c))) continue;
      block->class_probabilities(i, mean, covariance, {}, view(probability), Span(&error, 1));
      out.log_density(n) = std::log(probability(static_cast<Index>(block->responses()(i))));
    }
    row += block->size();
  }
  return out;
}

}  // namespace

LeaveOneOut leave_one_out(const Posterior::State& state) {
  if (state.left_out) return state.left_out();
  if (state.sites.width > 1) return joint_leave_one_out(state);
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
