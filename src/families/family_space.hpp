#pragma once
// From a model to the coordinates of a family: which rows act on mean and root, and the prior's precision there.

#include "families/family_objective.hpp"

namespace gaussmith {

struct ModelSpace {
  FamilySpace space;  ///< Without pattern and multiplicity of the family; multiplicity is for `pattern`.
  std::unique_ptr<const Design> owned;  ///< The design in whitened coordinates.
  bool whitened = false;
  Vector mean;    ///< mu in w.
  Matrix root;    ///< R of dense priors in whitened coordinates: w = mean + R u.
  Vector scales;  ///< R where it is diagonal.

  /// mean + R u, or mean + x.
  [[nodiscard]] Vector weights(const Vector& x) const;
};

/// Throws InvalidOption when the prior is singular and the basis needs its inverse.
[[nodiscard]] ModelSpace make_space(const Model& model, const CovarianceFamily& family, Basis basis, int threads);

}  // namespace gaussmith
