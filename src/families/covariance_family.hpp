#pragma once
// The covariance families of Gaussian-KL inference, by name and size.
//   full            V = C'C, C upper triangular
//   diagonal        C diagonal
//   banded:B        C_ij = 0 for j > i + B
//   chevron:K       the first K rows of C full, the rest diagonal
//   sparse:FILE     C_ij free where FILE lists "i j", i <= j, counted from 0
//   subspace:K      V = E'C'C E + c^2 (I - E'E), E with K orthonormal rows, over the whitened weights
//   factor:K        V = Theta Theta' + diag(d)^2, Theta D x K; the bound is not concave

#include "gaussmith/infer.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

enum class FamilyKind { full, diagonal, banded, chevron, sparse, subspace, factor };

struct CovarianceFamily {
  FamilyKind kind = FamilyKind::full;
  Index size = 0;                                 ///< B or K.
  std::vector<std::pair<int, int>> entries = {};  ///< Of `sparse`: the free positions (i, j).
  std::string file = {};                          ///< Of `sparse`: where they came from, for messages.
};

/// "banded:10" and so on. Throws InvalidOption saying what would be accepted; reads the file of sparse:FILE.
[[nodiscard]] CovarianceFamily parse_family(std::string_view text);

/// The name that parse_family reads.
[[nodiscard]] std::string to_string(const CovarianceFamily& family);

/// Throws InvalidOption unless the family exists in this dimension: K <= D, pattern in range and with its diagonal.
void check_family(const CovarianceFamily& family, Index dimension);

/// Throws InvalidOption unless the design has entries: an operator that only multiplies has no rows to meet a root
/// with.
void check_rows(const CovarianceFamily& family, const Design& design);

/// Bytes that fit_family will need beyond the model, to within a factor of about 1.5.
[[nodiscard]] double memory_needed(const CovarianceFamily& family, const Model& model, Basis basis = Basis::weights);

}  // namespace gaussmith
