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
  std::vector<double> quantiles;
  int samples = 0;
};

/// One output column: numbers, or labels.
struct OutputColumn {
  std::string name;
  Vector numbers;
  std::vector<std::string> labels;
};

std::vector<OutputColumn> output_columns(const SavedPrediction& result, const PredictArguments& arguments,
                                         std::uint64_t seed) {
  const Prediction& prediction = result.prediction;
  std::vector<OutputColumn> columns;
  const auto add = [&](std::string name, Vector numbers) {
    columns.push_back({std::move(name), std::move(numbers), {}});
  };
  if (arguments.saved.drop_missing) {
    Vector rows(static_cast<Index>(result.rows.size()));
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      rows[static_cast<Index>(i)] = static_cast<double>(result.rows[i] + 1);
    }
    add("row", std::move(rows));
  }
  add("latent_mean", prediction.latent_mean());
  add("latent_variance", prediction.latent_variance());
  add("mean", prediction.response_mean());
  add("variance", prediction.response_variance());
  if (const Vector probability = prediction.response_probability(); probability.size() > 0) {
    add("probability", probability);
    OutputColumn label{"label", {}, {}};
    for (const double p : probability) {
      label.labels.push_back(result.model.target.label(p > 0.5 ? 1.0 : -1.0));
    }
    columns.push_back(std::move(label));
  }
  for (const double level : arguments.quantiles) {
    add(fmt::format("quantile_{}", level), prediction.response_quantile(level));
  }
  if (arguments.samples > 0) {
    const Matrix draws = prediction.response_samples(arguments.samples, seed);
    for (Index j = 0; j < draws.cols(); ++j) {
      add(fmt::format("sample_{}", j + 1), draws.col(j));
    }
  }
  return columns;
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string to_csv(const std::vector<OutputColumn>& columns, Index rows) {
  std::string out;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    out += (j == 0 ? "" : ",") + columns[j].name;
  }
  out += '\n';
  for (Index i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (j > 0) {
        out += ',';
      }
      if (!columns[j].labels.empty()) {
        out += csv_text(columns[j].labels[static_cast<std::size_t>(i)]);
      } else if (const double value = columns[j].numbers[i]; std::isfinite(value)) {
        fmt::format_to(std::back_inserter(out), "{}", value);
      }
    }
    out += '\n';
  }
  return out;
}

std::string to_json(const SavedPrediction& result, const std::vector<OutputColumn>& columns) {
  nlohmann::ordered_json out;
  out["format"] = "gaussmith-prediction/1";
  out["method"] = result.model.method;
  out["rows"] = result.prediction.latent_mean().size();
  for (const OutputColumn& column : columns) {
    out[column.name] = column.labels.empty()
                           ? nlohmann::ordered_json(std::vector<double>(column.numbers.begin(), column.numbers.end()))
                           : nlohmann::ordered_json(column.labels);
  }
  out["warnings"] = result.warnings;
  return out.dump() + "\n";
}

Outcome run_predict(const PredictArguments& arguments, const CommonOptions& common) {
  for (const double level : arguments.quantiles) {
    if (!(level > 0.0 && level < 1.0)) {
      throw InvalidOption(fmt::format("--quantiles: {} is not strictly between 0 and 1", level));
    }
  }
  const SavedPrediction result = predict_saved(arguments.saved, false, common.threads);
  const auto columns = output_columns(result, arguments, common.seed);
  const Index rows = result.prediction.latent_mean().size();
  Outcome outcome;
  outcome.notes = result.notes;
  outcome.warnings = result.warnings;
  if (common.json) {
    outcome.output = to_json(result, columns);
  } else if (arguments.output.empty()) {
    outcome.output = to_csv(columns, rows);
  }
  if (!arguments.output.empty()) {
    stop_if_interrupted();
    write_file(arguments.output, to_csv(columns, rows));
    outcome.notes.push_back(fmt::format("{} written to {}", plural(rows, "prediction"), arguments.output));
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
  app->add_option("--output", arguments->output, "Write the predictions here as CSV (default: stdout)")
      ->type_name("FILE");
  app->add_option("--quantiles", arguments->quantiles, "Levels of response quantiles to add, e.g. 0.05,0.5,0.95")
      ->delimiter(',')
      ->type_name("LEVELS");
  app->add_option("--samples", arguments->samples, "Number of draws of the response to add to every row")
      ->check(CLI::Range(1, 1000000))
      ->type_name("COUNT");
  app->add_flag("--drop-missing", arguments->saved.drop_missing,
                "Leave out rows with missing cells; a column `row` then says which rows these are");
  add_common(*app, common, true);
  app->footer(
      "Columns: latent_mean, latent_variance (of the latent function), mean, variance (of a new response; empty where\n"
      "they do not exist), probability and label (two classes), quantile_LEVEL, sample_K.\n\n"
      "Example:\n"
      "  gaussmith predict --model model.gsm --data new.csv --quantiles 0.05,0.95 --output predictions.csv");
  return {app, [arguments, &common] { return run_predict(*arguments, common); }};
}

}  // namespace gaussmith::app
