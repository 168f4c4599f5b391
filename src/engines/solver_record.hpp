#pragma once
// What every solver of the KL bound writes down on its way, and when it is over.

#include "base/progress.hpp"
#include "engines/kl_search.hpp"

#include <string>
#include <string_view>

namespace gaussmith {

/// How far the solvers by quasi-Newton steps go: they see values and slopes, not the site equations.
inline constexpr double quasi_newton_tolerance = 1e-7;

/// The point of these precisions with this mean; false where they give no Gaussian.
[[nodiscard]] bool look_at(GaussianCore& core, const SiteRows& sites, const Vector& precision, const LatentPoint& mean,
                           KlPoint& point);

/// Puts the core at the sites of a point.
void settle_at(GaussianCore& core, const KlPoint& point);

class SolverRecord {
 public:
  SolverRecord(GaussianCore& core, const SiteRows& sites, const Kl& options, const Run& run, bool gap, double tolerance,
               KlClimb& climb)
      : core_(core),
        sites_(sites),
        options_(options),
        tolerance_(tolerance),
        gap_(gap),
        climb_(climb),
        progress_(run.progress, &climb.report.history) {
    climb_.report.tolerance = tolerance;
  }

  [[nodiscard]] Report& report() { return climb_.report; }
  [[nodiscard]] const KlPoint& end() const { return climb_.end; }

  /// look_at() of the core.
  [[nodiscard]] bool look(const Vector& precision, const LatentPoint& mean, KlPoint& point) {
    return look_at(core_, sites_, precision, mean, point);
  }

  /// Takes the point as the end so far, with its gap; whether the search is over.
  [[nodiscard]] bool over(KlPoint point, std::string_view kind);

  /// How it ended where over() did not say.
  void end_with(Status status, std::string message);
  /// Puts the core at the sites of the end.
  void settle();

  /// Evaluations that the options allow.
  [[nodiscard]] int most() const { return options_.max_iterations; }

 private:
  GaussianCore& core_;
  const SiteRows& sites_;
  const Kl& options_;
  double tolerance_;
  bool gap_;
  KlClimb& climb_;
  Progress progress_;
  GapRecord record_;
};

// One file each. They end where the record says, or give up. `decoupled` and `dual` want the covariance form of the
// core, the others the precision form.

/// L-BFGS in (alpha, log lambda) on the bound itself.
void climb_alpha_lambda(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record);
/// L-BFGS in the whitened mean and a Cholesky factor of the covariance.
void climb_cholesky(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record);
/// L-BFGS in alpha on the dual in (m, v), where lambda follows from alpha.
void climb_dual(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record);
/// The sequence of problems with linearised constraints.
void climb_decoupled(GaussianCore& core, const SiteRows& sites, const Kl& options, const KlStart& start,
                     SolverRecord& record);

}  // namespace gaussmith
