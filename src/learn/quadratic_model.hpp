#pragma once
// What a search has learned of a function's curvature, and the best step inside a box under it.

#include "gaussmith/types.hpp"

#include <deque>
#include <vector>

namespace gaussmith {

/// f(x + s) ~ f(x) + g's + s'Hs/2 with H = -scale I + sum_k weight_k d_k d_k': symmetric, of either sign.
/// Memory and products are of order (dimension times terms).
class QuadraticModel {
 public:
  explicit QuadraticModel(Index dimension) : dimension_(dimension) {}

  /// H = -scale I, a guess: the first update scales it anew.
  void reset(double scale);

  /// H on some coordinates, -scale on the others, which the first do not see.
  void set(const Matrix& hessian, const std::vector<Index>& coordinates, double scale);

  /// The symmetric rank-one update that makes H step = change. Does nothing where that is not defined.
  void update(const Vector& step, const Vector& change);

  [[nodiscard]] Vector times(const Vector& v) const;
  /// g's + s'Hs/2.
  [[nodiscard]] double gain(const Vector& gradient, const Vector& step) const;

  /// A step inside lower <= s <= upper (which holds 0) from which the model does not rise inside the box to first
  /// order: conjugate gradients over the coordinates that are free, to the first bound or along positive curvature to
  /// it.
  [[nodiscard]] Vector best_step(const Vector& gradient, const Vector& lower, const Vector& upper) const;

 private:
  struct Term {
    double weight;
    Vector direction;
  };

  Index dimension_;
  double scale_ = 1.0;
  bool guessed_ = true;  ///< No curvature has been seen yet.
  std::deque<Term> terms_;
};

}  // namespace gaussmith
