#include "engines/kl.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_family.hpp"
#include "engines/kl_full.hpp"
#include "engines/options.hpp"
#include "engines/support_check.hpp"
#include "engines/tangent_sites.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto") (void)parse_family(text);
}

namespace {

/// Where to begin; the core is there. Empty where K^-1 + T is not positive definite.
using Start = std::optional<KlStart>;

/// The precisions alone: the ascent finds the mean.
bool set_precision(GaussianCore& core, const Vector& precision) {
  return core.set({precision, Vector::Zero(core.rows())});
}

Start proper(GaussianCore& core, KlStart start) {
  if (!set_precision(core, start.precision)) return {};
  return start;
}

Start warm_start(GaussianCore& core, const Posterior* warm) {
  if (warm == nullptr || warm->site_approximation().rows() != core.rows() || !core.set(warm->site_approximation()))
    return {};
  return KlStart{warm->site_approximation().precision, core.mean()};
}

/// Every heavy-tailed site taken at its word: the least-squares fit, which no outlier has left.
Start trusting_start(GaussianCore& core, const SiteRows& sites, const KlStart& first) {
  SiteApproximation trusting{first.precision, first.precision.cwiseProduct(first.mean.eta)};
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (!traits.super_gaussian || traits.log_concave) return;
    const auto size = static_cast<std::size_t>(count);
    const std::vector<double> centre(size, 0.0);
    tangent_sites(block, begin, centre, {trusting.precision.data() + row, size}, {trusting.shift.data() + row, size});
  });
  if (!core.set(trusting)) return {};
  return KlStart{trusting.precision, core.mean()};
}

/// As wide as the prior, so that every mode is seen at once: narrow heavy-tailed sites hide them from one another.
Start wide_start(GaussianCore& core, const SiteRows& sites) {
  LatentPoint centre = core.centre();
  Vector d_variance;
  const Vector variance = core.prior_variances().cwiseMin(widest_variance);
  sites.expectation(centre.eta, variance, nullptr, nullptr, &d_variance);
  return proper(core, {(-2.0 * d_variance).cwiseMax(0.0), std::move(centre)});
}

/// A mean pulled towards responses drawn from the prior's marginals.
Start scattered_start(GaussianCore& core, const SiteRows& sites, const KlStart& first, Random& random) {
  if (!set_precision(core, first.precision)) return {};
  const Vector width = core.prior_variances().cwiseMin(core.variances().maxCoeff()).cwiseSqrt();
  Vector shift(core.rows());
  for (Index n = 0; n < shift.size(); ++n)
    shift(n) = first.precision(n) * (core.prior_mean()(n) + 2.0 * width(n) * random.normal());
  return proper(core, independent_start(core, sites, core.mean(shift)));
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
  const Start first = proper(core, independent_start(core, sites, core.centre()));
  if (!first) throw InvalidModel("kl: " + why_not_factorised(core));
  Climb best = climb(*first);
  if (sites.all(&SiteTraits::log_concave) || options.starts == 1) return best;

  // After the first: least squares, a scattered one, the widest, and more scattered ones.
  Random random(run.seed);
  const auto start_number = [&](int number) {
    if (number == 1) return trusting_start(core, sites, *first);
    if (number == 3) return wide_start(core, sites);
    return scattered_start(core, sites, *first, random);
  };
  int iterations = best.report.iterations;
  for (int number = 1; number < options.starts && best.report.status != Status::stopped; ++number) {
    const Start start = start_number(number);
    if (!start) continue;
    Climb other = climb(*start);
    iterations += other.report.iterations;
    if (other.end.bound > best.end.bound) best = std::move(other);
  }
  best.report.iterations = iterations;
  best.report.message += fmt::format(", best of {} starts", options.starts);
  if (!core.set(best.end.sites())) core.restore({best.end.precision, Vector::Zero(core.rows())});
  return best;
}

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  const SiteRows sites(state.model.sites, state.threads);
  check_support(core->prior_mean(), core->prior_variances(), sites);
  auto [end, report] = best_of_starts(options, run, *core, sites);
  report.tolerance = options.tolerance;
  report.core = std::move(state.report.core);
  state.report = std::move(report);
  const LatentPoint mean = std::move(end.mean.at);
  end_in_site_form(*core, sites, {mean, end.bound, {EvidenceKind::lower_bound, true}, true}, state);
  // Explicit terms only, because the bound is stationary in q: sites by E_q[d log t].
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, expected_site_gradient(state.rows()));
  };
}

}  // namespace

void run_kl(const Kl& options, const Run& run, Posterior::State& state) {
  const KlCovariance covariance = choose_kl_covariance(options, state.model, run.form);
  if (covariance.family.kind == FamilyKind::full)
    run_full(options, run, state);
  else
    run_kl_family(options, covariance, run, state);
  check_support_under(state.rows().mean, state.rows().variance, SiteRows(state.model.sites, state.threads));
  if (!covariance.reason.empty()) state.report.notes.push_back(covariance.reason);
}

}  // namespace gaussmith
