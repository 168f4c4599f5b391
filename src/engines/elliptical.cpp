#include "engines/elliptical.hpp"

#include "engines/sampling_fit.hpp"
#include "gaussmith/errors.hpp"

namespace gaussmith {

void check_elliptical(const Model& model) {
  const bool improper = has_only_precision(model.prior) && prior_precision(model.prior)->improper > 0;
  if (!has_gaussian(model.prior) || improper)
    throw InvalidOption("ess needs a Gaussian prior that is a distribution of its own; use nuts, is or ais");
}

void run_elliptical(const EllipticalSlices& options, const Run& run, Posterior::State& state) {
  const SamplingFit fit = fit_for_sampling(run, state);
  const ChainTarget target{&fit.reference, &fit.sites};
  const FirstPoints first(state.model, fit, run, state.threads);
  ChainDraws draws = run_chains(
      target,
      [&](int chain, Random random) {
        Vector from = first.of(chain, random);
        return elliptical_chain(target, std::move(from), random, !fit.log_concave);
      },
      {options.chains, options.draws, options.warmup, run.seed, state.threads}, Progress(run.progress, nullptr));
  end_in_chains(std::move(draws), first, fit, state);
}

}  // namespace gaussmith
