#include "engines/kl.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_family.hpp"
#include "engines/kl_joint.hpp"
#include "engines/kl_search.hpp"
#include "engines/options.hpp"
#include "engines/support_check.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto" && text != structured_covariance) (void)parse_family(text);
}

namespace {

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  const SiteRows sites(state.model, state.threads);
  check_support(core->prior_mean(), core->prior_variances(), sites);
  KlClimb best = best_kl_climb(options, run, state.model, *core, sites, state.threads);
  KlPoint& end = best.end;
  Report& report = best.report;
  report.tolerance = options.tolerance;
  report.core = std::move(state.report.core);
  state.report = std::move(report);
  const LatentPoint mean = std::move(end.mean.at);
  end_in_site_form(*core, sites, {mean, end.bound, {EvidenceKind::lower_bound, true}, true, true}, state);
  // Explicit terms only, because the bound is stationary in q: sites by E_q[d log t].
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, expected_site_gradient(state.rows(), state.model.weights));
  };
}

}  // namespace

void run_kl(const Kl& options, const Run& run, Posterior::State& state) {
  if (state.model.latents.count > 1) return run_kl_joint(options, run, state);
  if (options.covariance == structured_covariance)
    throw InvalidOption("kl.covariance = structured is for several latents a row; use auto or full");
  const KlCovariance covariance = choose_kl_covariance(options, state.model, run.form);
  if (covariance.family.kind == FamilyKind::full)
    run_full(options, run, state);
  else
    run_kl_family(options, covariance, run, state);
  check_support_under(state.rows().mean, state.rows().variance, SiteRows(state.model, state.threads));
  if (!covariance.reason.empty()) state.report.notes.push_back(covariance.reason);
}

}  // namespace gaussmith
