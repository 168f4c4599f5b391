#include "network_summary.hpp"

#include "command.hpp"
#include "fit_summary.hpp"
#include "report_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith::app {

namespace {

constexpr std::size_t most_inputs = 40;
constexpr std::size_t most_scales = 12;

std::string scale_cell(const std::optional<LogVariance>& scale) {
  return scale ? fmt::format("{:>7.2f} +- {:<5.2f}", scale->mean, scale->sd) : fmt::format("{:>16}", "");
}

/// Inputs in order, with their log scales where each has its own.
std::string relevance_table(const std::vector<InputRelevance>& inputs) {
  std::size_t width = 12;
  for (const InputRelevance& input : inputs) {
    width = std::max(width, std::min<std::size_t>(28, input.name.size()));
  }
  const auto any = [&](auto member) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const InputRelevance& i) { return (i.*member).has_value(); });
  };
  const bool hidden = any(&InputRelevance::hidden_scale);
  const bool linear = any(&InputRelevance::linear_scale);
  std::string out;
  line(out, "Relevance",
       fmt::format("share of an input in the squared weights{}",
                   hidden || linear ? "; log variance of its weights" : ""));
  out +=
      fmt::format("  {:<{}} {:>8}{}{}\n", "", width, "share", hidden ? fmt::format("  {:<16}", "  hidden units") : "",
                  linear ? fmt::format("  {:<16}", "  linear unit") : "");
  std::size_t shown = 0;
  for (const InputRelevance& input : inputs) {
    if (shown++ == most_inputs) {
      out += fmt::format("  ... and {} more (all with --json)\n", inputs.size() - most_inputs);
      break;
    }
    out += fmt::format("  {:<{}} {:>8.4f}{}{}{}\n", input.name, width, input.share,
                       hidden ? "  " + scale_cell(input.hidden_scale) : "",
                       linear ? "  " + scale_cell(input.linear_scale) : "",
                       input.irrelevant ? "  cannot be told from irrelevant" : "");
  }
  return out;
}

/// Log scales that belong to no input.
std::string scale_lines(const std::vector<LogVariance>& scales) {
  std::string out;
  for (std::size_t i = 0; i < std::min(most_scales, scales.size()); ++i) {
    line(out, i == 0 ? "Log scales" : "",
         fmt::format("{}: {:.3f} +- {:.3f}", scales[i].name, scales[i].mean, scales[i].sd));
  }
  if (scales.size() > most_scales) {
    line(out, "", fmt::format("... {} more (all with --json)", scales.size() - most_scales));
  }
  return out;
}

std::string start_table(const std::vector<NetworkStartReport>& starts) {
  if (starts.size() < 2) {
    return {};
  }
  std::string out;
  line(out, "Starts", "stacked by their leave-one-out densities");
  out += fmt::format("  {:>2} {:>14} {:>8} {:>10} {:>7} {:>6} {:>14}\n", "", "log evidence", "weight", "residual",
                     "sweeps", "units", "left-out mean");
  for (std::size_t r = 0; r < starts.size(); ++r) {
    const NetworkStartReport& start = starts[r];
    out += fmt::format("  {:>2} {:>14.4f} {:>8.3f} {:>10.2g} {:>7} {:>6} {:>14.4f}{}\n", r + 1, start.log_evidence,
                       start.weight, start.residual, start.sweeps, start.units, start.leave_one_out,
                       start.status == Status::converged ? "" : "  NOT converged");
  }
  return out;
}

std::string units_line(const NetworkSummary& summary) {
  if (summary.units == 0) {
    return {};
  }
  return fmt::format("{} of {} kept{}", summary.units_kept, summary.units,
                     summary.units_kept < summary.units ? "; the data switch the others off"
                                                        : "; none is switched off: more may help (--units)");
}

}  // namespace

std::string network_in_words(const NetworkModel& model) {
  const NetworkPrior& prior = model.prior;
  const std::string text = model.sites->traits().name + " likelihood, ";
  if (prior.units == 0) {
    return text + fmt::format("sparse linear model, weights {}", to_string(prior.weights));
  }
  return text + fmt::format("network of {}{}, weights {}", plural(prior.units, "hidden unit"),
                            prior.linear ? " beside a linear one" : "", to_string(prior.weights));
}

std::string summarise(const NetworkFitSummary& summary) {
  const NetworkPosterior& posterior = *summary.posterior;
  const Report& report = posterior.report();
  std::string out;
  line(out, "Data", summary.data_line);
  line(out, "Model", summary.model_line);
  std::string method = "ep";
  for (const auto& [name, value] : options_of(posterior.method(), true)) {
    method += fmt::format(", {} = {}", name, value);
  }
  line(out, "Method", method + ": expectation propagation with every scale integrated");
  line(out, "Core", report.core);
  line(out, "Converged", convergence(report, false));
  line(out, "Evidence",
       fmt::format("log evidence {:.6f} ({}{})", posterior.log_evidence().value,
                   evidence_in_words(posterior.log_evidence().kind), visible_error(posterior.log_evidence())));
  if (report.status != Status::numerical_failure) {
    const NetworkSummary& found = posterior.summary();
    line(out, "Units", units_line(found));
    if (found.noise) {
      line(out, "Noise",
           fmt::format("sd {:.4g} (log variance {:.3f} +- {:.3f})", std::exp(0.5 * found.noise->mean),
                       found.noise->mean, found.noise->sd));
    }
    out += relevance_table(found.relevance);
    const bool by_input = std::any_of(found.relevance.begin(), found.relevance.end(), [](const InputRelevance& input) {
      return input.hidden_scale || input.linear_scale;
    });
    if (!by_input) {
      out += scale_lines(found.scales);
    }
    out += coefficient_table(summary.coefficients, summary.level, posterior.model().sites->traits().name);
    out += start_table(found.starts);
  }
  if (summary.training) {
    line(out, "Training", score_line(*summary.training));
  }
  if (summary.leave_one_out) {
    line(out, "Left out", left_out_line(posterior.leave_one_out().log_density));
  }
  out += path_lines(report.notes);
  line(out, "Time", fmt::format("{:.3g} s", summary.seconds));
  if (!summary.saved.empty()) {
    line(out, "Saved", summary.saved);
    line(out, "Next", fmt::format("gaussmith predict --model {} --data {}", summary.saved, summary.new_table));
  }
  return out;
}

}  // namespace gaussmith::app
