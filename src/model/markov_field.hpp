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

}  // namespace gaussmith
