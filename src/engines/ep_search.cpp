#include "engines/ep_search.hpp"

#include "gaussmith/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Variance of the broad Gaussian that stands in for the missing one when sites suggest their own start.
constexpr double broad_variance = 100.0;
/// A start needs a proper Gaussian: precisions suggested by sites are at least this.
constexpr double smallest_start = 1e-6;
/// Passes over the means between two factorisations; a sweep less for one of them is a good trade at any N.
constexpr int mean_passes = 2;
/// Rounding is no excuse for a mismatch above this.
constexpr double most_rounding = 1e-4;

}  // namespace

std::string_view reason(StageEnd end) {
  switch (end) {
    case StageEnd::converged:
      return "the moments match";
    case StageEnd::rounding:
      return "rounding hides what is left of the mismatch";
    case StageEnd::not_falling:
      return "the moment mismatch stopped falling";
    case StageEnd::improper_cavity:
      return "cavities lost their positive variance";
    case StageEnd::not_definite:
      return "K^-1 + T lost definiteness";
    case StageEnd::close:
      return "the fixed point is near";
    case StageEnd::share_spent:
      return "the double loop used up its share of the sweeps";
    case StageEnd::limit:
      return "no sweeps were left";
    case StageEnd::no_sweeps:
      return "this form of the core has no updates of one site at a time";
    case StageEnd::stopped:
      return "the caller asked to stop";
  }
  return "";
}

EpSearch::EpSearch(GaussianCore& core, const SiteRows& sites, const Ep& options, const Run& run, Report& report)
    : core_(core),
      sites_(sites),
      options_(options),
      report_(report),
      progress_(run.progress, &report.history),
      moments_(core, sites, options.power) {}

void EpSearch::start_from(const Posterior* warm) {
  const Index n = sites_.rows();
  if (warm != nullptr && warm->site_approximation().rows() == n && evaluate(warm->site_approximation()) &&
      now_->improper == 0) {
    keep_best();
    return;
  }
  SiteApproximation start{Vector::Zero(n), Vector::Zero(n)};
  if (!core_.geometry().is_proper()) {
    Vector log_normaliser;
    Vector mean;
    Vector variance;
    sites_.tilted(core_.prior_mean(), Vector::Constant(n, broad_variance), 1.0, log_normaliser, mean, variance);
    start.precision = (variance.cwiseInverse().array() - 1.0 / broad_variance).max(smallest_start);
    if (sites_.weights() != nullptr) start.precision.array() *= sites_.weights()->array().max(1.0);
    start.shift = start.precision.cwiseProduct(mean);
  }
  if (!evaluate(std::move(start))) throw InvalidModel("ep: " + why_not_factorised(core_));
  keep_best();
}

void EpSearch::set_power(double power) {
  moments_.set_power(power);
  const StatePointer from = std::exchange(best_, nullptr);
  // Full cavities are proper wherever the larger power's were; a fresh evaluation brings the tilted moments in line.
  if (!evaluate(from->sites)) start_from(nullptr);
  keep_best();
}

bool EpSearch::start_at(const SiteApproximation& sites, double power) {
  moments_.set_power(power);
  if (!evaluate(sites)) return false;
  best_ = now_;
  return true;
}

void EpSearch::start_afresh(double power) {
  moments_.set_power(power);
  best_ = nullptr;
  start_from(nullptr);
}

double EpSearch::lower_bound(const EpState& state) const {
  if (!core_.set(state.sites)) return std::numeric_limits<double>::quiet_NaN();
  Vector value;
  sites_.expectation(state.point.eta, state.rows.variance, &value);
  return value.sum() - 0.5 * core_.inner(state.point, state.point) - core_.half_log_det().value +
         0.5 * state.sites.precision.dot(state.rows.variance);
}

double EpSearch::rounding() const {
  // The core is near the best state, if not at it: errors of rounding do not change much from one to the other.
  const double largest = core_.rounding_error(now_->point).largest_moment();
  return std::min(largest / moments_.power(), most_rounding);
}

StageEnd EpSearch::not_falling() const {
  return best_->mismatch <= rounding() ? StageEnd::rounding : StageEnd::not_falling;
}

void EpSearch::start_at_power(double lower, double damping) {
  const double power = moments_.power();
  const StatePointer kept = best_;
  kind_override_ = "start at lower power";
  set_power(lower);
  (void)parallel(damping);
  const SiteApproximation sites = best_->sites;
  kind_override_ = {};
  moments_.set_power(power);
  best_ = kept;
  if (!evaluate(sites)) return_to_best();
  keep_best();
}

void EpSearch::restore(StatePointer best, double power) {
  moments_.set_power(power);
  best_ = std::move(best);
  return_to_best();
}

void EpSearch::keep_best() {
  if (!best_ || now_->mismatch < best_->mismatch) best_ = now_;
}

bool EpSearch::evaluate(SiteApproximation sites) {
  auto next = std::make_shared<EpState>();
  if (!moments_.evaluate(std::move(sites), *next)) return false;
  now_ = std::move(next);
  return true;
}

EpSearch::Visit EpSearch::visit(SiteApproximation sites, std::string_view kind) {
  auto next = std::make_shared<EpState>();
  const bool definite = moments_.evaluate(std::move(sites), *next);
  ++report_.iterations;
  if (!definite) {
    tell("indefinite");
    return Visit::indefinite;
  }
  now_ = nullptr;  // The best state may be the same one; otherwise its numbers make room.
  moments_.settle_means(*next, mean_passes);
  now_ = std::move(next);
  keep_best();
  tell(kind);
  return now_->improper > 0 ? Visit::improper : Visit::proper;
}

void EpSearch::tell(std::string_view kind) {
  const std::string_view step = kind_override_.empty() ? kind : kind_override_;
  const Next next = progress_.tell({report_.iterations, now_->log_evidence, now_->mismatch, step});
  if (next == Next::accept) stopped_ = true;
}

const EpState& EpSearch::settle() {
  core_.restore(best_->sites);
  // A run that ends with its best sweep has nothing to repeat.
  if (now_->sites != best_->sites) (void)evaluate(best_->sites);
  return *now_;
}

}  // namespace gaussmith
