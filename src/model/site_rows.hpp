#pragma once
// All sites of a model as one column of rows: engines call these instead of looping over blocks.

#include "gaussmith/model.hpp"

#include <functional>

namespace gaussmith {

class SiteRows {
 public:
  SiteRows(const std::vector<Sites>& blocks, int threads);

  [[nodiscard]] Index rows() const { return rows_; }

  /// Calls body(block, row within the block, row within the model, count) for pieces of at most rows_per_call rows;
  /// pieces run on several threads, so a body writes only its own rows. Blocks that may not be called from any thread
  /// come last, on the caller's.
  void for_pieces(const std::function<void(const SiteBlock&, Index, Index, Index)>& body) const;

  /// log t and its derivatives at eta; a null pointer is not computed.
  void log_density(const Vector& eta, Vector* value, Vector* first = nullptr, Vector* second = nullptr,
                   Vector* third = nullptr) const;

  /// E[log t] under N(mean, variance) and its derivatives; a null pointer is not computed.
  void expectation(const Vector& mean, const Vector& variance, Vector* value, Vector* d_mean = nullptr,
                   Vector* d_variance = nullptr) const;

  /// Moments of N(mean, variance) t^power, one row each; every variance > 0. Returns how many rows did not reach the
  /// accuracy that SiteBlock::tilted promises.
  Index tilted(const Vector& mean, const Vector& variance, double power, Vector& log_normaliser, Vector& tilted_mean,
               Vector& tilted_variance) const;
  /// The same for a single row of the model.
  struct Tilted {
    double log_normaliser, mean, variance;
  };
  [[nodiscard]] Tilted tilted_row(Index row, double mean, double variance, double power) const;

  /// sum_n log t_n(eta_n), added in a fixed order. -inf where any site is.
  [[nodiscard]] double total(const Vector& eta) const;

  [[nodiscard]] bool all(bool SiteTraits::*property) const;
  /// The rows with a property; empty where no row has it.
  [[nodiscard]] std::vector<bool> which(bool SiteTraits::*property) const;

 private:
  struct Piece {
    const SiteBlock* block;
    Index first, row, count;
  };
  std::vector<Piece> pieces_;
  const std::vector<Sites>* blocks_;
  Index rows_ = 0;
  int threads_;
};

}  // namespace gaussmith
