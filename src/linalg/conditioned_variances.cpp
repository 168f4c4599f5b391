// Draws w = A^-1 F e, used for what is not known without them. Only second moments count, and for those random signs e
// do what normal numbers do, with less spread.
//
// Weights: given all others, w_j has the variance 1 / A_jj and the mean w_j - (A w)_j / A_jj, where A w = F e is at
// hand. So v_j = 1 / A_jj + E u_j^2, u = w - diag(A)^-1 F e, and only the last term is drawn.
//
// Rows: with y = tau^1/2 h'w and e the number that the row's own term of F was drawn with, E y^2 = E y e = tau v = s.
// So y and e - y are uncorrelated, with variances s and 1 - s. Their mean squares a and b estimate s twice; weighted by
// the inverses of their variances, which are 2 s^2 and 2 (1 - s)^2, at s = a / (a + b):
//   s = a (b^2 + a - a b) / (a^2 + b^2),  between 0 and 1 for a, b < 4.

#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/variance_bars.hpp"
#include "linalg/variance_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Means over draws of numbers of many items, with the single numbers of those that the bar looks at.
class DrawnMeans {
 public:
  DrawnMeans(Index items, Index draws, std::uint64_t seed)
      : sum_(Vector::Zero(items)), chosen_(random_subset(items, bar_items, seed)) {
    kept_.resize(static_cast<Index>(chosen_.size()), draws);
  }

  void add(const Vector& numbers) {
    sum_ += numbers;
    kept_.col(used_++) = numbers(chosen_);
  }

  [[nodiscard]] Vector means() const { return sum_ / static_cast<double>(used_); }
  [[nodiscard]] const std::vector<Index>& chosen() const { return chosen_; }
  [[nodiscard]] const Matrix& kept() const { return kept_; }

 private:
  Vector sum_;
  std::vector<Index> chosen_;
  Matrix kept_;
  Index used_ = 0;
};

/// The bar of estimates that are means of `parts` at chosen items, one draw a column.
double bar_of(const Matrix& parts, const Vector& values) {
  Matrix deviations(parts.rows(), parts.cols());
  Index items = 0;
  for (Index i = 0; i < parts.rows(); ++i)
    if (values(i) > 0.0) deviations.row(items++) = (parts.row(i).array() - parts.row(i).mean()) / values(i);
  if (items == 0) return 0.0;
  const Matrix used = deviations.topRows(items);
  const Index freedom = parts.cols() - 1;
  // Squares are skew: where few of their sums come out low, so does the spread that they are judged by.
  const double skew = 1.0 + 3.0 / static_cast<double>(parts.cols());
  return skew * relative_error_bar(used, used.squaredNorm() / static_cast<double>(items * freedom), freedom);
}

/// Below this a variance or its complement is noise of the draws.
constexpr double smallest_share = 1e-6;

}  // namespace

void estimate_by_conditioned_draws(VarianceSolver& solver, const SampledVariances& method,
                                   const VarianceOptions& options, VarianceEstimate& out) {
  const PrecisionSystem& system = solver.system();
  if (!system.root_times) throw InvalidOption("variances by draws need products with a root of the precision");
  if (method.draws < 2)
    throw InvalidOption(fmt::format("variances by draws: {} draws; at least 2 are needed", method.draws));
  const bool conditions = system.exact_diagonal && system.diagonal.size() > 0;
  const bool pairs = system.row_precision.size() > 0;
  const Index rows = options.rows ? system.rows : 0;
  const double scale = std::sqrt(static_cast<double>(method.draws));
  const Vector root_precision = pairs ? Vector(system.row_precision.cwiseSqrt()) : Vector();
  DrawnMeans squares(rows, method.draws, options.seed);
  DrawnMeans complements(pairs ? rows : 0, method.draws, options.seed);
  DrawnMeans weights(system.dimension, method.draws, options.seed);
  out.root.resize(system.dimension, method.draws);
  Random random(options.seed);
  for (Index begin = 0; begin < method.draws; begin += system.draws_at_once) {
    Matrix noise(system.root_columns, std::min<Index>(system.draws_at_once, method.draws - begin));
    for (double& sign : noise.reshaped()) sign = random_sign(random);
    const Matrix right = system.root_times(noise);
    const Matrix w =
        solver.solve(right, options.start ? Matrix(scale * options.start->middleCols(begin, noise.cols())) : Matrix());
    const Matrix eta = rows > 0 ? system.rows_times(w) : Matrix();
    for (Index k = 0; k < w.cols(); ++k) {
      if (conditions)
        weights.add((w.col(k) - right.col(k).cwiseQuotient(system.diagonal)).cwiseAbs2());
      else
        weights.add(w.col(k).cwiseAbs2());
      if (rows == 0) continue;
      squares.add(eta.col(k).cwiseAbs2());
      if (pairs) complements.add((noise.col(k).head(rows) - root_precision.cwiseProduct(eta.col(k))).cwiseAbs2());
    }
    out.root.middleCols(begin, w.cols()) = w / scale;
  }

  const Vector conditional = conditions ? Vector(system.diagonal.cwiseInverse()) : Vector::Zero(system.dimension);
  const Vector all_weights = conditional + weights.means();
  const double weights_error = bar_of(weights.kept(), all_weights(weights.chosen()));
  if (options.rows) {
    out.rows = squares.means();
    Vector share = Vector::Ones(rows);  // Of the squares in the estimate.
    if (pairs) {
      const Vector complement = complements.means();
      for (Index n = 0; n < rows; ++n) {
        const double tau = system.row_precision(n);
        const double a = tau * out.rows(n);
        const double b = complement(n);
        if (!(a > 0.0)) continue;
        share(n) = b * b / (a * a + b * b);
        const double s = share(n) * a + (1.0 - share(n)) * (1.0 - b);
        out.rows(n) = std::clamp(s, smallest_share * a, 1.0 - smallest_share * b) / tau;
      }
    }
    const bool singles = conditions && !system.single_weight.empty();
    Matrix parts = squares.kept();
    Vector values(parts.rows());
    Index others = 0;
    for (Index i = 0; i < parts.rows(); ++i) {
      const auto at = static_cast<std::size_t>(squares.chosen()[static_cast<std::size_t>(i)]);
      if (singles && system.single_weight[at] >= 0) continue;
      const auto n = static_cast<Index>(at);
      parts.row(others) = parts.row(i);
      if (share(n) < 1.0)
        parts.row(others) =
            share(n) * parts.row(i) - (1.0 - share(n)) / system.row_precision(n) * complements.kept().row(i);
      values(others++) = out.rows(n);
    }
    out.rows_error = bar_of(parts.topRows(others), values.head(others));
    if (singles) {
      // What these rows see is known better than by their own draws.
      const double all = std::max(1.0, static_cast<double>(parts.rows()));
      out.rows_error = std::hypot(out.rows_error * std::sqrt(static_cast<double>(others) / all),
                                  weights_error * std::sqrt(1.0 - static_cast<double>(others) / all));
      for (Index n = 0; n < rows; ++n)
        if (const Index j = system.single_weight[static_cast<std::size_t>(n)]; j >= 0)
          out.rows(n) = system.single_scale(n) * system.single_scale(n) * all_weights(j);
    }
  }
  if (options.weights) {
    out.weights = all_weights;
    out.weights_error = weights_error;
  }
}

}  // namespace gaussmith
