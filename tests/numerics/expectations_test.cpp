#include "numerics/expectations.hpp"

#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace gaussmith {
namespace {

using Expectation = void (*)(std::span<const double>, std::span<const double>, const ExpectationSpans&);

struct Row {
  double mean, variance, value, d_mean, d_variance;
};

// mpmath 1.3, 30 digits; mean and variance are the doubles themselves:
//   mp.dps = 30
//   grid = [mpf(k) * mpf(2)**j for j in range(-3, 24) for k in (-1, 1)] + [mpf(0)]
//   def E(f, m, v):
//       m, v = mpf(m), mpf(v); s = sqrt(v)
//       points = sorted({m + s*k for k in range(-26, 27, 2)} | {x for x in grid if abs(x - m) < 26*s})
//       return quad(lambda x: f(x)*exp(-(x-m)**2/(2*v)), points, maxdegree=8)/sqrt(2*pi*v)
// with f, f' and f''/2; log Phi(x) left of -1e5 from its asymptotic series. Entries below 1e-300 are written as 0.
const std::vector<Row> softplus_rows = {
    {-50.0, 1e-08, 1.9287498576221095563e-22, 1.9287498576221095563e-22, 9.6437492881105477816e-23},
    {0.0, 1e-08, 0.69314718180994530785, 0.5, 0.12499999968750000156},
    {50.0, 1e-08, 50.0, 1.0, 9.6437492881105477816e-23},
    {0.3, 0.25, 0.88408115477507019143, 0.57036578361814843279, 0.11579506896514655132},
    {-2.0, 0.99, 0.18215829413717141004, 0.15514055451795981074, 0.057856522297154147686},
    {1.0, 1, 1.4068562830875309842, 0.6967346701436832882, 0.088971690082432730955},
    {-2.0, 1.01, 0.18331587254621235344, 0.15578367533792109637, 0.057901033180201603365},
    {3.0, 4, 3.1820085406029024902, 0.87040579906542283869, 0.038953894035393526583},
    {-10.0, 9, 0.0028965482002727442196, 0.0025062019366745377037, 0.0010281099937072847256},
    {20.0, 100, 20.094089556326469569, 0.97545500937118988772, 0.0028301626951657607751},
    {-50.0, 10000.0, 19.785446482610373564, 0.30856648577385141851, 0.0017601095143081072302},
    {0.0, 10000.0, 39.900789622233566558, 0.5, 0.0019943833984177901506},
    {50.0, 10000.0, 69.785446482610373564, 0.69143351422614858149, 0.0017601095143081072302},
    {-30.0, 25, 2.1761967911741419819e-8, 2.0759173979961153553e-8, 9.7747559731430177603e-9},
    {7.0, 100000000.0, 3992.9238470462317926, 0.50027925956888116924, 0.000019947108804912676273},
    {-200.0, 10000.0, 0.84995868421824384655, 0.022767896307537173664, 0.00027008802436467095969},
    {800.0, 2, 800.0, 1.0, 0.0},
    {-45.0, 0.5, 3.675546613166337423e-20, 3.6755466131663374229e-20, 1.8377733065831687113e-20},
};

const std::vector<Row> log_ndtr_rows = {
    {-50.0, 1e-08, -1254.831361144417906, 50.019984031905719427, -0.49980047840659566929},
    {0.0, 1e-08, -0.69314718374304416982, 0.79788456189293342655, -0.31830988589686396736},
    {50.0, 1e-08, 0.0, 0.0, 0.0},
    {0.3, 0.25, -0.55142267243814555197, 0.6481173074345474215, -0.27729659176344124757},
    {-2.0, 0.63, -4.0601312802811466859, 2.3933778977233254502, -0.4361956887182106164},
    {-2.0, 0.65, -4.0688529558738233036, 2.3940657465490309618, -0.43597177603464438195},
    {1.0, 1, -0.35934760083045036247, 0.41471585884178450315, -0.18862757209208377777},
    {3.0, 4, -0.17332872647021857246, 0.16859178036281476335, -0.070352514601542134939},
    {-10.0, 9, -57.681703717311743525, 10.109193795450426949, -0.49334135349876826893},
    {20.0, 100, -0.3378662606507433931, 0.097049813270186247717, -0.012655968032233960508},
    {-50.0, 10000.0, -5205.3929505956894947, 69.802030120494409927, -0.34570945985992854994},
    {0.0, 10000.0, -2502.4535953466976488, 39.916498981651705772, -0.25002454587754656318},
    {50.0, 10000.0, -1049.6320659221385679, 19.797506866414856071, -0.15432842937958231599},
    {-30.0, 25, -466.80682046407514387, 30.034260692193332669, -0.49939512692381735482},
    {-30.0, 10, -459.31563104950776213, 30.033637810118768029, -0.49942893507476141103},
    {30.0, 12, -4.6710791351402297375e-17, 1.0971754929561839725e-16, -1.2710867188451235237e-16},
    {-200.0, 10000.0, -24977.11077200085585, 200.85768899134855725, -0.48858754052617325922},
    {-800.0, 2, -320008.60355026087382, 800.0012499999999939, -0.49999921875000001907},
    {7.0, 100000000.0, -24972091.032387065999, 3985.9241878000556972, -0.24986037272563048569},
    {2.0, 1000000000000.0, -249999202123.48881955, 398941.28040813188121, -0.24999960105796960388},
    {9.0, 1, -9.8316778431723124007e-11, 4.5288083226321410606e-10, -1.0190254722463488286e-9},
};

const std::vector<Row> log1p_square_rows = {
    {-50.0, 1e-08, 7.8244459308736238494, -0.039984006397600639974, -0.00039952031982567294182},
    {0.0, 1e-08, 9.9999998500000052092e-9, -5.5142720520878993938e-42, 0.9999999700000015},
    {50.0, 1e-08, 7.8244459308736238494, 0.039984006397600639974, -0.00039952031982567294182},
    {0.3, 0.06, 0.1302995563946383183, 0.48342492580017284298, 0.70514710990319129192},
    {0.3, 0.0626, 0.13212965079530782421, 0.48101882495986670546, 0.70262032169696892178},
    {1.0, 1, 0.84879781810193635432, 0.57732609169214423863, 0.19047451825259115563},
    {-2.0, 0.7, 1.5471323860834677676, -0.76772436112432911643, -0.047413201295318113691},
    {3.0, 4, 2.147157040202375381, 0.50777692321650962688, 0.0063987378591378800874},
    {-10.0, 9, 4.5135962976417707637, -0.21999291186075385147, -0.012848218591805472247},
    {20.0, 100, 5.6824334370084829963, 0.12130330263883610704, -0.0023255177508733537133},
    {-50.0, 10000.0, 8.2019431939846554122, -0.0090971212824806472024, 0.000076158807936973162774},
    {0.0, 10000.0, 7.9649442253719714324, -1.190735166531334315e-39, 0.000098756623528750965286},
    {50.0, 10000.0, 8.2019431939846554122, 0.0090971212824806472024, 0.000076158807936973162774},
    {-30.0, 25, 6.7745515928467292234, -0.068610140000496772441, -0.0012148152264492720281},
    {30.0, 11, 6.791092572293871565, 0.067433390117763469279, -0.0011503661000898793887},
    {0.0, 1e-14, 9.9999999999998500332e-15, 1.227283312275232317e-45, 0.99999999999997},
    {1.0, 1e-14, 0.69314718055994530942, 0.999999999999995, 7.4999999999999999911e-15},
    {0.0, 1000000000000.0, 26.36066077709434467, 1.9879115549368276687e-43, 9.9999874668686268387e-13},
    {3000000.0, 1000000000000.0, 29.685854329227126121, 7.8633367479522038708e-7, -1.7950052611607249397e-13},
    {1000000.0, 1, 27.631021115928548208, 2.0e-6, -9.9999999999999999999e-13},
    {1000000.0, 10000000000.0, 27.620865832574048915, 2.0206323129815898251e-6, -1.031615649182652822e-12},
};

struct Family {
  Expectation expectation;
  const std::vector<Row>* rows;
  double tolerance;
};
const Family families[] = {{softplus_expectation, &softplus_rows, 2e-12},
                           {log_ndtr_expectation, &log_ndtr_rows, 2e-11},
                           {log1p_square_expectation, &log1p_square_rows, 2e-11}};

Row evaluate(Expectation expectation, double mean, double variance) {
  Row row{mean, variance, 0.0, 0.0, 0.0};
  expectation({&mean, 1}, {&variance, 1}, {{&row.value, 1}, {&row.d_mean, 1}, {&row.d_variance, 1}});
  return row;
}

TEST(Expectations, MatchHighPrecisionValues) {
  for (const Family& family : families) {
    for (const Row& expected : *family.rows) {
      const Row row = evaluate(family.expectation, expected.mean, expected.variance);
      const double tolerance = family.tolerance * (1.0 + std::fabs(expected.value));
      EXPECT_NEAR(row.value, expected.value, tolerance) << expected.mean << " " << expected.variance;
      EXPECT_NEAR(row.d_mean, expected.d_mean, tolerance) << expected.mean << " " << expected.variance;
      EXPECT_NEAR(row.d_variance, expected.d_variance, tolerance) << expected.mean << " " << expected.variance;
    }
  }
}

// The same integrals by a brute trapezoidal rule with a step far below the scale of the function.
TEST(Expectations, MatchBruteForceOverTheWholeRange) {
  const auto softplus_function = [](double x) { return softplus(x); };
  const auto log_ndtr_function = [](double x) { return log_ndtr(x); };
  const auto log1p_square_function = [](double x) { return std::log1p(x * x); };
  const auto check = [](Expectation expectation, auto f) {
    for (double mean : {-50.0, -20.0, -6.0, -1.5, 0.0, 0.7, 2.0, 5.0, 11.0, 30.0, 50.0}) {
      for (double deviation : {0.01, 0.2, 0.26, 0.6, 0.79, 0.81, 0.99, 1.01, 2.0, 5.0, 12.0, 40.0}) {
        const double step = std::fmin(0.05, 0.1 / deviation);
        const int half = static_cast<int>(12.5 / step);
        double value = 0.0, first = 0.0, second = 0.0, weight = 0.0;
        const double centre = f(mean);
        for (int j = -half; j <= half; ++j) {
          const double z = step * j;
          const double w = std::exp(-0.5 * z * z);
          const double difference = f(mean + deviation * z) - centre;
          weight += w;
          value += w * difference;
          first += w * z * difference;
          second += w * (z * z - 1.0) * difference;
        }
        const Row row = evaluate(expectation, mean, deviation * deviation);
        const double tolerance = 1e-10 * (1.0 + std::fabs(centre + value / weight));
        EXPECT_NEAR(row.value, centre + value / weight, tolerance) << mean << " " << deviation;
        EXPECT_NEAR(row.d_mean, first / weight / deviation, tolerance) << mean << " " << deviation;
        EXPECT_NEAR(row.d_variance, 0.5 * second / weight / (deviation * deviation), tolerance)
            << mean << " " << deviation;
      }
    }
  };
  check(softplus_expectation, softplus_function);
  check(log_ndtr_expectation, log_ndtr_function);
  check(log1p_square_expectation, log1p_square_function);
}

TEST(Expectations, DerivativesAreThoseOfTheValue) {
  for (const Family& family : families) {
    for (double mean : {-40.0, -3.0, 0.5, 4.0}) {
      for (double variance : {0.05, 0.6, 3.0, 80.0, 5000.0}) {
        const Row row = evaluate(family.expectation, mean, variance);
        const double h = 1e-4;
        const double d_mean = (evaluate(family.expectation, mean + h, variance).value -
                               evaluate(family.expectation, mean - h, variance).value) /
                              (2.0 * h);
        const double k = 1e-4 * variance;
        const double d_variance = (evaluate(family.expectation, mean, variance + k).value -
                                   evaluate(family.expectation, mean, variance - k).value) /
                                  (2.0 * k);
        EXPECT_NEAR(row.d_mean, d_mean, 1e-6 * (1.0 + std::fabs(d_mean)));
        EXPECT_NEAR(row.d_variance, d_variance, 1e-6 * (1.0 + std::fabs(d_variance)));
      }
    }
  }
}

TEST(Expectations, ZeroVarianceGivesTheFunction) {
  for (double x : {-1e6, -700.0, -38.0, -1.0, 0.0, 0.4, 9.0, 700.0, 1e6}) {
    const Row soft = evaluate(softplus_expectation, x, 0.0);
    EXPECT_NEAR(soft.value, softplus(x), 1e-14 * (1.0 + std::fabs(soft.value)));
    EXPECT_NEAR(soft.d_mean, sigmoid(x), 1e-14);
    EXPECT_NEAR(soft.d_variance, 0.5 * sigmoid(x) * sigmoid(-x), 1e-14);
    const Row probit = evaluate(log_ndtr_expectation, x, 0.0);
    const LogNdtrDerivatives d = log_ndtr_derivatives(x);
    EXPECT_NEAR(probit.value, d.value, 1e-14 * (1.0 + std::fabs(d.value)));
    EXPECT_NEAR(probit.d_mean, d.first, 1e-14 * (1.0 + d.first));
    EXPECT_NEAR(probit.d_variance, 0.5 * d.second, 1e-14);
    const Row square = evaluate(log1p_square_expectation, x, 0.0);
    EXPECT_NEAR(square.value, std::log1p(x * x), 1e-14 * (1.0 + square.value));
    EXPECT_NEAR(square.d_mean, 2.0 * x / (1.0 + x * x), 1e-14);
  }
}

TEST(Expectations, ExtremeRowsStayFinite) {
  for (const Family& family : families) {
    for (double mean : {-1e100, -1e10, 0.0, 1e10, 1e100}) {
      for (double variance : {0.0, 1e-300, 1e-14, 1.0, 1e16, 1e200}) {
        const Row row = evaluate(family.expectation, mean, variance);
        EXPECT_TRUE(std::isfinite(row.value)) << mean << " " << variance;
        EXPECT_TRUE(std::isfinite(row.d_mean)) << mean << " " << variance;
        EXPECT_TRUE(std::isfinite(row.d_variance)) << mean << " " << variance;
      }
    }
  }
}

// For v -> inf softplus is a ramp and log Phi is -x^2/2 left of 0: E = sqrt(v/(2 pi)) and -v/4 to leading order, and
// E[log(1 + x^2)] -> log v + E[log z^2] = log v - log 2 - Euler's constant.
TEST(Expectations, VeryWideGaussians) {
  const double v = 1e40;
  EXPECT_NEAR(evaluate(softplus_expectation, 0.0, v).value / std::sqrt(v / 6.28318530717958648), 1.0, 1e-13);
  EXPECT_NEAR(evaluate(log_ndtr_expectation, 0.0, v).value / v, -0.25, 1e-11);
  EXPECT_NEAR(evaluate(log1p_square_expectation, 0.0, v).value, std::log(v) - std::log(2.0) - 0.57721566490153286,
              1e-9);
}

TEST(Expectations, RowsDoNotDependOnTheirNeighbours) {
  std::vector<double> mean, variance;
  for (int i = 0; i < 203; ++i) {
    mean.push_back(7.0 * std::sin(1.7 * i));
    variance.push_back(std::exp(6.0 * std::sin(2.9 * i)));
  }
  const std::size_t n = mean.size();
  for (const Family& family : families) {
    std::vector<double> value(n), d_mean(n), d_variance(n), alone(n);
    family.expectation(mean, variance, {value, d_mean, d_variance});
    family.expectation(mean, variance, {{}, alone, {}});
    EXPECT_EQ(alone, d_mean);
    for (std::size_t i = 0; i < n; ++i) {
      const Row row = evaluate(family.expectation, mean[i], variance[i]);
      EXPECT_EQ(row.value, value[i]);
      EXPECT_EQ(row.d_mean, d_mean[i]);
      EXPECT_EQ(row.d_variance, d_variance[i]);
    }
  }
}

}  // namespace
}  // namespace gaussmith
