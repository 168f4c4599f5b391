#include "evaluate_several.hpp"

#include "fit_summary.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/scores.hpp"
#include "saved_prediction.hpp"
#include "score_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

/// A model on the table.
struct Judged {
  std::string file;
  std::string method;
  TableCoding coding;
  std::vector<Index> rows;
  Scores scores;
  std::vector<bool> censored;  ///< By row.
  RowTotal difference;         ///< Of the total log predictive density to that of the best model.
};

std::vector<bool> censored_by_row(const SiteBlock& likelihood) {
  std::vector<bool> out(static_cast<std::size_t>(likelihood.size()), false);
  const Vector flags = censored_rows(likelihood);
  for (Index n = 0; n < flags.size(); ++n) {
    out[static_cast<std::size_t>(n)] = flags[n] > 0.5;
  }
  return out;
}

std::int64_t count(const std::vector<bool>& flags) { return std::count(flags.begin(), flags.end(), true); }

Judged judge(const std::string& file, const EvaluateArguments& arguments, const CommonOptions& common,
             Outcome& outcome) {
  SavedPrediction result = predict_saved(arguments.with(file), true, common);
  const auto add = [](std::vector<std::string>& all, const std::vector<std::string>& more) {
    for (const std::string& text : more) {
      if (std::find(all.begin(), all.end(), text) == all.end()) {
        all.push_back(text);
      }
    }
  };
  add(outcome.notes, result.predicted.notes);
  add(outcome.warnings, result.predicted.warnings);
  Scores scores = scores_of(result);
  return {file,
          result.model.method,
          std::move(result.model.coding),
          std::move(result.predicted.rows),
          std::move(scores),
          censored_by_row(*result.predicted.prediction.likelihood()),
          {}};
}

/// Log densities of the same responses in the same rows can be compared, and nothing else.
void check_comparable(const Judged& first, const Judged& other, std::vector<std::string>& warnings) {
  const TargetCoding& a = first.coding.target;
  const TargetCoding& b = other.coding.target;
  if (a.column != b.column) {
    throw InvalidOption(
        fmt::format("--model: {} predicts {} and {} predicts {}; only models of one target can be compared", first.file,
                    a.column, other.file, b.column));
  }
  if (a.classes != b.classes) {
    throw InvalidOption(
        fmt::format("--model: {} and {} have different classes of {}; only models of the same can be compared",
                    first.file, other.file, a.column.empty() ? "the labels" : a.column));
  }
  if (first.rows != other.rows) {
    throw InvalidOption(
        fmt::format("--drop-missing: {} leaves {} and {} leaves {}, not the same ones; only models on the "
                    "same rows can be compared",
                    first.file, plural(static_cast<std::int64_t>(first.rows.size()), "row"), other.file,
                    plural(static_cast<std::int64_t>(other.rows.size()), "row")));
  }
  const bool counts = a.kind == ResponseKind::count;
  if (counts != (b.kind == ResponseKind::count)) {
    warnings.push_back(
        fmt::format("{} gives probabilities of counts and {} densities of numbers: their log predictive "
                    "densities do not mean the same",
                    counts ? first.file : other.file, counts ? other.file : first.file));
  }
  if (first.censored != other.censored) {
    warnings.push_back(fmt::format(
        "{} takes {} as censored and {} takes {}, not the same ones: their log predictive "
        "densities do not mean the same",
        first.file, plural(count(first.censored), "row"), other.file, plural(count(other.censored), "row")));
  }
}

std::string to_json(const std::vector<Judged>& all, const Judged& best, const std::vector<std::string>& warnings) {
  Json out;
  out["format"] = "gaussmith-evaluations/1";
  out["rows"] = best.scores.rows;
  out["best"] = best.file;
  out["models"] = Json::array();
  for (const Judged& judged : all) {
    Json model;
    model["model"] = judged.file;
    model["method"] = judged.method;
    put_scores(judged.scores, judged.coding.target.classes, model);
    const RowTotal total = row_total(judged.scores.log_density);
    model["total_log_predictive_density"] = total.total;
    model["total_se"] = total.standard_error ? Json(*total.standard_error) : Json();
    model["difference"] = judged.difference.total;
    model["difference_se"] = judged.difference.standard_error ? Json(*judged.difference.standard_error) : Json();
    out["models"].push_back(model);
  }
  out["warnings"] = warnings;
  return out.dump() + "\n";
}

std::string to_text(const std::vector<Judged>& all, const Judged& best, const std::string& data) {
  std::size_t width = 0;
  for (const Judged& judged : all) {
    width = std::max(width, judged.file.size());
  }
  std::string out = fmt::format("{:<12}{}: {}{}\n", "Data", data, plural(best.scores.rows, "row"),
                                best.scores.censored > 0 ? fmt::format(", {} censored", best.scores.censored) : "");
  out += fmt::format("{:<12}{}\n", "Scores", "of each model on these rows");
  for (const Judged& judged : all) {
    out += fmt::format("  {:<{}}  {} ({}, trained on {})\n", judged.file, width, score_line(judged.scores),
                       judged.method, plural(judged.coding.training_rows, "row"));
  }
  for (const Judged& judged : all) {
    const std::string line = calibration_line(judged.scores);
    out += line.empty() ? ""
                        : fmt::format("{}  {:<{}}  {}\n", &judged == all.data() ? "Calibration\n" : "", judged.file,
                                      width, line);
  }
  out +=
      fmt::format("{:<12}{}\n", "Differences", "of the total log predictive density to the best, and standard error");
  for (const Judged& judged : all) {
    const RowTotal& d = judged.difference;
    out += fmt::format("  {:<{}}  ", judged.file, width);
    if (&judged == &best) {
      out += fmt::format("best: total {:.6g}\n", row_total(judged.scores.log_density).total);
    } else {
      out += fmt::format("{:.4g}{}\n", d.total, d.standard_error ? fmt::format(" +- {:.3g}", *d.standard_error) : "");
    }
  }
  return out;
}

}  // namespace

Outcome evaluate_several(const EvaluateArguments& arguments, const CommonOptions& common) {
  Outcome outcome;
  std::vector<Judged> all;
  for (const std::string& file : arguments.models) {
    all.push_back(judge(file, arguments, common, outcome));
    check_comparable(all.front(), all.back(), outcome.warnings);
  }
  if (!arguments.saved.set.empty() &&
      std::all_of(all.begin(), all.end(), [](const Judged& judged) { return judged.coding.target.classes.empty(); })) {
    throw InvalidOption(fmt::format("--set {} has an effect only on models of several classes; none of these is one",
                                    arguments.saved.set.front()));
  }
  if (arguments.saved.population && std::all_of(all.begin(), all.end(), [](const Judged& judged) {
        return judged.coding.groups.empty() && judged.coding.fields.empty();
      })) {
    throw InvalidOption("--population: none of the models has effects of groups or fields that could be left out");
  }
  const auto best = std::max_element(all.begin(), all.end(), [](const Judged& a, const Judged& b) {
    return a.scores.log_density.sum() < b.scores.log_density.sum();
  });
  for (Judged& judged : all) {
    judged.difference = row_total(judged.scores.log_density - best->scores.log_density);
  }
  outcome.output = common.json ? to_json(all, *best, outcome.warnings) : to_text(all, *best, arguments.saved.data);
  return outcome;
}

}  // namespace gaussmith::app
