#include "report_lines.hpp"

#include "command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussmith::app {

namespace {

constexpr int label_width = 12;
constexpr std::size_t most_coefficients = 200;

/// What exp(coefficient) is the ratio of.
std::string ratio_name(const std::string& likelihood) {
  if (likelihood.ends_with("-logit")) {
    return "odds ratio";
  }
  if (likelihood == "weibull") {
    return "hazard ratio";
  }
  return likelihood == "poisson" || likelihood == "negative-binomial" ? "rate ratio" : "ratio of means";
}

}  // namespace

void line(std::string& out, std::string_view label, std::string_view text) {
  if (!text.empty()) {
    out += fmt::format("{:<{}}{}\n", label, label_width, text);
  }
}

std::string visible_error(const Evidence& evidence) {
  constexpr double last_digit = 5e-7;
  std::string text;
  if (evidence.standard_error.value_or(0.0) > last_digit)
    text += fmt::format("; standard error {:.2g}", *evidence.standard_error);
  if (evidence.numerical_error > last_digit)
    text += fmt::format("; numerical error about {:.1g}", evidence.numerical_error);
  return text;
}

std::string variances_in_words(const Report& report) {
  if (!(report.latent_estimate_error > 0.0)) return {};
  return fmt::format("estimates; relative errors of at most {:.2g} for rows and {:.2g} for weights (root mean square)",
                     report.latent_estimate_error, report.weights_estimate_error);
}

std::string evidence_in_words(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::exact:
      return "exact";
    case EvidenceKind::lower_bound:
      return "a lower bound: the true value is at least this";
    case EvidenceKind::approximation:
      return "an approximation: the true value may be higher or lower";
    case EvidenceKind::estimate:
      break;
  }
  return "an estimate from sampling";
}

std::string path_lines(const std::vector<std::string>& notes) {
  constexpr std::size_t most = 10;
  constexpr std::size_t ends = 4;
  std::string out;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes.size() > most && i == ends) {
      line(out, "", fmt::format("... {} more (all with --json)", notes.size() - 2 * ends));
      i = notes.size() - ends;
    }
    line(out, i == 0 ? "Path" : "", notes[i]);
  }
  return out;
}

std::string convergence(const Report& report, bool learned) {
  std::string certificate = fmt::format("residual {:.2g}, needed {:.2g}", report.residual, report.tolerance);
  if (report.duality_gap) {
    certificate += fmt::format("; the bound can rise by {:.1e} at most", *report.duality_gap);
  }
  const char* which = learned ? ", the last fit of learning, which starts from the one before" : "";
  if (report.converged()) {
    return fmt::format("yes, in {}{} ({}){}", plural(report.iterations, "iteration"), which, certificate,
                       report.local_optimum ? "; " + report.message : std::string());
  }
  return fmt::format("NO, after {}{} ({}): {}", plural(report.iterations, "iteration"), which, certificate,
                     report.message);
}

std::string left_out_line(const Vector& log_density) {
  const RowTotal sum = row_total(log_density);
  if (sum.rows == 0) {
    return "no row has a leave-one-out distribution";
  }
  std::string text = fmt::format("mean log predictive density of a row given the others {:.5g}",
                                 sum.total / static_cast<double>(sum.rows));
  if (sum.standard_error) {
    text += fmt::format(", total {:.6g} +- {:.3g}", sum.total, *sum.standard_error);
  }
  if (sum.rows < log_density.size()) {
    text += fmt::format(" ({} left aside: no such distribution)", plural(log_density.size() - sum.rows, "row"));
  }
  return text;
}

std::string coefficient_table(const std::vector<Coefficient>& all, double level, const std::string& likelihood) {
  if (all.empty()) {
    return {};
  }
  std::size_t width = 12;
  for (const Coefficient& c : all) {
    width = std::max(width, std::min<std::size_t>(28, c.name.size()));
  }
  const bool ratios = std::any_of(all.begin(), all.end(), [](const Coefficient& c) { return c.ratio.has_value(); });
  std::string out = fmt::format("{:<{}}on the scale of the columns\n", "Coefficients", label_width + 2);
  out += fmt::format("  {:<{}} {:>11} {:>10} {:>23}{}\n", "", width, "mean", "sd",
                     fmt::format("{:.4g} % interval", 100.0 * level),
                     ratios ? fmt::format(" {:>14}", ratio_name(likelihood)) : "");
  std::size_t shown = 0;
  for (const Coefficient& c : all) {
    if (shown++ == most_coefficients) {
      out +=
          fmt::format("  ... and {} more (all with --coefficients FILE or --json)\n", all.size() - most_coefficients);
      break;
    }
    out += fmt::format("  {:<{}} {:>11.5g} {:>10.4g} {:>11.4g} {:>11.4g}{}\n", c.name, width, c.mean, c.sd, c.lower,
                       c.upper, c.ratio ? fmt::format(" {:>14.4g}", *c.ratio) : "");
  }
  return out;
}

std::string coefficient_csv(const std::vector<Coefficient>& all, char separator) {
  const std::string between(1, separator);
  std::string out = fmt::format("{}\n", fmt::join({"name", "mean", "sd", "lower", "upper", "ratio"}, between));
  for (const Coefficient& c : all) {
    out += fmt::format("{}{}{}{}{}\n", csv_text(c.name, separator), between,
                       fmt::join({c.mean, c.sd, c.lower, c.upper}, between), between,
                       c.ratio ? fmt::format("{}", *c.ratio) : "");
  }
  return out;
}

}  // namespace gaussmith::app
