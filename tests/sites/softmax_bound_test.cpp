// The bound of the softmax against its defining formula, its maximum, integrals and differences.

#include "sites/softmax_bound.hpp"
#include "gaussmith/random.hpp"
#include "sites/helpers.hpp"
#include "sites/softmax.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <vector>

namespace gaussmith::testing {
namespace {

struct Row {
  Index label;
  Vector mean;
  Matrix covariance;
};

struct Bound {
  explicit Bound(Index classes) : probabilities(Vector::Zero(classes)), d_mean(classes), precision(classes, classes) {}
  SoftmaxBound::Result result{};
  Vector probabilities, d_mean;
  Matrix precision;
};

ConstSpan entries(const Matrix& a) { return {a.data(), static_cast<std::size_t>(a.size())}; }

Bound maximise(const Row& row, const Vector& start) {
  Bound bound(row.mean.size());
  bound.probabilities = start;
  SoftmaxBound work(row.mean.size());
  bound.result = work.maximise(row.label, view(row.mean), entries(row.covariance),
                               {view(bound.probabilities),
                                view(bound.d_mean),
                                {bound.precision.data(), static_cast<std::size_t>(bound.precision.size())}});
  return bound;
}
Bound maximise(const Row& row) { return maximise(row, Vector::Zero(row.mean.size())); }
double largest(const Row& row) { return maximise(row).result.value; }

Vector normals(Index size, double scale, Random& random) {
  Vector x(size);
  for (double& entry : x) entry = scale * random.normal();
  return x;
}

Row random_row(Index classes, double mean_scale, double variance, Random& random) {
  Matrix root(classes, classes);
  for (Index c = 0; c < classes; ++c) root.col(c) = normals(classes, 1.0, random);
  const auto label = static_cast<Index>(random.uniform() * static_cast<double>(classes));
  return {label, normals(classes, mean_scale, random),
          variance * root * root.transpose() / static_cast<double>(classes)};
}

/// The bound for any b and positive definite S, term by term.
double bound_at(const Row& row, const Vector& b, const Matrix& s) {
  const Matrix inverse = s.inverse();
  const Index classes = b.size();
  double sum = 0.0;
  for (Index c = 0; c < classes; ++c) {
    const Vector away = b - Vector::Unit(classes, c);
    sum += std::exp(row.mean(c) + 0.5 * away.dot(inverse * away));
  }
  return 0.5 * static_cast<double>(classes) + 0.5 * std::log((s * row.covariance).determinant()) -
         0.5 * (s * row.covariance).trace() + row.mean(row.label) - std::log(sum);
}

TEST(SoftmaxBound, IsTheMaximumOfTheFormula) {
  Random random(11);
  for (const Index classes : {2, 3, 5}) {
    for (const double variance : {0.1, 1.0, 9.0, 100.0}) {
      const Row row = random_row(classes, 1.0, variance, random);
      const Bound bound = maximise(row);
      ASSERT_TRUE(bound.result.converged);
      EXPECT_LE(bound.result.gap, 1e-11);
      const Matrix inverse = row.covariance.inverse();
      const Matrix s = inverse + bound.precision;
      const double scale = 1.0 + std::abs(bound.result.value);
      EXPECT_NEAR(bound_at(row, bound.probabilities, s), bound.result.value, 1e-9 * scale);
      // The formula is concave in (b, S): where every derivative is zero it is largest.
      for (Index i = 0; i < classes; ++i) {
        const auto in_b = [&](double t) {
          return bound_at(row, bound.probabilities + t * Vector::Unit(classes, i), s);
        };
        EXPECT_NEAR(difference(in_b, 0.0, 1e-3), 0.0, 1e-6 * scale) << classes << ' ' << variance;
        for (Index j = 0; j <= i; ++j) {
          Matrix direction = Matrix::Zero(classes, classes);
          direction(i, j) = direction(j, i) = 1.0 / row.covariance.diagonal().maxCoeff();
          const auto in_s = [&](double t) { return bound_at(row, bound.probabilities, s + t * direction); };
          EXPECT_NEAR(difference(in_s, 0.0, 1e-4), 0.0, 1e-6 * scale) << classes << ' ' << variance;
        }
      }
      for (int trial = 0; trial < 50; ++trial) {
        const Vector b = bound.probabilities + normals(classes, 0.1, random);
        const Matrix root = random_row(classes, 1.0, 0.3, random).covariance;
        EXPECT_LE(bound_at(row, b, s + root * inverse * root), bound.result.value);
      }
    }
  }
}

TEST(SoftmaxBound, LiesBelowTheExpectation) {
  Random random(12);
  for (const double variance : {0.01, 0.3, 1.0, 4.0})
    for (int trial = 0; trial < 3; ++trial) {
      const Row row = random_row(3, 1.0, variance, random);
      const Matrix root = row.covariance.llt().matrixL();
      double expected = 0.0;
      constexpr double step = 0.4;
      for (int i = -17; i <= 17; ++i)
        for (int j = -17; j <= 17; ++j)
          for (int k = -17; k <= 17; ++k) {
            const Vector z = step * Vector{{double(i), double(j), double(k)}};
            const Vector f = row.mean + root * z;
            expected += std::exp(-0.5 * z.squaredNorm()) * softmax_log_density(row.label, view(f));
          }
      expected *= std::pow(step / std::sqrt(2.0 * std::numbers::pi), 3);
      const double value = largest(row);
      EXPECT_LT(value, expected);
      // Close to it where the variance is small.
      EXPECT_GT(value, expected - 0.06 * variance);
    }
}

TEST(SoftmaxBound, DerivativesAreThoseOfDifferences) {
  Random random(13);
  for (const Index classes : {2, 3, 6}) {
    for (const double variance : {1e-3, 1.0, 30.0}) {
      const Row row = random_row(classes, 1.5, variance, random);
      const Bound bound = maximise(row);
      for (Index i = 0; i < classes; ++i) {
        const auto in_mean = [&](double t) {
          Row moved = row;
          moved.mean(i) += t;
          return largest(moved);
        };
        EXPECT_NEAR(bound.d_mean(i), difference(in_mean, 0.0, 1e-2), 1e-7);
        for (Index j = 0; j <= i; ++j) {
          const auto in_covariance = [&](double t) {
            Row moved = row;
            moved.covariance(i, j) += t;
            if (i != j) moved.covariance(j, i) += t;
            return largest(moved);
          };
          const double expected = (i == j ? -0.5 : -1.0) * bound.precision(i, j);
          EXPECT_NEAR(expected, difference(in_covariance, 0.0, 1e-3 * row.covariance.diagonal().minCoeff()), 1e-6);
        }
      }
    }
  }
}

TEST(SoftmaxBound, WithoutVarianceIsTheLogDensity) {
  const Row row{1, Vector{{0.4, -0.3, 2.0}}, Matrix::Zero(3, 3)};
  const Bound bound = maximise(row);
  Vector first(3);
  Matrix second(3, 3);
  EXPECT_NEAR(bound.result.value, softmax_log_density(1, view(row.mean), view(first), {second.data(), 9}), 1e-14);
  EXPECT_NEAR((bound.d_mean - first).cwiseAbs().maxCoeff(), 0.0, 1e-12);
  EXPECT_NEAR((bound.precision + second).cwiseAbs().maxCoeff(), 0.0, 1e-12);
}

TEST(SoftmaxBound, ConvergesAtEveryScale) {
  Random random(14);
  for (const Index classes : {2, 3, 10, 50}) {
    for (const double variance : {1e-8, 1e-2, 1.0, 1e2, 1e4, 1e8}) {
      for (const double mean_scale : {0.0, 1.0, 1e3}) {
        const Row row = random_row(classes, mean_scale, variance, random);
        const Bound bound = maximise(row);
        EXPECT_TRUE(bound.result.converged) << classes << ' ' << variance << ' ' << mean_scale;
        EXPECT_LE(bound.result.residual, 1e-13 + 1e-15 * (mean_scale * 4.0 + 10.0 * std::sqrt(variance)));
        EXPECT_LE(bound.result.gap, 1e-10 * (1.0 + std::abs(bound.result.value)));
        EXPECT_TRUE(std::isfinite(bound.result.value));
        EXPECT_LE(bound.result.value, softmax_log_density(row.label, view(row.mean)) + 1e-12);
        EXPECT_NEAR(bound.probabilities.sum(), 1.0, 1e-13);
        EXPECT_NEAR(bound.d_mean.sum(), 0.0, 1e-13);
        ASSERT_TRUE(bound.precision.allFinite());
        const double size = bound.precision.cwiseAbs().maxCoeff();
        EXPECT_LE(bound.precision.rowwise().sum().cwiseAbs().maxCoeff(), 1e-12 * size);
        const Eigen::SelfAdjointEigenSolver<Matrix> eigen(bound.precision);
        EXPECT_GE(eigen.eigenvalues()(0), -1e-13 * size);
      }
    }
  }
}

TEST(SoftmaxBound, TakesSingularAndUnevenCovariances) {
  Random random(15);
  for (const Index classes : {3, 8}) {
    for (const double variance : {1e-8, 1.0, 1e4, 1e8}) {
      const Vector direction = normals(classes, 1.0, random);
      Row row = random_row(classes, 1.0, 1.0, random);
      row.covariance = variance * direction * direction.transpose();
      const Bound flat = maximise(row);
      EXPECT_LE(flat.result.gap, 1e-8 * (1.0 + std::abs(flat.result.value)));
      EXPECT_TRUE(flat.precision.allFinite());
      row.covariance = Vector::LinSpaced(classes, 0.0, 1.0).cwiseAbs2().asDiagonal();
      row.covariance *= variance;
      const Bound uneven = maximise(row);
      EXPECT_LE(uneven.result.gap, 1e-10 * (1.0 + std::abs(uneven.result.value)));
      EXPECT_TRUE(uneven.precision.allFinite());
    }
  }
}

TEST(SoftmaxBound, DoesNotDependOnWhereItStarts) {
  Random random(16);
  for (const double variance : {1.0, 1e3}) {
    const Row row = random_row(6, 2.0, variance, random);
    const Bound cold = maximise(row);
    const Bound again = maximise(row, cold.probabilities);
    EXPECT_EQ(again.result.steps, 0);
    for (const Vector& start : {Vector(Vector::Unit(6, 3)), Vector{{1e-300, 1.0, 1e-8, 3.0, 0.0, 2.0}}}) {
      const Bound warm = maximise(row, start);
      EXPECT_TRUE(warm.result.converged);
      EXPECT_NEAR(warm.result.value, cold.result.value, 1e-12 * (1.0 + std::abs(cold.result.value)));
      EXPECT_NEAR((warm.probabilities - cold.probabilities).cwiseAbs().maxCoeff(), 0.0, 1e-11);
    }
  }
}

TEST(SoftmaxBound, SeesNeitherTheOrderOfClassesNorWhatTheyShare) {
  Random random(17);
  const Row row = random_row(5, 1.0, 4.0, random);
  const Bound bound = maximise(row);
  Eigen::PermutationMatrix<Eigen::Dynamic> order(5);
  order.indices() << 2, 4, 0, 1, 3;  // Class c becomes order(c).
  const Bound other =
      maximise({order.indices()(row.label), order * row.mean, order * row.covariance * order.transpose()});
  EXPECT_NEAR(other.result.value, bound.result.value, 1e-13);
  EXPECT_NEAR((other.d_mean - order * bound.d_mean).cwiseAbs().maxCoeff(), 0.0, 1e-12);
  const Matrix turned = order * bound.precision * order.transpose();
  EXPECT_NEAR((other.precision - turned).cwiseAbs().maxCoeff(), 0.0, 1e-12);

  const Vector shared = normals(5, 100.0, random);
  const Matrix common = shared * Vector::Ones(5).transpose() + Vector::Ones(5) * shared.transpose();
  const Bound same = maximise({row.label, row.mean.array() + 1e3, row.covariance + common});
  EXPECT_NEAR(same.result.value, bound.result.value, 1e-11);
  EXPECT_NEAR((same.precision - bound.precision).cwiseAbs().maxCoeff(), 0.0, 1e-11);
}

}  // namespace
}  // namespace gaussmith::testing
