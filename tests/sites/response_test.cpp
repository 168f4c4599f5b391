// The response: normalisation of t in y, moments, distribution function, quantiles, draws.

#include "gaussmith/errors.hpp"
#include "sites/cases.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace gaussmith::testing {
namespace {

// All rows uncensored: the density of y itself.
Sites at_response(const SiteCase& c, const Sites& sites, Index row, double y) {
  SiteArguments arguments;
  for (const SiteParameter& p : sites->parameters()) {
    arguments[p.name] = p.name == "censored" ? one(0.0) : one(p.values[p.values.size() == 1 ? 0 : row]);
  }
  return observe(c.likelihood, one(y), arguments);
}

// Sum or integral over y <= limit of f(y) t(eta; y), t averaged over eta ~ N(m, v) by a plain sum (v = 0: at m).
double over_responses(const SiteCase& c, const Sites& sites, Index row, double m, double v, double limit,
                      const std::function<double(double)>& f) {
  const auto density = [&](double y) {
    const Sites block = at_response(c, sites, row, y);
    if (v == 0.0) return std::exp(log_value(*block, 0, m));
    const double s = std::sqrt(v);
    return trapezoid([&](double x) { return normal_density(x, m, v) * std::exp(log_value(*block, 0, x)); }, m - 9 * s,
                     m + 9 * s, 120);
  };
  const auto whole_line = [&](auto&& integrand, double low, double high) {
    return low < high ? trapezoid(integrand, low, high, 3000) : 0.0;
  };
  switch (sites->traits().response) {
    case ResponseKind::sign:
      return (limit >= -1 ? f(-1) * density(-1) : 0.0) + (limit >= 1 ? f(1) * density(1) : 0.0);
    case ResponseKind::count: {
      double most = 600;
      for (const SiteParameter& p : sites->parameters()) {
        if (p.name == "trials") most = p.values[p.values.size() == 1 ? 0 : row];
      }
      double sum = 0;
      for (double y = 0; y <= std::min(limit, most); ++y) sum += f(y) * density(y);
      return sum;
    }
    case ResponseKind::positive:
      // y = e^u.
      return whole_line([&](double u) { return f(std::exp(u)) * density(std::exp(u)) * std::exp(u); }, -45,
                        std::min(12.0, std::log(limit)));
    case ResponseKind::real:
      break;
  }
  // y = m + sinh(u): polynomial tails become exponential ones.
  const double end = std::asinh(limit - m);
  return whole_line([&](double u) { return f(m + std::sinh(u)) * density(m + std::sinh(u)) * std::cosh(u); }, -45,
                    std::min(45.0, end));
}

constexpr double no_limit = 1e300;

TEST(SiteResponse, DensitiesAreNormalised) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const bool smooth = sites->traits().smooth;
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double eta : {-1.2, 0.3, 1.5}) {
        const double total = over_responses(c, sites, row, eta, 0.0, no_limit, [](double) { return 1.0; });
        EXPECT_NEAR(total, 1.0, smooth ? 1e-9 : 1e-3) << c.likelihood << " row " << row << " eta " << eta;
      }
    }
  }
}

TEST(SiteResponse, CensoredRowsAreTheSurvivalFunction) {
  for (const char* name : {"weibull", "exponential"}) {
    SiteArguments arguments{{"censored", one(1.0)}};
    if (std::string(name) == "weibull") arguments["shape"] = one(1.6);
    const Sites sites = observe(name, one(0.8), arguments);
    for (const double eta : {-1.0, 0.4}) {
      EXPECT_NEAR(std::exp(log_value(*sites, 0, eta)), 1 - response_cdf(*sites, 0, eta, 0.0, 0.8), 1e-14) << name;
    }
  }
}

TEST(SiteResponse, MomentsMatchSumsOverTheResponse) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const double v = 0.15;
    for (const double m : {-0.6, 0.8}) {
      const Index row = 0;
      const Response r = response(*sites, row, m, v);
      if (std::isnan(r.mean)) {
        EXPECT_EQ(c.likelihood, "cauchy");
        continue;
      }
      // A kink, and tails like |y|^-3.5, leave these sums with errors of their own.
      const double tolerance = c.likelihood == "laplace" || c.likelihood == "student-t" ? 1e-3 : 1e-7;
      const double mean = over_responses(c, sites, row, m, v, no_limit, [](double y) { return y; });
      const double second =
          over_responses(c, sites, row, m, v, no_limit, [&](double y) { return (y - mean) * (y - mean); });
      EXPECT_NEAR(r.mean, mean, tolerance * (1 + std::abs(mean))) << c.likelihood;
      EXPECT_NEAR(r.variance, second, tolerance * (1 + second)) << c.likelihood;
      if (sites->traits().response == ResponseKind::sign) {
        EXPECT_NEAR(r.probability, 0.5 * (mean + 1), 1e-9);
      } else {
        EXPECT_TRUE(std::isnan(r.probability));
      }
    }
  }
}

TEST(SiteResponse, MomentsThatDoNotExistAreNaN) {
  const Sites heavy = observe("student-t", one(0.0), {{"nu", one(1.0)}, {"scale", one(1.0)}});
  EXPECT_TRUE(std::isnan(response(*heavy, 0, 0, 1).mean));
  const Sites medium = observe("student-t", one(0.0), {{"nu", one(2.0)}, {"scale", one(1.0)}});
  EXPECT_EQ(response(*medium, 0, 0.5, 1).mean, 0.5);
  EXPECT_TRUE(std::isnan(response(*medium, 0, 0, 1).variance));
}

TEST(SiteResponse, DistributionFunctionMatchesSumsOfTheDensity) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const double m = 0.4, v = 0.3;
    const ResponseKind kind = sites->traits().response;
    const double y = kind == ResponseKind::sign ? -1.0 : kind == ResponseKind::count ? 3.0 : 0.9;
    const double sum = over_responses(c, sites, 0, m, v, y, [](double) { return 1.0; });
    const double tolerance = c.likelihood == "laplace" ? 1e-3 : 1e-5;  // the integral's upper end is a trapezoid's
    EXPECT_NEAR(response_cdf(*sites, 0, m, v, y), sum, tolerance) << c.likelihood;
    EXPECT_NEAR(response_cdf(*sites, 0, m, 0.0, y), response_cdf(*sites, 0, m, 1e-12, y), 1e-10) << c.likelihood;
  }
}

TEST(SiteResponse, QuantilesInvertTheDistributionFunction) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const ResponseKind kind = sites->traits().response;
    for (const double m : {-1.5, 1.0}) {
      for (const double v : {0.0, 0.4, 9.0}) {
        for (const double level : {0.001, 0.3, 0.5, 0.975}) {
          const double y = response_quantile(*sites, 0, m, v, level);
          const double p = response_cdf(*sites, 0, m, v, y);
          const auto what = c.likelihood + " m=" + std::to_string(m) + " v=" + std::to_string(v);
          if (kind == ResponseKind::real || kind == ResponseKind::positive) {
            EXPECT_NEAR(p, level, 1e-9) << what;
          } else {
            EXPECT_GE(p, level) << what;
            const double below = kind == ResponseKind::sign ? y - 2 : y - 1;
            EXPECT_LT(response_cdf(*sites, 0, m, v, below), level) << what;
          }
        }
      }
    }
  }
  EXPECT_THROW(response_quantile(*observe("poisson", one(1.0)), 0, 0, 1, 1.0), InvalidOption);
}

TEST(SiteResponse, DrawsHaveTheRightMomentsAndMedian) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const double m = 0.5, v = 0.2;
    const Response expected = response(*sites, 0, m, v);
    const double median = response_quantile(*sites, 0, m, v, 0.5);
    const double at_median = response_cdf(*sites, 0, m, v, median);
    Random random(2024);
    const int draws = 40000;
    double sum = 0, squares = 0, below = 0;
    for (int k = 0; k < draws; ++k) {
      const double eta = m + std::sqrt(v) * random.normal();
      double y = 0;
      sites->response_sample(0, {&eta, 1}, random, {&y, 1});
      below += y <= median;
      if (!std::isnan(expected.mean)) {
        sum += y - expected.mean;
        squares += (y - expected.mean) * (y - expected.mean);
      }
    }
    EXPECT_NEAR(below / draws, at_median, 5 * 0.5 / std::sqrt(draws)) << c.likelihood;
    if (std::isnan(expected.variance)) continue;
    EXPECT_NEAR(sum / draws, 0.0, 5 * std::sqrt(expected.variance / draws)) << c.likelihood;
    EXPECT_NEAR(squares / draws / expected.variance, 1.0, 0.2) << c.likelihood;
  }
}

}  // namespace
}  // namespace gaussmith::testing
