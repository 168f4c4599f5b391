#pragma once

#include "gaussmith/types.hpp"

#include <deque>

namespace gaussmith {

/// Anderson acceleration of a fixed point x = x + f(x): from the last few pairs (x, f) the combination of steps that
/// leaves the smallest weighted residual.
class Anderson {
 public:
  explicit Anderson(std::size_t depth) : depth_(depth) {}

  void forget() { steps_.clear(); }

  /// Adds the pair and returns the next x: x + f without memory. The weights scale the rows of the least squares.
  [[nodiscard]] Vector next(const Vector& x, const Vector& f, const Vector& weights);

 private:
  struct Step {
    Vector x, f;
  };
  std::size_t depth_;
  std::deque<Step> steps_;
};

}  // namespace gaussmith
