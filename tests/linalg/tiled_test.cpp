#include "linalg/tiled.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/blas_memory.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

namespace gaussmith {
namespace {

// Tiles are 96 wide up to 576 rows; slices of products are 64 wide up to 512.
constexpr Index tile = 96;
constexpr Index awkward_sizes[] = {0, 1, 2, 63, 64, 65, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 5, 601};
constexpr int most_threads = 4;

Matrix positive_definite(Index n) {
  std::srand(11);
  const Matrix a = Matrix::Random(n, n);
  Matrix square = 0.5 * Matrix::Identity(n, n);
  square.noalias() += a * a.transpose();
  return square;
}

Matrix lower_factor(Index n) {
  if (n == 0) return Matrix(0, 0);
  return Eigen::LLT<Matrix>(positive_definite(n)).matrixL();
}

double largest(const Matrix& a) { return a.size() == 0 ? 0.0 : a.cwiseAbs().maxCoeff(); }

/// What `subject` makes of `start`, after it made the same bits at every number of threads and left the upper triangle.
Matrix at_all_threads(const Matrix& start, const auto& subject) {
  constexpr double untouched = 1e300;
  Matrix first;
  for (int threads = 1; threads <= most_threads; ++threads) {
    Matrix work = start;
    for (Index j = 0; j < work.cols(); ++j) work.col(j).head(j).setConstant(untouched);
    subject(work, threads);
    for (Index j = 0; j < work.cols(); ++j) {
      EXPECT_TRUE((work.col(j).head(j).array() == untouched).all());
      work.col(j).head(j).setZero();
    }
    if (threads == 1)
      first = work;
    else
      EXPECT_TRUE(first == work) << start.rows() << " rows, " << threads << " threads";
  }
  return first;
}

TEST(Tiled, FactorInverseAndSquareOfTriangles) {
  for (const Index n : awkward_sizes) {
    const Matrix a = positive_definite(n);
    const Matrix factor = at_all_threads(a, [](Matrix& w, int t) { EXPECT_TRUE(tiled::cholesky(w, t)); });
    const Matrix expected = lower_factor(n);
    EXPECT_LT(largest(factor - expected), 1e-11 * (1.0 + largest(expected))) << n;

    const Matrix inverse = at_all_threads(expected, [](Matrix& w, int t) { tiled::invert_lower(w, t); });
    EXPECT_LT(largest(inverse * expected - Matrix::Identity(n, n)), 1e-8) << n;

    const Matrix square = at_all_threads(expected, [](Matrix& w, int t) { tiled::lower_transposed_times_lower(w, t); });
    const Matrix product = (expected.transpose() * expected).triangularView<Eigen::Lower>();
    EXPECT_LT(largest(square - product), 1e-12 * (1.0 + largest(product))) << n;
  }
}

TEST(Tiled, AMatrixThatIsNotPositiveDefiniteIsRefusedWhereverItFails) {
  constexpr Index n = 3 * tile + 20;
  const Matrix good = positive_definite(n);
  for (const Index at : {Index{0}, Index{5}, tile - 1, tile, 2 * tile + 7, n - 1}) {
    for (int threads = 1; threads <= most_threads; ++threads) {
      Matrix negative = good;
      negative(at, at) = -1.0;
      EXPECT_FALSE(tiled::cholesky(negative, threads)) << at;
      Matrix no_number = good;
      no_number(n - 1, at) = std::numeric_limits<double>::quiet_NaN();
      EXPECT_FALSE(tiled::cholesky(no_number, threads)) << at;
    }
  }
}

/// The matrix that `subject` makes is the same at every number of threads, and to rounding the one of `reference`.
void check_at_all_threads(double tolerance, const auto& subject, const auto& reference) {
  const Matrix first = subject(1);
  const Matrix expected = reference();
  EXPECT_LT(largest(first - expected), tolerance * (1.0 + largest(expected)));
  for (int threads = 2; threads <= most_threads; ++threads) EXPECT_TRUE(subject(threads) == first) << threads;
}

TEST(Tiled, ProductsAndSolves) {
  for (const auto& [n, columns] : std::initializer_list<std::pair<Index, Index>>{
           {0, 1}, {1, 1}, {1, 130}, {63, 64}, {64, 65}, {65, 63}, {tile + 1, 1}, {200, 130}, {130, 601}}) {
    SCOPED_TRACE(::testing::Message() << n << " x " << columns);
    const Matrix lower = lower_factor(n);
    const Matrix symmetric = lower.selfadjointView<Eigen::Lower>();
    std::srand(5);
    const Matrix x = Matrix::Random(n, columns);
    const Matrix z = Matrix::Random(n, columns);
    check_at_all_threads(
        1e-9,
        [&](int threads) {
          Matrix b = lower * x;
          tiled::solve_left(lower, As::is, b, threads);
          return b;
        },
        [&] { return x; });
    check_at_all_threads(
        1e-9,
        [&](int threads) {
          Matrix b = lower.transpose() * x;
          tiled::solve_left(lower, As::transposed, b, threads);
          return b;
        },
        [&] { return x; });
    check_at_all_threads(
        1e-12,
        [&](int threads) {
          Matrix out(n, columns);
          tiled::set_symmetric_product(lower, x, out, threads);
          return out;
        },
        [&] { return Matrix(symmetric * x); });
    check_at_all_threads(
        1e-12,
        [&](int threads) {
          Matrix out(columns, columns);
          tiled::set_product(x, As::transposed, z, As::is, out, threads);
          return out;
        },
        [&] { return Matrix(x.transpose() * z); });
    check_at_all_threads(
        1e-12,
        [&](int threads) {
          Matrix out(n, n);
          tiled::set_product(z, As::is, x, As::transposed, out, threads);
          return out;
        },
        [&] { return Matrix(z * x.transpose()); });
    check_at_all_threads(
        1e-12,
        [&](int threads) {
          Matrix out(columns, n);
          tiled::set_product(x, As::transposed, lower, As::is, out, threads);
          return out;
        },
        [&] { return Matrix(x.transpose() * lower); });
    check_at_all_threads(
        1e-12,
        [&](int threads) {
          Matrix c = Matrix::Identity(n, n);
          tiled::add_square(-2.0, x, As::is, 3.0, c, threads);
          tiled::add_square(0.5, lower, As::transposed, 1.0, c, threads);
          return Matrix(c.triangularView<Eigen::Lower>());
        },
        [&] {
          Matrix c = 3.0 * Matrix::Identity(n, n) - 2.0 * x * x.transpose() + 0.5 * lower.transpose() * lower;
          return Matrix(c.triangularView<Eigen::Lower>());
        });
  }
}

TEST(BlasThreads, LargeOperationsAgreeAtAnyNumberOfThreads) {
  constexpr Index n = 410;
  const Matrix a = positive_definite(n);
  Matrix one = a;
  ASSERT_TRUE(cholesky(one));
  for (int threads = 1; threads <= most_threads; ++threads) {
    const BlasThreads scope(threads);
    Matrix factor = a;
    ASSERT_TRUE(cholesky(factor));
    EXPECT_LT(largest((factor - one).triangularView<Eigen::Lower>()), 1e-10);
    invert_lower(factor);
    lower_transposed_times_lower(factor);
    mirror_lower(factor);
    EXPECT_LT(largest(factor * a - Matrix::Identity(n, n)), 1e-7);
  }
}

TEST(BlasThreads, TheNumberBelongsToItsThreadAndScope) {
  constexpr double much = 1e12;
  EXPECT_EQ(threads_for(much), 1);
  const BlasThreads outer(3);
  EXPECT_EQ(threads_for(much), 3);
  EXPECT_EQ(threads_for(1e3), 1);
  {
    const BlasThreads inner(2);
    EXPECT_EQ(threads_for(much), 2);
  }
  EXPECT_EQ(threads_for(much), 3);
  parallel_blocks(4, 1, 3, [](Index, Index) { EXPECT_EQ(threads_for(1e12), 1); });
  std::thread([] { EXPECT_EQ(threads_for(1e12), 1); }).join();
}

Matrix wave(Index n) {
  return Matrix::NullaryExpr(n, n, [n](Index i, Index j) {
    return (i == j ? static_cast<double>(n) : 0.0) + std::cos(static_cast<double>(i - j));
  });
}

/// Several calls that each take a buffer of BLAS for a short while.
Matrix short_calls(Index n) {
  Matrix a = wave(n);
  Matrix product = symmetric_times(a, a);
  EXPECT_TRUE(cholesky(a));
  solve_lower(a, product);
  add_gram(1.0, product, 1.0, a);
  return a;
}

TEST(BlasMemory, ThreadsDoNotShareABuffer) {
  constexpr Index sizes = 8;
  std::vector<Matrix> expected;
  for (Index k = 0; k < sizes; ++k) expected.push_back(short_calls(24 + 3 * k));
  std::atomic<int> wrong{0};
  parallel_blocks(8000, 100, most_threads, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      wrong += short_calls(24 + 3 * (i % sizes)) != expected[static_cast<std::size_t>(i % sizes)];
  });
  EXPECT_EQ(wrong, 0);
}

#ifndef GAUSSMITH_INSTRUMENTED
/// Runs in a child: exit code 0 when BLAS goes on with the buffers that it has.
[[noreturn]] void use_blas_without_room() {
  alarm(20);
  prepare_blas();
  // Less than what is mapped already: no mapping succeeds any more.
  const rlimit nothing{1, 1};
  if (setrlimit(RLIMIT_AS, &nothing) != 0) _exit(2);
  constexpr int many = 60;
  const int buffers = reserve_blas_buffers(many);
  if (buffers < 1 || buffers >= many) _exit(3);
  const BlasThreads fewer(many);
  if (threads_for(1e12) != buffers) _exit(4);
  Matrix a = Matrix::Identity(20, 20);
  _exit(cholesky(a) ? 0 : 5);
}

TEST(BlasMemoryDeathTest, WithoutRoomForBuffersFewerThreadsAreUsedAndNothingHangs) {
  EXPECT_EXIT(use_blas_without_room(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace gaussmith
