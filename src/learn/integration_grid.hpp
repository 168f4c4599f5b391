#pragma once
// Integration on a lattice of a density known only by expensive evaluations: those near the peak are made, the tails
// are extrapolated.

#include "learn/integration_design.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace gaussmith {

/// Log density relative to that of the origin, which is near the peak; empty where there is none to be had.
using LatticeDensity = std::function<std::optional<double>(const LatticePoint&)>;
/// Share of a point's cell that belongs to the domain, 0 outside; told also the log density (as above) of a neighbour.
using LatticeShare = std::function<double(const LatticePoint&, double log_density)>;

/// Masses of the points evaluated, in the order of evaluation, the origin first: their sum approximates the integral of
/// exp(log density), and sums of a smooth function times them that of the function. Evaluated are points whose log
/// density is expected within `depth` of the origin's, the most likely ones first: on a line of the lattice inwards it
/// is continued quadratically, or linearly where that would bend upwards. Points further out, and those that cannot be
/// evaluated, lend the mass expected of them to the points inwards of them, so that linear functions keep their
/// integral.
[[nodiscard]] std::vector<double> integrate_on_lattice(const IntegrationLattice& lattice, double depth,
                                                       const LatticeDensity& evaluate, const LatticeShare& share);

}  // namespace gaussmith
