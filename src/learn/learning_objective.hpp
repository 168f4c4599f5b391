#pragma once
// What learning maximises.

#include "gaussmith/learn.hpp"
#include "learn/free_parameters.hpp"
#include "learn/maximise.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// Log evidence plus log hyperpriors, as a function of log parameters. Remembers the best posterior seen, so that
/// nothing is inferred twice.
class LearningObjective {
 public:
  /// The model is valid; it, the options and the parameters are lent.
  LearningObjective(const Model& model, const Method& method, const Run& run, const LearnOptions& options,
                    const std::vector<FreeParameter>& free);

  /// Empty when inference fails here or does not converge: such a step has left the valid region.
  [[nodiscard]] std::optional<Evaluation> operator()(const Vector& log_values);

  void forget_start() { last_.reset(); }

  /// Evidences of two methods are not one objective: learning starts over with the method that was asked for, from the
  /// best point of the milder one.
  void start_over();
  /// Whether the evidence is that of a milder method than asked for.
  [[nodiscard]] bool milder() const { return milder_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] int failures() const { return failures_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::optional<Posterior>& best() const { return best_; }
  [[nodiscard]] double best_value() const { return best_value_; }
  [[nodiscard]] const Vector& best_point() const { return best_point_; }
  [[nodiscard]] const Vector& best_gradient() const { return best_gradient_; }

 private:
  [[nodiscard]] std::optional<Posterior> infer_at(const Vector& log_values);
  [[nodiscard]] Evaluation evaluate(const Posterior& posterior, const Vector& log_values) const;
  std::nullopt_t fail(std::string why);

  const Model& model_;
  Method asked_for_, method_;
  Run run_;
  const LearnOptions& options_;
  const std::vector<FreeParameter>& free_;
  std::optional<Posterior> last_, best_;
  double best_value_ = -std::numeric_limits<double>::infinity();
  Vector best_point_, best_gradient_;
  std::string failure_;
  int evaluations_ = 0, failures_ = 0;
  bool first_of_pass_ = true, milder_ = false;
};

}  // namespace gaussmith
