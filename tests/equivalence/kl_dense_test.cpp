// The KL engine against a generic optimiser of the bound over (m, L), V = L L', that shares no code with it: dense
// matrices, plain sums for the expectations, L-BFGS from NLopt.

#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>
#include <nlopt.hpp>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// E[log t] = sum_k weight_k log t(m + s z_k) and its derivatives in m and s.
struct PlainSum {
  double value = 0.0, d_mean = 0.0, d_deviation = 0.0;
};
PlainSum plain_sum(const SiteBlock& block, Index row, double m, double s) {
  constexpr int half = 260;
  constexpr double step = 0.035;
  std::vector<double> eta;
  for (int k = -half; k <= half; ++k) eta.push_back(m + s * step * k);
  std::vector<double> value(eta.size());
  std::vector<double> first(eta.size());
  for (std::size_t k = 0; k < eta.size(); ++k)
    block.log_density(row, {&eta[k], 1}, {.value = {&value[k], 1}, .first = {&first[k], 1}, .second = {}, .third = {}});
  PlainSum sum;
  for (std::size_t k = 0; k < eta.size(); ++k) {
    const double z = step * (static_cast<double>(k) - half);
    const double weight = step * std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    sum.value += weight * value[k];
    sum.d_mean += weight * first[k];
    sum.d_deviation += weight * z * first[k];
  }
  return sum;
}

struct DenseBound {
  const Model& model;
  Vector prior_mean;
  Matrix prior_precision;  // Zero without a Gaussian factor.
  double log_norm;         // log of the prior's normaliser; 0 without one.
  bool proper;

  /// The bound at (m, lower triangle of L with log diagonal), and its gradient.
  double operator()(const std::vector<double>& x, std::vector<double>& gradient) const {
    const Index d = model.dimension();
    const auto& h = *model.design.entries().dense;
    Vector m(d);
    Matrix l = Matrix::Zero(d, d);
    std::size_t at = 0;
    for (Index i = 0; i < d; ++i) m(i) = x[at++];
    for (Index i = 0; i < d; ++i)
      for (Index j = 0; j <= i; ++j) l(i, j) = i == j ? std::exp(x[at++]) : x[at++];
    double bound = log_norm + l.diagonal().array().log().sum() +
                   0.5 * static_cast<double>(d) * (1.0 + std::log(2 * std::numbers::pi));
    Vector dm = Vector::Zero(d);
    Matrix dl = Matrix::Zero(d, d);
    if (proper) {
      const Vector r = m - prior_mean;
      bound -= 0.5 * r.dot(prior_precision * r) + 0.5 * (l.transpose() * prior_precision * l).trace();
      dm -= prior_precision * r;
      dl -= prior_precision * l;
    }
    Index row = 0;
    for (const Sites& block : model.sites)
      for (Index n = 0; n < block->size(); ++n, ++row) {
        const Vector row_n = h.row(row).transpose();
        const Vector lh = l.transpose() * row_n;
        const double s = lh.norm();
        const double offset = model.offset.size() > 0 ? model.offset(row) : 0.0;
        const PlainSum e = plain_sum(*block, n, row_n.dot(m) + offset, s);
        bound += e.value;
        dm += e.d_mean * row_n;
        dl += e.d_deviation / s * row_n * lh.transpose();
      }
    if (!gradient.empty()) {
      at = 0;
      for (Index i = 0; i < d; ++i) gradient[at++] = dm(i);
      for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j) gradient[at++] = i == j ? dl(i, i) * l(i, i) + 1.0 : dl(i, j);
    }
    return bound;
  }
};

double objective(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  return (*static_cast<const DenseBound*>(data))(x, gradient);
}

void expect_same_optimum(const Model& model, double tolerance) {
  const Index d = model.dimension();
  DenseBound bound{model, Vector::Zero(d), Matrix::Zero(d, d), 0.0, false};
  if (const auto* prior = std::get_if<DenseGaussian>(&model.prior)) {
    bound.prior_mean = prior->mean;
    bound.prior_precision = dense_inverse(prior->covariance);
    bound.log_norm = -0.5 * std::log(dense_determinant(2 * std::numbers::pi * *prior->covariance));
    bound.proper = true;
  }
  std::vector<double> x(static_cast<std::size_t>(d + d * (d + 1) / 2), 0.0);
  nlopt::opt optimiser(nlopt::LD_LBFGS, static_cast<unsigned>(x.size()));
  optimiser.set_max_objective(objective, &bound);
  optimiser.set_ftol_rel(1e-15);
  optimiser.set_maxeval(2000);
  double best = 0.0;
  try {
    optimiser.optimize(x, best);
  } catch (const nlopt::roundoff_limited&) {  // As far as doubles go.
    best = optimiser.last_optimum_value();
  } catch (const std::runtime_error&) {
    best = optimiser.last_optimum_value();
  }
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    if (!bound.proper && form == CoreForm::covariance) continue;
    const Posterior q = infer(model, Kl{}, {.form = form});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_NEAR(q.log_evidence().value, best, tolerance * (1 + std::abs(best)));
    const Vector m = Eigen::Map<const Vector>(x.data(), d);
    EXPECT_LT((q.weights().mean - m).lpNorm<Eigen::Infinity>(), 1e-4);
  }
}

Model dense_model(const std::string& likelihood, std::uint64_t seed) {
  Model model = linear_model(likelihood, 9, 3, seed);
  Matrix covariance = random_covariance(3, 3, seed + 7);
  covariance.diagonal().array() += 0.2;
  model.prior = DenseGaussian{0.3 * random_vector(3, seed + 8), covariance};
  return model;
}

TEST(KlAgainstADenseOptimiser, SmoothLogConcaveSites) {
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.methods.empty()) continue;  // Several latents.
    if (!info.traits.smooth || !info.traits.log_concave) continue;
    SCOPED_TRACE(info.traits.name);
    for (std::uint64_t seed = 1; seed <= 2; ++seed) expect_same_optimum(dense_model(info.traits.name, seed), 1e-9);
  }
}

TEST(KlAgainstADenseOptimiser, MixedSitesAndNoGaussianFactor) {
  Model mixed = dense_model("bernoulli-logit", 3);
  mixed.sites = {random_sites("bernoulli-logit", 4, 1), random_sites("poisson", 5, 2)};
  expect_same_optimum(mixed, 1e-9);
  Model none = mixed;
  none.prior = NoGaussian{3};
  Matrix h(12, 3);
  h << *mixed.design.entries().dense, Matrix::Identity(3, 3);
  none.design = h;
  none.offset = {};
  none.sites.push_back(observe("gaussian", Vector::Zero(3), {{"variance", one(2.0)}}));
  expect_same_optimum(none, 1e-9);
}

}  // namespace
}  // namespace gaussmith
