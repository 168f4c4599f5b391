#include "engines/kl_search.hpp"

#include "engines/duality_gap.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

KlClimb best_kl_climb(const ClimbOptions& options, const Run& run, GaussianCore& core, const SiteRows& sites,
                      const FurtherStart& further) {
  const auto climb = [&](const KlStart& start) {
    KlClimb done;
    done.end = climb_kl(core, sites, options, run, start, done.report);
    return done;
  };
  if (const OptionalKlStart warm = warm_kl_start(core, run.warm_start)) return climb(*warm);
  const OptionalKlStart first = proper_start(core, independent_start(core, sites, core.centre()));
  if (!first) throw InvalidModel(fmt::format("{}: {}", options.method, why_not_factorised(core)));
  KlClimb best = climb(*first);
  if (sites.all(&SiteTraits::log_concave) || options.starts == 1) return best;
  double certain = certain_bound(core, best.end.mean.at, best.end.bound);

  int iterations = best.report.iterations;
  bool stopped = best.report.status == Status::stopped;
  const auto try_start = [&](const OptionalKlStart& start) {
    if (!start || stopped) return;
    KlClimb other = climb(*start);
    const double other_certain = certain_bound(core, other.end.mean.at, other.end.bound);
    iterations += other.report.iterations;
    stopped = other.report.status == Status::stopped;
    if (!(other_certain > certain)) return;
    certain = other_certain;
    best = std::move(other);
  };
  // After the first: least squares, a scattered one, the widest, and more scattered ones; then what a look around
  // finds.
  Random random(run.seed);
  for (int number = 1; number < options.starts && !stopped; ++number)
    try_start(number == 1   ? trusting_start(core, sites, *first)
              : number == 3 ? wide_start(core, sites)
                            : scattered_start(core, sites, *first, random));
  if (!stopped)
    for (const KlStart& start : believing_starts(core, sites, *first, options.starts, random, iterations))
      try_start(proper_start(core, start));
  if (!stopped && further) try_start(further(iterations));
  best.report.iterations = iterations;
  best.report.message += fmt::format(", best of {} starts and a look around", options.starts);
  if (!core.set(best.end.sites())) core.restore({best.end.precision, Vector::Zero(core.rows())});
  return best;
}

KlClimb best_kl_climb(const Kl& options, const Run& run, const Model& model, GaussianCore& core, const SiteRows& sites,
                      int threads) {
  const FurtherStart families = [&](int& iterations) -> OptionalKlStart {
    try {
      if (const auto found = kl_family_start(options, run, model, threads, iterations))
        return family_start(core, *found);
    } catch (const InvalidInput&) {
      // A model that constrained covariances refuse has one start less.
    }
    return {};
  };
  return best_kl_climb(climb_options(options, why_no_gap(model).empty()), run, core, sites, families);
}

}  // namespace gaussmith
