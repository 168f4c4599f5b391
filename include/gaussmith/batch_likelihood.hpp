#pragma once
// Likelihoods of one's own whose functions take many numbers in one call: where a call costs more than what it
// computes, as one of an interpreter does.

#include "gaussmith/sites.hpp"

#include <functional>

namespace gaussmith {

/// A CustomLikelihood by functions of many numbers: of all rows for derivatives, of every round of an integral for
/// expectations and tilted moments. Results are those of the scalar functions.
struct BatchLikelihood : CustomLikelihood {
  /// In place of log_density: log_t[i] = log t(eta[i]) for response y[i].
  std::function<void(ConstSpan eta, ConstSpan y, Span log_t)> log_densities = {};
  /// In place of derivatives.
  std::function<void(ConstSpan eta, ConstSpan y, Span first, Span second, Span third)> all_derivatives = {};
};
[[nodiscard]] Sites observe(BatchLikelihood likelihood, const Vector& responses);

}  // namespace gaussmith
