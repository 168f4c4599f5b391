#include "command.hpp"
#include "comparison_report.hpp"
#include "gaussmith/errors.hpp"
#include "prepared_model.hpp"
#include "run_control.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace gaussmith::app {

namespace {

struct CompareArguments {
  TableArguments table;
  std::vector<CLI::Option*> table_options;
  std::string problem;
  std::vector<std::string> methods;
  std::vector<std::string> set;
  std::string test;
  std::string html;
  bool markdown = false;
  bool full = false;
  bool no_truth = false;
};

void check_usage(const CompareArguments& arguments, const CommonOptions& common) {
  if (arguments.problem.empty() && arguments.table.data.empty()) {
    throw InvalidOption("compare needs --data TABLE or --problem FILE; see gaussmith compare --help");
  }
  if (arguments.problem.empty() && arguments.table.model.likelihood.empty()) {
    throw InvalidOption("--likelihood is missing; gaussmith likelihoods lists them");
  }
  for (const CLI::Option* option : arguments.table_options) {
    if (!arguments.problem.empty() && option->count() > 0) {
      throw InvalidOption(fmt::format("{} belongs to a table; a problem file is the whole model", option->get_name()));
    }
  }
  if (!arguments.problem.empty() && !arguments.test.empty()) {
    throw InvalidOption("--test belongs to a table; a problem file says it by predict");
  }
  if (arguments.markdown && common.json) {
    throw InvalidOption("--markdown and --json exclude one another");
  }
  if (arguments.full && !common.json) {
    throw InvalidOption("--full has an effect only with --json");
  }
}

/// The mean log predictive density of a labelled table under every method.
void score_on(const std::string& test, const Prepared& prepared, const CommonOptions& common, Comparison& comparison) {
  comparison.held_out = true;
  for (ComparedMethod& line : comparison.methods) {
    line.log_density.reset();
    if (line.posterior.report().status == Status::numerical_failure) {
      continue;
    }
    const SavedModel saved = saved_model(line.posterior, prepared.coding);
    Table table = read_table(test, reading_options(saved.coding));
    const TablePrediction predicted =
        predict_table(saved, std::move(table), {.observed = true, .threads = common.threads});
    line.log_density = predicted.prediction.log_density(predicted.responses).mean();
  }
}

Outcome run_compare(const CompareArguments& arguments, const CommonOptions& common) {
  check_usage(arguments, common);
  std::vector<std::string> known = arguments.methods;
  if (known.empty()) {
    for (const MethodInfo& info : method_catalogue()) {
      known.push_back(info.name);
    }
  }
  const Settings settings = sort_settings(parse_assignments("--set", arguments.set), known);
  const auto make = [&](const std::string& name) {
    std::map<std::string, std::string, std::less<>> own;
    for (const auto& [option, value] : settings.method_options) {
      if (option.starts_with(name + ".")) {
        own[option] = value;
      }
    }
    return make_method(name, own);
  };
  for (const auto* other : {&settings.learning, &settings.integration}) {
    if (!other->empty()) {
      throw InvalidOption(fmt::format("--set {}: compare learns nothing; set the parameters that fit --learn has found",
                                      other->front().name));
    }
  }
  const Prepared prepared = arguments.problem.empty()
                                ? prepare_table(arguments.table, false, settings)
                                : prepare_problem(arguments.problem, read_problem(arguments.problem), settings, false);
  if (prepared.selection) {
    throw InvalidOption(
        "prior.inducing.count: compare takes inducing variables that are given, not those to be chosen");
  }
  CompareOptions options;
  options.truth = !arguments.no_truth;
  options.data_rows = prepared.data_rows;
  if (!arguments.methods.empty() || !settings.method_options.empty()) {
    const std::vector<std::string> names = arguments.methods.empty() ? methods_for(prepared.model) : arguments.methods;
    for (const std::string& name : names) {
      options.methods.push_back(make(name));
    }
  }
  if (prepared.prediction && prepared.prediction->responses) {
    options.held_out = HeldOut{prepared.prediction->points, *prepared.prediction->responses};
  }
  RunControl control(common, "comparing, step");
  Comparison comparison = compare(prepared.model, options, control.run());
  if (!arguments.test.empty()) {
    score_on(arguments.test, prepared, common, comparison);
  }
  stop_if_interrupted();

  Outcome outcome;
  outcome.notes = prepared.notes;
  outcome.notes.insert(outcome.notes.end(), comparison.notes.begin(), comparison.notes.end());
  outcome.warnings = prepared.warnings;
  for (const ComparedMethod& line : comparison.methods) {
    if (!line.posterior.report().converged()) {
      outcome.code = exit_not_converged;
      outcome.warnings.push_back(fmt::format("{} did not converge: {}", line.name, line.posterior.report().message));
    }
  }
  if (comparison.truth) {
    for (const std::string& note : comparison.truth->notes) {
      outcome.notes.push_back("truth: " + note);
    }
  }
  const ReportedComparison report{&comparison, prepared.summary.data_line, prepared.summary.model_line,
                                  comparison.held_out ? "held out" : "left out",
                                  prepared.prediction ? &*prepared.prediction : nullptr};
  outcome.output = common.json          ? comparison_json(report, arguments.full)
                   : arguments.markdown ? comparison_markdown(report)
                                        : comparison_text(report);
  if (!arguments.html.empty()) {
    const std::string page = comparison_page(report);
    begin_writing();
    write_file(arguments.html, page);
  }
  return outcome;
}

}  // namespace

Command add_compare(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("compare", "The same model under several methods, side by side, and the truth");
  auto arguments = std::make_shared<CompareArguments>();
  add_table_options(*app, arguments->table);
  arguments->table_options = app->get_options(
      [](const CLI::Option* option) { return option->get_group() != "OPTIONS" && option->get_group() != "Options"; });
  app->add_option("--problem", arguments->problem, "A whole model as JSON, gaussmith-problem/1, instead of a table")
      ->type_name("FILE");
  app->add_option("--methods", arguments->methods, "Methods, a,b,c (default: all that take the model)")
      ->delimiter(',')
      ->type_name("NAMES");
  app->add_option("--set", arguments->set, "NAME=VALUE: a parameter or an option of a method; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  app->add_option("--test", arguments->test,
                  "Table with the same columns: its mean log predictive density in place of leave-one-out")
      ->type_name("FILE");
  app->add_flag("--no-truth", arguments->no_truth, "Do not look for the truth");
  app->add_flag("--markdown", arguments->markdown, "Print the table in Markdown");
  app->add_option("--html", arguments->html, "Write a page with pictures here")->type_name("FILE");
  app->add_flag("--full", arguments->full, "With --json: the arrays of every row, too");
  add_common(*app, common, true);
  app->footer(
      "Truth: closed form for Gaussian likelihoods, quadrature in up to three dimensions, else sampling; the line "
      "says\n"
      "which, and how far it can be trusted.\n\n"
      "Examples:\n"
      "  gaussmith compare --data train.csv --target y --likelihood bernoulli-logit --test test.csv\n"
      "  gaussmith compare --problem problem.json --methods laplace,ep,nuts --html report.html\n"
      "  gaussmith compare --problem problem.json --set nuts.draws=10000 --json");
  return {app, [arguments, &common] { return run_compare(*arguments, common); }};
}

}  // namespace gaussmith::app
