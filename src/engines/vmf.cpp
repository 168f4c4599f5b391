#include "engines/vmf.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_search.hpp"
#include "engines/mode_search.hpp"
#include "engines/tangent_gradient.hpp"
#include "engines/vmf_sequential.hpp"
#include "gaussmith/errors.hpp"
#include "model/tangent_sites.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Scale mixtures of normals: Student-t and Cauchy (inverse gamma), Laplace, the logistic ones (Polya-Gamma); a normal
/// itself. Super-Gaussian sites of users have tangents but need not be mixtures.
bool is_mixture(const SiteBlock& block) {
  return block.traits().super_gaussian && find_likelihood(block.traits().name) != nullptr;
}

void run_classes(const Vmf& options, const Run& run, Posterior::State& state) {
  // The bound of q(f) q(a) is, with the best q(a) put in, max_m [sum log p(y_n | m_n) - m'K^-1 m / 2] - log|I + K| / 2
  // (m less its prior mean), and q(f) has the mean m and the covariance (K^-1 + I)^-1: the mode of the posterior with
  // unit precisions in place of its curvature. A row of weight w has the precisions w, as w rows would.
  const std::shared_ptr<JointCore> core = build_joint_core(run, SitesSee::anything, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  ModeSearch search(*core, sites, {"vmf", options.max_iterations, options.tolerance, false}, run, state.report);
  search.start_from(run.warm_start);
  search.climb();
  const LatentPoint mode = search.now().point;

  const Index c = core->width();
  const Vector& weights = state.model.weights;
  SiteApproximation noise{Vector::Zero(mode.eta.size() * c), mode.coordinates, c};
  for (Index i = 0; i < mode.eta.size(); ++i) {
    const double weight = weights.size() > 0 ? weights(i / c) : 1.0;
    noise.precision(i * c + i % c) = weight;
    noise.shift(i) += weight * mode.eta(i);
  }
  if (!core->set(noise)) throw InvalidModel("vmf: " + why_not_factorised(*core));
  const double bound = search.now().objective - core->half_log_det().value;
  end_in_site_form(*core, sites, {mode, bound, {EvidenceKind::lower_bound, false}, true, search.no_step_helps()},
                   state);
  state.gradient = [core, mode, &state] {
    return explicit_gradient(*core, mode, state, [](const SiteBlock&, Index, int) { return 0.0; });
  };
}

double value_at(const SiteParameter& parameter, Index row) {
  return parameter.values(parameter.values.size() == 1 ? 0 : row);
}

/// E[1/phi_n] of mixture rows, the precision of the best tangent. Of rows y = N(eta, phi), phi ~ inverse-gamma(nu/2,
/// nu scale^2/2), also q(phi_n) = inverse-gamma((nu + 1)/2, (nu scale^2 + xi_n^2)/2), xi^2 = (m - y)^2 + v. Empty where
/// no row is a mixture.
std::optional<MixtureScales> scales_of(const Model& model, const Marginals& latent) {
  const Vector none = Vector::Constant(model.rows(), std::numeric_limits<double>::quiet_NaN());
  MixtureScales out{none, none, none};
  bool any = false;
  Index first = 0;
  for (const Sites& block : model.sites) {
    const Index begin = first;
    first += block->size();
    const SiteTraits& traits = block->traits();
    if (traits.gaussian || !is_mixture(*block)) continue;
    any = true;
    Vector slope(block->size());
    const auto at = static_cast<std::size_t>(begin);
    tangent_expectation(*block, 0, view(latent.mean).subspan(at, view(slope).size()),
                        view(latent.variance).subspan(at, view(slope).size()), {{}, {}, view(slope)});
    out.mean_precision.segment(begin, block->size()) = -2.0 * slope;
    if (traits.log_concave) continue;
    const SiteParameter* nu = nullptr;
    const SiteParameter* scale = nullptr;
    for (const SiteParameter& parameter : block->parameters()) {
      if (parameter.name == "nu") nu = &parameter;
      if (parameter.name == "scale") scale = &parameter;
    }
    for (Index i = 0; i < block->size(); ++i) {
      const double freedom = nu != nullptr ? value_at(*nu, i) : 1.0;
      const double sigma = value_at(*scale, i);
      const double off = latent.mean(begin + i) - block->responses()(i);
      out.shape(begin + i) = 0.5 * (freedom + 1.0);
      out.rate(begin + i) = 0.5 * (freedom * sigma * sigma + off * off + latent.variance(begin + i));
    }
  }
  if (!any) return {};
  return out;
}

}  // namespace

void check_vmf(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b)
    if (const SiteBlock& block = *model.sites[b]; block.width() == 1 && !is_noisy_sign(block) && !is_mixture(block))
      throw InvalidOption(
          fmt::format("the vmf method takes scale mixtures (student-t, cauchy, laplace, logistic sites), gaussian and "
                      "probit sites, "
                      "but sites[{}] (likelihood {}) is none of them; use kl or ep",
                      b, block.traits().name));
}

void run_vmf(const Vmf& options, const Run& run, Posterior::State& state) {
  if (state.model.latents.count > 1) {
    if (options.order == VmfOrder::sequential)
      throw InvalidOption("vmf.order = sequential: not for several latents a row; use parallel");
    return run_classes(options, run, state);
  }
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  // With the best q of the auxiliary variables put in, each row has e_n(m, v) in place of E[log t_n], the tangent of vb
  // or log Phi(y m) - v/2, and the bound is that of kl.
  const SiteRows sites(state.model, state.threads, Smoothing::mean_field);
  const ClimbOptions climb{"vmf", options.max_iterations, options.tolerance, options.starts};
  KlClimb best = options.order == VmfOrder::sequential ? pass_messages(climb, run, *core, sites)
                                                       : best_kl_climb(climb, run, *core, sites);
  best.report.tolerance = options.tolerance;
  best.report.core = std::move(state.report.core);
  state.report = std::move(best.report);
  const LatentPoint mean = std::move(best.end.mean.at);
  end_in_site_form(*core, sites, {mean, best.end.bound, {EvidenceKind::lower_bound, true}, false, true}, state);
  state.scales = scales_of(state.model, state.rows());
  state.gradient = [core, mean, &state] {
    const SiteParameterGradient tangents = tangent_site_gradient(state.rows(), state.model.weights);
    return explicit_gradient(*core, mean, state, [&](const SiteBlock& block, Index row, int parameter) {
      return is_noisy_sign(block) ? 0.0 : tangents(block, row, parameter);
    });
  };
}

}  // namespace gaussmith
