// The multinomial probit row against high-precision numbers, closed forms of two classes, and identities over classes.

#include "sites/probit_classes.hpp"
#include "gaussmith/random.hpp"
#include "numerics/special.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

namespace gaussmith::testing {
namespace {

struct Density {
  double value;
  Vector first;
  Matrix second;
};
Density density(Index label, const Vector& eta) {
  Density found{0.0, Vector(eta.size()), Matrix(eta.size(), eta.size())};
  ProbitClasses work(eta.size());
  found.value = work.log_density(label, view(eta), view(found.first),
                                 {found.second.data(), static_cast<std::size_t>(found.second.size())});
  return found;
}

TEST(ProbitClasses, ValuesOfHighPrecision) {
  // mpmath with 40 digits.
  const Density usual = density(1, Vector{{0.3, -0.5, 1.2, 0.1}});
  EXPECT_NEAR(usual.value, -2.909414099689723882674, 1e-14);
  EXPECT_NEAR(usual.first(2), -0.886654515496180744600, 1e-13);
  EXPECT_NEAR(usual.second(2, 2), -0.465492106944209606684, 1e-13);
}

TEST(ProbitClasses, FarTailsAreThoseOfPlainSums) {
  const Vector eta{{-20.0, 3.0, 0.0, 5.0}};
  // The log of the integrand peaks at -207.6 near u = 17.
  const auto integrand = [](double u) {
    return std::exp(207.0 + log_ndtr(u - 23.0) + log_ndtr(u - 20.0) + log_ndtr(u - 25.0)) * normal_density(u, 0.0, 1.0);
  };
  const auto sum = [&](auto&& weight) {
    return trapezoid([&](double u) { return weight(u) * integrand(u); }, 5.0, 30.0, 2000);
  };
  const double total = sum([](double) { return 1.0; });
  const auto slope = [](double u) { return mills(u - 23.0); };
  const double mean = sum(slope) / total;
  const double curvature = sum([&](double u) {
                             const double away = slope(u) - mean;
                             return away * away + log_ndtr_derivatives(u - 23.0).second;
                           }) /
                           total;
  const Density tail = density(0, eta);
  EXPECT_NEAR(tail.value, std::log(total) - 207.0, 1e-12);
  EXPECT_NEAR(tail.first(1), -mean, 1e-12);
  EXPECT_NEAR(tail.second(1, 1), curvature, 1e-12);
}

TEST(ProbitClasses, TwoClassesAreTheBinaryProbit) {
  const auto same = [](double a, double b) { EXPECT_NEAR(a, b, 1e-12 * std::abs(b)); };
  for (const double d : {-1e3, -40.0, -3.0, 0.0, 1.5, 12.0, 45.0}) {
    const LogNdtrDerivatives expected = log_ndtr_derivatives(d / std::numbers::sqrt2);
    const Density found = density(1, Vector{{7.0, 7.0 + d}});
    EXPECT_NEAR(found.value, expected.value, 1e-14 * (1.0 + std::abs(expected.value)));
    same(found.first(1), expected.first / std::numbers::sqrt2);
    same(found.first(0), -expected.first / std::numbers::sqrt2);
    same(found.second(1, 1), 0.5 * expected.second);
    same(found.second(0, 1), -0.5 * expected.second);
    // A third class far below is not there.
    const Density beside = density(2, Vector{{7.0, -2e3, 7.0 + d}});
    same(beside.first(2), found.first(1));
    same(beside.second(0, 0), found.second(0, 0));
  }
}

TEST(ProbitClasses, ProbabilitiesSumToOneAndDerivativesAreDifferences) {
  Random random(21);
  for (const Index classes : {3, 5, 12}) {
    Vector eta(classes);
    for (double& f : eta) f = 1.5 * random.normal();
    double sum = 0.0;
    for (Index y = 0; y < classes; ++y) sum += std::exp(density(y, eta).value);
    EXPECT_NEAR(sum, 1.0, 1e-13);
    const Density at = density(1, eta);
    for (Index k = 0; k < classes; ++k) {
      const auto moved = [&](double t) { return density(1, eta + t * Vector::Unit(classes, k)); };
      EXPECT_NEAR(at.first(k), difference([&](double t) { return moved(t).value; }, 0.0, 1e-3), 1e-10);
      for (Index j = 0; j < classes; ++j)
        EXPECT_NEAR(at.second(j, k), difference([&](double t) { return moved(t).first(j); }, 0.0, 1e-3), 1e-10);
    }
    EXPECT_NEAR(at.first.sum(), 0.0, 1e-14);
    EXPECT_NEAR(at.second.rowwise().sum().cwiseAbs().maxCoeff(), 0.0, 1e-14);
  }
}

TEST(ProbitClasses, TiltedMomentsOfAllLabelsMakeUpTheGaussian) {
  Random random(22);
  for (const Index classes : {2, 3, 4}) {
    for (const double variance : {1e-8, 0.3, 4.0, 100.0}) {
      Matrix root(classes, classes);
      for (Index i = 0; i < root.size(); ++i) root.data()[i] = std::sqrt(variance) * random.normal();
      const Matrix v = root * root.transpose();
      Vector m(classes);
      for (double& x : m) x = random.normal();
      ProbitClasses work(classes);
      double total = 0.0;
      Vector mean = Vector::Zero(classes);
      Matrix square = Matrix::Zero(classes, classes);
      for (Index y = 0; y < classes; ++y) {
        Vector tilted_mean(classes);
        Matrix tilted(classes, classes);
        const auto found = work.tilted(y, view(m), {v.data(), static_cast<std::size_t>(v.size())}, view(tilted_mean),
                                       {tilted.data(), static_cast<std::size_t>(v.size())});
        ASSERT_TRUE(found.accurate);
        const double z = std::exp(found.log_normaliser);
        total += z;
        mean += z * tilted_mean;
        square += z * (tilted + tilted_mean * tilted_mean.transpose());
        if (variance == 1e-8) {
          EXPECT_NEAR(found.log_normaliser, work.log_density(y, view(m)), 1e-6);
        }
      }
      EXPECT_NEAR(total, 1.0, 1e-12);
      EXPECT_NEAR((mean - m).cwiseAbs().maxCoeff(), 0.0, 1e-11 * (1.0 + std::sqrt(variance)));
      EXPECT_NEAR((square - v - m * m.transpose()).cwiseAbs().maxCoeff(), 0.0, 1e-10 * (1.0 + variance));
    }
  }
}

TEST(ProbitClasses, TiltedMomentsOfEqualClassesAreSymmetric) {
  const Vector m = Vector::Zero(4);
  const Matrix v = 1e6 * Matrix::Identity(4, 4);
  Vector mean(4);
  Matrix covariance(4, 4);
  ProbitClasses work(4);
  const auto found = work.tilted(2, view(m), {v.data(), 16}, view(mean), {covariance.data(), 16});
  EXPECT_NEAR(found.log_normaliser, -std::log(4.0), 1e-12);
  EXPECT_NEAR(mean(0), mean(3), 1e-9);
  // The mean of the largest of four standard normals is 1.0293753730039641.
  EXPECT_NEAR(mean(2), 1.0293753730039641 * 1e6 / std::sqrt(1e6 + 1.0), 1e-8);
  Matrix uneven = v;
  uneven(0, 0) = uneven(1, 1) = 1e20;
  EXPECT_FALSE(work.tilted(2, view(m), {uneven.data(), 16}, view(mean), {covariance.data(), 16}).accurate);
}

}  // namespace
}  // namespace gaussmith::testing
