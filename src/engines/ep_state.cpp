#include "engines/ep_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The larger of the two; a value that is not a number is as bad as infinity.
void raise(double& largest, double value) { largest = std::isnan(value) ? infinity : std::max(largest, value); }

/// More passes over the means have nothing to gain once they agree this much better than the variances.
constexpr double means_ahead = 0.2;

/// Below this a variance is that of a constant.
constexpr double no_variance = 1e-290;

}  // namespace

EpMoments::EpMoments(GaussianCore& core, const SiteRows& sites, double power)
    : core_(&core), sites_(&sites), power_(power) {
  const Vector prior = core.prior_variances();
  for (const double v : prior) pinned_.push_back(!(v > no_variance));
  gaussian_ = sites.which(&SiteTraits::gaussian);
  if (gaussian_.empty()) return;
  Vector first;
  Vector second;
  sites.log_density(core.prior_mean(), nullptr, &first, &second);
  exact_.precision = -second;
  exact_.shift = first + exact_.precision.cwiseProduct(core.prior_mean());
}

Marginals row_cavities(const RowMarginals& rows, const Vector& precision, const SiteRows& sites, double power) {
  if (sites.weights() == nullptr) return cavities(rows, precision, power);
  return cavities(rows, precision, power / sites.weights()->array().max(1.0));
}

bool EpMoments::evaluate(SiteApproximation sites, EpState& state) const {
  if (!marginals(std::move(sites), state)) return false;
  cavities(state);
  tilt(state);
  return true;
}

bool EpMoments::marginals(SiteApproximation sites, EpState& state) const {
  if (!core_->set(sites)) return false;
  state.sites = std::move(sites);
  state.point = core_->mean();
  state.rows = core_->marginals(state.point);
  return state.point.eta.allFinite();
}

void EpMoments::cavities(EpState& state) const {
  const Marginals c = row_cavities(state.rows, state.sites.precision, *sites_, power_);
  state.cavity_mean = c.mean;
  state.cavity_variance = c.variance;
}

void EpMoments::tilt(EpState& state) const {
  const Index n = state.rows.variance.size();
  // Rows without a proper cavity get a harmless one for the call.
  std::vector<Index> aside;
  state.improper = 0;
  for (Index i = 0; i < n; ++i) {
    const bool proper = state.rows.variance(i) > no_variance && state.cavity_variance(i) > no_variance &&
                        std::isfinite(state.cavity_variance(i)) && std::isfinite(state.cavity_mean(i));
    if (proper) continue;
    if (!is_pinned(i)) ++state.improper;
    aside.push_back(i);
    state.cavity_mean(i) = state.point.eta(i);
    state.cavity_variance(i) = state.rows.variance(i) > no_variance ? state.rows.variance(i) : 1.0;
  }
  state.inaccurate = sites_->tilted(state.cavity_mean, state.cavity_variance, power_, state.log_normaliser,
                                    state.tilted_mean, state.tilted_variance);
  Vector at_mean;
  if (!aside.empty()) sites_->log_density(state.point.eta, &at_mean);
  for (const Index i : aside) {
    state.tilted_mean(i) = state.point.eta(i);
    state.tilted_variance(i) = state.rows.variance(i);
    if (!(state.rows.variance(i) > no_variance)) state.log_normaliser(i) = power_of(i) * at_mean(i);
  }
  state.mean_mismatch = state.variance_mismatch = 0.0;
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double v = state.rows.variance(i);
    if (!(v > no_variance)) {
      sum += sites_->copies(i) * state.log_normaliser(i);
      continue;
    }
    const double move = state.cavity_mean(i) - state.point.eta(i);
    // log Z_cavity,tilted + Psi(cavity) - Psi(marginal), with the site's share of log Z_site added: what is left is
    // 1/2 log(v_cavity / v) + 1/2 (m_cavity - m)^2 / v_cavity.
    sum += sites_->copies(i) * (state.log_normaliser(i) + 0.5 * std::log(state.cavity_variance(i) / v) +
                                0.5 * move * move / state.cavity_variance(i));
    if (is_exact(state.sites, i)) continue;
    // A share of a site moves the moments by a share only: per unit of power the comparison means the same at all
    // powers.
    const double power = sites_->exponent(i, power_);
    raise(state.mean_mismatch, std::abs(state.tilted_mean(i) - state.point.eta(i)) / (power * std::sqrt(v)));
    raise(state.variance_mismatch, std::abs(state.tilted_variance(i) / v - 1.0) / power);
  }
  state.mismatch = state.improper > 0 ? infinity : std::max(state.mean_mismatch, state.variance_mismatch);
  state.log_evidence = sum / power_ - 0.5 * core_->inner(state.point, state.point) - core_->half_log_det().value;
}

void EpMoments::settle_means(EpState& state, int most_passes) const {
  // At a fixed point a = nu - tau m is the slope (tilted mean - cavity mean) / (power v_cavity) of log Z_tilted; with
  // the precision as its derivative in m this is a chord step of Newton's method for the means.
  for (int pass = 0; pass < most_passes && state.improper == 0; ++pass) {
    if (!(state.mean_mismatch > means_ahead * state.variance_mismatch)) return;
    SiteApproximation sites = state.sites;
    for (Index i = 0; i < state.rows.variance.size(); ++i) {
      if (!(state.rows.variance(i) > no_variance) || is_exact(sites, i)) continue;
      sites.shift(i) = (state.tilted_mean(i) - state.cavity_mean(i)) / (power_of(i) * state.cavity_variance(i)) +
                       sites.precision(i) * state.tilted_mean(i);
    }
    EpState next;
    if (!evaluate(std::move(sites), next)) return;
    if (!(next.mean_mismatch < state.mean_mismatch) || !std::isfinite(next.mismatch)) return;
    state = std::move(next);
  }
}

SiteApproximation EpMoments::targets(const EpState& state) const {
  SiteApproximation out = state.sites;
  for (Index i = 0; i < state.rows.variance.size(); ++i) {
    if (is_gaussian(i) && !is_pinned(i)) {
      out.precision(i) = exact_.precision(i);
      out.shift(i) = exact_.shift(i);
      continue;
    }
    const double v = state.tilted_variance(i);
    const bool moved = state.tilted_mean(i) != state.point.eta(i) || v != state.rows.variance(i);
    if (!moved || !(v > 0.0) || !std::isfinite(state.tilted_mean(i)) || is_pinned(i)) continue;
    const double cavity = state.cavity_variance(i);
    const double precision = (1.0 / v - 1.0 / cavity) / power_of(i);
    const double shift = (state.tilted_mean(i) / v - state.cavity_mean(i) / cavity) / power_of(i);
    if (!std::isfinite(precision) || !std::isfinite(shift)) continue;
    out.precision(i) = precision;
    out.shift(i) = shift;
  }
  return out;
}

}  // namespace gaussmith
