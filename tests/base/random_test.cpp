// The generator: fixed bits, and draws with the distributions they promise.

#include "gaussmith/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gaussmith {
namespace {

TEST(Random, SeedsFixTheBits) {
  Random a(5), b(5), c(6);
  bool differs = false;
  for (int k = 0; k < 100; ++k) {
    const auto x = a.bits();
    EXPECT_EQ(x, b.bits());
    differs = differs || x != c.bits();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, UniformIsInsideTheOpenInterval) {
  Random random(1);
  double low = 1, high = 0, sum = 0;
  const int draws = 200000;
  for (int k = 0; k < draws; ++k) {
    const double u = random.uniform();
    low = std::min(low, u);
    high = std::max(high, u);
    sum += u;
  }
  EXPECT_GT(low, 0.0);
  EXPECT_LT(high, 1.0);
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
}

TEST(Random, NormalInvertsItsUniform) {
  // The same uniform draw must come back through Phi.
  Random draw(9), uniform(9);
  for (int k = 0; k < 20000; ++k) {
    const double x = draw.normal(), u = uniform.uniform();
    const double lower = 0.5 * std::erfc(-x / std::sqrt(2.0)), upper = 0.5 * std::erfc(x / std::sqrt(2.0));
    if (u < 0.5) {
      EXPECT_NEAR(lower, u, 1e-13 * u);
    } else {
      EXPECT_NEAR(upper, 1 - u, 1e-13 * (1 - u));
    }
  }
}

// Mean and variance of draws within five standard errors; kurtosis bounds the error of the variance.
template <class Draw>
void expect_moments(Draw&& draw, double mean, double variance, double kurtosis, const char* what) {
  const int draws = 60000;
  double sum = 0, squares = 0;
  for (int k = 0; k < draws; ++k) {
    const double x = draw() - mean;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0, 5 * std::sqrt(variance / draws)) << what << ' ' << mean;
  EXPECT_NEAR(squares / draws, variance, 5 * variance * std::sqrt((kurtosis - 1) / draws)) << what << ' ' << mean;
}

TEST(Random, Moments) {
  Random random(3);
  expect_moments([&] { return random.normal(); }, 0, 1, 3, "normal");
  expect_moments([&] { return random.exponential(); }, 1, 1, 9, "exponential");
  for (const double shape : {0.05, 0.7, 1.0, 3.5, 400.0}) {
    expect_moments([&] { return random.gamma(shape); }, shape, shape, 3 + 6 / shape, "gamma");
  }
  for (const double mean : {0.1, 5.0, 11.9, 12.1, 80.0, 1e6, 1e12}) {
    expect_moments([&] { return random.poisson(mean); }, mean, mean, 3 + 1 / mean, "poisson");
  }
  for (const double trials : {1.0, 15.0, 60.0, 1e5}) {
    for (const double p : {1e-3, 0.2, 0.5, 0.93}) {
      const double variance = trials * p * (1 - p);
      expect_moments([&] { return random.binomial(trials, p); }, trials * p, variance, 3 + 1 / variance, "binomial");
    }
  }
}

TEST(Random, CountsFollowTheirProbabilities) {
  // Chi-squared statistic over the middle cells, against its mean plus five standard deviations.
  const auto chi_squared = [](auto&& draw, auto&& probability, int first, int last) {
    const int draws = 100000;
    std::vector<double> counts(static_cast<std::size_t>(last - first + 1), 0.0);
    for (int k = 0; k < draws; ++k) {
      const int y = static_cast<int>(draw());
      if (y >= first && y <= last) counts[static_cast<std::size_t>(y - first)] += 1;
    }
    double statistic = 0;
    for (int y = first; y <= last; ++y) {
      const double expected = draws * probability(y);
      const double gap = counts[static_cast<std::size_t>(y - first)] - expected;
      statistic += gap * gap / expected;
    }
    const double cells = last - first + 1;
    EXPECT_LT(statistic, cells + 5 * std::sqrt(2 * cells));
  };
  Random random(11);
  for (const double mean : {4.0, 30.0}) {
    const int width = static_cast<int>(3 * std::sqrt(mean));
    chi_squared([&] { return random.poisson(mean); },
                [&](int y) { return std::exp(y * std::log(mean) - mean - std::lgamma(y + 1.0)); },
                std::max(0, static_cast<int>(mean) - width), static_cast<int>(mean) + width);
  }
  for (const double p : {0.1, 0.6}) {
    const double n = 90;
    const int middle = static_cast<int>(n * p), width = static_cast<int>(3 * std::sqrt(n * p * (1 - p)));
    chi_squared([&] { return random.binomial(n, p); },
                [&](int y) {
                  return std::exp(std::lgamma(n + 1) - std::lgamma(y + 1.0) - std::lgamma(n - y + 1) + y * std::log(p) +
                                  (n - y) * std::log1p(-p));
                },
                std::max(0, middle - width), middle + width);
  }
}

TEST(Random, DegenerateDraws) {
  Random random(2);
  EXPECT_EQ(random.poisson(0), 0);
  EXPECT_EQ(random.binomial(7, 0), 0);
  EXPECT_EQ(random.binomial(7, 1), 7);
  EXPECT_EQ(random.binomial(0, 0.5), 0);
  EXPECT_TRUE(std::isfinite(random.gamma(1e-300)));
  EXPECT_TRUE(std::isfinite(random.poisson(1e300)));
}

}  // namespace
}  // namespace gaussmith
