#include "numerics/largest_averages.hpp"

#include "base/parallel_blocks.hpp"
#include "numerics/batch.hpp"
#include "numerics/normal_points.hpp"
#include "numerics/orthant_chance.hpp"
#include "numerics/softmax_pairs.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace gaussmith {

namespace {

/// Random shifts whose spread is the error, and how many of their standard errors are stated: for the largest of C
/// errors at 95 %.
constexpr Index shifts = 8;
constexpr double stated_errors = 3.5;
/// Points of each shift at first and at most, and at a time.
constexpr Index first_points = 256;
constexpr Index most_points = Index{1} << 15;
constexpr Index most_points_of_softmax = 2 * most_points;
constexpr Index most_pairs = 8 * most_points;
constexpr Index point_block = 256;
/// Rows that share the work of making points; more of them would not keep their tables near.
constexpr Index row_block = 16;
/// Of the tables, beside what probabilities lack to 1.
constexpr double table_error = 1e-6;
/// Variances of directions that are left out, relative: they change less than the tables err.
constexpr double left_out = 1e-8;
/// Share of the variance below which noise is not worth an integral, which takes the time of six to nine softmaxes. In
/// single precision it is that of a hundred, and worth it only where next to nothing is left to average.
constexpr double worthwhile_noise = 0.6, all_noise = 0.999;

/// Tolerances that single precision serves, and what it adds to an error.
constexpr double least_single_tolerance = 2e-5;
constexpr double single_error = 2e-6;

/// Adds softmax and log sum exp of rows of f: the largest with Gumbel noise and nothing else, less Euler's constant.
class SoftmaxSums {
 public:
  void add(const Eigen::Ref<const Matrix>& f, Eigen::Ref<Vector> sum) {
    top_ = f.rowwise().maxCoeff();
    terms_ = f.colwise() - top_;
    const std::span<double> terms(terms_.data(), static_cast<std::size_t>(terms_.size()));
    batch::exp(terms, terms);
    total_ = terms_.rowwise().sum();
    inverse_ = total_.cwiseInverse();
    sum.head(f.cols()).noalias() += terms_.transpose() * inverse_;
    batch::log(view(total_), view(total_));
    sum(f.cols()) += top_.sum() + total_.sum() + std::numbers::egamma * static_cast<double>(f.rows());
  }

 private:
  Matrix terms_;
  Vector top_, total_, inverse_;
};

/// Points of a block, as they are and in groups for single precision.
struct Block {
  Matrix z;
  std::vector<float> normal, uniform;

  explicit Block(Index dimension)
      : z(point_block, dimension), normal(static_cast<std::size_t>(point_block * dimension)), uniform(normal.size()) {}

  /// The next block of points: in double where some row asks for it, in single precision as rows ask.
  void fill(const NormalPoints& points, Index shift, Index from, bool plain, bool pairs, bool chances) {
    points.fill_uniform(shift, from, z);
    if (chances || pairs) {
      for (Index i = 0; i < z.rows(); ++i)
        for (Index k = 0; k < z.cols(); ++k)
          uniform[static_cast<std::size_t>(((i / single_lanes) * z.cols() + k) * single_lanes + i % single_lanes)] =
              static_cast<float>(z(i, k));
    }
    if (pairs) normal_quantiles(uniform, normal);
    if (plain)
      for (double& x : z.reshaped()) x = normal_quantile(x);
  }
};

/// A row and its sums: C probabilities and the mean of the largest for every shift. One of four ways: what is
/// independent integrated exactly; the softmax itself, in double or in single precision; every class by itself.
struct Work {
  Index at;
  Vector mean;
  double level;
  Matrix directions;
  std::optional<LargestNoisy> largest;
  std::optional<SoftmaxPairs> pairs;
  std::vector<OrthantChance> chances;
  std::vector<Index> active;  // Classes whose chances need more points.
  Vector count;               // Points of every class.
  Matrix sums;

  Work(Index row, const LatentDifferences& differences, ClassLink link, bool single)
      : at(row),
        mean(differences.mean),
        level(differences.level),
        count(Vector::Zero(mean.size())),
        sums(Matrix::Zero(mean.size() + 1, shifts)) {
    Vector noise = LargestNoisy::usable(link, independent_noise(differences));
    // Centring takes a C-th part of independent noise away.
    const double centred = noise.sum() * (1.0 - 1.0 / static_cast<double>(mean.size()));
    const bool worthwhile = single ? centred >= all_noise * differences.variance.sum()
                                   : noise.sum() >= worthwhile_noise * differences.variance.sum();
    if (link == ClassLink::probit && !worthwhile && single) {
      Matrix covariance = differences.axes * differences.variance.asDiagonal() * differences.axes.transpose();
      covariance.diagonal().array() += 1.0;
      for (Index c = 0; c < mean.size(); ++c) {
        chances.emplace_back(c, mean, covariance);
        active.push_back(c);
      }
      return;
    }
    if (link == ClassLink::logit && !worthwhile) noise.setZero();
    directions = differences.directions_without(noise, left_out);
    if (link == ClassLink::probit || noise.maxCoeff() > 0.0)
      largest.emplace(link, noise);
    else if (single && directions.cols() > 0)
      pairs.emplace(mean, directions);
  }

  void add(const Eigen::Ref<const Matrix>& f, SoftmaxSums& softmax, Index shift) {
    if (largest)
      largest->add(f, sums.col(shift));
    else
      softmax.add(f, sums.col(shift));
  }

  void add(const Block& block, Matrix& moved, Matrix& f, SoftmaxSums& softmax, Index shift) {
    const Index groups = block.z.rows() / single_lanes;
    if (pairs) return pairs->add(block.normal, groups, block.z.cols(), sums.col(shift).head(mean.size()));
    for (const Index c : active)
      sums(c, shift) += chances[static_cast<std::size_t>(c)].add(block.uniform, groups, block.z.cols());
    if (!chances.empty()) return;
    moved.noalias() = block.z.leftCols(directions.cols()) * directions.transpose();
    for (const double sign : {1.0, -1.0}) {
      f = (sign * moved).rowwise() + mean.transpose();
      add(f, softmax, shift);
    }
  }

  [[nodiscard]] bool fixed() const { return chances.empty() && directions.cols() == 0; }
};

class Averages {
 public:
  Averages(LargestAverage average, Index classes, const ProbabilityGoal& goal, Span value, Span error)
      : average_(average), classes_(classes), goal_(goal), value_(value), error_(error) {}

  void run(const NormalPoints& points, std::vector<Work>& rows) {
    SoftmaxSums softmax;
    std::erase_if(rows, [&](Work& row) {
      if (!row.fixed()) return false;
      for (Index shift = 0; shift < shifts; ++shift) row.add(row.mean.transpose(), softmax, shift);
      return finish(row, 1.0, true);
    });
    Block block(classes_ - 1);
    Matrix moved, f;
    Index done = 0;
    for (Index until = first_points; !rows.empty(); until *= 2) {
      const bool pairs = std::any_of(rows.begin(), rows.end(), [](const Work& row) { return row.pairs.has_value(); });
      const bool chances = std::any_of(rows.begin(), rows.end(), [](const Work& row) { return !row.chances.empty(); });
      const bool plain =
          std::any_of(rows.begin(), rows.end(), [](const Work& row) { return !row.pairs && row.chances.empty(); });
      for (Index shift = 0; shift < shifts; ++shift)
        for (Index from = done; from < until; from += point_block) {
          block.fill(points, shift, from, plain, pairs, chances);
          for (Work& row : rows) row.add(block, moved, f, softmax, shift);
        }
      done = until;
      std::erase_if(rows, [&](Work& row) {
        const Index most =
            row.pairs ? most_pairs : (row.largest || !row.chances.empty() ? most_points : most_points_of_softmax);
        const bool last = done >= most;
        return row.chances.empty() ? finish(row, 2.0 * static_cast<double>(done), last)
                                   : finish_chances(row, done, last);
      });
    }
  }

 private:
  /// Writes the row if its error is small enough or has to do.
  bool finish(const Work& row, double points, bool last) {
    const Matrix each = row.sums / points;
    const Vector mean = each.rowwise().mean();
    const Vector variance = (each.colwise() - mean).rowwise().squaredNorm() / (shifts * (shifts - 1.0));
    const bool probabilities = average_ == LargestAverage::probabilities;
    const double spread = probabilities ? variance.head(classes_).maxCoeff() : variance(classes_);
    const double lacking = std::abs(1.0 - mean.head(classes_).sum());
    // What the table lacks moves the mean of the largest by as much of its spread.
    const double of_table = row.largest ? (table_error + lacking) * (probabilities ? 1.0 : row.largest->spread()) : 0.0;
    const double of_points = stated_errors * std::sqrt(spread);
    const double stated = of_points + of_table + (row.pairs ? single_error : 0.0);
    // Points do not make the table better.
    if (stated > goal_.tolerance && of_points > 0.5 * of_table && !last) return false;
    error_[static_cast<std::size_t>(row.at)] = stated;
    if (probabilities)
      Eigen::Map<Vector>(value_.data() + row.at * classes_, classes_) = mean.head(classes_) / mean.head(classes_).sum();
    else
      value_[static_cast<std::size_t>(row.at)] = mean(classes_) + row.level - std::numbers::egamma;
    return true;
  }

  /// The same where every class has its own points: those with a small enough error get no more.
  bool finish_chances(Work& row, Index done, bool last) {
    for (const Index c : row.active) row.count(c) = static_cast<double>(done);
    const Matrix each = row.count.cwiseInverse().asDiagonal() * row.sums.topRows(classes_);
    Vector mean = each.rowwise().mean();
    const Vector variance = (each.colwise() - mean).rowwise().squaredNorm() / (shifts * (shifts - 1.0));
    const auto stated = [&](Index c) { return stated_errors * std::sqrt(variance(c)) + single_error; };
    std::erase_if(row.active, [&](Index c) { return stated(c) <= goal_.tolerance; });
    if (!row.active.empty() && !last) return false;
    error_[static_cast<std::size_t>(row.at)] = stated_errors * std::sqrt(variance.maxCoeff()) + single_error;
    // That they add up to one is news, most of all about the least certain.
    if (variance.sum() > 0.0) mean += (1.0 - mean.sum()) / variance.sum() * variance;
    mean = mean.cwiseMax(0.0);
    Eigen::Map<Vector>(value_.data() + row.at * classes_, classes_) = mean / mean.sum();
    return true;
  }

  LargestAverage average_;
  Index classes_;
  const ProbabilityGoal& goal_;
  Span value_, error_;
};

}  // namespace

void average_largest(LargestAverage average, ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                     const ProbabilityGoal& goal, const WithoutPoints& without_points, Span value, Span error) {
  const auto c = static_cast<std::size_t>(classes);
  assert(classes >= 2 && mean.size() == error.size() * c && covariance.size() == mean.size() * c);
  const NormalPoints points(classes - 1, shifts, goal.seed);
  const bool single = average == LargestAverage::probabilities && goal.tolerance >= least_single_tolerance;
  parallel_blocks(
      static_cast<Index>(error.size()), row_block, resolve_threads(goal.threads), [&](Index begin, Index end) {
        std::vector<Work> rows;
        for (Index at = begin; at < end; ++at) {
          const auto n = static_cast<std::size_t>(at);
          const LatentDifferences differences(classes, mean.subspan(n * c, c), covariance.subspan(n * c * c, c * c));
          if (!without_points(at, differences)) rows.emplace_back(at, differences, link, single);
        }
        Averages(average, classes, goal, value, error).run(points, rows);
      });
}

}  // namespace gaussmith
