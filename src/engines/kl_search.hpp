#pragma once
// The best optimum of the KL bound that several ascents in the site form find.

#include "engines/kl_starts.hpp"

#include <functional>

namespace gaussmith {

/// An ascent with its own report.
struct KlClimb {
  KlPoint end;
  Report report;
};

/// A last start, from elsewhere; adds what it took to the iterations.
using FurtherStart = std::function<OptionalKlStart(int& iterations)>;

/// One ascent for log-concave sites, from a warm start and with one start; else the best of several and of a look
/// around (docs/engines/kl.md). Leaves the core at the sites of the result. Throws InvalidModel where the first start
/// gives no Gaussian.
[[nodiscard]] KlClimb best_kl_climb(const ClimbOptions& options, const Run& run, GaussianCore& core,
                                    const SiteRows& sites, const FurtherStart& further = {});

/// How far kl goes from one start, and whether its steps have duality gaps.
[[nodiscard]] inline ClimbOptions climb_options(const Kl& options, bool gap) {
  ClimbOptions out{"kl", options.max_iterations, options.tolerance, options.starts, gap};
  if (options.stop == KlStop::gap) out.gap_goal = options.gap_tolerance;
  return out;
}

/// The same with what the covariance families find as the further start.
[[nodiscard]] KlClimb best_kl_climb(const Kl& options, const Run& run, const Model& model, GaussianCore& core,
                                    const SiteRows& sites, int threads);

}  // namespace gaussmith
