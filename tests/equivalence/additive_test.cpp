// Additive priors against the dense Gaussian that they are, and their gradients against differences.

#include "gaussmith/infer.hpp"
#include "gaussmith/predict.hpp"
#include "model/prior.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

enum Parts { fixed_only, independent_effects, correlated_effects, with_process };

/// Two coefficients, a group of three levels with one effect, one of four with two, and a process as `parts` say. The
/// covariance is written down here once more, entry by entry.
struct Case {
  Additive prior;
  DenseGaussian dense;
  SparseMatrix design;
};

Case make_case(Parts parts, Index rows) {
  Case c;
  c.prior.fixed = {.mean = Vector{{0.3, -0.2}}, .sd = Vector{{2.0, 0.5}}, .scaled = {false, true}, .scale = 1.7};
  std::vector<Matrix> blocks = {Matrix(Vector{{4.0, 0.25 * 1.7 * 1.7}}.asDiagonal())};
  if (parts != fixed_only) {
    c.prior.random.push_back({.levels = 3, .sd = Vector{{0.8}}});
    blocks.emplace_back(0.64 * Matrix::Identity(3, 3));
    c.prior.random.push_back({.levels = 4, .sd = Vector{{0.7, 0.4}}});
    if (parts != independent_effects) c.prior.random.back().correlation = -0.6;
    const double covariance = parts == independent_effects ? 0.0 : -0.6 * 0.7 * 0.4;
    for (int level = 0; level < 4; ++level) blocks.emplace_back(Matrix{{0.49, covariance}, {covariance, 0.16}});
  }
  Matrix k;
  if (parts == with_process) {
    c.prior.process = GaussianProcess{
        random_matrix(rows, 2, 31),
        sum({on_columns(make_kernel("matern12", {{"lengthscale", {0.9}}}), {1}), make_kernel("linear")}), 0.4};
    c.prior.process->kernel->gram(c.prior.process->inputs, k);
    blocks.push_back(k);
  }
  const Index weights = c.prior.weights();
  const Index dimension = weights + k.rows();
  Matrix sigma = Matrix::Zero(dimension, dimension);
  Index at = 0;
  for (const Matrix& block : blocks) {
    sigma.block(at, at, block.rows(), block.cols()) = block;
    at += block.rows();
  }
  Vector mean = Vector::Zero(dimension);
  mean.head(2) = c.prior.fixed.mean;
  mean.tail(k.rows()).setConstant(0.4);
  c.dense = {mean, sigma};
  Matrix h = Matrix::Zero(rows, dimension);
  h.col(0).setOnes();
  h.col(1) = random_vector(rows, 32);
  for (Index i = 0; i < rows && parts != fixed_only; ++i) {
    h(i, 2 + i % 3) = 1.0;
    h(i, 5 + 2 * ((i * 7) % 4)) = 1.0;
    h(i, 6 + 2 * ((i * 7) % 4)) = h(i, 1) + 0.5;
  }
  h.rightCols(k.cols()) = Matrix::Identity(rows, k.cols());
  c.design = h.sparseView();
  return c;
}

std::vector<Method> methods_for(const std::string& likelihood) {
  std::vector<Method> methods = {Laplace{.tolerance = 1e-9}, Kl{.covariance = "full", .tolerance = 1e-10},
                                 Ep{.tolerance = 1e-10}};
  if (likelihood == "gaussian") methods.emplace_back(Exact{});
  return methods;
}

class AdditivePrior : public ::testing::TestWithParam<Parts> {};

TEST_P(AdditivePrior, IsTheDenseGaussianThatItIs) {
  for (const Index rows : {7, 20})
    for (const char* likelihood : {"gaussian", "poisson"}) {
      const Case c = make_case(GetParam(), rows);
      Model model{.prior = c.prior, .design = c.design, .sites = {random_sites(likelihood, rows, 33)}};
      Model dense = model;
      dense.prior = c.dense;
      for (const Method& method : methods_for(likelihood))
        for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
          SCOPED_TRACE(std::string(likelihood) + " " + std::string(name_of(method)) +
                       (form == CoreForm::precision ? " precision" : " covariance"));
          const Posterior a = infer(model, method, {.form = form});
          const Posterior b = infer(dense, method, {.form = form});
          ASSERT_TRUE(a.report().converged()) << a.report().brief();
          EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8);
          EXPECT_LT((a.latent().mean - b.latent().mean).norm(), 1e-6);
          EXPECT_LT((a.latent().variance - b.latent().variance).norm(), 1e-6);
          EXPECT_LT((a.weights().mean - b.weights().mean).norm(), 1e-6);
          EXPECT_LT((a.weights().variance - b.weights().variance).norm(), 1e-6);
          const PredictionPoints points{.design = random_matrix(4, model.dimension(), 12)};
          EXPECT_LT((a.predict(points).latent_mean() - b.predict(points).latent_mean()).norm(), 1e-6);
          EXPECT_LT((a.predict(points).latent_variance() - b.predict(points).latent_variance()).norm(), 1e-6);
          EXPECT_LT((a.leave_one_out().log_density - b.leave_one_out().log_density).norm(), 1e-5);
          const Prediction again = Predictor(a.fitted()).predict(points);
          EXPECT_LT((again.latent_variance() - a.predict(points).latent_variance()).norm(), 1e-9);
        }
    }
}

TEST_P(AdditivePrior, HasTheGradientOfDifferences) {
  for (const Index rows : {7, 20})
    for (const char* likelihood : {"gaussian", "poisson"}) {
      const Case c = make_case(GetParam(), rows);
      const Model model{.prior = c.prior, .design = c.design, .sites = {random_sites(likelihood, rows, 33)}};
      for (const Method& method : methods_for(likelihood))
        for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
          SCOPED_TRACE(std::string(likelihood) + " " + std::string(name_of(method)));
          const auto gradient = infer(model, method, {.form = form}).gradient();
          std::size_t learnable = 0;
          for (const Parameter& p : model.parameters()) {
            if (p.name.starts_with("sites[") && !p.learnable) continue;
            ++learnable;
            constexpr double step = 1e-3;
            const auto at = [&](double shift) {
              const double value = value_on(p.scale, p.on_scale() + shift);
              return infer(model.with_parameters({{p.name, value}}), method, {.form = form}).log_evidence().value;
            };
            const double difference = (8.0 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12.0 * step);
            EXPECT_NEAR(gradient.at(p.name), difference, 1e-6 * (1.0 + std::abs(difference))) << p.name;
          }
          EXPECT_EQ(gradient.size(), learnable);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Parts, AdditivePrior,
                         ::testing::Values(fixed_only, independent_effects, correlated_effects, with_process));

TEST(AdditivePriorLevels, AreTheDenseGaussianToo) {
  // Few entries a row take another way to the variances than the dense rows of the same model.
  const Index rows = 150;
  for (const bool correlated : {false, true}) {
    Additive prior;
    prior.fixed = {.mean = Vector{{0.2}}, .sd = Vector{{2.0}}};
    prior.random.push_back({.levels = 30, .sd = Vector{{0.7, 0.4}}});
    if (correlated) prior.random.back().correlation = 0.5;
    const Vector x = random_vector(rows, 51);
    Matrix h = Matrix::Zero(rows, prior.weights());
    h.col(0).setOnes();
    for (Index i = 0; i < rows; ++i) {
      h(i, 1 + 2 * ((i * 11) % 30)) = 1.0;
      h(i, 2 + 2 * ((i * 11) % 30)) = x(i);
    }
    const double covariance = correlated ? 0.5 * 0.7 * 0.4 : 0.0;
    Matrix sigma = Matrix::Zero(h.cols(), h.cols());
    sigma(0, 0) = 4.0;
    for (Index level = 0; level < 30; ++level)
      sigma.block(1 + 2 * level, 1 + 2 * level, 2, 2) = Matrix{{0.49, covariance}, {covariance, 0.16}};
    Vector mean = Vector::Zero(h.cols());
    mean(0) = 0.2;
    for (const char* likelihood : {"poisson", "student-t"}) {
      SCOPED_TRACE(likelihood);
      const Model model{
          .prior = prior, .design = SparseMatrix(h.sparseView()), .sites = {random_sites(likelihood, rows, 52)}};
      const Model dense{.prior = DenseGaussian{mean, sigma}, .design = h, .sites = model.sites};
      const Posterior a = infer(model, Laplace{}, {.form = CoreForm::precision});
      const Posterior b = infer(dense, Laplace{}, {.form = CoreForm::precision});
      EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8);
      EXPECT_LT((a.latent().variance - b.latent().variance).norm(), 1e-9);
      EXPECT_LT((a.latent().mean - b.latent().mean).norm(), 1e-7);
      const Posterior c = infer(model, Laplace{}, {.threads = 2, .form = CoreForm::precision});
      EXPECT_EQ(a.latent().variance, c.latent().variance);
    }
  }
}

TEST(AdditivePriorFamilies, HaveTheGradientOfDifferences) {
  const Case c = make_case(independent_effects, 20);
  const Model model{.prior = c.prior, .design = c.design, .sites = {random_sites("poisson", 20, 33)}};
  for (const char* family : {"diagonal", "chevron:3", "subspace:4"}) {
    const Kl method{.covariance = family, .tolerance = 1e-10};
    const auto gradient = infer(model, method).gradient();
    for (const Parameter& p : model.parameters()) {
      if (p.name.starts_with("sites[")) continue;
      SCOPED_TRACE(std::string(family) + " " + p.name);
      constexpr double step = 1e-3;
      const auto at = [&](double shift) {
        return infer(model.with_parameters({{p.name, value_on(p.scale, p.on_scale() + shift)}}), method)
            .log_evidence()
            .value;
      };
      const double difference = (8.0 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12.0 * step);
      EXPECT_NEAR(gradient.at(p.name), difference, 1e-5 * (1.0 + std::abs(difference)));
    }
  }
}

TEST(AdditivePriorProcess, PredictsNewInputsBesideNewRows) {
  // The last rows are held out: predicting them must be what a model with a vanishing site there says.
  const Index rows = 12;
  const Index kept = 9;
  const Case whole = make_case(with_process, rows);
  Case part = whole;
  part.prior.process->inputs = Matrix(whole.prior.process->inputs->topRows(kept));
  const Index weights = whole.prior.weights();
  Matrix h = Matrix(whole.design).topRows(kept).leftCols(weights + kept);
  part.design = h.sparseView();
  const Vector y = random_vector(rows, 40);
  Vector variance = Vector::Constant(rows, 0.3);
  variance.tail(rows - kept).setConstant(1e12);
  const Model all{
      .prior = whole.prior, .design = whole.design, .sites = {observe("gaussian", y, {{"variance", variance}})}};
  const Model few{.prior = part.prior,
                  .design = part.design,
                  .sites = {observe("gaussian", y.head(kept), {{"variance", variance.head(kept)}})}};
  const Posterior truth = infer(all, Exact{});
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    const Posterior fitted = infer(few, Exact{}, {.form = form});
    PredictionPoints points{.inputs = whole.prior.process->inputs->bottomRows(rows - kept),
                            .design = Matrix(whole.design).bottomRows(rows - kept).leftCols(weights)};
    const Prediction predicted = fitted.predict(points);
    EXPECT_LT((predicted.latent_mean() - truth.latent().mean.tail(rows - kept)).norm(), 1e-8);
    EXPECT_LT((predicted.latent_variance() - truth.latent().variance.tail(rows - kept)).norm(), 1e-8);
    points.variance = Vector::Constant(rows - kept, 0.5);
    EXPECT_LT(
        (fitted.predict(points).latent_variance() - predicted.latent_variance() - Vector::Constant(rows - kept, 0.5))
            .norm(),
        1e-12);
  }
}

}  // namespace
}  // namespace gaussmith
