// What a fit says beyond its marginals: the evidence, rows seen from the others, and f under q.

#include "base/parallel_blocks.hpp"
#include "linalg/dense.hpp"
#include "network/activation.hpp"
#include "network/factors.hpp"
#include "network/network_fit.hpp"
#include "network/output_moments.hpp"
#include "numerics/special.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index noise_nodes = 15;

Normal entry(const Marginals& q, Index i) { return {q.mean(i), q.variance(i)}; }

/// Psi(cavity) - Psi(q) of one site in one marginal; 0 where its cavity is none.
double leaving(const Normal& marginal, double precision, double shift) {
  Normal cavity;
  (void)without(marginal, precision, shift, cavity);
  return psi_difference(cavity, marginal);
}

}  // namespace

double NetworkFit::log_evidence() const {
  const NetworkPrior& prior = problem_->prior;
  const Index n = problem_->row_count();
  double blocks = 0.0, sites = 0.0;

  for (const NetworkUnit& unit : units_)
    blocks += unit.law.log_integral() + 0.5 * std::log(unit.constant_precision) - log_sqrt_two_pi;
  if (hidden() > 0) {
    Matrix lower = output_covariance_;
    if (!cholesky(lower)) return -std::numeric_limits<double>::infinity();
    const Vector shift = direction_.transpose() * output_sites.shift + output_prior.shift;
    blocks +=
        static_cast<double>(hidden()) * log_sqrt_two_pi + half_log_determinant(lower) + 0.5 * shift.dot(output_mean_);
  }
  if (prior.scale_prior.sd > 0.0) {
    std::vector<std::pair<double, double>> sums(log_scales_.size());
    for (const NetworkUnit& unit : units_)
      for (std::size_t j = 0; j < unit.scale.size(); ++j) {
        auto& [precision, shift] = sums[static_cast<std::size_t>(unit.scale[j])];
        precision += unit.log_scales.precision(static_cast<Index>(j));
        shift += unit.log_scales.shift(static_cast<Index>(j));
      }
    for (const auto& [precision, shift] : sums)
      blocks += PriorTimesFactors(prior.scale_prior, precision, shift).log_integral(prior.scale_prior);
  }
  const bool noise_unknown = noisy_outputs_ != nullptr && prior.noise_prior.sd > 0.0;
  if (noise_unknown)
    blocks += PriorTimesFactors(prior.noise_prior, noise_sites.precision.sum(), noise_sites.shift.sum())
                  .log_integral(prior.noise_prior);

  Vector normaliser(n), slope(n), curvature(n);
  const Vector variance = output_variance();
  for_outputs_->slopes(0, view(mean_), view(variance), {view(normaliser), view(slope), view(curvature)});
  sites += normaliser.sum();
  for (Index i = 0; i < n; ++i) {
    for (const NetworkUnit& unit : units_)
      sites += leaving(entry(unit.law.activations(), i), power_ * unit.activations.precision(i),
                       power_ * unit.activations.shift(i));
    if (noise_unknown) sites += leaving(noise_, power_ * noise_sites.precision(i), power_ * noise_sites.shift(i));
    if (hidden() == 0) continue;
    const Normal along{direction_.row(i).dot(output_mean_), direction_.row(i).dot(reach_.row(i))};
    if (along.variance > 0.0)
      sites += leaving(along, power_ * output_sites.precision(i), power_ * output_sites.shift(i));
  }
  for (const NetworkUnit& unit : units_)
    for (std::size_t at = 0; at < unit.scale.size(); ++at) {
      const auto j = static_cast<Index>(at);
      const Normal& phi = log_scales_[static_cast<std::size_t>(unit.scale[at])];
      const Normal weight{unit.law.mean()(j), unit.law.variance()(j)};
      Normal weight_cavity, scale_cavity;
      (void)without(weight, power_ * unit.weights.precision(j), power_ * unit.weights.shift(j), weight_cavity);
      (void)without(phi, power_ * unit.log_scales.precision(j), power_ * unit.log_scales.shift(j), scale_cavity);
      sites += tilted_weight(problem_->laplace(), weight_cavity, scale_cavity, power_).log_normaliser +
               psi_difference(weight_cavity, weight);
      if (prior.scale_prior.sd > 0.0) sites += psi_difference(scale_cavity, phi);
    }
  for (Index k = 0; k < hidden(); ++k) {
    const Normal v{output_mean_(k), output_covariance_(k, k)};
    Normal cavity;
    (void)without(v, power_ * output_prior.precision(k), power_ * output_prior.shift(k), cavity);
    sites += tilted_output_weight(cavity, prior.output_scale, prior.output_degrees, power_).log_normaliser +
             psi_difference(cavity, v);
  }
  return blocks + sites / power_;
}

LeaveOneOut NetworkFit::leave_one_out() const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Index n = problem_->row_count();
  Matrix g_mean(n, hidden()), g_variance(n, hidden());
  Marginals linear{Vector(n), Vector(n)};
  std::vector<bool> proper(static_cast<std::size_t>(n), true);
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const NetworkUnit& unit = units_[k];
    Vector mean(n), variance(n);
    for (Index i = 0; i < n; ++i) {
      Normal cavity;
      if (!without(entry(unit.law.activations(), i), unit.activations.precision(i), unit.activations.shift(i), cavity))
        proper[static_cast<std::size_t>(i)] = false;
      mean(i) = cavity.mean;
      variance(i) = cavity.variance;
    }
    if (k == 0) {
      linear = {std::move(mean), std::move(variance)};
      continue;
    }
    const auto column = static_cast<Index>(k) - 1;
    activation_moments(view(std::as_const(mean)), view(std::as_const(variance)),
                       Span(g_mean.col(column).data(), static_cast<std::size_t>(n)),
                       Span(g_variance.col(column).data(), static_cast<std::size_t>(n)));
  }
  const OutputCavity outputs = output_cavity(1.0);
  LeaveOneOut out{output_moments({g_mean, g_variance}, output_mean_, output_covariance_, linear), Vector(n)};
  for (Index i = 0; i < n && hidden() > 0; ++i) {
    // The rest that a row's own site takes out of q(v): S += ratio a a', m += move a.
    const auto a = reach_.row(i);
    const double along = a.dot(g_mean.row(i));
    out.latent.mean(i) += outputs.move(i) * along;
    out.latent.variance(i) += outputs.ratio(i) * along * along;
    for (Index k = 0; k < hidden(); ++k) {
      const double m = output_mean_(k), moved = outputs.move(i) * a(k);
      out.latent.variance(i) += (moved * (2.0 * m + moved) + outputs.ratio(i) * a(k) * a(k)) * g_variance(i, k);
    }
    if (output_sites.precision(i) * direction_.row(i).dot(a) >= 1.0 - least_share)
      proper[static_cast<std::size_t>(i)] = false;
  }
  if (problem_->offset.size() > 0) out.latent.mean += problem_->offset;

  Vector slope(n), curvature(n);
  const OutputSlopes slopes{view(out.log_density), view(slope), view(curvature)};
  if (noisy_outputs_ == nullptr) {
    CatalogueOutput(problem_->sites, 1.0).slopes(0, view(out.latent.mean), view(out.latent.variance), slopes);
  } else {
    NoisyOutput law(problem_->sites->responses(), 1.0, noise_.variance > 0.0 ? noise_nodes : 1);
    Vector mean(n), spread(n);
    for (Index i = 0; i < n; ++i) {
      Normal cavity;
      if (!without(noise_, noise_sites.precision(i), noise_sites.shift(i), cavity))
        proper[static_cast<std::size_t>(i)] = false;
      mean(i) = cavity.mean;
      spread(i) = cavity.variance;
    }
    law.set_noise(0, view(std::as_const(mean)), view(std::as_const(spread)), view(std::as_const(out.latent.mean)),
                  view(std::as_const(out.latent.variance)));
    law.slopes(0, view(out.latent.mean), view(out.latent.variance), slopes);
  }
  for (Index i = 0; i < n; ++i)
    if (!proper[static_cast<std::size_t>(i)] || !std::isfinite(out.log_density(i)))
      out.latent.mean(i) = out.latent.variance(i) = out.log_density(i) = none;
  return out;
}

Marginals NetworkFit::outputs() const {
  const Index n = problem_->row_count();
  ActivationMoments g{Matrix(n, hidden()), Matrix(n, hidden())};
  for (Index k = 0; k < hidden(); ++k) {
    const Marginals& h = units_[static_cast<std::size_t>(k) + 1].law.activations();
    activation_moments(view(h.mean), view(h.variance), Span(g.mean.col(k).data(), static_cast<std::size_t>(n)),
                       Span(g.variance.col(k).data(), static_cast<std::size_t>(n)));
  }
  Marginals out = output_moments(g, output_mean_, output_covariance_, units_.front().law.activations());
  if (problem_->offset.size() > 0) out.mean += problem_->offset;
  return out;
}

}  // namespace gaussmith
