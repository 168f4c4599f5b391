#include "engines/vmf_sequential.hpp"

#include "base/progress.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// The point of these sites, which are the core's.
KlPoint point_of(GaussianCore& core, const SiteRows& sites) {
  KlPoint out;
  out.precision = core.sites().precision;
  out.variance = core.variances();
  out.mean = smoothed_point(core, sites, out.variance, core.mean());
  out.bound = out.mean.objective - core.half_log_det().value + core.half_trace(out.precision, out.variance);
  const LatentPoint next = core.mean(out.mean.d_mean + out.precision.cwiseProduct(out.mean.at.eta));
  out.mean.residual = std::sqrt(std::abs(core.slope(out.mean.at, next, out.mean.d_mean)));
  const double mismatch = (out.precision + 2.0 * out.mean.d_variance).cwiseAbs().cwiseProduct(out.variance).maxCoeff();
  out.residual = std::max(out.mean.residual, mismatch);
  return out;
}

/// All rows in order, each from the marginal that the ones before it left.
SiteApproximation sweep(const GaussianCore& core, const SiteRows& sites, SequentialGaussian& q) {
  SiteApproximation now = core.sites();
  q.sweep_rows(core.rows(), [&](Index row) {
    const SiteRows::Smoothed e = sites.expectation_row(row, q.mean(row), q.variance(row));
    const double precision = -2.0 * e.d_variance;
    const double shift = e.d_mean + precision * q.mean(row);
    q.change_site(row, precision - now.precision(row), shift - now.shift(row));
    now.precision(row) = precision;
    now.shift(row) = shift;
  });
  return now;
}

}  // namespace

KlClimb pass_messages(const ClimbOptions& options, const Run& run, GaussianCore& core, const SiteRows& sites) {
  OptionalKlStart start = warm_kl_start(core, run.warm_start);
  if (!start) start = proper_start(core, independent_start(core, sites, core.centre()));
  if (!start) throw InvalidModel(fmt::format("{}: {}", options.method, why_not_factorised(core)));
  KlClimb out;
  Report& report = out.report;
  const Progress progress(run.progress, &report.history);
  const SmoothedPoint first = smoothed_point(core, sites, core.variances(), start->mean);
  core.restore({start->precision, first.d_mean + start->precision.cwiseProduct(first.at.eta)});
  report.local_optimum = !sites.all(&SiteTraits::log_concave);
  for (;;) {
    ++report.iterations;
    out.end = point_of(core, sites);
    report.residual = out.end.residual;
    const Next next = progress.tell({report.iterations, out.end.bound, out.end.residual, "sweep"});
    if (out.end.residual <= options.tolerance) {
      report.status = Status::converged;
      report.message =
          report.local_optimum ? "a local optimum of the bound, from one start" : "the optimum of the bound";
      return out;
    }
    if (next == Next::accept || report.iterations >= options.max_iterations) {
      report.status = next == Next::accept ? Status::stopped : Status::iteration_limit;
      report.message =
          next == Next::accept
              ? std::string("stopped by the caller before the bound's optimum")
              : fmt::format("no optimum within {} sweeps; raise {}.max_iterations, or use {}.order = parallel",
                            options.max_iterations, options.method, options.method);
      return out;
    }
    const std::unique_ptr<SequentialGaussian> q = core.sweep(out.end.mean.at);
    if (!q)
      throw InvalidOption(fmt::format(
          "{}.order = sequential: this form of the core has no updates of one site; use parallel, or form = covariance "
          "or precision",
          options.method));
    const SiteApproximation swept = sweep(core, sites, *q);
    if (!core.set(swept)) {
      report.status = Status::numerical_failure;
      report.message = "the precisions of a sweep could not be factorised";
      core.restore(out.end.sites());
      return out;
    }
  }
}

}  // namespace gaussmith
