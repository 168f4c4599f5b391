// Truncated Taylor arithmetic against derivatives known in closed form and against central differences.

#include "numerics/taylor3.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

// A formula called with double and with Taylor3: each derivative is the difference of the one before.
template <class F>
void expect_consistent(F&& f, double x, const char* what) {
  const Taylor3 t = f(Taylor3::variable(x));
  const double h = 1e-3 * std::max(1.0, std::abs(x));
  const auto difference = [&](auto pick) {
    const auto at = [&](double step) { return pick(f(Taylor3::variable(x + step))); };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  };
  EXPECT_DOUBLE_EQ(t.value, f(x)) << what;
  EXPECT_NEAR(t.first, difference([](const Taylor3& g) { return g.value; }), 1e-8 * (1 + std::abs(t.first))) << what;
  EXPECT_NEAR(t.second, difference([](const Taylor3& g) { return g.first; }), 1e-8 * (1 + std::abs(t.second))) << what;
  EXPECT_NEAR(t.third, difference([](const Taylor3& g) { return g.second; }), 1e-8 * (1 + std::abs(t.third))) << what;
}

TEST(Taylor3, ElementaryFunctions) {
  using std::abs, std::exp, std::log, std::log1p, std::pow, std::sqrt;
  for (const double x : {0.4, 1.7, 3.2}) {
    expect_consistent([](const auto& a) { return exp(a); }, x, "exp");
    expect_consistent([](const auto& a) { return log(a); }, x, "log");
    expect_consistent([](const auto& a) { return log1p(a); }, x, "log1p");
    expect_consistent([](const auto& a) { return sqrt(a); }, x, "sqrt");
    expect_consistent([](const auto& a) { return pow(a, 1.3); }, x, "pow");
    expect_consistent([](const auto& a) { return softplus(a); }, x, "softplus");
    expect_consistent([](const auto& a) { return log_ndtr(a); }, x, "log_ndtr");
    expect_consistent([](const auto& a) { return log_ndtr(-3.0 * a); }, x, "log_ndtr");
    expect_consistent([](const auto& a) { return abs(1.0 - a); }, x, "abs");
    expect_consistent([](const auto& a) { return (2.0 - a) / (1.0 + a * a) - 3.0 / a + a / 4.0; }, x, "rational");
    expect_consistent([](const auto& a) { return exp(-(a * a)) * log(1.0 + a) + sqrt(a + 2.0) - 1.0; }, x, "mixed");
  }
}

TEST(Taylor3, KnownValues) {
  const Taylor3 x = Taylor3::variable(2.0);
  const Taylor3 s = square(x);
  EXPECT_EQ(s.value, 4.0);
  EXPECT_EQ(s.first, 4.0);
  EXPECT_EQ(s.second, 2.0);
  EXPECT_EQ(s.third, 0.0);
  const Taylor3 r = 1.0 / x;
  EXPECT_DOUBLE_EQ(r.third, -6.0 / 16.0);
  const Taylor3 p = softplus(Taylor3::variable(0.0));
  EXPECT_DOUBLE_EQ(p.value, std::log(2.0));
  EXPECT_DOUBLE_EQ(p.first, 0.5);
  EXPECT_DOUBLE_EQ(p.second, 0.25);
  EXPECT_DOUBLE_EQ(p.third, 0.0);
}

TEST(Taylor3, TailsOfSoftplusKeepTheirDigits) {
  const Taylor3 left = softplus(Taylor3::variable(-700.0));
  EXPECT_DOUBLE_EQ(left.third, std::exp(-700.0));
  const Taylor3 right = softplus(Taylor3::variable(700.0));
  EXPECT_DOUBLE_EQ(right.second, std::exp(-700.0));
  EXPECT_DOUBLE_EQ(right.third, -std::exp(-700.0));
}

}  // namespace
}  // namespace gaussmith
