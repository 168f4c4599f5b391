#include "engines/kl.hpp"

#include "engines/explicit_gradient.hpp"
#include "engines/kl_full.hpp"
#include "engines/options.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace gaussmith {

void check_kl_covariance(const std::string& text) {
  if (text != "auto" && text != "full")
    throw InvalidOption(fmt::format("kl.covariance must be auto or full, found \"{}\"", text));
}

void check_kl(const Kl& /*options*/, const Model& /*model*/) {}

namespace {

std::optional<KlStart> warm_start(GaussianCore& core, const Posterior* warm) {
  if (warm == nullptr || warm->sites().precision.size() != core.rows() || !core.factorise(warm->sites().precision))
    return {};
  return KlStart{warm->sites().precision, core.mean(warm->sites().shift)};
}

/// Other places to begin for sites that are not log-concave: means drawn from q, farther out each time.
KlStart scattered_start(GaussianCore& core, const SiteRows& sites, const KlPoint& around, Random& random) {
  Vector shift(core.rows());
  for (Index n = 0; n < shift.size(); ++n)
    shift(n) = around.mean.d_mean(n) + around.precision(n) * around.mean.at.eta(n) +
               2.0 * random.normal() / std::sqrt(around.variance(n));
  return independent_start(core, sites, core.mean(shift));
}

void run_full(const Kl& options, const Run& run, Posterior::State& state) {
  GaussianCore& core = *state.core;
  const SiteRows sites(state.model.sites, state.threads);
  state.report.tolerance = options.tolerance;
  std::optional<KlStart> start = warm_start(core, run.warm_start);
  const bool warm = start.has_value();
  if (!start) start = independent_start(core, sites, core.centre());
  if (!warm && !core.factorise(start->precision)) throw InvalidModel("kl: " + why_not_factorised(core));
  KlPoint best = climb_kl(core, sites, options, run, *start, state.report);

  state.sites.precision = best.precision;
  state.sites.shift = best.mean.d_mean + best.precision.cwiseProduct(best.mean.at.eta);
  state.point = best.mean.at;
  state.latent = {state.point.eta, best.variance};
  state.log_evidence = {best.bound,
                        sites.all(&SiteTraits::gaussian) ? EvidenceKind::exact : EvidenceKind::lower_bound};
}

}  // namespace

void run_kl(const Kl& options, const Run& run, Posterior::State& state) { run_full(options, run, state); }

std::map<std::string, double, std::less<>> kl_gradient(const Posterior::State& state) {
  return explicit_gradient(state, [&](const SiteBlock& block, Index row, int parameter) {
    const auto size = static_cast<std::size_t>(block.size());
    Vector value(block.size());
    block.parameter_expectation(0, parameter, ConstSpan(state.latent.mean.data() + row, size),
                                ConstSpan(state.latent.variance.data() + row, size), view(value));
    return value.sum();
  });
}

}  // namespace gaussmith
