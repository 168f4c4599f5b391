// A Gaussian given by a root must predict what the core it was taken from predicts.

#include "gaussian/root_gaussian.hpp"

#include "gaussian/core.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using testing::linear_model;
using testing::process_model;
using testing::random_matrix;
using testing::random_vector;

struct Pair {
  std::unique_ptr<GaussianCore> core;
  LatentPoint core_point;
  std::unique_ptr<RootGaussian> root;
  LatentPoint root_point;
};

/// The core's posterior for some site parameters, and the same Gaussian by its root over w.
Pair make_pair_of(const Model& model, CoreForm form) {
  Pair pair;
  pair.core = make_core(model, form, 1);
  EXPECT_TRUE(pair.core->factorise(random_vector(model.rows(), 5).cwiseAbs()));
  pair.core_point = pair.core->mean(random_vector(model.rows(), 6));
  const Design weights = Identity{};
  Vector mean;
  Vector variance;
  pair.core->predict(NewRows{&weights}, 0, model.dimension(), pair.core_point, mean, variance);
  CovarianceRoot covariance;
  covariance.root = Matrix(pair.core->weight_root().transpose()).sparseView();
  covariance.root.makeCompressed();
  pair.root = std::make_unique<RootGaussian>(std::make_shared<PriorGeometry>(model.prior, model.design, 1), covariance);
  pair.root_point = {mean, {}};
  return pair;
}

void expect_same(const Pair& pair, const NewPoints& points) {
  const Index count = pair.core->geometry().count(points);
  Vector mean_a;
  Vector mean_b;
  Vector variance_a;
  Vector variance_b;
  pair.core->predict(points, 0, count, pair.core_point, mean_a, variance_a);
  pair.root->predict(points, 0, count, pair.root_point, mean_b, variance_b);
  EXPECT_LT((mean_a - mean_b).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((variance_a - variance_b).cwiseAbs().maxCoeff(), 1e-7);
  const Matrix joint = pair.root->joint_covariance(points);
  EXPECT_LT((pair.core->joint_covariance(points) - joint).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((joint.diagonal() - variance_b).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(RootGaussian, PredictsLikeTheCoreAtNewInputs) {
  const Model model = process_model("gaussian", 12, 3);
  const Matrix inputs = random_matrix(7, 2, 9);
  expect_same(make_pair_of(model, CoreForm::covariance), NewInputs{&inputs});
}

TEST(RootGaussian, PredictsLikeTheCoreAtNewRows) {
  const Model model = linear_model("gaussian", 20, 6, 4);
  const Pair pair = make_pair_of(model, CoreForm::precision);
  const Design rows = Matrix(random_matrix(5, 6, 8));
  expect_same(pair, NewRows{&rows});
  const Design weights = Identity{};
  expect_same(pair, NewRows{&weights});
}

TEST(RootGaussian, WhitenedCoordinatesAndComplementGiveOneCovariance) {
  const Model model = process_model("gaussian", 9, 3);
  auto geometry = std::make_shared<PriorGeometry>(model.prior, model.design, 1);
  geometry->whiten();
  const Index rank = geometry->rank();
  CovarianceRoot covariance;
  covariance.whitened = true;
  covariance.scale = 0.7;
  covariance.complement = Matrix::Identity(2, rank);
  covariance.root = Matrix(random_matrix(2, 2, 5) * covariance.complement).sparseView();
  covariance.root.makeCompressed();
  const RootGaussian gaussian(geometry, covariance);
  const Matrix root = gaussian.weight_root();
  const Design weights = Identity{};
  EXPECT_LT((root * root.transpose() - gaussian.joint_covariance(NewRows{&weights})).cwiseAbs().maxCoeff(), 1e-12);
  Random random(7);
  const Matrix draws = gaussian.weight_deviations(20000, random);
  // Five standard errors, sqrt(2 / draws), of the largest variance.
  const Matrix covariance_of_weights = root * root.transpose();
  EXPECT_LT((draws * draws.transpose() / 20000 - covariance_of_weights).cwiseAbs().maxCoeff(),
            5e-2 * covariance_of_weights.diagonal().maxCoeff());
}

}  // namespace
}  // namespace gaussmith
