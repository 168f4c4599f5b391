#include "engines/no_u_turn.hpp"

#include "engines/sampling_fit.hpp"

namespace gaussmith {

void check_no_u_turn(const Model& /*model*/) {}

void run_no_u_turn(const NoUTurn& options, const Run& run, Posterior::State& state) {
  const SamplingFit fit = fit_for_sampling(run, state);
  const ChainTarget target{&fit.reference, &fit.sites};
  const FirstPoints first(state.model, fit, run, state.threads);
  ChainDraws draws = run_chains(
      target,
      [&](int chain, Random random) {
        Vector from = first.of(chain, random);
        return no_u_turn_chain(target, std::move(from), options.acceptance, options.max_depth, random);
      },
      {options.chains, options.draws, options.warmup, run.seed, state.threads}, Progress(run.progress, nullptr));
  end_in_chains(std::move(draws), first, fit, state);
}

}  // namespace gaussmith
