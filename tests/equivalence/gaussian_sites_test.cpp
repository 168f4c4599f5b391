// Gaussian sites make every engine exact, in every form and shape; the truth is a multivariate normal density.

#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

struct Shape {
  const char* name;
  Index rows, dimension, rank;
};

class GaussianSites : public ::testing::TestWithParam<Shape> {};

TEST_P(GaussianSites, EveryEngineAndFormGivesTheExactPosterior) {
  const Shape shape = GetParam();
  const Matrix sigma = random_covariance(shape.dimension, shape.rank, 1);
  const Matrix h = random_matrix(shape.rows, shape.dimension, 2);
  const Vector mean = random_vector(shape.dimension, 3);
  const Vector offset = random_vector(shape.rows, 4);
  const Vector y = random_vector(shape.rows, 5);
  const Vector variance = random_vector(shape.rows, 6).cwiseAbs2().array() + 0.05;
  const Model model{.prior = DenseGaussian{mean, sigma},
                    .design = h,
                    .offset = offset,
                    .sites = {observe("gaussian", y, {{"variance", variance}})}};

  // log N(y | H mean + offset, H Sigma H' + diag(variance)) and the conditional moments.
  const Matrix k = h * sigma * h.transpose();
  const Matrix s = k + Matrix(variance.asDiagonal());
  const Vector r = y - h * mean - offset;
  const Vector scaled = dense_solve(s, r);
  const double evidence = -0.5 * r.dot(scaled) - 0.5 * std::log(dense_determinant(s)) -
                          0.5 * static_cast<double>(shape.rows) * std::log(2 * std::numbers::pi);
  const Vector eta = h * mean + offset + k * scaled;
  const Matrix v = k - k * dense_solve(s, k);
  const Vector w = mean + sigma * h.transpose() * scaled;

  for (const Method& method : {Method(Exact{}), Method(Laplace{}), Method(Kl{}), Method(Ep{})}) {
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      const Posterior q = infer(model, method, {.form = form});
      EXPECT_TRUE(q.report().converged());
      EXPECT_EQ(q.log_evidence().kind, EvidenceKind::exact);
      EXPECT_NEAR(q.log_evidence().value, evidence, 1e-10 * (1 + std::abs(evidence))) << name_of(method);
      EXPECT_LT((q.latent().mean - eta).lpNorm<Eigen::Infinity>(), 1e-10 * (1 + eta.lpNorm<Eigen::Infinity>()));
      EXPECT_LT((q.latent().variance - v.diagonal()).lpNorm<Eigen::Infinity>(), 1e-10);
      EXPECT_LT((q.weights().mean - w).lpNorm<Eigen::Infinity>(), 1e-9 * (1 + w.lpNorm<Eigen::Infinity>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GaussianSites,
                         ::testing::Values(Shape{"fewer rows", 6, 10, 10}, Shape{"more rows", 25, 6, 6},
                                           Shape{"singular prior", 8, 8, 3}, Shape{"singular, more rows", 30, 9, 4}),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST(GaussianSites, ProcessWithDuplicateInputsNeedsNoJitter) {
  Matrix inputs = random_matrix(12, 2, 1);
  for (Index i = 6; i < 12; ++i) inputs.row(i) = inputs.row(i - 6);
  const Vector y = random_vector(12, 2);
  const KernelHandle kernel = make_kernel("se", {{"lengthscale", {3.0}}});
  const Model model{.prior = GaussianProcess{inputs, kernel, 0.4},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(1e-6)}})}};
  Matrix k;
  kernel->gram(inputs, k);
  const Matrix s = k + 1e-6 * Matrix::Identity(12, 12);
  const Vector r = y.array() - 0.4;
  const Vector scaled = dense_solve(s, r);
  const double evidence =
      -0.5 * r.dot(scaled) - 0.5 * std::log(dense_determinant(s)) - 6.0 * std::log(2 * std::numbers::pi);
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision})
    for (const Method& method : {Method(Exact{}), Method(Laplace{}), Method(Kl{}), Method(Ep{})}) {
      const Posterior q = infer(model, method, {.form = form});
      EXPECT_TRUE(q.report().converged()) << q.report().brief();
      EXPECT_EQ(q.report().jittered, 0);
      EXPECT_NEAR(q.log_evidence().value, evidence, 1e-9 * std::abs(evidence));
    }
}

TEST(GaussianSites, TinyNoiseAndFarResponsesLoseNothing) {
  // Completing squares would subtract terms of 5e9 here.
  const Model model{.prior = Isotropic{Vector::Zero(1), 1e6},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", one(1000), {{"variance", one(1e-4)}})}};
  const double s = 1e6 + 1e-4;
  const double truth = -0.5 * 1e6 / s - 0.5 * std::log(2 * std::numbers::pi * s);
  EXPECT_NEAR(infer(model, Exact{}).log_evidence().value, truth, 1e-12 * std::abs(truth) + 1e-10);
  EXPECT_NEAR(infer(model, Laplace{}).log_evidence().value, truth, 1e-10);
  EXPECT_NEAR(infer(model, Ep{}).log_evidence().value, truth, 1e-10);
}

}  // namespace
}  // namespace gaussmith
