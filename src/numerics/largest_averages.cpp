#include "numerics/largest_averages.hpp"

#include "base/parallel_blocks.hpp"
#include "numerics/batch.hpp"
#include "numerics/sobol_sequence.hpp"
#include "numerics/special.hpp"

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
constexpr Index point_block = 256;
/// Rows that share the work of making points; more of them would not keep their tables near.
constexpr Index row_block = 16;
/// Of the tables, beside what probabilities lack to 1.
constexpr double table_error = 1e-6;
/// Variances of directions that are left out, relative: they change less than the tables err.
constexpr double left_out = 1e-8;
/// Share of the variance below which noise is not worth an integral, which takes the time of six to nine softmaxes.
constexpr double worthwhile_noise = 0.6;

/// Standard normal points of every shift.
class Points {
 public:
  Points(Index dimension, std::uint64_t seed) {
    Random random(seed);
    for (Index shift = 0; shift < shifts; ++shift) sequences_.emplace_back(dimension, random);
  }

  /// Points from `from` on of one shift, a row each.
  void fill(Index shift, Index from, Vector& point, Eigen::Ref<Matrix> z) const {
    for (Index b = 0; b < z.rows(); ++b) {
      sequences_[static_cast<std::size_t>(shift)].point(static_cast<std::uint32_t>(from + b), view(point));
      for (Index i = 0; i < point.size(); ++i) z(b, i) = normal_quantile(point(i));
    }
  }

 private:
  std::vector<SobolSequence> sequences_;
};

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

/// A row and its sums: C probabilities and the mean of the largest for every shift.
struct Work {
  Index at;
  Vector mean;
  double level;
  Matrix directions;
  std::optional<LargestNoisy> largest;  // None: the softmax itself.
  Matrix sums;

  Work(Index row, const LatentDifferences& differences, ClassLink link)
      : at(row), mean(differences.mean), level(differences.level), sums(Matrix::Zero(mean.size() + 1, shifts)) {
    Vector noise = LargestNoisy::usable(link, independent_noise(differences));
    if (link == ClassLink::logit && noise.sum() < worthwhile_noise * differences.variance.sum()) noise.setZero();
    directions = differences.directions_without(noise, left_out);
    if (link == ClassLink::probit || noise.maxCoeff() > 0.0) largest.emplace(link, noise);
  }

  void add(const Eigen::Ref<const Matrix>& f, SoftmaxSums& softmax, Index shift) {
    if (largest)
      largest->add(f, sums.col(shift));
    else
      softmax.add(f, sums.col(shift));
  }
};

class Averages {
 public:
  Averages(LargestAverage average, Index classes, const ProbabilityGoal& goal, Span value, Span error)
      : average_(average), classes_(classes), goal_(goal), value_(value), error_(error) {}

  void run(const Points& points, std::vector<Work>& rows) {
    SoftmaxSums softmax;
    std::erase_if(rows, [&](Work& row) {
      if (row.directions.cols() > 0) return false;
      for (Index shift = 0; shift < shifts; ++shift) row.add(row.mean.transpose(), softmax, shift);
      return finish(row, 1.0, true);
    });
    Vector point(classes_ - 1);
    Matrix z(point_block, classes_ - 1), moved, f;
    Index done = 0;
    for (Index until = first_points; !rows.empty(); until *= 2) {
      for (Index shift = 0; shift < shifts; ++shift)
        for (Index from = done; from < until; from += point_block) {
          const Index count = std::min(point_block, until - from);
          points.fill(shift, from, point, z.topRows(count));
          for (Work& row : rows) {
            moved.noalias() = z.topLeftCorner(count, row.directions.cols()) * row.directions.transpose();
            for (const double sign : {1.0, -1.0}) {
              f = (sign * moved).rowwise() + row.mean.transpose();
              row.add(f, softmax, shift);
            }
          }
        }
      done = until;
      std::erase_if(rows, [&](const Work& row) {
        return finish(row, 2.0 * static_cast<double>(done),
                      done >= (row.largest ? most_points : most_points_of_softmax));
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
    const double stated = stated_errors * std::sqrt(spread) + (row.largest ? table_error + lacking : 0.0);
    if (stated > goal_.tolerance && !last) return false;
    error_[static_cast<std::size_t>(row.at)] = stated;
    if (probabilities)
      Eigen::Map<Vector>(value_.data() + row.at * classes_, classes_) = mean.head(classes_) / mean.head(classes_).sum();
    else
      value_[static_cast<std::size_t>(row.at)] = mean(classes_) + row.level - std::numbers::egamma;
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
  const Points points(classes - 1, goal.seed);
  parallel_blocks(
      static_cast<Index>(error.size()), row_block, resolve_threads(goal.threads), [&](Index begin, Index end) {
        std::vector<Work> rows;
        for (Index at = begin; at < end; ++at) {
          const auto n = static_cast<std::size_t>(at);
          const LatentDifferences differences(classes, mean.subspan(n * c, c), covariance.subspan(n * c * c, c * c));
          if (!without_points(at, differences)) rows.emplace_back(at, differences, link);
        }
        Averages(average, classes, goal, value, error).run(points, rows);
      });
}

}  // namespace gaussmith
