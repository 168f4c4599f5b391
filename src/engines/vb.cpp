#include "engines/vb.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_search.hpp"
#include "engines/options.hpp"
#include "gaussmith/errors.hpp"
#include "model/tangent_sites.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

namespace {

/// sum_n w_n de_n / d log(parameter): the bound is stationary in q and in the tangents.
SiteParameterGradient tangent_site_gradient(const Marginals& latent, const Vector& weights) {
  return [&latent, &weights](const SiteBlock& block, Index row, int parameter) {
    const auto size = static_cast<std::size_t>(block.size());
    Vector value(block.size());
    tangent_parameter(block, 0, parameter, ConstSpan(latent.mean.data() + row, size),
                      ConstSpan(latent.variance.data() + row, size), view(value));
    return weighted_sum(weights, row, value);
  };
}

}  // namespace

void check_vb_variances(const std::string& text) {
  if (text == "auto" || text == "exact" || text == "selected") return;
  for (const char* estimate : {"lanczos", "probing", "sampling"})
    if (text.starts_with(estimate))
      throw InvalidOption(
          fmt::format("vb.variances {}: estimates of variances are not available in fits yet; use auto, exact or "
                      "selected",
                      text));
  throw InvalidOption(fmt::format("vb.variances must be auto, exact or selected, found \"{}\"", text));
}

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
  Run own = run;
  if (options.variances == "selected") {
    if (run.form != CoreForm::automatic && run.form != CoreForm::sparse)
      throw InvalidOption(
          "vb.variances selected is the sparse form of the core, and another form is asked for; use form auto or "
          "sparse, or vb.variances auto or exact");
    own.form = CoreForm::sparse;
  }
  const std::shared_ptr<GaussianCore> core = build_core(own, state);
  // With the tangent's e_n = beta s_n + g(s_n^2 + v_n) in place of E[log t_n] the bound is that of kl: outer steps
  // refit the variances, inner ones the mean by penalised least squares.
  const SiteRows sites(state.model, state.threads, Smoothing::tangent);
  KlClimb best = best_kl_climb({"vb", options.max_iterations, options.tolerance, options.starts}, run, *core, sites);
  best.report.tolerance = options.tolerance;
  best.report.core = std::move(state.report.core);
  state.report = std::move(best.report);
  const LatentPoint mean = std::move(best.end.mean.at);
  end_in_site_form(*core, sites, {mean, best.end.bound, {EvidenceKind::lower_bound, true}, false, true}, state);
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, tangent_site_gradient(state.rows(), state.model.weights));
  };
}

}  // namespace gaussmith
