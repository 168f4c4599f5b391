#include "measurement/measured_fit.hpp"

#include "base/overloaded.hpp"
#include "base/parallel_blocks.hpp"
#include "engines/ep.hpp"
#include "engines/kl.hpp"
#include "engines/vb.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "model/prior.hpp"
#include "model/site_rows.hpp"
#include "posterior/posterior_state.hpp"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace gaussmith {

namespace {

/// Above this share of entries a stacked design is dense.
constexpr double most_sparse = 0.3;

/// Independent a priori, or without a Gaussian factor.
bool independent_weights(const Model& model) {
  return !has_gaussian(model.prior) || independent_variances(model.prior).has_value();
}

Vector below(const Vector& own, const Vector& later) {
  Vector out(own.size() + later.size());
  out << own, later;
  return out;
}

Design stacked_rows(const Design& own, const Matrix& measured) {
  const Index n = own.rows();
  const Index count = measured.cols();
  const Index d = measured.rows();
  const double entries = own.nonzeros() + static_cast<double>(count) * static_cast<double>(d);
  const Design in_double = own.in_double();
  const DesignEntries stored = in_double.entries();
  if (stored.dense != nullptr || entries > most_sparse * static_cast<double>((n + count) * d)) {
    Matrix out(n + count, d);
    out << own.columns(0, d), measured.transpose();
    return {std::move(out)};
  }
  SparseMatrix out(n + count, d);
  out.reserve(static_cast<Index>(entries));
  for (Index i = 0; i < n + count; ++i) {
    out.startVec(i);
    if (i >= n) {
      for (Index j = 0; j < d; ++j) out.insertBack(i, j) = measured(j, i - n);
    } else if (stored.identity) {
      out.insertBack(i, i) = 1.0;
    } else {
      for (SparseMatrix::InnerIterator entry(*stored.sparse, i); entry; ++entry)
        out.insertBack(i, entry.col()) = entry.value();
    }
  }
  out.finalize();
  return {std::move(out)};
}

std::shared_ptr<MeasuredCore> measured_core(const Model& model, const std::shared_ptr<const MeasuredRows>& measured,
                                            int threads) {
  return std::make_shared<MeasuredCore>(std::make_shared<PriorGeometry>(model.prior, model.design, threads),
                                        model.offset, measured);
}

/// At the core's sites.
MeasuredFit gaussian_of(MeasuredCore& core) {
  const LatentPoint mean = static_cast<const GaussianCore&>(core).mean();
  return {{}, core.weights(mean), core.covariance(), {mean.eta, core.variances()}, core.sites()};
}

MeasuredFit fit_as_factor(const Model& model, const std::shared_ptr<const MeasuredRows>& measured, const Method& method,
                          const Run& run) {
  const int threads = resolve_threads(run.threads);
  const auto core = measured_core(model, measured, threads);
  const auto started = std::chrono::steady_clock::now();
  const BlasThreads blas(threads);
  const auto state = std::make_shared<Posterior::State>(model, method);
  state->threads = threads;
  state->seed = run.seed;
  std::visit(Overloaded{[&](const Kl& kl) { run_kl_on(core, kl, run, *state); },
                        [&](const Vb& vb) { run_vb_on(core, vb, run, *state); },
                        [&](const Ep& ep) { run_ep_on(core, ep, run, *state); },
                        [](const auto&) { throw std::logic_error("a method that does not suit measured weights"); }},
             method);
  state->report.core = fmt::format("precision form, D = {}: {} measurements are part of the Gaussian factor",
                                   model.dimension(), measured->count());
  state->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  // The core is at the sites of the end: their Gaussian is the posterior, to the method's tolerance.
  MeasuredFit out = gaussian_of(*core);
  out.posterior.emplace(state);
  return out;
}

MeasuredFit fit_as_rows(const Model& model, const MeasuredRows& measured, const Method& method, const Run& run) {
  const Posterior posterior = infer(with_measurements(model, measured), method, run);
  const Index rows = model.rows();
  const SiteApproximation& sites = posterior.site_approximation();
  const BlasThreads blas(resolve_threads(run.threads));
  return {posterior,
          posterior.weights().mean,
          std::make_shared<const Matrix>(
              posterior.state().law->joint_covariance(NewRows{Design(Identity{}).sized(model.dimension())})),
          {posterior.latent().mean.head(rows), posterior.latent().variance.head(rows)},
          {sites.precision.head(rows), sites.shift.head(rows)}};
}

/// Whether a fit failed with `why` because its matrix could not be factorised, though it could with precisions of one
/// and noise as large as the measured rows.
bool scales_alone_are_wrong(const Model& model, const MeasuredRows& measured, std::string_view why, int threads) {
  if (measured.count() == 0 || !independent_weights(model)) return false;
  auto alike = std::make_shared<MeasuredRows>(measured);
  alike->variance = measured.rows.colwise().squaredNorm().maxCoeff();
  const BlasThreads blas(threads);
  const auto core = measured_core(model, alike, threads);
  return why.ends_with(why_not_factorised(*core)) &&
         core->set({Vector::Ones(model.rows()), Vector::Zero(model.rows())});
}

}  // namespace

std::optional<MeasuredFit> gaussian_at(const Model& model, const std::shared_ptr<const MeasuredRows>& measured,
                                       const Method& method, const SiteApproximation& sites, const Run& run) {
  if (!suits_measured_core(model, method, run)) return {};
  const BlasThreads blas(resolve_threads(run.threads));
  const auto core = measured_core(model, measured, blas.threads());
  if (!core->set(sites)) return {};
  return gaussian_of(*core);
}

SiteApproximation sites_near(const Model& model, const Method& method, const Marginals& latent,
                             const SiteApproximation& sites, int threads) {
  const bool tangent = std::holds_alternative<Vb>(method);
  if (!tangent && !std::holds_alternative<Kl>(method)) return sites;
  const SiteRows rows(model, threads, tangent ? Smoothing::tangent : Smoothing::expectation);
  if (!rows.all(&SiteTraits::log_concave) || !(latent.variance.array() > 0.0).all()) return sites;
  Vector d_mean;
  Vector d_variance;
  rows.expectation(latent.mean, latent.variance, nullptr, &d_mean, &d_variance);
  SiteApproximation out{-2.0 * d_variance, {}};
  out.shift = d_mean + out.precision.cwiseProduct(latent.mean);
  return out.precision.allFinite() && out.shift.allFinite() ? out : sites;
}

bool suits_measured_core(const Model& model, const Method& method, const Run& run) {
  if (!independent_weights(model) || run.form != CoreForm::automatic) return false;
  return std::visit(Overloaded{[](const Kl& kl) {
                                 return (kl.covariance == "auto" || kl.covariance == "full") &&
                                        kl.solver == KlSolver::sites;
                               },
                               [](const Vb& vb) { return vb.variances == "auto" || vb.variances == "exact"; },
                               [](const Ep&) { return true; }, [](const auto&) { return false; }},
                    method);
}

Model with_measurements(const Model& model, const MeasuredRows& measured) {
  Model out = model;
  const Index count = measured.count();
  out.design = stacked_rows(model.design.sized(model.dimension()), measured.rows);
  out.sites.push_back(observe("gaussian", measured.values, {{"variance", one(measured.variance)}}));
  if (model.offset.size() > 0) out.offset = below(model.offset, Vector::Zero(count));
  if (model.weights.size() > 0) out.weights = below(model.weights, Vector::Ones(count));
  return out;
}

MeasuredFit fit_measured(const Model& model, const std::shared_ptr<const MeasuredRows>& measured, const Method& method,
                         const SiteApproximation& start, const Run& run) {
  const bool factor = suits_measured_core(model, method, run);
  Run warm = run;
  std::optional<Posterior> earlier;
  if (start.rows() > 0) {
    SiteApproximation sites = start;
    if (!factor && measured->count() > 0) {
      sites.precision = below(start.precision, Vector::Constant(measured->count(), 1.0 / measured->variance));
      sites.shift = below(start.shift, measured->values / measured->variance);
    }
    const auto state = std::make_shared<Posterior::State>(model, method);
    state->sites = std::move(sites);
    earlier.emplace(state);
    warm.warm_start = &*earlier;
  }
  try {
    return factor ? fit_as_factor(model, measured, method, warm) : fit_as_rows(model, *measured, method, warm);
  } catch (const InvalidModel& error) {
    if (scales_alone_are_wrong(model, *measured, error.what(), resolve_threads(run.threads)))
      throw InvalidOption(
          fmt::format("the noise variance {} is too small beside the spread of the weights, in double precision: what "
                      "sites and measurements say of a weight differs by more than its digits; a larger one is "
                      "accepted",
                      measured->variance));
    throw;
  }
}

}  // namespace gaussmith
