// The Gaussian factor model against differences and dense determinants, and the family that jumps by it.

#include "families/factor_model.hpp"
#include "families/fit_family.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

using testing::dense_determinant;
using testing::linear_model;
using testing::random_covariance;
using testing::random_matrix;
using testing::random_vector;
using testing::repetitions;

double objective(const Matrix& a, const Matrix& loadings, const Vector& d) {
  Matrix v = loadings * loadings.transpose();
  v.diagonal() += d.cwiseAbs2();
  return 0.5 * std::log(dense_determinant(v)) - 0.5 * (a * v).trace();
}

TEST(FactorModel, BestLoadingsAreTheMaximum) {
  constexpr Index size = 6;
  for (const Index factors : {1, 2, 4}) {
    const Matrix a = random_covariance(size, size, 11) + 0.1 * Matrix::Identity(size, size);
    const Vector d = random_vector(size, 12).cwiseAbs().array() + 0.2;
    const FactorRoot best = best_loadings(a, d, factors);
    EXPECT_NEAR(best.value, objective(a, best.loadings, d), 1e-10);
    constexpr double step = 1e-5;
    for (Index i = 0; i < size; ++i)
      for (Index j = 0; j < factors; ++j) {
        Matrix up = best.loadings;
        Matrix down = best.loadings;
        up(i, j) += step;
        down(i, j) -= step;
        EXPECT_NEAR((objective(a, up, d) - objective(a, down, d)) / (2.0 * step), 0.0, 1e-7);
      }
    for (std::uint64_t seed = 0; seed < 200; ++seed)
      EXPECT_LE(objective(a, random_matrix(size, factors, seed), d), best.value);
  }
}

TEST(FactorModel, AlternationEndsWhereNothingRises) {
  constexpr Index size = 5;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix a = random_covariance(size, size, 100 + seed) + 0.05 * Matrix::Identity(size, size);
    const Vector alone = a.diagonal().cwiseInverse().cwiseSqrt();
    const FactorRoot end = fit_factors(a, alone, 2);
    EXPECT_GE(end.value, best_loadings(a, alone, 2).value - 1e-12);
    EXPECT_NEAR(end.value, objective(a, end.loadings, end.deviations), 1e-6);  // Floors of d cost digits.
    for (Index j = 0; j < size; ++j)
      for (const double factor : {0.95, 1.05}) {
        Vector d = end.deviations;
        d(j) *= factor;
        EXPECT_LE(objective(a, end.loadings, d), end.value + 1e-5) << seed << " " << j;
      }
  }
}

TEST(FactorModel, FewRowsReachTheBestOfManyRestarts) {
  for (int seed = 0; seed < repetitions(10); ++seed) {
    const Model model = linear_model("bernoulli-logit", 3, 5, 300 + static_cast<std::uint64_t>(seed));
    const CovarianceFamily family = parse_family("factor:1");
    double best = -1e300;
    for (std::uint64_t restart = 1; restart <= 10; ++restart) {
      FamilyOptions many;
      many.starts = 10;
      many.seed = restart;
      best = std::max(best, fit_family(model, family, many, 1).bound);
    }
    EXPECT_GE(fit_family(model, family, {}, 1).bound, best - 1e-6) << seed;
  }
}

}  // namespace
}  // namespace gaussmith
