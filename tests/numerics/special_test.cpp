#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

// All constants: mpmath 1.3 at 60 digits (120 left of -50), arguments are the doubles themselves.
//   Phi = lambda x: erfc(-mpf(x)/sqrt(2))/2
//   phi = lambda x: exp(-mpf(x)**2/2)/sqrt(2*pi)
//   r = phi(x)/Phi(x); [log(Phi(x)), r, -r*(x + r), r*(x*x - 1 + 3*x*r + 2*r*r)]
//   exp(x**2)*erfc(x); log1p(exp(x)); loggamma(x); digamma(x); psi(1, x); findroot(lambda x: log(Phi(x)) - log(p), x0)
//   loggamma(n + 1) - loggamma(k + 1) - loggamma(n - k + 1)

void expect_relative(double actual, double expected, double tolerance) {
  if (expected == 0.0) {
    EXPECT_NEAR(actual, 0.0, tolerance);
  } else {
    EXPECT_NEAR(actual / expected, 1.0, tolerance) << actual << " is not " << expected;
  }
}

TEST(Special, LogNdtrAndItsDerivatives) {
  const double rows[][5] = {
      {-100000.0, -5000000012.4318639983, 100000.00001, -0.99999999990000000006, 1.999999997600000003e-15},
      {-1000.0, -500007.82669481218431, 1000.00099999800001, -0.99999900000599995, 1.9999760002999958561e-9},
      {-100, -5005.5242086942050886, 100.00999800099926071, -0.99990005995005173655, 1.9976029958623432462e-6},
      {-38.6, -749.5528608462078321, 38.625872076797899818, -0.99933152875671450986, 0.000034497328391538898565},
      {-20, -203.91715537109726394, 20.049753068527850542, -0.9975367383849478364, 0.00024272657893584202383},
      {-8, -35.013437159914549896, 8.1213681122361126807, -0.98567511655665908982, 0.0032918765663441355071},
      {-4.1, -10.787431773744635137, 4.3210275835811558315, -0.95506628538646527107, 0.016936172940954081147},
      {-4, -10.360101486527290828, 4.2256071444894710728, -0.95332716160257736883, 0.017856339307658425968},
      {-3.9, -9.9423043916913563162, 4.1303653209081121449, -0.95149293261873522249, 0.018839065833986638172},
      {-1, -1.8410216450092635058, 1.5251352761609812091, -0.80090233442965120845, 0.11693119540604883154},
      {-0.5, -1.1759117615936186089, 1.1410777703680644809, -0.73151959284412105382, 0.16260392517612297001},
      {0, -0.69314718055994530942, 0.79788456080286535588, -0.63661977236758134308, 0.21801361414499016069},
      {0.5, -0.36894641528865639307, 0.50916043383703348583, -0.51382456430363289677, 0.27099012446870783327},
      {1, -0.17275377902344988953, 0.28759997093917836123, -0.37031371422339459914, 0.29571817018227121246},
      {3, -0.0013508099647481937988, 0.0044378390421256637933, -0.013333211541740806209, 0.035680136876570470563},
      {8, -6.2209605742717860585e-16, 5.0522710835368954309e-15, -4.0418168668295188973e-14, 3.1829307826282502476e-13},
      {20, -2.7536241186062336951e-89, 5.5209483621597631896e-88, -1.1041896724319526379e-86,
       2.2028583965017455126e-85}};
  for (const auto& row : rows) {
    const LogNdtrDerivatives d = log_ndtr_derivatives(row[0]);
    expect_relative(log_ndtr(row[0]), row[1], 1e-14);
    expect_relative(mills(row[0]), row[2], 1e-14);
    expect_relative(d.value, row[1], 1e-14);
    expect_relative(d.first, row[2], 1e-14);
    expect_relative(d.second, row[3], 1e-14);
    expect_relative(d.third, row[4], 1e-13);
  }
}

TEST(Special, LogNdtrFarOut) {
  EXPECT_EQ(log_ndtr(1e3), 0.0);
  EXPECT_EQ(mills(1e3), 0.0);
  expect_relative(log_ndtr(-1e150), -5e299, 1e-15);
  expect_relative(mills(-1e150), 1e150, 1e-15);
  expect_relative(mills(-1e300), 1e300, 1e-15);
  EXPECT_EQ(log_ndtr(-1e300), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(log_ndtr_derivatives(-1e150).second, -1.0);
  EXPECT_EQ(log_ndtr_derivatives(1e150).second, 0.0);
  EXPECT_EQ(log_ndtr_derivatives(1e300).third, 0.0);
}

TEST(Special, ErfcxAndNdtr) {
  const double scaled[][2] = {
      {-20, 1.0442939379528287901e+174}, {-1, 5.0089800807622834663},     {0, 1.0},
      {0.3, 0.73459933456765514992},     {1, 0.42758357615580700441},     {5, 0.11070463773306862637},
      {24.9, 0.022639987776049506286},   {25.1, 0.022459875817581388236}, {100, 0.0056416137829894329036},
      {1e8, 5.6418958354775625874e-9}};
  for (const auto& row : scaled) expect_relative(erfcx(row[0]), row[1], 1e-14);
  EXPECT_EQ(erfcx(-30.0), std::numeric_limits<double>::infinity());
  const double cumulative[][2] = {{-20, 2.7536241186062336951e-89},
                                  {-10, 7.619853024160526066e-24},
                                  {-1.5, 0.066807201268858066004},
                                  {-1, 0.15865525393145705141},
                                  {0, 0.5},
                                  {2, 0.9772498680518207928},
                                  {9, 1.0}};
  for (const auto& row : cumulative) expect_relative(ndtr(row[0]), row[1], 1e-14);
  EXPECT_EQ(ndtr(-1e200), 0.0);
  EXPECT_EQ(ndtr(1e200), 1.0);
}

TEST(Special, SoftplusAndSigmoid) {
  const double rows[][2] = {{-700, 9.8596765437597708567e-305},
                            {-40, 4.2483542552915889863e-18},
                            {-1, 0.31326168751822283405},
                            {0, 0.69314718055994530942},
                            {0.5, 0.97407698418010668087},
                            {30, 30.000000000000093576},
                            {1000, 1000.0}};
  for (const auto& row : rows) {
    expect_relative(softplus(row[0]), row[1], 1e-14);
    expect_relative(log_sigmoid(-row[0]), -row[1], 1e-14);
    // sigmoid(-x) = e^-softplus(x)
    expect_relative(sigmoid(-row[0]), std::exp(-row[1]), 1e-13);
  }
  EXPECT_EQ(softplus(-1e300), 0.0);
  EXPECT_EQ(softplus(1e300), 1e300);
  EXPECT_EQ(sigmoid(-1e300), 0.0);
}

TEST(Special, NormalDensityAndQuantile) {
  // log N(3 | 1, 4) = -1/2 - log 2 - log sqrt(2 pi)
  expect_relative(normal_log_density(3.0, 1.0, 4.0), -0.5 - std::log(2.0) - log_sqrt_two_pi, 1e-15);
  const double rows[][2] = {{1.0e-300, -37.047096299361199237},
                            {1.0e-10, -6.3613409024040561991},
                            {0.01, -2.3263478740408410931},
                            {0.3, -0.52440051270804081597},
                            {0.5, 0.0},
                            {0.75, 0.6744897501960817432}};
  for (const auto& row : rows) expect_relative(normal_quantile(row[0]), row[1], 1e-14);
  EXPECT_EQ(normal_quantile(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(1.0), std::numeric_limits<double>::infinity());
}

TEST(Special, GammaFunctions) {
  const double rows[][4] = {{1e-08, 18.420680738180208884, -100000000.57721564636, 10000000000000001.226},
                            {0.5, 0.57236494292470008707, -1.9635100260214234794, 4.9348022005446793094},
                            {0.99, 0.0058548067647097814532, -0.59378630405559515926, 1.6693041010718245379},
                            {1.0001, -0.000057713342220471268005, -0.57705118351433486812, 1.644693687933144353},
                            {1.9999, -0.000042275208772153458011, 0.42271983967113096533, 0.64497448069870308191},
                            {3.7, 1.4280723266653881292, 1.1671535393615114409, 0.31003785767003830216},
                            {100, 359.13420536957539878, 4.6001618527380874002, 0.010050166663333571395},
                            {1e10, 220258509288.81058147, 23.02585092989045684, 1.00000000005e-10}};
  for (const auto& row : rows) {
    expect_relative(log_gamma(row[0]), row[1], 1e-14);
    expect_relative(digamma(row[0]), row[2], 1e-14);
    expect_relative(trigamma(row[0]), row[3], 1e-14);
  }
}

TEST(Special, LogBinomialCoefficient) {
  const double rows[][3] = {{10, 3, 4.7874917427820459942},
                            {1000, 500, 689.46726156785118008},
                            {1e6, 1, 13.815510557964274104},
                            {1e15, 7, 233.24627340330936152},
                            {1e15, 4e14, 673011667009238.96123},
                            {20.5, 3.25, 7.5150344760697338854},
                            {3, 0, 0.0},
                            {5, 5, 0.0},
                            {40, 17, 25.208890696856132975}};
  for (const auto& row : rows) {
    EXPECT_NEAR(log_binomial_coefficient(row[0], row[1]), row[2], 1e-14 * (1.0 + row[2]));
    EXPECT_NEAR(log_binomial_coefficient(row[0], row[0] - row[1]), row[2], 1e-14 * (1.0 + row[2]));
  }
}

}  // namespace
}  // namespace gaussmith
