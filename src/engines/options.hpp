#pragma once
// Every option of every method is described once, here: validation, the command line and the docs derive from it.

#include "engines/option_domains.hpp"
#include "gaussmith/infer.hpp"

#include <string>

namespace gaussmith {

/// Throws InvalidOption for text that names no covariance family.
void check_kl_covariance(const std::string& text);

/// visit(name, member, domain, help), where the domain is a Range, Choices or Text.
template <class Visitor>
void fields(Exact& /*options*/, Visitor&& /*visit*/) {}

template <class Visitor>
void fields(Laplace& options, Visitor&& visit) {
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6}, "Newton steps before giving up");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0},
        "gradient norm at the mode, in posterior standard deviations");
}

inline constexpr Text kl_covariances{
    "auto | full | diagonal | banded:B | chevron:K | sparse:FILE | subspace:K | factor:K | structured",
    check_kl_covariance};
inline constexpr Choices<KlExpectation, 2> kl_expectations{
    {{{"bound", KlExpectation::bound}, {"quadrature", KlExpectation::quadrature}}}};
inline constexpr Choices<Basis, 2> kl_bases{{{{"weights", Basis::weights}, {"whitened", Basis::whitened}}}};

inline constexpr Choices<KlStop, 2> kl_stops{{{{"residual", KlStop::residual}, {"gap", KlStop::gap}}}};

inline constexpr Choices<KlSolver, 5> kl_solvers{{{{"sites", KlSolver::sites},
                                                   {"decoupled", KlSolver::decoupled},
                                                   {"dual", KlSolver::dual},
                                                   {"alpha-lambda", KlSolver::alpha_lambda},
                                                   {"cholesky", KlSolver::cholesky}}}};
inline constexpr Choices<DecoupledPenalty, 4> decoupled_penalties{{{{"auto", DecoupledPenalty::automatic},
                                                                    {"none", DecoupledPenalty::none},
                                                                    {"printed", DecoupledPenalty::printed},
                                                                    {"lagrangian", DecoupledPenalty::lagrangian}}}};

/// A field with a dot in it is the full name of its option; others stand behind the method's name.
template <class Visitor>
void fields(Kl& options, Visitor&& visit) {
  visit("covariance", options.covariance, kl_covariances, "family of the covariance");
  visit("basis", options.basis, kl_bases, "where the zeros of a constrained covariance stand");
  visit("memory", options.memory, Range{0.0, 1e6}, "GB that the fit may take, estimated beforehand; 0: the machine's");
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6},
        "factorisations, or steps of a constrained covariance, before giving up, from each start");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0},
        "mismatch of the site equations, in posterior standard deviations");
  visit("starts", options.starts, Range{1.0, 1000.0},
        "starts for factor:K and for sites that are not log-concave; the best is kept");
  visit("stop", options.stop, kl_stops, "what ends the search: the site equations, or the duality gap");
  visit("solver", options.solver, kl_solvers, "how the full covariance is found; all end in the same place");
  visit("decoupled.penalty", options.decoupled.penalty, decoupled_penalties,
        "what the decoupled solver adds to a subproblem; auto: none, then lagrangian when near");
  visit("decoupled.delta", options.decoupled.delta, Range{0.0, 1e12},
        "weight of the decoupled solver's quartic term, for sites that are not log-concave");
  visit("gap_tolerance", options.gap_tolerance, Range{0.0, 1e6, true},
        "nats that the bound may still rise, for stop=gap");
  visit("expectation", options.expectation, kl_expectations,
        "multinomial-logit: the expected log softmax by a lower bound in closed form, or itself");
}

inline constexpr Choices<EpMode, 4> ep_modes{{{{"auto", EpMode::automatic},
                                               {"parallel", EpMode::parallel},
                                               {"sequential", EpMode::sequential},
                                               {"double-loop", EpMode::double_loop}}}};

inline constexpr Choices<EpInner, 2> ep_inners{
    {{{"converged", EpInner::converged}, {"incremental", EpInner::incremental}}}};

inline constexpr Choices<ClassMoments, 2> ep_moments{
    {{{"nested", ClassMoments::nested}, {"quadrature", ClassMoments::quadrature}}}};

template <class Visitor>
void fields(Ep& options, Visitor&& visit) {
  visit("mode", options.mode, ep_modes,
        "which updates; auto takes the cheapest first and escalates for a stated reason");
  visit("power", options.power, Range{0.0, 1.0, true}, "power of the sites in the tilted distributions; 1 is plain EP");
  visit("min_power", options.min_power, Range{0.0, 1.0, true}, "how far auto may lower the power as its last resort");
  visit("damping", options.damping, Range{0.0, 1.0, true}, "share of a step that is taken; 1 is undamped");
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6}, "sweeps before giving up, inner ones included");
  visit("tolerance", options.tolerance, Range{1e-12, 1.0}, "largest relative mismatch of tilted and marginal moments");
  visit("moments", options.moments, ep_moments, "multinomial-probit: from an EP inside the row, or exact, C <= 4");
  visit("inner", options.inner, ep_inners, "multinomial-probit: sweeps inside a row at every update; one fixed point");
}

/// Throws InvalidOption for text that names no kind of variances.
void check_vb_variances(const std::string& text);
inline constexpr Text vb_variances{"auto | exact | selected | lanczos:K | probing:K | sampling:K", check_vb_variances};

template <class Visitor>
void fields(Vb& options, Visitor&& visit) {
  visit("variances", options.variances, vb_variances,
        "where variances come from; estimates in the matrix-free form from K steps, solves or draws");
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6}, "factorisations before giving up, from each start");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0},
        "mismatch of the site equations, in posterior standard deviations");
  visit("starts", options.starts, Range{1.0, 1000.0}, "starts for sites that are not log-concave; the best is kept");
}

inline constexpr Choices<VmfOrder, 2> vmf_orders{
    {{{"parallel", VmfOrder::parallel}, {"sequential", VmfOrder::sequential}}}};

template <class Visitor>
void fields(Vmf& options, Visitor&& visit) {
  visit("order", options.order, vmf_orders, "which sites are updated at a time; one fixed point");
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6},
        "factorisations, or Newton steps of several classes, before giving up, from each start");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0},
        "mismatch of the equations of the optimum, in posterior standard deviations");
  visit("starts", options.starts, Range{1.0, 1000.0}, "starts for sites that are not log-concave; the best is kept");
}

inline constexpr const char* help_of_draws = "draws of all chains together, after warm-up";

template <class Visitor>
void fields(ImportanceSampling& options, Visitor&& visit) {
  visit("draws", options.draws, Range{100.0, 1e7}, "draws, rounded up to hundreds");
  visit("degrees", options.degrees, Range{0.0, 1e6},
        "degrees of freedom of the t; 0: a quarter of the dimension, >= 5");
}

inline constexpr Choices<AnnealingStart, 3> annealing_starts{
    {{{"auto", AnnealingStart::automatic}, {"prior", AnnealingStart::prior}, {"fit", AnnealingStart::fit}}}};

template <class Visitor>
void fields(AnnealedImportance& options, Visitor&& visit) {
  visit("draws", options.draws, Range{100.0, 1e6}, "particles");
  visit("temperatures", options.temperatures, Range{1.0, 1e6}, "steps from the start to the posterior");
  visit("start", options.start, annealing_starts,
        "where particles begin; auto: around a fit where all sites are log-concave, else at the prior");
}

template <class Visitor>
void fields(EllipticalSlices& options, Visitor&& visit) {
  visit("draws", options.draws, Range{100.0, 1e7}, help_of_draws);
  visit("chains", options.chains, Range{1.0, 1000.0}, "chains");
  visit("warmup", options.warmup, Range{0.0, 1e6}, "draws of each chain that are thrown away first");
}

template <class Visitor>
void fields(NoUTurn& options, Visitor&& visit) {
  visit("draws", options.draws, Range{100.0, 1e7}, help_of_draws);
  visit("chains", options.chains, Range{1.0, 1000.0}, "chains");
  visit("warmup", options.warmup, Range{0.0, 1e6}, "draws of each chain in which the step size is found");
  visit("acceptance", options.acceptance, Range{0.1, 0.99}, "mean acceptance that the step size is to have");
  visit("max_depth", options.max_depth, Range{1.0, 20.0}, "doublings of a trajectory");
}

}  // namespace gaussmith
