#pragma once
// V = E'C'C E + c^2 (I - E'E) over whitened weights, E with K orthonormal rows.

#include "families/family_space.hpp"
#include "families/fit_family.hpp"

namespace gaussmith {

/// Lanczos with full reorthogonalisation on A = P + H' diag(precision) H: the K directions, from both ends of the
/// spectrum, that leave the rest of A most like a multiple of the identity. Ritz vectors need not have converged: any
/// orthonormal basis gives a bound.
[[nodiscard]] Matrix subspace_basis(const FamilyObjective& mean_objective, const Vector& precision, Index size,
                                    std::uint64_t seed);

/// Alternates the optimum over (m, C, c) with a new basis from the fitted precisions; a basis that does not raise the
/// bound is dropped. `basis` becomes the one kept. A warm start gives mean and root of the first fit; the bases are
/// those of a cold one, so that the result is the same. `warm` says whether it was used.
[[nodiscard]] AscentResult fit_subspace(const ModelSpace& model_space, const Model& model, Index size,
                                        const FamilyOptions& options, const AscentOptions& ascent, int threads,
                                        Matrix& basis, bool& warm);

}  // namespace gaussmith
