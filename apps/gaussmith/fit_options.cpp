#include "fit_options.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace gaussmith::app {

namespace {

constexpr const char* table_group = "Data and model from a table";
constexpr const char* inference_group = "Inference and learning";

void add_inference_options(CLI::App& app, FitArguments& arguments) {
  const auto add = [&app](const std::string& name, auto& value, const std::string& help, const char* type) {
    return app.add_option(name, value, help)->group(inference_group)->type_name(type);
  };
  const auto add_repeated = [&add](const std::string& name, auto& value, const std::string& help, const char* type) {
    return add(name, value, help, type)->expected(1)->take_all();
  };
  add("--method", arguments.method,
      "One of `gaussmith methods` (default: exact for gaussian likelihoods, else laplace; with --prior laplace vb "
      "where "
      "it takes the likelihood, else ep; multinomial-logit kl, multinomial-probit and networks ep)",
      "NAME");
  add_repeated("--set", arguments.set,
               "NAME=VALUE: a parameter (kernel.signal_sd, kernel.lengthscale=0.5,1.2, prior.variance, "
               "likelihood.scale) or an option (laplace.tolerance, learn.max_evaluations, predict.tolerance, "
               "network.starts); may be repeated",
               "NAME=VALUE");
  app.add_flag("--learn", arguments.learn, "Maximise the evidence over every parameter that is not fixed")
      ->group(inference_group);
  add_repeated("--fix", arguments.learning.fixed, "Keep this parameter while learning; may be repeated, or a,b", "NAME")
      ->delimiter(',');
  add_repeated("--bounds", arguments.learning.bounds, "NAME=LOWER,UPPER for learning (default: 1e-5,1e5)",
               "NAME=LO,HI");
  add_repeated("--hyperprior", arguments.learning.hyperpriors, "NAME=MEDIAN,SD: log-normal prior of a parameter",
               "NAME=MED,SD");
  add("--hyperpriors", arguments.learning.hyperpriors_for_all,
      "weak: a log-normal prior for every parameter around its start, sd 1.5; --hyperprior overrides it", "KIND")
      ->check(CLI::IsMember({"weak"}));
  add("--restarts", arguments.learning.restarts, "Further starts of learning, drawn from --seed", "COUNT")
      ->check(CLI::Range(0, 100000));
  app.add_flag("--integrate", arguments.integrate,
               "Average over the parameters around the learned ones instead of taking those alone; implies --learn")
      ->group(inference_group);
  add("--inducing", arguments.inducing,
      "See a gp through so many of its values, chosen among those of the rows: kl for many rows, a lower bound still",
      "COUNT")
      ->check(CLI::Range(Index{1}, Index{1} << 31));
  add("--inducing-select", arguments.inducing_select,
      "How they are chosen: active (by conditional variance, for classes by what the bound gains; anew while learning) "
      "or random (by --seed)",
      "NAME")
      ->check(CLI::IsMember({"active", "random"}));
  add("--form", arguments.form, "Form of the Gaussian core: auto, covariance, precision, sparse or matrix-free", "NAME")
      ->check(CLI::IsMember({"auto", "covariance", "precision", "sparse", "matrix-free"}));
}

}  // namespace

TableModelOptions TableArguments::options(const std::vector<Assignment>& parameters, bool learning) const {
  TableModelOptions all = model;
  if (all.is_network()) {
    // Rows of a network have no weights; its inputs do.
    all.weight_prior = std::exchange(all.weights_column, {});
  }
  all.intercept = !no_intercept;
  all.learning = learning;
  for (const std::string& given : graphs) {
    // A column and a file, or a file alone whose name has an equals sign.
    const auto equals = given.find('=');
    const bool by_column = equals != std::string::npos && !std::filesystem::exists(given);
    const std::string column = by_column ? given.substr(0, equals) : "";
    if (all.graphs.contains(column)) {
      throw InvalidOption(
          fmt::format("--graph {}: {} has a graph already", given, column.empty() ? std::string("the model") : column));
    }
    all.graphs[column] = read_graph(by_column ? given.substr(equals + 1) : given);
  }
  all.mean.reset();
  if (mean != "auto") {
    all.mean = Assignment{"--mean", "VALUE", mean}.numbers(1, "one number or auto").front();
  }
  for (const auto& [argument, column] : argument_columns) {
    if (!column.empty()) {
      all.argument_columns[argument] = column;
    }
  }
  for (const std::string& text : coefficient_priors) {
    // Names of levels hold a sign of equality themselves: sex=male.
    const auto equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw InvalidOption(fmt::format("--coefficient-prior {}: expected NAME=MEAN,SD", text));
    }
    const Assignment prior{"--coefficient-prior", text.substr(0, equals), text.substr(equals + 1)};
    const auto shape = prior.numbers(2, "NAME=MEAN,SD");
    all.coefficient_priors.push_back({prior.name, shape[0], shape[1]});
  }
  for (const Assignment& assignment : parameters) {
    all.parameters.push_back({.name = assignment.name, .text = assignment.value});
  }
  return all;
}

void add_table_options(CLI::App& app, TableArguments& table) {
  const auto add = [&app](const std::string& name, auto& value, const std::string& help, const char* type) {
    return app.add_option(name, value, help)->group(table_group)->type_name(type);
  };
  const auto add_flag = [&app](const std::string& name, bool& value, const std::string& help) {
    app.add_flag(name, value, help)->group(table_group);
  };
  TableModelOptions& model = table.model;
  add("--data", table.data, "Table: CSV or TSV with a header, or LIBSVM text (.svm, .libsvm); gzip is recognised",
      "FILE");
  add("--target", model.target, "Column of the responses (CSV)", "COLUMN");
  add("--features", model.features, "Columns of the features, a,b,c (default: all others)", "COLUMNS")->delimiter(',');
  add("--categorical", table.categorical, "Columns whose numbers are names of categories, a,b,c", "COLUMNS")
      ->delimiter(',');
  add("--likelihood", model.likelihood, "One of `gaussmith likelihoods`", "NAME");
  add("--classes", model.classes,
      "Labels of several classes, a,b,c: all of them, in this order (default: those of the table, sorted)", "LABELS")
      ->delimiter(',');
  add("--latent-covariance", model.latent_covariance,
      "How the functions of several classes are related: identity (default), diagonal, centred-diagonal, centred or "
      "full",
      "NAME");
  add("--formula", model.formula,
      "The model in lme4's notation, instead of --target, --features, --prior, --kernel, --random, --field: "
      "\"y ~ age + sex + (1|patient) + gp(time)\", \"cases ~ smoking + besag(region) + (1|region)\"",
      "TEXT");
  add("--prior", model.prior,
      "gp (with --kernel), isotropic, also called linear (a linear model with an intercept), laplace (the same with "
      "Laplace priors of the coefficients), network (two layers, every scale integrated) or sparse-linear (the same "
      "without hidden units)",
      "NAME")
      ->check(CLI::IsMember({"gp", "isotropic", "linear", "laplace", "network", "sparse-linear"}));
  add("--units", model.units,
      "Hidden units of a network at most: the data switch off what they do not need (default: 10)", "COUNT");
  add("--kernel", model.kernel,
      "One of `gaussmith kernels`; NAME-ard has one length-scale a feature; NAME(a,b) sees these columns alone; + and "
      "* "
      "join (default: se)",
      "NAME");
  add("--random", model.random,
      "Effects of the levels of a group: 1|group, x|group (intercept and slope), x||group, 0 + x|group; may be "
      "repeated",
      "TERM")
      ->expected(1)
      ->take_all();
  add("--field", model.field,
      "A Markov field over the values of a column: besag(region) with --graph, rw1(year), rw2(day, cyclic), rw2(year, "
      "1990, 2030); may be repeated",
      "FIELD")
      ->expected(1)
      ->take_all();
  add("--graph", table.graphs,
      "Neighbours of a besag field: a CSV of pairs, or a graph file of INLA or GeoDa; COLUMN=FILE where there are "
      "several such fields; may be repeated",
      "FILE")
      ->expected(1)
      ->take_all();
  add("--coefficient-prior", table.coefficient_priors,
      "NAME=MEAN,SD: prior of a coefficient on the scale of its column, (intercept) for an average row (default: from "
      "the scale of the data); may be "
      "repeated",
      "NAME=MEAN,SD")
      ->expected(1)
      ->take_all();
  add("--mean", table.mean, "Constant mean of the gp: a number, or auto for the level of the data (default: 0)",
      "VALUE");
  for (const ColumnArgument& argument : column_arguments()) {
    add("--" + argument.info->name, table.argument_columns[argument.info->name],
        fmt::format("Column with {} ({})", argument.info->column->holds, fmt::join(argument.likelihoods, ", ")),
        "COLUMN");
  }
  add("--event", model.event_column, "Column with 1 for events, 0 for censored rows: the opposite of --censored",
      "COLUMN");
  add("--offset", model.offset_column, "Column added to the latent function", "COLUMN");
  add("--weights", model.weights_column,
      "Column with weights of rows, above 0: weight k counts as k equal rows. Of --prior network and sparse-linear: "
      "the "
      "prior of the input weights, gaussian, ard, laplace, laplace-ard or independent (default: ard, laplace)",
      "COLUMN|NAME");
  add("--keep", model.keep, "Columns that predict copies, a,b,c, such as identifiers; no features", "COLUMNS")
      ->delimiter(',');
  add_flag("--standardize", model.standardize, "Scale numeric features to mean 0 and sd 1; kept with the model");
  add_flag("--single", table.single, "Keep the values of a LIBSVM table in single precision: 8 bytes each, not 12");
  add_flag("--drop-missing", model.drop_missing, "Leave out rows with missing cells instead of refusing them");
  add_flag("--no-intercept", table.no_intercept, "Linear model without the column of ones");
}

void add_fit_options(CLI::App& app, FitArguments& arguments) {
  add_table_options(app, arguments.table);
  arguments.table_options =
      app.get_options([](const CLI::Option* option) { return option->get_group() == table_group; });
  app.add_option("--problem", arguments.problem, "A whole model as JSON, gaussmith-problem/1, instead of a table")
      ->type_name("FILE");
  add_inference_options(app, arguments);
  app.add_option("--save", arguments.save, "Write the fitted model here, for predict and evaluate")->type_name("FILE");
  app.add_option("--coefficients", arguments.coefficients,
                 "Write the coefficients here as CSV: name, mean, sd, lower, upper, ratio")
      ->type_name("FILE");
  app.add_option("--level", arguments.level, "Mass of the intervals of coefficients (default: 0.95)")
      ->check(CLI::Range(0.001, 0.999))
      ->type_name("LEVEL");
  app.add_flag("--loo", arguments.leave_one_out,
               "Add leave-one-out predictions: every row's log predictive density given the others, without refitting");
  app.add_flag("--diagnose", arguments.diagnose,
               "Add the card: may this fit be trusted? Second order, other modes, a check by importance sampling");
  app.add_option(
         "--marginals", arguments.marginals,
         "Correct these marginals beyond the Gaussian (laplace, ep): rows 3,7 or all, worst:K, weight:J, weights, "
         "predictions")
      ->type_name("WHICH");
  app.add_flag("--full", arguments.full, "Add the covariances of several latents a row to the result");
}

void check_usage(const FitArguments& arguments) {
  if (arguments.problem.empty() && arguments.table.data.empty()) {
    throw InvalidOption("fit needs --data TABLE or --problem FILE; see gaussmith fit --help");
  }
  if (arguments.problem.empty() && arguments.table.model.likelihood.empty()) {
    throw InvalidOption("--likelihood is missing; gaussmith likelihoods lists them");
  }
  if (!arguments.coefficients.empty() && !arguments.problem.empty()) {
    throw InvalidOption("--coefficients belongs to a table; the weights of a problem are in --json");
  }
  for (const CLI::Option* option : arguments.table_options) {
    if (!arguments.problem.empty() && option->count() > 0) {
      throw InvalidOption(fmt::format("{} belongs to a table; a problem file is the whole model", option->get_name()));
    }
  }
  if (arguments.inducing > 0 && !arguments.problem.empty()) {
    throw InvalidOption("--inducing belongs to a table; a problem file says it by prior.inducing");
  }
  if (!arguments.inducing_select.empty() && arguments.inducing == 0) {
    throw InvalidOption("--inducing-select has an effect only with --inducing COUNT");
  }
  if (!arguments.learn) {
    const char* given = !arguments.learning.fixed.empty()                 ? "--fix"
                        : !arguments.learning.bounds.empty()              ? "--bounds"
                        : !arguments.learning.hyperpriors.empty()         ? "--hyperprior"
                        : !arguments.learning.hyperpriors_for_all.empty() ? "--hyperpriors"
                        : arguments.learning.restarts > 0                 ? "--restarts"
                                                                          : nullptr;
    if (given != nullptr) {
      throw InvalidOption(fmt::format("{} has an effect only with --learn", given));
    }
  }
}

}  // namespace gaussmith::app
