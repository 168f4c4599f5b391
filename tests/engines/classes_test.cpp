// Several latents a row: softmax sites under laplace and kl, a two-latent likelihood of a user under laplace.

#include "gaussmith/class_bounds.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

Matrix class_inputs(Index n, std::uint64_t seed) {
  Random random(seed);
  Matrix x(n, 2);
  for (double& value : x.reshaped()) value = random.normal();
  return x;
}

Vector class_labels(const Matrix& x, Index classes, std::uint64_t seed) {
  Random random(seed + 100);
  Vector y(x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    const double place = std::floor((std::atan2(x(i, 0), x(i, 1)) / (2.0 * std::numbers::pi) + 0.5) * 0.999 *
                                    static_cast<double>(classes));
    y(i) = random.uniform() < 0.2 ? std::floor(random.uniform() * static_cast<double>(classes)) : place;
  }
  return y;
}

Model class_model(Index n, Index classes, double sd, std::uint64_t seed = 1,
                  std::string_view likelihood = "multinomial-logit") {
  const Matrix x = class_inputs(n, seed);
  return {
      .prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {sd}}, {"lengthscale", {1.1}}})},
      .sites = {observe(likelihood, class_labels(x, classes, seed), {{"classes", one(static_cast<double>(classes))}})},
      .latents = {.count = classes}};
}

/// K over rows and classes, stacked by row, from the definitions.
Matrix dense_prior(const Model& model) {
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Index c = model.latents.count;
  const Index n = process.inputs.rows();
  Matrix k = Matrix::Zero(n * c, n * c);
  const Matrix kc = model.latents.covariance();
  for (Index a = 0; a < c; ++a)
    for (Index b = 0; b < c; ++b) {
      Matrix gram;
      const bool own = !model.latents.kernels.empty();
      if (own && a != b) continue;
      (own ? model.latents.kernels[static_cast<std::size_t>(a)] : process.kernel)->gram(process.inputs, gram);
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i) k(i * c + a, j * c + b) = kc(a, b) * gram(i, j);
    }
  return k;
}

struct SoftmaxPoint {
  double log_joint;
  Vector gradient;
  Matrix curvature;
};

/// The softmax by its definition.
SoftmaxPoint softmax_sites(const Model& model, const Vector& f) {
  const Index c = model.latents.count;
  const Vector& y = model.sites[0]->responses();
  SoftmaxPoint out{0.0, Vector(f.size()), Matrix::Zero(f.size(), f.size())};
  for (Index n = 0; n < y.size(); ++n) {
    const Vector e = f.segment(n * c, c).array().exp();
    const Vector p = e / e.sum();
    const auto label = static_cast<Index>(y(n));
    out.log_joint += std::log(p(label));
    out.gradient.segment(n * c, c) = -p;
    out.gradient(n * c + label) += 1.0;
    out.curvature.block(n * c, n * c, c, c) = Matrix(p.asDiagonal()) - p * p.transpose();
  }
  return out;
}

struct DenseLaplace {
  Vector mean;
  Matrix covariance;
  double log_evidence;
};

DenseLaplace dense_laplace(const Model& model) {
  const Matrix k = dense_prior(model);
  const Index size = k.rows();
  Vector a = Vector::Zero(size);
  for (int i = 0; i < 100; ++i) {
    const Vector f = k * a;
    const SoftmaxPoint s = softmax_sites(model, f);
    const Matrix system = Matrix::Identity(size, size) + s.curvature * k;
    a += system.partialPivLu().solve(s.gradient - a);
  }
  const Vector f = k * a;
  const SoftmaxPoint s = softmax_sites(model, f);
  const Matrix system = Matrix::Identity(size, size) + k * s.curvature;
  return {f, system.partialPivLu().solve(k),
          s.log_joint - 0.5 * a.dot(f) - 0.5 * std::log(system.partialPivLu().determinant())};
}

void expect_same(const Posterior& q, const DenseLaplace& truth, const Model& model) {
  const Index c = model.latents.count;
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.log_evidence().value, truth.log_evidence, 1e-8 * (1 + std::abs(truth.log_evidence)));
  EXPECT_LT((q.latent().mean - truth.mean).lpNorm<Eigen::Infinity>(), 1e-8);
  for (Index n = 0; n < model.rows(); ++n) {
    const Eigen::Map<const Matrix> block(q.latent().covariance.data() + n * c * c, c, c);
    EXPECT_LT((block - truth.covariance.block(n * c, n * c, c, c)).cwiseAbs().maxCoeff(),
              1e-9 * (1 + truth.covariance.cwiseAbs().maxCoeff()));
  }
}

std::vector<Model> class_models() {
  std::vector<Model> all;
  for (const double sd : {0.3, 1.0, 4.0})
    for (const Index c : {2, 3, 5}) all.push_back(class_model(12, c, sd, static_cast<std::uint64_t>(c)));
  Model correlated = class_model(10, 3, 1.3, 7);
  correlated.latents.model = LatentModel::full;
  correlated.latents.factor = (Matrix(3, 3) << 1, 0, 0, 0.4, 1.5, 0, -0.6, 0.2, 0.8).finished();
  all.push_back(correlated);
  Model centred = class_model(10, 4, 1.3, 8);
  centred.latents.model = LatentModel::centred_diagonal;
  centred.latents.weight = (Vector(4) << 0.5, 1.0, 2.0, 0.7).finished();
  all.push_back(centred);
  Model own = class_model(10, 3, 1.0, 9);
  for (const double length : {0.5, 1.0, 2.0})
    own.latents.kernels.push_back(make_kernel("se", {{"signal_sd", {1.4}}, {"lengthscale", {length}}}));
  all.push_back(own);
  return all;
}

TEST(Classes, LaplaceIsThatOfDenseAlgebra) {
  for (const Model& model : class_models()) {
    SCOPED_TRACE(model.latents.count);
    expect_same(infer(model, Laplace{.tolerance = 1e-11}), dense_laplace(model), model);
  }
}

/// The gradient of a method's evidence against central differences on the scale of every parameter.
void expect_gradient(const Model& model, const Method& method, double tolerance) {
  const Posterior q = infer(model, method);
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  const auto gradient = q.gradient();
  for (const Parameter& p : model.parameters()) {
    if (!p.learnable) continue;
    ASSERT_TRUE(gradient.contains(p.name)) << p.name;
    constexpr double h = 1e-4;
    double difference = 0.0;
    for (const double sign : {1.0, -1.0}) {
      const Model moved = model.with_parameters({{p.name, value_on(p.scale, p.on_scale() + sign * h)}});
      difference += sign * infer(moved, method).log_evidence().value / (2.0 * h);
    }
    EXPECT_NEAR(gradient.find(p.name)->second, difference, tolerance * (1 + std::abs(difference))) << p.name;
  }
}

TEST(Classes, GradientsOfLaplaceMatchDifferences) {
  for (const Model& model : class_models()) expect_gradient(model, Laplace{.tolerance = 1e-11}, 2e-6);
}

TEST(Classes, GradientsOfTheBoundMatchDifferences) {
  for (const Model& model : class_models()) expect_gradient(model, Kl{.covariance = "full", .tolerance = 1e-10}, 2e-6);
}

TEST(Classes, TheBoundHasAnIndependentReference) {
  // Ten rows and three classes by a dense direct solution of the bound.
  Matrix x(10, 2);
  x << 1.2390826012459153, -0.4437523531479161, 1.3522046021402434, 1.4378204207315304, -0.27753758594035915,
      -1.7263679144350654, 2.0846617352791776, -0.75914715090977, 1.5654598711689893, -0.8484357714116002,
      -0.3074248660723864, -0.28551740587290253, -0.5917269727108373, -0.7788876097188987, 0.8875222667668594,
      0.4418656119612637, 0.8228213903414296, 1.9803219296340786, -0.7707089568242711, -0.35606543315578754;
  Vector y(10);
  y << 2, 0, 0, 2, 0, 2, 1, 0, 2, 0;
  const Model model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1}}, {"lengthscale", {1}}})},
                    .sites = {observe("multinomial-logit", y, {{"classes", one(3)}})},
                    .latents = {.count = 3}};
  const Posterior laplace = infer(model, Laplace{});
  EXPECT_NEAR(laplace.log_evidence().value, -12.04097118250685, 1e-8);
  EXPECT_NEAR(laplace.gradient().at("kernel.signal_sd"), -1.7830577159945762, 1e-7);
  const Posterior kl = infer(model, Kl{});
  EXPECT_NEAR(kl.log_evidence().value, -11.897629044932177, 1e-8);
  EXPECT_EQ(kl.log_evidence().kind, EvidenceKind::lower_bound);
  EXPECT_NEAR(kl.gradient().at("kernel.lengthscale"), 0.07375031389494932, 1e-7);
}

TEST(Classes, StructuredCovariancesLoseLittle) {
  for (const auto& [c, sd] : {std::pair<Index, double>{3, 2.0}, {4, 2.0}, {6, 2.0}, {4, 4.0}, {6, 4.0}}) {
    const Model model = class_model(14, c, sd, 3);
    const Posterior full = infer(model, Kl{.covariance = "full"});
    const Posterior star = infer(model, Kl{.covariance = "structured"});
    ASSERT_TRUE(full.report().converged()) << full.report().brief();
    ASSERT_TRUE(star.report().converged()) << star.report().brief();
    EXPECT_LE(star.log_evidence().value, full.log_evidence().value + 1e-9);
    EXPECT_NEAR(star.log_evidence().value, full.log_evidence().value, 1e-4 * 14);
    for (const Posterior& q : {full, star})
      for (std::size_t i = 1; i < q.report().history.size(); ++i)
        EXPECT_GE(q.report().history[i].objective, q.report().history[i - 1].objective - 1e-9);
  }
}

TEST(Classes, OddModelsConvergeToTrueBounds) {
  // One row; a class without rows; one class only; equal inputs with different labels; functions that are nearly
  // constant.
  const auto model_of = [](const Matrix& x, const Vector& y, double sd, double length, const char* likelihood) {
    return Model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {sd}}, {"lengthscale", {length}}})},
                 .sites = {observe(likelihood, y, {{"classes", one(4)}})},
                 .latents = {.count = 4}};
  };
  Matrix x = class_inputs(10, 21);
  Vector y = class_labels(x, 3, 4);  // The last class is empty.
  Matrix same = x;
  same.bottomRows(5) = same.topRows(5);
  Vector turned = y;
  for (Index n = 5; n < 10; ++n) turned(n) = std::fmod(turned(n - 5) + 1.0, 4.0);
  for (const double sd : {1e-2, 1.0, 100.0})
    for (const char* likelihood : {"multinomial-logit", "multinomial-probit"}) {
      const std::vector<Model> models = {
          model_of(x.topRows(1), y.head(1), sd, 1.0, likelihood), model_of(x, y, sd, 1.0, likelihood),
          model_of(x, Vector::Constant(10, 2.0), sd, 1.0, likelihood), model_of(same, turned, sd, 1.0, likelihood),
          model_of(x, y, sd, 1e3, likelihood)};
      const bool logit = likelihood == std::string_view("multinomial-logit");
      for (std::size_t i = 0; i < models.size(); ++i)
        for (const Method& method :
             {logit ? Method(Laplace{}) : Method(Ep{}), logit ? Method(Kl{}) : Method(Vmf{}),
              logit ? Method(Kl{.covariance = "structured"}) : Method(Ep{.inner = EpInner::incremental})}) {
          const Posterior q = infer(models[i], method);
          EXPECT_TRUE(q.report().converged())
              << name_of(method) << ", model " << i << ", sd " << sd << ": " << q.report().brief();
          EXPECT_TRUE(std::isfinite(q.log_evidence().value));
          EXPECT_LE(q.log_evidence().value, 1e-9);
          if (q.log_evidence().kind == EvidenceKind::lower_bound && i == 2 && sd < 0.1) {
            EXPECT_NEAR(q.log_evidence().value, -10.0 * std::log(4.0), logit ? 0.1 : 10.0);
          }
        }
    }
}

TEST(Classes, ExtremesConvergeOrSayWhy) {
  for (const double sd : {1e-2, 1.0, 10.0, 100.0})
    for (const Index c : {2, 3, 10}) {
      const Model model = class_model(8, c, sd, 5);
      for (const Method& method : {Method(Laplace{}), Method(Kl{}), Method(Kl{.covariance = "structured"})}) {
        const Posterior q = infer(model, method);
        EXPECT_TRUE(std::isfinite(q.log_evidence().value));
        EXPECT_TRUE(q.report().converged())
            << name_of(method) << " sd " << sd << " C " << c << ": " << q.report().brief();
      }
    }
}

TEST(Classes, ALikelihoodOfTwoLatentsIsTheUsersOwn) {
  // y ~ N(f, exp(g)): log t = -g/2 - (y - f)^2 exp(-g)/2.
  const CustomJointLikelihood heteroscedastic{.name = "heteroscedastic",
                                              .latents = 2,
                                              .log_density =
                                                  [](ConstSpan f, double y) {
                                                    return -0.5 * f[1] -
                                                           0.5 * (y - f[0]) * (y - f[0]) * std::exp(-f[1]) -
                                                           0.5 * std::log(2.0 * std::numbers::pi);
                                                  },
                                              .derivatives =
                                                  [](ConstSpan f, double y, Span g, Span h) {
                                                    const double w = std::exp(-f[1]);
                                                    const double r = y - f[0];
                                                    g[0] = r * w;
                                                    g[1] = -0.5 + 0.5 * r * r * w;
                                                    h[0] = -w;
                                                    h[1] = h[2] = -r * w;
                                                    h[3] = -0.5 * r * r * w;
                                                  }};
  const Matrix x = class_inputs(30, 4).col(0);
  Random random(9);
  Vector y(30);
  for (Index i = 0; i < 30; ++i) y(i) = std::sin(2.0 * x(i, 0)) + std::exp(0.5 * x(i, 0) - 1.0) * random.normal();
  Model model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1}}, {"lengthscale", {1}}})},
              .sites = {observe(heteroscedastic, y)},
              .latents = {.count = 2, .mean = (Vector(2) << 0.0, -1.0).finished()}};
  const Posterior q = infer(model, Laplace{});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  // Stationary: K^-1 (m - m0) is the gradient of the sites.
  Vector gradient(60);
  model.sites[0]->log_density(0, view(q.latent().mean), {{}, view(gradient), {}, {}});
  Vector m0(60);
  for (Index i = 0; i < 30; ++i) m0.segment(2 * i, 2) = model.latents.mean;
  EXPECT_LT((dense_prior(model) * gradient + m0 - q.latent().mean).norm(), 1e-7);
  expect_gradient(model, Laplace{.tolerance = 1e-11}, 1e-5);
  EXPECT_THROW((void)infer(model, Kl{}), InvalidOption);
}

TEST(Classes, NeitherOrderNorACommonShiftMatters) {
  const Matrix fresh = class_inputs(4, 31);
  const ProbabilityGoal sharp{.tolerance = 1e-10};
  for (const Method& method : {Method(Laplace{}), Method(Kl{.covariance = "full"}), Method(Ep{.tolerance = 1e-10}),
                               Method(Ep{.tolerance = 1e-10, .moments = ClassMoments::quadrature})}) {
    const Model model =
        class_model(12, 3, 1.5, 6, name_of(method) == "ep" ? "multinomial-probit" : "multinomial-logit");
    Model shifted = model;
    shifted.latents.model = LatentModel::given;
    shifted.latents.factor = Matrix::Identity(3, 3) + 0.7 * Matrix::Ones(3, 3);
    Model permuted = model;
    Vector y = model.sites[0]->responses();
    for (double& label : y) label = std::fmod(label + 1.0, 3.0);
    permuted.sites = {model.sites[0]->with(y, {})};
    const Posterior q = infer(model, method);
    const Matrix p = q.predict(fresh).class_probabilities(sharp).probability;
    const Posterior same = infer(shifted, method);
    EXPECT_NEAR(same.log_evidence().value, q.log_evidence().value, 1e-8);
    EXPECT_LT((same.predict(fresh).class_probabilities(sharp).probability - p).cwiseAbs().maxCoeff(), 1e-7);
    const Posterior other = infer(permuted, method);
    const Matrix turned = other.predict(fresh).class_probabilities(sharp).probability;
    EXPECT_NEAR(other.log_evidence().value, q.log_evidence().value, 1e-8);
    for (Index c = 0; c < 3; ++c) {
      EXPECT_LT((turned.col((c + 1) % 3) - p.col(c)).cwiseAbs().maxCoeff(), 1e-7);
      for (Index n = 0; n < 12; ++n)
        EXPECT_NEAR(other.latent().mean(n * 3 + (c + 1) % 3), q.latent().mean(n * 3 + c), 1e-7);
    }
  }
}

TEST(Classes, MomentsByQuadratureAreExactForOneRow) {
  const Ep exact{.tolerance = 1e-10, .moments = ClassMoments::quadrature};
  for (const Index classes : {3, 4})
    EXPECT_NEAR(infer(class_model(1, classes, 1.3, 2, "multinomial-probit"), exact).log_evidence().value,
                -std::log(static_cast<double>(classes)), 1e-8);
  const Model two = class_model(12, 2, 1.3, 2, "multinomial-probit");
  EXPECT_NEAR(infer(two, exact).log_evidence().value, infer(two, Ep{.tolerance = 1e-10}).log_evidence().value, 1e-8);
  EXPECT_THROW((void)infer(class_model(6, 5, 1.0, 2, "multinomial-probit"), exact), InvalidOption);
}

TEST(Classes, FiftyClassesConverge) {
  const Posterior q = infer(class_model(100, 50, 1.0), Laplace{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_LT(q.log_evidence().value, 0.0);
}

TEST(Classes, TwoClassesAreTheBinaryModel) {
  // f1 - f0 has twice the variance.
  const Model model = class_model(15, 2, 1.2, 11);
  Vector y = model.sites[0]->responses();
  for (double& label : y) label = label > 0.5 ? 1.0 : -1.0;
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Model binary{.prior = GaussianProcess{process.inputs, make_kernel("se", {{"signal_sd", {1.2 * std::sqrt(2.0)}},
                                                                                 {"lengthscale", {1.1}}})},
                     .sites = {observe("bernoulli-logit", y)}};
  const Posterior q = infer(model, Laplace{});
  const Posterior b = infer(binary, Laplace{});
  EXPECT_NEAR(q.log_evidence().value, b.log_evidence().value, 1e-8);
  for (Index n = 0; n < 15; ++n)
    EXPECT_NEAR(q.latent().mean(2 * n + 1) - q.latent().mean(2 * n), b.latent().mean(n), 1e-8);
}

/// Nine rows of three correlated functions.
Model correlated_probit() {
  Matrix x(9, 2);
  x << 0.4356, 0.4012, -0.4702, 1.1079, -1.414, 0.9952, 1.0638, 2.1167, 0.6159, -1.2443, -0.7759, -0.1146, 0.6731,
      -1.7013, -0.5918, -0.0156, 0.2665, 1.1044;
  Vector y(9);
  y << 2, 0, 1, 1, 2, 1, 2, 2, 2;
  return {.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1.1}}, {"lengthscale", {1}}})},
          .sites = {observe("multinomial-probit", y, {{"classes", one(3)}})},
          .latents = {.count = 3,
                      .model = LatentModel::full,
                      .factor = (Matrix(3, 3) << 1, 0, 0, 0.4, 1.5, 0, -0.6, 0.2, 0.8).finished()}};
}

TEST(Classes, ProbitMethodsHaveIndependentReferences) {
  // From scalar EP on functions and auxiliary variables together, and from the iterated mean field.
  const Posterior ep = infer(correlated_probit(), Ep{});
  ASSERT_TRUE(ep.report().converged()) << ep.report().brief();
  EXPECT_NEAR(ep.log_evidence().value, -9.854204512590492, 1e-8);
  EXPECT_NEAR(ep.gradient().at("kernel.signal_sd"), -0.33650045922974114, 1e-7);
  EXPECT_NEAR(ep.gradient().at("prior.latent_covariance.factor[1][0]"), 0.37040924099055267, 1e-7);
  const Posterior vmf = infer(correlated_probit(), Vmf{});
  ASSERT_TRUE(vmf.report().converged()) << vmf.report().brief();
  EXPECT_NEAR(vmf.log_evidence().value, -14.706672848254051, 1e-8);
  EXPECT_EQ(vmf.log_evidence().kind, EvidenceKind::lower_bound);
}

TEST(Classes, GradientsOfProbitMethodsMatchDifferences) {
  Model own = class_model(9, 3, 1.0, 9, "multinomial-probit");
  for (const double length : {0.5, 1.0, 2.0})
    own.latents.kernels.push_back(make_kernel("se", {{"signal_sd", {1.4}}, {"lengthscale", {length}}}));
  for (const Model& model : {correlated_probit(), own, class_model(10, 4, 2.0, 3, "multinomial-probit")}) {
    expect_gradient(model, Ep{.tolerance = 1e-11}, 2e-6);
    expect_gradient(model, Vmf{.tolerance = 1e-11}, 2e-6);
  }
}

TEST(Classes, InnerSchemesHaveOneFixedPoint) {
  for (const double sd : {0.5, 3.0, 30.0})
    for (const Index c : {2, 3, 6}) {
      const Model model = class_model(15, c, sd, 2, "multinomial-probit");
      const Posterior a = infer(model, Ep{.tolerance = 1e-10});
      const Posterior b = infer(model, Ep{.tolerance = 1e-10, .inner = EpInner::incremental});
      ASSERT_TRUE(a.report().converged()) << a.report().brief();
      ASSERT_TRUE(b.report().converged()) << b.report().brief();
      EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8);
      EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-8 * (1 + sd));
    }
}

TEST(Classes, TwoProbitClassesAreTheBinaryModel) {
  const Model model = class_model(15, 2, 1.7, 11, "multinomial-probit");
  Vector y = model.sites[0]->responses();
  for (double& label : y) label = label > 0.5 ? 1.0 : -1.0;
  const Model binary{.prior = model.prior, .sites = {observe("bernoulli-probit", y)}};
  const Posterior q = infer(model, Ep{});
  const Posterior b = infer(binary, Ep{});
  EXPECT_NEAR(q.log_evidence().value, b.log_evidence().value, 1e-8);
  for (Index n = 0; n < 15; ++n)
    EXPECT_NEAR((q.latent().mean(2 * n + 1) - q.latent().mean(2 * n)) / std::sqrt(2.0), b.latent().mean(n), 1e-7);
}

TEST(Classes, WeightsAreRepeatedRows) {
  const Vector counts = (Vector(9) << 1, 3, 1, 2, 1, 1, 4, 1, 2).finished();
  for (const char* likelihood : {"multinomial-probit", "multinomial-logit"}) {
    const Model once = class_model(9, 3, 1.4, 3, likelihood);
    const auto& process = std::get<GaussianProcess>(once.prior);
    const Matrix& inputs = process.inputs;
    const auto rows = static_cast<Index>(counts.sum());
    Matrix x(rows, 2);
    Vector y(rows);
    for (Index n = 0, row = 0; n < 9; ++n)
      for (int k = 0; k < static_cast<int>(counts(n)); ++k, ++row) {
        x.row(row) = inputs.row(n);
        y(row) = once.sites[0]->responses()(n);
      }
    Model repeated = once;
    repeated.prior = GaussianProcess{x, process.kernel};
    repeated.sites = {once.sites[0]->with(y, {})};
    Model weighted = once;
    weighted.weights = counts;
    const std::vector<Method> methods =
        likelihood == std::string_view("multinomial-probit")
            ? std::vector<Method>{Ep{.tolerance = 1e-10}, Ep{.tolerance = 1e-10, .inner = EpInner::incremental}, Vmf{}}
            : std::vector<Method>{Laplace{}, Kl{.covariance = "full"}};
    for (const Method& method : methods) {
      const Posterior a = infer(weighted, method);
      const Posterior b = infer(repeated, method);
      ASSERT_TRUE(a.report().converged()) << a.report().brief();
      ASSERT_TRUE(b.report().converged()) << b.report().brief();
      EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-7) << likelihood;
      EXPECT_NEAR(a.gradient().at("kernel.signal_sd"), b.gradient().at("kernel.signal_sd"), 1e-6) << likelihood;
      // A warm start knows that its sites are those of several copies.
      EXPECT_LE(infer(weighted, method, {.warm_start = &a}).report().iterations, 1);
    }
  }
  // Shares of rows are refused by name.
  Model part = class_model(9, 3, 1.4, 3, "multinomial-probit");
  part.weights = Vector::Ones(9);
  part.weights(3) = 0.5;
  EXPECT_THROW((void)infer(part, Ep{}), InvalidOption);
}

TEST(Classes, TwoClassesUnderTheExpectationItselfAreTheBinaryBound) {
  const Model model = class_model(15, 2, 1.2, 11);
  Vector y = model.sites[0]->responses();
  for (double& label : y) label = label > 0.5 ? 1.0 : -1.0;
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Model binary{.prior = GaussianProcess{process.inputs, make_kernel("se", {{"signal_sd", {1.2 * std::sqrt(2.0)}},
                                                                                 {"lengthscale", {1.1}}})},
                     .sites = {observe("bernoulli-logit", y)}};
  const Posterior q = infer(model, Kl{.expectation = KlExpectation::quadrature});
  const Posterior b = infer(binary, Kl{});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.log_evidence().value, b.log_evidence().value, 1e-8);
  EXPECT_EQ(q.log_evidence().kind, EvidenceKind::estimate);
  EXPECT_LT(q.log_evidence().standard_error.value(), 1e-7);
  for (Index n = 0; n < 15; ++n)
    EXPECT_NEAR(q.latent().mean(2 * n + 1) - q.latent().mean(2 * n), b.latent().mean(n), 1e-7);
  EXPECT_THROW((void)infer(binary, Kl{.expectation = KlExpectation::quadrature}), InvalidOption);
}

TEST(Classes, TheExpectationItselfGivesTheTighterBound) {
  for (const Index c : {3, 5}) {
    const Model model = class_model(12, c, 2.0, 13);
    const Posterior closed = infer(model, Kl{.covariance = "full"});
    const double log_zb = class_bounds(closed).log_zb;
    for (const char* covariance : {"full", "structured"}) {
      const Posterior q = infer(model, Kl{.covariance = covariance, .expectation = KlExpectation::quadrature});
      ASSERT_TRUE(q.report().converged()) << q.report().brief();
      const double error = 4.0 * q.log_evidence().standard_error.value() + (c == 3 ? 1e-7 : 12 * 1e-4);
      EXPECT_GT(q.log_evidence().value, closed.log_evidence().value);
      EXPECT_GE(q.log_evidence().value, log_zb - error);
      EXPECT_NEAR(q.log_evidence().value, log_zb, 0.05);
      EXPECT_NEAR(class_bounds(q).log_zb, q.log_evidence().value, error);
    }
  }
  expect_gradient(class_model(10, 3, 1.3, 7), Kl{.tolerance = 1e-10, .expectation = KlExpectation::quadrature}, 2e-6);
  // With points the gradient is that of the expectation, and the differences those of the average.
  expect_gradient(class_model(10, 5, 1.3, 7), Kl{.tolerance = 1e-10, .expectation = KlExpectation::quadrature}, 1e-2);
}

TEST(Classes, WarmStartsEndWhereColdOnesDo) {
  for (const Method& method : {Method(Laplace{}), Method(Kl{}), Method(Kl{.covariance = "structured"})}) {
    const Posterior first = infer(class_model(12, 3, 1.0, 4), method);
    const Model model = class_model(12, 3, 1.1, 4);
    const Posterior cold = infer(model, method);
    const Posterior warm = infer(model, method, {.warm_start = &first});
    EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-7);
    // From its own end a search has nothing left to do.
    EXPECT_LE(infer(model, method, {.warm_start = &cold}).report().iterations, 1) << name_of(method);
    EXPECT_LE(warm.report().iterations, cold.report().iterations);
  }
  const Posterior first = infer(class_model(12, 3, 1.0, 4, "multinomial-probit"), Ep{});
  const Model model = class_model(12, 3, 1.1, 4, "multinomial-probit");
  EXPECT_NEAR(infer(model, Ep{}, {.warm_start = &first}).log_evidence().value, infer(model, Ep{}).log_evidence().value,
              1e-8);
}

TEST(Classes, LinearModelsAreProcessesWithALinearKernel) {
  Random random(3);
  Matrix h(40, 3);
  for (double& value : h.reshaped()) value = random.normal();
  const Vector y = class_labels(h, 3, 5);
  const SiteArguments three{{"classes", one(3)}};
  const Model weights{.prior = Isotropic{Vector::Zero(3), 1.5},
                      .design = h,
                      .sites = {observe("multinomial-logit", y, three)},
                      .latents = {.count = 3}};
  const Model dense{.prior = DenseGaussian{Vector::Zero(40), Matrix(1.5 * h * h.transpose())},
                    .sites = {observe("multinomial-logit", y, three)},
                    .latents = {.count = 3}};
  EXPECT_THROW((void)infer(dense, Laplace{}), InvalidModel);
  const Model process{.prior = GaussianProcess{h, make_kernel("linear", {{"signal_sd", {std::sqrt(1.5)}}})},
                      .sites = {observe("multinomial-logit", y, three)},
                      .latents = {.count = 3}};
  for (const Method& method : {Method(Laplace{}), Method(Kl{})}) {
    const Posterior a = infer(weights, method);
    const Posterior b = infer(process, method);
    ASSERT_TRUE(a.report().converged()) << a.report().brief();
    EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-7);
    EXPECT_EQ(a.weights().mean.size(), 9);
  }
  expect_gradient(weights, Laplace{.tolerance = 1e-11}, 2e-6);
}

TEST(Classes, MistakesAreNamed) {
  Model model = class_model(5, 3, 1.0);
  EXPECT_THROW((void)infer(model, Vb{}), InvalidOption);
  EXPECT_THROW((void)infer(model, Ep{}), InvalidOption);
  EXPECT_THROW((void)infer(model, Kl{.covariance = "diagonal"}), InvalidOption);
  model.latents.count = 4;
  EXPECT_THROW((void)infer(model, Laplace{}), InvalidModel);
  EXPECT_THROW((void)observe("multinomial-logit", (Vector(2) << 0, 3).finished(), {{"classes", one(3)}}), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
