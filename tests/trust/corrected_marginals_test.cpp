#include "gaussmith/errors.hpp"
#include "gaussmith/trust.hpp"
#include "support/models.hpp"
#include "support/plane_truth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Log-concave models of two weights and few rows under a prior that is wide beside what the data say: skewed.
std::vector<Model> skewed_models() {
  std::vector<Model> models;
  const auto add = [&](Index rows, double variance, std::uint64_t seed, const std::function<Sites(Index)>& sites) {
    models.push_back({.prior = Isotropic{Vector::Zero(2), variance},
                      .design = Matrix(random_matrix(rows, 2, seed)),
                      .offset = {},
                      .sites = {sites(rows)}});
  };
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    add(6, 9.0, seed, [&](Index n) { return random_sites("bernoulli-logit", n, seed); });
    add(3, 4.0, 10 + seed, [&](Index n) { return random_sites("bernoulli-probit", n, seed); });
    add(3, 2.0, 20 + seed, [](Index n) { return observe("poisson", Vector::Zero(n)); });
    add(2, 2.0, 30 + seed, [&](Index n) { return random_sites("exponential", n, 40 + seed); });
  }
  return models;
}

/// Every fourth number: still dense enough for an integral.
Vector some(const Vector& all) {
  Vector out((all.size() + 3) / 4);
  for (Index i = 0; i < out.size(); ++i) out(i) = all(4 * i);
  return out;
}

double variation(const Vector& grid, const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (Index i = 0; i + 1 < grid.size(); ++i)
    sum += 0.25 * (std::abs(a(i) - b(i)) + std::abs(a(i + 1) - b(i + 1))) * (grid(i + 1) - grid(i));
  return sum;
}

struct Distances {
  double plain = 0.0, corrected = 0.0, mean = 0.0, sd = 0.0, skewness = 0.0;
  int count = 0;
};

/// Both weights and the first row of every model.
Distances distances(const Method& method, EpMarginals ep) {
  Distances out;
  for (const Model& model : skewed_models()) {
    const PlaneTruth truth = plane_truth(model, 121);
    const Posterior q = infer(model, method);
    MarginalOptions options;
    options.weights = {0, 1};
    options.rows = {0};
    options.ep = ep;
    const CorrectedMarginals found = corrected_marginals(q, options);
    const Matrix rows = model.design.times(Matrix(Matrix::Identity(2, 2)));
    const Marginals weights = q.weights();
    for (int which = 0; which < 3; ++which) {
      const bool row = which == 2;
      const Vector b = row ? Vector(rows.row(0).transpose()) : Vector(Vector::Unit(2, which));
      const CorrectedMarginal& m = row ? found.rows[0] : found.weights[static_cast<std::size_t>(which)];
      EXPECT_TRUE(m.settled);
      const Vector grid = some(m.grid);
      const Vector exact = line_density(model, truth, b, 0.0, grid);
      const double mean = row ? q.latent().mean(0) : weights.mean(which);
      const double variance = row ? q.latent().variance(0) : weights.variance(which);
      const Vector gaussian =
          (-0.5 * (grid.array() - mean).square() / variance).exp() / std::sqrt(2.0 * M_PI * variance);
      const LineTruth line = line_truth(truth, b, 0.0);
      out.plain += variation(grid, exact, gaussian);
      out.corrected += variation(grid, exact, some(m.density));
      out.mean += std::abs(m.mean - line.mean) / line.sd;
      out.sd += std::abs(m.sd / line.sd - 1.0);
      out.skewness += std::abs(m.skewness - line.skewness);
      ++out.count;
    }
  }
  for (double* sum : {&out.plain, &out.corrected, &out.mean, &out.sd, &out.skewness}) *sum /= out.count;
  return out;
}

TEST(CorrectedMarginals, OfLaplaceAreWithinAHundredth) {
  const Distances d = distances(Laplace{}, EpMarginals::factorised);
  EXPECT_GE(d.count, 20);
  EXPECT_GT(d.plain, 0.05);
  EXPECT_LT(d.corrected, 0.010);
  EXPECT_LT(d.mean, 0.03);
  EXPECT_LT(d.sd, 0.02);
  EXPECT_LT(d.skewness, 0.05);
}

TEST(CorrectedMarginals, OfEpAreBetterInOneStepThanFactorised) {
  const Distances factorised = distances(Ep{}, EpMarginals::factorised);
  EXPECT_GT(factorised.plain, 0.03);
  EXPECT_LT(factorised.corrected, 0.012);
  const Distances one_step = distances(Ep{}, EpMarginals::one_step);
  EXPECT_LT(one_step.corrected, 0.004);
}

TEST(CorrectedMarginals, OfGaussianSitesAreUnchanged) {
  for (const Method& method : {Method(Laplace{}), Method(Ep{}), Method(Exact{})})
    for (const EpMarginals ep : {EpMarginals::factorised, EpMarginals::one_step})
      for (const Model& model :
           {process_model("gaussian", 12, 3), linear_model("gaussian", 20, 3, 4), linear_model("gaussian", 4, 9, 5)}) {
        const Posterior q = infer(model, method);
        MarginalOptions options;
        options.rows = {0, 3};
        options.weights = {0, 2};
        options.ep = ep;
        options.levels = {0.025, 0.5, 0.9};
        if (std::holds_alternative<GaussianProcess>(model.prior))
          options.points.inputs = random_matrix(2, 2, 9);
        else
          options.points.design = Design(random_matrix(2, model.dimension(), 9));
        const CorrectedMarginals found = corrected_marginals(q, options);
        const auto same = [&](const CorrectedMarginal& m, double mean, double variance) {
          const double sd = std::sqrt(variance);
          EXPECT_NEAR(m.mean, mean, 1e-10 * sd);
          EXPECT_NEAR(m.sd, sd, 1e-10 * sd);
          EXPECT_NEAR(m.skewness, 0.0, 1e-10);
          EXPECT_NEAR(m.quantiles(0), mean - 1.959963984540054 * sd, 1e-9 * sd);
          EXPECT_NEAR(m.quantiles(2), mean + 1.2815515655446004 * sd, 1e-9 * sd);
          for (Index i = 0; i < m.grid.size(); ++i)
            EXPECT_NEAR(m.density(i) * sd,
                        std::exp(-0.5 * (m.grid(i) - mean) * (m.grid(i) - mean) / variance) / std::sqrt(2.0 * M_PI),
                        1e-10);
        };
        const Marginals weights = q.weights();
        const Prediction points = q.predict(options.points);
        for (std::size_t i = 0; i < 2; ++i) {
          same(found.rows[i], q.latent().mean(options.rows[i]), q.latent().variance(options.rows[i]));
          same(found.weights[i], weights.mean(options.weights[i]), weights.variance(options.weights[i]));
          same(found.points[i], points.latent_mean()(static_cast<Index>(i)),
               points.latent_variance()(static_cast<Index>(i)));
        }
      }
}

TEST(CorrectedMarginals, OfOneRowAreExact) {
  // One site on one weight: given x nothing is left, so that the density is exact whatever its shape.
  const Model model{.prior = Isotropic{Vector::Zero(1), 4.0},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("poisson", one(0))}};
  const PlaneTruth truth = plane_truth(model, 4001);
  for (const Method& method : {Method(Laplace{}), Method(Ep{})}) {
    MarginalOptions options;
    options.rows = {0};
    const CorrectedMarginal m = corrected_marginals(infer(model, method), options).rows[0];
    EXPECT_NEAR(m.mean, truth.rows_mean(0), 1e-5 * truth.rows_sd(0));
    EXPECT_NEAR(m.sd, truth.rows_sd(0), 1e-5 * truth.rows_sd(0));
    const Vector exact = line_density(model, truth, Vector::Ones(1), 0.0, m.grid);
    EXPECT_LT((exact - m.density).lpNorm<Eigen::Infinity>(), 1e-5);
  }
}

TEST(CorrectedMarginals, OfAPointAmongTheRowsAreThoseOfTheRow) {
  const Model model = process_model("poisson", 9, 5);
  const auto& process = std::get<GaussianProcess>(model.prior);
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    MarginalOptions options;
    options.rows = {4};
    options.points.inputs = Matrix(process.inputs).middleRows(4, 1);
    for (const Method& method : {Method(Laplace{}), Method(Ep{})}) {
      const CorrectedMarginals found = corrected_marginals(infer(model, method, {.form = form}), options);
      EXPECT_NEAR(found.rows[0].mean, found.points[0].mean, 1e-6);
      EXPECT_NEAR(found.rows[0].sd, found.points[0].sd, 1e-6);
      EXPECT_NEAR(found.rows[0].skewness, found.points[0].skewness, 1e-5);
    }
  }
}

TEST(CorrectedMarginals, RefuseWhatTheyDoNotKnow) {
  const Model model = linear_model("poisson", 6, 2, 1);
  MarginalOptions options;
  options.rows = {6};
  EXPECT_THROW((void)corrected_marginals(infer(model, Laplace{}), options), InvalidOption);
  options.rows = {0};
  EXPECT_THROW((void)corrected_marginals(infer(model, Kl{}), options), InvalidOption);
}

TEST(TierneyKadane, ProbabilitiesHaveAQuarterOfTheErrorOfLaplace) {
  double plain = 0.0;
  double ratio = 0.0;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Index rows = 6;
    Model model{.prior = Isotropic{Vector::Zero(2), 9.0},
                .design = Matrix(random_matrix(rows, 2, seed)),
                .offset = {},
                .sites = {random_sites(seed % 2 == 0 ? "bernoulli-logit" : "bernoulli-probit", rows, seed)}};
    const Posterior q = infer(model, Laplace{});
    const Matrix points = random_matrix(4, 2, 50 + seed);
    const Vector found = tierney_kadane_probability(q, {.design = Design(points)});
    const Vector laplace = q.predict({.design = Design(points)}).response_probability();
    // The truth: evidences of the model with one row more.
    for (Index i = 0; i < 4; ++i) {
      double evidence[2];
      for (const int sign : {0, 1}) {
        Model more = model;
        Matrix design(rows + 1, 2);
        design << model.design.times(Matrix(Matrix::Identity(2, 2))), points.row(i);
        Vector y(rows + 1);
        y << model.sites[0]->responses(), sign == 0 ? -1.0 : 1.0;
        more.design = design;
        more.sites = {observe(model.sites[0]->traits().name, y)};
        evidence[sign] = plane_truth(more, 101).log_evidence;
      }
      const double truth = 1.0 / (1.0 + std::exp(evidence[0] - evidence[1]));
      plain += std::abs(laplace(i) - truth);
      ratio += std::abs(found(i) - truth);
      ++count;
    }
  }
  EXPECT_GT(plain / count, 0.01);
  EXPECT_LT(4.0 * ratio, plain) << plain / count << " -> " << ratio / count;
  EXPECT_THROW((void)tierney_kadane_probability(infer(linear_model("bernoulli-logit", 5, 2, 1), Ep{}),
                                                {.design = Design(random_matrix(1, 2, 1))}),
               InvalidOption);
  EXPECT_THROW((void)tierney_kadane_probability(infer(linear_model("poisson", 5, 2, 1), Laplace{}),
                                                {.design = Design(random_matrix(1, 2, 1))}),
               InvalidOption);
}

}  // namespace
}  // namespace gaussmith
