// Gradients of sum_ij W_ij k(x_i, x_j) against central differences of the kernel matrix.

#include "cases.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using test::input_dimension;

double weighted_total(const Kernel& kernel, const Matrix& x, const Matrix& weights) {
  Matrix gram;
  kernel.gram(x, gram);
  return weights.cwiseProduct(gram).sum();
}

// Fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h)))/(12 h): its step can be long enough to keep rounding out.
Vector central_differences(const Kernel& kernel, const Matrix& x, const Matrix& weights) {
  const double step = 1e-3;
  std::vector<double> values;
  for (const auto& parameter : kernel.parameters()) values.push_back(parameter.value);
  Vector gradient(static_cast<Index>(values.size()));
  for (std::size_t p = 0; p < values.size(); ++p) {
    const auto total_at = [&](double shift) {
      std::vector<double> moved = values;
      moved[p] *= std::exp(shift);
      return weighted_total(*kernel.with_parameters(moved), x, weights);
    };
    gradient[static_cast<Index>(p)] =
        (8.0 * (total_at(step) - total_at(-step)) - (total_at(2.0 * step) - total_at(-2.0 * step))) / (12.0 * step);
  }
  return gradient;
}

TEST(KernelContraction, MatchesCentralDifferences) {
  // More than one strip of rows and several panels of columns, with duplicates.
  Matrix x = test::random_inputs(300, input_dimension, 11);
  x.bottomRows(5) = x.topRows(5);
  const Matrix weights = test::random_weights(300, 12);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    const Vector gradient = kernel->contract(x, weights);
    const Vector expected = central_differences(*kernel, x, weights);
    ASSERT_EQ(gradient.size(), expected.size());
    for (Index p = 0; p < gradient.size(); ++p) {
      EXPECT_NEAR(gradient[p], expected[p], 1e-7 * (1.0 + std::abs(expected[p])))
          << kernel->parameters()[static_cast<std::size_t>(p)].name;
    }
  }
}

TEST(KernelContraction, ReadsTheLowerTriangleOnly) {
  const Matrix x = test::random_inputs(90, input_dimension, 13);
  const Matrix weights = test::random_weights(90, 14);
  Matrix half = weights;
  half.triangularView<Eigen::StrictlyUpper>().setConstant(std::numeric_limits<double>::quiet_NaN());
  for (const auto& [label, kernel] : test::kernel_cases()) {
    EXPECT_TRUE(kernel->contract(x, half) == kernel->contract(x, weights)) << label;
  }
}

TEST(KernelContraction, EqualLengthscalesAddUpToTheSharedOne) {
  const Matrix x = test::random_inputs(40, 3, 15);
  const Matrix weights = test::random_weights(40, 16);
  for (const char* name : {"se", "matern12", "matern32", "matern52", "rq", "periodic"}) {
    const Vector shared = make_kernel(name, {{"lengthscale", {1.3}}})->contract(x, weights);
    const Vector split = make_kernel(name, {{"lengthscale", {1.3, 1.3, 1.3}}})->contract(x, weights);
    EXPECT_NEAR(split.segment(1, 3).sum(), shared[1], 1e-12 * (1.0 + std::abs(shared[1]))) << name;
  }
}

}  // namespace
}  // namespace gaussmith
