#include "assignments.hpp"
#include "command.hpp"
#include "fit_summary.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "run_control.hpp"
#include "table_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace gaussmith::app {

namespace {

constexpr const char* table_group = "Data and model from a table";

struct FitArguments {
  TableArguments table;
  std::string problem;
  std::string method;
  std::vector<std::string> set;
  bool learn = false;
  LearnArguments learning;
  std::string form = "auto";
  std::string save;
  bool leave_one_out = false;
  std::vector<CLI::Option*> table_options;  ///< None of them goes with --problem.
};

struct Prepared {
  Model model;
  std::optional<SavedModel> saved;
  std::optional<PredictionRequest> prediction;
  FitSummary summary;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

bool all_gaussian(const std::vector<Sites>& sites) {
  return std::all_of(sites.begin(), sites.end(), [](const Sites& block) { return block->traits().gaussian; });
}

/// Codings for a problem's own columns, so that its saved model reads tables with the columns x1, x2, ... and y.
SavedModel problem_codings(const Model& model) {
  if (model.sites.size() != 1) {
    throw InvalidOption(fmt::format("--save: the problem has {} blocks of sites; saved models have one likelihood",
                                    model.sites.size()));
  }
  const auto* process = std::get_if<GaussianProcess>(&model.prior);
  if (process != nullptr && !model.design.is_identity()) {
    throw InvalidOption("--save: a gp prior under a design other than the identity cannot be predicted from a table");
  }
  const Index columns = process != nullptr ? process->inputs.cols() : model.dimension();
  SavedModel saved;
  for (Index j = 0; j < columns; ++j) {
    FeatureColumn column;
    column.name = fmt::format("x{}", j + 1);
    saved.features.columns.push_back(column);
  }
  const SiteBlock& block = *model.sites.front();
  saved.target.column = "y";
  saved.target.kind = block.traits().response;
  if (saved.target.kind == ResponseKind::sign) {
    saved.target.negative = "-1";
    saved.target.positive = "1";
  }
  for (const SiteParameter& parameter : block.parameters()) {
    if (parameter.values.size() <= 1) {
      continue;
    }
    if (parameter.name != "trials" && parameter.name != "exposure" && parameter.name != "censored") {
      throw InvalidOption(
          fmt::format("--save: {} varies by row, which a saved model cannot ask of new tables", parameter.name));
    }
    saved.argument_columns[parameter.name] = parameter.name;
  }
  if (model.offset.size() > 0) {
    saved.offset_column = "offset";
  }
  saved.training_rows = model.rows();
  return saved;
}

Prepared prepare_problem(const FitArguments& arguments, Problem problem, const Settings& settings) {
  Prepared prepared;
  prepared.model = apply_parameters(problem.model, settings.parameters);
  prepared.prediction = std::move(problem.prediction);
  prepared.summary.data_line = fmt::format("{}: {}, dimension {}", arguments.problem,
                                           plural(prepared.model.rows(), "row"), prepared.model.dimension());
  std::string likelihoods;
  for (const Sites& block : prepared.model.sites) {
    likelihoods += (likelihoods.empty() ? "" : ", ") + block->traits().name;
  }
  prepared.summary.model_line =
      fmt::format("{} {}", likelihoods, prepared.model.sites.size() == 1 ? "likelihood" : "likelihoods");
  if (!arguments.save.empty()) {
    prepared.saved = problem_codings(prepared.model);
    prepared.notes.push_back("the saved model reads tables with the columns x1, x2, ... in the order of the problem");
  }
  return prepared;
}

Prepared prepare_table(const FitArguments& arguments, const Settings& settings) {
  TableModel built = build_table_model(arguments.table, settings.parameters, arguments.learn);
  Prepared prepared;
  prepared.model = std::move(built.model);
  prepared.summary.feature_names =
      built.saved.features.is_sparse ? std::vector<std::string>{} : built.saved.features.names();
  prepared.summary.new_table = built.saved.features.is_sparse ? "new.svm" : "new.csv";
  prepared.summary.intercept = built.saved.intercept;
  prepared.summary.data_line = std::move(built.data_line);
  prepared.summary.model_line = std::move(built.model_line);
  prepared.saved = std::move(built.saved);
  prepared.notes = std::move(built.notes);
  prepared.warnings = std::move(built.warnings);
  return prepared;
}

std::string chosen_method(const FitArguments& arguments, const std::optional<Problem>& problem) {
  if (!arguments.method.empty()) {
    return arguments.method;
  }
  const bool gaussian = problem ? all_gaussian(problem->model.sites) : arguments.table.likelihood == "gaussian";
  return gaussian ? "exact" : "laplace";
}

CoreForm core_form(const std::string& name) {
  return name == "covariance" ? CoreForm::covariance : name == "precision" ? CoreForm::precision : CoreForm::automatic;
}

std::optional<Scores> training_scores(const Posterior& posterior) {
  const Model& model = posterior.model();
  if (model.sites.size() != 1 || posterior.report().status == Status::numerical_failure) {
    return std::nullopt;
  }
  const Sites& block = model.sites.front();
  Vector censored;
  for (const SiteParameter& parameter : block->parameters()) {
    if (parameter.name == "censored") {
      censored = parameter.values.size() == 1 ? Vector::Constant(block->size(), parameter.values[0]) : parameter.values;
    }
  }
  return score(Prediction(posterior.latent(), block), block->responses(), block->traits().response, censored);
}

void check_usage(const FitArguments& arguments) {
  if (arguments.problem.empty() && arguments.table.data.empty()) {
    throw InvalidOption("fit needs --data TABLE or --problem FILE; see gaussmith fit --help");
  }
  if (arguments.problem.empty() && arguments.table.likelihood.empty()) {
    throw InvalidOption("--likelihood is missing; gaussmith likelihoods lists them");
  }
  for (const CLI::Option* option : arguments.table_options) {
    if (!arguments.problem.empty() && option->count() > 0) {
      throw InvalidOption(fmt::format("{} belongs to a table; a problem file is the whole model", option->get_name()));
    }
  }
  if (!arguments.learn) {
    const char* given = !arguments.learning.fixed.empty()         ? "--fix"
                        : !arguments.learning.bounds.empty()      ? "--bounds"
                        : !arguments.learning.hyperpriors.empty() ? "--hyperprior"
                        : arguments.learning.restarts > 0         ? "--restarts"
                                                                  : nullptr;
    if (given != nullptr) {
      throw InvalidOption(fmt::format("{} has an effect only with --learn", given));
    }
  }
}

Outcome run_fit(const FitArguments& arguments, const CommonOptions& common) {
  check_usage(arguments);
  std::optional<Problem> problem;
  if (!arguments.problem.empty()) {
    problem = read_problem(arguments.problem);
  }
  const std::string method_name = chosen_method(arguments, problem);
  const Settings settings = sort_settings(parse_assignments("--set", arguments.set), method_name);
  const Method method = make_method(method_name, settings.method_options);
  if (!arguments.learn && !settings.learning.empty()) {
    throw InvalidOption(fmt::format("--set {} has an effect only with --learn", settings.learning.front().name));
  }
  Prepared prepared =
      problem ? prepare_problem(arguments, std::move(*problem), settings) : prepare_table(arguments, settings);

  const auto start = std::chrono::steady_clock::now();
  std::optional<Learned> learned;
  std::optional<Posterior> inferred;
  {
    RunControl control(common, arguments.learn ? "learning" : method_name);
    Run run = control.run();
    run.form = core_form(arguments.form);
    if (arguments.learn) {
      learned =
          learn(prepared.model, method, learn_options(prepared.model, arguments.learning, settings.learning), run);
    } else {
      inferred = infer(prepared.model, method, run);
    }
  }
  const Posterior& posterior = learned ? learned->posterior : *inferred;
  const LearnReport* learning = learned ? &learned->report : nullptr;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Report& report = posterior.report();
  const bool converged = report.converged() && (learning == nullptr || learning->status == Status::converged);

  Outcome outcome;
  outcome.code = converged ? exit_done : exit_not_converged;
  outcome.notes = prepared.notes;
  outcome.warnings = prepared.warnings;
  outcome.warnings.insert(outcome.warnings.end(), report.warnings.begin(), report.warnings.end());
  if (learning != nullptr) {
    outcome.warnings.insert(outcome.warnings.end(), learning->warnings.begin(), learning->warnings.end());
  }
  if (!report.converged()) {
    outcome.warnings.push_back("inference did not converge: " + report.message);
  } else if (!converged) {
    outcome.warnings.push_back("learning did not converge: " + learning->message);
  }

  std::string saved_to;
  stop_if_interrupted();
  const bool usable = report.status != Status::numerical_failure;
  if (!arguments.save.empty() && usable) {
    saved_to = arguments.save;
  } else if (!arguments.save.empty()) {
    outcome.warnings.push_back("no model was saved: there is no usable fit");
  }
  if (common.json) {
    ResultContent content;
    content.prediction = prepared.prediction ? &*prepared.prediction : nullptr;
    content.learning = learning;
    content.leave_one_out = arguments.leave_one_out;
    content.seconds = seconds;
    content.warnings = prepared.warnings;
    content.notes = prepared.notes;
    outcome.output = result_json(posterior, content);
  } else {
    FitSummary& summary = prepared.summary;
    summary.posterior = &posterior;
    summary.learning = learning;
    summary.training = training_scores(posterior);
    summary.seconds = seconds;
    if (arguments.leave_one_out && usable) {
      summary.leave_one_out = posterior.leave_one_out().log_density;
    }
    summary.saved = saved_to;
    outcome.output = summarise(summary);
  }
  stop_if_interrupted();
  // Last, so that whatever fails before leaves no file behind.
  if (!saved_to.empty()) {
    SavedModel& saved = *prepared.saved;
    saved.fitted = posterior.fitted();
    saved.method = method_name;
    saved.log_evidence = posterior.log_evidence();
    saved.converged = converged;
    save_model(saved_to, saved);
  }
  return outcome;
}

void add_table_options(CLI::App& app, TableArguments& table) {
  app.add_option("--data", table.data, "Table: CSV with a header, or LIBSVM text (.svm, .libsvm); gzip is recognised")
      ->group(table_group)
      ->type_name("FILE");
  app.add_option("--target", table.target, "Column of the responses (CSV)")->group(table_group)->type_name("COLUMN");
  app.add_option("--features", table.features, "Columns of the features, a,b,c (default: all others)")
      ->delimiter(',')
      ->group(table_group)
      ->type_name("COLUMNS");
  app.add_option("--categorical", table.categorical, "Columns whose numbers are names of categories, a,b,c")
      ->delimiter(',')
      ->group(table_group)
      ->type_name("COLUMNS");
  app.add_option("--likelihood", table.likelihood, "One of `gaussmith likelihoods`")
      ->group(table_group)
      ->type_name("NAME");
  app.add_option("--prior", table.prior, "gp (with --kernel) or isotropic (a linear model with an intercept)")
      ->check(CLI::IsMember({"gp", "isotropic"}))
      ->group(table_group)
      ->type_name("NAME");
  app.add_option("--kernel", table.kernel,
                 "One of `gaussmith kernels`; NAME-ard has one length-scale a feature; + and * join (default: se)")
      ->group(table_group)
      ->type_name("NAME");
  app.add_option("--mean", table.mean,
                 "Constant mean of the gp: a number, or auto for the level of the data (default: 0)")
      ->group(table_group)
      ->type_name("VALUE");
  app.add_option("--trials", table.trials, "Column with the number of trials (binomial-logit)")
      ->group(table_group)
      ->type_name("COLUMN");
  app.add_option("--exposure", table.exposure,
                 "Column with the exposure or expected count (poisson, negative-binomial)")
      ->group(table_group)
      ->type_name("COLUMN");
  app.add_option("--censored", table.censored, "Column with 1 for censored rows, else 0 (weibull, exponential)")
      ->group(table_group)
      ->type_name("COLUMN");
  app.add_option("--offset", table.offset, "Column added to the latent function")
      ->group(table_group)
      ->type_name("COLUMN");
  app.add_flag("--standardize", table.standardize, "Scale numeric features to mean 0 and sd 1; kept with the model")
      ->group(table_group);
  app.add_flag("--drop-missing", table.drop_missing, "Leave out rows with missing cells instead of refusing them")
      ->group(table_group);
  app.add_flag("--no-intercept", table.no_intercept, "Linear model without the column of ones")->group(table_group);
}

}  // namespace

Command add_fit(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("fit", "Build a model from a table or a problem file, infer, report, save");
  auto arguments = std::make_shared<FitArguments>();
  add_table_options(*app, arguments->table);
  arguments->table_options =
      app->get_options([](const CLI::Option* option) { return option->get_group() == table_group; });
  app->add_option("--problem", arguments->problem, "A whole model as JSON, gaussmith-problem/1, instead of a table")
      ->type_name("FILE");
  const std::string inference = "Inference and learning";
  app->add_option("--method", arguments->method,
                  "One of `gaussmith methods` (default: exact for gaussian likelihoods, else laplace)")
      ->group(inference)
      ->type_name("NAME");
  app->add_option("--set", arguments->set,
                  "NAME=VALUE: a parameter (kernel.signal_sd, kernel.lengthscale=0.5,1.2, prior.variance, "
                  "likelihood.scale) or an option (laplace.tolerance, learn.max_evaluations); may be repeated")
      ->group(inference)
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  app->add_flag("--learn", arguments->learn, "Maximise the evidence over every parameter that is not fixed")
      ->group(inference);
  app->add_option("--fix", arguments->learning.fixed, "Keep this parameter while learning; may be repeated, or a,b")
      ->group(inference)
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->type_name("NAME");
  app->add_option("--bounds", arguments->learning.bounds, "NAME=LOWER,UPPER for learning (default: 1e-5,1e5)")
      ->group(inference)
      ->expected(1)
      ->take_all()
      ->type_name("NAME=LO,HI");
  app->add_option("--hyperprior", arguments->learning.hyperpriors, "NAME=MEDIAN,SD: log-normal prior of a parameter")
      ->group(inference)
      ->expected(1)
      ->take_all()
      ->type_name("NAME=MED,SD");
  app->add_option("--restarts", arguments->learning.restarts, "Further starts of learning, drawn from --seed")
      ->group(inference)
      ->check(CLI::Range(0, 100000))
      ->type_name("COUNT");
  app->add_option("--form", arguments->form, "Form of the Gaussian core: auto, covariance or precision")
      ->group(inference)
      ->check(CLI::IsMember({"auto", "covariance", "precision"}))
      ->type_name("NAME");
  app->add_option("--save", arguments->save, "Write the fitted model here, for predict and evaluate")
      ->type_name("FILE");
  app->add_flag(
      "--loo", arguments->leave_one_out,
      "Add leave-one-out predictions: every row's log predictive density given the others, without refitting");
  add_common(*app, common, true);
  app->footer(
      "Parameters that nothing sets: without --learn they are 1 (nu: 4), and a note says so; with --learn they start\n"
      "from the data (noise at half the sd of the responses, length-scales at the spread of the features).\n\n"
      "Examples:\n"
      "  gaussmith fit --data train.csv --target y --likelihood bernoulli-logit --prior isotropic --standardize\n"
      "  gaussmith fit --data counts.csv --target deaths --exposure expected --likelihood poisson --kernel matern32 "
      "\\\n"
      "                --learn --restarts 3 --save model.gsm\n"
      "  gaussmith fit --data noisy.csv --target y --likelihood student-t --fix likelihood.nu --learn\n"
      "  gaussmith fit --data noisy.csv --target y --likelihood student-t --method ep --learn --loo\n"
      "  gaussmith fit --problem problem.json --method laplace --set laplace.tolerance=1e-10 --json");
  return {app, [arguments, &common] { return run_fit(*arguments, common); }};
}

}  // namespace gaussmith::app
