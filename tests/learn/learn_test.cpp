#include "gaussmith/learn.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "learn/free_parameters.hpp"
#include "learn/maximise.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

const LearnedParameter& find(const LearnReport& report, const std::string& name) {
  for (const LearnedParameter& p : report.parameters)
    if (p.name == name) return p;
  throw std::runtime_error("no parameter " + name);
}

TEST(Learn, FindsTheClosedFormOptimumOfAVariance) {
  // y ~ N(0, (v + 1) I) with the noise fixed: the best prior variance is mean(y^2) - 1.
  const Vector y = 3.0 * random_vector(400, 1);
  const Model model{.prior = Isotropic{Vector::Zero(400), 1.0},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(1.0)}})}};
  const Learned learned = learn(model, Exact{}, {.fixed = {"likelihood.variance"}});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_NEAR(find(learned.report, "prior.variance").value, y.squaredNorm() / 400 - 1, 1e-4);
  EXPECT_TRUE(find(learned.report, "sites[0].variance").fixed);
  EXPECT_EQ(find(learned.report, "sites[0].variance").value, 1.0);
  EXPECT_GT(learned.report.objective, learned.report.initial_objective);
  EXPECT_NEAR(learned.report.objective, learned.posterior.log_evidence().value, 1e-12);
}

TEST(Learn, RaisesTheKlBoundToAStationaryPointForEveryLikelihood) {
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.methods.empty()) continue;  // Several latents.
    const std::string& likelihood = info.traits.name;
    const LearnOptions options{.default_bounds = {0.05, 20.0}};
    const Learned learned = learn(process_model(likelihood, 25, 3), Kl{}, options);
    EXPECT_EQ(learned.report.status, Status::converged) << likelihood << ": " << learned.report.message;
    EXPECT_GT(learned.report.objective, learned.report.initial_objective);
    for (const auto& [name, value] : learned.posterior.gradient()) {
      if (!find(learned.report, name).at_bound) {
        EXPECT_LT(std::abs(value), 2e-5) << likelihood << " " << name;
      }
    }
  }
}

TEST(Learn, WarmStartsOfConstrainedCovariancesChangeNothingButTheTime) {
  Model linear = linear_model("bernoulli-logit", 80, 6, 3);
  const Vector clean = *linear.design.entries().dense * random_vector(6, 5);
  linear.sites = {observe("bernoulli-logit", (3.0 * clean + random_vector(80, 6)).array().sign().matrix())};
  const Model process = process_model("poisson", 15, 3);
  for (const char* family : {"diagonal", "banded:2", "chevron:2", "subspace:2"})
    for (const Model* model : {&std::as_const(linear), &process}) {
      const Kl method{.covariance = family, .basis = Basis::whitened};
      // Hyperpriors determine what so few rows leave open.
      const LearnOptions options{.default_bounds = {0.05, 20.0}, .hyperpriors = weak_hyperpriors(*model)};
      LearnOptions without = options;
      without.warm_start = false;
      const Learned warm = learn(*model, method, options);
      const Learned cold = learn(*model, method, without);
      EXPECT_NEAR(warm.report.objective, cold.report.objective, 1e-7) << family;
      for (const LearnedParameter& p : cold.report.parameters)
        EXPECT_NEAR(find(warm.report, p.name).value, p.value, 1e-3 * p.value) << family << " " << p.name;
    }
}

TEST(Learn, EndsWhereTheGradientVanishesForEverySmoothLikelihood) {
  for (const std::string& likelihood : smooth_likelihoods()) {
    const LearnOptions options{.default_bounds = {0.05, 20.0}};
    const Learned learned = learn(process_model(likelihood, 30, 3), Laplace{}, options);
    EXPECT_EQ(learned.report.status, Status::converged) << likelihood << ": " << learned.report.message;
    EXPECT_LE(learned.report.residual, options.tolerance);
    for (const auto& [name, value] : learned.posterior.gradient()) {
      if (find(learned.report, name).at_bound) continue;
      EXPECT_LT(std::abs(value), 2e-5) << likelihood << " " << name;
    }
  }
}

TEST(Learn, ReportsWhatHitABound) {
  const Model model = process_model("gaussian", 30, 5);
  const Learned learned =
      learn(model, Exact{}, {.bounds = {{"kernel.signal_sd", {1.1, 1.3}}, {"likelihood.variance", {0.29, 0.31}}}});
  const LearnedParameter& variance = find(learned.report, "sites[0].variance");
  EXPECT_TRUE(variance.at_bound || (variance.value > 0.29 && variance.value < 0.31));
  EXPECT_GE(find(learned.report, "kernel.signal_sd").value, 1.1 - 1e-12);
  EXPECT_LE(find(learned.report, "kernel.signal_sd").value, 1.3 + 1e-12);
}

TEST(Learn, HyperpriorsPullTowardsTheirMedian) {
  const Model model = process_model("poisson", 25, 5);
  const LearnOptions tight{.hyperpriors = {{"kernel.signal_sd", {0.5, 0.01}}}};
  const Learned learned = learn(model, Laplace{}, tight);
  EXPECT_NEAR(find(learned.report, "kernel.signal_sd").value, 0.5, 0.02);
}

TEST(Learn, RestartsAreFixedByTheSeedAndKeepTheBest) {
  const Model model = process_model("student-t", 25, 2);
  const LearnOptions options{.default_bounds = {0.05, 20.0}, .restarts = 3};
  const Learned a = learn(model, Laplace{}, options, {.seed = 4});
  const Learned b = learn(model, Laplace{}, options, {.seed = 4});
  EXPECT_EQ(a.report.start_objectives.size(), 4u);
  EXPECT_EQ(a.report.objective, b.report.objective);
  for (const double value : a.report.start_objectives) EXPECT_LE(value, a.report.objective);
}

TEST(Learn, RecoversWhenAStepLeavesTheValidRegion) {
  // Just enough Newton steps for the start, too few where the prior is wide: those evaluations fail, and learning goes
  // on from the best point before them.
  const Model model = process_model("poisson", 20, 5);
  const int enough = infer(model, Laplace{}).report().iterations;
  const Learned learned = learn(model, Laplace{.max_iterations = enough}, {.max_evaluations = 60, .warm_start = false});
  EXPECT_TRUE(std::isfinite(learned.report.objective));
  EXPECT_TRUE(learned.posterior.report().converged());
  EXPECT_GE(learned.report.objective, learned.report.initial_objective);
}

TEST(Learn, StopsWhenTheCallerSaysSo) {
  const Model model = process_model("poisson", 20, 5);
  int calls = 0;
  const Learned kept =
      learn(model, Laplace{}, {},
            {.progress = [&](const Iteration&) { return ++calls >= 3 ? Next::accept : Next::proceed; }});
  EXPECT_EQ(kept.report.status, Status::stopped);
  EXPECT_LE(calls, 4);
  EXPECT_THROW((void)learn(model, Laplace{}, {}, {.progress = [](const Iteration&) { return Next::discard; }}),
               Interrupted);
}

TEST(Learn, StandardErrorsAreTheCurvatureOfTheProfile) {
  // The profile: one parameter held a little to either side, the others learned anew.
  for (const Method& method : std::initializer_list<Method>{Laplace{}, Kl{}, Ep{}}) {
    const Model model = process_model("negative-binomial", 40, 3);
    const LearnOptions options{.default_bounds = {1e-3, 1e3},
                               .hyperpriors = {{"kernel.signal_sd", {1.0, 1.0}},
                                               {"kernel.lengthscale[0]", {1.0, 1.0}},
                                               {"kernel.lengthscale[1]", {1.0, 1.0}},
                                               {"likelihood.shape", {2.0, 1.0}}}};
    const Learned learned = learn(model, method, options);
    ASSERT_EQ(learned.report.status, Status::converged) << learned.report.message;
    ASSERT_EQ(learned.report.hessian_parameters.size(), 4u);
    const LearnedParameter& parameter = find(learned.report, "kernel.lengthscale[0]");
    const double h = 0.02;
    const auto profile = [&](double shift) {
      LearnOptions held = options;
      held.fixed = {"kernel.lengthscale[0]"};
      held.tolerance = 1e-7;
      const Model moved =
          learned.posterior.model().with_parameters({{parameter.name, parameter.value * std::exp(shift)}});
      // The hyperprior of a fixed parameter is not part of the objective.
      const double z = std::log(parameter.value) + shift;
      return learn(moved, method, held).report.objective - 0.5 * z * z;
    };
    const double curvature = (profile(h) - 2.0 * profile(0.0) + profile(-h)) / (h * h);
    ASSERT_TRUE(parameter.standard_error);
    EXPECT_NEAR(*parameter.standard_error * std::sqrt(-curvature), 1.0, 0.01) << name_of(method);
  }
}

TEST(Learn, MaximalEvaluationsAreKeptExactlyForEachStart) {
  const Model model = process_model("poisson", 20, 5);
  for (const int most : {1, 2, 5, 9}) {
    EXPECT_EQ(learn(model, Laplace{}, {.max_evaluations = most}).report.evaluations, most);
    EXPECT_LE(learn(model, Laplace{}, {.max_evaluations = most, .restarts = 2}).report.evaluations, 3 * most);
  }
}

TEST(Learn, CountsEveryHyperpriorInTheObjective) {
  const Model model = process_model("poisson", 25, 5);
  const LearnOptions options{.hyperpriors = {{"kernel.signal_sd", {0.5, 0.4}}, {"kernel.lengthscale[1]", {3.0, 0.7}}}};
  const LearnReport report = learn(model, Laplace{}, options).report;
  const double a = std::log(find(report, "kernel.signal_sd").value / 0.5) / 0.4;
  const double b = std::log(find(report, "kernel.lengthscale[1]").value / 3.0) / 0.7;
  EXPECT_NEAR(report.log_hyperprior, -0.5 * (a * a + b * b), 1e-10);
  EXPECT_EQ(find(report, "kernel.signal_sd").hyperprior->median, 0.5);
  EXPECT_FALSE(find(report, "kernel.lengthscale[0]").hyperprior);
}

TEST(Learn, FindsAPeriodFromWhereItHidesEverySlope) {
  // At period 1 on integers the kernel is one number for all pairs of rows, a stationary point that is no maximum.
  Matrix inputs(60, 1);
  Vector y = 0.2 * random_vector(60, 3);
  for (Index i = 0; i < 60; ++i) {
    inputs(i, 0) = static_cast<double>(i);
    y(i) += std::sin(2.0 * 3.14159265358979 * static_cast<double>(i) / 7.3);
  }
  GaussianProcess process;
  process.inputs = inputs;
  process.kernel = make_kernel("periodic", {{"period", {1.0}}});
  const Model model{.prior = process,
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(0.1)}})}};
  const LearnReport report = learn(model, Exact{}).report;
  EXPECT_EQ(report.status, Status::converged) << report.message;
  const LearnReport known = learn(model.with_parameters({{"kernel.period", 7.3}}), Exact{}).report;
  EXPECT_GT(report.objective, known.objective - 1e-6);
  EXPECT_NEAR(find(known, "kernel.period").value, 7.3, 0.1);
}

TEST(Learn, NamesWhatTheDataLeaveOpenAndWeakHyperpriorsHoldIt) {
  // The second input has nothing to do with the response.
  const Index n = 60;
  Matrix inputs(n, 2);
  inputs.col(0) = random_vector(n, 1);
  inputs.col(1) = random_vector(n, 4);
  const Vector y = (3.0 * inputs.col(0)).array().sin().matrix() + 0.1 * random_vector(n, 3);
  GaussianProcess process;
  process.inputs = inputs;
  process.kernel = make_kernel("se", {{"lengthscale", {1.4, 1.4}}});
  const Model model{.prior = process,
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(0.1)}})}};
  const LearnReport open = learn(model, Exact{}).report;
  ASSERT_EQ(open.warnings.size(), 1u);
  EXPECT_NE(open.warnings[0].find("1 of the length-scales grew without end (kernel.lengthscale[1])"), std::string::npos)
      << open.warnings[0];
  const LearnReport held = learn(model, Exact{}, {.hyperpriors = weak_hyperpriors(model)}).report;
  EXPECT_TRUE(held.warnings.empty());
  EXPECT_LT(find(held, "kernel.lengthscale[1]").value, 100.0);
  EXPECT_EQ(find(held, "kernel.lengthscale[1]").hyperprior->median, 1.4);
  EXPECT_THROW((void)weak_hyperpriors(model, 0.0), InvalidOption);
}

TEST(Learn, RefusesBadOptions) {
  const Model model = process_model("poisson", 6, 5);
  EXPECT_THROW((void)learn(model, Laplace{}, {.fixed = {"kernel.nothing"}}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.bounds = {{"kernel.signal_sd", {2.0, 1.0}}}}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.bounds = {{"kernel.signal_sd", {2.0, 3.0}}}}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.hyperpriors = {{"kernel.signal_sd", {-1.0, 1.0}}}}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.max_evaluations = 0}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.tolerance = 0}), InvalidOption);
  EXPECT_THROW((void)learn(model, Laplace{}, {.restarts = -1}), InvalidOption);
}

TEST(Learn, SignalsBehindALinkEndWhereInferenceStillHasDigits) {
  const auto upper = [](const Model& model, const LearnOptions& options) {
    for (const FreeParameter& f : free_parameters(model, options))
      if (f.name == "kernel.signal_sd") return std::exp(f.upper);
    return 0.0;
  };
  const Model classes = process_model("bernoulli-logit", 20, 3);
  EXPECT_NEAR(upper(classes, {}), 1e3, 1e-9);
  EXPECT_NEAR(upper(classes, {.default_bounds = {1e-3, 1e7}}), 1e7, 1e-3);
  EXPECT_NEAR(upper(classes, {.bounds = {{"kernel.signal_sd", {1e-3, 1e6}}}}), 1e6, 1e-3);
  EXPECT_NEAR(upper(classes.with_parameters({{"kernel.signal_sd", 50.0}}), {}), 5e3, 1e-6);
  EXPECT_NEAR(upper(process_model("gaussian", 20, 3), {}), 1e5, 1e-6);
}

TEST(Learn, WithNothingFreeJustInfers) {
  const Model model = process_model("poisson", 6, 5);
  const Learned learned =
      learn(model, Laplace{}, {.fixed = {"kernel.signal_sd", "kernel.lengthscale[0]", "kernel.lengthscale[1]"}});
  EXPECT_EQ(learned.report.evaluations, 1);
  EXPECT_EQ(learned.report.status, Status::converged);
}

TEST(Learn, SaysHowWellEstimatedVariancesTellTheMaximum) {
  const Model model = linear_model("bernoulli-logit", 60, 8, 3);
  const auto warned = [&](const char* variances) {
    const LearnReport report = learn(model, Vb{.variances = variances}).report;
    return std::any_of(report.warnings.begin(), report.warnings.end(),
                       [](const std::string& line) { return line.starts_with("variances are estimates"); });
  };
  EXPECT_TRUE(warned("sampling:8"));
  EXPECT_FALSE(warned("exact"));
}

TEST(Learn, WithExpectationPropagation) {
  const Learned learned = learn(process_model("bernoulli-probit", 40, 3), Ep{});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_GT(learned.report.objective, learned.report.initial_objective);
}

TEST(Learn, WithLocalBounds) {
  Model model = linear_model("bernoulli-logit", 120, 4, 3);
  model.prior = Isotropic{Vector::Zero(4), 0.5};
  Vector y = *model.design.entries().dense * (3.0 * random_vector(4, 9));
  Random random(5);
  for (Index n = 0; n < y.size(); ++n) y(n) = random.uniform() < 1.0 / (1.0 + std::exp(-y(n))) ? 1.0 : -1.0;
  model.sites = {observe("bernoulli-logit", y)};
  const Learned exact = learn(model, Vb{.variances = "exact", .tolerance = 1e-10});
  ASSERT_EQ(exact.report.status, Status::converged) << exact.report.message;
  EXPECT_GT(exact.report.objective, exact.report.initial_objective);
  EXPECT_FALSE(find(exact.report, "prior.variance").at_bound);
  for (const auto& [name, value] : exact.posterior.gradient()) EXPECT_LT(std::abs(value), 2e-5) << name;
  // Draws held fixed by the seed: a smooth function with an optimum of its own, the same in every run.
  const Learned drawn = learn(model, Vb{.variances = "sampling:200"}, {}, {.seed = 3});
  const Learned again = learn(model, Vb{.variances = "sampling:200"}, {}, {.seed = 3});
  EXPECT_EQ(drawn.report.status, Status::converged) << drawn.report.message;
  EXPECT_EQ(drawn.report.objective, again.report.objective);
  const double found = find(drawn.report, "prior.variance").value;
  EXPECT_EQ(found, find(again.report, "prior.variance").value);
  EXPECT_NEAR(std::log(found), std::log(find(exact.report, "prior.variance").value), 0.15);
}

/// Days with rain in Tokyo in 1983 and 1984, by the day of the year; the 29th of February was there once.
Model tokyo_rainfall() {
  const std::string days =
      "00110110000000100110110000000010100000000011000210000110100001100000020011021011101200111112"
      "00110120111001210210100000100110001100000111220000011100010000010100021121012202211122211000"
      "10111210110021111220100001100000000000000111111012100000001010001011120001220112210111111000"
      "001000102110111021111000100000000011011000011001100010000000000000000100001110000100000011";
  const auto count = static_cast<Index>(days.size());
  Vector y(count);
  for (Index day = 0; day < count; ++day) y(day) = days[static_cast<std::size_t>(day)] - '0';
  Vector trials = Vector::Constant(count, 2.0);
  trials(59) = 1.0;
  return {.prior = IntrinsicField{FieldKind::rw2, count, 10.0, {}},
          .sites = {observe("binomial-logit", y, {{"trials", trials}})}};
}

TEST(Learn, GoesBeyondAFlatShoulder) {
  // The evidence of ep has a shoulder at a precision of 4e4, 1.4 below its maximum. That of laplace has none.
  const Model model = tokyo_rainfall();
  const double precision = find(learn(model, Laplace{}).report, "prior.precision").value;
  const Learned learned = learn(model, Ep{});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  const Posterior there = infer(model.with_parameters({{"prior.precision", precision}}), Ep{});
  EXPECT_GT(learned.report.objective, there.log_evidence().value - 1e-6);
}

TEST(Maximise, ReachesACornerOfTheBoxAndSurvivesFailures) {
  const Vector lower = Vector::Constant(2, -1.0);
  const Vector upper = Vector::Constant(2, 1.0);
  int failures = 0;
  const auto f = [&](const Vector& x) -> std::optional<Evaluation> {
    if (x(1) > 0.8) {
      ++failures;
      return std::nullopt;
    }
    // A maximum at (3, 0.5): the first coordinate must end at its bound.
    Vector gradient(2);
    gradient << -2 * (x(0) - 3), -20 * (x(1) - 0.5);
    return Evaluation{-std::pow(x(0) - 3, 2) - 10 * std::pow(x(1) - 0.5, 2), std::move(gradient)};
  };
  const Maximum found = maximise(f, [] { return false; }, Vector::Constant(2, -0.9), lower, upper,
                                 {.max_evaluations = 200, .tolerance = 1e-6});
  EXPECT_EQ(found.status, Status::converged) << found.message;
  EXPECT_NEAR(found.value, -4.0, 1e-9);
}

/// Three classes of six rows; `factor` entries below the diagonal may have either sign.
Model related_functions() {
  const Matrix inputs{{-1.0}, {-0.4}, {0.0}, {0.3}, {0.9}, {1.5}};
  return {.prior = GaussianProcess{.inputs = inputs, .kernel = make_kernel("se", {{"lengthscale", {0.8}}})},
          .sites = {observe("multinomial-logit", Vector{{0.0, 0.0, 1.0, 1.0, 2.0, 2.0}}, {{"classes", one(3.0)}})},
          .latents = {.count = 3, .model = LatentModel::full}};
}

TEST(Learn, EntriesOfAFactorMayBeNegative) {
  const std::string entry = "prior.latent_covariance.factor[1][0]";
  const auto free = free_parameters(
      related_functions(), {.bounds = {{entry, {-0.5, 2.0}}}, .hyperpriors = {{entry, {.median = -0.25, .sd = 0.5}}}});
  const auto found = std::find_if(free.begin(), free.end(), [&](const auto& f) { return f.name == entry; });
  ASSERT_NE(found, free.end());
  EXPECT_EQ(found->scale, ParameterScale::itself);
  EXPECT_EQ(found->initial, 0.0);
  EXPECT_EQ(found->lower, -0.5);
  EXPECT_EQ(found->upper, 2.0);
  EXPECT_EQ(found->z_of(0.25), 1.0);
  EXPECT_THROW((void)free_parameters(related_functions(), {.bounds = {{entry, {1.0, -1.0}}}}), InvalidOption);
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THROW((void)free_parameters(related_functions(), {.bounds = {{entry, {0.0, infinite}}}}), InvalidOption);
  EXPECT_THROW((void)free_parameters(related_functions(), {.hyperpriors = {{entry, {.median = infinite, .sd = 1.0}}}}),
               InvalidOption);
}

TEST(Learn, RelatedFunctionsUnderWeakHyperpriors) {
  const Model model = related_functions();
  const Learned learned = learn(model, Laplace{}, {.hyperpriors = weak_hyperpriors(model)});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_GT(learned.report.objective, learned.report.initial_objective);
  for (const LearnedParameter& parameter : learned.report.parameters)
    if (!parameter.fixed) {
      EXPECT_TRUE(parameter.standard_error) << parameter.name;
      EXPECT_FALSE(parameter.at_bound) << parameter.name;
    }
}

}  // namespace
}  // namespace gaussmith
