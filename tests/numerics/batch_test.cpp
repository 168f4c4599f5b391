#include "numerics/batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gaussmith {
namespace {

using Batch = void (*)(std::span<const double>, std::span<double>);

// Distance from the long double value in units of the last place of a double of that size.
double ulps(double actual, long double expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - expected) / std::ldexp(1.0L, exponent - 53));
}

// A fixed low-discrepancy walk through [low, high].
std::vector<double> points(double low, double high, int count) {
  std::vector<double> x;
  for (int i = 0; i < count; ++i) x.push_back(low + (high - low) * std::fmod(0.5 + 0.6180339887498949 * i, 1.0));
  return x;
}

double worst(Batch batch, long double (*reference)(long double), const std::vector<double>& x) {
  std::vector<double> y(x.size());
  batch(x, y);
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], reference(x[i]));
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

std::vector<double> exponentials(std::vector<double> x) {
  for (double& value : x) value = std::exp(value);
  return x;
}

constexpr int count = 60001;

TEST(Batch, ExpWithinTwoUlps) {
  const auto reference = [](long double x) { return std::exp(x); };
  EXPECT_LE(worst(batch::exp, reference, points(-708.39, 709.78, count)), 2.0);
  EXPECT_LE(worst(batch::exp, reference, points(-1.0, 1.0, count)), 2.0);
}

TEST(Batch, LogWithinTwoUlps) {
  const auto reference = [](long double x) { return std::log(x); };
  EXPECT_LE(worst(batch::log, reference, exponentials(points(-700.0, 700.0, count))), 2.0);
  EXPECT_LE(worst(batch::log, reference, points(0.5, 2.0, count)), 2.0);
  EXPECT_LE(worst(batch::log, reference, points(1e-320, 1e-308, 101)), 2.0);
}

TEST(Batch, Log1pWithinThreeUlps) {
  const auto reference = [](long double x) { return std::log1p(x); };
  EXPECT_LE(worst(batch::log1p, reference, points(-0.9999, 3.0, count)), 3.0);
  EXPECT_LE(worst(batch::log1p, reference, exponentials(points(-600.0, 600.0, count))), 3.0);
}

TEST(Batch, SoftplusAndSigmoidWithinFourUlps) {
  const auto soft = [](long double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
  const auto sigmoid = [](long double x) { return 1.0L / (1.0L + std::exp(-x)); };
  for (double range : {3.0, 40.0, 708.0}) {
    EXPECT_LE(worst(batch::softplus, soft, points(-range, range, count)), 4.0);
    EXPECT_LE(worst(batch::sigmoid, sigmoid, points(-range, range, count)), 4.0);
  }
}

TEST(Batch, NdtrInBothTails) {
  for (const double x : points(-37.0, 9.0, 2000)) {
    double y = 0.0;
    batch::ndtr({&x, 1}, {&y, 1});
    const double exact = static_cast<double>(0.5L * std::erfc(-static_cast<long double>(x) / std::sqrt(2.0L)));
    EXPECT_NEAR(y, exact, x < 0.0 ? 4e-13 * exact : 4e-16) << x;
  }
}

TEST(Batch, SpecialArguments) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto at = [](Batch batch, double x) {
    double y = 0.0;
    batch({&x, 1}, {&y, 1});
    return y;
  };
  EXPECT_EQ(at(batch::exp, -inf), 0.0);
  EXPECT_EQ(at(batch::exp, -1e4), 0.0);
  EXPECT_EQ(at(batch::exp, inf), inf);
  EXPECT_EQ(at(batch::exp, 710.0), inf);
  EXPECT_EQ(at(batch::exp, 0.0), 1.0);
  EXPECT_TRUE(std::isnan(at(batch::exp, nan)));
  EXPECT_EQ(at(batch::log, 0.0), -inf);
  EXPECT_EQ(at(batch::log, 1.0), 0.0);
  EXPECT_EQ(at(batch::log, inf), inf);
  EXPECT_TRUE(std::isnan(at(batch::log, -1.0)));
  EXPECT_EQ(at(batch::log1p, -1.0), -inf);
  EXPECT_EQ(at(batch::log1p, 0.0), 0.0);
  EXPECT_EQ(at(batch::log1p, 1e-300), 1e-300);
  EXPECT_EQ(at(batch::log1p, inf), inf);
  EXPECT_TRUE(std::isnan(at(batch::log1p, -1.5)));
  EXPECT_EQ(at(batch::softplus, -1e300), 0.0);
  EXPECT_EQ(at(batch::softplus, 1e300), 1e300);
  EXPECT_EQ(at(batch::sigmoid, 1e300), 1.0);
}

TEST(Batch, InPlaceAndAnyLengthGiveTheSameBits) {
  const std::vector<double> x = points(-30.0, 30.0, 131);
  std::vector<double> all(x.size());
  for (Batch batch : {Batch{batch::exp}, Batch{batch::softplus}, Batch{batch::sigmoid}}) {
    batch(x, all);
    std::vector<double> in_place = x;
    batch(in_place, in_place);
    EXPECT_EQ(in_place, all);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double one = 0.0;
      batch({&x[i], 1}, {&one, 1});
      EXPECT_EQ(one, all[i]);
    }
  }
  batch::exp({}, {});
}

}  // namespace
}  // namespace gaussmith
