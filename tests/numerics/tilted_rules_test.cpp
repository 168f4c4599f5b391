#include "numerics/tilted_rules.hpp"

#include "numerics/elementary.hpp"
#include "numerics/special.hpp"

#include "gaussmith/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace gaussmith {
namespace {

using Rule = bool (*)(const TiltedRow&, TiltedMoments&, TiltedNodes*);

// mpmath 1.3, 40 digits: maxima by ternary search, quad() on panels graded by powers of two around each and around
// zero, moments about the largest value. Mean, variance, slope, weight -> log normaliser, mean, variance.
TEST(TiltedRules, MatchHighPrecisionValues) {
  const struct {
    Rule rule;
    TiltedRow row;
    double log_normaliser, mean, variance;
  } cases[] = {
      {exponential_tilted,
       {37.822, 1.375e-08, 0.3, -0.0880665},
       -8822743932.7433215023,
       23.213494039825938736,
       8.8092992607718117089e-10},
      {exponential_tilted, {0, 1e4, 0, -1}, -0.69776260611311432213, -80.149639228816349462, 3622.2817230168310859},
      {exponential_tilted, {50, 1, 3, -1}, -1102.262062744683432, 3.8841738854668186025, 0.020146069847246465865},
      {exponential_tilted, {-50, 1e4, 0.5, -0.5}, -4.7240908827785760474, -1.293735748259348043, 5.0103789855065706371},
      {exponential_tilted, {2, 0.5, 1e6, -1}, 12815364.390782953196, 13.815486426701305807, 1.0000221314605607318e-6},
      {softplus_tilted, {0.3, 2, 0, -1}, -0.80809185432992995247, -0.50664885853946722879, 1.4573829778900127012},
      {softplus_tilted, {-40, 100, 0, -0.5}, -2.8146216697516485614e-5, -40.001167082698624265, 99.954153526047752491},
      {softplus_tilted, {30, 1e4, 300, -1000}, -618.19029345949845195, -0.84823628684204096592, 0.0047684570212034578},
      {softplus_tilted, {1, 1, 4e5, -1e6}, -673018.84887073244019, -0.40545966868851671894, 4.1666489394592165467e-6},
      {softplus_tilted, {5, 1e-8, 0, -1}, -5.0067153435890628907, 4.9999999900669285102, 9.9999999993351945325e-9},
      {log_ndtr_tilted, {-50, 1, 0, 0.5}, -419.08237223378619905, -33.32334231716968308, 0.66686612828158169832},
      {log_ndtr_tilted, {0.5, 1e4, 0, 0.1}, -0.66357286955327351072, 77.887632217263581548, 3720.0491492782572744},
      {log_ndtr_tilted, {3, 2, 0, 0.9}, -0.039093221450392596367, 3.099159018262206025, 1.7892851649573283004},
      {log1p_square_tilted, {10, 1, 0, -2.5}, -11.380602814401375581, 9.4719112783681280911, 1.0591496068278073653},
      {log1p_square_tilted, {45, 100, 0, -1}, -7.4151744940804139903, 39.086956240284859904, 132.20882947025596373},
      {log1p_square_tilted,
       {0.05, 1e-6, 0, -1e6},
       -833.84377408885233676,
       0.016669765059225206667,
       3.3351882675499764e-7},
      {log1p_square_tilted, {500, 1e4, 0, -0.55}, -6.7834872186659055369, 475.51099111164658915, 10645.132695080770361},
      {log1p_square_tilted, {7, 1e-8, 0, -3}, -11.73606901218043817, 6.9999999915999999888, 1.0000000011520000255e-8},
      // A second mode, or a bend far out in the Gaussian's tail, that shows only in the last digits.
      {log1p_square_tilted,
       {-36.2161, 257.6, 0, -5.25},
       -6.4198427052192179,
       -0.01873937012293221974,
       0.13341801045511774},
      {log1p_square_tilted,
       {306.341, 427.1, 0, -9.45},
       -107.24485963654057418,
       276.77794710060609996,
       543.97985435527452},
      {softplus_tilted, {-173.22, 875, 0, -0.5}, -2.0149952056946527e-9, -173.22000035915707555, 874.99993769244202153},
      {softplus_tilted,
       {-12.5085, 3.897, 0, -31.8},
       -8.1120740572709020e-4,
       -12.511616111967674554,
       3.8851705859383282269},
      {log_ndtr_tilted, {371.181, 3799, 0, 0.9}, -8.5675660510635834e-10, 371.18100032634454801, 3798.999878869448838},
  };
  for (const auto& c : cases) {
    TiltedMoments found;
    const auto what = " m=" + std::to_string(c.row.mean) + " v=" + std::to_string(c.row.variance);
    ASSERT_TRUE(c.rule(c.row, found, nullptr)) << what;
    EXPECT_NEAR(found.log_normaliser, c.log_normaliser, 1e-12 * (1 + std::abs(c.log_normaliser))) << what;
    EXPECT_NEAR(found.mean, c.mean, 1e-14 * std::abs(c.mean) + 1e-11 * std::sqrt(c.variance)) << what;
    EXPECT_NEAR(found.variance / c.variance, 1.0, 1e-11) << what;
  }
}

SiteDerivatives exponential(double x) {
  const double e = std::exp(x);
  return {e, e, e};
}
SiteDerivatives logistic(double x) { return {softplus(x), sigmoid(x), sigmoid(x) * sigmoid(-x)}; }
SiteDerivatives probit(double x) {
  const LogNdtrDerivatives d = log_ndtr_derivatives(x);
  return {d.value, d.first, d.second};
}

// Random rows, hard ones too, against the adaptive quadrature. The rule may refuse a few, but it must not be wrong.
struct Tally {
  int rows = 0, refused = 0, compared = 0;
};
void compare(Rule rule, SiteDerivatives (*f)(double), const TiltedRow& row, Tally& tally) {
  ++tally.rows;
  TiltedMoments quick;
  if (!rule(row, quick, nullptr)) {
    ++tally.refused;
    return;
  }
  TiltedMoments slow;
  if (f == nullptr) {
    const Feature feature{0.0, 1.0};
    slow = tilted_moments([&](double x) { return row.weight * std::log1p(x * x); }, row.mean, row.variance, 1.0,
                          {&feature, 1});
  } else {
    const auto site = [&](double x) -> SiteDerivatives {
      const SiteDerivatives d = f(x);
      return {row.slope * x + row.weight * d.value, row.slope + row.weight * d.first, row.weight * d.second};
    };
    slow = tilted_moments_unimodal(site, row.mean, row.variance, 1.0);
  }
  if (!slow.converged) return;
  ++tally.compared;
  const auto what = "m=" + std::to_string(row.mean) + " v=" + std::to_string(row.variance) +
                    " slope=" + std::to_string(row.slope) + " weight=" + std::to_string(row.weight);
  EXPECT_NEAR(quick.log_normaliser, slow.log_normaliser, 2e-10 * (1 + std::abs(slow.log_normaliser))) << what;
  EXPECT_NEAR(quick.mean, slow.mean, 2e-10 * (1 + std::abs(slow.mean))) << what;
  EXPECT_NEAR(quick.variance, slow.variance, 2e-10 * (1 + slow.variance)) << what;
  // Narrow densities far from m cost the adaptive route digits of the exponent.
  const double digits = 1e-15 * std::abs(slow.log_normaliser);
  EXPECT_NEAR(quick.variance / slow.variance, 1.0, 2e-9 + 100 * digits) << what;
}

TEST(TiltedRules, AgreeWithAdaptiveQuadratureOrRefuse) {
  Random random(11);
  Tally log_concave, ordinary, far;
  const double powers[] = {0.1, 0.5, 0.9, 1.0};
  for (int i = 0; i < 600; ++i) {
    const double power = powers[i % 4];
    const double v = std::pow(10.0, 12 * random.uniform() - 8);
    // In turns within [-50, 50] and up to 50 deviations away.
    const double m = (100 * random.uniform() - 50) * (i % 8 < 4 ? 1.0 : std::sqrt(v));
    const double count = std::floor(20 * random.uniform() * random.uniform());
    const double trials = std::floor(std::pow(10.0, 3 * random.uniform()));
    if (m < 200) {
      compare(exponential_tilted, exponential, {m, v, power * count, -power}, log_concave);
      compare(exponential_tilted, exponential, {m, v, 0.0, -power}, log_concave);
    }
    if (std::abs(m) < 500) {
      compare(softplus_tilted, logistic, {m, v, 0.0, -power}, log_concave);
      compare(softplus_tilted, logistic, {m, v, power * std::floor(trials * random.uniform()), -power * trials},
              log_concave);
    }
    compare(log_ndtr_tilted, probit, {m, v, 0.0, power}, log_concave);
    const double freedom[] = {1.0, 2.5, 4.0, 9.0, 30.0};
    const double weight = -0.5 * power * (freedom[i % 5] + 1);
    compare(log1p_square_tilted, nullptr, {0.1 * m, std::pow(10.0, 8 * random.uniform() - 4), 0.0, weight}, ordinary);
    compare(log1p_square_tilted, nullptr, {m, v, 0.0, weight}, far);
  }
  EXPECT_EQ(log_concave.refused, 0);
  EXPECT_EQ(ordinary.refused, 0);
  EXPECT_LT(far.refused, 0.03 * far.rows);
  EXPECT_GT(log_concave.compared, 0.9 * log_concave.rows);
  EXPECT_GT(far.compared, 0.9 * far.rows);
}

TEST(TiltedRules, NodesReproduceTheMoments) {
  for (const Rule rule : {exponential_tilted, softplus_tilted, log1p_square_tilted}) {
    for (const double m : {-2.0, 0.0, 3.0}) {
      TiltedMoments moments;
      TiltedNodes nodes;
      ASSERT_TRUE(rule({m, 1.5, 0.0, -1.2}, moments, &nodes));
      double total = 0, mean = 0, square = 0;
      for (std::size_t j = 0; j < nodes.x.size(); ++j) {
        total += nodes.weight[j];
        mean += nodes.weight[j] * nodes.x[j];
        square += nodes.weight[j] * nodes.x[j] * nodes.x[j];
      }
      EXPECT_NEAR(total, 1.0, 1e-13);
      EXPECT_NEAR(mean, moments.mean, 1e-13);
      EXPECT_NEAR(square - mean * mean, moments.variance, 1e-13);
    }
  }
}

TEST(TiltedRules, RefuseWhatTheyCannotResolve) {
  TiltedMoments moments;
  const double infinity = std::numeric_limits<double>::infinity();
  // Beyond the range of exponentials, and a near-normal site 40 deviations from the Gaussian.
  EXPECT_FALSE(softplus_tilted({-1e4, 1e4, 0.0, -1.0}, moments));
  EXPECT_FALSE(log1p_square_tilted({963, 559, 0.0, -68}, moments));
  EXPECT_FALSE(exponential_tilted({infinity, 1.0, 0.0, -1.0}, moments));
  EXPECT_FALSE(log_ndtr_tilted({-infinity, 1.0, 0.0, 1.0}, moments));
}

TEST(Elementary, Expm1KeepsSmallArguments) {
  for (double x = 1e-12; x < 800; x *= 1.07) {
    for (const double sign : {-1.0, 1.0}) {
      const double exact = std::expm1(sign * x);
      const double scale = std::abs(x) < 0.34 ? std::abs(exact) : std::max(1.0, std::abs(exact));
      if (x > 709) {
        EXPECT_EQ(elementary::expm1(sign * x), exact) << sign * x;
      } else {
        EXPECT_NEAR(elementary::expm1(sign * x), exact, 5e-16 * scale) << sign * x;
      }
    }
  }
}

}  // namespace
}  // namespace gaussmith
