// Markov fields beside an intercept, covariates and independent effects: against the dense Gaussian that the sum is,
// and every method; scaled, unequally spaced and cyclic fields against their pseudo-inverses.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/learn.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Q of a field with precision 1 and no factors, from its definition.
Matrix structure_of(const IntrinsicField& field) {
  const Index size = field.dimension;
  const auto place = [&](Index j) { return field.locations.size() > 0 ? field.locations(j) : static_cast<double>(j); };
  Matrix r = Matrix::Zero(size, size);
  const auto add = [&](const Vector& c) { r += c * c.transpose(); };
  if (field.kind == FieldKind::besag) {
    for (const auto& [i, j] : field.edges) add(Vector::Unit(size, i) - Vector::Unit(size, j));
  } else if (field.kind == FieldKind::rw1) {
    for (Index j = 0; j + 1 < size; ++j)
      add((Vector::Unit(size, j + 1) - Vector::Unit(size, j)) / std::sqrt(place(j + 1) - place(j)));
    if (field.cyclic) add(Vector::Unit(size, 0) - Vector::Unit(size, size - 1));
  } else if (field.cyclic) {
    for (Index j = 0; j < size; ++j)
      add(Vector::Unit(size, j) - 2.0 * Vector::Unit(size, (j + 1) % size) + Vector::Unit(size, (j + 2) % size));
  } else {
    for (Index j = 1; j + 1 < size; ++j) {
      const double before = place(j) - place(j - 1);
      const double after = place(j + 1) - place(j);
      add(((Vector::Unit(size, j + 1) - Vector::Unit(size, j)) / after -
           (Vector::Unit(size, j) - Vector::Unit(size, j - 1)) / before) /
          std::sqrt(0.5 * (before + after)));
    }
  }
  return r;
}

/// What of a symmetric positive semi-definite matrix has eigenvalues that are not rounding: inverse, their product.
struct Pseudo {
  Matrix inverse;
  double log_determinant = 0.0;
  Index rank = 0;
};
Pseudo pseudo(const Matrix& a) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(a);
  Pseudo out{Matrix::Zero(a.rows(), a.cols())};
  for (Index k = 0; k < a.rows(); ++k) {
    const double value = eigen.eigenvalues()(k);
    if (value < 1e-9 * eigen.eigenvalues().maxCoeff()) continue;
    out.inverse += eigen.eigenvectors().col(k) * eigen.eigenvectors().col(k).transpose() / value;
    out.log_determinant += std::log(value);
    ++out.rank;
  }
  return out;
}

IntrinsicField graph_of_three_parts() {
  return {FieldKind::besag, 9, 1.7, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {5, 6}, {6, 7}, {7, 8}}};
}

TEST(ScaledField, HasVariancesOfGeometricMeanOne) {
  IntrinsicField apart{FieldKind::rw2, 12, 3.0};
  apart.locations = Vector::LinSpaced(12, 0.0, 1.0).array().square() + Vector::LinSpaced(12, 0.0, 1.0).array();
  IntrinsicField ring{FieldKind::rw2, 11, 0.4};
  ring.cyclic = true;
  for (const IntrinsicField& field :
       {IntrinsicField{FieldKind::rw1, 10, 2.0}, IntrinsicField{FieldKind::rw2, 40, 2.0}, apart, ring}) {
    const IntrinsicField made = scaled(field);
    ASSERT_EQ(made.scale.size(), 1);
    const Vector variances = pseudo(made.scale(0) * structure_of(field)).inverse.diagonal();
    EXPECT_NEAR(variances.array().log().mean(), 0.0, 1e-9) << type_of(field);
  }
  // Three parts, of which node 4 is one.
  const IntrinsicField made = scaled(graph_of_three_parts());
  ASSERT_EQ(made.scale.size(), 3);
  EXPECT_EQ(made.scale(1), 1.0);
  const Matrix r = structure_of(made);
  EXPECT_NEAR(pseudo(made.scale(0) * r.topLeftCorner(4, 4)).inverse.diagonal().array().log().mean(), 0.0, 1e-10);
  EXPECT_NEAR(pseudo(made.scale(2) * r.bottomRightCorner(4, 4)).inverse.diagonal().array().log().mean(), 0.0, 1e-10);
}

/// Sigma of a field, its free trend aside.
Matrix covariance_of(const IntrinsicField& field) {
  Matrix q = field.precision * structure_of(field);
  if (field.scale.size() == 1) q *= field.scale(0);
  if (field.scale.size() == 3) {
    q.topLeftCorner(4, 4) *= field.scale(0);
    q(4, 4) = field.precision * field.scale(1);
    q.bottomRightCorner(4, 4) *= field.scale(2);
  }
  return pseudo(q).inverse;
}

/// Intercept, covariate, effects of groups and a field, one row after the other.
struct Beside {
  Model sparse, dense;
};
Beside beside(const IntrinsicField& field, const char* likelihood, bool correlated = false) {
  const Index rows = 24;
  const Index nodes = field.dimension;
  Additive prior;
  prior.fixed = {.mean = Vector{{0.4, 0.0}}, .sd = Vector{{3.0, 1.1}}, .scaled = {false, true}, .scale = 1.3};
  prior.random = {{.levels = 4, .sd = Vector{{0.7}}}};
  if (correlated) prior.random[0] = {.levels = 4, .sd = Vector{{0.7, 0.4}}, .correlation = -0.3};
  prior.fields = {field};
  const Index first = prior.first_of_field(0);
  const Vector x = random_vector(rows, 12);
  SparseMatrix h(rows, first + nodes);
  for (Index n = 0; n < rows; ++n) {
    h.insert(n, 0) = 1.0;
    h.insert(n, 1) = x(n);
    h.insert(n, 2 + prior.random[0].effects() * (n % 4)) = 1.0;
    if (correlated) h.insert(n, 3 + 2 * (n % 4)) = x(n);
    h.insert(n, first + (5 * n) % (nodes - 1)) = 1.0;  // The last node is seen by no row.
  }
  Model sparse{.prior = prior, .design = h, .sites = {random_sites(likelihood, rows, 7)}};
  Matrix sigma = Matrix::Zero(first + nodes, first + nodes);
  for (Index j = 0; j < 2; ++j) sigma(j, j) = prior.fixed.variance(j);
  const Matrix c = prior.random[0].covariance();
  for (Index level = 0; level < 4; ++level)
    sigma.block(2 + level * c.rows(), 2 + level * c.rows(), c.rows(), c.rows()) = c;
  sigma.bottomRightCorner(nodes, nodes) = covariance_of(field);
  Vector mean = Vector::Zero(first + nodes);
  mean.head(2) = prior.fixed.mean;
  Model dense = sparse;
  dense.prior = DenseGaussian{mean, sigma};
  return {sparse, dense};
}

std::vector<Method> methods() {
  return {Laplace{.tolerance = 1e-10}, Kl{.tolerance = 1e-10}, Ep{.tolerance = 1e-10}, Vb{.tolerance = 1e-10}};
}

TEST(FieldsBeside, AreTheDenseGaussianOfTheirSum) {
  IntrinsicField steps{FieldKind::rw1, 10, 1.2};
  steps.locations = Vector::LinSpaced(10, 0.0, 9.0).array() + 0.3 * random_vector(10, 3).array().abs().min(1.0);
  IntrinsicField ring{FieldKind::rw2, 10, 2.2};
  ring.cyclic = true;
  for (const IntrinsicField& field : {steps, ring, scaled(graph_of_three_parts()), scaled(steps)}) {
    for (const bool correlated : {false, true}) {
      const Beside models = beside(field, "negative-binomial", correlated);
      for (const Method& method : methods()) {
        SCOPED_TRACE(name_of(method));
        const Posterior a = infer(models.sparse, method);
        const Posterior b = infer(models.dense, method);
        ASSERT_TRUE(a.report().converged()) << a.report().brief();
        EXPECT_EQ(a.report().core.find("sparse"), 0U) << a.report().core;
        EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-7);
        EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6);
        EXPECT_LT((a.latent().variance - b.latent().variance).lpNorm<Eigen::Infinity>(), 1e-6);
        EXPECT_LT((a.weights().mean - b.weights().mean).lpNorm<Eigen::Infinity>(), 1e-6);
        EXPECT_LT((a.weights().variance - b.weights().variance).lpNorm<Eigen::Infinity>(), 1e-6);
        EXPECT_LT((a.leave_one_out().log_density - b.leave_one_out().log_density).lpNorm<Eigen::Infinity>(), 1e-6);
      }
    }
  }
}

TEST(FieldsBeside, EvidenceOfGaussianRowsIsTheirDensity) {
  // log N(y | H mean, H Sigma H' + s I) has the determinant of every field in it.
  IntrinsicField apart{FieldKind::rw1, 10, 1.2};
  apart.locations = Vector::LinSpaced(10, 0.0, 2.0).array().square() + Vector::LinSpaced(10, 0.0, 1.0).array();
  for (const IntrinsicField& field : {apart, scaled(apart), scaled(graph_of_three_parts())}) {
    const Beside models = beside(field, "gaussian");
    EXPECT_NEAR(infer(models.sparse, Exact{}).log_evidence().value, infer(models.dense, Exact{}).log_evidence().value,
                1e-8);
  }
}

TEST(FieldsBeside, FreeTrendsHaveTheGeneralisedDeterminant) {
  // The trend of rw2 as a column with a wide prior: sqrt(2 pi wide) of its density are what the field leaves out.
  IntrinsicField apart{FieldKind::rw2, 10, 1.2};
  apart.locations = Vector::LinSpaced(10, 0.0, 1.5).array().square() + Vector::LinSpaced(10, 0.0, 1.0).array();
  for (const IntrinsicField& field : {apart, scaled(apart), IntrinsicField{FieldKind::rw2, 10, 0.8}}) {
    const Beside models = beside(field, "poisson");
    const double wide = 1e7;
    Vector trend = (field.locations.size() > 0 ? field.locations : Vector(Vector::LinSpaced(10, 0.0, 9.0)));
    trend.array() -= trend.mean();
    trend.normalize();
    Model dense = models.dense;
    auto prior = std::get<DenseGaussian>(dense.prior);
    Matrix sigma = *prior.covariance;
    sigma.bottomRightCorner(10, 10) += wide * trend * trend.transpose();
    dense.prior = DenseGaussian{prior.mean, sigma};
    const Posterior a = infer(models.sparse, Laplace{.tolerance = 1e-10});
    const Posterior b = infer(dense, Laplace{.tolerance = 1e-10});
    EXPECT_NEAR(a.log_evidence().value - 0.5 * std::log(2.0 * std::numbers::pi * wide), b.log_evidence().value, 1e-5);
    EXPECT_LT((a.latent().variance - b.latent().variance).lpNorm<Eigen::Infinity>(), 1e-5);
  }
}

TEST(FieldsBeside, GradientsMatchDifferences) {
  IntrinsicField ring{FieldKind::rw2, 10, 2.2};
  ring.cyclic = true;
  for (const IntrinsicField& field : {ring, IntrinsicField{FieldKind::rw2, 10, 1.4}, scaled(graph_of_three_parts())}) {
    const Model model = beside(field, "negative-binomial", true).sparse;
    for (const Method& method : methods()) {
      SCOPED_TRACE(name_of(method));
      const auto gradient = infer(model, method).gradient();
      for (const Parameter& parameter : model.parameters()) {
        const auto evidence = [&](double step) {
          const double value = value_on(parameter.scale, parameter.on_scale() + step);
          return infer(model.with_parameters({{parameter.name, value}}), method).log_evidence().value;
        };
        ASSERT_TRUE(gradient.contains(parameter.name)) << parameter.name;
        EXPECT_NEAR(gradient.at(parameter.name), (evidence(1e-4) - evidence(-1e-4)) / 2e-4, 2e-5) << parameter.name;
      }
    }
  }
}

TEST(FieldsBeside, TwoFieldsAndAGivenPrecision) {
  SparseMatrix q(5, 5);
  for (Index i = 0; i < 5; ++i) {
    q.coeffRef(i, i) = 2.5;
    if (i + 1 < 5) q.coeffRef(i + 1, i) = -1.0;
  }
  const Matrix full = Matrix(q) + Matrix(q).transpose() - Matrix(Matrix(q).diagonal().asDiagonal());
  Additive prior;
  prior.fixed = {.mean = Vector{{0.1}}, .sd = Vector{{2.0}}};
  const IntrinsicField walk{FieldKind::rw1, 6, 1.5};
  prior.fields = {walk, SparsePrecision{random_vector(5, 4), q}};
  ASSERT_EQ(prior.first_of_field(1), 7);
  SparseMatrix h(20, 12);
  for (Index n = 0; n < 20; ++n) {
    h.insert(n, 0) = 1.0;
    h.insert(n, 1 + (n % 6)) = 1.0;
    h.insert(n, 7 + (n % 5)) = 0.5;
  }
  const Model sparse{.prior = prior, .design = h, .sites = {random_sites("bernoulli-logit", 20, 7)}};
  Matrix sigma = Matrix::Zero(12, 12);
  sigma(0, 0) = 4.0;
  sigma.block(1, 1, 6, 6) = covariance_of(walk);
  sigma.bottomRightCorner(5, 5) = dense_inverse(full);
  Vector mean = Vector::Zero(12);
  mean(0) = 0.1;
  mean.tail(5) = std::get<SparsePrecision>(prior.fields[1]).mean;
  Model dense = sparse;
  dense.prior = DenseGaussian{mean, sigma};
  for (const Method& method : methods()) {
    const Posterior a = infer(sparse, method);
    const Posterior b = infer(dense, method);
    EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-7);
    EXPECT_LT((a.weights().variance - b.weights().variance).lpNorm<Eigen::Infinity>(), 1e-6);
  }
  EXPECT_EQ(sparse.parameters().size(), 1U);
  EXPECT_EQ(sparse.resolve_parameter("prior.precision"), "fields[0].precision");
}

TEST(FieldsBeside, SavedLawsPredictAlikeAndDrawsAreHeld) {
  const Model model = beside(scaled(graph_of_three_parts()), "poisson").sparse;
  const Posterior q = infer(model, Laplace{});
  const Prediction first = q.predict(PredictionPoints{.design = model.design});
  const Prediction again = Predictor(q.fitted()).predict(PredictionPoints{.design = model.design});
  EXPECT_LT((first.latent_variance() - q.latent().variance).lpNorm<Eigen::Infinity>(), 1e-9);
  EXPECT_LT((again.latent_variance() - first.latent_variance()).lpNorm<Eigen::Infinity>(), 1e-12);
  const Matrix draws = q.sample_weights(2000, 3);
  EXPECT_LT(draws.middleRows(6, 4).colwise().sum().cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LT(draws.bottomRows(4).colwise().sum().cwiseAbs().maxCoeff(), 1e-9);
  // Node 4 is an island, and no part of a sum.
  const double spread = (draws.row(10).array() - draws.row(10).mean()).square().mean();
  EXPECT_NEAR(spread / q.weights().variance(10), 1.0, 0.15);
}

TEST(FieldsBeside, PrecisionsAreLearned) {
  Vector y(60);
  SparseMatrix h(60, 62);
  for (Index n = 0; n < 60; ++n) {
    const double x = static_cast<double>(n % 7 - 3) / 3.0;
    y(n) = std::round(20.0 * std::exp(0.5 * x + 0.6 * std::sin(0.2 * static_cast<double>(n))));
    h.insert(n, 0) = 1.0;
    h.insert(n, 1) = x;
    h.insert(n, 2 + n) = 1.0;
  }
  Additive prior;
  prior.fixed = {.mean = Vector::Zero(2), .sd = Vector{{10.0, 10.0}}};
  prior.fields = {scaled({FieldKind::rw1, 60, 1.0})};
  const Learned learned = learn({.prior = prior, .design = h, .sites = {observe("poisson", y)}}, Laplace{});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_NEAR(learned.posterior.gradient().at("fields[0].precision"), 0.0, 1e-3);
  EXPECT_NEAR(learned.posterior.weights().mean(1), 0.5, 3.0 * std::sqrt(learned.posterior.weights().variance(1)));
}

std::string complaint(const Additive& prior) {
  try {
    Model{.prior = prior,
          .design = Matrix(Matrix::Ones(3, prior.weights())),
          .sites = {observe("poisson", Vector::Ones(3))}}
        .validate();
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "";
}

TEST(FieldsBeside, RefusesWhatIsNone) {
  const auto with = [](const IntrinsicField& field) {
    Additive prior;
    prior.fields = {field};
    return prior;
  };
  IntrinsicField falling{FieldKind::rw1, 3, 1.0};
  falling.locations = Vector{{0.0, 2.0, 1.0}};
  EXPECT_NE(complaint(with(falling)).find("must ascend"), std::string::npos);
  IntrinsicField both{FieldKind::rw1, 3, 1.0};
  both.locations = Vector{{0.0, 1.0, 2.0}};
  both.cyclic = true;
  EXPECT_NE(complaint(with(both)).find("cyclic"), std::string::npos);
  IntrinsicField factors{FieldKind::rw1, 3, 1.0};
  factors.scale = Vector{{1.0, 1.0}};
  EXPECT_NE(complaint(with(factors)).find("1 connected part"), std::string::npos);
  EXPECT_NE(complaint(with({FieldKind::besag, 3, 1.0, {{0, 1}}})).find("node 2 has no neighbour"), std::string::npos);
  Additive process = with({FieldKind::rw1, 3, 1.0});
  process.process = GaussianProcess{Matrix(Matrix::Ones(3, 1)), make_kernel("se", {})};
  EXPECT_NE(complaint(process).find("process"), std::string::npos);
}

}  // namespace
}  // namespace gaussmith
