#include "engines/kl.hpp"

#include "engines/explicit_gradient.hpp"
#include "engines/kl_family.hpp"
#include "engines/kl_full.hpp"
#include "engines/options.hpp"
#include "engines/support.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto") (void)parse_family(text);
}

namespace {

/// Where to begin; the core is factorised there. Empty where K^-1 + T is not positive definite.
using Start = std::optional<KlStart>;

Start factorised(GaussianCore& core, KlStart start) {
  if (!core.factorise(start.precision)) return {};
  return start;
}

Start warm_start(GaussianCore& core, const Posterior* warm) {
  if (warm == nullptr || warm->sites().precision.size() != core.rows() || !core.factorise(warm->sites().precision))
    return {};
  return KlStart{warm->sites().precision, core.mean(warm->sites().shift)};
}

/// Every heavy-tailed site taken at its word: the least-squares fit, which no outlier has left.
Start trusting_start(GaussianCore& core, const SiteRows& sites, KlStart start) {
  Vector shift = start.precision.cwiseProduct(start.mean.eta);
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (!traits.super_gaussian || traits.log_concave) return;
    const auto size = static_cast<std::size_t>(count);
    const std::vector<double> x(size, 0.0);
    std::vector<double> slope(size);
    std::vector<double> centre(size);
    std::vector<double> first(size);
    block.bound_shape(begin, slope, centre);
    block.bound(begin, x, {.value = {}, .first = first, .second = {}});
    for (std::size_t i = 0; i < size; ++i) {
      const Index n = row + static_cast<Index>(i);
      start.precision(n) = -2.0 * first[i];
      shift(n) = slope[i] + start.precision(n) * centre[i];
    }
  });
  if (!core.factorise(start.precision)) return {};
  start.mean = core.mean(shift);
  return start;
}

/// As wide as the prior, so that every mode is seen at once: narrow heavy-tailed sites hide them from one another.
Start wide_start(GaussianCore& core, const SiteRows& sites) {
  LatentPoint centre = core.centre();
  Vector d_variance;
  const Vector variance = core.prior_variances().cwiseMin(widest_variance);
  sites.expectation(centre.eta, variance, nullptr, nullptr, &d_variance);
  return factorised(core, {(-2.0 * d_variance).cwiseMax(0.0), std::move(centre)});
}

/// A mean pulled towards responses drawn from the prior's marginals.
Start scattered_start(GaussianCore& core, const SiteRows& sites, const KlStart& start, Random& random) {
  if (!core.factorise(start.precision)) return {};
  const Vector width = core.prior_variances().cwiseMin(core.variances().maxCoeff()).cwiseSqrt();
  Vector shift(core.rows());
  for (Index n = 0; n < shift.size(); ++n)
    shift(n) = start.precision(n) * (core.prior_mean()(n) + 2.0 * width(n) * random.normal());
  return factorised(core, independent_start(core, sites, core.mean(shift)));
}

/// The ascent from one start with its own report.
struct Climb {
  KlPoint end;
  Report report;
};

Climb best_of_starts(const Kl& options, const Run& run, GaussianCore& core, const SiteRows& sites) {
  const auto climb = [&](const KlStart& start) {
    Climb done;
    done.end = climb_kl(core, sites, options, run, start, done.report);
    return done;
  };
  if (const Start warm = warm_start(core, run.warm_start)) return climb(*warm);
  const Start first = factorised(core, independent_start(core, sites, core.centre()));
  if (!first) throw InvalidModel("kl: " + why_not_factorised(core));
  Climb best = climb(*first);
  if (sites.all(&SiteTraits::log_concave) || options.starts == 1) return best;

  Random random(run.seed);
  int iterations = best.report.iterations;
  bool best_is_last = true;
  for (int s = 1; s < options.starts && best.report.status != Status::stopped; ++s) {
    const Start start = s == 1   ? trusting_start(core, sites, *first)
                        : s == 3 ? wide_start(core, sites)
                                 : scattered_start(core, sites, *first, random);
    best_is_last = false;
    if (!start) continue;
    Climb other = climb(*start);
    iterations += other.report.iterations;
    best_is_last = other.end.bound > best.end.bound;
    if (best_is_last) best = std::move(other);
  }
  best.report.iterations = iterations;
  best.report.message += fmt::format(", best of {} starts", options.starts);
  if (!best_is_last) {
    if (!core.factorise(best.end.precision)) throw std::logic_error("kl: a factorisation could not be repeated");
    best.end.variance = core.variances(&best.end.slack);
  }
  return best;
}

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  build_core(run, state);
  const SiteRows sites(state.model.sites, state.threads);
  check_support(state.core->prior_mean(), state.core->prior_variances(), sites);
  auto [end, report] = best_of_starts(options, run, *state.core, sites);
  report.tolerance = options.tolerance;
  report.core = std::move(state.report.core);
  state.report = std::move(report);
  state.sites.precision = end.precision;
  state.sites.shift = end.mean.d_mean + end.precision.cwiseProduct(end.mean.at.eta);
  state.point = std::move(end.mean.at);
  state.latent = {state.point.eta, end.variance};
  state.slack = std::move(end.slack);
  // Short of its optimum the bound of Gaussian sites is a bound like any other.
  const bool exact = state.report.converged() && sites.all(&SiteTraits::gaussian);
  state.log_evidence = {end.bound, exact ? EvidenceKind::exact : EvidenceKind::lower_bound};
}

void run_constrained(const Kl& options, const KlCovariance& covariance, const Run& run, Posterior::State& state) {
  auto geometry = std::make_shared<PriorGeometry>(state.model.prior, state.model.design, state.threads);
  const SiteRows sites(state.model.sites, state.threads);
  Vector centre = geometry->row_mean();
  if (state.model.offset.size() > 0) centre += state.model.offset;
  check_support(centre, geometry->row_variances(), sites);
  run_kl_family(options, covariance, run, std::move(geometry), state);
}

}  // namespace

void run_kl(const Kl& options, const Run& run, Posterior::State& state) {
  const KlCovariance covariance = choose_kl_covariance(options, state.model, run.form);
  if (covariance.family.kind == FamilyKind::full)
    run_full(options, run, state);
  else
    run_constrained(options, covariance, run, state);
  check_support_under(state.latent.mean, state.latent.variance, SiteRows(state.model.sites, state.threads));
  if (!covariance.reason.empty()) state.report.notes.push_back(covariance.reason);
}

std::map<std::string, double, std::less<>> kl_gradient(const Posterior::State& state) {
  if (state.family) return family_gradient(state.model, *state.family, state.threads);
  return explicit_gradient(state, expected_site_gradient(state.latent));
}

}  // namespace gaussmith
