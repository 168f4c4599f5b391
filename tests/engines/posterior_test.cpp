#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

TEST(Posterior, WeightsAndLatentAgreeThroughTheDesign) {
  for (const auto& [rows, dimension] : {std::pair<Index, Index>{20, 4}, {6, 11}}) {
    const Model model = linear_model("bernoulli-logit", rows, dimension, 2);
    const Posterior q = infer(model, Laplace{});
    const Matrix& h = *model.design.entries().dense;
    EXPECT_LT((h * q.weights().mean + model.offset - q.latent().mean).norm(), 1e-10);
    std::vector<Index> all;
    for (Index i = 0; i < rows; ++i) all.push_back(i);
    const Matrix v = q.latent_covariance(all);
    EXPECT_LT((v.diagonal() - q.latent().variance).norm(), 1e-10);
    EXPECT_THROW((void)q.latent_covariance({rows}), InvalidOption);
  }
}

TEST(Posterior, SamplesHaveTheMomentsOfTheWeights) {
  for (const auto& [rows, dimension] : {std::pair<Index, Index>{20, 3}, {3, 5}}) {
    const Posterior q = infer(linear_model("poisson", rows, dimension, 7), Laplace{});
    constexpr int draws = 20000;
    const Matrix w = q.sample_weights(draws, 5);
    const Marginals truth = q.weights();
    for (Index i = 0; i < w.rows(); ++i) {
      const double mean = w.row(i).mean();
      const double variance = (w.row(i).array() - mean).square().mean();
      EXPECT_NEAR(mean, truth.mean(i), 5 * std::sqrt(truth.variance(i) / draws));
      EXPECT_NEAR(variance, truth.variance(i), 0.06 * truth.variance(i));
    }
    EXPECT_EQ((w - q.sample_weights(draws, 5)).norm(), 0.0);
    EXPECT_THROW((void)q.sample_weights(0, 1), InvalidOption);
  }
}

TEST(Posterior, PredictsTrainingPointsAsItsOwnLatentMarginals) {
  const Model model = process_model("student-t", 18, 3);
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    const Posterior q = infer(model, Laplace{}, {.form = form});
    const Prediction p = q.predict(std::get<GaussianProcess>(model.prior).inputs);
    EXPECT_LT((p.latent_mean() - q.latent().mean).norm(), 1e-7);
    EXPECT_LT((p.latent_variance() - q.latent().variance).norm(), 1e-7);
  }
}

TEST(Posterior, ManyPointsInBlocksEqualFewPointsAtOnce) {
  const Posterior q = infer(process_model("poisson", 10, 3), Laplace{});
  const Matrix fresh = random_matrix(9000, 2, 1);
  const Prediction all = q.predict(fresh);
  const Prediction tail = q.predict(Matrix(fresh.bottomRows(7)));
  EXPECT_LT((all.latent_mean().tail(7) - tail.latent_mean()).norm(), 1e-12);
  EXPECT_LT((all.latent_variance().tail(7) - tail.latent_variance()).norm(), 1e-12);
}

TEST(Predictor, FromPlainDataPredictsLikeThePosterior) {
  std::vector<Model> models = {process_model("student-t", 15, 2), linear_model("binomial-logit", 20, 3, 4),
                               linear_model("gamma", 4, 9, 4)};
  for (const Model& model : models) {
    const Posterior q = infer(model, Laplace{});
    const Predictor predictor(q.fitted());
    PredictionPoints points;
    if (std::holds_alternative<GaussianProcess>(model.prior))
      points.inputs = random_matrix(7, 2, 9);
    else
      points.design = random_matrix(7, model.dimension(), 9);
    points.arguments = {{"trials", Vector::Constant(7, 5.0)}};
    if (model.sites[0]->traits().name != "binomial-logit") points.arguments.clear();
    points.offset = random_vector(7, 10);
    const Prediction a = q.predict(points);
    const Prediction b = predictor.predict(points);
    EXPECT_LT((a.latent_mean() - b.latent_mean()).norm(), 1e-11);
    EXPECT_LT((a.latent_variance() - b.latent_variance()).norm(), 1e-11);
    EXPECT_LT((a.response_quantile(0.8) - b.response_quantile(0.8)).norm(), 1e-9);
  }
}

TEST(Predictor, RefusesDataThatDoesNotFit) {
  const Posterior q = infer(process_model("poisson", 6, 2), Laplace{});
  FittedGaussian fitted = q.fitted();
  fitted.dual.resize(3);
  EXPECT_THROW(Predictor{fitted}, InvalidModel);
  fitted = q.fitted();
  fitted.precision(0) = -1e9;
  EXPECT_THROW(Predictor{fitted}, InvalidModel);
  fitted = infer(linear_model("poisson", 9, 3, 2), Laplace{}).fitted();
  fitted.factor(1, 1) = 0.0;
  EXPECT_THROW(Predictor{fitted}, InvalidModel);
}

TEST(Prediction, AsksForWhatTheResponseNeeds) {
  const Posterior q = infer(process_model("binomial-logit", 10, 2), Laplace{});
  const Prediction latent_only = q.predict(random_matrix(3, 2, 5));
  EXPECT_FALSE(latent_only.has_response());
  EXPECT_NE(latent_only.missing().find("trials"), std::string::npos);
  EXPECT_THROW((void)latent_only.response_mean(), InvalidModel);
  EXPECT_THROW((void)q.predict(random_matrix(3, 5, 5)), InvalidModel);
  EXPECT_THROW((void)q.predict(PredictionPoints{.inputs = random_matrix(3, 2, 5), .block = 1}), InvalidModel);
  EXPECT_THROW((void)q.predict(PredictionPoints{.inputs = random_matrix(3, 2, 5), .offset = Vector::Zero(2)}),
               InvalidModel);
  Matrix bad = random_matrix(3, 2, 5);
  bad(1, 1) = std::nan("");
  EXPECT_THROW((void)q.predict(bad), InvalidModel);
  const Posterior linear = infer(linear_model("poisson", 8, 2, 1), Laplace{});
  EXPECT_THROW((void)linear.predict(random_matrix(3, 2, 5)), InvalidModel);
}

TEST(Prediction, LogDensityIntegratesTheLikelihoodOverTheLatent) {
  const Posterior q = infer(process_model("bernoulli-probit", 12, 2), Laplace{});
  const Prediction p = q.predict(random_matrix(4, 2, 5));
  const Vector probability = p.response_probability();
  const Vector up = p.log_density(Vector::Ones(4));
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(std::exp(up(i)), probability(i), 1e-12);
    EXPECT_NEAR(probability(i), 0.5 * std::erfc(-p.latent_mean()(i) / std::sqrt(2 * (1 + p.latent_variance()(i)))),
                1e-12);
  }
  EXPECT_THROW((void)p.log_density(Vector::Ones(3)), InvalidModel);
  EXPECT_THROW((void)p.response_quantile(1.0), InvalidOption);
  const Matrix draws = p.response_samples(4000, 3);
  for (Index i = 0; i < 4; ++i) EXPECT_NEAR((draws.row(i).array() > 0).cast<double>().mean(), probability(i), 0.04);
  EXPECT_THROW((void)p.response_samples(0, 3), InvalidOption);
}

TEST(Methods, AreMadeFromNamesAndOptions) {
  const Method method = make_method("laplace", {{"laplace.tolerance", "1e-6"}, {"laplace.max_iterations", "7"}});
  EXPECT_EQ(std::get<Laplace>(method).tolerance, 1e-6);
  EXPECT_EQ(std::get<Laplace>(method).max_iterations, 7);
  EXPECT_THROW((void)make_method("laplaze"), InvalidOption);
  EXPECT_THROW((void)make_method("laplace", {{"laplace.tolerance", "x"}}), InvalidOption);
  EXPECT_THROW((void)make_method("laplace", {{"laplace.tolerance", "-1"}}), InvalidOption);
  EXPECT_THROW((void)make_method("laplace", {{"laplace.max_iterations", "1.5"}}), InvalidOption);
  EXPECT_THROW((void)make_method("laplace", {{"ep.power", "1"}}), InvalidOption);
  EXPECT_THROW((void)make_method("exact", {{"exact.x", "1"}}), InvalidOption);
  EXPECT_EQ(method_catalogue().size(), std::variant_size_v<Method>);
  for (const MethodInfo& info : method_catalogue()) EXPECT_EQ(name_of(make_method(info.name)), info.name);
}

TEST(Posterior, WarmStartsOfAnotherSizeAreRefusedByEveryMethod) {
  const Model model = linear_model("gaussian", 12, 3, 1);
  const Posterior shorter = infer(linear_model("gaussian", 11, 3, 1), Exact{});
  const auto refusal = [&](const Method& method, const Posterior& start) -> std::string {
    try {
      (void)infer(model, method, {.warm_start = &start});
    } catch (const InvalidOption& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const MethodInfo& info : method_catalogue()) {
    SCOPED_TRACE(info.name);
    const std::string text = refusal(make_method(info.name), shorter);
    EXPECT_NE(text.find("warm_start: it has 11 rows, the model 12"), std::string::npos) << text;
  }
  for (const char* covariance : {"full", "diagonal"})
    EXPECT_NE(refusal(Kl{.covariance = covariance}, shorter).find("11 rows"), std::string::npos);
  for (const KlSolver solver : {KlSolver::decoupled, KlSolver::alpha_lambda, KlSolver::cholesky})
    EXPECT_NE(refusal(Kl{.covariance = "full", .solver = solver}, shorter).find("11 rows"), std::string::npos);
  Model classes = linear_model("gaussian", 12, 3, 1);
  classes.sites = {observe("multinomial-logit", Vector::LinSpaced(12, 0, 3).array().floor().min(2.0).matrix(),
                           {{"classes", one(3)}})};
  classes.latents.count = 3;
  classes.offset.resize(0);
  const std::string wide = refusal(Laplace{}, infer(classes, Laplace{}));
  EXPECT_NE(wide.find("warm_start: it has 3 latents a row, the model 1"), std::string::npos) << wide;
}

}  // namespace
}  // namespace gaussmith
