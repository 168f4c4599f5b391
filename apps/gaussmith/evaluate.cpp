#include "command.hpp"
#include "evaluate_several.hpp"
#include "fit_summary.hpp"
#include "gaussmith/scores.hpp"
#include "saved_prediction.hpp"
#include "score_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

std::string to_json(const SavedPrediction& result, const Scores& scores) {
  Json out;
  out["format"] = "gaussmith-evaluation/1";
  out["method"] = result.model.method;
  put_scores(scores, result.model.coding.target.classes, out);
  out["warnings"] = result.predicted.warnings;
  return out.dump() + "\n";
}

/// Row: the true class; column: the likeliest one. Of many classes the pairs that were mistaken most.
std::string confusion_table(const Matrix& confusion, const std::vector<std::string>& classes) {
  constexpr Index most = 10;
  const auto name = [&](Index c) { return classes[static_cast<std::size_t>(c)]; };
  if (confusion.rows() > most) {
    std::vector<std::pair<Index, Index>> wrong;
    for (Index i = 0; i < confusion.rows(); ++i) {
      for (Index j = 0; j < confusion.cols(); ++j) {
        if (i != j && confusion(i, j) > 0.0) {
          wrong.emplace_back(i, j);
        }
      }
    }
    std::stable_sort(wrong.begin(), wrong.end(), [&](const auto& a, const auto& b) {
      return confusion(a.first, a.second) > confusion(b.first, b.second);
    });
    std::string out = fmt::format("{:<12}the most frequent mistakes (all with --json)\n", "Confusion");
    for (std::size_t k = 0; k < std::min<std::size_t>(most, wrong.size()); ++k) {
      const auto [i, j] = wrong[k];
      out += fmt::format("  {} taken for {}: {:.0f} of {:.0f}\n", name(i), name(j), confusion(i, j),
                         confusion.row(i).sum());
    }
    return out;
  }
  std::size_t width = 6;
  for (const std::string& one : classes) {
    width = std::max(width, one.size());
  }
  std::string out = fmt::format("{:<12}row: true class, column: predicted class\n  {:<{}}", "Confusion", "", width);
  for (const std::string& one : classes) {
    out += fmt::format("  {:>{}}", one, width);
  }
  out += '\n';
  for (Index i = 0; i < confusion.rows(); ++i) {
    out += fmt::format("  {:<{}}", name(i), width);
    for (Index j = 0; j < confusion.cols(); ++j) {
      out += fmt::format("  {:>{}.0f}", confusion(i, j), width);
    }
    out += '\n';
  }
  return out;
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
  if (scores.mean_log_density_lower) {
    out += fmt::format(
        "{:<12}mean lower bound on the log predictive density {:.5g}, mean log probability at the latent "
        "mean {:.5g}\n",
        "Bounds", *scores.mean_log_density_lower, *scores.mean_log_probability_at_mean);
  }
  if (scores.errors) {
    const bool several = scores.confusion.size() > 0;
    out += fmt::format("{:<12}{}\n", "Calibration", calibration_line(scores));
    out += fmt::format("  predicted P({})    rows   mean predicted   observed\n",
                       several ? "winning class" : result.model.coding.target.label(1.0));
    for (const ReliabilityBin& bin : scores.reliability) {
      if (bin.count > 0) {
        out += fmt::format("  {:.1f} to {:.1f}  {:>12}   {:>14.3f}   {:>8.3f}\n", bin.lower, bin.upper, bin.count,
                           bin.mean_probability, bin.frequency);
      }
    }
    if (several) {
      out += confusion_table(scores.confusion, result.model.coding.target.classes);
    }
  } else if (!scores.coverage.empty()) {
    out += fmt::format("{:<12}{}\n", "Coverage", calibration_line(scores));
  }
  return out;
}

Outcome evaluate_one(const SavedArguments& arguments, const CommonOptions& common) {
  const SavedPrediction result = predict_saved(arguments, true, common);
  const Scores scores = scores_of(result);
  Outcome outcome;
  outcome.notes = result.predicted.notes;
  outcome.warnings = result.predicted.warnings;
  outcome.output = common.json ? to_json(result, scores) : to_text(result, arguments, scores);
  return outcome;
}

Outcome run_evaluate(const EvaluateArguments& arguments, const CommonOptions& common) {
  if (arguments.models.size() > 1) {
    return evaluate_several(arguments, common);
  }
  return evaluate_one(arguments.with(arguments.models.front()), common);
}

}  // namespace

Command add_evaluate(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("evaluate", "Judge saved models on a table with known responses");
  auto arguments = std::make_shared<EvaluateArguments>();
  app->add_option("--model", arguments->models, "Model saved by fit --save; several are compared, row by row")
      ->required()
      ->expected(1)
      ->take_all()
      ->type_name("FILE");
  app->add_option("--data", arguments->saved.data, "Table with the model's features and its target")
      ->required()
      ->type_name("FILE");
  app->add_flag("--drop-missing", arguments->saved.drop_missing, "Leave out rows with missing cells");
  add_saved_options(*app, arguments->saved);
  add_common(*app, common, true);
  app->footer(
      "Two classes: error rate, Brier score, reliability table of ten bins and the expected calibration error.\n"
      "Numbers: RMSE and MAE of the predictive mean (of the median where there is no mean), and the share of rows in\n"
      "the central 50, 80 and 95 % intervals. Always: mean log predictive density, mean predictive variance.\n"
      "Several classes: the same for the winning class, the Brier score summed over classes, the confusion matrix, "
      "and\n"
      "for models fitted with kl the means of the lower bound and of the log probability at the latent mean.\n"
      "Several models: their scores, and the differences of their total log predictive densities to the best one with\n"
      "standard errors over the rows.\n\n"
      "Examples:\n"
      "  gaussmith evaluate --model model.gsm --data test.csv\n"
      "  gaussmith evaluate --model poisson.gsm --model negative-binomial.gsm --data test.csv");
  return {app, [arguments, &common] { return run_evaluate(*arguments, common); }};
}

}  // namespace gaussmith::app
