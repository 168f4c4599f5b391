#include "comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

std::string number(double value, const char* form = "{:.4f}") {
  return std::isfinite(value) ? fmt::format(fmt::runtime(form), value) : "-";
}

std::string number(const std::optional<double>& value, const char* form = "{:.4f}") {
  return value ? number(*value, form) : "-";
}

Json json_number(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json moments(const Marginals& marginals) {
  return {{"mean", std::vector<double>(marginals.mean.begin(), marginals.mean.end())},
          {"variance", std::vector<double>(marginals.variance.begin(), marginals.variance.end())}};
}

/// How a fit ended, as short as it goes.
std::string ended(const Report& report) { return report.converged() ? "yes" : std::string(to_string(report.status)); }

}  // namespace

std::vector<std::vector<std::string>> comparison_table(const ReportedComparison& report) {
  const Comparison& comparison = *report.comparison;
  std::vector<std::vector<std::string>> rows = {{"method", "log evidence", "kind", "to best bound", "to truth",
                                                 "mean error", "(average)", "sd ratio", "(average)", report.densities,
                                                 "verdict", "seconds", "converged"}};
  for (const ComparedMethod& line : comparison.methods) {
    const Evidence& evidence = line.posterior.log_evidence();
    std::string value = number(evidence.value);
    if (evidence.standard_error && std::isfinite(*evidence.standard_error)) {
      value += fmt::format(" ± {:.3f}", *evidence.standard_error);
    }
    rows.push_back({line.name, value, std::isfinite(evidence.value) ? std::string(to_string(evidence.kind)) : "none",
                    line.below_best_bound ? number(0.0 - *line.below_best_bound, "{:+.4f}") : "-",
                    line.error ? number(line.error->log_evidence, "{:+.4f}") : "-",
                    line.error ? number(line.error->mean, "{:.3f}") : "-",
                    line.error ? number(line.error->mean_average, "{:.3f}") : "-",
                    line.error ? number(line.error->sd_ratio, "{:.3f}") : "-",
                    line.error ? number(std::exp(line.error->sd_average), "{:.3f}") : "-", number(line.log_density),
                    line.card ? std::string(to_string(line.card->verdict)) : std::string("-"),
                    number(line.seconds, "{:.2f}"), ended(line.posterior.report())});
  }
  return rows;
}

namespace {

/// Characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string truth_line(const Truth& truth) {
  std::string out = fmt::format("{}, log evidence {}", truth.method, number(truth.log_evidence));
  if (std::isfinite(truth.standard_error) && truth.standard_error > 0.0) {
    out += fmt::format(" ± {:.2g}", truth.standard_error);
  }
  if (truth.moment_error > 0.0) {
    out += fmt::format(", means and sds to {:.2g} sd", truth.moment_error);
  }
  return out + fmt::format(", {:.2f} s", truth.seconds);
}

std::string legend(const Comparison& comparison) {
  return fmt::format(
      "Mean error: in true sds, the worst of all weights and latents; sd ratio: to the true sd, the furthest from 1; "
      "averages beside them. {}: mean log predictive density.",
      comparison.held_out ? "Held out" : "Left out, one row at a time");
}

}  // namespace

std::string comparison_text(const ReportedComparison& report) {
  const auto rows = comparison_table(report);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(row[c]));
    }
  }
  std::string out = fmt::format("{:<12}{}\n{:<12}{}\n", "Data", report.data_line, "Model", report.model_line);
  out += fmt::format("{:<12}{}\n\n", "Truth",
                     report.comparison->truth ? truth_line(*report.comparison->truth) : std::string("none"));
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blank(widths[c] - width_of(row[c]), ' ');
      const bool left = c == 0 || c == 2 || c + 1 == row.size();
      line += (c > 0 ? "  " : "") + (left ? row[c] + blank : blank + row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out + "\n" + legend(*report.comparison) + "\n";
}

std::string comparison_markdown(const ReportedComparison& report) {
  const auto rows = comparison_table(report);
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const std::string& cell : rows[r]) {
      out += "| " + cell + " ";
    }
    out += "|\n";
    if (r == 0) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) {
        out += c == 0 || c == 2 || c + 1 == rows[r].size() ? "| --- " : "| ---: ";
      }
      out += "|\n";
    }
  }
  out += fmt::format("\nTruth: {}. {}\n",
                     report.comparison->truth ? truth_line(*report.comparison->truth) : std::string("none"),
                     legend(*report.comparison));
  return out;
}

namespace {

std::optional<double> truth_of(const Comparison& comparison) {
  const std::optional<Truth>& truth = comparison.truth;
  const bool known = truth && std::isfinite(truth->log_evidence) && std::isfinite(truth->standard_error);
  return known ? std::optional(truth->log_evidence) : std::nullopt;
}

}  // namespace

std::string comparison_json(const ReportedComparison& report, bool full) {
  const Comparison& comparison = *report.comparison;
  Json out;
  out["format"] = "gaussmith-comparison/1";
  out["rows"] = Json::array();
  for (const ComparedMethod& line : comparison.methods) {
    ResultContent content{.seconds = line.seconds};
    content.trust = line.card ? &*line.card : nullptr;
    content.true_log_evidence = truth_of(comparison);
    // Class labels to predict have a bound on their joint density beside the arrays.
    const bool joint =
        report.prediction != nullptr && report.prediction->responses && line.posterior.model().latents.count > 1;
    content.prediction = full || joint ? report.prediction : nullptr;
    Json row = Json::parse(result_json(line.posterior, content));
    if (!full) {
      if (line.card) {
        row["trust"].erase("loo");
      }
      for (const char* arrays : {"weights", "latent", "prediction", "parameters", "gradient", "options"}) {
        row.erase(arrays);
      }
    }
    row["below_best_bound"] = json_number(line.below_best_bound);
    row["log_density"] = json_number(line.log_density);
    row["error"] = Json();
    if (line.error) {
      row["error"] = {
          {"log_evidence", json_number(line.error->log_evidence)}, {"mean", json_number(line.error->mean)},
          {"mean_average", json_number(line.error->mean_average)}, {"sd_ratio", json_number(line.error->sd_ratio)},
          {"sd_average", json_number(line.error->sd_average)},     {"worst_latent", line.error->worst_latent}};
    }
    out["rows"].push_back(std::move(row));
  }
  out["truth"] = Json();
  if (comparison.truth) {
    const Truth& truth = *comparison.truth;
    Json fields = {{"method", truth.method},
                   {"log_evidence", json_number(truth.log_evidence)},
                   {"log_evidence_se", json_number(truth.standard_error)},
                   {"moment_error", json_number(truth.moment_error)},
                   {"seconds", truth.seconds},
                   {"notes", truth.notes}};
    if (full) {
      fields["latent"] = moments(truth.latent);
      fields["weights"] = moments(truth.weights);
    }
    out["truth"] = std::move(fields);
  }
  out["best_bound"] = json_number(comparison.best_bound);
  out["log_density_of"] = comparison.held_out ? "held-out" : "leave-one-out";
  out["notes"] = comparison.notes;
  return out.dump() + "\n";
}

}  // namespace gaussmith::app
