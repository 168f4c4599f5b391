#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

Model one_weight(double variance, Sites sites) {
  return Model{
      .prior = Isotropic{Vector::Zero(1), variance}, .design = Identity{}, .offset = {}, .sites = {std::move(sites)}};
}

/// log of the integral of exp(log_value(w)) over a box, by the trapezoidal rule around its largest value.
double log_integral(const std::function<double(const Vector&)>& log_value, Index dimension, double reach, int points) {
  const double h = 2 * reach / (points - 1);
  std::vector<double> values;
  Vector w(dimension);
  for (int i = 0; i < points; ++i) {
    w(0) = -reach + i * h;
    if (dimension == 1) {
      values.push_back(log_value(w));
      continue;
    }
    for (int j = 0; j < points; ++j) {
      w(1) = -reach + j * h;
      values.push_back(log_value(w));
    }
  }
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (const double v : values) sum += std::exp(v - largest);
  return largest + std::log(sum) + static_cast<double>(dimension) * std::log(h);
}

double log_sites(const Model& model, const Vector& eta) {
  double sum = 0.0;
  Index row = 0;
  for (const Sites& block : model.sites) {
    Vector value(block->size());
    block->log_density(0, ConstSpan(eta.data() + row, static_cast<std::size_t>(block->size())),
                       {.value = view(value), .first = {}, .second = {}, .third = {}});
    sum += value.sum();
    row += block->size();
  }
  return sum;
}

/// The exact log evidence of a linear model with one or two weights.
double brute_force_evidence(const Model& model) {
  const auto& prior = std::get<Isotropic>(model.prior);
  const auto& h = *model.design.entries().dense;
  const auto log_joint = [&](const Vector& w) {
    return log_sites(model, h * w + model.offset) - 0.5 * (w - prior.mean).squaredNorm() / prior.variance -
           0.5 * static_cast<double>(w.size()) * std::log(2 * std::numbers::pi * prior.variance);
  };
  return log_integral(log_joint, model.dimension(), 9.0 * std::sqrt(prior.variance),
                      model.dimension() == 1 ? 4001 : 301);
}

void expect_monotone(const Posterior& q) {
  const auto& history = q.report().history;
  ASSERT_FALSE(history.empty());
  for (std::size_t i = 1; i < history.size(); ++i)
    EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-11 * (1 + std::abs(history[i].objective)));
  EXPECT_NEAR(history.back().objective, q.log_evidence().value, 1e-12 * (1 + std::abs(q.log_evidence().value)));
}

TEST(Kl, BoundLiesBelowTheEvidenceAndCloseToIt) {
  for (const std::string& name : all_likelihoods())
    for (const Index dimension : {1, 2}) {
      const Model model = linear_model(name, 6, dimension, 17);
      const Posterior q = infer(model, Kl{});
      ASSERT_TRUE(q.report().converged()) << name << ": " << q.report().brief();
      EXPECT_EQ(q.log_evidence().kind, name == "gaussian" ? EvidenceKind::exact : EvidenceKind::lower_bound);
      const double truth = brute_force_evidence(model);
      EXPECT_LE(q.log_evidence().value, truth + 1e-6) << name;
      EXPECT_GT(q.log_evidence().value, truth - 0.2) << name;
      expect_monotone(q);
    }
}

TEST(Kl, BothFormsAgreeForEverySiteAndPrior) {
  for (const std::string& name : all_likelihoods()) {
    Model dense = linear_model(name, 9, 5, 4);
    dense.prior = DenseGaussian{random_vector(5, 5), random_covariance(5, 3, 6)};
    Model diagonal = linear_model(name, 4, 7, 4);
    diagonal.prior = Diagonal{random_vector(7, 5), random_vector(7, 8).cwiseAbs2().array() + 0.1};
    for (const Model& model :
         {linear_model(name, 12, 4, 3), linear_model(name, 5, 9, 3), process_model(name, 11, 2), dense, diagonal}) {
      const Posterior a = infer(model, Kl{}, {.form = CoreForm::covariance});
      const Posterior b = infer(model, Kl{}, {.form = CoreForm::precision});
      ASSERT_TRUE(a.report().converged() && b.report().converged()) << name << ": " << a.report().brief();
      EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-9 * (1 + std::abs(b.log_evidence().value)));
      EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6) << name;
      EXPECT_LT((a.latent().variance - b.latent().variance).lpNorm<Eigen::Infinity>(), 1e-6) << name;
      expect_monotone(a);
    }
  }
}

TEST(Kl, SiteEquationsHoldAtTheEnd) {
  const Model model = process_model("bernoulli-logit", 30, 9);
  const Posterior q = infer(model, Kl{});
  // Expectations by a plain sum; K^-1 + T inverted by Eigen.
  Matrix k;
  const auto& process = std::get<GaussianProcess>(model.prior);
  process.kernel->gram(process.inputs, k);
  const Vector& y = model.sites[0]->responses();
  const Vector& m = q.latent().mean;
  const Vector& v = q.latent().variance;
  Vector tau(30);
  Vector gradient(30);
  for (Index n = 0; n < 30; ++n) {
    double first = 0.0;
    double second = 0.0;
    constexpr double step = 0.05;
    for (double z = -10.0; z <= 10.0; z += step) {
      const double weight = step * std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
      const double share = 1.0 / (1.0 + std::exp(y(n) * (m(n) + std::sqrt(v(n)) * z)));
      first += weight * y(n) * share;
      second += weight * share * (1.0 - share);
    }
    gradient(n) = first;
    tau(n) = second;
  }
  EXPECT_LT((q.site_approximation().precision - tau).lpNorm<Eigen::Infinity>(), 1e-7);
  EXPECT_LT((m - (Vector::Constant(30, process.mean) + k * gradient)).lpNorm<Eigen::Infinity>(), 1e-6);
  const Matrix cov = k - k * dense_inverse(k + Matrix(tau.cwiseInverse().asDiagonal())) * k;
  EXPECT_LT((v - cov.diagonal()).lpNorm<Eigen::Infinity>(), 1e-6);
}

TEST(Kl, OptimumIsTheSameFromEveryStart) {
  for (const char* name : {"bernoulli-logit", "poisson", "laplace", "weibull"}) {
    const Model model = linear_model(name, 20, 6, 31);
    const Posterior cold = infer(model, Kl{});
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      // The posterior of other data under another prior is a start far away.
      Model other = linear_model(name, 20, 6, 100 + seed);
      std::get<Isotropic>(other.prior).variance = std::pow(10.0, static_cast<double>(seed) - 3.0);
      const Posterior start = infer(other, Kl{});
      const Posterior warm = infer(model, Kl{}, {.warm_start = &start});
      ASSERT_TRUE(warm.report().converged()) << name << ": " << warm.report().brief();
      EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-10 * std::abs(cold.log_evidence().value));
      EXPECT_LT((warm.latent().mean - cold.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6);
      EXPECT_LT((warm.latent().variance - cold.latent().variance).lpNorm<Eigen::Infinity>(), 1e-6);
      expect_monotone(warm);
    }
    const Posterior again = infer(model, Kl{}, {.warm_start = &cold});
    EXPECT_LE(again.report().iterations, 2);
  }
}

TEST(Kl, TakesFewFactorisations) {
  EXPECT_LE(infer(linear_model("bernoulli-logit", 400, 80, 1), Kl{}).report().iterations, 14);
  EXPECT_LE(infer(process_model("bernoulli-logit", 100, 1), Kl{}).report().iterations, 12);
  EXPECT_LE(infer(process_model("gaussian", 50, 1), Kl{}).report().iterations, 2);
}

/// max over m, v of E[log t] - KL for N(0, prior variance) and one site with a closed form of E[log t], by nested
/// golden-section searches.
double scalar_optimum(double prior, const std::function<double(double, double)>& expected) {
  const auto golden = [](const auto& f, double low, double high) {
    const double ratio = 0.5 * (std::sqrt(5.0) - 1.0);
    double a = high - ratio * (high - low);
    double b = low + ratio * (high - low);
    double fa = f(a);
    double fb = f(b);
    for (int i = 0; i < 80; ++i) {
      if (fa > fb) {
        high = b;
        b = a;
        fb = fa;
        a = high - ratio * (high - low);
        fa = f(a);
      } else {
        low = a;
        a = b;
        fa = fb;
        b = low + ratio * (high - low);
        fb = f(b);
      }
    }
    return std::max(fa, fb);
  };
  return golden(
      [&](double log_v) {
        const double v = std::exp(log_v);
        return golden([&](double m) { return expected(m, v) - 0.5 * (m * m + v) / prior; }, -8.0, 8.0) + 0.5 * log_v +
               0.5 - 0.5 * std::log(prior);
      },
      -8.0, 4.0);
}

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// The best bound of one Poisson count y under N(0, k): y m - e^(m + v/2) - log y! - KL, by bisection in m and golden
/// section in log v.
double best_poisson_bound(double y, double k) {
  const auto bound = [&](double log_v) {
    const double v = std::exp(log_v);
    double low = -40.0 * std::sqrt(k) - v;
    double high = 40.0;
    for (int i = 0; i < 200; ++i) {
      const double m = 0.5 * (low + high);
      (y - std::exp(m + 0.5 * v) - m / k > 0.0 ? low : high) = m;
    }
    const double m = 0.5 * (low + high);
    return y * m - std::exp(m + 0.5 * v) - std::lgamma(y + 1.0) - 0.5 * (v / k + m * m / k - 1.0 - std::log(v / k));
  };
  double from = std::log(1e-6);
  double to = std::log(k);
  const double ratio = 0.5 * (std::sqrt(5.0) - 1.0);
  for (int i = 0; i < 200; ++i) {
    const double a = to - ratio * (to - from);
    const double b = from + ratio * (to - from);
    if (bound(a) < bound(b))
      from = a;
    else
      to = b;
  }
  return bound(0.5 * (from + to));
}

TEST(Kl, VeryWidePriorsReachTheOptimum) {
  for (const double variance : {1e4, 1e6, 1e8})
    for (const double y : {0.0, 1.0, 40.0})
      for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
        const Posterior q = infer(one_weight(variance, observe("poisson", one(y))), Kl{}, {.form = form});
        EXPECT_TRUE(q.report().converged()) << variance << " " << y << ": " << q.report().brief();
        EXPECT_NEAR(q.log_evidence().value, best_poisson_bound(y, variance), 1e-8) << variance << " " << y;
      }

  // A full Cholesky factor as the variable: another search, with products of its own.
  const auto agree = [](const Model& model, Basis basis, const std::vector<CoreForm>& forms) {
    const std::string band = fmt::format("banded:{}", model.dimension() - 1);
    const Posterior root = infer(model, Kl{.covariance = band, .basis = basis, .max_iterations = 5000});
    ASSERT_TRUE(root.report().converged()) << root.report().brief();
    for (const CoreForm form : forms) {
      const Posterior q = infer(model, Kl{}, {.form = form});
      EXPECT_TRUE(q.report().converged()) << q.report().brief();
      EXPECT_NEAR(q.log_evidence().value, root.log_evidence().value, 1e-7);
      EXPECT_LT((q.latent().mean - root.latent().mean).cwiseQuotient(root.latent().variance.cwiseSqrt()).norm(), 1e-5);
    }
  };
  const std::vector<CoreForm> both{CoreForm::covariance, CoreForm::precision};
  for (const char* likelihood : {"poisson", "bernoulli-logit"}) {
    SCOPED_TRACE(likelihood);
    Model process = process_model(likelihood, 40, 3);
    std::get<GaussianProcess>(process.prior).kernel = make_kernel("se", {{"signal_sd", {1e3}}, {"lengthscale", {1.0}}});
    agree(process, Basis::whitened, both);
  }
  for (const bool separable : {false, true})
    for (const double variance : {1e6, 1e8}) {
      SCOPED_TRACE(fmt::format("logistic regression, separable {}, variance {}", separable, variance));
      const Matrix h = random_matrix(30, 5, 11);
      const Vector clean = h * random_vector(5, 12);
      const Vector noisy = clean + 2.0 * random_vector(30, 5);
      const Vector y = (separable ? clean : noisy).array().sign();
      const Model model{.prior = Isotropic{Vector::Zero(5), variance},
                        .design = h,
                        .offset = {},
                        .sites = {observe("bernoulli-logit", y)}};
      // K of rank five times 1e8 leaves less than the tolerance in the covariance form.
      agree(model, Basis::weights, variance < 1e7 ? both : std::vector{CoreForm::precision});
    }
}

TEST(Kl, TheBoundNeverFallsHoweverWideThePrior) {
  for (const double deviation : {1e4, 1e5, 1e6})
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      Model model = process_model("bernoulli-logit", 40, 3);
      std::get<GaussianProcess>(model.prior).kernel =
          make_kernel("se", {{"signal_sd", {deviation}}, {"lengthscale", {1.0}}});
      const auto history = infer(model, Kl{}, {.form = form}).report().history;
      for (std::size_t i = 1; i < history.size(); ++i)
        EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-3) << deviation << " step " << i;
    }
}

TEST(Kl, AWideStartSeesTheModesThatNarrowSitesHide) {
  // Noise of scale 1e-2 under a prior of variance 1e6: a narrow Gaussian sees a few rows and is content.
  for (unsigned seed = 1; seed <= static_cast<unsigned>(repetitions(3)); ++seed) {
    const Matrix h = random_matrix(300, 5, seed);
    const Vector y = 200.0 * (h * random_vector(5, seed + 10)) + 0.01 * random_vector(300, seed + 20);
    const Model model{.prior = Isotropic{Vector::Zero(5), 1e6},
                      .design = h,
                      .offset = {},
                      .sites = {observe("student-t", y, {{"scale", one(0.01)}, {"nu", one(2.5)}})}};
    const double full = infer(model, Kl{}).log_evidence().value;
    EXPECT_GE(full, infer(model, Kl{.covariance = "diagonal"}).log_evidence().value - 1e-6) << seed;
  }
}

TEST(Kl, OverflowIsNoLackOfSupport) {
  // log t = 0.3 eta - e^eta without a Gaussian factor: at eta = 800 it is -inf in double precision only.
  CustomLikelihood gumbel;
  gumbel.log_density = [](double eta, double) { return 0.3 * eta - std::exp(eta); };
  gumbel.log_concave = true;
  const Model model{.prior = NoGaussian{1}, .design = Identity{}, .offset = {}, .sites = {observe(gumbel, one(0))}};
  const Posterior q = infer(model, Kl{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  // The best m and v by hand: 0.3 = e^(m + v/2) and 1/v = e^(m + v/2).
  const double v = 1.0 / 0.3;
  EXPECT_NEAR(q.latent().variance(0), v, 1e-6);
  EXPECT_NEAR(q.latent().mean(0), std::log(0.3) - v / 2, 1e-6);
}

TEST(Kl, TakesKinksAndJumps) {
  // A step down by 3 at 0.5: E = -3 P(x > 0.5). A tent: E|x - 1| in closed form.
  CustomLikelihood step;
  step.log_density = [](double eta, double) { return eta < 0.5 ? 0.0 : -3.0; };
  CustomLikelihood tent;
  tent.log_density = [](double eta, double) { return -2.0 * std::abs(eta - 1.0); };
  tent.kinks = [](double) { return std::vector<double>{1.0}; };
  tent.log_concave = true;
  const auto step_value = [](double m, double v) { return -3.0 * normal_below((m - 0.5) / std::sqrt(v)); };
  const auto tent_value = [](double m, double v) {
    const double s = std::sqrt(v);
    const double a = (m - 1.0) / s;
    return -2.0 *
           (s * std::sqrt(2 / std::numbers::pi) * std::exp(-0.5 * a * a) + (m - 1.0) * (1 - 2 * normal_below(-a)));
  };
  const PiecewiseQuadratic exact_step{.breaks = {0.5}, .pieces = {{0, 0, 0}, {-3, 0, 0}}};
  const PiecewiseQuadratic exact_tent{.breaks = {1.0}, .pieces = {{-2, 2, 0}, {2, -2, 0}}};
  const double step_truth = scalar_optimum(2.0, step_value);
  const double tent_truth = scalar_optimum(2.0, tent_value);
  for (const Sites& site : {observe(step, one(0)), observe(exact_step, one(0))}) {
    const Posterior q = infer(one_weight(2.0, site), Kl{});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_NEAR(q.log_evidence().value, step_truth, 1e-8);
    expect_monotone(q);
  }
  for (const Sites& site : {observe(tent, one(0)), observe(exact_tent, one(0))}) {
    const Posterior q = infer(one_weight(2.0, site), Kl{});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_NEAR(q.log_evidence().value, tent_truth, 1e-8);
  }
}

TEST(Kl, PiecewiseQuadraticsInARegressionEqualTheLaplaceLikelihood) {
  Model model = linear_model("laplace", 15, 4, 8);
  const Posterior a = infer(model, Kl{});
  const double level = -std::log(1.2);
  model.sites = {observe(PiecewiseQuadratic{.breaks = {0}, .pieces = {{level, 1 / 0.6, 0}, {level, -1 / 0.6, 0}}},
                         model.sites[0]->responses())};
  const Posterior b = infer(model, Kl{});
  EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-9);
  EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6);
}

TEST(Kl, KeepsTheBestOfSeveralStartsWhereOptimaCompete) {
  // A far response under heavy tails: q either follows the prior or the response.
  const Model model = one_weight(1.0, observe("student-t", one(6.0), {{"nu", one(1.5)}, {"scale", one(0.25)}}));
  const Posterior single = infer(model, Kl{.starts = 1});
  const Posterior several = infer(model, Kl{.starts = 5});
  ASSERT_TRUE(several.report().converged()) << several.report().brief();
  EXPECT_GE(several.log_evidence().value, single.log_evidence().value - 1e-12);
  EXPECT_NE(several.report().message.find("local"), std::string::npos);
  EXPECT_TRUE(several.report().local_optimum);
  EXPECT_NE(several.report().message.find("best of 5 starts"), std::string::npos);
  EXPECT_GT(several.report().iterations, single.report().iterations);
  // Every start reaches a bound below the evidence.
  const auto log_joint = [&](const Vector& w) {
    return log_sites(model, w) - 0.5 * w.squaredNorm() - 0.5 * std::log(2 * std::numbers::pi);
  };
  EXPECT_LT(several.log_evidence().value, log_integral(log_joint, 1, 12.0, 8001));
}

TEST(Kl, HeavyTailsWithOutliersConvergeAndAreRepeatable) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Model model = process_model("student-t", 25, seed);
    Vector y = model.sites[0]->responses();
    for (Index i = 0; i < 25; i += 4) y(i) += 8.0;
    model.sites = {seed % 2 == 0 ? observe("cauchy", y, {{"scale", one(0.1)}})
                                 : observe("student-t", y, {{"nu", one(2)}, {"scale", one(0.15)}})};
    const Posterior a = infer(model, Kl{}, {.seed = seed});
    const Posterior b = infer(model, Kl{}, {.threads = 2, .seed = seed});
    ASSERT_TRUE(a.report().converged()) << seed << ": " << a.report().brief();
    EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8);
    expect_monotone(a);
  }
}

TEST(Kl, NoGaussianFactor) {
  // Poisson rows and Laplace penalties on both weights: a proper posterior without any Gaussian.
  const Matrix h = random_matrix(8, 2, 3);
  Matrix stacked(10, 2);
  stacked << h, Matrix::Identity(2, 2);
  const Vector offset = 0.1 * random_vector(10, 5);
  const Model model{
      .prior = NoGaussian{2},
      .design = stacked,
      .offset = offset,
      .sites = {random_sites("poisson", 8, 2), observe("laplace", Vector::Zero(2), {{"scale", one(0.5)}})}};
  const Posterior q = infer(model, Kl{});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  const double truth =
      log_integral([&](const Vector& w) { return log_sites(model, stacked * w + offset); }, 2, 12.0, 601);
  EXPECT_LT(q.log_evidence().value, truth + 1e-6);
  EXPECT_GT(q.log_evidence().value, truth - 0.1);
  // Separable classes: the evidence is infinite, and so is the best bound.
  const Model separable{.prior = NoGaussian{1},
                        .design = Matrix(Vector{{1.0, 2.0, -1.0}}),
                        .offset = {},
                        .sites = {observe("bernoulli-logit", Vector{{1.0, 1.0, -1.0}})}};
  const Posterior endless = infer(separable, Kl{.max_iterations = 60});
  EXPECT_FALSE(endless.report().converged());
  EXPECT_NE(endless.report().message.find("separable"), std::string::npos);
  // A weight that no site sees.
  Model loose = model;
  loose.design = Matrix(Matrix::Ones(10, 2));
  EXPECT_THROW((void)infer(loose, Kl{}), InvalidModel);
}

TEST(Kl, StopsWhenAsked) {
  const Model model = linear_model("bernoulli-logit", 30, 5, 2);
  int calls = 0;
  const auto after_two = [&](Next answer) {
    calls = 0;
    return [&calls, answer](const Iteration&) { return ++calls == 2 ? answer : Next::proceed; };
  };
  const Posterior q = infer(model, Kl{}, {.progress = after_two(Next::accept)});
  EXPECT_EQ(q.report().status, Status::stopped);
  EXPECT_EQ(q.report().history.size(), 2U);
  EXPECT_THROW((void)infer(model, Kl{}, {.progress = after_two(Next::discard)}), Interrupted);
  const Posterior limited = infer(model, Kl{.max_iterations = 2});
  EXPECT_EQ(limited.report().status, Status::iteration_limit);
  EXPECT_LT(limited.log_evidence().value, infer(model, Kl{}).log_evidence().value);
}

TEST(Kl, ShortOfItsOptimumNothingIsExact) {
  // Gaussian sites, for which the optimum is the exact posterior; begun from precisions that are three times too large.
  const Model model = linear_model("gaussian", 12, 4, 9);
  Model precise = model;
  precise.sites = {model.sites[0]->with(model.sites[0]->responses(), {{"variance", one(0.1)}})};
  const double exact = infer(model, Exact{}).log_evidence().value;
  const Posterior start = infer(precise, Exact{});
  const auto at_once = [](const Iteration&) { return Next::accept; };
  const auto check = [&](const Posterior& q, Status status) {
    EXPECT_EQ(q.report().status, status) << q.report().brief();
    EXPECT_EQ(q.log_evidence().kind, EvidenceKind::lower_bound);
    EXPECT_LT(q.log_evidence().value, exact - 1e-6);
  };
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    const gaussmith::Run warm{.form = form, .warm_start = &start};
    check(infer(model, Kl{.max_iterations = 1}, warm), Status::iteration_limit);
    check(infer(model, Kl{}, {.form = form, .progress = at_once, .warm_start = &start}), Status::stopped);
    const Posterior whole = infer(model, Kl{}, warm);
    EXPECT_EQ(whole.log_evidence().kind, EvidenceKind::exact);
    EXPECT_NEAR(whole.log_evidence().value, exact, 1e-9);
  }
  // A constrained covariance is not exact at its optimum either; beyond 256 weights its steps are matrix-free, so that
  // one is not enough.
  Model large = linear_model("gaussian", 320, 300, 9);
  large.design = SparseMatrix(random_matrix(320, 300, 4).sparseView(1.0, 2.0));
  const double largest = infer(large, Exact{}).log_evidence().value;
  for (const char* family : {"diagonal", "banded:3", "chevron:3", "factor:2"}) {
    SCOPED_TRACE(family);
    check(infer(model, Kl{.covariance = family}, {.progress = at_once}), Status::stopped);
    const Posterior q = infer(large, Kl{.covariance = family, .max_iterations = 1, .starts = 1});
    EXPECT_EQ(q.report().status, Status::iteration_limit) << q.report().brief();
    EXPECT_EQ(q.log_evidence().kind, EvidenceKind::lower_bound);
    EXPECT_LT(q.log_evidence().value, largest);
  }
}

TEST(Kl, RefusesSitesWithoutUnboundedSupport) {
  const auto message = [](double (*log_t)(double, double)) -> std::string {
    CustomLikelihood wall;
    wall.name = "wall";
    wall.log_density = log_t;
    int calls = 0;
    try {
      (void)infer(one_weight(1.0, observe(wall, one(0))), Kl{}, {.progress = [&](const Iteration&) {
                    ++calls;
                    return Next::proceed;
                  }});
    } catch (const InvalidModel& error) {
      EXPECT_EQ(calls, 0);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(message([](double eta, double) {
              return eta > 1 ? -std::numeric_limits<double>::infinity() : 0.0;
            }).find("needs unbounded support"),
            std::string::npos);
  EXPECT_NE(message([](double eta, double) { return std::sqrt(eta); }).find("nan"), std::string::npos);
}

TEST(Kl, HolesInCustomSitesAreRefusedOrDoNotMatter) {
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  // log t = -2 (eta - 1)^2 but for what stands in an interval: a Gaussian, whose bound is exact without the hole.
  struct Hole {
    double from, to, value;
  };
  const auto site = [](const Hole& hole) {
    CustomLikelihood custom;
    custom.name = "holed";
    custom.log_density = [hole](double eta, double) {
      return eta > hole.from && eta < hole.to ? hole.value : -2.0 * (eta - 1.0) * (eta - 1.0);
    };
    return observe(custom, one(0));
  };
  struct Way {
    Kl method;
    CoreForm form;
  };
  const std::array<Way, 3> ways{Way{{}, CoreForm::covariance}, Way{{}, CoreForm::precision},
                                Way{{.covariance = "diagonal"}, CoreForm::automatic}};
  for (const double variance : {0.5, 100.0, 1e6, 0.0})
    for (const Way& way : ways) {
      if (variance == 0.0 && way.form == CoreForm::covariance) continue;
      const auto bound = [&](const Hole& hole) {
        Model model = one_weight(1.0, site(hole));
        model.design = Matrix(Matrix::Ones(1, 1));
        if (variance > 0.0)
          model.prior = Isotropic{Vector::Zero(1), variance};
        else
          model.prior = NoGaussian{1};
        return infer(model, way.method, {.form = way.form}).log_evidence().value;
      };
      const auto refusal = [&](const Hole& hole) -> std::string {
        try {
          return fmt::format("accepted with bound {}", bound(hole));
        } catch (const InvalidModel& error) {
          return error.what();
        }
      };
      // Narrow holes in the bulk of q, where no panel of the quadrature need meet them.
      for (const double from : {0.7, 1.1, 1.37})
        for (const double width : {1e-1, 1e-3, 1e-4}) {
          EXPECT_NE(refusal({from, from + width, minus_infinity}).find("needs unbounded support"), std::string::npos)
              << variance << " " << from << " " << width << ": " << refusal({from, from + width, minus_infinity});
          EXPECT_NE(refusal({from, from + width, not_a_number}).find("is nan; expected"), std::string::npos)
              << variance << " " << from << " " << width;
        }
      // log of the integral of exp(-2 (w - 1)^2) with the prior; q is that Gaussian.
      const double exact = variance > 0.0 ? -0.5 * std::log1p(4.0 * variance) - 0.5 / (0.25 + variance)
                                          : 0.5 * std::log(std::numbers::pi / 2.0);
      // So far out that q has nothing there: an answer without it, or a refusal by a start that met it.
      for (const double from : {50.0, 5e3, -6e3}) {
        const Hole far{from, from < 0 ? from + 1e3 : std::numeric_limits<double>::infinity(), minus_infinity};
        try {
          EXPECT_NEAR(bound(far), exact, 1e-9) << variance << " " << from;
        } catch (const InvalidModel& error) {
          EXPECT_NE(std::string(error.what()).find("needs unbounded support"), std::string::npos) << error.what();
        }
      }
    }
}

TEST(Kl, AHoleOfOneRowAmongManyIsFound) {
  // Only the row with response 7 has the hole, and only where its own marginal lies at the end of the search.
  CustomLikelihood custom;
  custom.log_density = [](double eta, double y) {
    if (y == 7.0 && eta > 5.0 && eta < 5.02) return -std::numeric_limits<double>::infinity();
    return -0.5 * (eta - y) * (eta - y) / 0.1;
  };
  Vector y = random_vector(300, 3);
  y(123) = 7.0;
  Model model{.prior = Isotropic{Vector::Zero(300), 0.25}, .design = Identity{}, .offset = {}, .sites = {}};
  model.sites = {observe(custom, y)};
  EXPECT_THROW((void)infer(model, Kl{}), InvalidModel);
  EXPECT_THROW((void)infer(model, Kl{.covariance = "diagonal"}), InvalidModel);
  y(123) = 1.0;
  model.sites = {observe(custom, y)};
  EXPECT_TRUE(infer(model, Kl{}).report().converged());
}

TEST(Kl, OptionsAreChecked) {
  EXPECT_EQ(name_of(make_method("kl", {{"kl.covariance", "full"}, {"kl.starts", "2"}})), "kl");
  for (const auto& [name, value] : {std::pair{"kl.covariance", "round"},
                                    {"kl.tolerance", "0"},
                                    {"kl.starts", "0"},
                                    {"kl.max_iterations", "1.5"},
                                    {"kl.unknown", "1"}})
    EXPECT_THROW((void)make_method("kl", {{name, value}}), InvalidOption) << name;
  EXPECT_THROW((void)infer(one_weight(1.0, observe("poisson", one(1))), Kl{.covariance = "round"}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
