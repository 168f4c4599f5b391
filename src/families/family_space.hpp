#pragma once
// From a model to the coordinates of a family: which rows act on mean and root, and the prior's precision there.

#include "families/family_objective.hpp"
#include "gaussian/prior_geometry.hpp"

namespace gaussmith {

struct ModelSpace {
  FamilySpace space;  ///< Without pattern and multiplicity of the family; multiplicity is for `pattern`.
  bool whitened = false;
  Vector mean;    ///< mu in w.
  Matrix root;    ///< R of dense priors in whitened coordinates: w = mean + R u.
  Vector scales;  ///< R where it is diagonal.

  /// mean + R u, or mean + x.
  [[nodiscard]] Vector weights(const Vector& x) const;
};

/// The geometry is that of the model, and is whitened where the coordinates are. Throws InvalidOption when the prior is
/// singular and the basis needs its inverse.
[[nodiscard]] ModelSpace make_space(const Model& model, PriorGeometry& geometry, const CovarianceFamily& family,
                                    Basis basis);

}  // namespace gaussmith
