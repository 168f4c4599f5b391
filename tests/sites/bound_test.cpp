// The super-Gaussian form t(eta) = exp(beta s + g(s^2)), s = eta - centre.

#include "gaussmith/errors.hpp"
#include "sites/cases.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

namespace gaussmith::testing {
namespace {

struct Bound {
  double value = 0, first = 0, second = 0;
};
Bound bound(const SiteBlock& block, Index row, double x) {
  Bound b;
  block.bound(row, {&x, 1}, {{&b.value, 1}, {&b.first, 1}, {&b.second, 1}});
  return b;
}

TEST(SiteBound, GivesBackTheLogDensity) {
  int forms = 0;
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    if (!sites->traits().super_gaussian) continue;
    ++forms;
    for (Index row = 0; row < sites->size(); ++row) {
      double slope = 0, centre = 0;
      sites->bound_shape(row, {&slope, 1}, {&centre, 1});
      for (const double eta : {-9.0, -0.8, 0.0, 0.3, 4.0}) {
        const double s = eta - centre;
        const double expected = log_value(*sites, row, eta);
        EXPECT_NEAR(slope * s + bound(*sites, row, s * s).value, expected, 1e-12 * (1 + std::abs(expected)))
            << c.likelihood << ' ' << eta;
      }
    }
  }
  EXPECT_EQ(forms, 9);
}

TEST(SiteBound, DerivativesMatchDifferencesAndGIsConvexDecreasing) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    if (!sites->traits().super_gaussian) continue;
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double x : {1e-5, 2e-3, 3.9e-3, 4.1e-3, 0.3, 7.0, 400.0}) {
        const Bound b = bound(*sites, row, x);
        const double h = 1e-3 * x;
        const double first = difference([&](double z) { return bound(*sites, row, z).value; }, x, h);
        const double second = difference([&](double z) { return bound(*sites, row, z).first; }, x, h);
        // Values near 1 leave 1e-16/h of noise in their differences.
        EXPECT_NEAR(b.first, first, 1e-8 * std::abs(first) + 1e-14 / h * (1 + std::abs(b.value))) << c.likelihood << x;
        EXPECT_NEAR(b.second, second, 1e-8 * std::abs(second) + 1e-14 / h * std::abs(b.first)) << c.likelihood << x;
        EXPECT_LT(b.first, 0.0);
        EXPECT_GE(b.second, 0.0);
      }
    }
  }
}

TEST(SiteBound, ValuesAtZero) {
  const Bound logit = bound(*observe("bernoulli-logit", one(1.0)), 0, 0.0);
  EXPECT_DOUBLE_EQ(logit.value, -std::log(2.0));
  EXPECT_DOUBLE_EQ(-2 * logit.first, 0.25);
  EXPECT_DOUBLE_EQ(logit.second, 1.0 / 96.0);
  const Bound kink = bound(*observe("laplace", one(0.0), {{"scale", one(1.0)}}), 0, 0.0);
  EXPECT_TRUE(std::isfinite(kink.first) && std::isfinite(kink.second));
}

TEST(SiteBound, ProbitHasNone) {
  const Sites sites = observe("bernoulli-probit", one(1.0));
  EXPECT_FALSE(sites->traits().super_gaussian);
  EXPECT_THROW(bound(*sites, 0, 1.0), InvalidOption);
}

}  // namespace
}  // namespace gaussmith::testing
