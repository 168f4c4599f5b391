#include "command.hpp"
#include "gaussmith/errors.hpp"
#include "run_control.hpp"
#include "saved_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

struct PredictArguments {
  SavedArguments saved;
  std::string output;
  PredictionColumns columns;
  bool interval = false;
  double level = 0.95;
  CLI::Option* level_option = nullptr;
};

std::string to_csv(const std::vector<Column>& columns, char separator) {
  std::string out;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (j > 0) {
      out += separator;
    }
    out += csv_text(columns[j].name, separator);
  }
  out += '\n';
  for (Index i = 0; i < columns.front().rows(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (j > 0) {
        out += separator;
      }
      if (columns[j].type == ColumnType::text) {
        out += csv_text(columns[j].texts[static_cast<std::size_t>(i)], separator);
      } else if (const double value = columns[j].numbers[i]; std::isfinite(value)) {
        fmt::format_to(std::back_inserter(out), "{}", value);
      }
    }
    out += '\n';
  }
  return out;
}

using Json = nlohmann::ordered_json;

Json to_json(const Column& column) {
  return column.type == ColumnType::numeric ? Json(std::vector<double>(column.numbers.begin(), column.numbers.end()))
                                            : Json(column.texts);
}

Json to_json(const Matrix& rows) {
  Json out = Json::array();
  for (Index i = 0; i < rows.rows(); ++i) {
    const Vector row = rows.row(i);
    out.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return out;
}

/// What has a column a class in a table is one array of rows here.
void put_classes(const SavedPrediction& result, const std::vector<Column>& columns, Json& out) {
  const std::vector<std::string>& classes = result.model.coding.target.classes;
  out["classes"] = classes;
  const auto first = static_cast<std::size_t>(
      std::find_if(columns.begin() + static_cast<std::ptrdiff_t>(result.predicted.kept.size()), columns.end(),
                   [&](const Column& column) { return column.name == "latent_mean_" + classes.front(); }) -
      columns.begin());
  for (std::size_t j = 0; j < first; ++j) {
    out[columns[j].name] = to_json(columns[j]);
  }
  std::size_t at = first;
  for (const char* name : {"latent_mean", "latent_variance", "probability"}) {
    Matrix rows(columns[at].rows(), static_cast<Index>(classes.size()));
    for (Index c = 0; c < rows.cols(); ++c) {
      rows.col(c) = columns[at++].numbers;
    }
    out[name] = to_json(rows);
  }
  for (; at < columns.size(); ++at) {
    out[columns[at].name] = to_json(columns[at]);
  }
  const Prediction& prediction = result.predicted.prediction;
  if (result.model.method == "kl") {
    out["log_density_lower"] = to_json(prediction.class_log_density_lower());
  }
  out["probability_at_mean"] = to_json(prediction.class_probabilities_at_mean());
}

std::string to_json(const SavedPrediction& result, const std::vector<Column>& columns) {
  Json out;
  out["format"] = "gaussmith-prediction/1";
  out["method"] = result.model.method;
  out["rows"] = columns.front().rows();
  if (result.model.coding.target.kind == ResponseKind::label) {
    put_classes(result, columns, out);
  } else {
    for (const Column& column : columns) {
      out[column.name] = to_json(column);
    }
  }
  out["warnings"] = result.predicted.warnings;
  return out.dump() + "\n";
}

Outcome run_predict(const PredictArguments& arguments, const CommonOptions& common) {
  for (const double level : arguments.columns.quantiles) {
    if (!(level > 0.0 && level < 1.0)) {
      throw InvalidOption(fmt::format("--quantiles: {} is not strictly between 0 and 1", level));
    }
  }
  if (!(arguments.level > 0.0 && arguments.level < 1.0)) {
    throw InvalidOption(fmt::format("--level: {} is not strictly between 0 and 1", arguments.level));
  }
  if (arguments.level_option->count() > 0 && !arguments.interval) {
    throw InvalidOption("--level has an effect only with --interval");
  }
  const SavedPrediction result = predict_saved(arguments.saved, false, common);
  PredictionColumns wanted = arguments.columns;
  if (arguments.interval) {
    wanted.interval = arguments.level;
  }
  wanted.rows = arguments.saved.drop_missing;
  wanted.seed = common.seed;
  wanted.probability = result.goal;
  const std::vector<Column> columns = result.predicted.columns(wanted);
  Outcome outcome;
  outcome.notes = result.predicted.notes;
  outcome.warnings = result.predicted.warnings;
  if (common.json) {
    outcome.output = to_json(result, columns);
  } else if (arguments.output.empty()) {
    outcome.output = to_csv(columns, ',');
  }
  if (!arguments.output.empty()) {
    const std::string predictions = to_csv(columns, separator_of(arguments.output));
    begin_writing();
    write_file(arguments.output, predictions);
    outcome.notes.push_back(
        fmt::format("{} written to {}", plural(columns.front().rows(), "prediction"), arguments.output));
  }
  return outcome;
}

}  // namespace

Command add_predict(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("predict", "Predict new rows from a saved model");
  auto arguments = std::make_shared<PredictArguments>();
  app->add_option("--model", arguments->saved.model, "Model saved by fit --save")->required()->type_name("FILE");
  app->add_option("--data", arguments->saved.data, "Table with the model's feature columns; others are ignored")
      ->required()
      ->type_name("FILE");
  app->add_option("--output", arguments->output,
                  "Write the predictions here as CSV, or with tabs to .tsv and .tab (default: stdout)")
      ->type_name("FILE");
  app->add_option("--quantiles", arguments->columns.quantiles,
                  "Levels of response quantiles to add, e.g. 0.05,0.5,0.95")
      ->delimiter(',')
      ->type_name("LEVELS");
  app->add_option("--samples", arguments->columns.samples, "Number of draws of the response to add to every row")
      ->check(CLI::Range(1, 1000000))
      ->type_name("COUNT");
  app->add_flag("--interval", arguments->interval,
                "Add the interval of what the latent function stands for: a probability, a rate, a mean");
  arguments->level_option =
      app->add_option("--level", arguments->level, "Share of the posterior in that interval (default: 0.95)")
          ->type_name("LEVEL");
  app->add_option("--keep", arguments->saved.keep, "Columns of the table to copy, a,b,c, besides those of fit --keep")
      ->delimiter(',')
      ->type_name("COLUMNS");
  app->add_flag("--drop-missing", arguments->saved.drop_missing,
                "Leave out rows with missing cells; a column `row` then says which rows these are");
  add_saved_options(*app, arguments->saved);
  add_common(*app, common, true);
  app->footer(
      "Columns: those kept; latent_mean, latent_variance (of the latent function), mean, variance (of a new response;\n"
      "empty where they do not exist), probability and label (two classes); several classes: latent_mean_LABEL,\n"
      "latent_variance_LABEL, probability_LABEL for every class, and label; with --interval probability or rate, "
      "where\n"
      "the likelihood has one, and probability_lower and _upper, or rate_, mean_, latent_; quantile_LEVEL, "
      "sample_K.\n\n"
      "Example:\n"
      "  gaussmith predict --model model.gsm --data new.csv --quantiles 0.05,0.95 --output predictions.csv");
  return {app, [arguments, &common] { return run_predict(*arguments, common); }};
}

}  // namespace gaussmith::app
