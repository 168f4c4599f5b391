#include "linalg/sparse_cholesky.hpp"
#include "gaussmith/random.hpp"
#include "support/dense.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Q + H'T H for a path and random short rows, as entries on its pattern and dense.
struct Example {
  SymmetricPattern pattern;
  std::vector<double> entries;
  Matrix dense;
};

Example example(Index size, Index rows, std::uint64_t seed) {
  Random random(seed);
  SparseMatrix q(size, size);
  for (Index i = 0; i < size; ++i) {
    q.coeffRef(i, i) = 0.5 + random.uniform();
    if (i + 1 < size) q.coeffRef(i + 1, i) = -0.2;  // The lower half alone.
  }
  SparseMatrix h(rows, size);
  for (Index n = 0; n < rows; ++n)
    for (int k = 0; k < 3; ++k)
      h.coeffRef(n, static_cast<Index>(random.uniform() * static_cast<double>(size))) = random.normal();
  Example out;
  out.pattern = gram_pattern(q, &h);
  out.dense = Matrix(q) + Matrix(SparseMatrix(q.triangularView<Eigen::StrictlyLower>()).transpose()) +
              Matrix(h.transpose()) * Matrix(h);
  for (Index j = 0; j < size; ++j)
    for (int k = out.pattern.begin[j]; k < out.pattern.begin[j + 1]; ++k)
      out.entries.push_back(out.dense(out.pattern.row[k], j));
  return out;
}

TEST(SparseCholesky, PatternHoldsEveryEntryOnce) {
  const Example e = example(40, 25, 1);
  Matrix rebuilt = Matrix::Zero(40, 40);
  for (Index j = 0; j < 40; ++j) {
    EXPECT_EQ(e.pattern.row[e.pattern.begin[j]], j);
    for (int k = e.pattern.begin[j]; k < e.pattern.begin[j + 1]; ++k) rebuilt(e.pattern.row[k], j) = e.entries[k];
  }
  EXPECT_EQ((rebuilt - Matrix(e.dense.triangularView<Eigen::Lower>())).cwiseAbs().maxCoeff(), 0.0);
}

TEST(SparseCholesky, AgreesWithDenseInverseAndDeterminant) {
  for (const Index size : {1, 2, 17, 150}) {
    SCOPED_TRACE(size);
    const Example e = example(size, size / 2 + 1, 3);
    SparseCholesky factor(e.pattern);
    ASSERT_TRUE(factor.factorise(e.entries));
    const Matrix inverse = dense_inverse(e.dense);
    EXPECT_NEAR(factor.log_determinant(), std::log(dense_determinant(e.dense)), 1e-10 * static_cast<double>(size));
    Matrix b = Matrix::Random(size, 70);
    const Matrix expected = inverse * b;
    const Matrix half = factor.half_solve(b);
    EXPECT_LT((half.colwise().squaredNorm().transpose() - b.cwiseProduct(expected).colwise().sum().transpose())
                  .lpNorm<Eigen::Infinity>(),
              1e-10);
    factor.solve(b);
    EXPECT_LT((b - expected).cwiseAbs().maxCoeff(), 1e-11);
    const Matrix root = factor.root_times(Matrix::Identity(size, size));
    EXPECT_LT((root * root.transpose() - inverse).cwiseAbs().maxCoeff(), 1e-11);
    const std::vector<double> selected = factor.selected_inverse();
    for (Index j = 0; j < size; ++j)
      for (int k = e.pattern.begin[j]; k < e.pattern.begin[j + 1]; ++k)
        EXPECT_NEAR(selected[k], inverse(e.pattern.row[k], j), 1e-11) << e.pattern.row[k] << ' ' << j;
  }
}

TEST(SparseCholesky, SaysNoToIndefiniteMatricesAndGoesOn) {
  Example e = example(30, 10, 5);
  SparseCholesky factor(e.pattern);
  std::vector<double> bad = e.entries;
  bad[static_cast<std::size_t>(e.pattern.begin[7])] = -1.0;
  EXPECT_FALSE(factor.factorise(bad));
  EXPECT_TRUE(factor.factorise(e.entries));
  EXPECT_NEAR(factor.log_determinant(), std::log(dense_determinant(e.dense)), 1e-9);
}

TEST(SparseCholesky, LatticeInverseOnItsPattern) {
  // Supernodes of many columns: a lattice with a diagonal of 4.1.
  const Index side = 40;
  SparseMatrix q(side * side, side * side);
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      const Index at = i * side + j;
      q.coeffRef(at, at) = 4.1;
      if (j + 1 < side) q.coeffRef(at + 1, at) = -1.0;
      if (i + 1 < side) q.coeffRef(at + side, at) = -1.0;
    }
  const SymmetricPattern pattern = gram_pattern(q, nullptr);
  SparseCholesky factor(pattern);
  std::vector<double> entries;
  for (Index j = 0; j < pattern.size; ++j)
    for (int k = pattern.begin[j]; k < pattern.begin[j + 1]; ++k) entries.push_back(q.coeff(pattern.row[k], j));
  ASSERT_TRUE(factor.factorise(entries));
  const std::vector<double> selected = factor.selected_inverse();
  Matrix unit = Matrix::Zero(pattern.size, 1);
  for (const Index j : {Index{0}, Index{777}, side * side - 1}) {
    unit.setZero();
    unit(j, 0) = 1.0;
    factor.solve(unit);
    for (int k = pattern.begin[j]; k < pattern.begin[j + 1]; ++k)
      EXPECT_NEAR(selected[k], unit(pattern.row[k], 0), 1e-13);
  }
  EXPECT_GT(factor.smallest_pivot(), 0.1);
  EXPECT_GT(factor_cost(pattern).factor_entries, 5e3);
}

}  // namespace
}  // namespace gaussmith
