#pragma once
// Every option of every method is described once, here: validation, the command line and the docs derive from it.

#include "gaussmith/infer.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace gaussmith {

/// Numbers that an option accepts; the highest is allowed, the lowest unless `above`.
struct Range {
  double lowest, highest;
  bool above = false;
};

/// The values of an enumeration and their names on the command line.
template <class Value, std::size_t count>
struct Choices {
  struct Choice {
    const char* name;
    Value value;
  };
  std::array<Choice, count> all;
};

/// Text with a form of its own, which the engine parses and checks.
struct Text {
  const char* form;
  void (*check)(const std::string& value);  ///< Throws InvalidOption.
};

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
inline constexpr Choices<Basis, 2> kl_bases{{{{"weights", Basis::weights}, {"whitened", Basis::whitened}}}};

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

template <class Visitor>
void fields(Vmf& options, Visitor&& visit) {
  visit("max_iterations", options.max_iterations, Range{1.0, 1e6}, "Newton steps before giving up");
  visit("tolerance", options.tolerance, Range{1e-14, 1.0}, "gradient norm, in posterior standard deviations");
}

}  // namespace gaussmith
