#pragma once
// Where else a search may begin: evidences of kernels with several components have many maxima, one for each way of
// sharing out the data's structure between the components.

#include "learn/free_parameters.hpp"

#include <vector>

namespace gaussmith {

/// Whether components compete for the same structure: length-scales of two kernels or more, a period, or length-scales
/// beside effects of groups.
[[nodiscard]] bool has_components(const std::vector<FreeParameter>& free);

/// The places of the periods: the objective has a maximum for each of many, and each is narrow.
[[nodiscard]] std::vector<Index> places_of_periods(const std::vector<FreeParameter>& free);

/// Starts around a first one, which comes first: length-scales long, middling and short (times 4, 1/2, 1/16; of
/// periodic kernels, in periods, times 4, 1, 1/4), all combinations for two kernels and an orthogonal array of nine for
/// more, each with every period of the list; several periods take different ones of it in turn.
[[nodiscard]] std::vector<Vector> candidate_starts(const std::vector<FreeParameter>& free, const Vector& start,
                                                   const std::vector<double>& periods);

}  // namespace gaussmith
