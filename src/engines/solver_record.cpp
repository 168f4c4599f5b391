#include "engines/solver_record.hpp"

#include "engines/duality_gap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

bool look_at(GaussianCore& core, const SiteRows& sites, const Vector& precision, const LatentPoint& mean,
             KlPoint& point) {
  if (!core.set({precision, Vector::Zero(core.rows())})) return false;
  point.precision = precision;
  point.variance = core.variances();
  point.mean = smoothed_point(core, sites, point.variance, mean);
  point.bound = point.mean.objective - core.half_log_det().value + core.half_trace(point.precision, point.variance);
  const LatentPoint next = core.mean(point.mean.d_mean + precision.cwiseProduct(point.mean.at.eta));
  point.mean.residual = std::sqrt(std::abs(core.slope(point.mean.at, next, point.mean.d_mean)));
  const double mismatch =
      (point.precision + 2.0 * point.mean.d_variance).cwiseAbs().cwiseProduct(point.variance).maxCoeff();
  point.residual = std::max(point.mean.residual, mismatch);
  return std::isfinite(point.bound);
}

void settle_at(GaussianCore& core, const KlPoint& point) {
  if (!core.set(point.sites())) core.restore({point.precision, Vector::Zero(core.rows())});
}

bool SolverRecord::over(KlPoint point, std::string_view kind) {
  Report& report = climb_.report;
  climb_.end = std::move(point);
  report.residual = climb_.end.residual;
  if (gap_) report.duality_gap = record_.add(core_, sites_, climb_.end);
  const Next next =
      progress_.tell({report.iterations, climb_.end.bound, climb_.end.residual, kind, report.duality_gap});
  const bool near = options_.stop == KlStop::gap && report.duality_gap && *report.duality_gap <= options_.gap_tolerance;
  if (near || report.residual <= tolerance_) {
    report.local_optimum = !sites_.all(&SiteTraits::log_concave);
    report.status = Status::converged;
    report.message = report.residual <= tolerance_
                         ? (report.local_optimum ? "a local optimum of the bound" : "the optimum of the bound")
                         : fmt::format("within {:.1e} nats of the optimum of the bound", *report.duality_gap);
    return true;
  }
  if (next == Next::accept) {
    end_with(Status::stopped, "stopped by the caller before the bound's optimum");
    return true;
  }
  return false;
}

void SolverRecord::end_with(Status status, std::string message) {
  climb_.report.status = status;
  climb_.report.message = std::move(message);
}

void SolverRecord::settle() {
  if (climb_.report.duality_gap) climb_.report.duality_gap_rows = worst_rows(record_.rows());
  settle_at(core_, climb_.end);
}

}  // namespace gaussmith
