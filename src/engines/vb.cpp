#include "engines/vb.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/tangent_gradient.hpp"
#include "engines/variance_choice.hpp"
#include "engines/vb_double_loop.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

void check_vb(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.super_gaussian)
      throw InvalidOption(
          fmt::format("the vb method needs super-Gaussian sites, which have Gaussian tangents, but sites[{}] "
                      "(likelihood {}) has none; use kl or ep",
                      b, traits.name));
  }
}

void run_vb(const Vb& options, const Run& run, Posterior::State& state) {
  const VbVarianceChoice choice = parse_vb_variances(options.variances, state.model.design.has_entries());
  Run own = run;
  const auto need = [&](CoreForm form, const char* its_form) {
    if (run.form != CoreForm::automatic && run.form != form)
      throw InvalidOption(
          fmt::format("vb.variances {} belong to the {} form of the core, and another form is asked for; "
                      "use form auto or {}, or vb.variances auto or exact",
                      options.variances, its_form, its_form));
    own.form = form;
  };
  if (choice.kind == VbVariances::selected) need(CoreForm::sparse, "sparse");
  if (choice.kind == VbVariances::estimated) need(CoreForm::matrix_free, "matrix-free");
  const Estimates estimates = choice.kind == VbVariances::automatic ? Estimates::where_needed : Estimates::never;
  run_vb_on(build_core(own, choice.method, estimates, state), options, run, state);
}

void run_vb_on(const std::shared_ptr<GaussianCore>& core, const Vb& options, const Run& run, Posterior::State& state) {
  // With the tangent's e_n = beta s_n + g(s_n^2 + v_n) in place of E[log t_n] the bound is that of kl: outer steps
  // refit the variances, inner ones the mean by penalised least squares.
  const SiteRows sites(state.model, state.threads, Smoothing::tangent);
  const ClimbOptions climb{"vb", options.max_iterations, options.tolerance, options.starts};
  const bool exact = core->accuracy() == Accuracy::exact;
  KlClimb best = exact ? best_kl_climb(climb, run, *core, sites) : climb_double_loop(climb, run, *core, sites);
  if (exact) best.report.tolerance = options.tolerance;
  best.report.core = std::move(state.report.core);
  state.report = std::move(best.report);
  const LatentPoint mean = std::move(best.end.mean.at);
  end_in_site_form(*core, sites, {mean, best.end.bound, {EvidenceKind::lower_bound, true}, false, true}, state);
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, tangent_site_gradient(state.rows(), state.model.weights));
  };
}

}  // namespace gaussmith
