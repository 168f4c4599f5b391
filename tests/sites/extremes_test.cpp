// Far out: nothing overflows into Inf or NaN, and the tails keep their values.

#include "sites/cases.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace gaussmith::testing {
namespace {

bool all_finite(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

TEST(SiteExtremes, EverythingStaysFinite) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double eta : {-1e5, -1000.0, -700.0, 700.0, 1000.0, 1e5}) {
        const Derivatives d = log_density(*sites, row, eta);
        EXPECT_TRUE(all_finite({d.value, d.first, d.second, d.third})) << c.likelihood << ' ' << eta;
        for (const double v : {1e-300, 1e-8, 1.0, 1e4}) {
          const Expectation e = expectation(*sites, row, eta, v);
          EXPECT_TRUE(all_finite({e.value, e.d_mean, e.d_variance})) << c.likelihood << ' ' << eta << ' ' << v;
          const Tilted t = tilted(*sites, row, eta, std::max(v, 1e-8), 1.0);
          EXPECT_TRUE(all_finite({t.log_normaliser, t.mean, t.variance})) << c.likelihood << ' ' << eta << ' ' << v;
          EXPECT_GT(t.variance, 0.0) << c.likelihood << ' ' << eta << ' ' << v;
        }
      }
    }
  }
}

TEST(SiteExtremes, GaussianFarInsideAnImpossibleRegion) {
  // N(eta | m, v) Poisson(3 | e^eta) has its mode where eta - m = v (3 - e^eta), tens of units from a distant m; a
  // plain sum around it.
  const Sites sites = observe("poisson", one(3.0));
  for (const double m : {60.0, 150.0, 240.0, 500.0, 750.0, 5000.0}) {
    for (const double v : {1e-4, 1.0, 100.0}) {
      double low = -1e4, high = m;
      for (int k = 0; k < 200; ++k) {
        const double middle = 0.5 * (low + high);
        (3 - std::exp(middle) - (middle - m) / v > 0 ? low : high) = middle;
      }
      const double width = 1 / std::sqrt(std::exp(low) + 1 / v);
      double zeroth = 0, first = 0, second = 0;
      for (double x = -40; x <= 40; x += 0.01) {
        // The exponent minus its value at the mode, written without large numbers.
        const double u = x * width, w = std::exp(-std::exp(low) * (std::expm1(u) - u) - 0.5 * u * u / v);
        zeroth += w;
        first += w * u;
        second += w * u * u;
      }
      const Tilted t = tilted(*sites, 0, m, v, 1.0);
      const double shift = first / zeroth;
      EXPECT_NEAR(t.mean, low + shift, 1e-9 * (1 + std::abs(low))) << m << ' ' << v;
      EXPECT_NEAR(t.variance / (second / zeroth - shift * shift), 1.0, 1e-8) << m << ' ' << v;
      const double top = 3 * low - std::exp(low) - std::log(6.0) - 0.5 * (low - m) * (low - m) / v;
      const double log_normaliser = top + std::log(0.01 * width * zeroth) - 0.5 * std::log(2 * std::numbers::pi * v);
      EXPECT_NEAR(t.log_normaliser, log_normaliser, 1e-9 * (1 + std::abs(log_normaliser))) << m << ' ' << v;
    }
  }
}

TEST(SiteExtremes, ResponsesStayInRange) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (const double m : {-50.0, 0.0, 50.0}) {
      for (const double v : {1e-8, 1e4}) {
        double last = -1e308;
        for (const double level : {0.01, 0.5, 0.99}) {
          const double y = response_quantile(*sites, 0, m, v, level);
          EXPECT_TRUE(std::isfinite(y)) << c.likelihood << ' ' << m << ' ' << v << ' ' << level;
          EXPECT_GE(y, last) << c.likelihood << ' ' << m << ' ' << v << ' ' << level;
          last = y;
        }
        for (const double y : {-1e300, -1.0, 0.0, 1.0, 1e9, 1e300}) {
          const double p = response_cdf(*sites, 0, m, v, y);
          EXPECT_TRUE(p >= 0.0 && p <= 1.0) << c.likelihood << ' ' << m << ' ' << v << ' ' << y << ' ' << p;
        }
      }
    }
  }
}

TEST(SiteExtremes, TailsOfTheLinks) {
  const Sites logit = observe("bernoulli-logit", one(-1.0));
  EXPECT_DOUBLE_EQ(log_value(*logit, 0, 1000), -1000.0);
  EXPECT_DOUBLE_EQ(log_value(*logit, 0, -700), -std::exp(-700.0));
  EXPECT_DOUBLE_EQ(log_density(*logit, 0, -700).second, -std::exp(-700.0));
  const Sites probit = observe("bernoulli-probit", one(1.0));
  // log Phi(-1e3) = -x^2/2 - log(x sqrt(2 pi)) - 1/x^2 + ...
  EXPECT_NEAR(log_value(*probit, 0, -1e3), -500007.8266948121844, 1e-8);
  const Derivatives d = log_density(*probit, 0, -1e3);
  EXPECT_NEAR(d.first, 1000.000999998, 1e-9);
  EXPECT_NEAR(d.second, -1 + 1e-6 - 6e-12, 1e-14);
}

TEST(SiteExtremes, RatesBeyondDoublesAreCapped) {
  // E[e^eta] = e^5000 has no double; the site says "impossible" with the largest rate it knows, e^700.
  const Sites sites = observe("poisson", one(3.0));
  EXPECT_LT(expectation(*sites, 0, 0.0, 1e4).value, -1e303);
  EXPECT_LT(log_value(*sites, 0, 1000), -1e303);
  const Response r = response(*sites, 0, 50, 1e4);
  EXPECT_TRUE(all_finite({r.mean, r.variance}));
}

}  // namespace
}  // namespace gaussmith::testing
