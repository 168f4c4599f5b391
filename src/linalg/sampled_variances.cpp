// Draws w = A^-1 F e. With P = W W'A, a projection that is orthogonal in the inner product x'A y (as W'A W = I),
// cov(P w) = W W' and cov(w - P w) = A^-1 - W W': the first is known, the second drawn.

#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/variance_bars.hpp"
#include "linalg/variance_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Squares of draws, summed for all items and kept for those that the bar looks at.
class SquaredDraws {
 public:
  SquaredDraws(Vector known, Index draws, std::uint64_t seed)
      : known_(std::move(known)),
        sum_(Vector::Zero(known_.size())),
        chosen_(random_subset(known_.size(), bar_items, seed)) {
    kept_.resize(static_cast<Index>(chosen_.size()), draws);
  }

  void add(const Matrix& block) {
    for (Index k = 0; k < block.cols(); ++k) {
      const Vector squares = block.col(k).cwiseAbs2();
      sum_ += squares;
      kept_.col(used_++) = squares(chosen_);
    }
  }

  [[nodiscard]] Vector values() const { return known_ + sum_ / static_cast<double>(used_); }

  [[nodiscard]] double bar() const {
    const auto draws = static_cast<double>(used_);
    Matrix deviations(kept_.rows(), kept_.cols());
    double variance = 0.0;
    Index items = 0;
    for (Index i = 0; i < kept_.rows(); ++i) {
      const Index item = chosen_[static_cast<std::size_t>(i)];
      const double drawn = sum_(item) / draws;
      const double value = known_(item) + drawn;
      if (!(value > 0.0)) continue;
      deviations.row(items++) = (kept_.row(i).array() - drawn) / value;
      // The square of a normal number has the variance 2 r^2, r its mean.
      variance += 2.0 * drawn * drawn / (value * value);
    }
    if (items == 0) return 0.0;
    return relative_error_bar(deviations.topRows(items), variance / static_cast<double>(items), used_);
  }

 private:
  Vector known_;
  Vector sum_;
  std::vector<Index> chosen_;
  Matrix kept_;
  Index used_ = 0;
};

}  // namespace

void estimate_by_draws(VarianceSolver& solver, const SampledVariances& method, const VarianceOptions& options,
                       VarianceEstimate& out) {
  const PrecisionSystem& system = solver.system();
  if (!system.root_times) throw InvalidOption("variances by draws need products with a root of the precision");
  if (method.draws < 2)
    throw InvalidOption(fmt::format("variances by draws: {} draws; at least 2 are needed", method.draws));
  SquaredDraws rows(options.rows ? solver.known_rows() : Vector(), method.draws, options.seed);
  SquaredDraws weights(options.weights ? solver.known_weights() : Vector(), method.draws, options.seed);
  const Index known_columns = solver.root().cols();
  out.root.resize(system.dimension, known_columns + method.draws);
  out.root.leftCols(known_columns) = solver.root();
  Random random(options.seed);
  for (Index begin = 0; begin < method.draws; begin += solved_at_once) {
    Matrix noise(system.root_columns, std::min<Index>(solved_at_once, method.draws - begin));
    for (Index k = 0; k < noise.cols(); ++k)
      for (Index i = 0; i < noise.rows(); ++i) noise(i, k) = random.normal();
    const Matrix right = system.root_times(noise);
    const Matrix known = solver.known(right);
    const Matrix rest = solver.solve(right, known) - known;
    if (options.rows) rows.add(system.rows_times(rest));
    if (options.weights) weights.add(rest);
    out.root.middleCols(known_columns + begin, rest.cols()) = rest / std::sqrt(static_cast<double>(method.draws));
  }
  if (options.rows) {
    out.rows = rows.values();
    out.rows_error = rows.bar();
  }
  if (options.weights) {
    out.weights = weights.values();
    out.weights_error = weights.bar();
  }
}

}  // namespace gaussmith
