#include "gaussmith/class_bounds.hpp"

#include "gaussian/joint_prior.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "model/inducing.hpp"
#include "model/site_rows.hpp"
#include "posterior/posterior_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// C classes under latents of variance s that are independent and have mean zero: the closed bound on the expected log
/// softmax is -log C - spread_cost(s).
double spread_cost(double variance, double classes) {
  const double root = std::sqrt(variance / classes + 0.25);
  return 0.5 * (classes - 1.0) * (2.0 * root - std::log(root + 0.5) - 1.0);
}

/// What a Gaussian needs to know of K over all rows and functions.
struct Inverse {
  double log_determinant = 0.0;
  double trace = 0.0;  ///< Of K^-1.
};

/// Nothing where the matrix is singular to working precision.
std::optional<Inverse> inverse_of(Matrix a) {
  const double least = static_cast<double>(a.rows()) * std::numeric_limits<double>::epsilon() * a.diagonal().maxCoeff();
  if (!cholesky(a) || !(a.diagonal().cwiseAbs2().minCoeff() > least)) return std::nullopt;
  Inverse out{2.0 * half_log_determinant(a), 0.0};
  invert_lower(a);
  for (Index j = 0; j < a.cols(); ++j) out.trace += a.col(j).tail(a.rows() - j).squaredNorm();
  return out;
}

std::optional<Inverse> inverse_of(const JointPrior& prior) {
  if (prior.has_root()) return std::nullopt;  // Fewer weights than rows.
  Inverse out;
  if (prior.has_own_kernels()) {
    for (Index c = 0; c < prior.functions(); ++c) {
      const std::optional<Inverse> own = inverse_of(prior.kernel(c));
      if (!own) return std::nullopt;
      out.log_determinant += own->log_determinant;
      out.trace += own->trace;
    }
    return out;
  }
  const std::optional<Inverse> rows = inverse_of(prior.kernel());
  const std::optional<Inverse> functions = inverse_of(prior.latent_covariance());
  if (!rows || !functions) return std::nullopt;
  out.log_determinant = static_cast<double>(prior.functions()) * rows->log_determinant +
                        static_cast<double>(prior.rows()) * functions->log_determinant;
  out.trace = rows->trace * functions->trace;
  return out;
}

/// The largest over s of n (C/2 + C/2 log s - log C - spread_cost(s)) - 1/2 log|K| - s/2 tr K^-1. Its slope in log s
/// falls from positive to negative between the two values at which spread_cost counts in full and not at all.
double best_isotropic(const Inverse& k, double rows, double classes) {
  const auto slope = [&](double s) {
    const double root = std::sqrt(s / classes + 0.25);
    return rows * classes - s * k.trace - rows * (classes - 1.0) * s / (classes * (root + 0.5));
  };
  double low = rows * classes / (k.trace + rows * (classes - 1.0) / classes);
  double high = rows * classes / k.trace;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low * high);
    (slope(middle) > 0.0 ? low : high) = middle;
  }
  const double s = std::sqrt(low * high);
  return rows * (0.5 * classes * (1.0 + std::log(s)) - std::log(classes) - spread_cost(s, classes)) -
         0.5 * (k.log_determinant + s * k.trace);
}

/// What q = prior gives to independent functions of one variance.
std::optional<double> prior_bound(const Vector& variance, double rows, double classes) {
  constexpr double rounding = 1e-12;
  if (variance.maxCoeff() - variance.minCoeff() > rounding * variance.maxCoeff()) return std::nullopt;
  return -rows * (std::log(classes) + spread_cost(variance.mean(), classes));
}

/// K is not made of a process with inducing variables, whose rows are many.
void add_induced_bounds(const Model& model, ClassBounds& out) {
  const GaussianProcess& process = *process_of(model.prior);
  const Latents& latents = model.latents;
  const Matrix between = latents.covariance();
  if (process.mean != 0.0 || !latents.mean.isZero(0.0) || !between.isDiagonal(0.0)) return;
  Matrix variance(model.rows(), latents.count);
  for (Index c = 0; c < latents.count; ++c) {
    Vector own;
    const auto& kernel = latents.kernels.empty() ? process.kernel : latents.kernels[static_cast<std::size_t>(c)];
    kernel->diagonal(process.inputs, own);
    variance.col(c) = between(c, c) * own;
  }
  out.theorem10 =
      prior_bound(variance.reshaped(), static_cast<double>(model.rows()), static_cast<double>(latents.count));
}

void add_prior_bounds(const Model& model, int threads, ClassBounds& out) {
  if (model.weights.size() > 0 || (model.offset.size() > 0 && !model.offset.isZero(0.0))) return;
  if (inducing_of(model) != nullptr) return add_induced_bounds(model, out);
  const JointPrior prior(model.prior, model.design, model.latents, threads);
  if (!prior.mean().isZero(0.0)) return;
  const auto rows = static_cast<double>(prior.rows());
  const auto classes = static_cast<double>(prior.functions());
  if (const std::optional<Inverse> k = inverse_of(prior)) out.theorem9 = best_isotropic(*k, rows, classes);
  if (prior.is_independent()) out.theorem10 = prior_bound(prior.variances(), rows, classes);
}

}  // namespace

bool has_class_bounds(const Posterior& posterior) {
  const std::vector<Sites>& sites = posterior.model().sites;
  return std::holds_alternative<Kl>(posterior.method()) && std::all_of(sites.begin(), sites.end(), [](const Sites& s) {
           return s->traits().name == "multinomial-logit";
         });
}

ClassBounds class_bounds(const Posterior& posterior, const ProbabilityGoal& goal) {
  if (!has_class_bounds(posterior))
    throw InvalidOption("class_bounds: found a posterior of " + std::string(name_of(posterior.method())) +
                        " and sites " + posterior.model().sites.front()->traits().name +
                        "; needs kl and multinomial-logit");
  const int threads = posterior.state().threads;
  const SiteRows sites(posterior.model(), threads);
  const Marginals& q = posterior.latent();
  const Index c = sites.width();
  // What the evidence has for the sites.
  Vector own;
  if (std::get<Kl>(posterior.method()).expectation == KlExpectation::bound)
    sites.expectation(q.mean, q.covariance, &own);
  else
    sites.averaged_expectation(q.mean, q.covariance, posterior.state().seed, &own, nullptr, nullptr, nullptr);
  Vector value(sites.rows()), error(sites.rows());
  ProbabilityGoal of_piece = goal;
  of_piece.threads = 1;  // Pieces have the threads.
  sites.for_pieces([&](const SiteBlock& block, Index first, Index row, Index count) {
    const auto part = [&](const Vector& all, Index each) {
      return ConstSpan(all.data() + row * each, static_cast<std::size_t>(count * each));
    };
    const Span values(value.data() + row, static_cast<std::size_t>(count));
    const Span errors(error.data() + row, static_cast<std::size_t>(count));
    block.expected_log_density(first, part(q.mean, c), part(q.covariance, c * c), of_piece, values, errors);
    sites.weigh(row, values);
    sites.weigh(row, errors);
  });
  ClassBounds out;
  out.log_zb = posterior.log_evidence().value + (value - own).sum();
  // Rows share their points, so that their errors add up.
  out.log_zb_error = error.sum();
  add_prior_bounds(posterior.model(), threads, out);
  return out;
}

}  // namespace gaussmith
