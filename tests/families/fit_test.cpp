// What must hold between the optima of the families: order, agreement of the ways to the full one, and exact cases.

#include "families/fit_family.hpp"
#include "gaussmith/errors.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"
#include "support/truncated_newton.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>

namespace gaussmith {
namespace {

using testing::dense_determinant;
using testing::dense_inverse;
using testing::dense_solve;
using testing::linear_model;
using testing::process_model;
using testing::random_covariance;
using testing::random_matrix;
using testing::random_sites;
using testing::random_vector;
using testing::truncated_newton;

FamilyFit fit(const Model& model, const std::string& family, FamilyOptions options = {}) {
  FamilyFit result = fit_family(model, parse_family(family), options, 2);
  EXPECT_EQ(result.report.status, Status::converged) << family << ": " << result.report.message;
  for (std::size_t k = 1; k < result.report.history.size(); ++k)
    if (result.report.history[k].number > result.report.history[k - 1].number) {
      EXPECT_GE(result.report.history[k].objective, result.report.history[k - 1].objective - 1e-9)
          << family << " step " << k;
    }
  return result;
}

Matrix covariance_of(const FamilyFit& result) {
  const Matrix root = result.covariance.root;
  return root.transpose() * root;
}

/// log of the integral of exp(log joint) on a grid in the prior's standard coordinates; D = 2.
double brute_force_evidence(const Model& model) {
  const auto& prior = std::get<Isotropic>(model.prior);
  const auto& h = *model.design.entries().dense;
  constexpr int points = 801;
  constexpr double range = 9.0;
  const double step = 2 * range / (points - 1);
  double sum = 0.0;
  for (int i = 0; i < points; ++i)
    for (int j = 0; j < points; ++j) {
      const Eigen::Vector2d u(-range + i * step, -range + j * step);
      const Vector eta = h * (prior.mean + std::sqrt(prior.variance) * u) + model.offset;
      Vector value(eta.size());
      model.sites[0]->log_density(0, view(eta), {view(value), {}, {}, {}});
      sum += std::exp(value.sum() - 0.5 * u.squaredNorm());
    }
  return std::log(sum * step * step / (2 * std::numbers::pi));
}

TEST(Families, BoundsAreOrderedAndGrowToTheFullOne) {
  for (const char* likelihood : {"bernoulli-logit", "poisson", "laplace"}) {
    SCOPED_TRACE(likelihood);
    const Model model = linear_model(likelihood, 30, 8, 21);
    const double full = fit(model, "full").bound;
    const double diagonal = fit(model, "diagonal").bound;
    double band = diagonal;
    double chevron = diagonal;
    for (int k = 1; k <= 8; ++k) {
      const double next_band = fit(model, "banded:" + std::to_string(k)).bound;
      const double next_chevron = fit(model, "chevron:" + std::to_string(k)).bound;
      EXPECT_GE(next_band, band - 1e-9);
      EXPECT_GE(next_chevron, chevron - 1e-9);
      EXPECT_LE(next_band, full + 1e-9);
      EXPECT_LE(next_chevron, full + 1e-9);
      band = next_band;
      chevron = next_chevron;
    }
    EXPECT_NEAR(band, full, 1e-9 * (1 + std::abs(full)));
    EXPECT_NEAR(chevron, full, 1e-9 * (1 + std::abs(full)));
    EXPECT_LE(fit(model, "factor:7").bound, full + 1e-9);
    EXPECT_LE(fit(model, "factor:1").bound, full + 1e-9);
    EXPECT_GE(fit(model, "factor:1").bound, diagonal - 1e-7);
    const double subspace = fit(model, "subspace:4").bound;
    EXPECT_LE(subspace, full + 1e-9);
    EXPECT_NEAR(fit(model, "subspace:8").bound, full, 1e-7);
  }
}

TEST(Families, FourWaysToTheFullOptimumAgree) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const char* likelihood = std::array{"bernoulli-logit", "poisson", "bernoulli-probit", "gamma"}[seed % 4];
    const Index rows = 10 + static_cast<Index>(5 * (seed % 5));
    const Model model = linear_model(likelihood, rows, 6 + static_cast<Index>(seed % 3), 100 + seed);
    const std::string size = std::to_string(model.dimension());
    FamilyOptions newton;
    newton.ascent = truncated_newton;
    const FamilyFit full = fit(model, "full");
    for (const FamilyFit& other :
         {fit(model, "full", newton), fit(model, "banded:" + size), fit(model, "chevron:" + size)}) {
      EXPECT_NEAR(other.bound, full.bound, 1e-7);
      EXPECT_LT((other.weight_mean - full.weight_mean).cwiseAbs().maxCoeff(), 1e-6);
      EXPECT_LT((covariance_of(other) - covariance_of(full)).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
}

TEST(Families, BoundsLieBelowBruteForceEvidence) {
  for (const char* likelihood : {"bernoulli-logit", "poisson", "laplace", "student-t"}) {
    SCOPED_TRACE(likelihood);
    const Model model = linear_model(likelihood, 7, 2, 31);
    const double exact = brute_force_evidence(model);
    for (const char* family : {"full", "diagonal", "banded:1", "chevron:1", "factor:1", "subspace:1"})
      EXPECT_LE(fit(model, family).bound, exact + 1e-8) << family;
    EXPECT_GT(fit(model, "full").bound, exact - 1.0);
  }
}

TEST(Families, GaussianSitesWithFullCovarianceAreExact) {
  const Index d = 5;
  const Index n = 9;
  const Vector mean = random_vector(d, 1);
  const Matrix sigma = random_covariance(d, 8, 2);
  const Matrix h = random_matrix(n, d, 3);
  const Vector y = random_vector(n, 4);
  constexpr double noise = 0.3;
  const Model model{.prior = DenseGaussian{mean, sigma},
                    .design = h,
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(noise)}})}};
  // log N(y | H mean, H Sigma H' + noise I).
  const Matrix k = h * sigma * h.transpose() + noise * Matrix::Identity(n, n);
  const Vector r = y - h * mean;
  const Vector scaled = dense_solve(k, r);
  const double evidence = -0.5 * r.dot(scaled) - 0.5 * std::log(dense_determinant(k)) -
                          0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
  const Matrix posterior = dense_inverse(dense_inverse(sigma) + h.transpose() * h / noise);
  for (const char* family : {"full", "banded:5", "chevron:5", "subspace:5"}) {
    const FamilyFit result = fit(model, family);
    EXPECT_NEAR(result.bound, evidence, 1e-8) << family;
    EXPECT_LT((result.latent.variance - (h * posterior * h.transpose()).diagonal()).cwiseAbs().maxCoeff(), 1e-7);
  }
}

TEST(Families, SolversAndStartsReachOneOptimum) {
  const Model model = linear_model("bernoulli-logit", 40, 9, 41);
  FamilyOptions newton;
  newton.ascent = truncated_newton;
  for (const char* family : {"diagonal", "banded:2", "chevron:3"}) {
    const FamilyFit a = fit(model, family);
    const FamilyFit b = fit(model, family, newton);
    EXPECT_NEAR(a.bound, b.bound, 1e-9) << family;
    EXPECT_LT((a.weight_mean - b.weight_mean).cwiseAbs().maxCoeff(), 1e-6) << family;
  }
}

TEST(Families, MatrixFreeStepsReachTheDirectOptimum) {
  // Just beyond the dimension of direct steps; the direct one is that of the same model as a dense prior.
  const Index d = direct_dimension + 10;
  const Index n = 120;
  Model model = linear_model("bernoulli-logit", n, d, 51);
  Model dense = model;
  const auto& prior = std::get<Isotropic>(model.prior);
  dense.prior = DenseGaussian{prior.mean, prior.variance * Matrix::Identity(d, d)};
  Matrix h = *model.design.entries().dense;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < d; ++j)
      if ((i + j) % 5 != 0) h(i, j) = 0.0;
  for (const bool sparse : {false, true}) {
    if (sparse) {
      model.design = SparseMatrix(h.sparseView());
      dense.design = h;
    }
    for (const char* family : {"diagonal", "banded:3", "chevron:4"}) {
      const FamilyFit a = fit(model, family);
      const FamilyFit b = fit(dense, family);
      EXPECT_NEAR(a.bound, b.bound, 1e-7) << family;
      EXPECT_LT((a.latent.variance - b.latent.variance).cwiseAbs().maxCoeff(), 1e-5) << family;
    }
  }
}

TEST(Families, ModelsWithoutGaussianFactorAndProcesses) {
  Model none = linear_model("bernoulli-logit", 12, 3, 61);
  none.prior = NoGaussian{3};
  Matrix h(15, 3);
  h << *none.design.entries().dense, Matrix::Identity(3, 3);
  none.design = h;
  none.offset = {};
  none.sites.push_back(observe("laplace", Vector::Zero(3), {{"scale", one(0.8)}}));
  const double full = fit(none, "full").bound;
  EXPECT_LE(fit(none, "diagonal").bound, full + 1e-9);
  EXPECT_NEAR(fit(none, "chevron:3").bound, full, 1e-8);
  EXPECT_NEAR(fit(none, "banded:3").bound, full, 1e-8);

  Model process = process_model("bernoulli-logit", 12, 62);
  process.prior = GaussianProcess{std::get<GaussianProcess>(process.prior).inputs,
                                  make_kernel("matern12", {{"lengthscale", {0.8}}}), 0.2};
  const double best = fit(process, "full").bound;
  FamilyOptions whitened;
  whitened.basis = Basis::whitened;
  EXPECT_NEAR(fit(process, "banded:12").bound, best, 1e-7);
  EXPECT_NEAR(fit(process, "banded:12", whitened).bound, best, 1e-7);
  EXPECT_LE(fit(process, "chevron:3").bound, best + 1e-9);
  EXPECT_LE(fit(process, "diagonal", whitened).bound, best + 1e-9);
}

TEST(Families, NegativePrecisionsLeaveNoGradient) {
  // One Student-t site in conflict with the prior: the best variance exceeds the prior's, its precision is negative.
  // Best bound by a grid over (m, v) with 200-node quadrature: -7.816876 at m = 2.263, v = 3.133.
  const Model model{.prior = Isotropic{Vector::Zero(1), 2.0},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("student-t", one(6.0), {{"nu", one(3.0)}, {"scale", one(0.4)}})}};
  for (const char* family : {"full", "diagonal", "banded:1", "chevron:1"}) {
    const FamilyFit result = fit(model, family);
    EXPECT_NEAR(result.bound, -7.816876, 1e-6) << family;
    EXPECT_NEAR(result.latent.variance(0), 3.133197, 1e-5) << family;
    EXPECT_LT(result.largest_gradient, 1e-6) << family;
  }
}

TEST(Families, RotationsRaiseTheSubspaceBound) {
  const Model model = linear_model("bernoulli-logit", 40, 12, 71);
  FamilyOptions once;
  once.rotations = 0;
  const double first = fit(model, "subspace:3", once).bound;
  const double rotated = fit(model, "subspace:3").bound;
  EXPECT_GE(rotated, first);
}

TEST(Families, FactorAnalysisKeepsTheBestOfItsStarts) {
  const Model model = linear_model("poisson", 25, 6, 81);
  FamilyOptions one_start;
  one_start.starts = 1;
  FamilyOptions many;
  many.starts = 8;
  EXPECT_GE(fit(model, "factor:2", many).bound, fit(model, "factor:2", one_start).bound - 1e-9);
  // K = D - 1 factors and a diagonal hold every covariance up to a limit point.
  EXPECT_NEAR(fit(model, "factor:5", many).bound, fit(model, "full").bound, 2e-3);
}

TEST(Families, GradientMatchesRefits) {
  FamilyOptions tight;
  tight.tolerance = 1e-9;
  FamilyOptions whitened = tight;
  whitened.basis = Basis::whitened;
  Model process = process_model("student-t", 9, 91);
  process.prior = GaussianProcess{std::get<GaussianProcess>(process.prior).inputs,
                                  make_kernel("matern32", {{"lengthscale", {0.6, 0.9}}}), 0.2};
  Model gamma = process;
  gamma.sites = {random_sites("gamma", 9, 5)};
  const Model linear = linear_model("laplace", 15, 4, 92);
  const auto check = [](const Model& model, const char* family, const FamilyOptions& options) {
    SCOPED_TRACE(family);
    const auto bound = [&](const Model& m) { return fit_family(m, parse_family(family), options, 1).bound; };
    PriorGeometry geometry(model.prior, model.design, 1);
    const FamilyFit fit = fit_family(model, geometry, parse_family(family), options);
    const auto gradient = family_gradient(model, geometry, fit);
    int seen = 0;
    for (const Parameter& parameter : model.parameters()) {
      if (!parameter.learnable) continue;
      constexpr double h = 1e-4;
      const double up = bound(model.with_parameters({{parameter.name, parameter.value * std::exp(h)}}));
      const double down = bound(model.with_parameters({{parameter.name, parameter.value * std::exp(-h)}}));
      EXPECT_NEAR(gradient.at(parameter.name), (up - down) / (2 * h),
                  2e-5 * (1 + std::abs(gradient.at(parameter.name))))
          << parameter.name;
      ++seen;
    }
    EXPECT_GT(seen, 0);
  };
  for (const char* family : {"full", "diagonal", "banded:1", "chevron:2"}) {
    check(gamma, family, tight);
    check(gamma, family, whitened);
    check(linear, family, tight);
  }
}

TEST(Families, BadNamesAndSizesAreRefused) {
  for (const char* name : {"", "ful", "banded", "banded:-1", "banded:x", "chevron:", "factor:0", "subspace:0",
                           "sparse:", "sparse:/no/such/file", "full:3", "banded:2:3"})
    EXPECT_THROW((void)parse_family(name), InvalidOption) << name;
  const Model model = linear_model("bernoulli-logit", 10, 4, 3);
  for (const char* name : {"banded:5", "chevron:5", "factor:5", "subspace:5"})
    EXPECT_THROW((void)fit_family(model, parse_family(name), {}, 1), InvalidOption) << name;
  const auto with_file = [&](const char* content) {
    const std::string file = ::testing::TempDir() + "pattern.txt";
    std::ofstream(file) << content;
    const auto family = parse_family("sparse:" + file);
    std::remove(file.c_str());
    return fit_family(model, family, {}, 1);
  };
  EXPECT_THROW((void)with_file("0 0\n1 1\n2 2\n"), InvalidOption);            // No diagonal entry 3 3.
  EXPECT_THROW((void)with_file("0 0\n1 1\n2 2\n3 3\n2 4\n"), InvalidOption);  // Out of range.
  EXPECT_THROW((void)with_file("0 0\n1 1\n2 2\n3 3\n2 1\n"), InvalidOption);  // Below the diagonal.
  EXPECT_THROW((void)with_file("0 0\n1 one\n2 2\n3 3\n"), InvalidOption);     // Not numbers.
  const FamilyFit band = fit(model, "banded:1");
  EXPECT_NEAR(with_file("# a band\n0 0\n0 1\n1 1\n1 2\n2 2\n2 3\n3 3\n").bound, band.bound, 1e-9);
  EXPECT_THROW((void)parse_family("sparse:" + ::testing::TempDir()), InvalidOption);  // A directory.
  DenseGaussian singular{Vector::Zero(4), Matrix::Ones(4, 4)};
  Model other = model;
  other.prior = singular;
  EXPECT_THROW((void)fit_family(other, parse_family("diagonal"), {}, 1), InvalidOption);
  EXPECT_NO_THROW((void)fit_family(other, parse_family("full"), {}, 1));
}

TEST(Families, MemoryEstimateHasNoSquareOfTheDimension) {
  Model model = linear_model("bernoulli-logit", 3, 2, 3);
  const Index d = 20000;
  const Index n = 40000;
  SparseMatrix h(n, d);
  model.prior = Isotropic{Vector::Zero(d), 1.0};
  model.design = h;
  model.offset = {};
  model.sites = {observe("bernoulli-logit", Vector::Ones(n))};
  EXPECT_LT(memory_needed(parse_family("chevron:50"), model), 4e8);
  EXPECT_LT(memory_needed(parse_family("banded:50"), model), 4e8);
  EXPECT_GT(memory_needed(parse_family("full"), model), 8.0 * d * d);
}

}  // namespace
}  // namespace gaussmith
