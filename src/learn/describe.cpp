#include "learn/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

void describe_curvature(const Curvature& curvature, const std::vector<FreeParameter>& free, LearnReport& report) {
  if (curvature.coordinates.empty()) return;
  report.hessian = curvature.hessian;
  for (const Index i : curvature.coordinates)
    report.hessian_parameters.push_back(free[static_cast<std::size_t>(i)].name);
  const auto covariance = covariance_at_maximum(curvature.hessian);
  if (!covariance) return;
  for (std::size_t k = 0; k < report.hessian_parameters.size(); ++k) {
    const auto i = static_cast<Index>(k);
    const auto named = std::find_if(report.parameters.begin(), report.parameters.end(), [&](const auto& parameter) {
      return parameter.name == report.hessian_parameters[k];
    });
    named->standard_error = std::sqrt((*covariance)(i, i));
  }
}

}  // namespace

void describe_parameters(const Model& model, const LearningObjective& objective, const std::vector<FreeParameter>& free,
                         const std::optional<Curvature>& curvature, LearnReport& report) {
  const std::vector<Parameter> initial = model.parameters();
  const std::vector<Parameter> now = objective.best()->model().parameters();
  for (std::size_t p = 0; p < now.size(); ++p) {
    const auto it =
        std::find_if(free.begin(), free.end(), [&](const FreeParameter& f) { return f.name == now[p].name; });
    LearnedParameter learned{now[p].name, initial[p].value, now[p].value, 0.0, it == free.end(), false};
    if (it != free.end()) {
      const auto i = static_cast<Index>(it - free.begin());
      const double place = objective.best_point()(i);
      learned.gradient = objective.best_evaluation().gradient(i);
      learned.at_bound = it->at_lower(place) || it->at_upper(place);
      learned.hyperprior = it->hyperprior;
    }
    report.parameters.push_back(learned);
  }
  if (curvature) describe_curvature(*curvature, free, report);
}

void warn_of_estimates(const Posterior& best, const Evaluation& there, double tolerance, LearnReport& report) {
  if (!(best.report().latent_estimate_error > 0.0) || !(there.gradient_error > tolerance)) return;
  std::string text = fmt::format(
      "variances are estimates, so that slopes of the evidence are known to {:.1g} only and the maximum as far as that "
      "tells it: the largest slope left is {:.1g}",
      there.gradient_error, report.residual);
  if (report.failed_evaluations > 0) text += fmt::format("; {} of the evaluations failed", report.failed_evaluations);
  report.warnings.push_back(text +
                            "; more draws, exact variances or another seed show how much parameters depend on it");
}

void warn_of_milder(const LearningObjective& objective, const Method& asked_for, LearnReport& report) {
  if (!objective.milder()) return;
  const Method& method = objective.best()->method();
  std::vector<std::string> options;
  const auto asked = options_of(asked_for);
  const auto used = options_of(method);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] != asked[i]) options.push_back(used[i].first + "=" + used[i].second);
  report.warnings.push_back(fmt::format("learned with a milder method than asked for: {} with {}", name_of(method),
                                        fmt::join(options, ", ")));
}

}  // namespace gaussmith
