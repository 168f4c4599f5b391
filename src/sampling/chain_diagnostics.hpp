#pragma once
// Whether chains agree and what their draws are worth: rank-normalised split R-hat, bulk and tail effective sizes
// (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021).

#include "gaussmith/types.hpp"

namespace gaussmith {

struct ChainDiagnostics {
  double rhat = 1.0;        ///< The larger of those of ranks and of folded ranks; 1 where chains agree.
  double bulk_ess = 0.0;    ///< Of ranks: what the mean is worth.
  double tail_ess = 0.0;    ///< The smaller of those of the 5 % and the 95 % quantile.
  double mean_ess = 0.0;    ///< Of the values themselves: Var / mean_ess is the squared standard error of the mean.
  double square_ess = 0.0;  ///< Of squared deviations: what the variance is worth.
};

/// One quantity: a column for each chain, at least eight draws. Constant draws have R-hat 1 and full sizes; draws that
/// are not all finite have none.
[[nodiscard]] ChainDiagnostics diagnose_chains(const Matrix& draws);

/// The worst of several.
[[nodiscard]] ChainDiagnostics worse(const ChainDiagnostics& a, const ChainDiagnostics& b);

}  // namespace gaussmith
