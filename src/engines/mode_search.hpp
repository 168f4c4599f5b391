#pragma once
// The search for a mode of the posterior: Newton's method, with positive weights where the curvature is not that of a
// mode, on any number of latents a row (docs/engines/laplace.md).

#include "base/progress.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/random.hpp"
#include "model/site_rows.hpp"

#include <limits>
#include <string>

namespace gaussmith {

/// The log joint along with the point it belongs to: sum log t - 1/2 |u|^2.
struct ModeAscent {
  LatentPoint point;
  double objective;
};

/// When a search ends.
struct ModeGoal {
  const char* method;  ///< For messages: "laplace".
  int max_iterations;
  double tolerance;    ///< Of the gradient norm, in posterior standard deviations.
  bool curved = true;  ///< Whether the evidence has the determinant of the curvature at the mode.
};

class ModeSearch {
 public:
  ModeSearch(GaussianCore& core, const SiteRows& sites, const ModeGoal& goal, const Run& run, Report& report)
      : core_(core),
        sites_(sites),
        goal_(goal),
        report_(report),
        progress_(run.progress, &report.history),
        random_(run.seed) {}

  void start_from(const Posterior* warm);

  /// Climbs to a mode.
  void climb();

  /// Makes the core and the site parameters agree with the last point, whatever way the search ended.
  void settle();

  [[nodiscard]] const ModeAscent& now() const { return now_; }
  /// Whether the search ended at a mode but for what double precision cannot tell.
  [[nodiscard]] bool no_step_helps() const { return no_step_helps_; }

  /// What the distance to the mode leaves uncertain in 1/2 log|I + K T|, which is not stationary there: to first order
  /// 1/2 sum |v d3 log t| |d eta|, and no d eta is larger than the residual, or than rounding, in standard deviations.
  [[nodiscard]] double determinant_error(double distance);

 private:
  [[nodiscard]] ModeAscent evaluate(LatentPoint point) const;
  /// Without a Gaussian factor the gradient also vanishes on the way to infinity (separable classes), where steps in
  /// eta stay as large as ever.
  [[nodiscard]] bool runs_away(const LatentPoint& target) const;
  void refresh_sites();
  [[nodiscard]] SiteApproximation weights() const;
  /// One site may hold its row so tightly at the start (a Weibull site 70 nats off has a curvature of 1e33) that beside
  /// it the others are rounding, or all may be flat there. Larger precisions only make a shorter step of the same
  /// gradient: Levenberg's damping, row by row.
  [[nodiscard]] bool set_raised_weights();
  Next tell(std::string_view kind);
  /// Backtracks on the line to the target, on which the prior's share of the log joint is a known parabola and only the
  /// sites have to be evaluated.
  bool advance(const LatentPoint& target, double slope);
  void escape();
  [[nodiscard]] std::string how() const;
  void finish(Status status, std::string message);
  void fail();

  GaussianCore& core_;
  const SiteRows& sites_;
  ModeGoal goal_;
  Report& report_;
  Progress progress_;
  Random random_;
  ModeAscent now_;
  Vector first_, second_;
  SiteApproximation curvature_;  // The sites' own curvature at the current point.
  SiteApproximation usable_;     // The last sites that could be factorised.
  double best_residual_ = std::numeric_limits<double>::infinity();
  int idle_steps_ = 0, newton_steps_ = 0, weighted_steps_ = 0, shortened_steps_ = 0, escapes_ = 0;
  bool no_step_helps_ = false;
};

}  // namespace gaussmith
