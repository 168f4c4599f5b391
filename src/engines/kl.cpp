#include "engines/kl.hpp"

#include "engines/duality_gap.hpp"
#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_family.hpp"
#include "engines/kl_inducing.hpp"
#include "engines/kl_joint.hpp"
#include "engines/kl_search.hpp"
#include "engines/kl_solvers.hpp"
#include "engines/options.hpp"
#include "engines/support_check.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto" && text != structured_covariance) (void)parse_family(text);
}

namespace {

using Climb = std::function<KlClimb(GaussianCore& core, const SiteRows& sites)>;

using CoreMaker = std::function<std::shared_ptr<GaussianCore>()>;

/// The search on a core, and how it ends. `no_gap` says why there is no duality gap; empty where there may be one. A
/// solver works in the form that it needs; `ending` makes the core that the posterior has then, empty: the same.
void run_full_on(std::shared_ptr<GaussianCore> core, const Kl& options, const Climb& climb, const std::string& no_gap,
                 Posterior::State& state, const CoreMaker& ending = {}) {
  const SiteRows sites(state.model, state.threads);
  check_support(core->prior_mean(), core->prior_variances(), sites);
  const bool induced = inducing_of(state.model) != nullptr;
  KlClimb best = climb(*core, sites);
  if (ending) {
    core = ending();
    move_end(*core, sites, best);
  }
  KlPoint& end = best.end;
  Report& report = best.report;
  if (options.solver == KlSolver::sites) report.tolerance = options.tolerance;
  report.core = std::move(state.report.core);
  state.report = std::move(report);
  if (!no_gap.empty())
    state.report.notes.push_back(no_gap);
  else if (!state.report.duality_gap)
    state.report.notes.emplace_back("no duality gap: no step came near enough to the optimum for a certificate");
  const LatentPoint mean = std::move(end.mean.at);
  end_in_site_form(*core, sites, {mean, end.bound, {EvidenceKind::lower_bound, !induced}, true, true}, state);
  if (options.stop == KlStop::gap) state.log_evidence.numerical_error += state.report.duality_gap.value_or(0.0);
  // Explicit terms only, because the bound is stationary in q: sites by E_q[d log t].
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, expected_site_gradient(state.rows(), state.model.weights));
  };
}

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  Run own = run;
  if (options.solver != KlSolver::sites) own.form = form_of_solver(options);
  const Model& model = state.model;
  const std::string no_gap = why_no_gap(model);
  const Climb climb = [&](GaussianCore& core, const SiteRows& sites) {
    if (options.solver != KlSolver::sites) return climb_with_solver(options, run, model, core, sites);
    // Covariance families, which are one more start for sites that are not log-concave, know no inducing variables.
    if (inducing_of(model) != nullptr) return best_kl_climb(climb_options(options, no_gap.empty()), run, core, sites);
    return best_kl_climb(options, run, model, core, sites, state.threads);
  };
  CoreMaker ending;
  if (own.form != run.form && choose_form(model, run.form).form != own.form)
    ending = [&] { return build_core(run, state); };
  run_full_on(build_core(own, state), options, climb, no_gap, state, ending);
}

}  // namespace

void check_kl_gap(const Kl& options, const Model& model) {
  if (options.stop != KlStop::gap) return;
  if (const std::string no_gap = why_no_gap(model); !no_gap.empty())
    throw InvalidOption("kl.stop = gap: " + no_gap + "; use kl.stop = residual");
}

void run_kl_on(const std::shared_ptr<GaussianCore>& core, const Kl& options, const Run& run, Posterior::State& state) {
  check_kl_gap(options, state.model);
  const std::string no_gap = options.stop == KlStop::gap
                                 ? std::string()
                                 : "no duality gap: of a given core it is looked for with kl.stop = gap";
  // The sites alone: covariance families as starts do not know a Gaussian factor that is more than the model's prior.
  const Climb climb = [&](GaussianCore& given, const SiteRows& sites) {
    return best_kl_climb(climb_options(options, no_gap.empty()), run, given, sites);
  };
  run_full_on(core, options, climb, no_gap, state);
}

void run_kl(const Kl& options, const Run& run, Posterior::State& state) {
  check_kl_gap(options, state.model);
  check_kl_solver(options, state.model, run);
  if (state.model.latents.count > 1) {
    if (inducing_of(state.model) != nullptr)
      run_kl_inducing(options, run, state);
    else
      run_kl_joint(options, run, state);
    state.report.notes.push_back(why_no_gap(state.model));
    return;
  }
  if (options.expectation != KlExpectation::bound)
    throw InvalidOption(
        "kl.expectation = quadrature is for multinomial-logit; the expectations of sites with one latent are exact "
        "already, so leave it out");
  if (options.covariance == structured_covariance)
    throw InvalidOption("kl.covariance = structured is for several latents a row; use auto or full");
  const KlCovariance covariance =
      options.solver == KlSolver::sites ? choose_kl_covariance(options, state.model, run.form) : KlCovariance{};
  if (covariance.family.kind == FamilyKind::full) {
    run_full(options, run, state);
  } else {
    if (options.stop == KlStop::gap)
      throw InvalidOption(
          fmt::format("kl.stop = gap: a constrained covariance (kl.covariance = {}) has no duality gap; "
                      "use kl.covariance = full, or kl.stop = residual",
                      to_string(covariance.family)));
    run_kl_family(options, covariance, run, state);
    state.report.notes.emplace_back(
        "no duality gap: the covariance is constrained, and the gap is one to the best Gaussian");
  }
  check_support_under(state.rows().mean, state.rows().variance, SiteRows(state.model, state.threads));
  // What was chosen comes before what follows from it.
  if (!covariance.reason.empty()) state.report.notes.insert(state.report.notes.begin(), covariance.reason);
}

}  // namespace gaussmith
