// A Gaussian given by a root must predict what the core it was taken from predicts.

#include "gaussian/root_law.hpp"

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
  std::unique_ptr<PosteriorLaw> of_core, of_root;
};

/// The core's posterior for some site parameters, and the same Gaussian by its root over w.
Pair make_pair_of(const Model& model, CoreForm form) {
  Pair pair;
  const auto core = make_core(model, form, 1);
  EXPECT_TRUE(core->set({random_vector(model.rows(), 5).cwiseAbs(), random_vector(model.rows(), 6)}));
  pair.of_core = core->law(core->mean());
  CovarianceRoot covariance;
  covariance.root = Matrix(pair.of_core->weight_root().transpose()).sparseView();
  covariance.root.makeCompressed();
  pair.of_root = std::make_unique<RootLaw>(std::make_shared<PriorGeometry>(model.prior, model.design, 1), covariance,
                                           pair.of_core->weights().mean);
  return pair;
}

void expect_same(const Pair& pair, const NewPoints& points) {
  const Marginals a = pair.of_core->predict(points);
  const Marginals b = pair.of_root->predict(points);
  EXPECT_LT((a.mean - b.mean).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((a.variance - b.variance).cwiseAbs().maxCoeff(), 1e-7);
  const Matrix joint = pair.of_root->joint_covariance(points);
  EXPECT_LT((pair.of_core->joint_covariance(points) - joint).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((joint.diagonal() - b.variance).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(RootLaw, PredictsLikeTheCoreAtNewInputs) {
  const Model model = process_model("gaussian", 12, 3);
  const Matrix inputs = random_matrix(7, 2, 9);
  expect_same(make_pair_of(model, CoreForm::covariance), NewInputs{&inputs});
}

TEST(RootLaw, PredictsLikeTheCoreAtNewRows) {
  const Model model = linear_model("gaussian", 20, 6, 4);
  const Pair pair = make_pair_of(model, CoreForm::precision);
  const Design rows = Matrix(random_matrix(5, 6, 8));
  expect_same(pair, NewRows{rows});
  expect_same(pair, NewRows{Identity{}});
}

TEST(RootLaw, WhitenedCoordinatesAndComplementGiveOneCovariance) {
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
  const RootLaw law(geometry, covariance, Vector::Zero(rank));
  const Matrix root = law.weight_root();
  EXPECT_LT((root * root.transpose() - law.joint_covariance(NewRows{Identity{}})).cwiseAbs().maxCoeff(), 1e-12);
  Random random(7);
  const Matrix draws = law.weight_deviations(20000, random);
  // Five standard errors, sqrt(2 / draws), of the largest variance.
  const Matrix covariance_of_weights = root * root.transpose();
  EXPECT_LT((draws * draws.transpose() / 20000 - covariance_of_weights).cwiseAbs().maxCoeff(),
            5e-2 * covariance_of_weights.diagonal().maxCoeff());
}

}  // namespace
}  // namespace gaussmith
