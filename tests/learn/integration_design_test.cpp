#include "learn/integration_design.hpp"

#include "learn/integration_axes.hpp"
#include "learn/integration_grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace gaussmith {
namespace {

double odd_factorial(int power) { return power <= 0 ? 1.0 : (power - 1) * odd_factorial(power - 2); }

/// E[z_i^a z_j^b] under N(0, I), i != j.
double normal_moment(int a, int b) { return a % 2 != 0 || b % 2 != 0 ? 0.0 : odd_factorial(a) * odd_factorial(b); }

TEST(CompositeDesign, HasTheMomentsOfANormalUpToDegreeFive) {
  for (Index d = 2; d <= 12; ++d) {
    const CompositeDesign design = composite_design(d);
    EXPECT_NEAR(design.weights.sum(), 1.0, 1e-14);
    EXPECT_GT(design.weights.minCoeff(), 0.0);
    for (Index i = 0; i < d; ++i)
      for (Index j = 0; j < d; ++j) {
        if (i == j) continue;
        for (int a = 0; a <= 5; ++a)
          for (int b = 0; a + b <= 5; ++b) {
            const double moment =
                (design.weights.array() * design.points.col(i).array().pow(a) * design.points.col(j).array().pow(b))
                    .sum();
            EXPECT_NEAR(moment, normal_moment(a, b), 1e-10) << d << ": " << i << "^" << a << " " << j << "^" << b;
          }
        for (Index k = 0; k < d; ++k) {
          if (k == i || k == j) continue;
          // Four factors, some of them the same, are not confounded.
          const auto triple =
              design.points.col(i).array() * design.points.col(j).array() * design.points.col(k).array();
          EXPECT_NEAR((design.weights.array() * triple).sum(), 0.0, 1e-12);
          EXPECT_NEAR((design.weights.array() * triple * design.points.col(k).array()).sum(), 0.0, 1e-12);
          if (k + 1 < d && k + 1 != i && k + 1 != j) {
            EXPECT_NEAR((design.weights.array() * triple * design.points.col(k + 1).array()).sum(), 0.0, 1e-12);
          }
        }
      }
  }
  EXPECT_EQ(composite_design(4).weights.size(), 25);
  EXPECT_EQ(composite_design(8).weights.size(), 81);
}

TEST(IntegrationLattice, NeighboursAreTheNearestPointsAndCellsFillTheSpace) {
  for (Index d = 1; d <= 5; ++d) {
    const IntegrationLattice lattice(d, 1.0);
    double nearest = 1e300;
    for (const LatticePoint& point : lattice.neighbours(lattice.origin()))
      nearest = std::min(nearest, lattice.place(point).norm());
    EXPECT_GT(nearest, 0.0);
    // Points in a ball, counted by walking from neighbour to neighbour, against its volume.
    const double radius = 6.0 * nearest;
    std::map<LatticePoint, bool> seen{{lattice.origin(), true}};
    std::vector<LatticePoint> todo{lattice.origin()};
    while (d <= 4 && !todo.empty()) {
      const LatticePoint point = todo.back();
      todo.pop_back();
      for (const LatticePoint& next : lattice.neighbours(point))
        if (lattice.place(next).norm() <= radius && !seen[next]) {
          seen[next] = true;
          todo.push_back(next);
        }
    }
    double count = 0.0;
    for (const auto& [point, inside] : seen) count += inside ? 1.0 : 0.0;
    if (d <= 4) {
      EXPECT_NEAR(count / lattice.count_within(radius), 1.0, 0.1) << d;
    }
  }
}

TEST(IntegrateOnLattice, IntegratesSkewedDensitiesAndTheirMoments) {
  // log density of log-gamma variables with shape a, peak at 0: a (x - e^x + 1); the integral is Gamma(a) (e / a)^a.
  const double a = 6.0;
  for (Index d = 1; d <= 4; ++d) {
    const IntegrationLattice lattice(d, 1.0);
    std::vector<Vector> places;
    const auto density = [&](const LatticePoint& point) -> std::optional<double> {
      const Vector x = lattice.place(point) / std::sqrt(a);
      places.push_back(x);
      return a * (x.array() - x.array().exp() + 1.0).sum();
    };
    const auto masses = integrate_on_lattice(lattice, grid_plan(d, 1.0, false).depth, density,
                                             [](const LatticePoint&, double) { return 1.0; });
    ASSERT_EQ(masses.size(), places.size());
    double total = 0.0, first = 0.0;
    for (std::size_t k = 0; k < masses.size(); ++k) {
      total += masses[k];
      first += masses[k] * places[k](0);
    }
    const double one = std::exp(std::lgamma(a) + a - a * std::log(a)) * std::sqrt(a);
    EXPECT_NEAR(total / std::pow(one, static_cast<double>(d)), 1.0, 2e-3) << d;
    // digamma(6) - log(6)
    EXPECT_NEAR(first / total, 1.7061176684318005 - std::log(a), 2e-3) << d;
  }
}

TEST(IntegrateOnLattice, TailsKeepLinearFunctions) {
  // exp(-3 |x|): beyond the depth the log density goes on linearly, as it is extrapolated, and so does x. The masses
  // then have the sums of the whole lattice, as far as tails are followed: two evaluated points on each side and two
  // more.
  const IntegrationLattice lattice(1, 1.0);
  std::vector<double> places;
  const auto density = [&](const LatticePoint& point) -> std::optional<double> {
    places.push_back(lattice.place(point)(0));
    return -3.0 * std::abs(places.back());
  };
  const auto masses = integrate_on_lattice(lattice, 9.0, density, [](const LatticePoint&, double) { return 1.0; });
  ASSERT_EQ(masses.size(), 9U);
  const double h = lattice.step();
  double total = 0.0, right = 0.0, whole = h, first = 0.0;
  for (std::size_t k = 0; k < masses.size(); ++k) {
    total += masses[k];
    right += masses[k] * std::max(0.0, places[k]);
  }
  for (int n = 1; n <= 6; ++n) {
    whole += 2.0 * h * std::exp(-3.0 * n * h);
    first += h * n * h * std::exp(-3.0 * n * h);
  }
  EXPECT_NEAR(total, whole, 1e-12);
  EXPECT_NEAR(right, first, 1e-12);
}

TEST(IntegrateOnLattice, LendsTheMassOfPointsThatFailAndEndsWhereNothingCanBeEvaluated) {
  const IntegrationLattice lattice(2, 1.0);
  int evaluated = 0;
  const auto density = [&](const LatticePoint& point) -> std::optional<double> {
    if (point[0] == 1 && point[1] == 1) return std::nullopt;
    ++evaluated;
    return -0.5 * lattice.place(point).squaredNorm();
  };
  const auto everywhere = [](const LatticePoint&, double) { return 1.0; };
  double total = 0.0;
  for (const double mass : integrate_on_lattice(lattice, 10.0, density, everywhere)) total += mass;
  EXPECT_NEAR(total, 2.0 * M_PI, 0.02);
  int asked = 0;
  const auto few = [&](const LatticePoint& point) -> std::optional<double> {
    return ++asked > 4 ? std::nullopt : std::optional(-0.5 * lattice.place(point).squaredNorm());
  };
  EXPECT_EQ(integrate_on_lattice(lattice, 10.0, few, everywhere).size(), 4U);
}

TEST(AxisBend, FollowsPairsAndAlwaysRises) {
  std::vector<std::pair<double, double>> pairs;
  for (const double u : {-2.0, -1.0, 1.0, 2.0}) pairs.emplace_back(u, u * (1.1 + 0.1 * u + 0.02 * u * u));
  const AxisBend bend = fit_bend(pairs);
  for (const auto& [u, z] : pairs) EXPECT_NEAR(bend(u), z, 1e-3);
  EXPECT_NEAR(bend.slope(0.7), (bend(0.7001) - bend(0.6999)) / 0.0002, 1e-6);
  // Wildly different sides.
  const AxisBend steep = fit_bend({{-5.0, -1.5}, {-7.0, -3.0}, {0.3, 1.5}, {0.5, 3.0}});
  for (double u = -5.0; u <= 5.0; u += 0.1) EXPECT_GT(steep.slope(u), 0.0);
  EXPECT_EQ(fit_bend({})(1.3), 1.3);
}

}  // namespace
}  // namespace gaussmith
