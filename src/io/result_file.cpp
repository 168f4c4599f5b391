#include "gaussmith/files.hpp"
#include "gaussmith/version.hpp"
#include "io/problem_file_inducing.hpp"
#include "io/result_classes.hpp"
#include "io/result_network.hpp"
#include "io/result_scores.hpp"
#include "io/result_trust.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gaussmith {

namespace {

/// What a bound beside the evidence is worth: points of more than three classes stop at this error a row.
constexpr double tolerance_of_bounds = 3e-3;

ProbabilityGoal goal_of_bounds(ProbabilityGoal goal) {
  goal.tolerance = std::max(goal.tolerance, tolerance_of_bounds);
  return goal;
}

/// log(Z + 3.09 se(Z)), which averages of weights exceed once in a thousand times where they are normal.
std::optional<double> evidence_limit(const Posterior& posterior) {
  constexpr double quantile = 3.090232306167813;
  const std::string_view method = name_of(posterior.method());
  const std::optional<double>& se = posterior.log_evidence().standard_error;
  if (!se || (method != "is" && method != "ais")) return std::nullopt;
  return posterior.log_evidence().value + std::log1p(quantile * *se);
}

using Json = nlohmann::ordered_json;

/// The values of the first rows; all of them for 0.
Vector first_rows(const Vector& values, Index rows) { return rows > 0 ? Vector(values.head(rows)) : values; }

Marginals first_rows(const Marginals& all, Index rows, Index latents) {
  return {first_rows(all.mean, rows * latents), first_rows(all.variance, rows * latents),
          latents > 1 ? first_rows(all.covariance, rows * latents * latents) : Vector()};
}

Json moments(const Marginals& marginals, Index latents) {
  return {{"mean", row_arrays(marginals.mean, latents)}, {"variance", row_arrays(marginals.variance, latents)}};
}

/// A model with one block of data has the short names likelihood.scale beside sites[0].scale.
void put(Json& out, const std::string& name, const Json& value, bool one_block) {
  // Not out[name], which looks through all that is there: names are distinct, and there may be thousands.
  auto& fields = out.get_ref<Json::object_t&>();
  fields.emplace_back(name, value);
  constexpr std::string_view first_block = "sites[0].";
  if (one_block && name.starts_with(first_block)) {
    fields.emplace_back("likelihood." + name.substr(first_block.size()), value);
  }
}

Json parameters(const std::vector<Parameter>& all, bool one_block) {
  Json out = Json::object();
  for (const Parameter& parameter : all) {
    put(out, parameter.name, parameter.value, one_block);
  }
  return out;
}

Json gradient(const Posterior& posterior, const std::vector<Parameter>& all, bool one_block) {
  const auto values = posterior.gradient();
  Json out = Json::object();
  for (const Parameter& parameter : all) {
    if (const auto found = values.find(parameter.name); found != values.end()) {
      put(out, found->first, found->second, one_block);
    }
  }
  return out;
}

Json prediction(const Prediction& predicted, const ResultContent& content, bool kl,
                std::vector<std::string>& warnings) {
  const PredictionRequest& request = *content.prediction;
  const Index latents = predicted.latents();
  Json out;
  out["latent_mean"] = row_arrays(predicted.latent_mean(), latents);
  out["latent_variance"] = row_arrays(predicted.latent_variance(), latents);
  if (content.covariances) {
    out["latent_covariance"] = row_matrices(predicted.latent_covariance(), latents);
  }
  if (request.latent_only || !predicted.has_response()) {
    warnings.push_back("prediction has latent quantities only: " +
                       (request.latent_only ? "the model has several blocks of sites and predict.block chooses none"
                                            : predicted.missing()));
    return out;
  }
  if (predicted.likelihood()->traits().response == ResponseKind::label) {
    put_classes(predicted, content, kl, out);
    return out;
  }
  out["mean"] = number_array(predicted.response_mean());
  out["variance"] = number_array(predicted.response_variance());
  if (const Vector probability = predicted.response_probability(); probability.size() > 0) {
    out["probability"] =
        number_array(content.probability_of_one != nullptr ? *content.probability_of_one : probability);
  }
  if (request.responses) {
    out["log_density"] = number_array(predicted.log_density(*request.responses));
  }
  return out;
}

Json learning(const LearnReport& report, bool one_block) {
  Json out;
  out["status"] = std::string(to_string(report.status));
  out["message"] = report.message;
  out["evaluations"] = report.evaluations;
  out["curvature_evaluations"] = report.curvature_evaluations;
  if (report.part_rows > 0) {
    out["part_rows"] = report.part_rows;
    out["part_evaluations"] = report.part_evaluations;
  }
  out["failed_evaluations"] = report.failed_evaluations;
  out["failures"] = report.failures;
  out["initial_objective"] = report.initial_objective;
  out["objective"] = report.objective;
  out["log_hyperprior"] = report.log_hyperprior;
  out["residual"] = report.residual;
  out["best_start"] = report.best_start;
  out["start_objectives"] = report.start_objectives;
  out["parameters"] = Json::object();
  for (const LearnedParameter& parameter : report.parameters) {
    Json fields = {
        {"initial", parameter.initial},   {"value", parameter.value},
        {"gradient", parameter.gradient}, {"fixed", parameter.fixed},
        {"at_bound", parameter.at_bound}, {"se", parameter.standard_error ? Json(*parameter.standard_error) : Json()}};
    if (parameter.hyperprior) {
      fields["hyperprior"] = {{"median", parameter.hyperprior->median}, {"sd", parameter.hyperprior->sd}};
    }
    put(out["parameters"], parameter.name, fields, one_block);
  }
  return out;
}

Json coefficients(const std::vector<Coefficient>& all) {
  Json out = Json::array();
  for (const Coefficient& c : all) {
    out.push_back({{"name", c.name},
                   {"mean", c.mean},
                   {"sd", c.sd},
                   {"lower", c.lower},
                   {"upper", c.upper},
                   {"ratio", c.ratio && std::isfinite(*c.ratio) ? Json(*c.ratio) : Json()}});
  }
  return out;
}

Json random_effects(const std::vector<GroupEffects>& groups) {
  Json out = Json::array();
  for (const GroupEffects& group : groups) {
    Json effects = Json::array();
    for (const auto& effect : group.effects) {
      effects.push_back({{"name", effect.name},
                         {"sd", effect.sd},
                         {"mean", number_array(effect.levels.mean)},
                         {"variance", number_array(effect.levels.variance)}});
    }
    out.push_back({{"term", group.term}, {"group", group.group}, {"levels", group.levels}, {"effects", effects}});
  }
  return out;
}

Json field_values(const std::vector<FieldEffects>& fields) {
  Json out = Json::array();
  for (const FieldEffects& field : fields) {
    out.push_back({{"term", field.term},
                   {"column", field.column},
                   {"precision", field.precision},
                   {"nodes", field.nodes},
                   {"mean", number_array(field.values.mean)},
                   {"variance", number_array(field.values.variance)}});
  }
  return out;
}

/// Which fields of the result are averages over the points; the others are those of the fit at the mode.
Json averaged_fields(const Json& result, bool left_out) {
  Json out = Json::array();
  for (const char* name :
       {"weights", "latent", "prediction", "coefficients", "random", "fields", "leave_one_out", "training"}) {
    if (result.contains(name) && (left_out || std::string_view(name) != "leave_one_out")) {
      out.push_back(name);
    }
  }
  return out;
}

Json integration(const Integrated& integrated, bool one_block) {
  Json out;
  out["points"] = Json::array();
  out["weights"] = Json::array();
  for (const IntegrationPoint& point : integrated.points) {
    Json values = Json::object();
    for (const auto& [name, value] : point.gaussian.parameters) {
      put(values, name, value, one_block);
    }
    out["points"].push_back(std::move(values));
    out["weights"].push_back(point.gaussian.weight);
  }
  const IntegrationReport& report = integrated.report;
  out["log_evidence"] = integrated.log_evidence;
  out["proper"] = report.proper;
  out["parameters"] = Json::array();
  for (const IntegratedParameter& parameter : integrated.parameters) {
    out["parameters"].push_back({{"name", parameter.name},
                                 {"mean", parameter.mean},
                                 {"sd", parameter.sd},
                                 {"lower", parameter.lower},
                                 {"upper", parameter.upper},
                                 {"identified", parameter.identified}});
  }
  out["status"] = std::string(to_string(report.status));
  out["message"] = report.message;
  out["fits"] = report.fits;
  out["failed"] = report.failed;
  out["cut_off"] = report.cut_off;
  out["effective"] = report.effective;
  return out;
}

Json diagnostics_json(const SamplingDiagnostics& diagnostics) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"rhat", number(diagnostics.rhat)},
          {"bulk_ess", number(diagnostics.bulk_ess)},
          {"tail_ess", number(diagnostics.tail_ess)},
          {"pareto_k", number(diagnostics.pareto_k)}};
}

/// One line a field: a result stays readable although its arrays are long.
std::string write_fields(const Json& fields) {
  std::string text = "{";
  const char* separator = "\n  ";
  for (const auto& [key, value] : fields.items()) {
    text += separator;
    text += Json(key).dump() + ": " + value.dump();
    separator = ",\n  ";
  }
  return text + "\n}\n";
}

/// Sites as they were given or chosen, with their scores; inputs that are no rows, or have moved.
Json result_inducing_json(const Inducing& inducing, const ChosenInducing* chosen) {
  Json out = inducing_json(inducing);
  if (chosen == nullptr) {
    return out;
  }
  if (!inducing.learn) {
    out.erase("inputs");
  }
  out["sites"] = Json::array();
  for (const auto& [row, latent] : chosen->sites) {
    out["sites"].push_back({row, latent});
  }
  if (!chosen->scores.empty()) {
    out["scores"] = chosen->scores;
  }
  return out;
}

/// Given, or measured by the card's draws where these have an upper limit.
std::optional<double> true_log_evidence(const ResultContent& content) {
  if (content.true_log_evidence) {
    return content.true_log_evidence;
  }
  const TrustCard* card = content.trust;
  return card != nullptr && card->check && card->evidence_upper ? std::optional(card->check->log_evidence)
                                                                : std::nullopt;
}

Json numerics(const Report& report) {
  return {{"jitter", report.jittered},       {"clipped", report.clipped},
          {"skipped", report.skipped},       {"negative_precisions", report.negative_precisions},
          {"mean_error", report.mean_error}, {"variance_error", report.variance_error}};
}

/// Warnings of the run, then those of the content.
std::vector<std::string> all_warnings(const Report& report, const ResultContent& content) {
  std::vector<std::string> warnings = report.warnings;
  warnings.insert(warnings.end(), content.warnings.begin(), content.warnings.end());
  return warnings;
}

/// Notes on the data, then those of the run.
void put_notes(const Report& report, const ResultContent& content, Json& out) {
  std::vector<std::string> notes = content.notes;
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  if (!notes.empty()) {
    out["notes"] = notes;
  }
}

std::string not_converged(const Report& report) { return "inference did not converge: " + report.message; }

}  // namespace

std::string result_json(const NetworkPosterior& posterior, const ResultContent& content) {
  const Report& report = posterior.report();
  const bool usable = report.status != Status::numerical_failure;
  std::vector<std::string> warnings = all_warnings(report, content);
  if (!report.converged()) {
    warnings.push_back(not_converged(report));
  }
  Json out;
  out["format"] = "gaussmith-result/1";
  out["method"] = "ep";
  out["version"] = std::string(version);
  out["log_evidence"] = posterior.log_evidence().value;
  out["evidence_kind"] = std::string(to_string(posterior.log_evidence().kind));
  out["converged"] = report.converged();
  out["iterations"] = report.iterations;
  out["seconds"] = content.seconds.value_or(report.seconds);
  out["latent"] = usable ? moments(posterior.latent(), 1) : Json();
  out["network"] = usable ? network_summary_json(posterior) : Json();
  if (content.prediction != nullptr) {
    out["prediction"] =
        usable ? prediction(posterior.predict(content.prediction->points), content, false, warnings) : Json();
  }
  if (!content.coefficients.empty()) {
    out["coefficients"] = coefficients(content.coefficients);
  }
  out["warnings"] = warnings;
  out["log_evidence_error"] = posterior.log_evidence().numerical_error;
  out["message"] = report.message;
  out["residual"] = report.residual;
  out["tolerance"] = report.tolerance;
  out["options"] = Json::object();
  for (const auto& [name, value] : options_of(posterior.method())) {
    out["options"][name] = value;
  }
  out["core"] = report.core;
  out["numerics"] = numerics(report);
  if (content.leave_one_out && usable) {
    out["leave_one_out"] = leave_one_out_json(posterior.leave_one_out(), 1);
  }
  if (content.training != nullptr) {
    out["training"] = training_json(*content.training);
  }
  put_event_counts({posterior.model().sites}, out);
  put_notes(report, content, out);
  return write_fields(out);
}

std::string result_json(const Posterior& posterior, const ResultContent& content) {
  const Report& report = posterior.report();
  const std::vector<Parameter> all = posterior.model().parameters();
  // After a numerical failure there is no Gaussian to ask.
  const bool usable = report.status != Status::numerical_failure;
  const bool one_block = posterior.model().sites.size() == 1 || content.data_rows > 0;
  const Integrated* integrated =
      content.integration != nullptr && !content.integration->points.empty() ? content.integration : nullptr;
  const Index latents = posterior.model().latents.count;
  const bool kl = std::holds_alternative<Kl>(posterior.method());
  const bool labels = posterior.model().sites.front()->traits().response == ResponseKind::label;
  const bool learned = content.learning == nullptr || content.learning->status == Status::converged;

  std::vector<std::string> warnings = all_warnings(report, content);
  if (content.learning != nullptr) {
    warnings.insert(warnings.end(), content.learning->warnings.begin(), content.learning->warnings.end());
  }
  if (integrated != nullptr) {
    warnings.insert(warnings.end(), integrated->report.warnings.begin(), integrated->report.warnings.end());
  }
  if (!report.converged()) {
    warnings.push_back(not_converged(report));
  }

  Json out;
  out["format"] = "gaussmith-result/1";
  out["method"] = std::string(name_of(posterior.method()));
  out["version"] = std::string(version);
  out["log_evidence"] = posterior.log_evidence().value;
  out["evidence_kind"] = std::string(to_string(posterior.log_evidence().kind));
  if (posterior.log_evidence().standard_error) {
    out["log_evidence_se"] = *posterior.log_evidence().standard_error;
  } else if (is_sampler(posterior.method())) {
    out["log_evidence_se"] = nullptr;
  }
  if (const std::optional<double> limit = evidence_limit(posterior)) {
    out["log_evidence_limit"] = *limit;
  }
  if (labels) {
    out["classes"] = class_names(content.classes, latents);
  }
  out["converged"] = report.converged() && learned;
  out["iterations"] = report.iterations;
  out["seconds"] = content.seconds.value_or(report.seconds);
  out["weights"] =
      usable ? moments(integrated != nullptr ? integrated->weights : posterior.weights(), latents) : Json();
  out["latent"] = Json();
  if (usable) {
    const Marginals rows =
        first_rows(integrated != nullptr ? integrated->latent : posterior.latent(), content.data_rows, latents);
    out["latent"] = moments(rows, latents);
    if (content.covariances) {
      out["latent"]["covariance"] = row_matrices(rows.covariance, latents);
    }
  }
  if (usable && report.latent_estimate_error > 0.0) {
    out["weights"]["variance_error"] = report.weights_estimate_error;
    out["latent"]["variance_error"] = report.latent_estimate_error;
  }
  if (usable && has_class_bounds(posterior)) {
    out["bounds"] = bounds_json(class_bounds(posterior, goal_of_bounds(content.probability)));
  }
  if (const GaussianProcess* process = process_of(posterior.model().prior); process != nullptr && process->inducing) {
    out["inducing"] = result_inducing_json(*process->inducing, content.inducing);
  }
  out["parameters"] = parameters(all, one_block);
  out["gradient"] = usable ? gradient(posterior, all, one_block) : Json();
  if (content.prediction != nullptr) {
    const PredictionPoints& points = content.prediction->points;
    out["prediction"] =
        !usable ? Json()
                : prediction(integrated != nullptr ? integrated->predict(points) : posterior.predict(points), content,
                             kl, warnings);
    if (usable && labels && kl && content.prediction->responses) {
      std::optional<double> gap;
      if (const std::optional<double> truth = true_log_evidence(content); truth && std::isfinite(*truth)) {
        gap = posterior.log_evidence().value - *truth;
      }
      out["joint"] = joint_json(out["prediction"], *content.prediction->responses, gap);
    }
  }
  if (!content.coefficients.empty()) {
    out["coefficients"] = coefficients(content.coefficients);
  }
  if (!content.groups.empty()) {
    out["random"] = random_effects(content.groups);
  }
  if (!content.fields.empty()) {
    out["fields"] = field_values(content.fields);
  }
  out["warnings"] = warnings;
  out["log_evidence_error"] = posterior.log_evidence().numerical_error;
  out["gradient_error"] = posterior.gradient_error();
  out["message"] = report.message;
  out["residual"] = report.residual;
  out["tolerance"] = report.tolerance;
  if (const auto& scales = posterior.scales(); scales && usable) {
    out["scales"] = {{"shape", number_array(first_rows(scales->shape, content.data_rows))},
                     {"rate", number_array(first_rows(scales->rate, content.data_rows))},
                     {"mean_precision", number_array(first_rows(scales->mean_precision, content.data_rows))}};
  }
  if (kl) {
    out["duality_gap"] = report.duality_gap ? Json(*report.duality_gap) : Json();
    out["duality_gap_rows"] = Json::array();
    for (const auto& [row, gap] : report.duality_gap_rows) {
      out["duality_gap_rows"].push_back({{"row", row}, {"gap", gap}});
    }
  }
  out["options"] = Json::object();
  for (const auto& [name, value] : options_of(posterior.method())) {
    out["options"][name] = value;
  }
  if (report.diagnostics) {
    out["diagnostics"] = diagnostics_json(*report.diagnostics);
  }
  out["core"] = report.core;
  out["numerics"] = numerics(report);
  if (usable && latents == 1) {
    out["checks"] = checks_json(quick_checks(posterior));
  }
  if (content.trust != nullptr) {
    out["trust"] = trust_json(*content.trust, report, content.data_rows);
  }
  if (content.marginals != nullptr) {
    out["marginals"] = marginals_json(*content.marginals);
  }
  if (content.leave_one_out && usable) {
    const LeaveOneOut left_out =
        integrated != nullptr && integrated->left_out ? *integrated->left_out : posterior.leave_one_out();
    out["leave_one_out"] = leave_one_out_json(
        {first_rows(left_out.latent, content.data_rows, latents), first_rows(left_out.log_density, content.data_rows)},
        latents);
  }
  if (content.training != nullptr) {
    out["training"] = training_json(*content.training);
  }
  put_event_counts(posterior.model().sites, out);
  if (content.learning != nullptr) {
    out["learning"] = learning(*content.learning, one_block);
  }
  if (integrated != nullptr) {
    out["integration"] = integration(*integrated, one_block);
    out["integration"]["averaged"] = averaged_fields(out, integrated->left_out.has_value());
    out["integration"]["at_mode"] = {"log_evidence", "evidence_kind", "parameters", "gradient"};
  }
  put_notes(report, content, out);
  return write_fields(out);
}

}  // namespace gaussmith
