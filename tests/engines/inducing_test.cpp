// The bound with inducing variables: against the full bound, Titsias' formula, dense algebra and differences.

#include "engines/evidence_differences.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

const Kl sharp{.tolerance = 1e-10, .starts = 1};

GaussianProcess& process_in(Model& model) { return std::get<GaussianProcess>(model.prior); }

Model with_inputs(Model model, const Matrix& inputs, double noise = 0.0) {
  process_in(model).inducing = Inducing{.inputs = inputs, .noise = noise};
  return model;
}

Model with_sites(Model model, const std::vector<Index>& rows) {
  Inducing inducing;
  for (const Index row : rows) inducing.sites.emplace_back(row, 0);
  process_in(model).inducing = inducing;
  return model;
}

Matrix covariance(const Kernel& kernel, const Matrix& x, const Matrix& z) {
  Matrix k;
  kernel.block(x, z, k);
  return k;
}

/// A process at n inputs of one column, dense enough for few of them to tell most.
Model curve(const std::string& likelihood, Index n, std::uint64_t seed) {
  Model model = process_model(likelihood, n, seed);
  process_in(model).inputs = Matrix(Vector::LinSpaced(n, -2.0, 2.0));
  process_in(model).kernel = make_kernel("matern52", {{"signal_sd", {1.3}}, {"lengthscale", {0.9}}});
  return model;
}

TEST(Inducing, AllInputsGiveTheFullBoundForEverySite) {
  for (const std::string& likelihood : all_likelihoods()) {
    SCOPED_TRACE(likelihood);
    Model model = process_model(likelihood, 12, 21);
    model.offset = 0.1 * random_vector(12, 3);
    const Posterior full = infer(model, sharp);
    const Posterior seen = infer(with_inputs(model, process_in(model).inputs), sharp);
    ASSERT_TRUE(seen.report().converged()) << seen.report().brief();
    EXPECT_EQ(seen.log_evidence().kind, EvidenceKind::lower_bound);
    EXPECT_NEAR(seen.log_evidence().value, full.log_evidence().value,
                1e-9 * (1.0 + std::abs(full.log_evidence().value)));
    EXPECT_LT((seen.latent().mean - full.latent().mean).norm(), 1e-7);
    EXPECT_LT((seen.latent().variance - full.latent().variance).norm(), 1e-7);
    EXPECT_LT((seen.weights().mean - full.weights().mean).norm(), 1e-7);
    const Matrix inputs = random_matrix(5, 2, 8);
    EXPECT_LT((seen.predict(inputs).latent_mean() - full.predict(inputs).latent_mean()).norm(), 1e-7);
    EXPECT_LT((seen.predict(inputs).latent_variance() - full.predict(inputs).latent_variance()).norm(), 1e-7);
    const LeaveOneOut without = seen.leave_one_out();
    EXPECT_LT((without.latent.mean - full.leave_one_out().latent.mean).norm(), 1e-6);
    EXPECT_LT((without.log_density - full.leave_one_out().log_density).norm(), 1e-6);
  }
}

TEST(Inducing, SitesAreRowsWithTheirWhiteNoise) {
  Model model = process_model("poisson", 9, 4);
  process_in(model).kernel = sum({process_in(model).kernel, make_kernel("white", {{"signal_sd", {0.6}}})});
  const Posterior full = infer(model, sharp);
  const Posterior sites = infer(with_sites(model, {3, 0, 1, 2, 8, 7, 6, 5, 4}), sharp);
  EXPECT_NEAR(sites.log_evidence().value, full.log_evidence().value, 1e-9);
  // Inputs have none of their own, and leave that of the rows to the rest.
  const Posterior inputs = infer(with_inputs(model, process_in(model).inputs), sharp);
  EXPECT_LT(inputs.log_evidence().value, full.log_evidence().value - 1e-3);
  const Posterior few = infer(with_sites(model, {3, 0, 7}), sharp);
  const Matrix fresh = random_matrix(4, 2, 5);
  const Predictor saved(few.fitted());
  EXPECT_LT((saved.predict({.inputs = fresh}).latent_variance() - few.predict(fresh).latent_variance()).norm(), 1e-11);
  EXPECT_LT((saved.predict({.inputs = fresh}).latent_mean() - few.predict(fresh).latent_mean()).norm(), 1e-11);
}

TEST(Inducing, GaussianSitesGiveTitsiasBound) {
  const Index n = 30;
  const double variance = 0.3;
  Model model = curve("gaussian", n, 7);
  model.sites = {observe("gaussian", random_vector(n, 6), {{"variance", one(variance)}})};
  const GaussianProcess& process = process_in(model);
  const Matrix z = Vector::LinSpaced(6, -1.8, 1.9);
  const Matrix across = covariance(*process.kernel, process.inputs, z);
  for (const double noise : {0.0, 0.05}) {
    const Matrix within = covariance(*process.kernel, z, z) + noise * Matrix::Identity(6, 6);
    const Matrix seen = across * dense_solve(within, across.transpose());
    const Matrix total = seen + variance * Matrix::Identity(n, n);
    const Vector y = model.sites.front()->responses().array() - process.mean;
    const double exponent = -0.5 * y.dot(Vector(dense_solve(total, y)));

    const double expected = exponent - 0.5 * std::log(dense_determinant(2.0 * std::numbers::pi * total)) -
                            (static_cast<double>(n) * 1.3 * 1.3 - seen.trace()) / (2.0 * variance);
    const Posterior found = infer(with_inputs(model, z, noise), sharp);
    EXPECT_NEAR(found.log_evidence().value, expected, 1e-9 * std::abs(expected));
    // The posterior of u, and what it says of a new input: dense formulas of the same source.
    const Matrix x = Vector::LinSpaced(3, -2.5, 1.0);
    const Matrix to_new = covariance(*process.kernel, z, x);
    const Matrix inner = within + across.transpose() * across / variance;
    const Vector mean = to_new.transpose() * dense_solve(inner, across.transpose() * y) / variance;
    const Matrix spread = covariance(*process.kernel, x, x) - to_new.transpose() * dense_solve(within, to_new) +
                          to_new.transpose() * dense_solve(inner, to_new);
    EXPECT_LT((found.predict(x).latent_mean().array() - process.mean - mean.array()).matrix().norm(), 1e-9);
    EXPECT_LT((found.predict(x).latent_variance() - spread.diagonal()).norm(), 1e-9);
  }
}

TEST(Inducing, TheBoundIsThatOfItsGaussian) {
  // E_q[log t] - KL(q(u), p(u)) from the fitted Gaussian by dense algebra; expectations by the sites themselves.
  for (const char* likelihood : {"poisson", "bernoulli-logit", "student-t"}) {
    const Model model = with_inputs(curve(likelihood, 25, 3), Vector::LinSpaced(4, -1.5, 1.5));
    const Posterior found = infer(model, sharp);
    const FittedGaussian fitted = found.fitted();
    const Matrix root = fitted.factor.triangularView<Eigen::Lower>();
    const Matrix sigma = dense_inverse(root * root.transpose());
    const double kl = 0.5 * (sigma.trace() + fitted.coordinates.squaredNorm() - static_cast<double>(sigma.rows()) -
                             std::log(dense_determinant(sigma)));
    const Marginals& rows = found.latent();
    Vector value(25);
    model.sites.front()->expectation(0, {rows.mean.data(), 25}, {rows.variance.data(), 25},
                                     {.value = {value.data(), 25}, .d_mean = {}, .d_variance = {}});
    EXPECT_NEAR(found.log_evidence().value, value.sum() - kl, 1e-9 * (1.0 + std::abs(value.sum()))) << likelihood;
  }
}

TEST(Inducing, MoreInputsNeverLowerTheBound) {
  for (const char* likelihood : {"bernoulli-probit", "poisson", "gaussian", "laplace"}) {
    const Model model = curve(likelihood, 40, 5);
    const double full = infer(model, sharp).log_evidence().value;
    const Vector order = random_vector(12, 9);
    double last = -std::numeric_limits<double>::infinity();
    for (Index m = 1; m <= 12; ++m) {
      const double bound = infer(with_inputs(model, order.head(m)), sharp).log_evidence().value;
      EXPECT_GE(bound, last - 1e-9) << likelihood << ", " << m;
      EXPECT_LE(bound, full + 1e-9) << likelihood << ", " << m;
      last = bound;
    }
  }
}

TEST(Inducing, GradientMatchesDifferencesForEverySite) {
  for (const std::string& likelihood : all_likelihoods()) {
    SCOPED_TRACE(likelihood);
    expect_evidence_gradient(with_inputs(process_model(likelihood, 12, 11), random_matrix(4, 2, 3), 0.02), sharp);
  }
}

TEST(Inducing, GradientMatchesDifferencesForSitesAndComposedKernels) {
  Model model = process_model("bernoulli-logit", 14, 2);
  for (const KernelHandle& kernel :
       {sum({make_kernel("matern32", {{"lengthscale", {0.7}}}), make_kernel("white", {{"signal_sd", {0.4}}})}),
        product({make_kernel("periodic", {{"period", {1.7}}}), make_kernel("rq", {{"alpha", {0.9}}})}),
        sum({make_kernel("neural-network"), make_kernel("linear", {{"signal_sd", {0.4}}})})}) {
    process_in(model).kernel = kernel;
    expect_evidence_gradient(with_sites(model, {2, 9, 11, 5}), sharp);
    expect_evidence_gradient(with_inputs(model, random_matrix(4, 2, 3)), sharp);
  }
}

TEST(Inducing, GradientInInputsMatchesDifferences) {
  for (const char* likelihood : {"gaussian", "poisson", "student-t"}) {
    Model model = with_inputs(process_model(likelihood, 15, 12), random_matrix(3, 2, 4), 0.01);
    process_in(model).inducing->learn = true;
    model.weights = random_vector(15, 5).cwiseAbs().array() + 0.5;
    expect_evidence_gradient(model, sharp);
    EXPECT_EQ(infer(model, sharp).gradient().count("inducing.inputs[2][1]"), 1U);
  }
  Model model = with_inputs(process_model("poisson", 8, 12), random_matrix(3, 2, 4));
  process_in(model).inducing->learn = true;
  process_in(model).kernel = sum({on_columns(make_kernel("linear"), {1}), make_kernel("se")});
  expect_evidence_gradient(model, sharp);
  process_in(model).kernel = sum({make_kernel("matern12"), make_kernel("se")});
  try {
    (void)infer(model, sharp);
    ADD_FAILURE() << "a kernel without derivatives was accepted";
  } catch (const InvalidModel& error) {
    EXPECT_NE(std::string(error.what()).find("matern12"), std::string::npos) << error.what();
  }
}

TEST(Inducing, CopiesAndNearCopiesOfInputsCountOnce) {
  const Model model = curve("poisson", 30, 8);
  const Vector some = Vector::LinSpaced(5, -1.5, 1.5);
  Vector copies(12);
  copies << some, some, some(0) + 1e-9, 0.3;
  Vector distinct(6);
  distinct << some, 0.3;
  const Posterior found = infer(with_inputs(model, copies), sharp);
  EXPECT_TRUE(found.report().converged()) << found.report().brief();
  EXPECT_NEAR(found.log_evidence().value, infer(with_inputs(model, distinct), sharp).log_evidence().value, 1e-7);
  EXPECT_NE(found.report().core.find("6 of 12"), std::string::npos) << found.report().core;
}

TEST(Inducing, LeavingOutIsRemovingTheRowsSite) {
  const Index n = 12;
  Model model = with_inputs(curve("gaussian", n, 7), Vector::LinSpaced(4, -1.8, 1.9));
  model.sites = {observe("gaussian", random_vector(n, 6), {{"variance", one(0.4)}})};
  const Posterior found = infer(model, sharp);
  const LeaveOneOut out = found.leave_one_out();
  for (const Index row : {0, 5, 11}) {
    // For Gaussian sites the others' approximations do not depend on the row: a refit without it says the same.
    Model rest = model;
    std::vector<Index> others;
    for (Index i = 0; i < n; ++i)
      if (i != row) others.push_back(i);
    const Matrix& x = process_in(model).inputs;
    process_in(rest).inputs = Matrix(x(others, Eigen::all));
    rest.sites = {observe("gaussian", model.sites.front()->responses()(others), {{"variance", one(0.4)}})};
    const Prediction there = infer(rest, sharp).predict(Matrix(x.row(row)));
    EXPECT_NEAR(out.latent.mean(row), there.latent_mean()(0), 1e-9);
    EXPECT_NEAR(out.latent.variance(row), there.latent_variance()(0), 1e-9);
    EXPECT_NEAR(out.log_density(row), there.log_density(model.sites.front()->responses().segment(row, 1))(0), 1e-9);
  }
}

TEST(Inducing, CovariancesAndDrawsOfRows) {
  const Model model = with_inputs(curve("bernoulli-logit", 10, 7), Vector::LinSpaced(3, -1.8, 1.9));
  const Posterior found = infer(model, sharp);
  const Matrix all = found.latent_covariance({0, 4, 9});
  EXPECT_NEAR(all(0, 0), found.latent().variance(0), 1e-10);
  EXPECT_NEAR(all(2, 2), found.latent().variance(9), 1e-10);
  EXPECT_LT((all - all.transpose()).norm(), 1e-14);
  const Matrix draws = found.sample_weights(4000, 5);
  EXPECT_EQ(draws.rows(), 10);
  const Vector mean = draws.rowwise().mean();
  const Vector deviation = found.weights().variance.cwiseSqrt();
  EXPECT_LT((mean - found.weights().mean).cwiseQuotient(deviation).cwiseAbs().maxCoeff(), 0.08);
  const double product = (draws.row(0).array() - mean(0)).matrix().dot((draws.row(4).array() - mean(4)).matrix());
  EXPECT_NEAR(product / 4000.0, all(1, 0), 0.08 * deviation(0) * deviation(4));
}

TEST(Inducing, FittedDataPredictTheSame) {
  const Model model = with_inputs(curve("poisson", 20, 7), Vector::LinSpaced(5, -1.8, 1.9), 0.03);
  const Posterior found = infer(model, sharp);
  const FittedGaussian fitted = found.fitted();
  EXPECT_EQ(std::get<GaussianProcess>(fitted.prior).inputs.rows(), 5);
  const Matrix x = Vector::LinSpaced(9, -3.0, 3.0);
  const Prediction again = Predictor(fitted).predict({.inputs = x});
  EXPECT_LT((again.latent_mean() - found.predict(x).latent_mean()).norm(), 1e-12);
  EXPECT_LT((again.latent_variance() - found.predict(x).latent_variance()).norm(), 1e-12);
  FittedGaussian wrong = fitted;
  wrong.pivots[1] = wrong.pivots[0];
  EXPECT_THROW((void)Predictor(wrong), InvalidModel);
  wrong = fitted;
  wrong.noise.resize(0);
  EXPECT_THROW((void)Predictor(wrong), InvalidModel);
}

TEST(Inducing, WarmStartsEndAtTheSameOptimum) {
  const Model model = with_inputs(curve("poisson", 30, 7), Vector::LinSpaced(5, -1.8, 1.9));
  const Posterior cold = infer(model, sharp);
  const Posterior other = infer(model.with_parameters({{"kernel.lengthscale", 0.7}}), sharp);
  const Posterior warm = infer(model, sharp, {.warm_start = &other});
  EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-10 * std::abs(cold.log_evidence().value));
}

TEST(Inducing, ThreadsDoNotChangeTheAnswer) {
  Model model = with_inputs(curve("bernoulli-logit", 2500, 7), Vector::LinSpaced(20, -1.9, 1.9));
  const Posterior one_thread = infer(model, Kl{});
  const Posterior two = infer(model, Kl{}, {.threads = 2});
  EXPECT_NEAR(two.log_evidence().value, one_thread.log_evidence().value, 1e-9 * std::abs(two.log_evidence().value));
  for (const auto& [name, value] : one_thread.gradient())
    EXPECT_NEAR(two.gradient().at(name), value, 1e-7 * (1.0 + std::abs(value))) << name;
}

TEST(Inducing, RefusesWhatItIsNotFor) {
  const auto refuse_to_infer = [](const Model& model, const Method& method, const gaussmith::Run& run,
                                  const char* fragment) {
    try {
      (void)infer(model, method, run);
      ADD_FAILURE() << "accepted, expected: " << fragment;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << error.what();
    }
  };
  const Model model = with_inputs(curve("poisson", 12, 7), Vector::LinSpaced(3, -1.8, 1.9));
  for (const Method& method : {Method(Laplace{}), Method(Ep{}), Method(Vb{}), Method(Exact{})})
    refuse_to_infer(model, method, {}, "use kl");
  refuse_to_infer(model, Kl{.covariance = "diagonal"}, {}, "full");
  refuse_to_infer(model, Kl{}, {.form = CoreForm::covariance}, "auto");
  refuse_to_infer(curve("poisson", 12, 7), Kl{}, {.form = CoreForm::inducing}, "inducing variables");
  Model wide = with_inputs(model, random_matrix(3, 2, 1));
  refuse_to_infer(wide, Kl{}, {}, "2 columns");
  Model twice = with_sites(model, {3, 4, 3});
  refuse_to_infer(twice, Kl{}, {}, "sites[2]");
  refuse_to_infer(with_sites(model, {12}), Kl{}, {}, "row 12");
  Model designed = model;
  designed.design = Matrix(Matrix::Identity(12, 12));
  refuse_to_infer(designed, Kl{}, {}, "design");
  Model learned = with_sites(model, {3});
  process_in(learned).inducing->learn = true;
  refuse_to_infer(learned, Kl{}, {}, "prior.inducing.learn");
  Model flat = model;
  process_in(flat).kernel = make_kernel("linear");
  process_in(flat).inducing->inputs = Matrix(Matrix::Zero(2, 1));
  refuse_to_infer(flat, Kl{}, {}, "no variance");
}

TEST(Inducing, WeightsCountRowsSeveralTimes) {
  Model model = with_inputs(curve("poisson", 8, 7), Vector::LinSpaced(3, -1.8, 1.9));
  model.weights = Vector::Constant(8, 2.0);
  model.sites = {observe("poisson", model.sites.front()->responses())};
  Model doubled = model;
  doubled.weights.resize(0);
  const Matrix& x = process_in(model).inputs;
  Matrix both(16, 1);
  both << x, x;
  process_in(doubled).inputs = both;
  Vector y(16);
  y << model.sites.front()->responses(), model.sites.front()->responses();
  doubled.sites = {observe("poisson", y)};
  EXPECT_NEAR(infer(model, sharp).log_evidence().value, infer(doubled, sharp).log_evidence().value, 1e-9);
}

}  // namespace
}  // namespace gaussmith
