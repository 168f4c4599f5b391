#pragma once

#include "gaussmith/types.hpp"

#include <deque>

namespace gaussmith {

/// Anderson acceleration of a fixed point x = x + f(x): the point of the plane through the last few pairs (x, f) that
/// leaves the smallest weighted residual, and a step from there. Pairs count wherever they come from, rejected trial
/// points included.
class Anderson {
 public:
  explicit Anderson(std::size_t depth) : depth_(depth) {}

  void forget() { pairs_.clear(); }
  void remember(Vector x, Vector f);

  /// The next x from here, where the pair is (x, f): x + f without memory. The weights scale the rows of the least
  /// squares.
  [[nodiscard]] Vector next(const Vector& x, const Vector& f, const Vector& weights) const;

 private:
  struct Pair {
    Vector x, f;
  };
  std::size_t depth_;
  std::deque<Pair> pairs_;
};

}  // namespace gaussmith
