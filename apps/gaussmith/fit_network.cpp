#include "fit_network.hpp"

#include "fit_summary.hpp"
#include "gaussmith/errors.hpp"
#include "network_summary.hpp"
#include "report_lines.hpp"
#include "run_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gaussmith::app {

namespace {

/// A network ready to be fitted, and what will be said about it.
struct PreparedNetwork {
  NetworkModel model;
  TableCoding coding;
  std::optional<PredictionRequest> prediction;
  NetworkFitSummary summary;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Options that other models have and a network has not, with the reason.
void check_arguments(const FitArguments& arguments) {
  const auto refuse = [](const std::string& option, const char* why) {
    throw InvalidOption(fmt::format("{}: {}", option, why));
  };
  if (!arguments.method.empty() && arguments.method != "ep") {
    refuse("--method " + arguments.method, "networks and sparse linear models are fitted by ep alone");
  }
  if (arguments.integrate) {
    refuse("--integrate", "every scale of a network is integrated already");
  }
  if (arguments.learn) {
    refuse("--learn", "nothing is left to learn: every scale of a network is integrated");
  }
  if (arguments.diagnose) {
    refuse("--diagnose", "networks have no card; the residuals and weights of their starts are in the report");
  }
  if (!arguments.marginals.empty()) {
    refuse("--marginals", "networks have none beyond their Gaussians");
  }
  if (arguments.full) {
    refuse("--full", "it has an effect only on models of several classes; a network has one latent a row");
  }
  if (arguments.inducing > 0) {
    refuse("--inducing", "a network has no gp; its cost is linear in the rows");
  }
  if (arguments.form != "auto" && arguments.form != "covariance" && arguments.form != "precision") {
    refuse("--form " + arguments.form, "the weights of a network take auto, covariance or precision");
  }
}

struct NetworkSettings {
  std::map<std::string, std::string, std::less<>> method;
  std::vector<Assignment> prior;
};

NetworkSettings sort(const std::vector<Assignment>& assignments) {
  const Settings sorted = sort_settings(assignments, "ep");
  if (!sorted.method_options.empty()) {
    throw InvalidOption(fmt::format("--set {}: ep of networks has options of its own, network.power and others",
                                    sorted.method_options.begin()->first));
  }
  for (const auto* others :
       {&sorted.learning, &sorted.integration, &sorted.prediction, &sorted.diagnosis, &sorted.marginals}) {
    if (!others->empty()) {
      throw InvalidOption(fmt::format("--set {}: a network has no use for it", others->front().name));
    }
  }
  NetworkSettings settings;
  const auto& known = network_options();
  for (const Assignment& set : sorted.parameters) {
    if (std::any_of(known.begin(), known.end(), [&](const MethodOptionInfo& o) { return o.name == set.name; })) {
      settings.method[set.name] = set.value;
    } else {
      settings.prior.push_back(set);
    }
  }
  return settings;
}

PreparedNetwork prepare(const TableArguments& table, const NetworkSettings& settings) {
  const TableModelOptions options = table.options(settings.prior, false);
  options.check();
  TableNetwork built =
      build_table_network(read_table(table.data, {.text_columns = table.categorical, .single = table.single}), options);
  PreparedNetwork prepared;
  TableModel described;
  described.model.sites = {built.model.sites};
  described.coding = built.coding;
  prepared.summary.data_line = data_in_words(table.data, options, described);
  prepared.summary.new_table = built.coding.features.is_sparse ? "new.svm" : "new.csv";
  prepared.model = std::move(built.model);
  prepared.coding = std::move(built.coding);
  prepared.notes = std::move(built.notes);
  prepared.warnings = std::move(built.warnings);
  return prepared;
}

PreparedNetwork prepare(const FitArguments& arguments, Problem problem, const NetworkSettings& settings) {
  if (!settings.prior.empty()) {
    throw InvalidOption(
        fmt::format("--set {}: a problem file is the whole model; its prior says that", settings.prior.front().name));
  }
  PreparedNetwork prepared;
  prepared.model = std::move(*problem.network);
  prepared.prediction = std::move(problem.prediction);
  prepared.summary.data_line = fmt::format("{}: {}, {}", arguments.problem, plural(prepared.model.inputs.rows(), "row"),
                                           plural(prepared.model.inputs.cols(), "input"));
  if (!arguments.save.empty()) {
    prepared.coding = plain_coding(prepared.model, Spelling::command_line);
    prepared.notes.emplace_back(
        "the saved model reads tables with the columns x1, x2, ... in the order of the problem");
  }
  return prepared;
}

/// How well the rows of the fit are predicted, as they were observed.
Scores score_rows(const NetworkPosterior& posterior) {
  const NetworkModel& model = posterior.model();
  PredictionPoints points{.inputs = model.inputs, .offset = model.offset};
  for (const SiteParameter& parameter : model.sites->parameters()) {
    if (parameter.values.size() > 1) {
      points.arguments[parameter.name] = parameter.values;
    }
  }
  return score(posterior.predict(points), model.sites->responses());
}

Outcome judge(const PreparedNetwork& prepared, const Report& report) {
  Outcome outcome;
  outcome.notes = prepared.notes;
  outcome.warnings = prepared.warnings;
  outcome.warnings.insert(outcome.warnings.end(), report.warnings.begin(), report.warnings.end());
  if (!report.converged()) {
    outcome.code = exit_not_converged;
    outcome.warnings.push_back("inference did not converge: " + report.message);
  }
  return outcome;
}

CoreForm form_of(const std::string& name) {
  return name == "covariance" ? CoreForm::covariance : name == "precision" ? CoreForm::precision : CoreForm::automatic;
}

}  // namespace

bool is_network(const FitArguments& arguments, const std::optional<Problem>& problem) {
  return problem ? problem->network.has_value() : arguments.table.model.is_network();
}

Outcome fit_network(const FitArguments& arguments, std::optional<Problem> problem, const CommonOptions& common) {
  check_arguments(arguments);
  const NetworkSettings settings = sort(parse_assignments("--set", arguments.set));
  const NetworkEp method = make_network_ep(settings.method);
  PreparedNetwork prepared =
      problem ? prepare(arguments, std::move(*problem), settings) : prepare(arguments.table, settings);
  if (!arguments.coefficients.empty() && prepared.model.prior.units > 0) {
    throw InvalidOption("--coefficients: a network has none; give --prior sparse-linear");
  }

  const auto start = std::chrono::steady_clock::now();
  RunControl control(common, "ep");
  Run run = control.run();
  run.form = form_of(arguments.form);
  const NetworkPosterior posterior = infer(prepared.model, method, run);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const bool usable = posterior.report().status != Status::numerical_failure;
  Outcome outcome = judge(prepared, posterior.report());
  stop_if_interrupted();
  NetworkFitSummary& summary = prepared.summary;
  if (usable) {
    summary.training = score_rows(posterior);
    summary.coefficients = coefficients(posterior, arguments.level);
  } else if (!arguments.save.empty()) {
    outcome.warnings.emplace_back("no model was saved: there is no usable fit");
  }
  if (common.json) {
    outcome.output = result_json(posterior, {.prediction = prepared.prediction ? &*prepared.prediction : nullptr,
                                             .leave_one_out = arguments.leave_one_out,
                                             .seconds = seconds.count(),
                                             .warnings = prepared.warnings,
                                             .notes = prepared.notes,
                                             .coefficients = summary.coefficients,
                                             .training = summary.training ? &*summary.training : nullptr});
  } else {
    summary.model_line = network_in_words(prepared.model);
    summary.posterior = &posterior;
    summary.level = arguments.level;
    summary.leave_one_out = arguments.leave_one_out && usable;
    summary.seconds = seconds.count();
    summary.saved = usable ? arguments.save : std::string();
    outcome.output = summarise(summary);
  }
  if (!arguments.coefficients.empty()) {
    const std::string table = coefficient_csv(summary.coefficients, separator_of(arguments.coefficients));
    begin_writing();
    write_file(arguments.coefficients, table);
  }
  // Last, so that whatever fails before leaves no file behind.
  if (!arguments.save.empty() && usable) {
    const std::string saved = format_saved_model(saved_model(posterior, std::move(prepared.coding)));
    begin_writing();
    write_file(arguments.save, saved);
  }
  return outcome;
}

}  // namespace gaussmith::app
