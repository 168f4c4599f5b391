#include "numerics/class_probabilities.hpp"

#include "base/parallel_blocks.hpp"
#include "numerics/batch.hpp"
#include "numerics/ndtr_product.hpp"
#include "numerics/sobol_sequence.hpp"
#include "numerics/special.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index most_classes_by_quadrature = 3;
constexpr double quadrature_error = 1e-10;
constexpr double most_nodes = 2e6;

/// Random shifts whose spread is the error, and how many of their standard errors are stated: for the largest of C
/// errors at 95 %.
constexpr Index shifts = 8;
constexpr double stated_errors = 3.5;
/// Points of each shift at first and at most, and at a time.
constexpr Index first_points = 128;
constexpr Index most_points = Index{1} << 15;
constexpr Index point_block = 64;
constexpr Index row_block = 32;
/// Of the nodes of the probit.
constexpr double node_error = 1e-6;

/// Differences of latents as mean + directions z, z standard normal: V is centred, so that directions add up to zero.
struct Differences {
  Vector mean;        // Centred.
  Matrix directions;  // C x q, orthogonal columns, largest first.
  Vector variance;    // All C - 1 variances of differences, largest first.
  Matrix axes;        // Their unit vectors.
};

Differences differences_of(Index classes, ConstSpan mean, ConstSpan covariance) {
  Differences d;
  d.mean = Eigen::Map<const Vector>(mean.data(), classes);
  d.mean.array() -= d.mean.mean();
  Matrix v = Eigen::Map<const Matrix>(covariance.data(), classes, classes);
  v.rowwise() -= v.colwise().mean().eval();
  v.colwise() -= v.rowwise().mean().eval();
  // The direction that all classes share goes to the end, whatever rounding left in it.
  const double below = 1.0 + 2.0 * v.trace();
  v.array() -= below / static_cast<double>(classes);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(v);
  d.variance = eigen.eigenvalues().tail(classes - 1).reverse().cwiseMax(0.0);
  d.axes = eigen.eigenvectors().rightCols(classes - 1).rowwise().reverse();
  return d;
}

/// Directions with more than this share of the largest variance are kept.
void keep_directions(Differences& d, double taken_off) {
  const Vector left = (d.variance.array() - taken_off).max(0.0);
  const double least = 1e-14 * (1.0 + left.maxCoeff());
  Index count = 0;
  while (count < left.size() && left(count) > least) ++count;
  d.directions = d.axes.leftCols(count) * left.head(count).cwiseSqrt().asDiagonal();
}

// ---- Quadrature.

/// The trapezoidal step along one direction for E[softmax]: no sum of exponentials vanishes while the phases of its
/// terms differ by less than pi, so that the integrand is analytic for imaginary parts up to `strip`, and the rule errs
/// by exp(strip^2/2 - 2 pi strip/step) = exp(-28).
double softmax_step(const Eigen::Ref<const Vector>& direction) {
  const double range = direction.maxCoeff() - direction.minCoeff();
  const double strip = std::min(std::numbers::pi / range, std::sqrt(56.0));
  return 2.0 * std::numbers::pi * strip / (28.0 + 0.5 * strip * strip);
}

bool softmax_by_quadrature(const Differences& d, Span probability) {
  constexpr double reach = 7.5;
  const Index axes = d.directions.cols();
  std::array<double, 2> step{1.0, 1.0};
  std::array<Index, 2> half{0, 0};
  double nodes = 1.0;
  for (Index i = 0; i < axes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    step[at] = softmax_step(d.directions.col(i));
    nodes *= 2.0 * reach / step[at];
    if (nodes > most_nodes) return false;
    half[at] = static_cast<Index>(std::ceil(reach / step[at]));
  }
  Vector sum = Vector::Zero(d.mean.size());
  Vector f(d.mean.size());
  double total = 0.0;
  for (Index i = -half[0]; i <= half[0]; ++i)
    for (Index k = -half[1]; k <= half[1]; ++k) {
      const double x = static_cast<double>(i) * step[0];
      const double y = static_cast<double>(k) * step[1];
      f = d.mean;
      if (axes > 0) f += x * d.directions.col(0);
      if (axes > 1) f += y * d.directions.col(1);
      f = (f.array() - f.maxCoeff()).exp();
      const double weight = std::exp(-0.5 * (x * x + y * y));
      sum += (weight / f.sum()) * f;
      total += weight;
    }
  Eigen::Map<Vector>(probability.data(), sum.size()) = sum / total;
  return true;
}

/// P(x > 0) for x_j = f_y + e_y - f_j - e_j: the smallest variance of x makes a product of Phi, the other is a
/// variable.
bool probit_by_quadrature(const Differences& d, ConstSpan covariance, Span probability) {
  const Index classes = d.mean.size();
  const Index size = classes - 1;
  const Eigen::Map<const Matrix> v(covariance.data(), classes, classes);
  NdtrProduct product(size);
  for (Index y = 0; y < classes; ++y) {
    Vector offset(size);
    Matrix omega(size, size);
    const auto other = [&](Index j) { return j < y ? j : j + 1; };
    for (Index j = 0; j < size; ++j) {
      offset(j) = d.mean(y) - d.mean(other(j));
      for (Index k = 0; k < size; ++k)
        omega(j, k) = (v(y, y) - v(y, other(k))) - (v(other(j), y) - v(other(j), other(k))) + (j == k ? 2.0 : 1.0);
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(omega);
    const double kappa = std::max(1.0, eigen.eigenvalues()(0));
    Matrix loadings(size, size - 1);
    for (Index i = 1; i < size; ++i)
      loadings.col(i - 1) =
          std::sqrt(std::max(0.0, eigen.eigenvalues()(i) - kappa) / kappa) * eigen.eigenvectors().col(i);
    if (NdtrProduct::node_count(loadings) > most_nodes) return false;
    probability[static_cast<std::size_t>(y)] =
        std::exp(product.log_integral(offset / std::sqrt(kappa), loadings, {}, {}));
  }
  return true;
}

// ---- Randomised points.

/// Standard normal points of every shift.
class Points {
 public:
  Points(Index dimension, std::uint64_t seed) {
    Random random(seed);
    for (Index shift = 0; shift < shifts; ++shift) sequences_.emplace_back(dimension, random);
  }

  /// Points [from, from + point_block) of one shift, a row each.
  void fill(Index shift, Index from, Vector& point, Matrix& z) const {
    for (Index b = 0; b < point_block; ++b) {
      sequences_[static_cast<std::size_t>(shift)].point(static_cast<std::uint32_t>(from + b), view(point));
      for (Index i = 0; i < point.size(); ++i) z(b, i) = normal_quantile(point(i));
    }
  }

 private:
  std::vector<SobolSequence> sequences_;
};

std::size_t entries(const Matrix& a) { return static_cast<std::size_t>(a.size()); }

/// Adds the probabilities of many rows of latents, all of them side by side.
class LatentSums {
 public:
  LatentSums(ClassLink link, Index classes)
      : link_(link),
        terms_(point_block, classes),
        density_(point_block, classes),
        top_(point_block),
        product_(point_block) {}

  void add(const Matrix& f, double scale, Eigen::Ref<Vector> sum) {
    top_ = f.rowwise().maxCoeff();
    if (link_ == ClassLink::logit)
      add_softmax(f, sum);
    else
      add_largest(f, scale, sum);
  }

 private:
  /// Nodes of the largest of normal variables with variance 1, from `low` below the largest mean.
  static constexpr int nodes = 21;
  static constexpr double low = -5.0, step = 0.5;

  void add_softmax(const Matrix& f, Eigen::Ref<Vector> sum) {
    terms_ = f.colwise() - top_;
    batch::exp({terms_.data(), entries(terms_)}, {terms_.data(), entries(terms_)});
    product_ = terms_.rowwise().sum().cwiseInverse();
    sum.noalias() += terms_.transpose() * product_;
  }

  /// The density of the largest at x times the chance that it is c: phi(x - f_c) prod_{k != c} Phi(x - f_k).
  void add_largest(const Matrix& f, double scale, Eigen::Ref<Vector> sum) {
    for (int i = 0; i < nodes; ++i) {
      terms_ = scale * (f.colwise() - top_);
      terms_ = (low + static_cast<double>(i) * step) - terms_.array();
      density_ = -0.5 * terms_.array().square();
      batch::exp({density_.data(), entries(density_)}, {density_.data(), entries(density_)});
      batch::ndtr({terms_.data(), entries(terms_)}, {terms_.data(), entries(terms_)});
      product_ = terms_.rowwise().prod() * (step / std::sqrt(2.0 * std::numbers::pi));
      density_.array() /= terms_.array();
      sum.noalias() += density_.transpose() * product_;
    }
  }

  ClassLink link_;
  Matrix terms_, density_;
  Vector top_, product_;
};

struct Row {
  Index at = 0;
  Differences differences;
  double scale = 1.0;  // Of latents in units of what is integrated exactly.
  Matrix sums;         // C x shifts.
};

/// Rows that share their points.
void rows_by_points(ClassLink link, Index classes, const Points& points, std::vector<Row>& rows,
                    const ProbabilityGoal& options, Span probability, Span error) {
  LatentSums latent_sums(link, classes);
  Vector point(classes - 1);
  Matrix z(point_block, classes - 1);
  Matrix moved(point_block, classes), f(point_block, classes);
  Index done = 0;
  for (Index goal = first_points; !rows.empty(); goal *= 2) {
    for (Index shift = 0; shift < shifts; ++shift)
      for (Index from = done; from < goal; from += point_block) {
        points.fill(shift, from, point, z);
        for (Row& row : rows) {
          const Matrix& directions = row.differences.directions;
          moved.noalias() = z.leftCols(directions.cols()) * directions.transpose();
          for (const double sign : {1.0, -1.0}) {
            f = (sign * moved).rowwise() + row.differences.mean.transpose();
            latent_sums.add(f, row.scale, row.sums.col(shift));
          }
        }
      }
    done = goal;
    std::erase_if(rows, [&](const Row& row) {
      const Matrix each = row.sums / (2.0 * static_cast<double>(done));
      const Vector mean = each.rowwise().mean();
      const Vector variance = (each.colwise() - mean).rowwise().squaredNorm() / (shifts * (shifts - 1.0));
      const double stated = stated_errors * std::sqrt(variance.maxCoeff()) + node_error;
      if (stated > options.tolerance && done < most_points) return false;
      Eigen::Map<Vector>(probability.data() + row.at * classes, classes) = mean;
      error[static_cast<std::size_t>(row.at)] = stated;
      return true;
    });
  }
}

}  // namespace

void class_probabilities(ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                         const ProbabilityGoal& options, Span probability, Span error) {
  const auto count = static_cast<Index>(error.size());
  const auto c = static_cast<std::size_t>(classes);
  assert(classes >= 2 && mean.size() == error.size() * c && covariance.size() == mean.size() * c &&
         probability.size() == mean.size());
  const bool exactly = options.rule != ProbabilityRule::qmc && classes <= most_classes_by_quadrature;
  const Points points(classes - 1, options.seed);
  parallel_blocks(count, row_block, resolve_threads(options.threads), [&](Index begin, Index end) {
    std::vector<Row> rows;
    for (Index at = begin; at < end; ++at) {
      const auto n = static_cast<std::size_t>(at);
      const ConstSpan v = covariance.subspan(n * c * c, c * c);
      Row row;
      row.at = at;
      row.differences = differences_of(classes, mean.subspan(n * c, c), v);
      const Span out = probability.subspan(n * c, c);
      keep_directions(row.differences, 0.0);
      if (exactly && (link == ClassLink::logit ? softmax_by_quadrature(row.differences, out)
                                               : probit_by_quadrature(row.differences, v, out))) {
        error[n] = quadrature_error;
        continue;
      }
      if (link == ClassLink::probit) {
        // The smallest variance of a difference may stand for noise of each latent.
        const double least = row.differences.variance(classes - 2);
        keep_directions(row.differences, least);
        row.scale = 1.0 / std::sqrt(1.0 + least);
      }
      row.sums = Matrix::Zero(classes, shifts);
      rows.push_back(std::move(row));
    }
    rows_by_points(link, classes, points, rows, options, probability, error);
  });
}

}  // namespace gaussmith
