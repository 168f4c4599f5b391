#pragma once
// Sweeps until the sites agree: damped, then with units pruned that the data switch off, then accelerated.

#include "network/network_fit.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gaussmith {

struct NetworkRunOptions {
  double damping = 0.6;
  int max_sweeps = 1000;
  double tolerance = 1e-5;
  int patience = 0;  ///< Sweeps without a halved residual after which a run is given up as at its limit; 0: none.
};

struct NetworkRunResult {
  Status status = Status::converged;
  int sweeps = 0;
  double residual = 0.0;  ///< Of the sites that the fit ends with; where it was stopped, before its last sweep.
  int skipped = 0, shortened = 0, pruned = 0;
  std::vector<Iteration> history;
};

/// The fit has its starting sites. `tell` is asked after every sweep.
[[nodiscard]] NetworkRunResult run_network(NetworkFit& fit, const NetworkRunOptions& options,
                                           const std::function<Next(const Iteration&)>& tell);

}  // namespace gaussmith
