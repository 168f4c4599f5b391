// Sites given by log t alone agree with the catalogued ones, and say clearly what they cannot do.

#include "gaussmith/batch_likelihood.hpp"
#include "gaussmith/errors.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace gaussmith::testing {
namespace {

CustomLikelihood copy_of(const Sites& original) {
  CustomLikelihood custom;
  custom.log_density = [original](double eta, double) { return log_value(*original, 0, eta); };
  return custom;
}

void expect_same_site(const SiteBlock& custom, const SiteBlock& original, double tolerance) {
  for (const double m : {-30.0, -2.0, 0.3, 5.0}) {
    for (const double v : {1e-6, 0.2, 30.0, 1e4}) {
      const Expectation a = expectation(custom, 0, m, v), b = expectation(original, 0, m, v);
      EXPECT_NEAR(a.value, b.value, tolerance * (1 + std::abs(b.value))) << m << ' ' << v;
      EXPECT_NEAR(a.d_mean, b.d_mean, 1e-6 * (1 + std::abs(b.d_mean))) << m << ' ' << v;
      for (const double power : {0.5, 1.0}) {
        const Tilted s = tilted(custom, 0, m, v, power), t = tilted(original, 0, m, v, power);
        EXPECT_NEAR(s.log_normaliser, t.log_normaliser, tolerance * (1 + std::abs(t.log_normaliser))) << m << ' ' << v;
        EXPECT_NEAR(s.mean, t.mean, tolerance * (1 + std::abs(t.mean))) << m << ' ' << v;
        EXPECT_NEAR(s.variance, t.variance, tolerance * (1 + t.variance)) << m << ' ' << v;
      }
    }
  }
}

TEST(CustomSite, AgreesWithTheLogitAndTheLaplace) {
  const Sites logit = observe("bernoulli-logit", one(1));
  expect_same_site(*observe(copy_of(logit), one(1)), *logit, 1e-9);
  const Sites laplace = observe("laplace", one(0.7), {{"scale", one(0.4)}});
  CustomLikelihood with_hints = copy_of(laplace);
  with_hints.kinks = [](double y) { return std::vector<double>{y}; };
  with_hints.centre = [](double y) { return y; };
  with_hints.width = 0.4;
  expect_same_site(*observe(with_hints, one(0.7)), *laplace, 1e-9);
}

TEST(CustomSite, StepHasATruncatedGaussian) {
  // log t = 0 for eta < 1, log(1/2) above: Z = 1 - Phi(-a)/2 and its moments in closed form.
  CustomLikelihood step;
  step.log_density = [](double eta, double) { return eta < 1 ? 0.0 : -std::log(2.0); };
  step.kinks = [](double) { return std::vector<double>{1.0}; };
  const Tilted t = tilted(*observe(step, one(0)), 0, 0.0, 1.0, 1.0);
  const double phi = normal_density(1, 0, 1), upper = 0.5 * std::erfc(1 / std::numbers::sqrt2);
  const double z = 1 - 0.5 * upper, mean = -0.5 * phi / z;
  EXPECT_NEAR(t.log_normaliser, std::log(z), 1e-10);
  EXPECT_NEAR(t.mean, mean, 1e-10);
  EXPECT_NEAR(t.variance, (1 - 0.5 * (upper + phi)) / z - mean * mean, 1e-10);
}

TEST(CustomSite, HardWallsMayBeImpossible) {
  CustomLikelihood wall;
  wall.log_density = [](double eta, double) { return eta < 0 ? -std::numeric_limits<double>::infinity() : 0.0; };
  wall.kinks = [](double) { return std::vector<double>{0.0}; };
  const Sites sites = observe(wall, one(0));
  const Tilted t = tilted(*sites, 0, 0.0, 1.0, 1.0);
  EXPECT_NEAR(t.log_normaliser, -std::log(2.0), 1e-10);
  EXPECT_NEAR(t.mean, std::sqrt(2 / std::numbers::pi), 1e-10);
  EXPECT_THROW(expectation(*sites, 0, 0.0, 1.0), InvalidModel);
}

TEST(CustomSite, CentralDifferencesAndExactDerivatives) {
  const Sites original = observe("student-t", one(0.5), {{"nu", one(4)}, {"scale", one(1)}});
  CustomLikelihood smooth = copy_of(original);
  smooth.smooth = true;
  const Sites differences = observe(smooth, one(0.5));
  smooth.derivatives = [original](double eta, double) -> std::array<double, 3> {
    const Derivatives d = log_density(*original, 0, eta);
    return {d.first, d.second, d.third};
  };
  const Sites exact = observe(smooth, one(0.5));
  for (const double eta : {-6.0, -0.4, 0.5, 1.3, 40.0}) {
    const Derivatives d = log_density(*differences, 0, eta), e = log_density(*exact, 0, eta);
    EXPECT_NEAR(d.first, e.first, 1e-10);
    EXPECT_NEAR(d.second, e.second, 1e-9);
    EXPECT_NEAR(d.third, e.third, 1e-7);
  }
}

TEST(CustomSite, ManyNumbersInOneCallGiveTheSameAsOneByOne) {
  const auto log_t = [](double eta, double y) { return -std::abs(eta - y) - 0.1 * std::log1p(eta * eta); };
  CustomLikelihood scalar;
  scalar.log_density = log_t;
  scalar.kinks = [](double y) { return std::vector<double>{y}; };
  scalar.smooth = true;  // It is not at y; the rows are looked at elsewhere.
  int calls = 0;
  BatchLikelihood many{scalar};
  many.log_density = {};
  many.log_densities = [&](ConstSpan eta, ConstSpan y, Span out) {
    ++calls;
    for (std::size_t i = 0; i < eta.size(); ++i) out[i] = log_t(eta[i], y[i]);
  };
  const Vector y = Vector::LinSpaced(40, -2.0, 2.0);
  const Sites one_by_one = observe(scalar, y), together = observe(many, y);

  Vector eta = y.array() + 1.5, first(40), second(40), again(40);
  together->log_density(0, view(std::as_const(eta)), {{}, view(first), view(second), {}});
  EXPECT_EQ(calls, 1);
  one_by_one->log_density(0, view(std::as_const(eta)), {{}, view(again), {}, {}});
  EXPECT_EQ(first, again);

  for (const double m : {-3.0, 0.1, 8.0}) {
    for (const double v : {1e-5, 0.5, 40.0}) {
      calls = 0;
      const Expectation a = expectation(*together, 7, m, v), b = expectation(*one_by_one, 7, m, v);
      EXPECT_EQ(a.value, b.value);
      EXPECT_EQ(a.d_variance, b.d_variance);
      EXPECT_LT(calls, 20) << m << ' ' << v;  // One a round of the integral, not one a point.
      calls = 0;
      const Tilted s = tilted(*together, 7, m, v, 0.7), t = tilted(*one_by_one, 7, m, v, 0.7);
      EXPECT_EQ(s.mean, t.mean);
      EXPECT_EQ(s.variance, t.variance);
      EXPECT_LT(calls, 20) << m << ' ' << v;
    }
  }
  many.all_derivatives = [&](ConstSpan at, ConstSpan, Span d1, Span d2, Span d3) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      d1[i] = at[i];
      d2[i] = -1.0;
      d3[i] = at[i] > 3.0 ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    }
  };
  const Sites with_derivatives = observe(many, y);
  EXPECT_EQ(log_density(*with_derivatives, 3, 2.0).first, 2.0);
  EXPECT_THROW(log_density(*with_derivatives, 3, 4.0), InvalidModel);
}

TEST(CustomSite, ConjugateIsThatOfTheLogitAndInfiniteOutsideItsDomain) {
  const Sites original = observe("bernoulli-logit", one(1));
  const Sites custom = observe(copy_of(original), one(1));
  // -E[log t] has slopes between -1 and 0: beyond there is no maximum, and no infinite eta is asked for.
  for (const double slope : {-0.7, -0.4, 0.5, -1.5, 1e3}) {
    const double growth = 0.05, mean = 0.3, deviation = 0.7;
    double found = 0.0, known = 0.0;
    custom->conjugate(0, {&slope, 1}, {&growth, 1}, {&mean, 1}, {&deviation, 1}, {{&found, 1}, {}, {}});
    original->conjugate(0, {&slope, 1}, {&growth, 1}, {&mean, 1}, {&deviation, 1}, {{&known, 1}, {}, {}});
    if (slope > 0.0 || slope < -1.0) {
      EXPECT_EQ(found, std::numeric_limits<double>::infinity()) << slope;
    } else {
      EXPECT_NEAR(found, known, 1e-7) << slope;
    }
  }
}

TEST(CustomSite, BadValuesNameRowAndEta) {
  CustomLikelihood bad;
  bad.name = "broken";
  bad.smooth = true;
  bad.log_density = [](double eta, double y) { return y > 0 ? std::numeric_limits<double>::quiet_NaN() : -eta * eta; };
  Vector y(2);
  y << 0, 1;
  const Sites sites = observe(bad, y);
  EXPECT_NO_THROW(log_value(*sites, 0, 2.5));
  try {
    log_value(*sites, 1, 2.5);
    FAIL();
  } catch (const InvalidModel& error) {
    EXPECT_STREQ(error.what(), "broken: log density of row 1 at eta = 2.5 is nan; expected a finite number or -inf");
  }
  EXPECT_THROW(tilted(*sites, 1, 0, 1, 1), InvalidModel);
  EXPECT_THROW(expectation(*sites, 1, 0, 1), InvalidModel);
  bad.log_density = [](double, double) { return std::numeric_limits<double>::infinity(); };
  EXPECT_THROW(tilted(*observe(bad, y), 0, 0, 1, 1), InvalidModel);
}

TEST(CustomSite, RefusesWhatItDoesNotKnow) {
  CustomLikelihood custom;
  custom.log_density = [](double eta, double) { return -std::abs(eta); };
  const Sites sites = observe(custom, one(0));
  EXPECT_THROW(response(*sites, 0, 0, 1), InvalidOption);
  EXPECT_THROW(response_cdf(*sites, 0, 0, 1, 0), InvalidOption);
  EXPECT_THROW(response_quantile(*sites, 0, 0, 1, 0.5), InvalidOption);
  EXPECT_THROW(log_density(*sites, 0, 0.5), InvalidOption);
  EXPECT_NO_THROW(log_value(*sites, 0, 0.5));
  double out = 0;
  EXPECT_THROW(sites->bound_shape(0, {&out, 1}, {}), InvalidOption);
  EXPECT_THROW(sites->parameter_expectation(0, 0, {&out, 1}, {&out, 1}, {&out, 1}), InvalidOption);
  EXPECT_THROW((void)sites->with(one(0), {{"scale", one(1)}}), InvalidModel);
  EXPECT_EQ(sites->with(Vector::Zero(3), {})->size(), 3);
  EXPECT_THROW((void)observe(CustomLikelihood{}, one(0)), InvalidModel);
  custom.width = 0;
  EXPECT_THROW((void)observe(custom, one(0)), InvalidModel);
}

}  // namespace
}  // namespace gaussmith::testing
