#include "gaussmith/errors.hpp"
#include "gaussmith/trust.hpp"
#include "model/site_rows.hpp"
#include "posterior/posterior_state.hpp"
#include "trust/hermite_coefficients.hpp"
#include "trust/posterior_root.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gaussmith {

QuickChecks quick_checks(const Posterior& posterior) {
  QuickChecks out;
  const Posterior::State& state = posterior.state();
  if (state.model.latents.count > 1 || state.report.status == Status::numerical_failure) return out;
  const SiteRows sites(state.model, state.threads);
  const RowMarginals& rows = state.rows();
  if (!rows.mean.allFinite()) return out;
  Vector second;
  Vector third;
  sites.log_density(rows.mean, nullptr, nullptr, &second, &third);
  for (Index n = 0; n < second.size(); ++n)
    if (second(n) > 0.0) out.outvoted.push_back(n);
  Index begin = 0;
  for (const Sites& block : state.model.sites) {
    const Index end = begin + block->size();
    for (Index n = begin; n < end && block->traits().smooth; ++n) {
      const double variance = std::max(0.0, rows.variance(n));
      const double skewness = third(n) * variance * std::sqrt(variance);
      if (!std::isfinite(skewness)) continue;
      if (out.skewness && !(std::abs(skewness) > std::abs(*out.skewness))) continue;
      out.skewness = skewness;
      out.skewness_row = n;
    }
    begin = end;
  }
  if (state.mean_shift.size() > 0) {
    (void)state.mean_shift.cwiseAbs().maxCoeff(&out.mean_shift_row);
    out.mean_shift = state.mean_shift(out.mean_shift_row);
  }
  return out;
}

std::vector<Index> most_skewed_rows(const Posterior& posterior, Index count, Index rows) {
  const Posterior::State& state = posterior.state();
  if (std::string why = why_no_root(state); !why.empty()) throw InvalidOption("marginals: " + why);
  const SiteRows sites(state.model, state.threads);
  const Matrix a =
      tilted_coefficients(sites, state.rows(), state.sites, Vector::Ones(sites.rows())).coefficient.cwiseAbs();
  std::vector<Index> order(static_cast<std::size_t>(rows > 0 ? std::min(rows, sites.rows()) : sites.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index x, Index y) { return a(x, 0) > a(y, 0); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

}  // namespace gaussmith
