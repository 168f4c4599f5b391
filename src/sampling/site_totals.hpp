#pragma once
// log prod t_n at many points eta, for samplers: the sites of a model as a function of one vector.

#include "gaussmith/model.hpp"

#include <vector>

namespace gaussmith {

class SiteTotals {
 public:
  /// Lends the model.
  explicit SiteTotals(const Model& model);

  /// Whether sites may be asked from several threads.
  [[nodiscard]] bool any_thread() const { return any_thread_; }
  /// sum_n w_n log t_n(eta_n), in a fixed order; -inf where a site is zero, and where one is no number.
  [[nodiscard]] double total(ConstSpan eta) const;
  /// The same with its gradient; one-sided at kinks.
  [[nodiscard]] double total(ConstSpan eta, Span gradient) const;
  /// Of every column.
  void totals(const Matrix& eta, Span out) const;

 private:
  const Model* model_;
  bool any_thread_ = true;
  Index width_;
};

}  // namespace gaussmith
