#include "active/inclusion.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

/// The lower bound on log of the integral of N(mean, variance) times the tangent at xi, whose best xi is wanted:
/// g(xi^2) + tau xi^2 / 2 - log(k)/2 + ((m + v nu)^2 / v / k - m^2 / v) / 2.
double bound(const Marginal& marginal, double y, double xi) {
  const double tau = std::tanh(0.5 * xi) / (2.0 * xi);
  const double k = 1.0 + tau * marginal.variance;
  const double pulled = marginal.mean + 0.5 * y * marginal.variance;
  return -std::log(2.0 * std::cosh(0.5 * xi)) + 0.5 * tau * xi * xi - 0.5 * std::log(k) +
         0.5 * (pulled * pulled / k - marginal.mean * marginal.mean) / marginal.variance;
}

double best_by_scan(const Marginal& marginal, double y) {
  double best = -1e300;
  for (double xi = 1e-3; xi < 60.0; xi *= 1.0005) best = std::max(best, bound(marginal, y, xi));
  return best;
}

const Marginal cases[] = {{0.0, 1.0}, {1.5, 0.3}, {-4.0, 2.0}, {0.2, 14.0}, {-9.0, 0.01}, {3.0, 100.0}};

TEST(Inclusion, TangentIsThatOfTheHighestBound) {
  for (const Marginal& marginal : cases)
    for (const double y : {-1.0, 1.0}) {
      const IncludedSite site = include_label(marginal, y);
      EXPECT_EQ(site.shift, 0.5 * y);
      const double v = 1.0 / (1.0 / marginal.variance + site.precision);
      const double m = v * (marginal.mean / marginal.variance + site.shift);
      const double xi = std::sqrt(m * m + v);
      EXPECT_NEAR(site.precision, std::tanh(0.5 * xi) / (2.0 * xi), 1e-12 * site.precision);
      const double scanned = best_by_scan(marginal, y);
      EXPECT_GE(bound(marginal, y, xi), scanned - 1e-12 * std::abs(scanned));
    }
}

TEST(Inclusion, NoVarianceTellsNothing) {
  const IncludedSite site = include_label({0.0, 0.0}, 1.0);
  EXPECT_EQ(site.precision, 0.25);
  EXPECT_EQ(divergence_by(site, {0.0, 0.0}), 0.0);
}

/// By sums over a fine grid, which shares nothing with the closed forms.
double divergence_by_sum(const Marginal& marginal, double y) {
  const IncludedSite site = include_label(marginal, y);
  const double sd = std::sqrt(marginal.variance);
  const double step = 1e-3 * sd;
  double normaliser = 0.0;
  double integral = 0.0;
  for (int pass = 0; pass < 2; ++pass)
    for (double eta = marginal.mean - 14.0 * sd; eta < marginal.mean + 14.0 * sd; eta += step) {
      const double z = (eta - marginal.mean) / sd;
      const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * M_PI) / sd;
      const double log_site = site.shift * eta - 0.5 * site.precision * eta * eta;
      if (pass == 0) {
        normaliser += step * density * std::exp(log_site);
      } else {
        integral += step * density * std::exp(log_site) / normaliser * (log_site - std::log(normaliser));
      }
    }
  return integral;
}

TEST(Inclusion, InformationGainIsTheExpectedDivergence) {
  for (const Marginal& marginal : cases) {
    const double probability = 0.3;
    const double expected =
        probability * divergence_by_sum(marginal, 1.0) + (1.0 - probability) * divergence_by_sum(marginal, -1.0);
    EXPECT_NEAR(information_gain(marginal, probability), expected, 1e-6 * expected);
  }
}

}  // namespace
}  // namespace gaussmith
