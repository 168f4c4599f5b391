// Variational mean field of scalar sites: against vb, against its definition, against the posterior mode.

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

/// The response of each kind at the same latents.
Model of(const std::string& likelihood, std::uint64_t seed = 4) { return process_model(likelihood, 24, seed); }

void expect_monotone(const Posterior& q) {
  const auto& history = q.report().history;
  for (std::size_t i = 1; i < history.size(); ++i)
    EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-11 * (1.0 + std::abs(history[i].objective)));
}

TEST(Vmf, EqualsVbForScaleMixtures) {
  for (const char* likelihood :
       {"student-t", "cauchy", "laplace", "bernoulli-logit", "binomial-logit", "negative-binomial", "gaussian"}) {
    SCOPED_TRACE(likelihood);
    const Model model = of(likelihood);
    const Posterior vb = infer(model, Vb{.tolerance = 1e-10});
    const Posterior vmf = infer(model, Vmf{.tolerance = 1e-10});
    ASSERT_TRUE(vmf.report().converged()) << vmf.report().brief();
    EXPECT_NEAR(vmf.log_evidence().value, vb.log_evidence().value, 1e-8);
    EXPECT_LT((vmf.latent().mean - vb.latent().mean).lpNorm<Eigen::Infinity>(), 1e-7);
    expect_monotone(vmf);
    const Posterior kl = infer(model, Kl{});
    EXPECT_GE(kl.log_evidence().value, vmf.log_evidence().value - 1e-9);
  }
}

TEST(Vmf, ProbitMeanIsTheMode) {
  const Model model = of("bernoulli-probit");
  const Posterior vmf = infer(model, Vmf{.tolerance = 1e-12});
  const Posterior mode = infer(model, Laplace{.tolerance = 1e-12});
  EXPECT_LT((vmf.latent().mean - mode.latent().mean).lpNorm<Eigen::Infinity>(), 1e-8);
  EXPECT_TRUE(vmf.site_approximation().precision.isApproxToConstant(1.0, 1e-12));
  const Posterior kl = infer(model, Kl{});
  EXPECT_GT(kl.log_evidence().value, vmf.log_evidence().value);
}

/// The mean field of Student-t rows from its definition, E[log joint] + entropies, at any q(w) = N(m, V) and the best
/// q(phi): E log N(y | eta, phi) - KL(q(phi) | prior) summed, less KL(q(w) | prior).
double student_bound(const Model& model, const Posterior& q, const Vector& m, const Matrix& v) {
  const auto& prior = std::get<Isotropic>(model.prior);
  const auto& h = *model.design.entries().dense;
  const double nu = 3.5;
  const double scale = 0.4;
  const Vector y = model.sites[0]->responses();
  const auto& scales = *q.scales();
  double bound = 0.0;
  for (Index n = 0; n < y.size(); ++n) {
    const Vector row = h.row(n);
    const double off = y(n) - row.dot(m) - (model.offset.size() > 0 ? model.offset(n) : 0.0);
    const double a0 = 0.5 * nu;
    const double b0 = 0.5 * nu * scale * scale;
    const double a = scales.shape(n);
    const double b = scales.rate(n);
    // E[log phi] by differences of log Gamma.
    const double digamma = (std::lgamma(a + 1e-5) - std::lgamma(a - 1e-5)) / 2e-5;
    const double log_phi = std::log(b) - digamma;
    const double precision = a / b;
    bound += -0.5 * std::log(2.0 * std::numbers::pi) - 0.5 * log_phi - 0.5 * precision * (off * off + row.dot(v * row));
    bound -=
        (a - a0) * digamma - std::lgamma(a) + std::lgamma(a0) + a0 * (std::log(b) - std::log(b0)) + a * (b0 - b) / b;
  }
  const auto d = static_cast<double>(m.size());
  bound -= 0.5 * (v.trace() / prior.variance + (m - prior.mean).squaredNorm() / prior.variance - d +
                  d * std::log(prior.variance) - std::log(dense_determinant(v)));
  return bound;
}

TEST(Vmf, BoundFromItsDefinition) {
  const Model model = linear_model("student-t", 20, 3, 8);
  const Posterior q = infer(model, Vmf{.tolerance = 1e-12});
  ASSERT_TRUE(q.scales().has_value());
  const auto& prior = std::get<Isotropic>(model.prior);
  const auto& h = *model.design.entries().dense;
  const Matrix t = Matrix(q.scales()->mean_precision.asDiagonal());
  const Matrix v = dense_inverse(Matrix::Identity(3, 3) / prior.variance + dense_transposed_product(h, t * h));
  EXPECT_NEAR(student_bound(model, q, q.weights().mean, v), q.log_evidence().value, 1e-7);
  // The scales are the precisions of the sites.
  EXPECT_LT((q.scales()->mean_precision - q.site_approximation().precision).lpNorm<Eigen::Infinity>(), 1e-8);
}

TEST(Vmf, OneSiteAtATimeEndsInTheSamePlace) {
  Model model = of("laplace");
  for (const char* likelihood : {"laplace", "bernoulli-logit", "bernoulli-probit"}) {
    SCOPED_TRACE(likelihood);
    model.sites = {random_sites(likelihood, 24, 6)};
    const Posterior parallel = infer(model, Vmf{});
    const Posterior sequential = infer(model, Vmf{.tolerance = 1e-7, .order = VmfOrder::sequential});
    ASSERT_TRUE(sequential.report().converged()) << sequential.report().brief();
    EXPECT_NEAR(sequential.log_evidence().value, parallel.log_evidence().value, 1e-8);
    EXPECT_LT((sequential.latent().mean - parallel.latent().mean).lpNorm<Eigen::Infinity>(), 1e-5);
    expect_monotone(sequential);
  }
}

TEST(Vmf, MixedRows) {
  Model model = process_model("gaussian", 24, 9);
  model.sites = {random_sites("gaussian", 6, 1), random_sites("bernoulli-probit", 8, 2),
                 random_sites("student-t", 5, 3), random_sites("bernoulli-logit", 5, 4)};
  const Posterior q = infer(model, Vmf{.tolerance = 1e-11});
  ASSERT_TRUE(q.report().converged());
  EXPECT_GE(infer(model, Kl{}).log_evidence().value, q.log_evidence().value);
  EXPECT_TRUE(std::isnan(q.scales()->shape(0)));
  EXPECT_EQ(q.scales()->shape(14), 0.5 * (3.5 + 1.0));
  // Gaussian and probit rows have no scale to learn; logistic ones have a mean precision, tanh(xi/2) / (2 xi).
  EXPECT_FALSE(q.scales()->mean_precision.head(14).array().isFinite().any());
  EXPECT_FALSE(q.scales()->shape.tail(5).array().isFinite().any());
  EXPECT_FALSE(q.scales()->rate.tail(5).array().isFinite().any());
  for (Index n = 19; n < 24; ++n) {
    const double xi = std::sqrt(q.latent().mean(n) * q.latent().mean(n) + q.latent().variance(n));
    EXPECT_NEAR(q.scales()->mean_precision(n), std::tanh(0.5 * xi) / (2.0 * xi), 1e-12);
  }
  expect_evidence_gradient(model, Vmf{.tolerance = 1e-11});
}

TEST(Vmf, OutliersHaveSmallPrecisions) {
  for (const char* likelihood : {"student-t", "cauchy", "laplace"}) {
    SCOPED_TRACE(likelihood);
    Model model = process_model(likelihood, 20, 5);
    Vector y = model.sites[0]->responses();
    y(7) += 8.0;
    model.sites = {model.sites[0]->with(y, {})};
    const Posterior q = infer(model, Vmf{});
    Index least = 0;
    q.scales()->mean_precision.minCoeff(&least);
    EXPECT_EQ(least, 7);
  }
}

TEST(Vmf, MeanPrecisionsAreThoseOfOneCopyOfARow) {
  // E[1/phi] = 1/(b xi) of a Laplace row: q(phi) is a generalised inverse Gaussian.
  Model model = process_model("laplace", 20, 5);
  model.weights = Vector::LinSpaced(20, 0.5, 3.0);
  const Posterior q = infer(model, Vmf{.tolerance = 1e-11});
  ASSERT_TRUE(q.scales().has_value());
  EXPECT_FALSE(q.scales()->shape.array().isFinite().any());
  const Vector off = q.latent().mean - model.sites[0]->responses();
  const Vector expected = (0.6 * (off.cwiseAbs2() + q.latent().variance).cwiseSqrt()).cwiseInverse();
  EXPECT_LT((q.scales()->mean_precision - expected).cwiseQuotient(expected).lpNorm<Eigen::Infinity>(), 1e-12);
  EXPECT_LT((model.weights.cwiseProduct(expected) - q.site_approximation().precision).lpNorm<Eigen::Infinity>(), 1e-8);
}

TEST(Vmf, Refuses) {
  EXPECT_THROW((void)infer(of("poisson"), Vmf{}), InvalidOption);
  CustomLikelihood custom;
  custom.bound = [](double x, double) { return std::array<double, 2>{-std::sqrt(1.0 + x), -0.5 / std::sqrt(1.0 + x)}; };
  Model model = of("gaussian");
  model.sites = {observe(custom, model.sites[0]->responses())};
  EXPECT_THROW((void)infer(model, Vmf{}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
