#pragma once
// The plan of EP: which kinds of updates in which order, at which powers, and which fixed point is kept.

#include "engines/ep_search.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// A lower bound on the true log evidence, and where it comes from.
struct KnownBound {
  double value = -std::numeric_limits<double>::infinity();
  std::string_view source = {};

  void raise(double other, std::string_view from) {
    if (other > value) *this = {other, from};
  }
  /// Whether an evidence lies below by more than the approximations of a good fixed point.
  [[nodiscard]] bool contradicts(double log_evidence) const;
};

/// What the plan works on.
struct EpProblem {
  const Model& model;
  GaussianCore& core;
  const SiteRows& sites;
  const Run& run;
  int threads;
};

class EpPlan {
 public:
  EpPlan(EpSearch& search, const EpProblem& problem, const Ep& options, Report& report);

  /// Runs it; the search stands at what is kept. Writes notes and warnings of the report.
  StageEnd run();

 private:
  /// A fixed point that was reached.
  struct Found {
    EpSearch::StatePointer state;
    double power;
    StageEnd end;
  };

  StageEnd automatic();
  /// Parallel, damped, sequential: what is cheap.
  StageEnd cheap_stages();
  /// The same without the notes, from a start of its own.
  StageEnd quick_stages();
  /// The guaranteed loop far from the fixed point, cheap sweeps near it; without them if they do not converge.
  StageEnd double_loop(int most_sweeps);
  /// Fixed points at ever larger powers, each begun at the one before; at power zero EP is the variational Gaussian,
  /// and with it, or from no sites at all, the way begins. Whether the caller asked to stop.
  [[nodiscard]] bool rise();
  [[nodiscard]] bool rise_from(const std::optional<SiteApproximation>& start);
  /// The sites of kl's optimum, the best of so many starts, whose bound becomes known.
  [[nodiscard]] std::optional<SiteApproximation> variational_sites(int starts);

  /// Remembers the search's state if it is a fixed point.
  void keep(StageEnd end);
  /// The best of those kept: above the known bound first, then the larger power, then the higher evidence.
  [[nodiscard]] const Found* best() const;
  [[nodiscard]] bool is_sound(const Found& found) const { return !bound_.contradicts(found.state->log_evidence); }
  /// Whether there is no need to look any further at a power.
  [[nodiscard]] bool satisfied_at(double power) const;
  void note(std::string_view from, std::string_view to, StageEnd end);
  /// That the fixed point reached lies below the known bound.
  void note_contradiction(std::string_view to);
  void warn(const Found* kept);

  EpSearch& search_;
  const EpProblem& problem_;
  const Ep& options_;
  Report& report_;
  bool log_concave_, has_expectations_;
  std::vector<Found> found_;
  KnownBound bound_;
  bool stopped_ = false;
};

}  // namespace gaussmith
