#include "engines/rounding_claim.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

namespace {

/// Claims of a converged run: means to this part of a standard deviation, variances relative.
constexpr double moment_claim = 1e-3;
/// The estimates of rounding are good to a factor of a few.
constexpr double safety = 4.0;

/// A residual within this multiple of what rounding leaves uncertain is rounding, not an unfinished search.
constexpr double explained = 2.0;

}  // namespace

void judge_rounding(const RoundingError& rounding, bool no_step_helps, Report& report) {
  report.mean_error = rounding.mean;
  report.variance_error = rounding.variance;
  const double hidden = explained * rounding.largest_moment();
  const bool claims_hold = safety * rounding.largest_moment() <= moment_claim;
  if (report.status == Status::stalled && no_step_helps && claims_hold &&
      report.residual <= std::min(hidden, moment_claim / safety)) {
    report.status = Status::converged;
    report.tolerance = hidden;
    report.message = "as far as double precision goes";
    report.warnings.push_back(fmt::format(
        "ill-conditioned: rounding hides residuals below {:.1e}, more than the tolerance asked for", hidden));
  } else if (report.converged() && !claims_hold) {
    report.status = Status::inaccurate;
    report.message = fmt::format(
        "rounding may have moved means by {:.1g} standard deviations and variances by {:.1g} of themselves: too "
        "ill-conditioned for double precision (nearly equal rows or columns, or scales too far apart)",
        rounding.mean, rounding.variance);
  }
}

}  // namespace gaussmith
