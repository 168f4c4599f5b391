#include "engines/kl.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_family.hpp"
#include "engines/kl_starts.hpp"
#include "engines/options.hpp"
#include "engines/support_check.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto") (void)parse_family(text);
}

namespace {

/// The ascent from one start with its own report.
struct Climb {
  KlPoint end;
  Report report;
  double certain = 0.0;  ///< Its bound less what rounding leaves uncertain.
};

Climb best_of_starts(const Kl& options, const Run& run, const Model& model, GaussianCore& core, const SiteRows& sites,
                     int threads) {
  const auto climb = [&](const KlStart& start) {
    Climb done;
    done.end = climb_kl(core, sites, options, run, start, done.report);
    done.certain = certain_bound(core, done.end.mean.at, done.end.bound);
    return done;
  };
  if (const OptionalKlStart warm = warm_kl_start(core, run.warm_start)) return climb(*warm);
  const OptionalKlStart first = proper_start(core, independent_start(core, sites, core.centre()));
  if (!first) throw InvalidModel("kl: " + why_not_factorised(core));
  Climb best = climb(*first);
  if (sites.all(&SiteTraits::log_concave) || options.starts == 1) return best;

  int iterations = best.report.iterations;
  bool stopped = best.report.status == Status::stopped;
  const auto try_start = [&](const OptionalKlStart& start) {
    if (!start || stopped) return;
    Climb other = climb(*start);
    iterations += other.report.iterations;
    stopped = other.report.status == Status::stopped;
    if (other.certain > best.certain) best = std::move(other);
  };
  // After the first: least squares, a scattered one, the widest, and more scattered ones; then what a look around finds.
  Random random(run.seed);
  for (int number = 1; number < options.starts && !stopped; ++number)
    try_start(number == 1   ? trusting_start(core, sites, *first)
              : number == 3 ? wide_start(core, sites)
                            : scattered_start(core, sites, *first, random));
  if (!stopped)
    for (const KlStart& start : believing_starts(core, sites, *first, options.starts, random, iterations))
      try_start(proper_start(core, start));
  if (!stopped)
    if (const auto found = kl_family_start(options, run, model, threads, iterations))
      try_start(family_start(core, *found));
  best.report.iterations = iterations;
  best.report.message += fmt::format(", best of {} starts and a look around", options.starts);
  if (!core.set(best.end.sites())) core.restore({best.end.precision, Vector::Zero(core.rows())});
  return best;
}

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  const SiteRows sites(state.model.sites, state.threads);
  check_support(core->prior_mean(), core->prior_variances(), sites);
  Climb best = best_of_starts(options, run, state.model, *core, sites, state.threads);
  KlPoint& end = best.end;
  Report& report = best.report;
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
