#pragma once
// Which row of a pool to ask the label of next.

#include "gaussmith/active.hpp"
#include "gaussmith/predict.hpp"

#include <vector>

namespace gaussmith {

/// The scores of rows, not random. A variance that is not positive cannot be scored: its row comes last.
[[nodiscard]] Vector scores_of(const Marginals& latent, ActiveScore score, int threads);

/// Rows among which one has the highest score: all but such that a row with a smaller |mean| and a larger variance
/// rules out, as every score falls with |mean| and rises with the variance. In their order; none that is taken.
[[nodiscard]] std::vector<Index> not_ruled_out(const Marginals& latent, const std::vector<char>& taken);

/// The row with the highest score that is not taken, the first of equal ones.
[[nodiscard]] Index best_candidate(const Marginals& latent, const std::vector<char>& taken, ActiveScore score,
                                   int threads);

}  // namespace gaussmith
