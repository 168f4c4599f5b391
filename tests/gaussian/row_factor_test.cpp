// The factor over rows against explicit inverses and determinants over the weights.

#include "gaussian/row_factor.hpp"

#include "gaussian/core.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

TEST(RowFactor, IsTheInverseOverTheWeights) {
  const Index rows = 6;
  const Index weights = 11;
  const Matrix h = random_matrix(rows, weights, 3);
  const Vector own = random_vector(weights, 4).cwiseAbs2().array() + 0.1;
  Vector precision = random_vector(rows, 5).cwiseAbs();
  precision(2) = 0.0;
  const Matrix x = random_matrix(weights, 70, 6);
  const Matrix a = Matrix(h.transpose() * precision.asDiagonal() * h) + Matrix(own.asDiagonal());
  for (const Design& design : {Design(h), Design(SparseMatrix(h.sparseView()))}) {
    RowFactor factor;
    EXPECT_FALSE(factor.exists());
    ASSERT_TRUE(factor.factorise(design, precision, own, 1));
    EXPECT_LT((factor.solve(design, x, 1) - dense_inverse(a) * x).lpNorm<Eigen::Infinity>(), 1e-11);
    EXPECT_NEAR(factor.log_determinant(), std::log(dense_determinant(a)), 1e-11);
    // Any number of threads gives the same bits.
    EXPECT_EQ(factor.solve(design, x, 1), factor.solve(design, x, 2));
  }
}

TEST(RowFactor, IsUsedAgainAfterSmallChangesOfPrecisions) {
  // As a preconditioner of what is solved for at the new precisions: the draws are those of a factor made there, to the
  // tolerance of the solves, and not those of the old one; the log-determinant is always that of the new ones.
  const Index rows = 30;
  const Index weights = 1100;  // Beyond those for which determinants are made densely.
  const Matrix values = random_matrix(rows, 40, 3);
  SparseMatrix h(rows, weights);
  for (Index n = 0; n < rows; ++n)
    for (Index k = 0; k < 40; ++k) h.coeffRef(n, (37 * n + 11 * k) % weights) = values(n, k);
  const Model model{
      .prior = Isotropic{Vector::Zero(weights), 0.8}, .design = h, .sites = {random_sites("bernoulli-logit", rows, 7)}};
  const Estimation drawn{.variances = SampledVariances{.draws = 64, .control_steps = 0}, .seed = 5};
  const Vector first = random_vector(rows, 5).cwiseAbs().array() + 0.2;
  const auto sites_at = [&](const Vector& precision) { return SiteApproximation{precision, Vector::Zero(rows)}; };
  for (const double change : {1.05, 1.3, 1.0 / 1.3}) {
    Vector second = first;
    for (Index n = 0; n < rows; ++n)
      if (n % 3 != 0) second(n) *= change;
    const auto moved = make_core(model, CoreForm::matrix_free, 1, drawn);
    ASSERT_TRUE(moved->set(sites_at(first)));
    const Vector before = moved->variances();
    ASSERT_TRUE(moved->set(sites_at(second)));
    const auto fresh = make_core(model, CoreForm::matrix_free, 1, drawn);
    ASSERT_TRUE(fresh->set(sites_at(second)));
    const Vector wanted = fresh->variances();
    const auto apart = [&](const Vector& v) { return (v - wanted).cwiseQuotient(wanted).lpNorm<Eigen::Infinity>(); };
    EXPECT_LT(apart(moved->variances()), 0.02) << change;
    EXPECT_GT(apart(before), 3.0 * apart(moved->variances())) << change;
    const Matrix a = Matrix(h.transpose() * second.asDiagonal() * h) + Matrix::Identity(weights, weights) / 0.8;
    const double exact = 0.5 * (2.0 * Matrix(a.llt().matrixL()).diagonal().array().log().sum() +
                                static_cast<double>(weights) * std::log(0.8));
    EXPECT_NEAR(moved->half_log_det().value, exact, 1e-9) << change;
    EXPECT_EQ(moved->determinant_accuracy(), Accuracy::exact);
  }
}

TEST(RowFactor, IsRefusedWhereAWeightHasNoPrecisionOfItsOwn) {
  const Design design(random_matrix(3, 4, 1));
  RowFactor factor;
  ASSERT_TRUE(factor.factorise(design, Vector::Ones(3), Vector::Ones(4), 1));
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Vector own = Vector::Ones(4);
    own(2) = bad;
    EXPECT_FALSE(factor.factorise(design, Vector::Ones(3), own, 1));
    EXPECT_FALSE(factor.exists());
  }
}

}  // namespace
}  // namespace gaussmith
