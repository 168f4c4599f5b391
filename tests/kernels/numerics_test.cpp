// Positive semidefiniteness, offsets, near-duplicates and extreme distances.

#include "cases.hpp"
#include "support/dense.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace gaussmith {
namespace {

using test::input_dimension;

TEST(KernelNumerics, GramIsPositiveSemidefinite) {
  Matrix x = test::random_inputs(60, input_dimension, 21);
  x.middleRows(20, 10) = x.topRows(10);
  x.middleRows(30, 10) = x.topRows(10).array() + 1e-9;
  x.row(50).setZero();
  for (const auto& [label, kernel] : test::kernel_cases()) {
    Matrix gram;
    kernel->gram(x, gram);
    const Vector eigenvalues = testing::symmetric_eigenvalues(gram);
    EXPECT_GE(eigenvalues.minCoeff(), -1e-10 * eigenvalues.maxCoeff()) << label;
    EXPECT_GT(eigenvalues.maxCoeff(), 0.0) << label;
  }
}

TEST(KernelNumerics, ThreadsDoNotChangeABit) {
  const Matrix x = test::random_inputs(300, input_dimension, 5);
  const Matrix z = test::random_inputs(170, input_dimension, 6);
  const Matrix weights = x * x.transpose();
  for (const auto& [label, kernel] : test::kernel_cases()) {
    Matrix one;
    Matrix three;
    kernel->gram(x, one, 1);
    kernel->gram(x, three, 3);
    EXPECT_TRUE(one == three) << label;
    kernel->block(x, z, one, 1);
    kernel->block(x, z, three, 3);
    EXPECT_TRUE(one == three) << label;
    EXPECT_TRUE(kernel->contract(x, weights, 1) == kernel->contract(x, weights, 3)) << label;
    EXPECT_TRUE(kernel->contract(x, z, one, 1) == kernel->contract(x, z, one, 3)) << label;
  }
}

TEST(KernelNumerics, CommonOffsetChangesNothing) {
  // Multiples of 2^-12 move by 1e6 without rounding, so only lost digits could change the result.
  Matrix x = test::random_inputs(70, 4, 22, 0.02);
  x = (x * 4096.0).array().round() / 4096.0;
  const Matrix far = x.array() + 1e6;
  const Matrix weights = test::random_weights(70, 23);
  for (const char* name : {"se", "matern12", "matern32", "matern52", "rq", "periodic"}) {
    KernelArguments arguments{{"lengthscale", {0.01, 0.02, 0.03, 0.015}}};
    if (std::string(name) == "periodic") arguments = {{"lengthscale", {0.7, 0.8, 0.9, 1.0}}, {"period", {0.15}}};
    const KernelHandle kernel = make_kernel(name, arguments);
    Matrix near_gram, far_gram;
    kernel->gram(x, near_gram);
    kernel->gram(far, far_gram);
    EXPECT_LE((near_gram - far_gram).cwiseAbs().maxCoeff(), 1e-14) << name;
    EXPECT_LT(near_gram.minCoeff(), 0.5) << name;
    const Vector near_gradient = kernel->contract(x, weights);
    EXPECT_LE((near_gradient - kernel->contract(far, weights)).norm(), 1e-12 * near_gradient.norm()) << name;
  }
}

TEST(KernelNumerics, NearDuplicatesKeepTheirDistance) {
  const double gap = std::ldexp(1.0, -30);
  Matrix x(3, 1);
  x << 1e6, 1e6 + gap, 1e6;
  Matrix gram;
  make_kernel("matern12", {{"lengthscale", {0.25}}})->gram(x, gram);
  EXPECT_NEAR(1.0 - gram(0, 1), 4.0 * gap, 2e-16);
  EXPECT_EQ(gram(0, 2), 1.0);
  // Only the gap carries weight: d k/d log l = (r/l) exp(-r/l), here 4 gap to first order.
  Matrix pick = Matrix::Zero(3, 3);
  pick(0, 1) = pick(1, 0) = 0.5;
  pick(0, 2) = pick(2, 0) = 1.0;
  const Vector gradient = make_kernel("matern12", {{"lengthscale", {0.25}}})->contract(x, pick);
  EXPECT_NEAR(gradient[1], 4.0 * gap * (1.0 - 4.0 * gap), 1e-13 * gap);
}

TEST(KernelNumerics, FarInputsGiveZeroAndNeverNan) {
  Matrix x(4, 2);
  x << 0.0, 0.0, 1e300, -1e300, -1e308, 1e308, 1e-320, 1e-310;
  const Matrix weights = Matrix::Ones(4, 4);
  for (const char* name : {"se", "matern12", "matern32", "matern52", "rq", "periodic"}) {
    for (const double lengthscale : {1e-100, 1.0, 1e100}) {
      for (const std::vector<double>& lengthscales :
           {std::vector<double>{lengthscale}, std::vector<double>{lengthscale, lengthscale}}) {
        const KernelHandle kernel = make_kernel(name, {{"lengthscale", lengthscales}});
        Matrix gram;
        kernel->gram(x, gram);
        EXPECT_TRUE(gram.allFinite()) << name << " " << lengthscale;
        EXPECT_TRUE((gram.diagonal().array() == 1.0).all()) << name;
        EXPECT_TRUE(kernel->contract(x, weights).allFinite()) << name << " " << lengthscale;
      }
    }
  }
  for (const double alpha : {1e-100, 1e100}) {
    const KernelHandle kernel = make_kernel("rq", {{"lengthscale", {1e-100}}, {"alpha", {alpha}}});
    EXPECT_TRUE(kernel->contract(x, weights).allFinite()) << alpha;
  }
}

TEST(KernelNumerics, LongInputsOfTheNeuralNetworkSaturate) {
  Matrix x(3, 1);
  x << 1e9, 2e9, -1e9;
  const KernelHandle kernel = make_kernel("neural-network");
  Matrix gram;
  kernel->gram(x, gram);
  EXPECT_NEAR(gram(0, 1), 1.0, 1e-8);
  EXPECT_NEAR(gram(0, 2), -1.0, 1e-8);
  EXPECT_TRUE(kernel->contract(x, Matrix::Ones(3, 3)).allFinite());
}

TEST(KernelNumerics, RationalQuadraticApproachesSquaredExponential) {
  const Matrix x = test::random_inputs(20, 2, 24);
  Matrix rq, se;
  make_kernel("rq", {{"alpha", {1e9}}})->gram(x, rq);
  make_kernel("se")->gram(x, se);
  EXPECT_LE((rq - se).cwiseAbs().maxCoeff(), 1e-8);
}

}  // namespace
}  // namespace gaussmith
