#pragma once
// A start of the site form from the covariance families, for sites that are not log-concave.

#include "gaussmith/infer.hpp"

#include <optional>

namespace gaussmith {

/// The rows of a Gaussian that the families found, and its bound.
struct KlFamilyStart {
  Vector eta;        ///< Mean.
  Vector precision;  ///< -2 dE[log t]/dv.
  Vector d_mean;     ///< dE[log t]/dm.
  double bound = 0.0;
};

/// The rows of the best root found by the families' starts: the diagonal family's optimum and, up to `direct_dimension`
/// weights, the ascent of a full root from there and from each of the starts, none of which falls below the diagonal's
/// bound. The starts are drawn over the weights, so they know neither the order of the rows nor the form of the core.
/// Empty where the families do not suit the model, would take more than the site form itself, or the caller stopped.
/// Adds the steps taken to `iterations`.
[[nodiscard]] std::optional<KlFamilyStart> kl_family_start(const Kl& options, const Run& run, const Model& model,
                                                           int threads, int& iterations);

}  // namespace gaussmith
