#pragma once
// Every option of NetworkEp, described once.

#include "engines/option_domains.hpp"
#include "gaussmith/network.hpp"

namespace gaussmith {

inline constexpr Choices<NetworkStart, 2> network_starts{
    {{{"fitted", NetworkStart::fitted}, {"zero", NetworkStart::zero}}}};

template <class Visitor>
void fields(NetworkEp& options, Visitor&& visit) {
  visit("network.power", options.power, Range{0.0, 1.0},
        "power of the sites in the tilted distributions; 0: 0.8 with hidden units, without them 1, or 0.8 where 1 does "
        "not do");
  visit("network.damping", options.damping, Range{0.0, 1.0, true},
        "share of a step that is taken; 0.6 and more grow to 0.8 at least after 60 sweeps");
  visit("network.starts", options.starts, Range{1.0, 1000.0},
        "starts of a network; stacked by their leave-one-out densities");
  visit("network.start", options.start, network_starts,
        "where hidden units start: penalised least squares from random weights, or zero weights");
  visit("network.max_iterations", options.max_iterations, Range{1.0, 1e6}, "sweeps before giving up, from each start");
  visit("network.tolerance", options.tolerance, Range{0.0, 1.0},
        "largest relative mismatch of tilted and marginal moments; 0: 1e-5 with hidden units, 1e-8 without");
}

/// Throws InvalidOption for an option outside its range.
void check_options(const NetworkEp& method);

}  // namespace gaussmith
