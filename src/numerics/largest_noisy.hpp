#pragma once
// Which of several values is the largest when each has independent noise of its own.

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// The noise of every value beside the normal one, whose variances are given: standard Gumbel makes the softmax,
/// standard normal the probit.
enum class ClassLink { logit, probit };

/// P(f_c + noise_c is the largest) and E[max_c (f_c + noise_c)] for many f: integrals over the largest, of
/// sum_c density_c prod_{k != c} distribution_k, by the trapezoidal rule from tables of the distributions. Good to
/// 1e-6; probabilities of a point add up to 1 but for the error of the rule.
class LargestNoisy {
 public:
  LargestNoisy(ClassLink link, const Vector& variance);

  /// Noise that the tables can hold: what is too small becomes 0, what is too large for the smallest is cut.
  [[nodiscard]] static Vector usable(ClassLink link, const Vector& variance);

  /// How far the noise spreads the largest, about: 1 or its largest standard deviation.
  [[nodiscard]] double spread() const { return spread_; }

  /// Rows of f are points. Adds to C probabilities and behind them to the mean of the largest.
  void add(const Eigen::Ref<const Matrix>& f, Eigen::Ref<Vector> sum);

 private:
  /// A distribution at lower + (slot + phase/phases) step, slots side by side, and its density times step/phases.
  struct Table {
    double lower = 0.0, upper = 0.0;
    Index slots = 0;   // Beyond them the distribution is 1.
    Index stride = 0;  // From phase to phase.
    Vector value, slope;
  };
  [[nodiscard]] Table table(ClassLink link, double variance) const;

  double step_;
  double spread_;
  std::vector<Table> tables_;
  Vector work_;
};

}  // namespace gaussmith
