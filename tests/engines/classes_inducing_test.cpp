// Several latents a row seen through inducing variables: against the full bound, dense algebra and differences.

#include "engines/evidence_differences.hpp"
#include "gaussmith/class_bounds.hpp"
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

using SiteList = std::vector<std::pair<Index, Index>>;

const Kl sharp{.tolerance = 1e-10};

GaussianProcess& process_in(Model& model) { return std::get<GaussianProcess>(model.prior); }

Model class_model(Index n, Index classes, double sd, std::uint64_t seed = 1) {
  const Matrix x = random_matrix(n, 2, seed);
  Vector y(n);
  for (Index i = 0; i < n; ++i)
    y(i) = std::floor((std::atan2(x(i, 0), x(i, 1)) / (2.0 * std::numbers::pi) + 0.5) * 0.999 *
                      static_cast<double>(classes));
  y(0) = 0.0;
  return {.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {sd}}, {"lengthscale", {1.1}}}), 0.2},
          .sites = {observe("multinomial-logit", y, {{"classes", one(static_cast<double>(classes))}})},
          .latents = {.count = classes}};
}

Latents related(Index count) {
  Matrix factor = Matrix::Identity(count, count);
  factor(1, 0) = 0.6;
  factor(count - 1, 0) = -0.4;
  factor(1, 1) = 1.3;
  return {.count = count, .model = LatentModel::full, .factor = factor};
}

Model with_inputs(Model model, const Matrix& inputs, double noise = 0.0) {
  process_in(model).inducing = Inducing{.inputs = inputs, .noise = noise};
  return model;
}

Model with_sites(Model model, const SiteList& sites, double noise = 0.0) {
  process_in(model).inducing = Inducing{.sites = sites, .noise = noise};
  return model;
}

SiteList scattered(Index count, Index rows, Index latents) {
  SiteList out;
  for (Index i = 0; i < count; ++i) out.emplace_back((7 * i) % rows, (3 * i + i / rows) % latents);
  return out;
}

/// The models of the functions, by name.
std::vector<std::pair<std::string, Model>> kinds(Index n) {
  std::vector<std::pair<std::string, Model>> out;
  out.emplace_back("identity", class_model(n, 3, 1.6));
  out.emplace_back("diagonal", class_model(n, 4, 1.2, 3));
  out.back().second.latents.model = LatentModel::diagonal;
  out.back().second.latents.weight = Vector::LinSpaced(4, 0.5, 1.5);
  out.emplace_back("full", class_model(n, 3, 1.4, 5));
  out.back().second.latents = related(3);
  out.back().second.offset = 0.1 * random_vector(3 * n, 9);
  out.emplace_back("own kernels", class_model(n, 3, 1.0, 7));
  for (const double length : {0.8, 1.2, 2.0})
    out.back().second.latents.kernels.push_back(make_kernel("matern52", {{"lengthscale", {length}}}));
  return out;
}

double scalar_kernel(const Kernel& kernel, const Matrix& x, const Matrix& z) {
  Matrix k;
  kernel.block(x, z, k);
  return k(0, 0);
}

/// K between single latents of points.
Matrix dense_covariance(const Model& model, const Matrix& x, const SiteList& left, const Matrix& z,
                        const SiteList& right) {
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Matrix between = model.latents.covariance();
  Matrix out = Matrix::Zero(static_cast<Index>(left.size()), static_cast<Index>(right.size()));
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t j = 0; j < right.size(); ++j) {
      const Index c = left[i].second;
      const bool own = !model.latents.kernels.empty();
      const Kernel& kernel = own ? *model.latents.kernels[static_cast<std::size_t>(c)] : *process.kernel;
      const double k_c = own ? static_cast<double>(c == right[j].second) : between(c, right[j].second);
      out(static_cast<Index>(i), static_cast<Index>(j)) =
          k_c * scalar_kernel(kernel, x.row(left[i].first), z.row(right[j].first));
    }
  return out;
}

SiteList all_of(Index points, Index latents) {
  SiteList out;
  for (Index n = 0; n < points; ++n)
    for (Index c = 0; c < latents; ++c) out.emplace_back(n, c);
  return out;
}

/// The fit's own sites put into dense algebra: moments, bound, and the site equations.
void expect_dense(const Model& model, const Posterior& found, const Matrix& z, const SiteList& values, double noise) {
  const Matrix& x = std::get<GaussianProcess>(model.prior).inputs;
  const Index n = x.rows();
  const Index c = model.latents.count;
  const SiteList rows = all_of(n, c);
  Matrix within = dense_covariance(model, z, values, z, values);
  within.diagonal().array() += noise;
  const Matrix across = dense_covariance(model, x, rows, z, values);
  const Matrix seen = across * dense_solve(within, across.transpose());
  const Matrix prior = dense_covariance(model, x, rows, x, rows);

  const SiteApproximation& sites = found.site_approximation();
  Matrix t = Matrix::Zero(n * c, n * c);
  for (Index i = 0; i < n; ++i)
    t.block(i * c, i * c, c, c) = Eigen::Map<const Matrix>(sites.precision.data() + i * c * c, c, c);
  Vector m0 = Vector::Constant(n * c, std::get<GaussianProcess>(model.prior).mean);
  if (model.offset.size() > 0) m0 += model.offset;
  const Matrix inner = Matrix::Identity(n * c, n * c) + t * seen;
  const Vector dual = dense_solve(inner, sites.shift - t * m0);
  const Vector mean = m0 + seen * dual;
  const Matrix v = seen * dense_inverse(inner);
  EXPECT_LT((found.latent().mean - mean).norm(), 1e-8);

  double bound = -0.5 * std::log(dense_determinant(inner)) - 0.5 * dual.dot(seen * dual) + 0.5 * (t * v).trace();
  double mismatch = 0.0;
  for (Index i = 0; i < n; ++i) {
    const Matrix own = v.block(i * c, i * c, c, c) + (prior - seen).block(i * c, i * c, c, c);
    const Eigen::Map<const Matrix> reported(found.latent().covariance.data() + i * c * c, c, c);
    EXPECT_LT((own - reported).norm(), 1e-8 * own.norm());
    double value = 0.0;
    Vector slope(c);
    Matrix bend(c, c);
    model.sites.front()->expectation(i, {mean.data() + i * c, static_cast<std::size_t>(c)},
                                     {own.data(), static_cast<std::size_t>(c * c)},
                                     {.value = Span(&value, 1),
                                      .d_mean = {slope.data(), static_cast<std::size_t>(c)},
                                      .d_variance = {bend.data(), static_cast<std::size_t>(c * c)}});
    bound += value;
    mismatch += (slope - dual.segment(i * c, c)).norm();
    mismatch += (-2.0 * bend - t.block(i * c, i * c, c, c)).norm();
  }
  EXPECT_NEAR(found.log_evidence().value, bound, 1e-9 * std::abs(bound));
  EXPECT_LT(mismatch, 1e-6);
}

TEST(ClassesInducing, AllValuesGiveTheFullBound) {
  for (const auto& [name, model] : kinds(11)) {
    SCOPED_TRACE(name);
    Model own = model;
    const Matrix x = process_in(own).inputs;
    const Posterior full = infer(model, sharp);
    SiteList all = all_of(11, model.latents.count);
    std::swap(all.front(), all.back());
    std::swap(all[2], all[9]);
    for (const Model& sparse : {with_inputs(model, x), with_sites(model, all)}) {
      const Posterior seen = infer(sparse, sharp);
      ASSERT_TRUE(seen.report().converged()) << seen.report().brief();
      EXPECT_EQ(seen.log_evidence().kind, EvidenceKind::lower_bound);
      EXPECT_NEAR(seen.log_evidence().value, full.log_evidence().value, 1e-8);
      EXPECT_LT((seen.latent().mean - full.latent().mean).norm(), 1e-6);
      EXPECT_LT((seen.latent().covariance - full.latent().covariance).norm(), 1e-6);
      const Matrix fresh = random_matrix(4, 2, 8);
      EXPECT_LT((seen.predict(fresh).latent_mean() - full.predict(fresh).latent_mean()).norm(), 1e-6);
      EXPECT_LT((seen.predict(fresh).latent_covariance() - full.predict(fresh).latent_covariance()).norm(), 1e-6);
      EXPECT_LT((seen.leave_one_out().latent.covariance - full.leave_one_out().latent.covariance).norm(), 1e-5);
      EXPECT_LT((seen.leave_one_out().log_density - full.leave_one_out().log_density).norm(), 1e-5);
      EXPECT_LT((seen.latent_covariance({3, 1}) - full.latent_covariance({3, 1})).norm(), 1e-6);
    }
  }
}

TEST(ClassesInducing, ASingularCovarianceOfTheFunctionsIsThatOfItsContrasts) {
  // 1.5 (I - 11'/3): what the sites see of 1.5 I.
  Model model = class_model(11, 3, 1.6);
  model.latents = {.count = 3, .model = LatentModel::given, .factor = Matrix::Constant(3, 3, -0.5)};
  model.latents.factor.diagonal().setOnes();
  Model regular = model;
  regular.latents.factor.array() += 0.5;
  const Posterior full = infer(model, sharp);
  for (const Index count : {11, 4}) {
    const Matrix z = process_in(model).inputs->topRows(count);
    const Posterior seen = infer(with_inputs(model, z), sharp);
    EXPECT_TRUE(seen.report().converged()) << seen.report().brief();
    const double expected = infer(with_inputs(regular, z), sharp).log_evidence().value;
    EXPECT_NEAR(seen.log_evidence().value, expected, 1e-8);
    if (count == 11) {
      EXPECT_NEAR(expected, full.log_evidence().value, 1e-8);
    }
  }
}

TEST(ClassesInducing, MomentsAndBoundAreThoseOfDenseAlgebra) {
  for (const auto& [name, model] : kinds(13)) {
    SCOPED_TRACE(name);
    const Index c = model.latents.count;
    const Matrix& x = std::get<GaussianProcess>(model.prior).inputs;
    const Matrix z = random_matrix(4, 2, 31);
    for (const double noise : {0.0, 0.07}) {
      expect_dense(model, infer(with_inputs(model, z, noise), sharp), z, all_of(4, c), noise);
      const SiteList sites = scattered(7, 13, c);
      expect_dense(model, infer(with_sites(model, sites, noise), sharp), x, sites, noise);
    }
    // One function has none.
    const SiteList lonely = {{3, 0}, {1, 0}, {5, 1}};
    expect_dense(model, infer(with_sites(model, lonely), sharp), x, lonely, 0.0);
  }
}

TEST(ClassesInducing, GradientsAreDifferences) {
  for (const auto& [name, model] : kinds(9)) {
    SCOPED_TRACE(name);
    expect_evidence_gradient(with_sites(model, scattered(6, 9, model.latents.count)), sharp);
    Model learned = with_inputs(model, random_matrix(2, 2, 4), name == "diagonal" || name == "full" ? 0.05 : 0.0);
    process_in(learned).inducing->learn = true;
    expect_evidence_gradient(learned, sharp);
  }
  Model shared = class_model(9, 3, 1.4, 5);
  shared.latents = related(3);
  expect_evidence_gradient(with_inputs(shared, random_matrix(3, 2, 4)), sharp);
}

TEST(ClassesInducing, MoreValuesNeverLowerTheBound) {
  for (const auto& [name, model] : kinds(13)) {
    const double full = infer(model, sharp).log_evidence().value;
    const SiteList order = scattered(10, 13, model.latents.count);
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t m = 1; m <= order.size(); m += 3) {
      const SiteList first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m));
      const Posterior found = infer(with_sites(model, first), sharp);
      const std::vector<Iteration>& history = found.report().history;
      for (std::size_t i = 1; i < history.size(); ++i)
        EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-9) << name << ", " << m;
      const double bound = found.log_evidence().value;
      EXPECT_GE(bound, last - 1e-9) << name << ", " << m;
      EXPECT_LE(bound, full + 1e-9) << name << ", " << m;
      last = bound;
    }
  }
}

TEST(ClassesInducing, WhatIsSavedPredictsTheSame) {
  const Matrix fresh = random_matrix(5, 2, 6);
  for (const auto& [name, model] : kinds(12)) {
    SCOPED_TRACE(name);
    for (const Model& sparse : {with_inputs(model, random_matrix(3, 2, 2)), with_inputs(model, fresh, 0.1),
                                with_sites(model, scattered(8, 12, model.latents.count))}) {
      const Posterior found = infer(sparse, Kl{});
      const Predictor saved(found.fitted());
      EXPECT_LT((saved.predict({.inputs = fresh}).latent_mean() - found.predict(fresh).latent_mean()).norm(), 1e-10);
      EXPECT_LT(
          (saved.predict({.inputs = fresh}).latent_covariance() - found.predict(fresh).latent_covariance()).norm(),
          1e-10);
    }
  }
}

TEST(ClassesInducing, BoundsAreThoseOfItsGaussian) {
  Model model = class_model(12, 3, 1.0);
  process_in(model).mean = 0.0;
  const ClassBounds full = class_bounds(infer(model, sharp));
  const ClassBounds seen = class_bounds(infer(with_inputs(model, process_in(model).inputs), sharp));
  EXPECT_NEAR(seen.log_zb, full.log_zb, 1e-7);
  EXPECT_NEAR(*seen.theorem10, *full.theorem10, 1e-10);
  EXPECT_FALSE(seen.theorem9.has_value());
}

TEST(ClassesInducing, WeightsCountAsCopies) {
  Model model = with_inputs(class_model(8, 3, 1.2), random_matrix(3, 2, 2));
  Model copied = model;
  model.weights = Vector::Ones(8);
  model.weights(2) = 2.0;
  Matrix x(9, 2);
  x << *process_in(model).inputs, process_in(model).inputs->row(2);
  process_in(copied).inputs = x;
  Vector y(9);
  y << model.sites.front()->responses(), model.sites.front()->responses()(2);
  copied.sites = {observe("multinomial-logit", y, {{"classes", one(3.0)}})};
  EXPECT_NEAR(infer(model, sharp).log_evidence().value, infer(copied, sharp).log_evidence().value, 1e-9);
}

TEST(ClassesInducing, ExtremesEndWithABound) {
  for (const double sd : {1e-2, 30.0, 100.0}) {
    const Model model = with_sites(class_model(15, 4, sd), scattered(9, 15, 4));
    const Posterior found = infer(model, Kl{});
    EXPECT_TRUE(found.report().converged() || !found.report().message.empty());
    EXPECT_TRUE(std::isfinite(found.log_evidence().value)) << sd;
    EXPECT_TRUE(found.report().converged()) << sd << ": " << found.report().brief();
  }
}

TEST(ClassesInducing, MistakesAreRefused) {
  const Model model = class_model(8, 3, 1.0);
  const Model sparse = with_inputs(model, random_matrix(2, 2, 2));
  EXPECT_THROW((void)infer(sparse, Kl{.covariance = "structured"}), InvalidOption);
  EXPECT_THROW((void)infer(sparse, Kl{.covariance = "diagonal"}), InvalidOption);
  EXPECT_THROW((void)infer(sparse, Laplace{}), InvalidOption);
  EXPECT_THROW((void)infer(with_sites(model, {{8, 0}}), sharp), InvalidModel);
  EXPECT_THROW((void)infer(with_sites(model, {{0, 3}}), sharp), InvalidModel);
  EXPECT_THROW((void)infer(with_sites(model, {{0, 1}, {0, 1}}), sharp), InvalidModel);
  EXPECT_THROW((void)infer(with_inputs(model, random_matrix(2, 3, 2)), sharp), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
