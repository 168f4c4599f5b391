// Distribution functions of counts: against their defining sums, and across the change to asymptotic forms.

#include "sites/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith::testing {
namespace {

// P(Y <= k) from ratios of neighbouring probabilities, downwards from k: converges within some deviations.
template <class Ratio>
double lower_tail(double log_mass_at_k, double k, Ratio&& ratio) {
  double term = 1, sum = 1;
  for (double j = k; j > 0 && term > 1e-18 * sum; --j) {
    term *= ratio(j);
    sum += term;
  }
  return std::exp(log_mass_at_k) * sum;
}

TEST(SiteDistributions, PoissonOfLargeMean) {
  for (const double mean : {40.0, 9.99e5, 1.01e6, 3e7}) {
    for (const double z : {-4.0, -1.0, 0.0, 2.0}) {
      const double k = std::floor(mean + z * std::sqrt(mean));
      // log k! by Stirling's series, and k log(mean/k) by log1p: no cancellation of large numbers.
      const double log_mass = k * std::log1p((mean - k) / k) + (k - mean) - 0.5 * std::log(2 * std::numbers::pi * k) -
                              1 / (12 * k) + 1 / (360 * k * k * k);
      EXPECT_NEAR(poisson_cdf(k, mean), lower_tail(log_mass, k, [&](double j) { return j / mean; }), 1e-9)
          << mean << ' ' << z;
    }
  }
}

TEST(SiteDistributions, BinomialOfManyTrials) {
  for (const double n : {50.0, 9e5, 2e6, 2e7}) {
    for (const double p : {0.3, 2e-5}) {
      const double eta = std::log(p) - std::log1p(-p), sd = std::sqrt(n * p * (1 - p));
      for (const double z : {-1.5, 0.0, 2.5}) {
        const double k = std::floor(n * p + z * sd);
        if (k < 0) continue;
        const double log_mass = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                                (n - k) * std::log1p(-p);
        const double sum = lower_tail(log_mass, k, [&](double j) { return j * (1 - p) / ((n - j + 1) * p); });
        EXPECT_NEAR(binomial_cdf(k, n, eta), sum, 1e-6) << n << ' ' << p << ' ' << z;
      }
    }
  }
}

TEST(SiteDistributions, NoStepWhereTheFormChanges) {
  // Shapes either side of 1e6, where probabilities move by 1e-3 at most relative to their own spread.
  for (const double z : {-3.0, -0.5, 1.0}) {
    const double below = 1e6 - 0.5, above = 1e6 + 0.5;
    EXPECT_NEAR(gamma_cdf(below + z * 1e3, below), gamma_cdf(above + z * 1e3, above), 1e-6) << z;
    for (const double shape : {0.7, 40.0, 5e5}) {
      const double spread = std::sqrt(1e-6 + 1 / shape);
      const double eta = std::log(1e6 / shape) + z * spread;
      EXPECT_NEAR(negative_binomial_cdf(999999, shape, eta), negative_binomial_cdf(1000000, shape, eta), 1e-3) << shape;
      const double before = negative_binomial_cdf(999998, shape, eta), at = negative_binomial_cdf(999999, shape, eta),
                   after = negative_binomial_cdf(1000000, shape, eta);
      EXPECT_NEAR(after - at, at - before, 2e-6) << shape << ' ' << z;
    }
  }
}

TEST(SiteDistributions, HugeArgumentsAreQuickAndInRange) {
  for (const double k : {1e9, 1e15, 1e100, 1e300}) {
    for (const double factor : {0.0, 0.5, 1.0, 2.0, 1e8}) {
      const double p = poisson_cdf(k, k * factor);
      EXPECT_TRUE(p >= 0 && p <= 1);
      const double q = negative_binomial_cdf(k, 3.0, std::log(k) + factor), r = binomial_cdf(k, 2 * k, factor - 1);
      EXPECT_TRUE(q >= 0 && q <= 1 && r >= 0 && r <= 1);
    }
    EXPECT_NEAR(poisson_cdf(k, k), 0.5, 1e-4);
    EXPECT_EQ(poisson_cdf(k, 0.5 * k), 1.0);
    EXPECT_EQ(poisson_cdf(k, 2 * k), 0.0);
  }
}

}  // namespace
}  // namespace gaussmith::testing
