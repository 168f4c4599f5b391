#include "mean_field_scales.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reproduce {
namespace {

gs::Vector lengthscale_of(const gs::Vector& theta) { return (0.5 * theta.array()).sqrt().matrix(); }

gs::Matrix covariance(const ClassPart& train, const gs::Vector& theta) {
  gs::Matrix k;
  unit_ard_kernel(lengthscale_of(theta))->gram(train.x, k);
  return k;
}

/// K + I = LLᵀ.
Eigen::LLT<gs::Matrix> factor_with_noise(const gs::Matrix& k) {
  return Eigen::LLT<gs::Matrix>(k + gs::Matrix::Identity(k.rows(), k.cols()));
}

/// Σ_c m_cᵀ(K + I)⁻¹m_c.
double fit(const Eigen::LLT<gs::Matrix>& factor, const gs::Matrix& m) {
  return factor.matrixL().solve(m).squaredNorm();
}

/// log p(y | m) over all rows; m + ∇ log p in `auxiliary`. Row n of m holds its C latents.
double auxiliary_means(const gs::SiteBlock& sites, const gs::Matrix& m, gs::Matrix& auxiliary) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const RowMajor eta = m;
  RowMajor slope(m.rows(), m.cols());
  gs::Vector value(m.rows());
  const auto span = [](auto& array) { return gs::Span(array.data(), static_cast<std::size_t>(array.size())); };
  sites.log_density(0, gs::ConstSpan(eta.data(), static_cast<std::size_t>(eta.size())),
                    {.value = span(value), .first = span(slope), .second = {}, .third = {}});
  auxiliary = m + slope;
  return value.sum();
}

/// The posterior mean of θ for functions m, by importance sampling from its prior.
gs::Vector mean_theta(const ClassPart& train, const gs::Matrix& m, const gs::Vector& prior_mean, int draws,
                      gs::Random& random) {
  const gs::Index inputs = prior_mean.size();
  gs::Matrix theta(inputs, draws);
  gs::Vector log_weight(draws);
  for (int l = 0; l < draws; ++l) {
    for (gs::Index d = 0; d < inputs; ++d) theta(d, l) = std::max(prior_mean(d) * random.exponential(), 1e-12);
    log_weight(l) = -0.5 * fit(factor_with_noise(covariance(train, theta.col(l))), m);
  }
  const gs::Vector weight = (log_weight.array() - log_weight.maxCoeff()).exp().matrix();
  return theta * weight / weight.sum();
}

}  // namespace

MeanFieldScales mean_field_scales(const ClassPart& train, gs::Index classes, const MeanFieldOptions& options) {
  gs::Random random(options.seed);
  const gs::Index rows = train.x.rows();
  gs::Vector theta = gs::Vector::Ones(train.x.cols());
  const gs::Sites sites = class_model("multinomial-probit", train, classes, unit_ard_kernel(theta)).sites[0];
  gs::Matrix auxiliary(rows, classes);
  for (double& a : auxiliary.reshaped()) a = random.normal();
  gs::Matrix k = covariance(train, theta);
  gs::Matrix m;
  double log_likelihood = 0.0;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    m = k * factor_with_noise(k).solve(auxiliary);
    log_likelihood = auxiliary_means(*sites, m, auxiliary);
    theta = mean_theta(train, m, theta, options.draws, random);
    k = covariance(train, theta);
  }
  const double constants = -0.5 * static_cast<double>((classes - 1) * rows) * std::log(2.0 * std::numbers::pi);
  return {.lengthscale = lengthscale_of(theta),
          .reported_bound = log_likelihood - 0.5 * fit(factor_with_noise(k), m) + constants};
}

}  // namespace reproduce
