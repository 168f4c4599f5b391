// Products of designs with roots against plain matrix algebra, at sizes where panels are kept and where they are not,
// where work is cut into several chunks and tiles, and at one and three threads.

#include "families/root_products.hpp"
#include "gaussmith/random.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

constexpr double rounding = 1e-11;

Matrix normal_matrix(Index rows, Index columns, Random& random) {
  Matrix out(rows, columns);
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) out(i, j) = random.normal();
  return out;
}

Vector normal_vector(Index size, Random& random) { return normal_matrix(size, 1, random).col(0); }

struct Shape {
  CovarianceFamily family;
  Index dimension;
  bool keeps_panel;
};

class Products : public ::testing::TestWithParam<Shape> {};

TEST_P(Products, EqualPlainMatrixAlgebra) {
  Random random(11);
  const Index d = GetParam().dimension;
  const RootPattern pattern = make_pattern(GetParam().family, d);
  EXPECT_EQ(RootProducts::keeps_panel(pattern), GetParam().keeps_panel);
  const Matrix h = normal_matrix(600, d, random);
  const Vector weight = normal_vector(h.rows(), random);
  const Vector other_weight = normal_vector(h.rows(), random);
  const Vector a_entries = normal_vector(pattern.entries(), random);
  const Vector b_entries = normal_vector(pattern.entries(), random);
  const Matrix a_rows = h * Matrix(pattern.matrix(a_entries)).transpose();
  const Matrix b_rows = h * Matrix(pattern.matrix(b_entries)).transpose();
  const Matrix adjoint =
      a_rows.transpose() * weight.asDiagonal() * h + b_rows.transpose() * other_weight.asDiagonal() * h;
  const Design dense = h;
  const Design sparse = SparseMatrix(h.sparseView());
  for (const Design* design : {&dense, &sparse})
    for (const int threads : {1, 3}) {
      const RootProducts products(*design, pattern, threads);
      const ProjectedRoot a = products.project(a_entries);
      const ProjectedRoot b = products.project(b_entries);
      const Matrix inner = products.inner({&a, &b});
      const double scale = inner.cwiseAbs().maxCoeff();
      EXPECT_LT((inner.col(0) - a_rows.rowwise().squaredNorm()).cwiseAbs().maxCoeff(), rounding * scale);
      EXPECT_LT((inner.col(1) - a_rows.cwiseProduct(b_rows).rowwise().sum()).cwiseAbs().maxCoeff(), rounding * scale);
      EXPECT_LT((inner.col(2) - b_rows.rowwise().squaredNorm()).cwiseAbs().maxCoeff(), rounding * scale);
      EXPECT_EQ(products.inner({&a, &b}, {{0, 1}}).col(0), inner.col(1));
      const Vector gathered = products.gather({{&a, &weight}, {&b, &other_weight}});
      for (Index j = 0; j < pattern.columns; ++j)
        for (Index e = pattern.start[static_cast<std::size_t>(j)]; e <= pattern.diagonal(j); ++e)
          ASSERT_NEAR(gathered(e), adjoint(pattern.row[static_cast<std::size_t>(e)], j),
                      rounding * adjoint.cwiseAbs().maxCoeff())
              << "entry " << e << " of column " << j;
    }
}

TEST_P(Products, DoNotDependOnTheNumberOfThreads) {
  Random random(12);
  const RootPattern pattern = make_pattern(GetParam().family, GetParam().dimension);
  const Matrix h = normal_matrix(600, GetParam().dimension, random);
  const Vector weight = normal_vector(h.rows(), random);
  const Vector entries = normal_vector(pattern.entries(), random);
  for (const Design& design : {Design(h), Design(SparseMatrix(h.sparseView()))}) {
    const RootProducts one(design, pattern, 1);
    const RootProducts three(design, pattern, 3);
    const ProjectedRoot first = one.project(entries);
    const ProjectedRoot second = three.project(entries);
    EXPECT_EQ(one.inner({&first}), three.inner({&second}));
    EXPECT_EQ(one.gather({{&first, &weight}}), three.gather({{&second, &weight}}));
    EXPECT_EQ(one.squares(weight), three.squares(weight));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, Products,
    ::testing::Values(Shape{{FamilyKind::chevron, 3}, 300, true}, Shape{{FamilyKind::chevron, 70}, 80, false},
                      Shape{{FamilyKind::banded, 7}, 120, false}, Shape{{FamilyKind::diagonal, 0}, 50, false},
                      Shape{{FamilyKind::full, 0}, 40, false}, Shape{{FamilyKind::factor, 5}, 260, true}));

}  // namespace
}  // namespace gaussmith
