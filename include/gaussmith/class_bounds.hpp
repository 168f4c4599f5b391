#pragma once
// Lower bounds on the evidence of multinomial-logit models beside the one that kl maximises.

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/infer.hpp"

#include <optional>

namespace gaussmith {

struct ClassBounds {
  /// The Gaussian lower bound itself, at the q whose closed bound is the evidence: at least that.
  double log_zb = 0.0;
  double log_zb_error = 0.0;  ///< Absolute, that of its integrals.
  /// What q = N(0, s I) gives, at the best s. Needs a regular K, zero mean, no offset and no weights.
  std::optional<double> theorem9 = {};
  /// What q = prior gives. Needs independent functions of the same constant variance, zero mean, no offset, no weights.
  std::optional<double> theorem10 = {};
};

/// Of a posterior of kl with multinomial-logit sites; InvalidOption for others. The last two do not depend on the
/// labels. An integral for every row and, for theorem9, a factorisation of K^x.
[[nodiscard]] ClassBounds class_bounds(const Posterior& posterior, const ProbabilityGoal& goal = {});

/// Whether the posterior has such bounds.
[[nodiscard]] bool has_class_bounds(const Posterior& posterior);

}  // namespace gaussmith
