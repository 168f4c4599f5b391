// Kernel matrices of several panels and strips against the scalar formulas.

#include "cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>

namespace gaussmith {
namespace {

using test::input_dimension;

// The formulas of the file format, one pair at a time.
class Formula {
 public:
  explicit Formula(const Kernel& kernel) : name_(kernel.name()) {
    for (const auto& term : kernel.terms()) terms_.emplace_back(*term);
    if (!terms_.empty()) return;
    for (const auto& parameter : kernel.parameters()) {
      values_[parameter.name.substr(0, parameter.name.find('['))].push_back(parameter.value);
    }
  }

  double operator()(const Vector& x, const Vector& z, bool same_row) const {
    if (name_ == "sum" || name_ == "product") {
      double result = name_ == "sum" ? 0.0 : 1.0;
      for (const auto& term : terms_) {
        const double value = term(x, z, same_row);
        result = name_ == "sum" ? result + value : result * value;
      }
      return result;
    }
    const double variance = std::pow(argument("signal_sd"), 2);
    if (name_ == "constant") return variance;
    if (name_ == "white") return same_row ? variance : 0.0;
    if (name_ == "linear") return variance * x.dot(z);
    if (name_ == "neural-network") {
      return variance * 2.0 / std::numbers::pi *
             std::asin(2.0 * inner(x, z) / std::sqrt((1.0 + 2.0 * inner(x, x)) * (1.0 + 2.0 * inner(z, z))));
    }
    double r2 = 0.0, waves = 0.0;
    for (Index j = 0; j < x.size(); ++j) {
      const double l = argument("lengthscale", j);
      r2 += std::pow((x[j] - z[j]) / l, 2);
      if (name_ == "periodic")
        waves += std::pow(std::sin(std::numbers::pi * (x[j] - z[j]) / argument("period")) / l, 2);
    }
    const double r = std::sqrt(r2);
    if (name_ == "se") return variance * std::exp(-0.5 * r2);
    if (name_ == "matern12") return variance * std::exp(-r);
    if (name_ == "matern32") return variance * (1.0 + std::sqrt(3.0) * r) * std::exp(-std::sqrt(3.0) * r);
    if (name_ == "matern52") {
      return variance * (1.0 + std::sqrt(5.0) * r + 5.0 / 3.0 * r2) * std::exp(-std::sqrt(5.0) * r);
    }
    if (name_ == "rq") return variance * std::pow(1.0 + r2 / (2.0 * argument("alpha")), -argument("alpha"));
    if (name_ == "periodic") return variance * std::exp(-2.0 * waves);
    throw std::logic_error("no formula for " + name_);
  }

 private:
  double argument(const char* name, Index column = 0) const {
    const std::vector<double>& values = values_.at(name);
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(column)];
  }

  double inner(const Vector& a, const Vector& b) const {
    double total = std::pow(argument("bias_sd"), 2);
    for (Index j = 0; j < a.size(); ++j) total += std::pow(argument("weight_sd", j), 2) * a[j] * b[j];
    return total;
  }

  std::string name_;
  std::vector<Formula> terms_;
  std::map<std::string, std::vector<double>> values_;
};

double largest_entry(const Matrix& m) { return std::max(1.0, m.cwiseAbs().maxCoeff()); }

TEST(KernelValues, GramMatchesTheFormula) {
  const Matrix x = test::random_inputs(333, input_dimension, 1);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    Matrix gram;
    kernel->gram(x, gram);
    ASSERT_EQ(gram.rows(), x.rows());
    ASSERT_EQ(gram.cols(), x.rows());
    const Formula formula(*kernel);
    double worst = 0.0;
    for (Index j = 0; j < x.rows(); ++j) {
      for (Index i = 0; i <= j; i += 3) {
        worst = std::max(worst, std::abs(gram(i, j) - formula(x.row(i), x.row(j), i == j)));
      }
    }
    EXPECT_LE(worst, 2e-14 * largest_entry(gram));
  }
}

TEST(KernelValues, BlockMatchesTheFormula) {
  const Matrix x = test::random_inputs(261, input_dimension, 2);
  const Matrix z = test::random_inputs(70, input_dimension, 3);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    Matrix block;
    kernel->block(x, z, block);
    ASSERT_EQ(block.rows(), x.rows());
    ASSERT_EQ(block.cols(), z.rows());
    const Formula formula(*kernel);
    double worst = 0.0;
    for (Index j = 0; j < z.rows(); ++j) {
      for (Index i = 0; i < x.rows(); i += 2) {
        worst = std::max(worst, std::abs(block(i, j) - formula(x.row(i), z.row(j), false)));
      }
    }
    EXPECT_LE(worst, 2e-14 * largest_entry(block));
  }
}

TEST(KernelValues, EveryNumberOfColumns) {
  // Distances take columns in groups; each remainder has its own loop.
  for (Index d = 1; d <= 9; ++d) {
    const Matrix x = test::random_inputs(11, d, 4);
    std::vector<double> lengthscales;
    for (Index j = 0; j < d; ++j) lengthscales.push_back(1.0 + 0.3 * static_cast<double>(j));
    for (const char* name : {"se", "periodic", "matern12"}) {
      const KernelHandle kernel = make_kernel(name, {{"lengthscale", lengthscales}});
      const Formula formula(*kernel);
      Matrix gram;
      kernel->gram(x, gram);
      for (Index i = 0; i < x.rows(); ++i) {
        for (Index j = 0; j < x.rows(); ++j) {
          EXPECT_NEAR(gram(i, j), formula(x.row(i), x.row(j), i == j), 1e-14) << name << " d = " << d;
        }
      }
    }
  }
}

TEST(KernelValues, GramIsExactlySymmetric) {
  const Matrix x = test::random_inputs(300, input_dimension, 5);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    Matrix gram;
    kernel->gram(x, gram);
    EXPECT_TRUE(gram == gram.transpose()) << label;
  }
}

TEST(KernelValues, DiagonalIsThatOfTheGram) {
  Matrix x = test::random_inputs(270, input_dimension, 6);
  x.row(3) *= 1e-7;
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    Matrix gram;
    Vector diagonal;
    kernel->gram(x, gram);
    kernel->diagonal(x, diagonal);
    ASSERT_EQ(diagonal.size(), x.rows());
    EXPECT_LE((gram.diagonal() - diagonal).cwiseAbs().maxCoeff(), 4e-15 * largest_entry(gram));
  }
}

TEST(KernelValues, GramIsBlockPlusWhiteNoise) {
  const Matrix x = test::random_inputs(290, input_dimension, 7);
  const KernelHandle smooth = make_kernel("matern52", {{"lengthscale", {2.0}}});
  const KernelHandle noisy = sum({smooth, make_kernel("white", {{"signal_sd", {0.5}}})});
  Matrix gram, block;
  noisy->gram(x, gram);
  noisy->block(x, x, block);
  block.diagonal().array() += 0.25;
  EXPECT_LE((gram - block).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(KernelValues, ProductWithWhiteIsNoiseOnTheDiagonalOnly) {
  const Matrix x = test::random_inputs(9, 2, 8).replicate(2, 1);
  const KernelHandle kernel =
      product({make_kernel("se", {{"signal_sd", {3.0}}}), make_kernel("white", {{"signal_sd", {0.5}}})});
  Matrix gram, block;
  kernel->gram(x, gram);
  kernel->block(x, x, block);
  EXPECT_TRUE(gram == Matrix(2.25 * Matrix::Identity(18, 18)));
  EXPECT_TRUE(block.isZero(0.0));
}

TEST(KernelValues, NoRowsGiveEmptyMatrices) {
  const Matrix none(0, input_dimension);
  const Matrix some = test::random_inputs(3, input_dimension, 9);
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    Matrix gram, block;
    kernel->gram(none, gram);
    EXPECT_EQ(gram.size(), 0);
    kernel->block(none, some, block);
    EXPECT_EQ(block.rows(), 0);
    EXPECT_EQ(block.cols(), 3);
    EXPECT_TRUE(kernel->contract(none, Matrix(0, 0)).isZero(0.0));
  }
}

}  // namespace
}  // namespace gaussmith
