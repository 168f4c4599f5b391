#include "engines/ep_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

bool EpMoments::evaluate(SiteApproximation sites, EpState& state) const {
  if (!marginals(std::move(sites), state)) return false;
  cavities(state);
  tilt(state);
  return true;
}

bool EpMoments::marginals(SiteApproximation sites, EpState& state) const {
  if (!sites.shift.allFinite() || !core_->factorise(sites.precision)) return false;
  state.sites = std::move(sites);
  state.point = core_->mean(state.sites.shift);
  state.variance = core_->variances(&state.slack);
  state.dual = core_->dual(state.point, state.sites.shift);
  return state.point.eta.allFinite();
}

void EpMoments::cavities(EpState& state) const {
  // v_cavity = v / s and m_cavity = m - power v a / s with s = 1 - power tau v and a = nu - tau m: nothing cancels when
  // a site outweighs everything else.
  const Index n = state.variance.size();
  state.cavity_mean.resize(n);
  state.cavity_variance.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double v = state.variance(i);
    const double s = state.slack(i) + (1.0 - power_) * state.sites.precision(i) * v;
    state.cavity_variance(i) = v / s;
    state.cavity_mean(i) = state.point.eta(i) - power_ * v * state.dual(i) / s;
  }
}

void EpMoments::tilt(EpState& state) const {
  const Index n = state.variance.size();
  // Rows without a proper cavity get a harmless one for the call.
  std::vector<Index> aside;
  state.improper = 0;
  for (Index i = 0; i < n; ++i) {
    const bool proper = state.cavity_variance(i) > 0.0 && std::isfinite(state.cavity_variance(i)) &&
                        std::isfinite(state.cavity_mean(i));
    if (proper && !is_pinned(state.cavity_variance(i))) continue;
    if (!is_pinned(state.variance(i))) ++state.improper;
    aside.push_back(i);
    state.cavity_mean(i) = state.point.eta(i);
    state.cavity_variance(i) = std::max(state.variance(i), 1e-200);
  }
  sites_->tilted(state.cavity_mean, state.cavity_variance, power_, state.log_normaliser, state.tilted_mean,
                 state.tilted_variance);
  for (const Index i : aside) {
    state.tilted_mean(i) = state.point.eta(i);
    state.tilted_variance(i) = state.variance(i);
  }
  state.mismatch = state.improper > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double v = state.variance(i);
    if (is_pinned(v)) {
      sum += state.log_normaliser(i);
      continue;
    }
    const double move = state.cavity_mean(i) - state.point.eta(i);
    // log Z_cavity,tilted + Psi(cavity) - Psi(marginal), with the site's share of log Z_site added: what is left is
    // 1/2 log(v_cavity / v) + 1/2 (m_cavity - m)^2 / v_cavity.
    sum += state.log_normaliser(i) + 0.5 * std::log(state.cavity_variance(i) / v) +
           0.5 * move * move / state.cavity_variance(i);
    const double in_mean = std::abs(state.tilted_mean(i) - state.point.eta(i)) / std::sqrt(v);
    const double in_variance = std::abs(state.tilted_variance(i) / v - 1.0);
    const double worst = std::max(in_mean, in_variance);
    // The negation also catches a moment that is not a number.
    if (!(worst <= state.mismatch))
      state.mismatch = std::isnan(worst) ? std::numeric_limits<double>::infinity() : worst;
  }
  state.log_evidence = sum / power_ - 0.5 * core_->inner(state.point, state.point) - core_->half_log_det();
}

SiteApproximation EpMoments::targets(const EpState& state) const {
  SiteApproximation out = state.sites;
  for (Index i = 0; i < state.variance.size(); ++i) {
    const double v = state.tilted_variance(i);
    const bool moved = state.tilted_mean(i) != state.point.eta(i) || v != state.variance(i);
    if (!moved || !(v > 0.0) || !std::isfinite(state.tilted_mean(i)) || is_pinned(state.variance(i))) continue;
    const double cavity = state.cavity_variance(i);
    const double precision = (1.0 / v - 1.0 / cavity) / power_;
    const double shift = (state.tilted_mean(i) / v - state.cavity_mean(i) / cavity) / power_;
    if (!std::isfinite(precision) || !std::isfinite(shift)) continue;
    out.precision(i) = precision;
    out.shift(i) = shift;
  }
  return out;
}

}  // namespace gaussmith
