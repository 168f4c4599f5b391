#pragma once
// What to do about a fit that is not trusted: other methods are fitted and held against the same draws, or where these
// say nothing, get a check of their own.

#include "trust/verdict.hpp"

namespace gaussmith {

/// One sentence. The best lower bound among those fitted is entered in the card.
[[nodiscard]] std::string better_method(const Posterior& posterior, const ImportanceEstimate* estimate,
                                        const Circumstances& circumstances, bool weights_are_latents,
                                        const DiagnoseOptions& options, const Run& run, TrustCard& card);

}  // namespace gaussmith
