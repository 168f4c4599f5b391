#pragma once
// What sites see of the functions of a row: all of them, or their contrasts alone, which is one dimension less.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// Whether no site sees a common shift of the functions, T_n 1 = 0, to the rounding of sites that came out of solves.
[[nodiscard]] bool sees_contrasts_alone(const SiteApproximation& sites);

/// Q, C x k: contrasts where sites see nothing else, otherwise the identity.
[[nodiscard]] Matrix basis_for(const SiteApproximation& sites);

/// K^c = half half' + left, where sites in the basis Q see nothing of `left` (Q'left = 0). With
/// Q'K^c Q = U diag(values) U': along = Q U and half = K^c along values^-1/2, without values that are zero to rounding.
struct SeenFunctions {
  Vector values;  ///< Ascending.
  Matrix along;   ///< C x rank.
  Matrix half;    ///< C x rank.
  Matrix left;    ///< C x C.
};
[[nodiscard]] SeenFunctions seen_functions(const Matrix& latent_covariance, const Matrix& basis);

}  // namespace gaussmith
