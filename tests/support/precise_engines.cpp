#include "support/precise_engines.hpp"

#include "gaussmith/random.hpp"

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>

namespace gaussmith::testing {

namespace {

constexpr int most_iterations = 400;
const Precise goal("1e-30");

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// The Gaussian with prior N(mean, K) and sites exp(nu eta - tau eta^2 / 2), tau >= 0, by B = I + T^1/2 K T^1/2.
struct SiteGaussian {
  PreciseVector mean, variance, dual;  // dual = K^-1 (mean - prior mean).
  Precise half_log_det;                // 1/2 log|I + K T|.
  PreciseMatrix lower;                 // Of B.
  PreciseVector root;                  // T^1/2.
};

SiteGaussian site_gaussian(const PrecisePrior& prior, const PreciseVector& tau, const PreciseVector& nu) {
  const Index n = prior.rows.rows();
  SiteGaussian q;
  for (const Precise& t : tau) q.root.push_back(sqrt(t));
  PreciseMatrix b(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) b(i, j) = q.root[at(i)] * prior.rows(i, j) * q.root[at(j)] + (i == j ? 1 : 0);
  q.lower = precise_cholesky(b);
  q.half_log_det = 0;
  for (Index i = 0; i < n; ++i) q.half_log_det += log(q.lower(i, i));
  // a = r - T^1/2 B^-1 T^1/2 K r with r = nu - tau prior mean.
  PreciseVector r;
  for (Index i = 0; i < n; ++i) r.push_back(nu[at(i)] - tau[at(i)] * prior.mean);
  PreciseVector scaled;
  for (Index i = 0; i < n; ++i) {
    Precise sum = 0;
    for (Index j = 0; j < n; ++j) sum += prior.rows(i, j) * r[at(j)];
    scaled.push_back(q.root[at(i)] * sum);
  }
  scaled = solve_lower_transposed(q.lower, solve_lower(q.lower, scaled));
  for (Index i = 0; i < n; ++i) q.dual.push_back(r[at(i)] - q.root[at(i)] * scaled[at(i)]);
  for (Index i = 0; i < n; ++i) {
    Precise sum = prior.mean;
    PreciseVector column;
    for (Index j = 0; j < n; ++j) {
      sum += prior.rows(i, j) * q.dual[at(j)];
      column.push_back(q.root[at(j)] * prior.rows(i, j));
    }
    q.mean.push_back(sum);
    const PreciseVector half = solve_lower(q.lower, column);
    q.variance.push_back(prior.rows(i, i) - dot(half, half));
  }
  return q;
}

/// a'K a = a'(mean - prior mean).
Precise penalty(const PrecisePrior& prior, const SiteGaussian& q) {
  Precise sum = 0;
  for (std::size_t i = 0; i < q.mean.size(); ++i) sum += q.dual[i] * (q.mean[i] - prior.mean);
  return sum;
}

PreciseFit finish(const PrecisePrior& prior, const SiteGaussian& q, const Precise& log_evidence) {
  PreciseFit fit{log_evidence, q.mean, q.variance, {}, {}};
  for (Index j = 0; j < prior.weights_rows.rows(); ++j) {
    Precise mean = prior.mean;
    PreciseVector column;
    for (Index i = 0; i < prior.weights_rows.cols(); ++i) {
      mean += prior.weights_rows(j, i) * q.dual[at(i)];
      column.push_back(q.root[at(i)] * prior.weights_rows(j, i));
    }
    const PreciseVector half = solve_lower(q.lower, column);
    fit.weight_mean.push_back(mean);
    fit.weight_variance.push_back(prior.weight_variance[at(j)] - dot(half, half));
  }
  return fit;
}

/// log t and its first two derivatives.
struct Local {
  Precise value, first, second;
};

Local logit(const Precise& y, const Precise& eta) {
  const Precise p = 1 / (1 + exp(y * eta));  // Of the other class.
  const Precise value = y * eta > 0 ? -log1p(exp(-y * eta)) : y * eta - log1p(exp(y * eta));
  return {value, y * p, -p * (1 - p)};
}

Local poisson(const Precise& y, const Precise& eta) {
  const Precise rate = exp(eta);
  return {y * eta - rate - lgamma(y + 1), y - rate, -rate};
}

/// Largest change of a mean in standard deviations, or of log variances.
Precise distance(const SiteGaussian& a, const SiteGaussian& b) {
  Precise largest = 0;
  for (std::size_t i = 0; i < a.mean.size(); ++i) {
    largest = std::max(largest, Precise(abs(a.mean[i] - b.mean[i]) / sqrt(b.variance[i])));
    largest = std::max(largest, Precise(abs(a.variance[i] / b.variance[i] - 1)));
  }
  return largest;
}

}  // namespace

std::optional<PreciseFit> precise_laplace(const IllConditioned& problem) {
  const PrecisePrior prior = precise_prior(problem);
  const auto n = static_cast<std::size_t>(problem.y.size());
  const bool binary = problem.model.sites[0]->traits().name == "bernoulli-logit";
  const auto local = [&](std::size_t i, const Precise& eta) {
    const Precise y = problem.y(static_cast<Index>(i));
    return binary ? logit(y, eta) : poisson(y, eta);
  };
  PreciseVector eta(n, prior.mean);
  PreciseVector dual(n, 0);
  const auto objective = [&](const PreciseVector& e, const PreciseVector& a) {
    Precise sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += local(i, e[i]).value - a[i] * (e[i] - prior.mean) / 2;
    return sum;
  };
  Precise now = objective(eta, dual);
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    PreciseVector tau, nu;
    for (std::size_t i = 0; i < n; ++i) {
      const Local l = local(i, eta[i]);
      tau.push_back(-l.second);
      nu.push_back(l.first - l.second * eta[i]);
    }
    const SiteGaussian target = site_gaussian(prior, tau, nu);
    Precise move = 0;
    for (std::size_t i = 0; i < n; ++i)
      move = std::max(move, Precise(abs(target.mean[i] - eta[i]) / sqrt(target.variance[i])));
    if (move < goal) return finish(prior, target, now - target.half_log_det);
    Precise length = 1;
    for (int halving = 0; halving < 60; ++halving, length /= 2) {
      PreciseVector e = eta;
      PreciseVector a = dual;
      for (std::size_t i = 0; i < n; ++i) {
        e[i] += length * (target.mean[i] - eta[i]);
        a[i] += length * (target.dual[i] - dual[i]);
      }
      const Precise value = objective(e, a);
      if (value < now && halving < 59 && move > Precise("1e-15")) continue;
      eta = e;
      dual = a;
      now = value;
      break;
    }
  }
  return std::nullopt;
}

std::optional<PreciseFit> precise_kl(const IllConditioned& problem) {
  const PrecisePrior prior = precise_prior(problem);
  const auto n = static_cast<std::size_t>(problem.y.size());
  PreciseVector tau, nu;
  for (std::size_t i = 0; i < n; ++i) {
    const Precise y = problem.y(static_cast<Index>(i));
    tau.push_back(y + 0.5);
    nu.push_back(tau[i] * log(y + 0.5));
  }
  // Natural gradient steps of a half: tau = e^(m + v/2), nu = y - tau + tau m.
  SiteGaussian q = site_gaussian(prior, tau, nu);
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    for (std::size_t i = 0; i < n; ++i) {
      const Precise rate = exp(q.mean[i] + q.variance[i] / 2);
      tau[i] += (rate - tau[i]) / 2;
      nu[i] += (Precise(problem.y(static_cast<Index>(i))) - rate + rate * q.mean[i] - nu[i]) / 2;
    }
    const SiteGaussian next = site_gaussian(prior, tau, nu);
    const Precise move = distance(q, next);
    q = next;
    if (move > goal) continue;
    Precise bound = -penalty(prior, q) / 2 - q.half_log_det;
    for (std::size_t i = 0; i < n; ++i) {
      const Precise y = problem.y(static_cast<Index>(i));
      bound += y * q.mean[i] - exp(q.mean[i] + q.variance[i] / 2) - lgamma(y + 1) + tau[i] * q.variance[i] / 2;
    }
    return finish(prior, q, bound);
  }
  return std::nullopt;
}

std::optional<PreciseFit> precise_ep(const IllConditioned& problem) {
  const PrecisePrior prior = precise_prior(problem);
  const auto n = static_cast<std::size_t>(problem.y.size());
  const Precise root_two = sqrt(Precise(2));
  const Precise root_two_pi = sqrt(2 * boost::math::constants::pi<Precise>());
  PreciseVector tau(n, Precise(1) / 2), nu(n, 0);
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    const SiteGaussian q = site_gaussian(prior, tau, nu);
    // log Z = log of the Gaussian integral of the sites, plus each site's own normaliser in its cavity.
    Precise log_evidence = -q.half_log_det - penalty(prior, q) / 2;
    Precise move = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Precise m = q.mean[i], v = q.variance[i];
      const Precise y = problem.y(static_cast<Index>(i));
      const Precise cavity = 1 / (1 / v - tau[i]);
      if (!(cavity > 0)) return std::nullopt;
      const Precise cavity_mean = cavity * (m / v - nu[i]);
      const Precise width = sqrt(1 + cavity);
      const Precise z = y * cavity_mean / width;
      const Precise normaliser = boost::math::erfc(Precise(-z / root_two)) / 2;
      const Precise ratio = exp(-z * z / 2) / root_two_pi / normaliser;
      const Precise tilted_mean = cavity_mean + y * cavity * ratio / width;
      const Precise tilted_variance = cavity - cavity * cavity * ratio * (z + ratio) / (1 + cavity);
      log_evidence += log(normaliser) + nu[i] * m - tau[i] * m * m / 2 + log(cavity / v) / 2 - m * m / v / 2 +
                      cavity_mean * cavity_mean / cavity / 2;
      move = std::max({move, Precise(abs(tilted_mean - m) / sqrt(v)), Precise(abs(tilted_variance / v - 1))});
      tau[i] += (1 / tilted_variance - 1 / cavity - tau[i]) * Precise(0.7);
      nu[i] += (tilted_mean / tilted_variance - cavity_mean / cavity - nu[i]) * Precise(0.7);
    }
    if (move < goal) return finish(prior, q, log_evidence);
  }
  return std::nullopt;
}

IllConditioned ill_conditioned(std::uint64_t seed, const std::string& likelihood) {
  IllConditioned out = ill_conditioned(seed);
  Random random(seed + 1000003);
  // Signals of the Gaussian model may be of any size; what is observed is moderate.
  const double size = 1e-300 + std::sqrt(out.y.squaredNorm() / static_cast<double>(out.y.size()));
  for (double& y : out.y) {
    const double signal = std::clamp(y / size, -2.0, 2.0);
    y = likelihood == "poisson" ? std::floor(std::exp(signal + 0.5 * random.normal()))
                                : (signal + random.normal() > 0.0 ? 1.0 : -1.0);
  }
  out.model.sites = {observe(likelihood, out.y)};
  return out;
}

}  // namespace gaussmith::testing
