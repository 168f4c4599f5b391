// Gradients of sum_ij W_ij k(x_i, x_j) and sum_ij W_ij k(x_i, z_j) against central differences of kernel matrices.

#include "cases.hpp"
#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace gaussmith {
namespace {

using test::input_dimension;

/// A number that depends on a kernel's parameters.
using Total = std::function<double(const Kernel&)>;

Total symmetric_total(const Matrix& x, const Matrix& weights) {
  return [&](const Kernel& kernel) {
    Matrix gram;
    kernel.gram(x, gram);
    return weights.cwiseProduct(gram).sum();
  };
}

Total rectangular_total(const Matrix& x, const Matrix& z, const Matrix& weights) {
  return [&](const Kernel& kernel) {
    Matrix block;
    kernel.block(x, z, block);
    return weights.cwiseProduct(block).sum();
  };
}

// Fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h)))/(12 h): its step can be long enough to keep rounding out.
void expect_gradient(const Kernel& kernel, const Total& total, const Vector& gradient) {
  const double step = 1e-3;
  const std::vector<KernelParameter> parameters = kernel.parameters();
  std::vector<double> values;
  for (const auto& parameter : parameters) values.push_back(parameter.value);
  ASSERT_EQ(gradient.size(), static_cast<Index>(values.size()));
  for (std::size_t p = 0; p < values.size(); ++p) {
    const auto total_at = [&](double shift) {
      std::vector<double> moved = values;
      moved[p] *= std::exp(shift);
      return total(*kernel.with_parameters(moved));
    };
    const double expected =
        (8.0 * (total_at(step) - total_at(-step)) - (total_at(2.0 * step) - total_at(-2.0 * step))) / (12.0 * step);
    EXPECT_NEAR(gradient[static_cast<Index>(p)], expected, 1e-7 * (1.0 + std::abs(expected))) << parameters[p].name;
  }
}

TEST(KernelContraction, MatchesCentralDifferences) {
  // More than one strip of rows and several panels of columns, with duplicates.
  Matrix x = test::random_inputs(300, input_dimension, 11);
  x.bottomRows(5) = x.topRows(5);
  const Matrix weights = test::random_weights(300, 12);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    expect_gradient(*kernel, symmetric_total(x, weights), kernel->contract(x, weights));
  }
}

TEST(KernelContraction, OverTwoInputSetsMatchesCentralDifferences) {
  // Several strips of rows and panels of columns, either way round, with points in common.
  const Matrix x = test::random_inputs(300, input_dimension, 17);
  Matrix z = test::random_inputs(90, input_dimension, 18);
  z.topRows(5) = x.topRows(5);
  const Matrix weights = test::random_inputs(300, 90, 19);
  const Matrix transposed = weights.transpose();
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    const Vector gradient = kernel->contract(x, z, weights);
    expect_gradient(*kernel, rectangular_total(x, z, weights), gradient);
    EXPECT_LT((kernel->contract(z, x, transposed) - gradient).norm(), 1e-11 * (1.0 + gradient.norm()));
  }
}

TEST(KernelContraction, OverASetAndItselfLeavesOutTheNoiseAlone) {
  const Matrix x = test::random_inputs(70, input_dimension, 20);
  const Matrix weights = test::random_weights(70, 21);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    if (label == "white" || label == "sum" || label == "nested" || label == "product with white") continue;
    const Vector once = kernel->contract(x, weights);
    EXPECT_LT((kernel->contract(x, x, weights) - once).norm(), 1e-11 * (1.0 + once.norm())) << label;
  }
  EXPECT_EQ(make_kernel("white")->contract(x, x, weights)[0], 0.0);
}

TEST(KernelContraction, OfTheDiagonalMatchesCentralDifferences) {
  const Matrix x = test::random_inputs(37, input_dimension, 22);
  const Vector weights = test::random_inputs(37, 1, 23);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    const Total total = [&](const Kernel& at) {
      Vector diagonal;
      at.diagonal(x, diagonal);
      return weights.dot(diagonal);
    };
    expect_gradient(*kernel, total, kernel->contract_diagonal(x, weights));
  }
}

TEST(KernelContraction, InInputsMatchesCentralDifferences) {
  // Several strips and panels; a point in common, where smooth kernels have derivatives as elsewhere.
  const Matrix x = test::random_inputs(300, input_dimension, 24);
  Matrix z = test::random_inputs(70, input_dimension, 25);
  z.row(3) = x.row(7);
  const Matrix weights = test::random_inputs(300, 70, 26);
  const double step = 1e-4;
  int rough = 0;
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    if (!kernel->without_input_gradient().empty()) {
      ++rough;
      EXPECT_THROW((void)kernel->input_gradient(x, z, weights), InvalidModel);
      continue;
    }
    const Matrix gradient = kernel->input_gradient(x, z, weights);
    EXPECT_EQ(gradient, kernel->input_gradient(x, z, weights, 2));
    for (const Index j : {0, 3, 69})
      for (Index c = 0; c < input_dimension; ++c) {
        const auto total_at = [&](double shift) {
          Matrix moved = z;
          moved(j, c) += shift;
          return rectangular_total(x, moved, weights)(*kernel);
        };
        const double expected =
            (8.0 * (total_at(step) - total_at(-step)) - (total_at(2.0 * step) - total_at(-2.0 * step))) / (12.0 * step);
        EXPECT_NEAR(gradient(j, c), expected, 1e-6 * (1.0 + std::abs(expected))) << j << ", " << c;
      }
  }
  EXPECT_GT(rough, 0);
  EXPECT_EQ(make_kernel("matern12")->without_input_gradient(), "matern12");
  EXPECT_EQ(sum({make_kernel("se"), make_kernel("neural-network")})->without_input_gradient(), "neural-network");
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
