#pragma once
// Anderson acceleration of a fixed point iteration x <- x + f(x): the next point is the one whose residual, if f were
// linear, would be smallest. Near a solution it behaves like GMRES, and converges where the iteration itself would not.

#include "gaussmith/types.hpp"

#include <deque>

namespace gaussmith {

class AndersonMixing {
 public:
  explicit AndersonMixing(int depth) : depth_(depth) {}

  /// The next point after x with residual f; `weight` scales the components of residuals for the comparison and
  /// `damping` is the share of the residual that is taken on top of the extrapolation.
  [[nodiscard]] Vector next(const Vector& x, const Vector& f, const Vector& weight, double damping);

  /// The parts of next(). Pairs are worth remembering wherever they come from, rejected trial points included.
  [[nodiscard]] Vector propose(const Vector& x, const Vector& f, const Vector& weight, double damping) const;
  void remember(const Vector& x, const Vector& f);

  /// Forgets the past: the next step is x + damping f.
  void clear();

 private:
  int depth_;
  std::deque<Vector> points_, residuals_;  // Newest first.
};

}  // namespace gaussmith
