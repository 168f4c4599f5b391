// The sparse form against the dense ones: fields against the dense Gaussian that they are, diagonal and block priors
// against the precision form, every method; intrinsic fields against their pseudo-inverses.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/learn.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A ring with a diagonal.
SparseMatrix ring(Index size) {
  SparseMatrix q(size, size);
  for (Index i = 0; i < size; ++i) {
    q.coeffRef(i, i) += 2.3 + 0.1 * static_cast<double>(i % 3);
    const Index next = (i + 1) % size;
    q.coeffRef(i, next) -= 1.0;
    q.coeffRef(next, i) -= 1.0;
  }
  return q;
}

SparseMatrix short_rows(Index rows, Index size, std::uint64_t seed) {
  const Matrix values = random_matrix(rows, 3, seed);
  SparseMatrix h(rows, size);
  for (Index n = 0; n < rows; ++n)
    for (Index k = 0; k < 3; ++k) h.coeffRef(n, (5 * n + 3 * k * k + k) % size) = values(n, k);
  return h;
}

std::vector<Method> methods() {
  return {Laplace{.tolerance = 1e-10}, Kl{.tolerance = 1e-10}, Ep{.tolerance = 1e-10}, Vb{.tolerance = 1e-10}};
}

void expect_same(const Posterior& a, const Posterior& b, double tolerance = 1e-8) {
  ASSERT_TRUE(a.report().converged()) << a.report().brief();
  ASSERT_TRUE(b.report().converged()) << b.report().brief();
  const double z = b.log_evidence().value;
  EXPECT_NEAR(a.log_evidence().value, z, tolerance * (1 + std::abs(z)));
  EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), tolerance * 10);
  EXPECT_LT((a.latent().variance - b.latent().variance).lpNorm<Eigen::Infinity>(), tolerance * 10);
  EXPECT_LT((a.weights().mean - b.weights().mean).lpNorm<Eigen::Infinity>(), tolerance * 10);
  EXPECT_LT((a.weights().variance - b.weights().variance).lpNorm<Eigen::Infinity>(), tolerance * 10);
  const SparseMatrix rows = short_rows(4, a.model().dimension(), 91);
  const Prediction at = a.predict(PredictionPoints{.design = rows});
  const Prediction bt = b.predict(PredictionPoints{.design = rows});
  EXPECT_LT((at.latent_mean() - bt.latent_mean()).lpNorm<Eigen::Infinity>(), tolerance * 10);
  EXPECT_LT((at.latent_variance() - bt.latent_variance()).lpNorm<Eigen::Infinity>(), tolerance * 10);
  EXPECT_LT((a.latent_covariance({0, 2, 3}) - b.latent_covariance({0, 2, 3})).cwiseAbs().maxCoeff(), tolerance * 10);
}

TEST(SparseForm, OfAPrecisionIsThatOfItsInverse) {
  for (const char* likelihood : {"bernoulli-logit", "student-t", "negative-binomial"}) {
    SCOPED_TRACE(likelihood);
    const Index size = 12;
    const SparseMatrix q = ring(size);
    const Vector mean = 0.3 * random_vector(size, 4);
    Model sparse{.prior = SparsePrecision{mean, q},
                 .design = short_rows(15, size, 5),
                 .offset = 0.2 * random_vector(15, 6),
                 .sites = {random_sites(likelihood, 15, 7)}};
    Model dense = sparse;
    dense.prior = DenseGaussian{mean, dense_inverse(Matrix(q))};
    for (const Method& method : methods()) {
      SCOPED_TRACE(name_of(method));
      expect_same(infer(sparse, method), infer(dense, method));
    }
    // The lower half alone is the same precision.
    Model half = sparse;
    half.prior = SparsePrecision{mean, SparseMatrix(q.triangularView<Eigen::Lower>())};
    EXPECT_EQ(infer(half, Laplace{}).log_evidence().value, infer(sparse, Laplace{}).log_evidence().value);
  }
}

TEST(SparseForm, AgreesWithThePrecisionFormForIndependentAndGroupedWeights) {
  const Index size = 9;
  Additive effects;
  effects.fixed = {.mean = Vector{{0.1}}, .sd = Vector{{2.0}}};
  effects.random = {{.levels = 4, .sd = Vector{{0.8, 0.5}}, .correlation = 0.4}};
  const std::vector<Prior> priors = {Isotropic{Vector::Zero(size), 1.3},
                                     Diagonal{random_vector(size, 2), random_vector(size, 3).cwiseAbs2()},
                                     NoGaussian{size}, effects};
  for (const Prior& prior : priors) {
    SCOPED_TRACE(prior.index());
    const Model model{
        .prior = prior, .design = short_rows(30, size, 8), .sites = {random_sites("bernoulli-logit", 30, 9)}};
    for (const Method& method : methods()) {
      SCOPED_TRACE(name_of(method));
      const Posterior a = infer(model, method, gaussmith::Run{.form = CoreForm::sparse});
      const Posterior b = infer(model, method, gaussmith::Run{.form = CoreForm::precision});
      expect_same(a, b);
      for (const auto& [name, value] : b.gradient()) EXPECT_NEAR(a.gradient().at(name), value, 1e-6) << name;
    }
  }
}

/// The pseudo-inverse of a structure whose null space has the orthonormal basis `null`.
Matrix pseudo_inverse(const Matrix& structure, const Matrix& null) {
  const Matrix outer = null * null.transpose();
  return dense_inverse(structure + outer) - outer;
}

Matrix structure_of(const IntrinsicField& field) {
  Matrix r = Matrix::Zero(field.dimension, field.dimension);
  const auto add = [&](const Vector& c) { r += c * c.transpose(); };
  if (field.kind == FieldKind::besag) {
    for (const auto& [i, j] : field.edges) {
      Vector c = Vector::Zero(field.dimension);
      c(i) = 1.0;
      c(j) = -1.0;
      add(c);
    }
  } else {
    const Index order = field.kind == FieldKind::rw1 ? 1 : 2;
    for (Index j = 0; j + order < field.dimension; ++j) {
      Vector c = Vector::Zero(field.dimension);
      if (order == 1) {
        c(j) = -1.0;
        c(j + 1) = 1.0;
      } else {
        c(j) = c(j + 2) = 1.0;
        c(j + 1) = -2.0;
      }
      add(c);
    }
  }
  return r;
}

TEST(IntrinsicField, IsTheSingularGaussianOfItsPseudoInverse) {
  const IntrinsicField walk{FieldKind::rw1, 8, 1.7, {}};
  // Two parts, one of them with a cycle.
  const IntrinsicField graph{FieldKind::besag, 8, 0.6, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}};
  for (const IntrinsicField& field : {walk, graph}) {
    Matrix null = Matrix::Zero(8, 2);
    if (field.kind == FieldKind::rw1) {
      null = Matrix::Constant(8, 1, std::sqrt(0.125));
    } else {
      null.topLeftCorner(4, 1).setConstant(0.5);
      null.bottomRightCorner(4, 1).setConstant(0.5);
    }
    Model model{.prior = field, .sites = {random_sites("poisson", 8, 3)}};
    Model dense = model;
    dense.prior = DenseGaussian{Vector::Zero(8), pseudo_inverse(field.precision * structure_of(field), null)};
    for (const Method& method :
         std::vector<Method>{Laplace{.tolerance = 1e-10}, Kl{.tolerance = 1e-10}, Ep{.tolerance = 1e-10}}) {
      SCOPED_TRACE(name_of(method));
      expect_same(infer(model, method), infer(dense, method, gaussmith::Run{.form = CoreForm::covariance}));
    }
    const Matrix draws = infer(model, Laplace{}).sample_weights(50, 3);
    EXPECT_LT(draws.topRows(field.kind == FieldKind::rw1 ? 8 : 4).colwise().sum().cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(IntrinsicField, SecondDifferencesLeaveTheSlopeFree) {
  const IntrinsicField field{FieldKind::rw2, 9, 2.3, {}};
  const Model model{.prior = field, .sites = {random_sites("poisson", 9, 5)}};
  Vector slope(9);
  for (Index j = 0; j < 9; ++j) slope(j) = static_cast<double>(j) - 4.0;
  slope.normalize();
  const double wide = 1e7;
  Matrix null(9, 2);
  null << Vector::Constant(9, 1.0 / 3.0), slope;
  Matrix sigma = pseudo_inverse(field.precision * structure_of(field), null);
  sigma += wide * slope * slope.transpose();
  Model dense = model;
  dense.prior = DenseGaussian{Vector::Zero(9), sigma};
  const Posterior a = infer(model, Laplace{.tolerance = 1e-10});
  const Posterior b = infer(dense, Laplace{.tolerance = 1e-10});
  EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-5);
  EXPECT_LT((a.latent().variance - b.latent().variance).lpNorm<Eigen::Infinity>(), 1e-5);
  EXPECT_NEAR(a.log_evidence().value - 0.5 * std::log(2.0 * std::numbers::pi * wide), b.log_evidence().value, 1e-5);
}

TEST(IntrinsicField, EvidenceGradientsMatchDifferences) {
  for (const FieldKind kind : {FieldKind::rw1, FieldKind::rw2, FieldKind::besag}) {
    IntrinsicField field{kind, 10, 1.4, {}};
    if (kind == FieldKind::besag)
      for (Index j = 0; j < 10; ++j) field.edges.emplace_back(j, (j + 1) % 10);
    const Model model{.prior = field, .sites = {random_sites("negative-binomial", 10, 8)}};
    for (const Method& method : methods()) {
      SCOPED_TRACE(name_of(method));
      const auto evidence = [&](double step) {
        return infer(model.with_parameters({{"prior.precision", 1.4 * std::exp(step)}}), method).log_evidence().value;
      };
      EXPECT_NEAR(infer(model, method).gradient().at("prior.precision"), (evidence(1e-4) - evidence(-1e-4)) / 2e-4,
                  1e-5);
    }
  }
}

TEST(IntrinsicField, HoldsWhatNoSiteSees) {
  // Differences alone, and a part of a graph without rows: the constraints make both proper.
  SparseMatrix differences(2, 5);
  differences.coeffRef(0, 0) = 1.0;
  differences.coeffRef(0, 1) = -1.0;
  differences.coeffRef(1, 2) = 1.0;
  differences.coeffRef(1, 3) = -1.0;
  SparseMatrix seen(3, 5);
  for (Index n = 0; n < 3; ++n) seen.coeffRef(n, n) = 1.0;
  const IntrinsicField walk{FieldKind::rw1, 5, 1.3, {}};
  const IntrinsicField graph{FieldKind::besag, 5, 0.7, {{0, 1}, {1, 2}, {3, 4}}};
  for (const bool by_graph : {false, true}) {
    const IntrinsicField& field = by_graph ? graph : walk;
    Matrix null = Matrix::Zero(5, by_graph ? 2 : 1);
    if (by_graph) {
      null.topLeftCorner(3, 1).setConstant(1.0 / std::sqrt(3.0));
      null.bottomRightCorner(2, 1).setConstant(std::sqrt(0.5));
    } else {
      null.setConstant(std::sqrt(0.2));
    }
    Model model{.prior = field,
                .design = by_graph ? seen : differences,
                .sites = {random_sites("poisson", by_graph ? 3 : 2, 4)}};
    Model dense = model;
    dense.prior = DenseGaussian{Vector::Zero(5), pseudo_inverse(field.precision * structure_of(field), null)};
    for (const Method& method :
         std::vector<Method>{Laplace{.tolerance = 1e-10}, Kl{.tolerance = 1e-10}, Ep{.tolerance = 1e-10}}) {
      SCOPED_TRACE(name_of(method));
      const Posterior a = infer(model, method);
      const Posterior b = infer(dense, method);
      ASSERT_TRUE(a.report().converged()) << a.report().brief();
      EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-7);
      EXPECT_LT((a.weights().mean - b.weights().mean).lpNorm<Eigen::Infinity>(), 1e-6);
      EXPECT_LT((a.weights().variance - b.weights().variance).lpNorm<Eigen::Infinity>(), 1e-6);
    }
  }
}

TEST(IntrinsicField, EvidenceOfSecondDifferencesDoesNotKnowTheTrend) {
  const Vector noise = random_vector(30, 8);
  const auto evidence = [&](double slope) {
    Vector y = noise;
    for (Index j = 0; j < 30; ++j) y(j) += slope * (static_cast<double>(j) - 14.5);
    const Model model{.prior = IntrinsicField{FieldKind::rw2, 30, 1e4, {}},
                      .sites = {observe("gaussian", y, {{"variance", one(1.0)}})}};
    const Posterior q = infer(model, Exact{});
    EXPECT_TRUE(q.report().converged()) << q.report().brief();
    return q.log_evidence();
  };
  const Evidence flat = evidence(0.0);
  for (const double slope : {1.0, 1e2, 1e4}) {
    const Evidence steep = evidence(slope);
    EXPECT_NEAR(steep.value, flat.value, 10.0 * steep.numerical_error + 1e-10) << slope;
    EXPECT_NEAR(steep.value, flat.value, 1e-5) << slope;
  }
}

TEST(IntrinsicField, StiffFieldsKeepTheirDigits) {
  const auto exact_at = [](double precision) {
    const Model model{.prior = IntrinsicField{FieldKind::rw1, 50, precision, {}},
                      .sites = {observe("gaussian", random_vector(50, 3), {{"variance", one(1.0)}})}};
    return infer(model, Exact{});
  };
  // So stiff that nothing is left of it: N(y | 0, I).
  const Vector y = random_vector(50, 3);
  const double limit = -0.5 * y.squaredNorm() - 25.0 * std::log(2.0 * std::numbers::pi);
  const Posterior q = exact_at(1e13);
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.log_evidence().value, limit, 1e-9);
}

TEST(IntrinsicField, PrecisionIsLearned) {
  Vector y(40);
  for (Index j = 0; j < 40; ++j) y(j) = std::round(std::exp(1.0 + std::sin(0.3 * static_cast<double>(j))));
  const Model model{.prior = IntrinsicField{FieldKind::rw1, 40, 1.0, {}},
                    .offset = Vector::Constant(40, 1.2),
                    .sites = {observe("poisson", y)}};
  const Learned learned = learn(model, Laplace{});
  EXPECT_EQ(learned.report.status, Status::converged);
  EXPECT_GT(learned.report.objective, learned.report.initial_objective);
}

TEST(SparseForm, LeaveOneOutAndSavedLawsAgreeWithDense) {
  const Index size = 12;
  Model sparse{.prior = SparsePrecision{Vector::Zero(size), ring(size)},
               .sites = {random_sites("bernoulli-logit", size, 7)}};
  Model dense = sparse;
  dense.prior = DenseGaussian{Vector::Zero(size), dense_inverse(Matrix(ring(size)))};
  const Posterior a = infer(sparse, Ep{.tolerance = 1e-10});
  const Posterior b = infer(dense, Ep{.tolerance = 1e-10});
  EXPECT_LT((a.leave_one_out().log_density - b.leave_one_out().log_density).lpNorm<Eigen::Infinity>(), 1e-7);
  const Prediction again = Predictor(a.fitted()).predict(PredictionPoints{.design = short_rows(5, size, 2)});
  const Prediction first = a.predict(PredictionPoints{.design = short_rows(5, size, 2)});
  EXPECT_LT((again.latent_variance() - first.latent_variance()).lpNorm<Eigen::Infinity>(), 1e-12);
}

TEST(SparseForm, IsChosenForShortRowsAndManyWeights) {
  const Index size = 600;
  const Model model{.prior = Isotropic{Vector::Zero(size), 1.0}, .sites = {random_sites("bernoulli-logit", size, 7)}};
  EXPECT_NE(infer(model, Laplace{}).report().core.find("sparse form"), std::string::npos);
}

std::string complaint(const Prior& prior) {
  try {
    Model{.prior = prior, .sites = {observe("poisson", Vector::Ones(3))}}.validate();
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "";
}

TEST(SingleRows, AreTheDoubleRowsOfTheRoundedValues) {
  const Index size = 14;
  const SingleSparseMatrix single = short_rows(40, size, 5).cast<float>();
  const SparseMatrix rounded = single.cast<double>();
  const std::vector<Prior> priors = {Isotropic{Vector::Zero(size), 0.7},
                                     SparsePrecision{Vector::Zero(size), ring(size)},
                                     DenseGaussian{Vector::Zero(size), dense_inverse(Matrix(ring(size)))},
                                     Additive{.random = {{.levels = 7, .sd = Vector::Ones(2), .correlation = 0.3}}}};
  for (const Prior& prior : priors) {
    SCOPED_TRACE(type_of(prior));
    const Model twice{
        .prior = prior, .design = rounded, .offset = {}, .sites = {random_sites("bernoulli-logit", 40, 7)}};
    Model once = twice;
    once.design = single;
    const bool only_precision = std::holds_alternative<SparsePrecision>(prior);
    const bool dense = std::holds_alternative<DenseGaussian>(prior);
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision, CoreForm::sparse}) {
      if ((form == CoreForm::sparse && dense) || (form != CoreForm::sparse && only_precision)) continue;
      for (const Method& method : methods()) {
        SCOPED_TRACE(name_of(method));
        expect_same(infer(once, method, {.form = form}), infer(twice, method, {.form = form}), 1e-12);
      }
    }
    if (only_precision || std::holds_alternative<Additive>(prior)) continue;
    for (const char* covariance : {"diagonal", "banded:2"}) {
      SCOPED_TRACE(covariance);
      const Kl method{.covariance = covariance};
      expect_same(infer(once, method), infer(twice, method), 1e-12);
    }
  }
}

TEST(SparsePrecision, RefusesWhatIsNoPrecision) {
  SparseMatrix q(3, 3);
  q.coeffRef(0, 0) = q.coeffRef(1, 1) = q.coeffRef(2, 2) = 1.0;
  EXPECT_EQ(complaint(SparsePrecision{Vector::Zero(3), q}), "");
  SparseMatrix indefinite = q;
  indefinite.coeffRef(1, 0) = indefinite.coeffRef(0, 1) = 2.0;
  EXPECT_NE(complaint(SparsePrecision{Vector::Zero(3), indefinite}).find("not positive definite"), std::string::npos);
  SparseMatrix singular = q;
  singular.coeffRef(1, 0) = singular.coeffRef(0, 1) = -1.0;
  EXPECT_NE(complaint(SparsePrecision{Vector::Zero(3), singular}), "");
  SparseMatrix lopsided = q;
  lopsided.coeffRef(1, 0) = 0.2;
  lopsided.coeffRef(0, 1) = 0.3;
  EXPECT_NE(complaint(SparsePrecision{Vector::Zero(3), lopsided}).find("not symmetric"), std::string::npos);
  EXPECT_NE(complaint(SparsePrecision{Vector::Zero(2), q}).find("3 x 3"), std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::rw2, 2, 1.0, {}}).find("at least 3"), std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::rw1, 3, -1.0, {}}).find("positive"), std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::besag, 3, 1.0, {{0, 3}}}).find("numbered from 0 to 2"),
            std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::besag, 3, 1.0, {{0, 1}, {1, 0}}}).find("given before"),
            std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::besag, 3, 1.0, {{1, 1}}}).find("with itself"), std::string::npos);
  EXPECT_NE(complaint(IntrinsicField{FieldKind::besag, 3, 1.0, {{0, 1}}}).find("node 2 has no neighbour"),
            std::string::npos);
  const Model field{.prior = IntrinsicField{FieldKind::rw1, 3, 1.0, {}},
                    .sites = {observe("poisson", Vector::Ones(3))}};
  EXPECT_THROW((void)infer(field, Laplace{}, gaussmith::Run{.form = CoreForm::covariance}), InvalidOption);
  EXPECT_THROW((void)infer(field, Kl{.covariance = "diagonal"}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
