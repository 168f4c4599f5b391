// Ready operators against matrices written down entry by entry from their definitions.

#include "gaussmith/operators.hpp"

#include "gaussmith/errors.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <thread>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::dense_transposed_product;
using testing::distance;
using testing::random_matrix;
using testing::random_vector;

/// All columns, from one block of unit vectors.
Matrix matrix_of(const LinearOperator& h) {
  Matrix out(h.rows(), h.cols());
  h.apply(Matrix::Identity(h.cols(), h.cols()), out);
  return out;
}

/// H is the matrix, and so is what the transposed product says.
void expect_is(const OperatorHandle& h, const Matrix& expected, double tolerance) {
  ASSERT_EQ(h->rows(), expected.rows());
  ASSERT_EQ(h->cols(), expected.cols());
  EXPECT_LT(distance(matrix_of(*h), expected), tolerance);
  Matrix transposed(h->cols(), h->rows());
  h->apply_transposed(Matrix::Identity(h->rows(), h->rows()), transposed);
  EXPECT_LT(distance(transposed.transpose(), expected), tolerance);
  EXPECT_LT(adjoint_error(*h), 1e-12);
  EXPECT_NO_THROW(check_adjoint(*h));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "no error";
}

TEST(Operators, FiniteDifferencesAreThoseOfNeighbours) {
  for (const Grid grid : {Grid{1, 7}, Grid{6, 1}, Grid{4, 5}, Grid{1, 1}}) {
    std::vector<std::pair<Index, Index>> pairs;  // Row r is x(second) - x(first).
    for (Index i = 0; i < grid.height; ++i)
      for (Index j = 0; j + 1 < grid.width; ++j) pairs.emplace_back(i * grid.width + j, i * grid.width + j + 1);
    for (Index i = 0; i + 1 < grid.height; ++i)
      for (Index j = 0; j < grid.width; ++j) pairs.emplace_back(i * grid.width + j, (i + 1) * grid.width + j);
    Matrix expected = Matrix::Zero(static_cast<Index>(pairs.size()), grid.size());
    for (std::size_t r = 0; r < pairs.size(); ++r) {
      expected(static_cast<Index>(r), pairs[r].first) = -1.0;
      expected(static_cast<Index>(r), pairs[r].second) = 1.0;
    }
    expect_is(finite_differences(grid), expected, 1e-15);
  }
}

/// One level of a signal of n entries, with the taps of Daubechies (1988), Table 1, two vanishing moments.
Matrix one_level(Index n) {
  const double taps[] = {0.482962913145, 0.836516303738, 0.224143868042, -0.129409522551};
  Matrix out = Matrix::Zero(n, n);
  for (Index i = 0; i < n / 2; ++i)
    for (Index k = 0; k < 4; ++k) {
      out(i, (2 * i + k) % n) += taps[k];
      out(n / 2 + i, (2 * i + k) % n) += (k % 2 == 0 ? 1.0 : -1.0) * taps[3 - k];
    }
  return out;
}

Matrix kronecker(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows() * b.rows(), a.cols() * b.cols());
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.cols(); ++j) out.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return out;
}

TEST(Operators, WaveletsHaveTheTapsOfDaubechies) {
  expect_is(wavelets({1, 16}, 1), one_level(16), 1e-11);
  expect_is(wavelets({8, 6}, 1), kronecker(one_level(8), one_level(6)), 1e-11);
  // The second level sees the means alone.
  Matrix second = Matrix::Identity(16, 16);
  second.topLeftCorner(8, 8) = one_level(8);
  expect_is(wavelets({1, 16}, 2), dense_product(second, one_level(16)), 1e-11);
  expect_is(wavelets({16, 1}, 2), dense_product(second, one_level(16)), 1e-11);
}

TEST(Operators, WaveletsAreOrthonormal) {
  for (const auto& [grid, levels] : {std::pair{Grid{1, 2}, 1}, std::pair{Grid{1, 64}, 6}, std::pair{Grid{1, 24}, 3},
                                     std::pair{Grid{8, 16}, 3}, std::pair{Grid{12, 4}, 2}}) {
    const Matrix w = matrix_of(*wavelets(grid, levels));
    EXPECT_LT(distance(dense_transposed_product(w, w), Matrix::Identity(w.cols(), w.cols())), 1e-13);
    EXPECT_LT(adjoint_error(*wavelets(grid, levels)), 1e-13);
  }
}

TEST(Operators, WaveletsDoNotSeeStraightLines) {
  const Index n = 64;
  Matrix out(n, 1);
  wavelets({1, n}, 1)->apply(Vector::LinSpaced(n, 3.0, 9.0), out);
  // The last detail reaches round the end, where the line jumps.
  EXPECT_LT(out.col(0).segment(n / 2, n / 2 - 1).norm(), 1e-13);
  EXPECT_GT(std::abs(out(n - 1, 0)), 1.0);
}

/// Sums over the kernel, one by one.
Matrix convolution_matrix(const Matrix& kernel, const Grid& grid, Boundary boundary) {
  Matrix out = Matrix::Zero(grid.size(), grid.size());
  for (Index i = 0; i < grid.height; ++i)
    for (Index j = 0; j < grid.width; ++j)
      for (Index a = 0; a < kernel.rows(); ++a)
        for (Index b = 0; b < kernel.cols(); ++b) {
          Index p = i + kernel.rows() / 2 - a;
          Index q = j + kernel.cols() / 2 - b;
          const bool inside = p >= 0 && p < grid.height && q >= 0 && q < grid.width;
          if (boundary == Boundary::zero && !inside) continue;
          p = (p + grid.height) % grid.height;
          q = (q + grid.width) % grid.width;
          out(i * grid.width + j, p * grid.width + q) += kernel(a, b);
        }
  return out;
}

TEST(Operators, ConvolutionIsTheSumOverTheKernel) {
  for (const Boundary boundary : {Boundary::circular, Boundary::zero})
    for (const auto& [grid, height, width] :
         {std::tuple{Grid{1, 11}, 1, 3}, std::tuple{Grid{1, 10}, 1, 4}, std::tuple{Grid{6, 7}, 3, 5},
          std::tuple{Grid{5, 8}, 5, 8}, std::tuple{Grid{9, 1}, 2, 1}, std::tuple{Grid{7, 5}, 1, 1}}) {
      SCOPED_TRACE(::testing::Message() << grid.height << " x " << grid.width << ", " << height << " x " << width);
      const Matrix kernel = random_matrix(height, width, 3);
      expect_is(convolution(kernel, grid, boundary), convolution_matrix(kernel, grid, boundary), 1e-13);
    }
}

/// Real parts, then imaginary parts, of the sums that define the transform.
Matrix fourier_matrix(const Grid& grid, const FrequencyMask& mask) {
  std::vector<std::pair<Index, Index>> chosen;
  for (Index u = 0; u < grid.height; ++u)
    for (Index v = 0; v < grid.width; ++v)
      if (mask(u, v)) chosen.emplace_back(u, v);
  const auto count = static_cast<Index>(chosen.size());
  Matrix out(2 * count, grid.size());
  for (Index m = 0; m < count; ++m)
    for (Index i = 0; i < grid.height; ++i)
      for (Index j = 0; j < grid.width; ++j) {
        const auto& [u, v] = chosen[static_cast<std::size_t>(m)];
        const double turns = static_cast<double>(u * i) / static_cast<double>(grid.height) +
                             static_cast<double>(v * j) / static_cast<double>(grid.width);
        const std::complex<double> wave = std::polar(1.0, -2.0 * std::numbers::pi * turns);
        out(m, i * grid.width + j) = wave.real() / std::sqrt(static_cast<double>(grid.size()));
        out(count + m, i * grid.width + j) = wave.imag() / std::sqrt(static_cast<double>(grid.size()));
      }
  return out;
}

TEST(Operators, FourierCoefficientsAreTheirSums) {
  for (const Grid grid : {Grid{1, 8}, Grid{1, 9}, Grid{6, 5}, Grid{4, 6}, Grid{5, 1}}) {
    SCOPED_TRACE(::testing::Message() << grid.height << " x " << grid.width);
    const FrequencyMask all = FrequencyMask::Constant(grid.height, grid.width, true);
    expect_is(subsampled_fourier(grid, all), fourier_matrix(grid, all), 1e-13);
    // All of them keep lengths: F'F = I.
    const Matrix f = matrix_of(*subsampled_fourier(grid, all));
    EXPECT_LT(distance(dense_transposed_product(f, f), Matrix::Identity(grid.size(), grid.size())), 1e-13);
    FrequencyMask some = all;
    for (Index u = 0; u < grid.height; ++u)
      for (Index v = 0; v < grid.width; ++v) some(u, v) = (3 * u + 2 * v) % 5 < 2;
    expect_is(subsampled_fourier(grid, some), fourier_matrix(grid, some), 1e-13);
  }
  const Grid grid{6, 4};
  const FrequencyMask lines = frequency_lines(grid, {0, 4, 4});
  EXPECT_EQ(lines.count(), 8);
  expect_is(subsampled_fourier(grid, lines), fourier_matrix(grid, lines), 1e-13);
}

TEST(Operators, CombineAsMatricesDo) {
  const Matrix a = random_matrix(5, 4, 1);
  const Matrix b = random_matrix(4, 6, 2);
  const Matrix c = random_matrix(3, 6, 3);
  const Vector scale = random_vector(5, 4);
  const auto op = [](const Matrix& m) { return from_matrix(m.sparseView()); };
  expect_is(op(a), a, 1e-15);
  expect_is(composed(op(a), op(b)), dense_product(a, b), 1e-14);
  expect_is(scaled(op(a), scale), scale.asDiagonal() * a, 1e-15);
  expect_is(scaled(op(a), -2.5), -2.5 * a, 1e-15);
  expect_is(stacked({op(b), op(c), op(b)}), (Matrix(11, 6) << b, c, b).finished(), 1e-15);
  const OperatorHandle nested = stacked({composed(op(a), op(b)), scaled(finite_differences({2, 3}), 3.0)});
  EXPECT_LT(adjoint_error(*nested), 1e-13);
  EXPECT_GT(nested->bytes(), 0.0);
}

TEST(Operators, ProductsOnManyThreadsAreTheSame) {
  const Grid grid{12, 20};
  const OperatorHandle h = convolution(random_matrix(3, 3, 1), grid, Boundary::zero);
  const Matrix x = random_matrix(grid.size(), 3, 2);
  Matrix expected(grid.size(), 3);
  h->apply(x, expected);
  std::vector<Matrix> found(4, Matrix(grid.size(), 3));
  {
    std::vector<std::jthread> threads;
    for (Matrix& out : found)
      threads.emplace_back([&h, &x, &out, &grid] {
        for (int again = 0; again < 20; ++again) {
          h->apply(x, out);
          (void)convolution(Matrix::Ones(3, 3), grid, Boundary::circular);
        }
      });
  }
  for (const Matrix& out : found) EXPECT_EQ(out, expected);
}

/// H of a difference operator, and a transpose that is right but for one of its rows.
class OneRowWrong final : public LinearOperator {
 public:
  OneRowWrong() : h_(finite_differences({100, 100})) {}
  [[nodiscard]] Index rows() const override { return h_->rows(); }
  [[nodiscard]] Index cols() const override { return h_->cols(); }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { h_->apply(x, out); }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    h_->apply_transposed(x, out);
    out.row(7) *= -1.0;
  }

 private:
  OperatorHandle h_;
};

class NotFinite final : public LinearOperator {
 public:
  [[nodiscard]] Index rows() const override { return 3; }
  [[nodiscard]] Index cols() const override { return 3; }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { out = x / 0.0; }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { out = x; }
};

TEST(Operators, WrongTransposesAreRefusedWithTheFigure) {
  EXPECT_GT(adjoint_error(OneRowWrong()), 1e-4);
  EXPECT_NE(message_of([] { check_adjoint(OneRowWrong()); }).find("not the transpose"), std::string::npos);
  EXPECT_TRUE(std::isinf(adjoint_error(NotFinite())));
  EXPECT_NE(message_of([] { check_adjoint(NotFinite()); }).find("not finite"), std::string::npos);
  Model model{.prior = Isotropic{Vector::Zero(10000), 1.0},
              .design = std::make_shared<OneRowWrong>(),
              .offset = {},
              .sites = {observe("gaussian", Vector::Zero(19800), {{"variance", one(1.0)}})}};
  EXPECT_NE(message_of([&] { model.validate(); }).find("not the transpose"), std::string::npos);
  model.design = finite_differences({100, 100});
  EXPECT_NO_THROW(model.validate());
}

TEST(Operators, BadArgumentsAreRefused) {
  const OperatorHandle h = finite_differences({2, 3});
  const double nan = std::nan("");
  const std::pair<std::function<void()>, const char*> cases[] = {
      {[] {
         (void)finite_differences({0, 3});
       },
       "finite_differences: the grid is 0 x 3"},
      {[] {
         (void)finite_differences({100000, 100000});
       },
       "their product at most"},
      {[] {
         (void)wavelets({1, 12}, 3);
       },
       "divisible by 2^levels"},
      {[] {
         (void)wavelets({1, 8}, 0);
       },
       "levels must be at least 1"},
      {[] {
         (void)wavelets({1, 8}, 99);
       },
       "divisible by 2^levels"},
      {[] {
         (void)convolution(Matrix::Ones(3, 3), {2, 9}, Boundary::zero);
       },
       "fit into the grid"},
      {[] {
         (void)convolution(Matrix(), {2, 9}, Boundary::zero);
       },
       "the kernel must have an entry"},
      {[&] {
         (void)convolution(Matrix::Constant(1, 1, nan), {2, 9}, Boundary::zero);
       },
       "kernel[0][0] is nan"},
      {[] {
         (void)frequency_lines({4, 4}, {4});
       },
       "lines are 0 to 3"},
      {[] {
         (void)subsampled_fourier({4, 4}, FrequencyMask::Constant(4, 3, true));
       },
       "the mask is 4 x 3"},
      {[] {
         (void)subsampled_fourier({4, 4}, FrequencyMask::Constant(4, 4, false));
       },
       "chooses no coefficient"},
      {[] { (void)stacked({}); }, "at least one is needed"},
      {[&] {
         (void)stacked({h, finite_differences({1, 4})});
       },
       "operator 1 has 4 columns and operator 0 has 6"},
      {[&] {
         (void)stacked({h, nullptr});
       },
       "an operator is null"},
      {[&] { (void)scaled(h, Vector::Ones(2)); }, "2 factors for an operator of 7 rows"},
      {[&] { (void)scaled(h, nan); }, "factor 0 is nan"},
      {[&] { (void)composed(h, h); }, "the first operator has 6 columns and the second 7 rows"},
      {[&] { (void)from_matrix(Matrix::Constant(1, 1, nan).sparseView()); }, "matrix[0][0] is nan"},
  };
  for (const auto& [call, expected] : cases)
    EXPECT_NE(message_of(call).find(expected), std::string::npos) << message_of(call) << " lacks " << expected;
}

}  // namespace
}  // namespace gaussmith
