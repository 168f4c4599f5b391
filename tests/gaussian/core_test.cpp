// Both forms of the core against textbook formulas with explicit inverses.

#include "gaussian/core.hpp"

#include "gaussian/covariance_core.hpp"
#include "gaussian/precision_core.hpp"
#include "gaussmith/errors.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A model whose sites do not matter: the core is given precisions and shifts directly.
Model blank(Prior prior, Design design, Vector offset) {
  Model model{.prior = std::move(prior), .design = std::move(design), .offset = std::move(offset), .sites = {}};
  model.sites = {observe("bernoulli-logit", Vector::Ones(model.rows()))};
  return model;
}

struct Truth {
  Matrix k, v;
  Vector mean;
  double half_log_det;
};

/// V = (K^-1 + T)^-1 = (I + K T)^-1 K, which also holds for singular K.
Truth truth(const Matrix& sigma, const Matrix& h, const Vector& m0, const SiteApproximation& s) {
  const Matrix k = h * sigma * h.transpose();
  const Matrix b = Matrix::Identity(k.rows(), k.rows()) + k * s.precision.asDiagonal();
  Truth t{k, dense_solve(b, k), {}, 0.5 * std::log(dense_determinant(b))};
  t.mean = m0 + t.v * (s.shift - s.precision.cwiseProduct(m0));
  return t;
}

struct Case {
  const char* name;
  Index rows, dimension, rank;
  int negative;  ///< Sites with a (small) negative precision.
};

Matrix weights_of(const GaussianCore& core, const LatentPoint& at, const Vector& implicit) {
  if (const auto* covariance = dynamic_cast<const CovarianceCore*>(&core))
    return covariance->covariance_weights(at, implicit);
  return dynamic_cast<const PrecisionCore&>(core).covariance_weights(at, implicit);
}

/// Sites with these precisions and no shift.
SiteApproximation precisions(const Vector& tau) { return {tau, Vector::Zero(tau.size())}; }

class Core : public ::testing::TestWithParam<std::tuple<Case, CoreForm>> {};

TEST_P(Core, AgreesWithExplicitInverses) {
  const auto& [c, form] = GetParam();
  const Matrix sigma = random_covariance(c.dimension, c.rank, 2);
  const Matrix h = random_matrix(c.rows, c.dimension, 3);
  const Vector mean = random_vector(c.dimension, 4);
  const Vector offset = random_vector(c.rows, 5);
  const Model model = blank(DenseGaussian{mean, sigma}, h, offset);
  SiteApproximation s{random_vector(c.rows, 6).cwiseAbs2(), random_vector(c.rows, 7)};
  for (int j = 0; j < c.negative; ++j) s.precision(j) *= -0.02;
  const Vector m0 = h * mean + offset;
  const Truth t = truth(sigma, h, m0, s);

  auto core = make_core(model, form, 1);
  ASSERT_TRUE(core->set(s));
  const LatentPoint point = core->mean();
  EXPECT_LT((point.eta - t.mean).norm(), 1e-10 * (1 + t.mean.norm()));
  EXPECT_NEAR(core->half_log_det().value, t.half_log_det, 1e-10 * (1 + std::abs(t.half_log_det)));
  EXPECT_LT((core->variances() - t.v.diagonal()).norm(), 1e-10 * t.v.norm());
  const Vector x = random_vector(c.rows, 8);
  EXPECT_LT((core->covariance_times(x) - t.v * x).norm(), 1e-10 * t.v.norm() * x.norm());

  // The prior's inner product: |u|^2 = (eta - m0)' K^+ (eta - m0).
  const Vector difference = t.mean - m0;
  const double penalty = difference.dot(symmetric_solution(t.k, difference));
  EXPECT_NEAR(core->inner(point, point), penalty, 1e-7 * (1 + penalty));

  // Predictions at new rows of w, jointly and one by one, and w itself.
  const Design rows = Matrix(random_matrix(4, c.dimension, 9));
  const Matrix& g = *rows.entries().dense;
  const Matrix z = t.k.rows() == 0
                       ? Matrix()
                       : Matrix(s.precision.asDiagonal()) - s.precision.asDiagonal() * t.v * s.precision.asDiagonal();
  const Matrix cross = g * sigma * h.transpose();
  const Matrix joint = g * sigma * g.transpose() - cross * z * cross.transpose();
  Vector got_mean;
  Vector got_variance;
  const auto law = core->law(point);
  law->predict(NewRows{rows}, 0, 4, got_mean, got_variance);
  const Vector dual = s.shift - s.precision.cwiseProduct(t.mean);
  EXPECT_LT((got_mean - (g * mean + cross * dual)).norm(), 1e-9 * (1 + got_mean.norm()));
  EXPECT_LT((got_variance - joint.diagonal()).norm(), 1e-9 * joint.norm());
  EXPECT_LT((law->joint_covariance(NewRows{rows}) - joint).norm(), 1e-9 * joint.norm());
  const Matrix root = law->weight_root();
  const Matrix w_cross = sigma * h.transpose();
  EXPECT_LT((root * root.transpose() - (sigma - w_cross * z * w_cross.transpose())).norm(), 1e-9 * sigma.norm());

  // Weights of dSigma: explicit terms and a made-up implicit vector.
  const Vector implicit = random_vector(c.rows, 10);
  const Matrix weights = weights_of(*core, point, implicit).selfadjointView<Eigen::Lower>();
  const Matrix expected = 0.5 * h.transpose() *
                          (dual * dual.transpose() - z + implicit * dual.transpose() + dual * implicit.transpose()) * h;
  EXPECT_LT((weights - expected).norm(), 1e-8 * expected.norm());
}

constexpr Case all_cases[] = {
    {"fewer rows", 7, 12, 12, 0},           {"more rows", 15, 4, 4, 0},           {"singular", 9, 8, 3, 0},
    {"negative, fewer rows", 7, 12, 12, 2}, {"negative, more rows", 15, 4, 4, 3}, {"negative, singular", 9, 8, 3, 2}};

INSTANTIATE_TEST_SUITE_P(Shapes, Core,
                         ::testing::Combine(::testing::ValuesIn(all_cases),
                                            ::testing::Values(CoreForm::covariance, CoreForm::precision)));

TEST(CoreRegion, IsExactlyWhereThePosteriorIsProper) {
  // K = 2, so 1/2 + tau > 0 is the boundary.
  const Model model = blank(DenseGaussian{Vector::Zero(1), Matrix::Constant(1, 1, 2.0)}, Identity{}, {});
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    auto core = make_core(model, form, 1);
    EXPECT_TRUE(core->set(precisions(Vector::Constant(1, -0.5 + 1e-9))));
    EXPECT_FALSE(core->set(precisions(Vector::Constant(1, -0.5 - 1e-9))));
    EXPECT_FALSE(core->set(precisions(Vector::Constant(1, std::nan("")))));
  }
}

TEST(CoreSites, AreRememberedAndSurviveAFailure) {
  const Model model = blank(DenseGaussian{Vector::Zero(4), random_covariance(4, 4, 1)}, Identity{}, {});
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    auto core = make_core(model, form, 1);
    const SiteApproximation sites{Vector::Ones(4), random_vector(4, 2)};
    ASSERT_TRUE(core->set(sites));
    const double before = core->half_log_det().value;
    const RowMarginals rows = core->marginals(core->mean());
    // Other shifts at the same precisions: another mean, the same variances.
    const SiteApproximation shifted{sites.precision, random_vector(4, 3)};
    ASSERT_TRUE(core->set(shifted));
    EXPECT_EQ(core->variances(), rows.variance);
    EXPECT_NE(core->mean().eta, rows.mean);
    EXPECT_EQ(core->sites(), shifted);
    ASSERT_FALSE(core->set(precisions(Vector::Constant(4, -100.0))));
    core->restore(sites);
    EXPECT_EQ(core->half_log_det().value, before);
    const RowMarginals again = core->marginals(core->mean());
    EXPECT_EQ(again.mean, rows.mean);
    EXPECT_EQ(again.variance, rows.variance);
    EXPECT_THROW(core->restore(precisions(Vector::Constant(4, -100.0))), std::logic_error);
  }
}

TEST(CoreLaws, KeepTheirFactorisationWhenTheCoreMovesOn) {
  const Model model = blank(DenseGaussian{Vector::Zero(5), random_covariance(5, 5, 4)}, random_matrix(7, 5, 5), {});
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    auto core = make_core(model, form, 1);
    ASSERT_TRUE(core->set({Vector::Ones(7), random_vector(7, 6)}));
    const auto law = core->law(core->mean());
    const Marginals before = law->weights();
    ASSERT_TRUE(core->set({Vector::Constant(7, 30.0), random_vector(7, 7)}));
    const Marginals after = law->weights();
    EXPECT_EQ(before.mean, after.mean);
    EXPECT_EQ(before.variance, after.variance);
  }
}

TEST(CoreVariances, AreAccurateForVanishingAndHugePrecisions) {
  Matrix sigma(2, 2);
  sigma << 1.0, 0.5, 0.5, 2.0;
  const Model model = blank(DenseGaussian{Vector::Zero(2), sigma}, Identity{}, {});
  auto core = make_core(model, CoreForm::covariance, 1);
  ASSERT_TRUE(core->set(precisions((Vector(2) << 1e-14, 1e12).finished())));
  const Vector v = core->variances();
  // eta_2 is pinned to 1e-12; eta_1 given eta_2 keeps 1 - 0.25 / 2.
  EXPECT_NEAR(v(0), 0.875, 1e-12);
  EXPECT_NEAR(v(1), 1e-12, 1e-18);
}

TEST(CoreWithoutGaussian, CountsTheMissingConstant) {
  const Matrix h = random_matrix(8, 3, 1);
  const Model model = blank(NoGaussian{3}, h, {});
  const Vector tau = random_vector(8, 2).cwiseAbs();
  auto core = make_core(model, CoreForm::precision, 1);
  ASSERT_TRUE(core->set(precisions(tau)));
  const Matrix a = h.transpose() * tau.asDiagonal() * h;
  EXPECT_NEAR(core->half_log_det().value, 0.5 * std::log(dense_determinant(a)) - 1.5 * std::log(2 * std::numbers::pi),
              1e-12);
  EXPECT_EQ(core->inner(core->centre(), core->centre()), 0.0);
  EXPECT_THROW((void)choose_form(model, CoreForm::covariance), InvalidOption);
}

TEST(CoreOfDiagonalPriors, MatchesTheDensePriorOnEveryDesign) {
  const Vector mean = random_vector(5, 1);
  const Vector variance = random_vector(5, 2).cwiseAbs2();
  const Matrix h = random_matrix(7, 5, 3);
  const SparseMatrix sparse = h.sparseView(1.0, 0.7);
  const std::vector<Design> designs = {Identity{}, h, sparse};
  for (const Design& design : designs) {
    const Model diagonal = blank(Diagonal{mean, variance}, design, {});
    const Model dense = blank(DenseGaussian{mean, variance.asDiagonal()}, design, {});
    const Vector tau = random_vector(diagonal.rows(), 4).cwiseAbs();
    const Vector nu = random_vector(diagonal.rows(), 5);
    auto reference = make_core(dense, CoreForm::covariance, 1);
    ASSERT_TRUE(reference->set(precisions(tau)));
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      auto core = make_core(diagonal, form, 1);
      ASSERT_TRUE(core->set(precisions(tau)));
      EXPECT_LT((core->mean(nu).eta - reference->mean(nu).eta).norm(), 1e-11);
      EXPECT_LT((core->variances() - reference->variances()).norm(), 1e-11);
      EXPECT_NEAR(core->half_log_det().value, reference->half_log_det().value, 1e-11);
    }
  }
}

TEST(SparseCore, SaysWhereTheConstraintsLeaveNothingOfAVariance) {
  // The sum of the weights is held: the variance of a row of ones is rounding alone.
  const Index size = 9;
  Matrix rows = Matrix::Identity(size + 1, size);
  const auto model_with = [&] {
    return blank(IntrinsicField{FieldKind::rw1, size, 2.0}, SparseMatrix(rows.sparseView()), {});
  };
  const SiteApproximation sites = precisions(Vector::Ones(size + 1));
  const auto uncertain = [&] {
    const auto core = make_core(model_with(), CoreForm::sparse, 1);
    EXPECT_TRUE(core->set(sites));
    const LatentPoint mean = core->mean(sites.shift);
    EXPECT_GE(core->marginals(mean).variance.minCoeff(), 0.0);
    return core->rounding_error(mean).variance;
  };
  EXPECT_LT(uncertain(), 1e-10);  // The last row is empty: nothing is exactly nothing.
  rows.row(size).setOnes();
  EXPECT_GT(uncertain(), 1e-3);
}

TEST(SparseCore, MemoryCountsTheConstraints) {
  // Chains of two nodes: as many constraints as there are pairs.
  const Index size = 400;
  IntrinsicField pairs{FieldKind::besag, size, 1.0};
  for (Index i = 0; i < size; i += 2) pairs.edges.emplace_back(i, i + 1);
  const Model model = blank(pairs, Identity{}, {});
  const double constraints = 8.0 * static_cast<double>(size) * static_cast<double>(size) / 2.0;
  EXPECT_GT(core_memory(model, CoreForm::sparse), 5.0 * constraints);
}

TEST(CoreOfProcesses, PredictsTheSameInBothFormsWithDuplicateInputs) {
  Matrix inputs = random_matrix(9, 2, 1);
  inputs.row(8) = inputs.row(3);
  inputs.row(7) = inputs.row(3);
  const Model model = blank(GaussianProcess{inputs, make_kernel("se", {{"lengthscale", {0.9}}}), 0.3}, Identity{}, {});
  const Vector tau = random_vector(9, 2).cwiseAbs();
  const Vector nu = random_vector(9, 3);
  const Matrix fresh = random_matrix(6, 2, 4);
  std::vector<Vector> means;
  std::vector<Vector> variances;
  std::vector<Matrix> joints;
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    auto core = make_core(model, form, 1);
    ASSERT_TRUE(core->set(precisions(tau)));
    const auto law = core->law(core->mean(nu));
    const Marginals predicted = law->predict(NewInputs{&fresh});
    means.push_back(predicted.mean);
    variances.push_back(predicted.variance);
    joints.push_back(law->joint_covariance(NewInputs{&fresh}));
    EXPECT_LT((joints.back().diagonal() - predicted.variance).norm(), 1e-9);
  }
  EXPECT_LT((means[0] - means[1]).norm(), 1e-8);
  EXPECT_LT((variances[0] - variances[1]).norm(), 1e-8);
  EXPECT_LT((joints[0] - joints[1]).norm(), 1e-8);
}

}  // namespace
}  // namespace gaussmith
