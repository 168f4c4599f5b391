#pragma once
// Where a search had better begin: evidences of processes often have one maximum at long length-scales, where much is
// noise, and another at short ones.

#include "learn/curvature.hpp"
#include "learn/evaluation.hpp"
#include "learn/free_parameters.hpp"

#include <optional>
#include <vector>

namespace gaussmith {

/// A point with its value and gradient.
struct Evaluated {
  Vector point;
  Evaluation evaluation;
};

/// By their values; equal ones keep their order.
void sort_best_first(std::vector<Evaluated>& points);

/// The places of the length-scales among the parameters, those of one kernel together.
[[nodiscard]] std::vector<std::vector<Index>> lengthscale_groups(const std::vector<FreeParameter>& free);

/// Moves all length-scales by a common factor, of 4 at a time, as long as that raises f: along the slope where it is
/// steep for an evidence of so many rows, else shorter, in spite of one step that does not help, and if none does
/// longer. Empty when f has no value at the start.
[[nodiscard]] std::optional<Evaluated> scan_lengthscales(const PartialFunction& f, const Vector& start,
                                                         const std::vector<FreeParameter>& free, double rows);

/// Steps from a maximum with this curvature to where another one might be: all length-scales shorter, and longer, by a
/// factor of 3 or two standard errors, the other parameters following as the curvature says, up to a third of that;
/// where that is more than a factor of 7, also shorter by its root. Without length-scales each parameter by itself, to
/// either side by a factor of 7, where its standard error is more than a factor of e. Empty unless every parameter is
/// one of the curvature's, and where all are length-scales.
[[nodiscard]] std::vector<Vector> steps_beyond(const Curvature& curvature, const std::vector<FreeParameter>& free);

/// Coordinates in which each group of parameters moves as one: x = start + T z with z = 0 at the start.
class TiedCoordinates {
 public:
  TiedCoordinates(const std::vector<FreeParameter>& free, const Vector& start);

  [[nodiscard]] bool fewer() const { return owner_.size() > 0 && lower_.size() < start_.size(); }
  [[nodiscard]] Vector point(const Vector& z) const;
  [[nodiscard]] Evaluation gather(Evaluation evaluation) const;  ///< The gradient in z.
  [[nodiscard]] const Vector& lower() const { return lower_; }
  [[nodiscard]] const Vector& upper() const { return upper_; }

 private:
  Vector start_, lower_, upper_;
  std::vector<Index> owner_;  ///< The z that moves each x.
};

}  // namespace gaussmith
