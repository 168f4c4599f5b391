#pragma once
// What a table and its options say about a network.

#include "gaussmith/network.hpp"
#include "gaussmith/tables.hpp"
#include "tables/settings.hpp"

namespace gaussmith {

/// Throws InvalidOption for options that a network, or a sparse linear model, does not have; needs no table.
void check_network(const TableModelOptions& options, const LikelihoodInfo& likelihood);

/// The prior that the options ask for over features of this coding. Takes the settings under network. and refuses any
/// other.
[[nodiscard]] NetworkPrior network_prior(const TableModelOptions& options, const FeatureCoding& features,
                                         Settings& settings);

}  // namespace gaussmith
