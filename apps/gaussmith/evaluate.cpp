#include "command.hpp"
#include "fit_summary.hpp"
#include "gaussmith/scores.hpp"
#include "saved_prediction.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::string to_json(const SavedPrediction& result, const Scores& scores) {
  Json out;
  out["format"] = "gaussmith-evaluation/1";
  out["method"] = result.model.method;
  out["rows"] = scores.rows;
  if (scores.errors) {
    out["errors"] = *scores.errors;
    out["error_rate"] = *scores.error_rate();
    out["accuracy"] = 1.0 - *scores.error_rate();
  } else {
    out["censored"] = scores.censored;
    out["rmse"] = optional_json(scores.rmse);
    out["mae"] = optional_json(scores.mae);
    out["point"] = scores.median_used ? "median" : "mean";
  }
  out["mean_log_predictive_density"] = scores.mean_log_density;
  out["mean_predictive_variance"] = optional_json(scores.mean_variance);
  Json calibration;
  if (scores.errors) {
    calibration["brier"] = optional_json(scores.brier);
    calibration["expected_calibration_error"] = optional_json(scores.calibration_error);
    calibration["bins"] = Json::array();
    for (const ReliabilityBin& bin : scores.reliability) {
      calibration["bins"].push_back({{"lower", bin.lower},
                                     {"upper", bin.upper},
                                     {"count", bin.count},
                                     {"mean_probability", bin.count > 0 ? Json(bin.mean_probability) : Json()},
                                     {"frequency", bin.count > 0 ? Json(bin.frequency) : Json()}});
    }
  } else {
    calibration["coverage"] = Json::array();
    for (const Coverage& interval : scores.coverage) {
      calibration["coverage"].push_back({{"level", interval.level}, {"share", interval.share}});
    }
  }
  out["calibration"] = calibration;
  out["warnings"] = result.predicted.warnings;
  return out.dump() + "\n";
}

std::string to_text(const SavedPrediction& result, const SavedArguments& arguments, const Scores& scores) {
  std::string out;
  out += fmt::format("{:<12}{}: {}{}\n", "Data", arguments.data, plural(scores.rows, "row"),
                     scores.censored > 0 ? fmt::format(", {} censored", scores.censored) : "");
  out += fmt::format("{:<12}{} ({}, trained on {})\n", "Model", arguments.model, result.model.method,
                     plural(result.model.coding.training_rows, "row"));
  out += fmt::format("{:<12}{}\n", "Scores", score_line(scores));
  if (scores.mean_variance) {
    out += fmt::format("{:<12}mean predictive variance {:.5g}\n", "Spread", *scores.mean_variance);
  }
  if (scores.errors) {
    out += fmt::format("{:<12}Brier score {:.4f}, expected calibration error {:.4f}\n", "Calibration", *scores.brier,
                       *scores.calibration_error);
    out +=
        fmt::format("  predicted P({})    rows   mean predicted   observed\n", result.model.coding.target.label(1.0));
    for (const ReliabilityBin& bin : scores.reliability) {
      if (bin.count > 0) {
        out += fmt::format("  {:.1f} to {:.1f}  {:>12}   {:>14.3f}   {:>8.3f}\n", bin.lower, bin.upper, bin.count,
                           bin.mean_probability, bin.frequency);
      }
    }
  } else if (!scores.coverage.empty()) {
    out += fmt::format("{:<12}", "Coverage");
    const char* separator = "";
    for (const Coverage& interval : scores.coverage) {
      out += fmt::format("{}{:.1f} % of the rows in the central {:.0f} % interval", separator, 100.0 * interval.share,
                         100.0 * interval.level);
      separator = ", ";
    }
    out += '\n';
  }
  return out;
}

Outcome run_evaluate(const SavedArguments& arguments, const CommonOptions& common) {
  const SavedPrediction result = predict_saved(arguments, true, common.threads);
  const Scores scores = score(result.predicted.prediction, result.predicted.responses);
  Outcome outcome;
  outcome.notes = result.predicted.notes;
  outcome.warnings = result.predicted.warnings;
  outcome.output = common.json ? to_json(result, scores) : to_text(result, arguments, scores);
  return outcome;
}

}  // namespace

Command add_evaluate(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("evaluate", "Judge a saved model on a table with known responses");
  auto arguments = std::make_shared<SavedArguments>();
  app->add_option("--model", arguments->model, "Model saved by fit --save")->required()->type_name("FILE");
  app->add_option("--data", arguments->data, "Table with the model's features and its target")
      ->required()
      ->type_name("FILE");
  app->add_flag("--drop-missing", arguments->drop_missing, "Leave out rows with missing cells");
  add_saved_options(*app, *arguments);
  add_common(*app, common, true);
  app->footer(
      "Two classes: error rate, Brier score, reliability table of ten bins and the expected calibration error.\n"
      "Numbers: RMSE and MAE of the predictive mean (of the median where there is no mean), and the share of rows in\n"
      "the central 50, 80 and 95 % intervals. Always: mean log predictive density, mean predictive variance.\n\n"
      "Example:\n"
      "  gaussmith evaluate --model model.gsm --data test.csv");
  return {app, [arguments, &common] { return run_evaluate(*arguments, common); }};
}

}  // namespace gaussmith::app
