#include "trust/hermite_coefficients.hpp"

#include "base/parallel_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gaussmith {

namespace {

constexpr double negligible = 1e-8;
constexpr double first_step = 0.25;
constexpr int halvings = 4;
constexpr std::array<double, 3> windows{12.0, 24.0, 48.0};

/// He_3 to He_6.
std::array<double, 4> hermite(double x) {
  const double square = x * x;
  return {x * (square - 3.0), square * (square - 6.0) + 3.0, x * (square * (square - 10.0) + 15.0),
          square * (square * (square - 15.0) + 45.0) - 15.0};
}

/// Sums over the nodes of one row, kept relative to its largest logarithm so far.
struct RowSums {
  double largest = -std::numeric_limits<double>::infinity();
  double total = 0.0;
  std::array<double, 4> moment{};

  void add(double log_weight, double xi) {
    if (log_weight == -std::numeric_limits<double>::infinity() || std::isnan(log_weight)) return;
    if (log_weight > largest) {
      const double shrink = std::exp(largest - log_weight);
      total *= shrink;
      for (double& m : moment) m *= shrink;
      largest = log_weight;
    }
    const double weight = std::exp(log_weight - largest);
    total += weight;
    const auto polynomial = hermite(xi);
    for (std::size_t l = 0; l < moment.size(); ++l) moment[l] += weight * polynomial[l];
  }
};

/// The rows of one piece at equally spaced nodes, all rows at a node together: sites answer in blocks.
class PieceNodes {
 public:
  PieceNodes(const SiteRows& sites, const SiteBlock& block, Index first, Index row, Index count, const Vector& mean,
             const Vector& deviation)
      : sites_(sites),
        block_(block),
        first_(first),
        row_(row),
        count_(count),
        mean_(mean),
        deviation_(deviation),
        eta_(count),
        value_(count) {}

  /// log t of every row at xi, times its weight.
  const Vector& at(double xi) {
    eta_ = mean_.segment(row_, count_) + xi * deviation_.segment(row_, count_);
    block_.log_density(first_, ConstSpan(eta_.data(), static_cast<std::size_t>(count_)), {view(value_), {}, {}, {}});
    sites_.weigh(row_, view(value_));
    return value_;
  }
  [[nodiscard]] const Vector& eta() const { return eta_; }
  [[nodiscard]] Index row() const { return row_; }
  [[nodiscard]] Index count() const { return count_; }

 private:
  const SiteRows& sites_;
  const SiteBlock& block_;
  Index first_, row_, count_;
  const Vector& mean_;
  const Vector& deviation_;
  Vector eta_, value_;
};

/// Trapezoidal sums, the step halved until they settle and the window widened until its ends are empty. `add(xi)`
/// takes a node; `read()` gives what the sums say, rows x numbers, and `end(xi)` the largest share of a node there.
template <class Add, class Read, class End>
Vector settle(Index count, Add&& add, Read&& read, End&& end, double& step) {
  double window = 0.0;
  for (const double wide : windows) {
    for (double xi = window == 0.0 ? 0.0 : window + first_step; xi <= wide; xi += first_step) {
      add(xi);
      if (xi > 0.0) add(-xi);
    }
    window = wide;
    if (end(window) < negligible) break;
  }
  step = first_step;
  Matrix before = read(step);
  Vector change = Vector::Zero(count);
  for (int halving = 0; halving < halvings; ++halving) {
    for (double xi = 0.5 * step; xi < window; xi += step) {
      add(xi);
      add(-xi);
    }
    step *= 0.5;
    Matrix now = read(step);
    change = (now - before).cwiseAbs().rowwise().maxCoeff();
    before = std::move(now);
    if (change.size() == 0 || change.maxCoeff() < negligible) break;
  }
  return change;
}

}  // namespace

HermiteCoefficients tilted_coefficients(const SiteRows& sites, const RowMarginals& rows,
                                        const SiteApproximation& approximation, const Vector& copies) {
  HermiteCoefficients out{Matrix::Zero(sites.rows(), HermiteCoefficients::count), Vector::Zero(sites.rows())};
  Vector unsettled = Vector::Zero(sites.rows());
  const Vector deviation = rows.variance.cwiseMax(0.0).cwiseSqrt();
  sites.for_pieces([&](const SiteBlock& block, Index first, Index row, Index count) {
    PieceNodes nodes(sites, block, first, row, count, rows.mean, deviation);
    std::vector<RowSums> sums(static_cast<std::size_t>(count));
    Vector last(count);
    const auto add = [&](double xi) {
      const Vector& value = nodes.at(xi);
      for (Index i = 0; i < count; ++i) {
        const Index n = row + i;
        const double eta = nodes.eta()(i);
        const double site = eta * (approximation.shift(n) - 0.5 * approximation.precision(n) * eta);
        last(i) = (value(i) - site) / copies(n) - 0.5 * xi * xi;
        sums[static_cast<std::size_t>(i)].add(last(i), xi);
      }
    };
    const auto read = [&](double step) {
      Matrix a(count, HermiteCoefficients::count + 1);
      for (Index i = 0; i < count; ++i) {
        const RowSums& s = sums[static_cast<std::size_t>(i)];
        for (Index l = 0; l < HermiteCoefficients::count; ++l)
          a(i, l) = s.moment[static_cast<std::size_t>(l)] / s.total;
        a(i, HermiteCoefficients::count) = s.largest + std::log(s.total * step / std::sqrt(2.0 * M_PI));
      }
      return a;
    };
    // `last` holds the values at -window, and the other end is one node away.
    const auto end = [&](double window) {
      double share = 0.0;
      const double power = std::pow(window, 6);
      const Vector& high = nodes.at(window);
      for (Index i = 0; i < count; ++i) {
        const Index n = row + i;
        const RowSums& s = sums[static_cast<std::size_t>(i)];
        const double eta = nodes.eta()(i);
        const double site = eta * (approximation.shift(n) - 0.5 * approximation.precision(n) * eta);
        const double up = (high(i) - site) / copies(n) - 0.5 * window * window;
        share = std::max(share, power * std::exp(std::max(last(i), up) - s.largest) / s.total);
      }
      return share;
    };
    double step = first_step;
    unsettled.segment(row, count) = settle(count, add, read, end, step);
    const Matrix a = read(step);
    out.coefficient.middleRows(row, count) = a.leftCols(HermiteCoefficients::count);
    out.log_normaliser.segment(row, count) = a.col(HermiteCoefficients::count);
  });
  for (Index n = 0; n < sites.rows(); ++n) {
    if (deviation(n) == 0.0) out.coefficient.row(n).setZero();
    if (unsettled(n) > negligible) ++out.inaccurate;
  }
  return out;
}

HermiteCoefficients log_site_coefficients(const SiteRows& sites, const Marginals& rows) {
  HermiteCoefficients out{Matrix::Zero(sites.rows(), HermiteCoefficients::count), {}};
  Vector unsettled = Vector::Zero(sites.rows());
  const Vector deviation = rows.variance.cwiseMax(0.0).cwiseSqrt();
  sites.for_pieces([&](const SiteBlock& block, Index first, Index row, Index count) {
    PieceNodes nodes(sites, block, first, row, count, rows.mean, deviation);
    Matrix sums = Matrix::Zero(count, HermiteCoefficients::count);
    const auto add = [&](double xi) {
      const Vector& value = nodes.at(xi);
      const double weight = std::exp(-0.5 * xi * xi) / std::sqrt(2.0 * M_PI);
      const auto polynomial = hermite(xi);
      for (Index l = 0; l < HermiteCoefficients::count; ++l)
        sums.col(l) += weight * polynomial[static_cast<std::size_t>(l)] * value;
    };
    const auto read = [&](double step) { return Matrix(step * sums); };
    const auto end = [&](double window) {
      const double weight = std::exp(-0.5 * window * window) * std::pow(window, 6);
      double largest = 0.0;
      for (const double xi : {-window, window})
        largest = std::max(largest, weight * nodes.at(xi).cwiseAbs().maxCoeff());
      return largest;
    };
    double step = first_step;
    unsettled.segment(row, count) = settle(count, add, read, end, step);
    out.coefficient.middleRows(row, count) = read(step);
  });
  for (Index n = 0; n < sites.rows(); ++n) {
    if (deviation(n) == 0.0) out.coefficient.row(n).setZero();
    if (unsettled(n) > negligible * std::max(1.0, out.coefficient.row(n).cwiseAbs().maxCoeff())) ++out.inaccurate;
  }
  return out;
}

}  // namespace gaussmith
