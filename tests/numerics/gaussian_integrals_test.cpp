#include "numerics/gaussian_integrals.hpp"

#include "numerics/expectations.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace gaussmith {
namespace {

TEST(TiltedMoments, OfASiteThatVanishesEverywhereEndAndSaySo) {
  const TiltedMoments moments =
      tilted_moments([](double) { return -std::numeric_limits<double>::infinity(); }, 0.3, 2.0, 1.0, {}, {});
  EXPECT_FALSE(moments.converged);
  EXPECT_EQ(moments.log_normaliser, -std::numeric_limits<double>::infinity());
}

// Tilted references: mpmath 1.3, 30 digits.
//   def tilted(log_site, m, v, power, points):
//       g = lambda x: power*log_site(x) - (x - m)**2/(2*v)
//       top = max(g(q) for q in points); w = lambda x: exp(g(x) - top)
//       z = quad(w, points, maxdegree=9); a = quad(lambda x: x*w(x), points, maxdegree=9)/z
//       c = quad(lambda x: (x - a)**2*w(x), points, maxdegree=9)/z
//       return top + log(z) - log(2*pi*v)/2, a, c
// with points graded by powers of two around the site and by multiples of the deviation around m and the mode.

void expect_moments(const TiltedMoments& actual, double log_normaliser, double mean, double variance,
                    double tolerance = 1e-10) {
  EXPECT_TRUE(actual.converged);
  EXPECT_NEAR(actual.log_normaliser, log_normaliser, tolerance * (1.0 + std::fabs(log_normaliser)));
  EXPECT_NEAR(actual.mean, mean, tolerance * (1.0 + std::fabs(mean)));
  EXPECT_NEAR(actual.variance, variance, tolerance * (1.0 + variance));
  // Narrow densities too: the variance has its own scale.
  EXPECT_NEAR(actual.variance / variance, 1.0, 1e-8);
}

SiteDerivatives logit(double x) {
  const double p = sigmoid(x);
  return {log_sigmoid(x), sigmoid(-x), -p * sigmoid(-x)};
}

SiteDerivatives poisson(double x, double y) {
  const double rate = std::exp(x);
  return {y * x - rate - log_gamma(y + 1.0), y - rate, -rate};
}

struct StudentT {
  double y, nu, scale;
  double operator()(double x) const {
    const double z = (y - x) / scale;
    return log_gamma(0.5 * (nu + 1.0)) - log_gamma(0.5 * nu) - 0.5 * std::log(nu * 3.14159265358979323846) -
           std::log(scale) - 0.5 * (nu + 1.0) * std::log1p(z * z / nu);
  }
};

TEST(TiltedMoments, StudentTWithTwoModes) {
  // m, v, power, y, nu, scale -> log normaliser, mean, variance
  const double rows[][9] = {
      {0, 1, 1, 10, 4, 0.1, -18.078429075884748567, 0.53448558127212019168, 1.061496773322539152},
      {0, 1, 1, 8, 3, 0.05, -15.936579212261450557, 0.54788414682832644208, 1.0834718517654865724},
      {0, 1e4, 1, 5, 3, 0.001, -5.5253587193423863563, 4.9999999985000414411, 2.9999171868671835813e-6},
      {50, 1e4, 0.5, -50, 4, 0.01, -7.2500442599239056393, -49.999450749439508151, 0.065913292694666943964},
      {0, 1e-8, 1, 3, 4, 0.1, -12.229581641691131224, 1.6592920462975269695e-8, 1.0000000054820269121e-8},
      {-50, 4, 0.9, -20, 2, 0.5, -10.409047818545494613, -49.634062891567771462, 4.0504358419961810831},
      {0, 1, 1, 0.3, 5, 0.2, -0.99203848570178420108, 0.28278200292822903321, 0.057599573603762153632},
      {1, 100, 1, 60, 1, 0.3, -10.406605164327511484, 4.7702132874068339818, 108.23847432863302805}};
  for (const auto& r : rows) {
    const StudentT site{r[3], r[4], r[5]};
    const Feature feature{r[3], r[5]};
    expect_moments(tilted_moments(site, r[0], r[1], r[2], {&feature, 1}), r[6], r[7], r[8]);
  }
}

TEST(TiltedMoments, LogitBothRoutes) {
  const double rows[][6] = {{0, 1, 1, -0.69314718055994530942, 0.41324192828381407452, 0.82923110870827506522},
                            {-50, 1e4, 1, -1.1758179458130159305, 64.082999642293794487, 2687.3435408609797248},
                            {50, 1e4, 1, -0.36898827967814278295, 100.9118947257863058, 4863.2212794927958343},
                            {0, 1e4, 0.5, -0.68215271702069854081, 78.882522830426877673, 3668.3217775943138959},
                            {-50, 1e-8, 1, -49.999999995, -49.99999999, 1.0000000000000000209e-8},
                            {50, 1e-8, 1, -1.9287498617993022473e-22, 50.0, 1.0000000000000000209e-8},
                            {0, 1e-8, 0.7, -0.48520302665446168502, 3.4999999938749998772e-9, 9.9999999825000002836e-9},
                            {-30, 9, 1, -25.500000068225623068, -21.00000061378366238, 8.9999944800909290684},
                            {5, 100, 1, -0.37301568569990292594, 10.050761622467227483, 50.027193473637478914},
                            {-50, 25, 1, -37.500001863328322034, -25.00003958226815269, 24.999185466311879399},
                            {3, 1e8, 1, -0.69290784384254956627, 7979.9357156389238405, 36344565.782204505156}};
  const Feature feature{0.0, 1.0};
  for (const auto& r : rows) {
    expect_moments(tilted_moments_unimodal(logit, r[0], r[1], r[2]), r[3], r[4], r[5]);
    expect_moments(tilted_moments([](double x) { return log_sigmoid(x); }, r[0], r[1], r[2], {&feature, 1}), r[3], r[4],
                   r[5]);
  }
}

TEST(TiltedMoments, PoissonBothRoutes) {
  const double rows[][7] = {{0, 1, 1, 3, -2.5165349937284746016, 0.68726567160102035685, 0.32280602686900135417},
                            {-50, 1e4, 1, 0, -0.37191459584294489898, -101.21092936263346553, 4846.8655329906296222},
                            {50, 4, 1, 2, -291.80694388239769728, 2.5925748709334644033, 0.073387936393652605609},
                            {0, 1e4, 1, 1000, -12.434249556678162219, 6.9072545046276950427, 0.0010005007578832954672},
                            {-50, 1e-8, 1, 1000, -55912.123178488163349, -49.99999, 1.0000000000000000209e-8},
                            {2, 100, 0.5, 1e6, -13.475144889400672044, 13.815509321653510106, 2.0000024326225850213e-6},
                            {5, 0.01, 1, 20, -54.076869898890094483, 4.3907544574310202424, 0.0055302168645030770826}};
  for (const auto& r : rows) {
    const double y = r[3];
    const Feature feature{std::log(y + 0.5), 1.0 / std::sqrt(y + 1.0)};
    expect_moments(tilted_moments_unimodal([y](double x) { return poisson(x, y); }, r[0], r[1], r[2]), r[4], r[5],
                   r[6]);
    expect_moments(tilted_moments([y](double x) { return poisson(x, y).value; }, r[0], r[1], r[2], {&feature, 1}), r[4],
                   r[5], r[6]);
  }
}

TEST(TiltedMoments, LaplaceSiteWithAKink) {
  const double rows[][8] = {
      {0, 1, 1, 0.3, 0.5, -1.1235963951331279729, 0.22352696617544976419, 0.25759794770308969969},
      {0, 1e4, 1, 20, 0.001, -5.5441087192887641098, 19.999999996000000002, 1.999999999024000084e-6},
      {-50, 1e-8, 1, 50, 0.01, -9996.0879269945716458, -49.999999, 1.0000000000000000209e-8}};
  for (const auto& r : rows) {
    const double y = r[3], scale = r[4];
    const auto site = [=](double x) { return -std::fabs(x - y) / scale - std::log(2.0 * scale); };
    const Feature feature{y, scale};
    expect_moments(tilted_moments(site, r[0], r[1], r[2], {&feature, 1}, {&y, 1}), r[5], r[6], r[7]);
    expect_moments(tilted_moments(site, r[0], r[1], r[2], {&feature, 1}), r[5], r[6], r[7]);
  }
}

// A Gaussian site of variance c: Z = N(y | m, v + c), posterior precision 1/v + 1/c.
TEST(TiltedMoments, GaussianSitesDownToMinusAMillion) {
  for (double y : {0.0, 3.0, 1500.0}) {
    for (double m : {-50.0, 0.0, 50.0}) {
      for (double v : {1e-8, 1e-2, 1.0, 1e4}) {
        for (double c : {1e-6, 1.0, 1e3}) {
          if ((y - m) * (y - m) / (v + c) > 5e6) continue;
          const double variance = v / (v + c) * c;
          const double mean = m + v / (v + c) * (y - m);
          const Feature feature{y, std::sqrt(c)};
          const auto site = [=](double x) { return normal_log_density(x, y, c); };
          const auto derivatives = [=](double x) {
            return SiteDerivatives{normal_log_density(x, y, c), (y - x) / c, -1.0 / c};
          };
          const double log_normaliser = normal_log_density(y, m, v + c);
          expect_moments(tilted_moments(site, m, v, 1.0, {&feature, 1}), log_normaliser, mean, variance, 1e-9);
          expect_moments(tilted_moments_unimodal(derivatives, m, v, 1.0), log_normaliser, mean, variance, 1e-9);
        }
      }
    }
  }
}

// t(x) = 1 for x > a, e^-cost else: Z = Phi(-b) + e^-cost Phi(b), b = (a - m)/s; the jump's place is not told.
TEST(TiltedMoments, JumpAtAnUnknownPlace) {
  const double a = 0.37, cost = 3.0;
  for (double m : {-2.0, 0.0, 1.0}) {
    for (double v : {0.04, 1.0, 30.0}) {
      const double s = std::sqrt(v), b = (a - m) / s, q = std::exp(-cost);
      const double z = ndtr(-b) + q * ndtr(b);
      const double density = std::exp(normal_log_density(b, 0.0, 1.0));
      const double first = (1.0 - q) * density / z;
      const double second = 1.0 + (1.0 - q) * b * density / z;
      const auto site = [=](double x) { return x > a ? 0.0 : -cost; };
      expect_moments(tilted_moments(site, m, v, 1.0), std::log(z), m + s * first, v * (second - first * first));
      expect_moments(tilted_moments(site, m, v, 1.0, {}, {&a, 1}), std::log(z), m + s * first,
                     v * (second - first * first));
    }
  }
}

TEST(TiltedMoments, SiteThatForbidsHalfTheLine) {
  // Truncation at 0 of N(-3, 1): Z = Phi(-3), mean = -3 + mills(-3).
  const double zero = 0.0;
  const auto site = [](double x) { return x > 0.0 ? 0.0 : -INFINITY; };
  const double r = mills(-3.0);
  expect_moments(tilted_moments(site, -3.0, 1.0, 1.0, {}, {&zero, 1}), log_ndtr(-3.0), -3.0 + r, 1.0 - r * (r - 3.0));
}

TEST(TiltedExpectation, AgreesWithTheMoments) {
  const StudentT site{8.0, 3.0, 0.05};
  const Feature feature{8.0, 0.05};
  const TiltedMoments moments = tilted_moments(site, 0.0, 1.0, 1.0, {&feature, 1});
  const auto identity = [](double x) { return x; };
  const auto squared = [&](double x) { return (x - moments.mean) * (x - moments.mean); };
  EXPECT_NEAR(tilted_expectation(identity, site, 0.0, 1.0, 1.0, {&feature, 1}), moments.mean, 1e-10);
  EXPECT_NEAR(tilted_expectation(squared, site, 0.0, 1.0, 1.0, {&feature, 1}), moments.variance, 1e-10);
  const TiltedMoments smooth = tilted_moments_unimodal(logit, 1.0, 4.0, 0.8);
  EXPECT_NEAR(tilted_expectation_unimodal(identity, logit, 1.0, 4.0, 0.8), smooth.mean, 1e-10);
  // d log Z / d power = E[log t] under the tilted density.
  const double h = 1e-4;
  const double slope = (tilted_moments_unimodal(logit, 1.0, 4.0, 0.8 + h).log_normaliser -
                        tilted_moments_unimodal(logit, 1.0, 4.0, 0.8 - h).log_normaliser) /
                       (2.0 * h);
  EXPECT_NEAR(tilted_expectation_unimodal([](double x) { return log_sigmoid(x); }, logit, 1.0, 4.0, 0.8), slope, 1e-8);
}

// d log Z/dm = (mean - m)/v and d^2 log Z/dm^2 = (variance - v)/v^2.
TEST(TiltedMoments, AreDerivativesOfTheLogNormaliser) {
  const StudentT site{2.0, 4.0, 0.2};
  const Feature feature{2.0, 0.2};
  const double h = 1e-3;
  for (double m : {-1.0, 0.5, 1.9}) {
    const auto at = [&](double mean) { return tilted_moments(site, mean, 0.5, 0.9, {&feature, 1}); };
    const TiltedMoments centre = at(m), up = at(m + h), down = at(m - h);
    EXPECT_NEAR((centre.mean - m) / 0.5, (up.log_normaliser - down.log_normaliser) / (2.0 * h), 1e-4);
    EXPECT_NEAR((centre.variance - 0.5) / 0.25,
                (up.log_normaliser - 2.0 * centre.log_normaliser + down.log_normaliser) / (h * h), 1e-4);
  }
}

TEST(TiltedMoments, UnimodalRouteIsCheap) {
  for (double m : {-4.0, 0.0, 4.0}) {
    for (double v : {1e-6, 0.1, 1.0, 4.0}) {
      int calls = 0;
      const auto counted = [&](double x) {
        ++calls;
        return logit(x);
      };
      EXPECT_TRUE(tilted_moments_unimodal(counted, m, v, 1.0).converged);
      EXPECT_LE(calls, 200);
    }
  }
}

void expect_expectation(const GaussianExpectation& actual, double value, double d_mean, double d_variance,
                        double tolerance) {
  EXPECT_TRUE(actual.converged);
  EXPECT_NEAR(actual.value, value, tolerance * (1.0 + std::fabs(value)));
  EXPECT_NEAR(actual.d_mean, d_mean, tolerance * (1.0 + std::fabs(d_mean)));
  EXPECT_NEAR(actual.d_variance, d_variance, tolerance * (1.0 + std::fabs(d_variance)));
}

TEST(ExpectationByQuadrature, SmoothSitesMatchTheBatchRoutes) {
  using BatchExpectation = void (*)(std::span<const double>, std::span<const double>, const ExpectationSpans&);
  struct Case {
    BatchExpectation batch;
    double (*f)(double);
  };
  const Case cases[] = {{softplus_expectation, [](double x) { return softplus(x); }},
                        {log_ndtr_expectation, [](double x) { return log_ndtr(x); }},
                        {log1p_square_expectation, [](double x) { return std::log1p(x * x); }}};
  const Feature feature{0.0, 1.0};
  for (const Case& c : cases) {
    for (double m : {-50.0, -7.0, 0.0, 1.3, 50.0}) {
      for (double v : {0.0, 1e-14, 1e-8, 1e-5, 1e-3, 0.1, 1.0, 30.0, 1e4}) {
        double value = 0.0, d_mean = 0.0, d_variance = 0.0;
        c.batch({&m, 1}, {&v, 1}, {{&value, 1}, {&d_mean, 1}, {&d_variance, 1}});
        SCOPED_TRACE(testing::Message() << (&c - cases) << " m " << m << " v " << v);
        expect_expectation(expectation_by_quadrature(c.f, m, v, {&feature, 1}), value, d_mean, d_variance, 1e-9);
        expect_expectation(expectation_by_quadrature(c.f, m, v), value, d_mean, d_variance, 1e-9);
      }
    }
  }
}

// f = |x - a|/b: E = (2 r(m - a) - (m - a))/b with the ramp r(d) = d Phi(d/s) + s phi(d/s).
TEST(ExpectationByQuadrature, KnownAndUnknownKinks) {
  const double a = 0.7;
  for (double b : {1.0, 1e-3}) {
    for (double m : {-50.0, 0.0, 0.7, 0.70003, 3.0}) {
      for (double v : {1e-8, 1e-2, 1.0, 1e4}) {
        const double s = std::sqrt(v), d = m - a, z = d / s;
        const double density = std::exp(normal_log_density(z, 0.0, 1.0));
        const double value = (2.0 * (d * ndtr(z) + s * density) - d) / b;
        const double d_mean = (2.0 * ndtr(z) - 1.0) / b;
        const double d_variance = density / s / b;
        const auto f = [=](double x) { return std::fabs(x - a) / b; };
        SCOPED_TRACE(testing::Message() << b << " " << m << " " << v);
        const Feature feature{a, b};
        expect_expectation(expectation_by_quadrature(f, m, v, {&feature, 1}, {&a, 1}), value, d_mean, d_variance, 1e-9);
        expect_expectation(expectation_by_quadrature(f, m, v), value, d_mean, d_variance, 1e-9);
      }
    }
  }
}

TEST(ExpectationByQuadrature, JumpsAndGrowth) {
  // f = 1 right of 0.2: E = Phi(z), z = (m - 0.2)/s.
  for (double v : {0.01, 1.0, 400.0}) {
    const double s = std::sqrt(v), z = (0.5 - 0.2) / s;
    const double density = std::exp(normal_log_density(z, 0.0, 1.0));
    expect_expectation(expectation_by_quadrature([](double x) { return x > 0.2 ? 1.0 : 0.0; }, 0.5, v), ndtr(z),
                       density / s, -0.5 * z * density / v, 1e-9);
  }
  // f = e^x: E = e^(m + v/2), derivatives E and E/2, also where the mass sits ten deviations out.
  for (double v : {1e-10, 1e-4, 1.0, 25.0, 100.0}) {
    const double expected = std::exp(-3.0 + 0.5 * v);
    const GaussianExpectation actual = expectation_by_quadrature([](double x) { return std::exp(x); }, -3.0, v);
    EXPECT_NEAR(actual.value / expected, 1.0, 1e-9);
    EXPECT_NEAR(actual.d_mean / expected, 1.0, 1e-8);
    EXPECT_NEAR(actual.d_variance / (0.5 * expected), 1.0, 1e-7);
  }
}

TEST(ExpectationByQuadrature, NarrowFeatureInAWideGaussian) {
  // f = e^(-(x - 5)^2/(2 w^2)): E = w/t e^(-(5 - m)^2/(2 t^2)), t^2 = w^2 + v.
  const double w = 1e-4, m = -3.0, v = 1e4;
  const Feature feature{5.0, w};
  const double t = std::sqrt(w * w + v);
  const double expected = w / t * std::exp(-0.5 * 64.0 / (t * t));
  const auto f = [=](double x) { return std::exp(-0.5 * (x - 5.0) * (x - 5.0) / (w * w)); };
  EXPECT_NEAR(expectation_by_quadrature(f, m, v, {&feature, 1}).value / expected, 1.0, 1e-6);
}

}  // namespace
}  // namespace gaussmith
