#include "sites/nested_probit.hpp"

#include "numerics/other_class.hpp"
#include "numerics/special.hpp"
#include "sites/half_line.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gaussmith {

namespace {

/// Sweeps without a smaller residual before the steps are halved, and before rounding is all that is left.
constexpr int patience = 6;
constexpr int most_idle_sweeps = 24;

struct Cavity {
  double mean, variance;
};

/// The Gaussian factor that turns the cavity into one with the moments of cavity times Phi.
struct ProbitSite {
  double precision, shift;
  double log_normaliser;  // Of cavity times Phi.
  double mean, variance;  // Of cavity times Phi.
};

/// With z = m/sqrt(1 + v), r = phi/Phi at z and q the variance of N(z, 1) cut at zero, 1 - r (z + r): tau = (1 - q)/(1
/// + vq), so that nothing cancels for z -> -inf, where q vanishes.
ProbitSite matching_site(const Cavity& cavity) {
  const double v = cavity.variance;
  const double spread = std::sqrt(1.0 + v);
  const double z = cavity.mean / spread;
  const LogNdtrDerivatives f = log_ndtr_derivatives(z);
  const HalfLineMoments half = half_line_moments(z);
  const double kept = 1.0 + v * half.variance;
  const double precision = -f.second / kept;
  const double mean = z < 0.0 ? cavity.mean / (1.0 + v) + v * half.mean / spread : cavity.mean + v * f.first / spread;
  return {precision, cavity.mean * precision + f.first * spread / kept, f.value, mean, v * kept / (1.0 + v)};
}

/// log of the integral of cavity times exp(shift s - precision s^2/2).
double log_site_integral(const Cavity& cavity, double precision, double shift) {
  const double pull = shift - precision * cavity.mean;
  const double stretch = 1.0 + precision * cavity.variance;
  return -0.5 * std::log1p(precision * cavity.variance) + cavity.mean * (shift - 0.5 * precision * cavity.mean) +
         0.5 * pull * pull * cavity.variance / stretch;
}

}  // namespace

struct NestedProbit::Work {
  explicit Work(Index size)
      : classes(size),
        prior_mean(size - 1),
        prior(size - 1, size - 1),
        root(size - 1),
        scaled(size - 1, size - 1),
        factor(size - 1),
        covariance(size - 1, size - 1),
        mean(size - 1),
        column(size - 1) {}

  void refresh(const Eigen::Ref<const Vector>& tau, const Eigen::Ref<const Vector>& nu);
  [[nodiscard]] Cavity cavity(Index j, double tau, double nu) const;
  void sweep(Eigen::Ref<Vector> tau, Eigen::Ref<Vector> nu, double damping);
  [[nodiscard]] double residual(const Eigen::Ref<const Vector>& tau, const Eigen::Ref<const Vector>& nu) const;

  Index classes;
  Vector prior_mean;  // Of s under f ~ N(m, V), u ~ N(0, 1).
  Matrix prior;
  Vector root;
  Matrix scaled;
  Eigen::LLT<Matrix> factor;  // Of I + tau^1/2 prior tau^1/2.
  Matrix covariance;          // Of s with all sites.
  Vector mean, column;
};

/// W = S - S tau^1/2 B^-1 tau^1/2 S, B = I + tau^1/2 S tau^1/2, for any positive semidefinite S.
void NestedProbit::Work::refresh(const Eigen::Ref<const Vector>& tau, const Eigen::Ref<const Vector>& nu) {
  root = tau.cwiseMax(0.0).cwiseSqrt();
  scaled = root.asDiagonal() * prior * root.asDiagonal();
  scaled.diagonal().array() += 1.0;
  factor.compute(scaled);
  scaled = root.asDiagonal() * prior;
  factor.matrixL().solveInPlace(scaled);
  covariance = prior;
  covariance.noalias() -= scaled.transpose() * scaled;
  column = nu - tau.cwiseProduct(prior_mean);
  mean = prior_mean;
  mean.noalias() += covariance * column;
}

Cavity NestedProbit::Work::cavity(Index j, double tau, double nu) const {
  const double v = covariance(j, j);
  const double left = 1.0 - tau * v;
  if (!(left > 0.0)) return {0.0, -1.0};
  return {(mean(j) - nu * v) / left, v / left};
}

void NestedProbit::Work::sweep(Eigen::Ref<Vector> tau, Eigen::Ref<Vector> nu, double damping) {
  for (Index j = 0; j < classes - 1; ++j) {
    const Cavity without = cavity(j, tau(j), nu(j));
    if (!(without.variance > 0.0))
      continue;  // Rounding took what is left without the site; the next sweep may do better.
    const ProbitSite site = matching_site(without);
    const double more = damping * (site.precision - tau(j));
    const double push = damping * (site.shift - nu(j));
    const double stretch = 1.0 + more * covariance(j, j);
    if (!(stretch > 0.0)) continue;
    column = covariance.col(j);
    mean += column * ((push - more * mean(j)) / stretch);
    covariance.noalias() -= (more / stretch) * column * column.transpose();
    tau(j) += more;
    nu(j) += push;
  }
}

double NestedProbit::Work::residual(const Eigen::Ref<const Vector>& tau, const Eigen::Ref<const Vector>& nu) const {
  double largest = 0.0;
  for (Index j = 0; j < classes - 1; ++j) {
    const Cavity without = cavity(j, tau(j), nu(j));
    if (!(without.variance > 0.0)) return 1.0;
    const ProbitSite site = matching_site(without);
    const double v = covariance(j, j);
    largest = std::max({largest, std::abs(site.mean - mean(j)) / std::sqrt(v), std::abs(site.variance - v) / v});
  }
  return largest;
}

NestedProbit::NestedProbit(Index classes) : work_(std::make_unique<Work>(classes)) { assert(classes >= 2); }
NestedProbit::~NestedProbit() = default;
NestedProbit::NestedProbit(NestedProbit&&) noexcept = default;
NestedProbit& NestedProbit::operator=(NestedProbit&&) noexcept = default;

NestedProbit::Result NestedProbit::fit(Index label, ConstSpan mean, ConstSpan covariance, const Stop& stop,
                                       const Inner& inner, const Out& out) {
  Work& w = *work_;
  const Index classes = w.classes;
  const Index size = classes - 1;
  const Eigen::Map<const Vector> m(mean.data(), classes);
  const Eigen::Map<const Matrix> v(covariance.data(), classes, classes);
  assert(static_cast<Index>(mean.size()) == classes && static_cast<Index>(covariance.size()) == classes * classes);
  for (Index j = 0; j < size; ++j) {
    const Index a = other_class(j, label);
    w.prior_mean(j) = m(label) - m(a);
    for (Index k = 0; k < size; ++k) {
      const Index b = other_class(k, label);
      w.prior(j, k) = 1.0 + ((v(label, label) - v(label, b)) - (v(a, label) - v(a, b)));
    }
  }
  Eigen::Map<Vector> tau(inner.precision.data(), size);
  Eigen::Map<Vector> nu(inner.shift.data(), size);
  w.refresh(tau, nu);
  double residual = w.residual(tau, nu);
  double best = residual;
  double damping = 1.0;
  int sweeps = 0, idle = 0;
  while (sweeps < stop.sweeps && residual > stop.residual && idle < most_idle_sweeps) {
    w.sweep(tau, nu, damping);
    ++sweeps;
    w.refresh(tau, nu);
    residual = w.residual(tau, nu);
    idle = sweeps == 1 || residual < best ? 0 : idle + 1;
    if (idle > 0 && idle % patience == 0) damping *= 0.5;
    best = sweeps == 1 ? residual : std::min(best, residual);
  }
  double matched = 0.0;
  for (Index j = 0; j < size; ++j) {
    const Cavity without = w.cavity(j, tau(j), nu(j));
    if (without.variance > 0.0)
      matched += matching_site(without).log_normaliser - log_site_integral(without, tau(j), nu(j));
  }
  const double total = 1.0 + tau.sum();
  const double pulled = nu.sum();
  const double constant = 0.5 * pulled * pulled / total - 0.5 * std::log(total) + matched;
  w.column = nu - tau.cwiseProduct(w.prior_mean);
  double log_site = w.prior_mean.dot(nu - 0.5 * tau.cwiseProduct(w.prior_mean));
  log_site += 0.5 * w.column.dot(w.covariance * w.column);
  for (Index j = 0; j < size; ++j) log_site -= std::log(w.factor.matrixLLT()(j, j));
  if (!out.star.empty()) {
    Eigen::Map<Vector> star(out.star.data(), classes);
    star(label) = 1.0;
    for (Index j = 0; j < size; ++j) star(other_class(j, label)) = tau(j);
  }
  if (!out.shift.empty()) {
    Eigen::Map<Vector> shift(out.shift.data(), classes);
    shift(label) = 0.0;
    for (Index j = 0; j < size; ++j) {
      const double push = nu(j) - tau(j) * pulled / total;
      shift(other_class(j, label)) = -push;
      shift(label) += push;
    }
  }
  return {log_site + matched, constant, residual, sweeps};
}

}  // namespace gaussmith
