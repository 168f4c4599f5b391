// log t and its derivatives: against central differences, in eta and in every learnable parameter.

#include "sites/cases.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

namespace gaussmith::testing {
namespace {

void expect_close(double found, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(found, expected, tolerance * (1 + std::abs(expected))) << what;
}

std::string label(const SiteCase& c, Index row, double x) {
  return c.likelihood + " row " + std::to_string(row) + " at " + std::to_string(x);
}

TEST(SiteDerivatives, EveryCataloguedLikelihoodHasACase) {
  for (const LikelihoodInfo& line : likelihood_catalogue()) {
    if (!line.traits.methods.empty()) continue;  // Several latents have tests of their own.
    bool found = false;
    for (const SiteCase& c : site_cases()) found = found || c.likelihood == line.traits.name;
    EXPECT_TRUE(found) << line.traits.name << " has no line in tests/sites/cases.cpp";
  }
}

TEST(SiteDerivatives, MatchCentralDifferences) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double eta : {-6.3, -1.9, -0.45, 0.13, 0.9, 2.6, 5.2}) {
        const Derivatives d = log_density(*sites, row, eta);
        const std::string what = label(c, row, eta);
        expect_close(log_value(*sites, row, eta), d.value, 1e-14, what);
        const double h = 1e-3;
        expect_close(d.first, difference([&](double x) { return log_value(*sites, row, x); }, eta, h), 1e-8, what);
        expect_close(d.second, difference([&](double x) { return log_density(*sites, row, x).first; }, eta, h), 1e-8,
                     what);
        expect_close(d.third, difference([&](double x) { return log_density(*sites, row, x).second; }, eta, h), 1e-8,
                     what);
      }
    }
  }
}

TEST(SiteDerivatives, TraitsAreTrue) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (Index row = 0; row < sites->size(); ++row) {
      bool negative = true;
      for (double eta = -40; eta <= 40; eta += 0.1)
        negative = negative && log_density(*sites, row, eta).second <= 1e-12;
      EXPECT_EQ(negative, sites->traits().log_concave) << c.likelihood;
    }
  }
}

TEST(SiteDerivatives, ClosedFormsOfTheLogit) {
  const Sites sites = observe("bernoulli-logit", one(1.0));
  for (const double eta : {-30.0, -2.0, 0.0, 1.5, 40.0}) {
    const double s = 1 / (1 + std::exp(-eta)), r = 1 / (1 + std::exp(eta));
    const Derivatives d = log_density(*sites, 0, eta);
    EXPECT_NEAR(d.value, -std::log1p(std::exp(-eta)), 1e-13);
    EXPECT_NEAR(d.first, r, 1e-15);
    EXPECT_NEAR(d.second, -s * r, 1e-15);
    EXPECT_NEAR(d.third, -s * r * (r - s), 1e-15);
  }
}

TEST(SiteDerivatives, LearnableParametersMatchCentralDifferences) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const auto& parameters = sites->parameters();
    for (int j = 0; j < static_cast<int>(parameters.size()); ++j) {
      const SiteParameter& parameter = parameters[static_cast<std::size_t>(j)];
      if (!parameter.learnable) continue;
      const auto moved = [&](double log_theta) {
        return sites->with(sites->responses(), {{parameter.name, one(std::exp(log_theta))}});
      };
      const double at = std::log(parameter.values[0]);
      const double h = 1e-3;
      for (Index row = 0; row < sites->size(); ++row) {
        for (const double eta : {-2.3, 0.2, 1.7}) {
          const std::string what = label(c, row, eta) + " " + parameter.name;
          double value = 0, first = 0, second = 0;
          sites->parameter_derivatives(row, j, {&eta, 1}, {{&value, 1}, {&first, 1}, {&second, 1}});
          const auto by = [&](auto pick) {
            return difference([&](double t) { return pick(log_density(*moved(t), row, eta)); }, at, h);
          };
          expect_close(value, by([](const Derivatives& d) { return d.value; }), 1e-8, what);
          expect_close(first, by([](const Derivatives& d) { return d.first; }), 1e-8, what);
          expect_close(second, by([](const Derivatives& d) { return d.second; }), 1e-8, what);

          const double m = eta, v = 0.8;
          double expected = 0;
          sites->parameter_expectation(row, j, {&m, 1}, {&v, 1}, {&expected, 1});
          expect_close(expected, difference([&](double t) { return expectation(*moved(t), row, m, v).value; }, at, h),
                       1e-8, what);
          for (const double power : {0.5, 1.0}) {
            double under_tilt = 0;
            sites->parameter_tilted(row, j, {&m, 1}, {&v, 1}, power, {&under_tilt, 1});
            const double slope =
                difference([&](double t) { return tilted(*moved(t), row, m, v, power).log_normaliser; }, at, h) / power;
            expect_close(under_tilt, slope, 1e-7, what);
          }
        }
      }
    }
  }
}

TEST(SiteDerivatives, PerRowParametersAreData) {
  Vector scales(2);
  scales << 0.5, 0.7;
  const Sites sites = observe("laplace", Vector::Zero(2), {{"scale", scales}});
  EXPECT_FALSE(sites->parameters()[0].learnable);
  EXPECT_DOUBLE_EQ(log_value(*sites, 1, 0.0), -std::log(1.4));
}

}  // namespace
}  // namespace gaussmith::testing
