#pragma once
// What learning maximises.

#include "gaussmith/learn.hpp"
#include "learn/evaluation.hpp"
#include "learn/free_parameters.hpp"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussmith {

/// Log evidence plus log hyperpriors, plus what holds directions of K^c that the evidence does not see and is zero at
/// the best of equivalent points, as a function of the places of the free parameters on their scales. Remembers the
/// best posterior seen, so that nothing is inferred twice.
class LearningObjective {
 public:
  /// The model is valid; it, the options and the parameters are lent.
  LearningObjective(const Model& model, const Method& method, const Run& run, const LearnOptions& options,
                    const std::vector<FreeParameter>& free);

  /// Usable is what has a value and a gradient that can be trusted, however inference ended. Empty elsewhere, and where
  /// inference takes many times the iterations of the cheapest evaluation: such a step went too far.
  [[nodiscard]] std::optional<Evaluation> operator()(const Vector& places);

  /// Below this a value is all that is asked for: the gradient is left out, as zeros.
  void set_floor(double value) { floor_ = value; }

  /// The next evaluation begins a search of its own, from no warm start.
  void forget_start() { from_.reset(); }

  /// Evidences of two methods are not one objective: learning starts over with the method that was asked for, from the
  /// best point of the milder one.
  void start_over();
  /// Whether the evidence is that of a milder method than asked for.
  [[nodiscard]] bool milder() const { return milder_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] int failures() const { return failures_; }
  /// Why evaluations failed: each reason once, with how often, in the order of first occurrence.
  [[nodiscard]] const std::vector<std::pair<std::string, int>>& reasons() const { return reasons_; }

  /// The best point: the highest value; among values that their errors cannot tell apart, one where inference converged
  /// and the gradient is smallest.
  [[nodiscard]] const std::optional<Posterior>& best() const { return best_; }
  [[nodiscard]] double best_value() const { return best_evaluation_.value; }
  [[nodiscard]] const Evaluation& best_evaluation() const { return best_evaluation_; }
  [[nodiscard]] const Vector& best_point() const { return best_point_; }

 private:
  [[nodiscard]] std::optional<Posterior> infer_at(const Vector& places);
  [[nodiscard]] Evaluation evaluate(const Posterior& posterior, const Vector& places) const;
  /// Whether directions that the evidence does not see are held by latent_anchor().
  void set_anchor();
  [[nodiscard]] bool better(const Posterior& posterior, const Evaluation& evaluation, const Vector& places) const;
  [[nodiscard]] int most_iterations() const;
  std::nullopt_t fail(const std::string& why);

  const Model& model_;
  Method asked_for_, method_;
  Run run_;
  const LearnOptions& options_;
  const std::vector<FreeParameter>& free_;
  std::optional<Posterior> from_;  ///< The best of this search: where inference starts warm.
  double from_value_ = 0.0;
  bool anchored_ = false, scale_is_free_ = false;
  std::optional<Posterior> best_;
  Evaluation best_evaluation_{-std::numeric_limits<double>::infinity(), {}};
  Vector best_point_;
  std::vector<std::pair<std::string, int>> reasons_;
  int evaluations_ = 0, failures_ = 0;
  double floor_ = -std::numeric_limits<double>::infinity();
  int iterations_ = 0;                              ///< Of the last inference.
  int cheapest_ = std::numeric_limits<int>::max();  ///< Iterations of the cheapest usable one.
  bool first_of_pass_ = true, milder_ = false;
};

}  // namespace gaussmith
