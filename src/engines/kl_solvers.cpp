#include "engines/kl_solvers.hpp"

#include "engines/duality_gap.hpp"
#include "engines/kl_starts.hpp"
#include "engines/solver_record.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace gaussmith {

namespace {

/// Whose f is convex in (m, v): quadratic in m or exponential, so that v enters through the second derivative alone.
constexpr std::array<std::string_view, 5> dual_likelihoods{"gaussian", "poisson", "exponential", "gamma", "weibull"};

const char* name_of(KlSolver solver) {
  switch (solver) {
    case KlSolver::sites:
      return "sites";
    case KlSolver::decoupled:
      return "decoupled";
    case KlSolver::dual:
      return "dual";
    case KlSolver::alpha_lambda:
      return "alpha-lambda";
    case KlSolver::cholesky:
      break;
  }
  return "cholesky";
}

void check_sites(KlSolver solver, const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    const bool in_dual =
        std::find(dual_likelihoods.begin(), dual_likelihoods.end(), traits.name) != dual_likelihoods.end();
    if (solver == KlSolver::dual && !in_dual)
      throw InvalidOption(
          fmt::format("kl.solver = dual takes gaussian, poisson, exponential, gamma and weibull sites, but "
                      "sites[{}] is {}; use kl.solver = sites",
                      b, traits.name));
    if (solver == KlSolver::alpha_lambda && traits.super_gaussian && !traits.log_concave)
      throw InvalidOption(
          fmt::format("kl.solver = alpha-lambda needs positive precisions, but sites[{}] ({}) has heavy "
                      "tails; use kl.solver = sites or decoupled",
                      b, traits.name));
  }
}

}  // namespace

void check_kl_solver(const Kl& options, const Model& model, const Run& run) {
  if (options.solver == KlSolver::sites) return;
  const char* name = name_of(options.solver);
  const auto refuse = [&](const std::string& why) {
    throw InvalidOption(fmt::format("kl.solver = {}: {}; use kl.solver = sites", name, why));
  };
  if (options.covariance != "auto" && options.covariance != "full")
    throw InvalidOption(
        fmt::format("kl.solver = {} finds the full covariance, not kl.covariance = {}; use kl.covariance "
                    "= full, or kl.solver = sites",
                    name, options.covariance));
  if (model.latents.count > 1) refuse("not for several latents a row");
  if (inducing_of(model) != nullptr) refuse("not for inducing variables");
  const bool factor = options.solver == KlSolver::cholesky;
  if (!factor && !has_gaussian(model.prior))
    refuse("a model without Gaussian factor has no mean that follows from alpha");
  const CoreForm form = form_of_solver(options);
  if (run.form != CoreForm::automatic && run.form != form)
    refuse(fmt::format("it works in the {} form of the core, and another is asked for",
                       form == CoreForm::precision ? "precision" : "covariance"));
  check_sites(options.solver, model);
}

CoreForm form_of_solver(const Kl& options) {
  const bool whitened = options.solver == KlSolver::cholesky || options.solver == KlSolver::alpha_lambda;
  return whitened ? CoreForm::precision : CoreForm::covariance;
}

void move_end(GaussianCore& core, const SiteRows& sites, KlClimb& climb) {
  if (!core.set(climb.end.sites())) throw InvalidModel("kl: " + why_not_factorised(core));
  KlPoint there;
  if (!look_at(core, sites, climb.end.precision, core.mean(), there))
    throw InvalidModel("kl: " + why_not_factorised(core));
  climb.end = std::move(there);
  settle_at(core, climb.end);
}

KlClimb climb_with_solver(const Kl& options, const Run& run, const Model& model, GaussianCore& core,
                          const SiteRows& sites) {
  OptionalKlStart start = warm_kl_start(core, run.warm_start);
  if (!start) start = proper_start(core, independent_start(core, sites, core.centre()));
  if (!start) throw InvalidModel("kl: " + why_not_factorised(core));
  KlClimb out;
  // Steps of the decoupled solver see the site equations themselves.
  const bool by_equations = options.solver == KlSolver::decoupled;
  const double tolerance = by_equations ? options.tolerance : std::max(options.tolerance, quasi_newton_tolerance);
  SolverRecord record(core, sites, options, run, why_no_gap(model).empty(), tolerance, out);
  switch (options.solver) {
    case KlSolver::decoupled:
      climb_decoupled(core, sites, options, *start, record);
      break;
    case KlSolver::dual:
      climb_dual(core, sites, *start, record);
      break;
    case KlSolver::alpha_lambda:
      climb_alpha_lambda(core, sites, *start, record);
      break;
    case KlSolver::cholesky:
    case KlSolver::sites:
      climb_cholesky(core, sites, *start, record);
      break;
  }
  record.settle();
  return out;
}

}  // namespace gaussmith
