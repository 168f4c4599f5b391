#pragma once
// Priors known by a sparse precision: what is given, and the ready-made intrinsic fields.

#include "model/prior.hpp"

namespace gaussmith {

/// Throws InvalidModel where the precision is not square, finite, symmetric and positive definite.
void check_precision(const SparsePrecision& p);
/// Throws InvalidModel naming the edge or number that is wrong.
void check_field(const IntrinsicField& p);

[[nodiscard]] KnownPrecision precision_of(const SparsePrecision& p);
[[nodiscard]] KnownPrecision precision_of(const IntrinsicField& p);

/// log|Q| of a positive definite Q by a sparse factorisation; throws InvalidModel where it is not.
[[nodiscard]] double log_determinant_of(const SparseMatrix& q);
/// Log of the product of the eigenvalues of the field's Q other than zero. A graph costs a sparse factorisation.
[[nodiscard]] double log_determinant_of(const IntrinsicField& p, const KnownPrecision& known);
/// Whether a linear trend of the field is free.
[[nodiscard]] bool has_free_trend(const IntrinsicField& p);
/// The nodes of each connected part, in the order of their first ones.
[[nodiscard]] std::vector<std::vector<Index>> parts_of(const IntrinsicField& p);

}  // namespace gaussmith
