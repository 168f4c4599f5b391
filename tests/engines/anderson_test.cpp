#include "engines/anderson.hpp"

#include "support/models.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

TEST(Anderson, SolvesALinearProblemOnWhichTheIterationDiverges) {
  // x <- x + f(x) with f = b - A x and eigenvalues of A up to 5: plain steps grow fourfold.
  constexpr Index n = 6;
  Matrix a = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) a(i, i) = 0.5 + 0.9 * static_cast<double>(i);
  const Vector b = testing::random_vector(n, 1);
  const Vector solution = b.cwiseQuotient(a.diagonal());
  AndersonMixing mixing(n);
  Vector x = Vector::Zero(n);
  for (int step = 0; step < 2 * n; ++step) x = mixing.next(x, b - a * x, Vector::Ones(n), 1.0);
  EXPECT_LT((x - solution).norm(), 1e-9 * solution.norm());
}

TEST(Anderson, WithoutAPastItIsTheDampedStep) {
  AndersonMixing mixing(3);
  const Vector x = testing::random_vector(4, 2);
  const Vector f = testing::random_vector(4, 3);
  EXPECT_EQ(mixing.next(x, f, Vector::Ones(4), 0.5), Vector(x + 0.5 * f));
  mixing.clear();
  EXPECT_EQ(mixing.next(f, x, Vector::Ones(4), 1.0), Vector(f + x));
}

}  // namespace
}  // namespace gaussmith
