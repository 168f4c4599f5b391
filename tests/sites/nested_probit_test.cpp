// Nested EP of a row against scalar EP on (f, u) in dense algebra, the binary probit, and published numbers.

#include "sites/nested_probit.hpp"
#include "gaussmith/random.hpp"
#include "numerics/special.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

namespace gaussmith::testing {
namespace {

struct Nested {
  explicit Nested(Index classes)
      : precision(Vector::Zero(classes - 1)), inner_shift(Vector::Zero(classes - 1)), star(classes), shift(classes) {}
  NestedProbit::Result result{};
  Vector precision, inner_shift, star, shift;

  [[nodiscard]] Matrix site() const { return Matrix(star.asDiagonal()) - star * star.transpose() / star.sum(); }
};

void fit(Nested& nested, Index label, const Vector& m, const Matrix& v, const NestedProbit::Stop& stop) {
  NestedProbit work(m.size());
  nested.result = work.fit(label, view(m), {v.data(), static_cast<std::size_t>(v.size())}, stop,
                           {view(nested.precision), view(nested.inner_shift)}, {view(nested.star), view(nested.shift)});
}
Nested fitted(Index label, const Vector& m, const Matrix& v) {
  Nested nested(m.size());
  fit(nested, label, m, v, {.sweeps = 100, .residual = 1e-12});
  return nested;
}

struct DenseEp {
  double log_evidence;
  Vector mean;
  Matrix covariance;
};
/// Parallel EP with damping on x = (f, u), each factor Phi(a_j'x), by inverses.
DenseEp dense_ep(Index label, const Vector& m, const Matrix& v) {
  const Index classes = m.size();
  const Index size = classes - 1;
  Matrix rows = Matrix::Zero(size, classes + 1);
  for (Index j = 0; j < size; ++j) {
    rows(j, label) = rows(j, classes) = 1.0;
    rows(j, j < label ? j : j + 1) = -1.0;
  }
  Matrix prior = Matrix::Identity(classes + 1, classes + 1);
  prior.topLeftCorner(classes, classes) = v;
  Vector prior_mean = Vector::Zero(classes + 1);
  prior_mean.head(classes) = m;
  const Matrix precision = prior.inverse();
  Vector tau = Vector::Zero(size), nu = Vector::Zero(size);
  Matrix covariance;
  Vector mean;
  double log_evidence = 0.0;
  for (int iteration = 0; iteration < 400; ++iteration) {
    const Matrix whole = precision + rows.transpose() * tau.asDiagonal() * rows;
    covariance = whole.inverse();
    const Vector natural = precision * prior_mean + rows.transpose() * nu;
    mean = covariance * natural;
    log_evidence = 0.5 * natural.dot(mean) - 0.5 * prior_mean.dot(precision * prior_mean) -
                   0.5 * std::log((whole * prior).determinant());
    for (Index j = 0; j < size; ++j) {
      const double s2 = rows.row(j) * covariance * rows.row(j).transpose();
      const double s1 = rows.row(j).dot(mean);
      const double c2 = 1.0 / (1.0 / s2 - tau(j));
      const double c1 = c2 * (s1 / s2 - nu(j));
      const double z = c1 / std::sqrt(1.0 + c2);
      const double r = normal_density(z, 0.0, 1.0) / ndtr(z);
      const double t1 = c1 + c2 * r / std::sqrt(1.0 + c2);
      const double t2 = c2 - c2 * c2 * r * (z + r) / (1.0 + c2);
      log_evidence += std::log(ndtr(z)) + 0.5 * std::log(c2 / s2) + 0.5 * (c1 * c1 / c2 - s1 * s1 / s2);
      tau(j) += 0.5 * (1.0 / t2 - 1.0 / c2 - tau(j));
      nu(j) += 0.5 * (t1 / t2 - c1 / c2 - nu(j));
    }
  }
  return {log_evidence, mean.head(classes), covariance.topLeftCorner(classes, classes)};
}

TEST(NestedProbit, IsScalarEpOnLatentsAndTheNoiseOfTheLabel) {
  Random random(31);
  for (const Index classes : {2, 3, 4, 7}) {
    for (const double variance : {0.1, 1.0, 20.0}) {
      Matrix root(classes, classes);
      for (Index i = 0; i < root.size(); ++i) root.data()[i] = std::sqrt(variance) * random.normal();
      const Matrix v = root * root.transpose() + 0.1 * variance * Matrix::Identity(classes, classes);
      Vector m(classes);
      for (double& x : m) x = random.normal();
      const Index label = classes / 2;
      const Nested nested = fitted(label, m, v);
      EXPECT_LE(nested.result.residual, 1e-11);
      const DenseEp expected = dense_ep(label, m, v);
      EXPECT_NEAR(nested.result.log_normaliser, expected.log_evidence, 1e-9);
      const Matrix inverse = v.inverse();
      const Matrix covariance = (inverse + nested.site()).inverse();
      const Vector mean = covariance * (inverse * m + nested.shift);
      EXPECT_NEAR((covariance - expected.covariance).cwiseAbs().maxCoeff(), 0.0, 1e-8 * (1.0 + variance));
      EXPECT_NEAR((mean - expected.mean).cwiseAbs().maxCoeff(), 0.0, 1e-8 * (1.0 + variance));
      // The normaliser is the star's integral under the Gaussian, times the constant.
      const double star = -0.5 * std::log((Matrix::Identity(classes, classes) + v * nested.site()).determinant()) +
                          0.5 * mean.dot(inverse * m + nested.shift) - 0.5 * m.dot(inverse * m);
      EXPECT_NEAR(star + nested.result.constant, nested.result.log_normaliser, 1e-9);
    }
  }
}

TEST(NestedProbit, TwoClassesAreExact) {
  const Vector m{{0.3, -0.8}};
  const Matrix v{{2.0, 0.4}, {0.4, 1.0}};
  const Nested nested = fitted(0, m, v);
  EXPECT_NEAR(nested.result.log_normaliser, log_ndtr(1.1 / std::sqrt(2.0 + 2.0 - 0.8 + 1.0)), 1e-14);
}

TEST(NestedProbit, OneRowOfThreeEqualClasses) {
  for (const double variance : {1e-4, 2.25}) {
    const Nested nested = fitted(2, Vector::Zero(3), variance * Matrix::Identity(3, 3));
    EXPECT_NEAR(nested.result.log_normaliser, -1.1004282546787638, 1e-10);
    if (variance < 1.0) continue;
    const Matrix covariance = (Matrix::Identity(3, 3) / variance + nested.site()).inverse();
    const Vector mean = covariance * nested.shift;
    EXPECT_NEAR(mean(0), -0.5276946434355974, 1e-9);
    EXPECT_NEAR(mean(2), 1.055389286871195, 1e-9);
    EXPECT_NEAR(covariance(0, 0), 1.7622456944845004, 1e-9);
    EXPECT_NEAR(covariance(0, 1), 0.1401237008878597, 1e-9);
    EXPECT_NEAR(covariance(2, 2), 1.5547387907447205, 1e-9);
  }
}

TEST(NestedProbit, SweepsOneByOneReachTheSamePoint) {
  const Vector m{{0.0, 1.0, -0.5, 0.3}};
  const Matrix v = 9.0 * Matrix::Identity(4, 4) + Matrix::Ones(4, 4);
  const Nested whole = fitted(1, m, v);
  Nested steps(4);
  for (int sweep = 0; sweep < 60; ++sweep) {
    fit(steps, 1, m, v, {.sweeps = 1, .residual = 0.0});
    EXPECT_LE(steps.result.sweeps, 1);
  }
  EXPECT_NEAR((steps.star - whole.star).cwiseAbs().maxCoeff(), 0.0, 1e-11);
  EXPECT_NEAR((steps.shift - whole.shift).cwiseAbs().maxCoeff(), 0.0, 1e-11);
  EXPECT_NEAR(steps.result.log_normaliser, whole.result.log_normaliser, 1e-12);
}

TEST(NestedProbit, ConvergesAtEveryScale) {
  Random random(32);
  for (const Index classes : {2, 3, 10, 50}) {
    for (const double variance : {0.0, 1e-8, 1e-2, 1.0, 1e2, 1e4, 1e8}) {
      for (const double mean_scale : {0.0, 1.0, 30.0, 1e3}) {
        Matrix root(classes, classes);
        for (Index i = 0; i < root.size(); ++i) root.data()[i] = random.normal();
        const Matrix v = variance / static_cast<double>(classes) * root * root.transpose();
        Vector m(classes);
        for (double& x : m) x = mean_scale * random.normal();
        const Nested nested = fitted(0, m, v);
        EXPECT_LE(nested.result.residual, 1e-9) << classes << ' ' << variance << ' ' << mean_scale;
        EXPECT_GE(nested.precision.minCoeff(), 0.0);
        EXPECT_TRUE(nested.star.allFinite() && nested.shift.allFinite());
        EXPECT_TRUE(std::isfinite(nested.result.log_normaliser) && std::isfinite(nested.result.constant));
        EXPECT_NEAR(nested.shift.sum(), 0.0, 1e-12 * (1.0 + nested.shift.cwiseAbs().maxCoeff()));
      }
    }
  }
}

}  // namespace
}  // namespace gaussmith::testing
