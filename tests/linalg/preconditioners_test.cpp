#include "linalg/preconditioners.hpp"

#include "linalg/conjugate_gradients.hpp"
#include "linalg/incomplete_cholesky.hpp"
#include "linalg/random_matrix.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

namespace gaussmith {
namespace {

using testing::dense_inverse;
using testing::dense_product;
using testing::distance;
using testing::normal_matrix;
using testing::symmetric_eigenvalues;
using testing::symmetric_with;

LinearMap products_with(const Matrix& a) {
  return [&a](const Matrix& x) { return dense_product(a, x); };
}

/// M as a matrix; it must be symmetric and positive definite.
Matrix matrix_of(const LinearMap& m, Index size) {
  const Matrix out = m(Matrix::Identity(size, size));
  EXPECT_LT(distance(out, out.transpose()), 1e-12 * out.norm());
  EXPECT_GT(symmetric_eigenvalues(out)(0), 0.0);
  return out;
}

/// Iterations until (x - truth)'A(x - truth), which falls in each, is 1e-12 of what it was, whatever the preconditioner
/// calls a residual.
int iterations(const Matrix& a, const LinearMap& preconditioner) {
  Random random(5);
  const Matrix truth = normal_matrix(a.rows(), 2, random);
  const Matrix right = dense_product(a, truth);
  const auto energy = [&](const Matrix& error) { return dense_product(a, error).cwiseProduct(error).sum(); };
  const auto enough = [&](int most) {
    const ConjugateGradientOptions options{.reduction = 0.0, .max_iterations = most};
    const Matrix reached = conjugate_gradients(products_with(a), right, options, preconditioner).solution;
    return energy(reached - truth) <= 1e-12 * energy(truth);
  };
  int few = 0;
  int many = 1;
  while (!enough(many)) {
    few = many;
    many *= 2;
    if (many > 10000) return many;
  }
  while (many - few > 1) {
    const int middle = (few + many) / 2;
    (enough(middle) ? many : few) = middle;
  }
  return many;
}

/// The five-point Laplacian of a square of side n, and a little of the identity.
Matrix laplacian(Index n) {
  Matrix a = Matrix::Identity(n * n, n * n) * 1e-3;
  const auto couple = [&](Index i, Index j) {
    a(i, i) += 1.0;
    a(j, j) += 1.0;
    a(i, j) -= 1.0;
    a(j, i) -= 1.0;
  };
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      if (j + 1 < n) couple(i * n + j, i * n + j + 1);
      if (i + 1 < n) couple(i * n + j, (i + 1) * n + j);
    }
  return a;
}

/// A well-conditioned matrix with rows and columns in units from 1e-3 to 1e3.
Matrix in_many_units(Index n, Random& random) {
  const Vector units = (Vector::LinSpaced(n, -3.0, 3.0) * std::log(10.0)).array().exp();
  const Matrix a = symmetric_with(Vector::LinSpaced(n, 1.0, 3.0), random);
  return units.asDiagonal() * a * units.asDiagonal();
}

TEST(Preconditioners, DiagonalUndoesUnits) {
  Random random(1);
  const Matrix a = in_many_units(60, random);
  const LinearMap m = diagonal_preconditioner(a.diagonal());
  EXPECT_LT(distance(matrix_of(m, 60), Matrix(a.diagonal().cwiseInverse().asDiagonal())), 1e-12 * m(a).norm());
  EXPECT_LT(iterations(a, m), 30);
  EXPECT_GT(iterations(a, {}), 60);
  // Entries that no positive definite matrix has do not spoil it.
  matrix_of(diagonal_preconditioner((Vector(3) << 2.0, 0.0, -1.0).finished()), 3);
}

TEST(Preconditioners, WeightsSolvedForFirstLeaveTheHoldOfTheOthers) {
  Random random(7);
  const Index size = 50;
  // Three weights that nothing but the rows holds, in nearly all rows.
  Matrix h = normal_matrix(80, size, random);
  h.leftCols(3).array() += 3.0;
  Vector own = Vector::LinSpaced(size, 40.0, 80.0);
  own.head(3).setConstant(1e-4);
  const Matrix a = dense_product(h.transpose(), h) + Matrix(own.asDiagonal());
  const Vector diagonal = a.diagonal();
  const std::vector<Index> weak{0, 1, 2};
  const auto first = std::make_shared<const SolvedFirst>(weak, a(Eigen::all, weak));
  ASSERT_TRUE(first->exists());
  const LinearMap m = solved_first_preconditioner(diagonal, first);
  const Matrix inverse = matrix_of(m, size);
  // M A is similar to L'M L.
  const Matrix lower = Eigen::LLT<Matrix>(a).matrixL();
  const auto least = [&](const Matrix& by) {
    return symmetric_eigenvalues(dense_product(lower.transpose(), dense_product(by, lower)))(0);
  };
  const double others = own.tail(size - 3).cwiseQuotient(diagonal.tail(size - 3)).minCoeff();
  EXPECT_GE(least(inverse), others);
  EXPECT_LT(least(Matrix(diagonal.cwiseInverse().asDiagonal())), 0.5 * others);
  EXPECT_LT(iterations(a, m) + 3, iterations(a, diagonal_preconditioner(diagonal)));
  // All weights at once is the inverse, and so is one whose block belongs to A on what it solves for first.
  std::vector<Index> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), Index{0});
  const auto whole = std::make_shared<const SolvedFirst>(all, a);
  EXPECT_LT(distance(solved_first_preconditioner(diagonal, whole)(a), Matrix::Identity(size, size)), 1e-8);
  EXPECT_LT(distance(m(a(Eigen::all, weak)), Matrix::Identity(size, 3)), 1e-9);
  // A block that is not positive definite leaves the diagonal's.
  const auto none = std::make_shared<const SolvedFirst>(std::vector<Index>{0, 1}, -a.leftCols(2));
  EXPECT_FALSE(none->exists());
  EXPECT_EQ(solved_first_preconditioner(diagonal, none)(h.transpose()),
            diagonal_preconditioner(diagonal)(h.transpose()));
}

TEST(Preconditioners, BlocksAreInverted) {
  Random random(2);
  // Blocks of condition 1e4 that are scattered, and weak coupling.
  const Index size = 60;
  std::vector<std::vector<Index>> blocks(6);
  for (Index i = 0; i < size; ++i) blocks[static_cast<std::size_t>(i % 6)].push_back(i);
  Matrix a = symmetric_with(Vector::LinSpaced(size, 0.0, 0.2), random);
  for (const std::vector<Index>& block : blocks) {
    const Vector values = (Vector::LinSpaced(10, 0.0, 4.0) * std::log(10.0)).array().exp();
    a(block, block) += symmetric_with(values, random);
  }
  const SparseMatrix sparse = a.sparseView();
  const LinearMap m = block_preconditioner(sparse, blocks);
  const Matrix inverse = matrix_of(m, size);
  EXPECT_LT(distance(inverse(blocks[2], blocks[2]), dense_inverse(a(blocks[2], blocks[2]))), 1e-10);
  EXPECT_LT(3 * iterations(a, m), iterations(a, diagonal_preconditioner(a.diagonal())));
  // One block is the inverse.
  EXPECT_LT(distance(block_preconditioner(sparse, contiguous_blocks(size, size))(a), Matrix::Identity(size, size)),
            1e-9);
  const auto runs = contiguous_blocks(7, 3);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[1], (std::vector<Index>{3, 4, 5}));
  EXPECT_EQ(runs[2], (std::vector<Index>{6}));
  // An indefinite block falls back on its diagonal.
  const Matrix indefinite = (Matrix(2, 2) << 1.0, 2.0, 2.0, 1.0).finished();
  EXPECT_LT(distance(matrix_of(block_preconditioner(indefinite.sparseView(), {{0, 1}}), 2), Matrix::Identity(2, 2)),
            1e-15);
}

TEST(Preconditioners, IncompleteCholeskyIsExactWithoutFill) {
  Matrix a = Matrix::Zero(30, 30);
  for (Index i = 0; i < 30; ++i) {
    a(i, i) = 100.0 + 10.0 * static_cast<double>(i);
    if (i > 0) a(i, i - 1) = a(i - 1, i) = -49.0;
  }
  const SparseMatrix sparse = a.sparseView();
  EXPECT_LT(distance(incomplete_cholesky_preconditioner(sparse)(a), Matrix::Identity(30, 30)), 1e-12);
  EXPECT_EQ(IncompleteCholesky(sparse).shift(), 0.0);
}

TEST(Preconditioners, IncompleteCholeskyHelpsOnALaplacian) {
  const Matrix a = laplacian(14);
  const LinearMap m = incomplete_cholesky_preconditioner(a.sparseView());
  EXPECT_LT(2 * iterations(a, m), iterations(a, diagonal_preconditioner(a.diagonal())));
}

TEST(Preconditioners, IncompleteCholeskyShiftsWherePivotsFail) {
  // Positive definite, but not without the entries that its factor would fill in (Kershaw, 1978).
  const Matrix a =
      (Matrix(4, 4) << 3.0, -2.0, 0.0, 2.0, -2.0, 3.0, -2.0, 0.0, 0.0, -2.0, 3.0, -2.0, 2.0, 0.0, -2.0, 3.0).finished();
  ASSERT_GT(symmetric_eigenvalues(a)(0), 0.1);
  const IncompleteCholesky factor(a.sparseView());
  EXPECT_GT(factor.shift(), 0.0);
  matrix_of([&](const Matrix& x) { return factor.solve(x); }, 4);
}

TEST(Preconditioners, LowRankIsTheInverseOfDiagonalPlusSquares) {
  Random random(3);
  const Vector d = normal_matrix(50, 1, random).cwiseAbs().array() + 0.5;
  const Matrix u = 10.0 * normal_matrix(50, 6, random);
  const Matrix a = Matrix(d.asDiagonal()) + dense_product(u, u.transpose());
  const LinearMap m = low_rank_preconditioner(d, u);
  const Matrix inverse = dense_inverse(a);
  EXPECT_LT(distance(matrix_of(m, 50), inverse), 1e-12 * inverse.norm());
  EXPECT_LE(iterations(a, m), 2);
}

TEST(Preconditioners, SpectralMovesTheEndsOfTheSpectrum) {
  Random random(4);
  Vector values = Vector::LinSpaced(120, 1.0, 2.0);
  values.head(4) << 1e-4, 2e-4, 1e-3, 2e-3;
  values.tail(4) << 100.0, 200.0, 500.0, 1000.0;
  const Matrix a = symmetric_with(values, random);
  const LinearMap m = spectral_preconditioner(products_with(a), Vector::Ones(120), 60, 1);
  matrix_of(m, 120);
  EXPECT_LT(2 * iterations(a, m), iterations(a, {}));
  // A space that ends early is found whole: then M is the inverse.
  const Matrix two =
      symmetric_with((Vector(10) << Vector::Constant(4, 2.0), Vector::Constant(6, 5.0)).finished(), random);
  EXPECT_LE(iterations(two, spectral_preconditioner(products_with(two), Vector::Ones(10), 5, 1)), 3);
}

}  // namespace
}  // namespace gaussmith
