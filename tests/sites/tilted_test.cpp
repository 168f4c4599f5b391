// Moments of N(eta | m, v) t(eta)^power.

#include "sites/cases.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace gaussmith::testing {
namespace {

// Log-scaled trapezoid sums over a window that is wide enough; no code shared with the library.
Tilted plain_tilted(const SiteBlock& block, Index row, double m, double v, double power, int steps = 40000) {
  const double low = m - 14 * std::sqrt(v), high = m + 14 * std::sqrt(v);
  const auto exponent = [&](double x) { return power * log_value(block, row, x) - 0.5 * (x - m) * (x - m) / v; };
  double top = -1e308;
  for (int k = 0; k <= 2000; ++k) top = std::max(top, exponent(low + (high - low) * k / 2000));
  double zeroth = 0, first = 0, second = 0;
  const double h = (high - low) / steps;
  for (int k = 0; k <= steps; ++k) {
    const double x = low + k * h, w = std::exp(exponent(x) - top);
    zeroth += w;
    first += w * (x - m);
    second += w * (x - m) * (x - m);
  }
  const double shift = first / zeroth;
  return {top + std::log(zeroth * h) - 0.5 * std::log(2 * std::numbers::pi * v), m + shift,
          second / zeroth - shift * shift};
}

TEST(SiteTilted, MatchesAPlainSum) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    // A kink leaves the trapezoid rule with an error of order h^2.
    const double tolerance = sites->traits().smooth ? 1e-9 : 1e-6;
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double m : {-3.0, 0.4, 2.0}) {
        for (const double v : {0.05, 2.0}) {
          for (const double power : {0.5, 1.0}) {
            const Tilted t = tilted(*sites, row, m, v, power), sum = plain_tilted(*sites, row, m, v, power);
            const auto what = c.likelihood + " m=" + std::to_string(m) + " v=" + std::to_string(v);
            EXPECT_NEAR(t.log_normaliser, sum.log_normaliser, tolerance * (1 + std::abs(sum.log_normaliser))) << what;
            EXPECT_NEAR(t.mean, sum.mean, tolerance * (1 + std::abs(sum.mean))) << what;
            EXPECT_NEAR(t.variance, sum.variance, tolerance) << what;
          }
        }
      }
    }
  }
}

TEST(SiteTilted, BimodalStudentT) {
  // The prior sits at 0 and the observation at 8: two modes of comparable mass, so the variance exceeds the prior's.
  const Sites sites = observe("student-t", one(8.0), {{"nu", one(2.0)}, {"scale", one(0.05)}});
  bool seen_two_modes = false;
  for (const double v : {2.0, 4.0, 6.0}) {
    const Tilted t = tilted(*sites, 0, 0.0, v, 1.0), sum = plain_tilted(*sites, 0, 0.0, v, 1.0);
    EXPECT_NEAR(t.log_normaliser, sum.log_normaliser, 1e-9 * (1 + std::abs(sum.log_normaliser)));
    EXPECT_NEAR(t.mean, sum.mean, 1e-9 * (1 + std::abs(sum.mean)));
    EXPECT_NEAR(t.variance, sum.variance, 1e-9 * (1 + sum.variance));
    seen_two_modes = seen_two_modes || t.variance > v;
  }
  EXPECT_TRUE(seen_two_modes);
}

TEST(SiteTilted, LaplaceFarFromItsCentre) {
  // Far out only one side matters: N(m - power v/scale, v) with log Z = log t^power(m) + (power/scale)^2 v/2.
  const double scale = 0.5;
  const Sites sites = observe("laplace", one(0.0), {{"scale", one(scale)}});
  for (const double power : {0.5, 1.0}) {
    const double m = 1000, v = 1, k = power / scale;
    const Tilted t = tilted(*sites, 0, m, v, power);
    EXPECT_NEAR(t.log_normaliser, -power * std::log(2 * scale) - k * m + 0.5 * k * k * v, 1e-9 * 2000);
    EXPECT_NEAR(t.mean, m - k * v, 1e-10 * m);
    EXPECT_NEAR(t.variance, v, 1e-12);
  }
  // A spike far narrower than the Gaussian: nearly the Laplace density itself, variance 2 scale^2.
  const Sites spike = observe("laplace", one(0.0), {{"scale", one(1e-6)}});
  const Tilted t = tilted(*spike, 0, 0.0, 1e4, 1.0);
  EXPECT_NEAR(t.variance, 2e-12, 1e-20);
  EXPECT_NEAR(t.mean, 0.0, 1e-15);
  EXPECT_NEAR(t.log_normaliser, -0.5 * std::log(2 * std::numbers::pi * 1e4), 1e-8);
}

TEST(SiteTilted, ProbitFarTailKeepsARelativeVariance) {
  // z = m/sqrt(1 + v) = -1e4: Mills' expansion gives mean m/(1 + v) + v/(|z| sqrt(1 + v)) (1 - 2/z^2) and
  // variance v (1 + v/z^2 (1 - 6/z^2))/(1 + v).
  const Sites sites = observe("bernoulli-probit", one(1.0));
  const double v = 1e4, z = -1e4, m = z * std::sqrt(1 + v);
  const Tilted t = tilted(*sites, 0, m, v, 1.0);
  EXPECT_NEAR(t.variance, v * (1 + v / (z * z) * (1 - 6 / (z * z))) / (1 + v), 1e-13);
  EXPECT_NEAR(t.mean, m / (1 + v) + v / (-z * std::sqrt(1 + v)) * (1 - 2 / (z * z)), 1e-12);
}

TEST(SiteTilted, VarianceOfALogConcaveSiteIsBelowThePrior) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    if (!sites->traits().log_concave) continue;
    for (const double m : {-20.0, 0.0, 20.0}) {
      for (const double v : {1e-6, 1.0, 1e3}) {
        const Tilted t = tilted(*sites, 0, m, v, 1.0);
        EXPECT_GT(t.variance, 0.0) << c.likelihood;
        EXPECT_LE(t.variance, v * (1 + 1e-9)) << c.likelihood << ' ' << m << ' ' << v;
      }
    }
  }
}

TEST(SiteTilted, SmoothInTheMean) {
  // Third differences at a step of 3e-5 deviations vanish but for noise, which they multiply by up to eight. Engines
  // iterate to 1e-8, so the noise must stay far below.
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (const double v : {0.01, 0.4, 3.0, 40.0, 1000.0}) {
      for (const double start : {-6.0, -0.7, 0.5, 4.0}) {
        for (const double power : {0.5, 1.0}) {
          const Tilted t = tilted(*sites, 0, start, v, power);
          const double deviation = std::sqrt(t.variance), step = 3e-5 * std::sqrt(std::min(v, t.variance));
          Tilted last[4]{};
          for (int i = 0; i < 40; ++i) {
            for (int k = 3; k > 0; --k) last[k] = last[k - 1];
            last[0] = tilted(*sites, 0, start + i * step, v, power);
            if (i < 3) continue;
            const auto third = [&](double Tilted::*x) {
              return (last[0].*x - last[3].*x) - 3 * (last[1].*x - last[2].*x);
            };
            const auto what = c.likelihood + " m=" + std::to_string(start) + " v=" + std::to_string(v);
            EXPECT_LT(std::abs(third(&Tilted::log_normaliser)), 2e-12 * (1 + std::abs(t.log_normaliser))) << what;
            EXPECT_LT(std::abs(third(&Tilted::mean)), 5e-11 * deviation + 5e-15 * std::abs(t.mean)) << what;
            EXPECT_LT(std::abs(third(&Tilted::variance)), 5e-11 * t.variance) << what;
          }
        }
      }
    }
  }
}

TEST(SiteTilted, ManyRowsAtOnceEqualOneByOne) {
  Random random(3);
  for (const SiteCase& c : site_cases()) {
    const Index rows = 70;
    const Sites one_row = c.sites();
    SiteArguments arguments = c.arguments;
    for (auto& [name, values] : arguments) values = Vector::Constant(1, values[0]);
    const Sites sites = observe(c.likelihood, Vector::Constant(rows, c.responses[0]), arguments);
    Vector m(rows), v(rows), log_normaliser(rows), mean(rows), variance(rows);
    for (Index i = 0; i < rows; ++i) {
      m[i] = 5 * random.normal();
      v[i] = std::pow(10.0, 6 * random.uniform() - 3);
    }
    Index inaccurate = 0;
    sites->tilted(0, view(std::as_const(m)), view(std::as_const(v)), 0.8,
                  {view(log_normaliser), view(mean), view(variance), &inaccurate});
    EXPECT_EQ(inaccurate, 0) << c.likelihood;
    for (Index i = 0; i < rows; ++i) {
      const Tilted t = tilted(*one_row, 0, m[i], v[i], 0.8);
      ASSERT_EQ(log_normaliser[i], t.log_normaliser) << c.likelihood;
      ASSERT_EQ(mean[i], t.mean) << c.likelihood;
      ASSERT_EQ(variance[i], t.variance) << c.likelihood;
    }
  }
}

TEST(SiteTilted, RowsWithoutAnAccurateIntegralAreCounted) {
  // A site that is zero wherever it is looked at has no tilted density; the response says which rows are such.
  CustomLikelihood custom;
  custom.log_density = [](double eta, double y) {
    return y > 0 ? -eta * eta : -std::numeric_limits<double>::infinity();
  };
  Vector y(4), m = Vector::Zero(4), v = Vector::Ones(4), log_normaliser(4);
  y << 1, -1, 1, -1;
  Index inaccurate = 5;
  observe(custom, y)->tilted(0, view(std::as_const(m)), view(std::as_const(v)), 1.0,
                             {view(log_normaliser), {}, {}, &inaccurate});
  EXPECT_EQ(inaccurate, 7);
}

}  // namespace
}  // namespace gaussmith::testing
