// Piecewise quadratic sites against plain sums, differences, and catalogued sites that are special cases.

#include "gaussmith/errors.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gaussmith::testing {
namespace {

/// Pieces with a jump at -1, a kink at 0.5 and a change of curvature at 2.
PiecewiseQuadratic rugged() {
  return {.breaks = {-1.0, 0.5, 2.0},
          .pieces = {{-1.0, 0.7, -0.1}, {0.4, -0.2, 0.3}, {0.775, -0.8, -0.05}, {1.0, -0.9, -0.1125}}};
}

double rugged_piece(int piece, double s) {
  switch (piece) {
    case 0:
      return -1.0 + 0.7 * s - 0.1 * s * s;
    case 1:
      return 0.4 - 0.2 * s + 0.3 * s * s;
    case 2:
      return 0.775 - 0.8 * s - 0.05 * s * s;
    default:
      return 1.0 - 0.9 * s - 0.1125 * s * s;
  }
}
double rugged_value(double s) { return rugged_piece(s < -1.0 ? 0 : s < 0.5 ? 1 : s < 2.0 ? 2 : 3, s); }

/// E[f(s)] by Simpson's rule on each piece: no jump or kink lies inside a panel.
double simpson_expectation(double m, double v) {
  const double reach = 12.0 * std::sqrt(v);
  double low = m - reach;
  double sum = 0.0;
  int piece = 0;
  for (const double end : {-1.0, 0.5, 2.0, m + reach}) {
    const double high = std::min(std::max(end, low), m + reach);
    constexpr int panels = 4000;
    const double h = (high - low) / panels;
    for (int k = 0; k < panels && h > 0.0; ++k) {
      const double a = low + k * h;
      const auto f = [&](double s) { return rugged_piece(piece, s) * normal_density(s, m, v); };
      sum += h / 6.0 * (f(a) + 4.0 * f(a + 0.5 * h) + f(a + h));
    }
    low = high;
    ++piece;
  }
  return sum;
}

TEST(PiecewiseQuadratic, ExpectationIsThatOfAPlainSum) {
  const double y = 0.3;
  const Sites site = observe(rugged(), one(y));
  for (const double m : {-4.0, -1.0, 0.1, 0.5, 1.7, 6.0})
    for (const double v : {0.04, 1.0, 25.0}) {
      const Expectation e = expectation(*site, 0, m + y, v);
      EXPECT_NEAR(e.value, simpson_expectation(m, v), 1e-9 * (1 + std::abs(e.value))) << m << ' ' << v;
      const auto in_mean = [&](double x) { return expectation(*site, 0, x + y, v).value; };
      const auto in_variance = [&](double x) { return expectation(*site, 0, m + y, x).value; };
      EXPECT_NEAR(e.d_mean, difference(in_mean, m, 1e-3 * std::sqrt(v)), 1e-8 * (1 + std::abs(e.d_mean)));
      EXPECT_NEAR(e.d_variance, difference(in_variance, v, 1e-3 * v), 1e-7 * (1 + std::abs(e.d_variance)));
    }
}

TEST(PiecewiseQuadratic, VarianceZeroAndFarBreaksGiveBackTheDensity) {
  const Sites site = observe(rugged(), one(0));
  for (const double m : {-3.0, 0.2, 1.0, 5.0}) {
    const Derivatives d = log_density(*site, 0, m);
    EXPECT_DOUBLE_EQ(d.value, rugged_value(m));
    for (const double v : {0.0, 1e-10}) {
      const Expectation e = expectation(*site, 0, m, v);
      EXPECT_NEAR(e.value, d.value, 1e-9);
      EXPECT_NEAR(e.d_mean, d.first, 1e-8);
      EXPECT_NEAR(e.d_variance, 0.5 * d.second, 1e-8);
    }
  }
  // Nothing but the home piece is left at |eta| = 1e6.
  const Expectation far = expectation(*site, 0, 1e6, 4.0);
  EXPECT_NEAR(far.value, 1.0 - 0.9e6 - 0.1125 * (1e12 + 4.0), 1e-3);
  EXPECT_DOUBLE_EQ(far.d_variance, -0.1125);
}

TEST(PiecewiseQuadratic, HoldsTheLaplaceAndTheGaussian) {
  const double scale = 0.6;
  const PiecewiseQuadratic absolute{
      .breaks = {0.0}, .pieces = {{-std::log(2 * scale), 1 / scale, 0}, {-std::log(2 * scale), -1 / scale, 0}}};
  const Sites mine = observe(absolute, one(0.8));
  const Sites laplace = observe("laplace", one(0.8), {{"scale", one(scale)}});
  EXPECT_TRUE(mine->traits().log_concave);
  EXPECT_FALSE(mine->traits().smooth);
  for (const double m : {-20.0, 0.8, 1.5})
    for (const double v : {1e-3, 2.0, 400.0}) {
      const Expectation a = expectation(*mine, 0, m, v);
      const Expectation b = expectation(*laplace, 0, m, v);
      EXPECT_NEAR(a.value, b.value, 1e-12 * (1 + std::abs(b.value)));
      EXPECT_NEAR(a.d_mean, b.d_mean, 1e-12);
      EXPECT_NEAR(a.d_variance, b.d_variance, 1e-12 * (1 + std::abs(b.d_variance)));
      const Tilted s = tilted(*mine, 0, m, v, 1.0);
      const Tilted t = tilted(*laplace, 0, m, v, 1.0);
      EXPECT_NEAR(s.log_normaliser, t.log_normaliser, 1e-9 * (1 + std::abs(t.log_normaliser)));
      EXPECT_NEAR(s.mean, t.mean, 1e-9 * (1 + std::abs(t.mean)));
      EXPECT_NEAR(s.variance, t.variance, 1e-9 * (1 + t.variance));
    }
  const Sites whole = observe(PiecewiseQuadratic{.pieces = {{0.1, 0.2, -1.5}}}, one(1));
  EXPECT_TRUE(whole->traits().gaussian);
  EXPECT_TRUE(whole->traits().smooth);
  EXPECT_DOUBLE_EQ(expectation(*whole, 0, 1.0, 2.0).value, 0.1 - 3.0);
}

TEST(PiecewiseQuadratic, KnowsWhetherItIsLogConcave) {
  EXPECT_FALSE(observe(rugged(), one(0))->traits().log_concave);
  const auto concave = [](std::vector<PiecewiseQuadratic::Piece> pieces) {
    return observe(PiecewiseQuadratic{.breaks = {1.0}, .pieces = std::move(pieces)}, one(0))->traits().log_concave;
  };
  EXPECT_TRUE(concave({{0, 0, 0}, {1, -1, 0}}));
  EXPECT_TRUE(concave({{0, 1, -0.5}, {1, -0.5, 0}}));
  EXPECT_FALSE(concave({{0, 0, 0}, {-1, 1, 0}}));  // Bends upwards.
  EXPECT_FALSE(concave({{0, 0, 0}, {-1, 0, 0}}));  // Jumps.
}

TEST(PiecewiseQuadratic, RefusesWhatIsNoFunction) {
  const auto message = [](PiecewiseQuadratic f) -> std::string {
    try {
      (void)observe(std::move(f), one(0));
    } catch (const InvalidModel& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({.breaks = {0}, .pieces = {{}}}), "piecewise-quadratic: 1 breaks need 2 pieces, found 1");
  EXPECT_EQ(message({.breaks = {0, 0}, .pieces = {{}, {}, {}}}),
            "piecewise-quadratic: breaks[1] is 0 after 0; expected increasing breaks");
  EXPECT_EQ(message({.breaks = {std::nan("")}, .pieces = {{}, {}}}),
            "piecewise-quadratic: breaks[0] is nan; expected a finite number");
  EXPECT_EQ(message({.pieces = {{0, std::numeric_limits<double>::infinity(), 0}}}),
            "piecewise-quadratic: pieces[0] has a coefficient that is not finite");
  EXPECT_EQ(
      message({.pieces = {{0, 0, 1}}}),
      "piecewise-quadratic: pieces[0] has square 1; expected 0 or less in the outer pieces, or t grows without end");
  EXPECT_THROW((void)observe(PiecewiseQuadratic{.pieces = {{}}}, one(std::nan(""))), InvalidModel);
  const Sites site = observe(rugged(), one(0));
  EXPECT_THROW((void)site->with(one(1), {{"scale", one(1)}}), InvalidModel);
  EXPECT_THROW((void)response(*site, 0, 0.0, 1.0), InvalidOption);
  EXPECT_NEAR(log_value(*site->with(one(1), {}), 0, 2.0), rugged_value(1.0), 1e-15);
}

}  // namespace
}  // namespace gaussmith::testing
