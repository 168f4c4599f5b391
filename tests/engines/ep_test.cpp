// Expectation propagation against definitions written out densely, quadrature and identities.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/hard_problems.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

constexpr double pi = std::numbers::pi;

/// Moments of N(m, v) t^power by a plain trapezoidal sum over twelve standard deviations: no code of the library but t.
struct Sums {
  double log_normaliser, mean, variance;
};
Sums tilted_by_sums(const SiteBlock& block, Index row, double m, double v, double power) {
  constexpr int half = 40000;
  const double h = 12.0 * std::sqrt(v) / half;
  double z = 0.0;
  double first = 0.0;
  double second = 0.0;
  for (int k = -half; k <= half; ++k) {
    const double eta = m + k * h;
    double log_t = 0.0;
    block.log_density(row, ConstSpan(&eta, 1), {Span(&log_t, 1), {}, {}, {}});
    const double w = std::exp(power * log_t - 0.5 * (eta - m) * (eta - m) / v);
    z += w;
    first += w * (eta - m);
    second += w * (eta - m) * (eta - m);
  }
  const double mean = first / z;
  return {std::log(z * h) - 0.5 * std::log(2.0 * pi * v), m + mean, second / z - mean * mean};
}

/// Everything that defines an EP fixed point, from site parameters alone and with explicit inverses.
struct Written {
  double log_evidence = 0.0;
  double mismatch = 0.0;
};
Written written_out(const Posterior& q, const Matrix& k, const Vector& prior_mean, double power) {
  const Index n = k.rows();
  const Vector& tau = q.site_approximation().precision;
  const Vector& nu = q.site_approximation().shift;
  const Matrix v = dense_inverse(dense_inverse(k) + Matrix(tau.asDiagonal()));
  const Vector r = nu - tau.cwiseProduct(prior_mean);
  const Vector m = prior_mean + v * r;
  const Matrix b = Matrix::Identity(n, n) + k * tau.asDiagonal();
  Written out;
  out.log_evidence = -0.5 * std::log(dense_determinant(b)) + nu.dot(prior_mean) -
                     0.5 * prior_mean.dot(tau.cwiseProduct(prior_mean)) + 0.5 * r.dot(v * r);
  const auto psi = [](double mean, double variance) { return 0.5 * std::log(variance) + 0.5 * mean * mean / variance; };
  Index row = 0;
  for (const Sites& block : q.model().sites)
    for (Index i = 0; i < block->size(); ++i, ++row) {
      const double cavity_variance = 1.0 / (1.0 / v(row, row) - power * tau(row));
      const double cavity_mean = cavity_variance * (m(row) / v(row, row) - power * nu(row));
      const Sums t = tilted_by_sums(*block, i, cavity_mean, cavity_variance, power);
      out.log_evidence += (t.log_normaliser + psi(cavity_mean, cavity_variance) - psi(m(row), v(row, row))) / power;
      out.mismatch = std::max(
          {out.mismatch, std::abs(t.mean - m(row)) / std::sqrt(v(row, row)), std::abs(t.variance / v(row, row) - 1.0)});
    }
  return out;
}

Matrix gram_of(const Model& model) {
  Matrix k;
  const auto& process = std::get<GaussianProcess>(model.prior);
  process.kernel->gram(process.inputs, k);
  return k;
}

class EpSites : public ::testing::TestWithParam<std::string> {};

TEST_P(EpSites, FixedPointAndEvidenceAreThoseOfTheDefinition) {
  const Model model = process_model(GetParam(), 9, 5);
  const double mean = std::get<GaussianProcess>(model.prior).mean;
  for (const double power : {1.0, 0.5}) {
    const Posterior q = infer(model, Ep{.power = power});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_LE(q.report().residual, 1e-8);
    const Written truth = written_out(q, gram_of(model), Vector::Constant(9, mean), power);
    // Sums over kinks (laplace) are good to their squared step.
    EXPECT_LT(truth.mismatch, 2e-8) << "power " << power;
    EXPECT_NEAR(q.log_evidence().value, truth.log_evidence, 1e-7 * (1 + std::abs(truth.log_evidence)));
  }
}

TEST_P(EpSites, ModesAndFormsReachTheSameFixedPoint) {
  const Model model = process_model(GetParam(), 12, 8);
  const Posterior reference = infer(model, Ep{.tolerance = 1e-10});
  for (const EpMode mode : {EpMode::parallel, EpMode::sequential, EpMode::double_loop})
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      const Posterior q = infer(model, Ep{.mode = mode, .tolerance = 1e-10}, {.form = form});
      ASSERT_TRUE(q.report().converged()) << q.report().brief();
      EXPECT_NEAR(q.log_evidence().value, reference.log_evidence().value, 1e-8);
      EXPECT_LT((q.latent().mean - reference.latent().mean).lpNorm<Eigen::Infinity>(), 1e-7);
      EXPECT_LT((q.latent().variance - reference.latent().variance).lpNorm<Eigen::Infinity>(), 1e-7);
    }
}

INSTANTIATE_TEST_SUITE_P(Sites, EpSites, ::testing::ValuesIn(all_likelihoods()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Ep, OneSiteIsExact) {
  // A single site: its tilted distribution is the posterior.
  for (const char* name : {"bernoulli-probit", "student-t", "poisson"}) {
    const Sites site = random_sites(name, 1, 3);
    const Model model{
        .prior = Isotropic{Vector::Constant(1, 0.4), 2.0}, .design = Identity{}, .offset = {}, .sites = {site}};
    const Posterior q = infer(model, Ep{});
    const Sums truth = tilted_by_sums(*site, 0, 0.4, 2.0, 1.0);
    EXPECT_NEAR(q.log_evidence().value, truth.log_normaliser, 1e-9);
    EXPECT_NEAR(q.latent().mean(0), truth.mean, 1e-8);
    EXPECT_NEAR(q.latent().variance(0), truth.variance, 1e-8);
  }
}

TEST(Ep, GaussianSitesNeedOneSweep) {
  const Model model = process_model("gaussian", 20, 2);
  const Posterior q = infer(model, Ep{});
  EXPECT_EQ(q.report().iterations, 1);
  EXPECT_EQ(q.log_evidence().kind, EvidenceKind::exact);
  EXPECT_NEAR(q.log_evidence().value, infer(model, Exact{}).log_evidence().value, 1e-9);
}

TEST(Ep, OrdinaryClassificationNeedsFewSweeps) {
  for (const char* likelihood : {"bernoulli-logit", "bernoulli-probit"})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Posterior q = infer(process_model(likelihood, 150, seed), Ep{.tolerance = 1e-6});
      EXPECT_TRUE(q.report().converged());
      EXPECT_LE(q.report().iterations, 12);
      EXPECT_TRUE(q.report().notes.empty());
    }
}

TEST(Ep, MixedSitesWithoutAGaussianFactor) {
  // Gaussian and Poisson rows under a sparsity prior, fewer rows than weights: every factor is a site.
  constexpr Index d = 12;
  constexpr Index n = 7;
  Matrix h(n + d, d);
  h.topRows(n) = random_matrix(n, d, 1) / 3.0;
  h.bottomRows(d) = Matrix::Identity(d, d);
  const Model model{.prior = NoGaussian{d},
                    .design = h,
                    .offset = {},
                    .sites = {random_sites("gaussian", 4, 2), random_sites("poisson", 3, 3),
                              observe("laplace", Vector::Zero(d), {{"scale", one(0.5)}})}};
  for (const double power : {1.0, 0.9}) {
    const Posterior q = infer(model, Ep{.power = power});
    EXPECT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_LE(q.report().residual, 1e-8);
  }
}

TEST(Ep, PinnedRowsKeepTheirPrior) {
  // A linear kernel at zero: eta is zero there whatever the data say, and the site counts with its value.
  Model model = process_model("bernoulli-logit", 6, 4);
  auto& process = std::get<GaussianProcess>(model.prior);
  process.kernel = make_kernel("linear");
  process.mean = 0.0;
  process.inputs = with_row(process.inputs, 2, Vector::Zero(process.inputs.cols()));
  const Posterior q = infer(model, Ep{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_EQ(q.latent().mean(2), 0.0);
  EXPECT_EQ(q.latent().variance(2), 0.0);

  Model without = model;
  Matrix inputs(5, process.inputs.cols());
  Vector y(5);
  for (Index i = 0, k = 0; i < 6; ++i) {
    if (i == 2) continue;
    inputs.row(k) = process.inputs->row(i);
    y(k++) = model.sites[0]->responses()(i);
  }
  std::get<GaussianProcess>(without.prior).inputs = inputs;
  without.sites = {observe("bernoulli-logit", y)};
  EXPECT_NEAR(q.log_evidence().value, infer(without, Ep{}).log_evidence().value - std::log(2.0), 1e-9);
}

TEST(Ep, GradientCountsPinnedRows) {
  // The linear kernel pins the row at zero, where the site is a function of its parameter alone.
  for (const char* name : {"negative-binomial", "laplace", "weibull", "gamma"}) {
    Model model = process_model(name, 7, 4);
    auto& process = std::get<GaussianProcess>(model.prior);
    process.kernel = make_kernel("linear");
    process.mean = 0.0;
    process.inputs = with_row(process.inputs, 2, Vector::Zero(process.inputs.cols()));
    const Ep ep{.tolerance = 1e-11};
    const auto gradient = infer(model, ep).gradient();
    for (const Parameter& p : model.parameters()) {
      if (!p.learnable) continue;
      const auto at = [&](double step) {
        return infer(model.with_parameters({{p.name, p.value * std::exp(step)}}), ep).log_evidence().value;
      };
      const double difference = (at(1e-4) - at(-1e-4)) / 2e-4;
      EXPECT_NEAR(gradient.at(p.name), difference, 1e-5 * (1 + std::abs(difference))) << name << " " << p.name;
    }
  }
}

TEST(Ep, RoundingIsNoExcuseForALargeMismatch) {
  // Noise of variance 1e-20 beside a process of variance one: what double precision leaves is far from a fixed point.
  Model model = process_model("gaussian", 12, 3);
  model.sites = {model.sites[0]->with(model.sites[0]->responses(), {{"variance", one(1e-20)}})};
  const Posterior q = infer(model, Ep{}, {.form = CoreForm::covariance});
  if (q.report().converged()) {
    EXPECT_LE(q.report().residual, 1e-6);
  }
  EXPECT_TRUE(q.log_evidence().kind != EvidenceKind::exact || q.report().converged());
}

TEST(Ep, SmallNoiseIsExactInOneSweep) {
  Model model = process_model("gaussian", 20, 2);
  model.sites = {model.sites[0]->with(model.sites[0]->responses(), {{"variance", one(1e-6)}})};
  const Posterior q = infer(model, Ep{});
  const Posterior truth = infer(model, Exact{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_LE(q.report().iterations, 2);
  EXPECT_NEAR(q.log_evidence().value, truth.log_evidence().value, 1e-9 * std::abs(truth.log_evidence().value));
}

TEST(Ep, UnconvergedIsNeverExactAndHasAGradient) {
  const Model model = process_model("gaussian", 10, 2);
  const Posterior q = infer(model, Ep{.damping = 0.1, .max_iterations = 1});
  EXPECT_FALSE(q.report().converged());
  EXPECT_EQ(q.log_evidence().kind, EvidenceKind::approximation);
  const Posterior stalled = infer(hard_problem(0).model, Ep{.mode = EpMode::double_loop, .max_iterations = 50});
  EXPECT_TRUE(std::isfinite(stalled.report().residual));
  for (const auto& [name, value] : stalled.gradient()) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(Ep, DampedSequentialSweepsHavePatience) {
  for (const char* name : {"bernoulli-logit", "student-t", "poisson"}) {
    const Posterior q = infer(process_model(name, 20, 7), Ep{.mode = EpMode::sequential, .damping = 0.1});
    EXPECT_TRUE(q.report().converged()) << name << ": " << q.report().brief();
  }
}

TEST(Ep, WarmStartSavesSweepsAndChangesNothing) {
  const Model model = process_model("bernoulli-probit", 40, 6);
  const Posterior cold = infer(model, Ep{});
  const Posterior again = infer(model, Ep{}, {.warm_start = &cold});
  EXPECT_EQ(again.report().iterations, 0);
  EXPECT_NEAR(again.log_evidence().value, cold.log_evidence().value, 1e-10);
}

TEST(Ep, GradientMatchesDifferences) {
  for (const std::string& name : all_likelihoods())
    for (const double power : {1.0, 0.6}) {
      const Model model = process_model(name, 10, 11);
      const Ep ep{.power = power, .tolerance = 1e-11};
      const auto gradient = infer(model, ep).gradient();
      for (const Parameter& p : model.parameters()) {
        if (!p.learnable) continue;
        constexpr double h = 1e-3;
        const auto at = [&](double step) {
          return infer(model.with_parameters({{p.name, p.value * std::exp(step)}}), ep).log_evidence().value;
        };
        const double difference = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
        EXPECT_NEAR(gradient.at(p.name), difference, 1e-5 * (1.0 + std::abs(difference))) << name << " " << p.name;
      }
    }
}

TEST(Ep, GradientOfALinearModelMatchesDifferences) {
  const Model model = linear_model("student-t", 20, 4, 3);
  const Ep ep{.tolerance = 1e-11};
  const auto gradient = infer(model, ep).gradient();
  for (const char* name : {"prior.variance", "sites[0].scale", "sites[0].nu"}) {
    double value = 0.0;
    for (const Parameter& p : model.parameters())
      if (p.name == name) value = p.value;
    const auto at = [&](double step) {
      return infer(model.with_parameters({{name, value * std::exp(step)}}), ep).log_evidence().value;
    };
    EXPECT_NEAR(gradient.at(name), (at(1e-4) - at(-1e-4)) / 2e-4, 1e-5) << name;
  }
}

TEST(Ep, LeaveOneOutOfGaussianSitesIsExact) {
  const Model model = process_model("gaussian", 8, 9);
  const LeaveOneOut loo = infer(model, Ep{}).leave_one_out();
  const auto& process = std::get<GaussianProcess>(model.prior);
  for (Index left = 0; left < 8; ++left) {
    Matrix inputs(7, process.inputs.cols());
    Vector y(7);
    for (Index i = 0, k = 0; i < 8; ++i) {
      if (i == left) continue;
      inputs.row(k) = process.inputs->row(i);
      y(k++) = model.sites[0]->responses()(i);
    }
    const Model rest{.prior = GaussianProcess{inputs, process.kernel, process.mean},
                     .design = Identity{},
                     .offset = {},
                     .sites = {model.sites[0]->with(y, {})}};
    const Prediction predicted = infer(rest, Exact{}).predict(Matrix(process.inputs->row(left)));
    EXPECT_NEAR(loo.latent.mean(left), predicted.latent_mean()(0), 1e-9);
    EXPECT_NEAR(loo.latent.variance(left), predicted.latent_variance()(0), 1e-9);
    EXPECT_NEAR(loo.log_density(left), predicted.log_density(one(model.sites[0]->responses()(left)))(0), 1e-9);
  }
}

TEST(Ep, EscalatesForTheReasonItStates) {
  // One problem for each reason; what is tested is that the reason is there, and that the end is a fixed point.
  struct Case {
    std::uint64_t seed;
    const char* expected;
  };
  for (const Case& c : {Case{404, "parallel -> damped, because K^-1 + T lost definiteness"},
                        Case{0, "because cavities lost their positive variance"},
                        Case{40, "because the moment mismatch stopped falling"}}) {
    const Posterior q = infer(hard_problem(c.seed).model, Ep{});
    EXPECT_TRUE(q.report().converged()) << q.report().brief();
    std::string all;
    for (const std::string& note : q.report().notes) all += note + "\n";
    EXPECT_NE(all.find(c.expected), std::string::npos) << all;
  }
}

TEST(Ep, LowersThePowerLastAndSaysSo) {
  const Posterior q = infer(hard_problem(351).model, Ep{});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_LT(std::get<Ep>(q.method()).power, 1.0);
  EXPECT_TRUE(q.report().substituted);
  ASSERT_FALSE(q.report().warnings.empty());
  EXPECT_NE(q.report().warnings[0].find("the power was lowered from 1 to"), std::string::npos);
  // It is the fixed point that was asked for at that power.
  const Posterior same =
      infer(hard_problem(351).model, Ep{.power = std::get<Ep>(q.method()).power}, {.warm_start = &q});
  EXPECT_EQ(same.report().iterations, 0);
}

TEST(Ep, StopsWhenAskedWithWhatItHas) {
  const Model model = process_model("bernoulli-probit", 30, 2);
  gaussmith::Run run;
  run.progress = [](const Iteration& i) { return i.number == 2 ? Next::accept : Next::proceed; };
  const Posterior q = infer(model, Ep{.tolerance = 1e-12}, run);
  EXPECT_EQ(q.report().status, Status::stopped);
  EXPECT_TRUE(q.latent().mean.allFinite());
  run.progress = [](const Iteration&) { return Next::discard; };
  EXPECT_THROW((void)infer(model, Ep{}, run), Interrupted);
}

TEST(Ep, IterationLimitIsHonest) {
  const Posterior q = infer(process_model("bernoulli-probit", 30, 2), Ep{.max_iterations = 2});
  EXPECT_EQ(q.report().status, Status::iteration_limit);
  EXPECT_GT(q.report().residual, 1e-8);
  EXPECT_TRUE(std::isfinite(q.log_evidence().value));
}

TEST(Ep, RefusesBadOptions) {
  const Model model = process_model("bernoulli-probit", 5, 2);
  EXPECT_THROW((void)infer(model, Ep{.power = 0.0}), InvalidOption);
  EXPECT_THROW((void)infer(model, Ep{.power = 1.1}), InvalidOption);
  EXPECT_THROW((void)infer(model, Ep{.damping = 0.0}), InvalidOption);
  EXPECT_THROW((void)infer(model, Ep{.damping = -1.0}), InvalidOption);
  EXPECT_THROW((void)make_method("ep", {{"ep.mode", "fast"}}), InvalidOption);
  EXPECT_THROW((void)make_method("ep", {{"ep.power", "0"}}), InvalidOption);
  EXPECT_THROW((void)make_method("ep", {{"ep.damping", "-0.5"}}), InvalidOption);
  try {
    (void)make_method("ep", {{"ep.mode", "fast"}});
  } catch (const InvalidOption& error) {
    EXPECT_STREQ(error.what(), "ep.mode must be auto | parallel | sequential | double-loop, found \"fast\"");
  }
}

}  // namespace
}  // namespace gaussmith
