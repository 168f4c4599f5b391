#include "fit_summary.hpp"

#include "command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace gaussmith::app {

namespace {

constexpr int label_width = 12;
constexpr std::size_t most_coefficients = 200;
constexpr std::size_t most_parameters = 40;
constexpr std::size_t most_names = 8;
constexpr std::size_t most_levels = 6;
constexpr std::size_t most_classes = 10;

void line(std::string& out, std::string_view label, std::string_view text) {
  if (!text.empty()) {
    out += fmt::format("{:<{}}{}\n", label, label_width, text);
  }
}

/// The numerical error where it reaches the digits that are printed.
std::string visible_error(const Evidence& evidence) {
  constexpr double last_digit = 5e-7;
  return evidence.numerical_error > last_digit ? fmt::format("; numerical error about {:.1g}", evidence.numerical_error)
                                               : std::string();
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

std::string method_in_words(const Method& method) {
  std::string text(name_of(method));
  for (const auto& [name, value] : options_of(method, true)) {
    text += fmt::format(", {} = {}", name, value);
  }
  for (const auto& info : method_catalogue()) {
    if (info.name == name_of(method)) {
      text += ": " + info.summary;
    }
  }
  return text;
}

/// The decisions of a run, the first and the last of them where there are many.
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
  const std::string certificate = fmt::format("residual {:.2g}, needed {:.2g}", report.residual, report.tolerance);
  const char* which = learned ? ", the last fit of learning, which starts from the one before" : "";
  if (report.converged()) {
    return fmt::format("yes, in {}{} ({}){}", plural(report.iterations, "iteration"), which, certificate,
                       report.local_optimum ? "; " + report.message : std::string());
  }
  return fmt::format("NO, after {}{} ({}): {}", plural(report.iterations, "iteration"), which, certificate,
                     report.message);
}

std::string learning_line(const LearnReport& report) {
  std::string text = fmt::format("{} after {}; objective {:.6f} -> {:.6f}, largest gradient {:.2g}",
                                 report.status == Status::converged ? "converged" : "NOT converged",
                                 plural(report.evaluations, "evaluation"), report.initial_objective, report.objective,
                                 report.residual);
  if (report.log_hyperprior != 0.0) {
    text += fmt::format("; hyperpriors are {:.6f} of the objective", report.log_hyperprior);
  }
  if (report.part_rows > 0) {
    text += fmt::format("; begun with {} of a part of {}", plural(report.part_evaluations, "evaluation"),
                        plural(report.part_rows, "row"));
  }
  if (report.failed_evaluations > 0) {
    text += fmt::format("; recovered from {} ({}{})", plural(report.failed_evaluations, "failed step"),
                        report.failures.front(), report.failures.size() > 1 ? "; all reasons with --json" : "");
  }
  if (report.start_objectives.size() > 1) {
    const auto [worst, best] = std::minmax_element(report.start_objectives.begin(), report.start_objectives.end());
    text += fmt::format("; start {} of {} was best, objectives {:.4f} to {:.4f}", report.best_start + 1,
                        report.start_objectives.size(), *worst, *best);
  }
  if (report.status != Status::converged) {
    text += ": " + report.message;
  }
  return text;
}

/// As LearnOptions::standard_errors says.
constexpr std::ptrdiff_t most_standard_errors = 12;

std::string parameters_heading(const LearnReport& report) {
  std::string text = "start -> learned";
  const auto any = [&](auto member) {
    return std::any_of(report.parameters.begin(), report.parameters.end(),
                       [&](const LearnedParameter& parameter) { return (parameter.*member).has_value(); });
  };
  if (any(&LearnedParameter::standard_error)) {
    const bool correlations =
        std::any_of(report.parameters.begin(), report.parameters.end(),
                    [](const auto& parameter) { return parameter.name.find("correlation") != std::string::npos; });
    const bool entries = std::any_of(report.parameters.begin(), report.parameters.end(), [](const auto& parameter) {
      return parameter.name.find(".factor[") != std::string::npos;
    });
    text += fmt::format(", se: standard error of the logarithm (0.1 is 10 %){}{}",
                        correlations ? ", of atanh for correlations" : "",
                        entries ? ", of the entry itself below the diagonal of a factor" : "");
  }
  const auto learned = std::count_if(report.parameters.begin(), report.parameters.end(),
                                     [](const LearnedParameter& parameter) { return !parameter.fixed; });
  if (learned > most_standard_errors && !any(&LearnedParameter::standard_error)) {
    text += fmt::format(" (beyond {} parameters standard errors are for the asking: --set learn.standard_errors=yes)",
                        most_standard_errors);
  }
  if (any(&LearnedParameter::hyperprior)) {
    text += ", hyperprior: log-normal, median and sd";
  }
  return text;
}

/// The feature that kernel.lengthscale[3] belongs to, for people.
std::string feature_of(const FitSummary& summary, const std::string& parameter) {
  const auto open = parameter.rfind('[');
  if (open == std::string::npos || !parameter.ends_with("]") || !parameter.starts_with("kernel.")) {
    return {};
  }
  const auto index = static_cast<std::size_t>(std::stoul(parameter.substr(open + 1)));
  return index < summary.feature_names.size() ? summary.feature_names[index] : std::string();
}

/// A number of the sites that nobody gave and nothing learns, such as an exposure of 1: no news.
bool is_untouched_default(const Model& model, const Parameter& parameter) {
  if (parameter.learnable || !parameter.name.starts_with("sites[")) {
    return false;
  }
  const auto close = parameter.name.find("].");
  const auto block = static_cast<std::size_t>(std::stoul(parameter.name.substr(6)));
  if (model.sites[block]->traits().response == ResponseKind::label) {
    return true;  // The number of classes, which the line of the data says.
  }
  const SiteArgumentInfo* info = find_argument(*model.sites[block], parameter.name.substr(close + 2));
  return info != nullptr && !info->required && parameter.value == info->default_value;
}

std::string parameter_table(const FitSummary& summary) {
  auto all = summary.posterior->model().parameters();
  std::erase_if(all, [&](const Parameter& p) { return is_untouched_default(summary.posterior->model(), p); });
  std::map<std::string, const LearnedParameter*, std::less<>> learned;
  if (summary.learning != nullptr) {
    for (const auto& parameter : summary.learning->parameters) {
      learned[parameter.name] = &parameter;
    }
  }
  std::string out;
  std::size_t shown = 0;
  for (const Parameter& parameter : all) {
    if (shown++ == most_parameters) {
      out += fmt::format("  ... and {} more (all with --json)\n", all.size() - most_parameters);
      break;
    }
    std::string name = parameter.name;
    if (summary.one_likelihood && name.starts_with("sites[0].")) {
      name = "likelihood." + name.substr(9);
    }
    std::string remark = feature_of(summary, parameter.name);
    std::string value = fmt::format("{:.6g}", parameter.value);
    if (const auto found = learned.find(parameter.name); found != learned.end()) {
      const LearnedParameter& moved = *found->second;
      if (moved.fixed) {
        remark += remark.empty() ? "fixed" : ", fixed";
      } else {
        value = fmt::format("{:.6g} -> {:.6g}", moved.initial, moved.value);
        if (moved.standard_error) {
          value += fmt::format("  se {:.2g}", *moved.standard_error);
        }
        if (moved.hyperprior) {
          remark += fmt::format("{}hyperprior {:.4g}, {:.3g}", remark.empty() ? "" : ", ", moved.hyperprior->median,
                                moved.hyperprior->sd);
        }
        if (moved.at_bound) {
          remark += remark.empty() ? "AT ITS BOUND" : ", AT ITS BOUND";
        }
      }
    }
    out += remark.empty() ? fmt::format("  {:<28} {}\n", name, value)
                          : fmt::format("  {:<28} {:<34} {}\n", name, value, remark);
  }
  return out;
}

/// What exp(coefficient) is the ratio of.
std::string ratio_name(const Posterior& posterior) {
  const std::string& likelihood = posterior.model().sites.front()->traits().name;
  if (likelihood.ends_with("-logit")) {
    return "odds ratio";
  }
  if (likelihood == "weibull") {
    return "hazard ratio";
  }
  return likelihood == "poisson" || likelihood == "negative-binomial" ? "rate ratio" : "ratio of means";
}

std::string coefficient_table(const FitSummary& summary) {
  if (summary.coefficients.empty()) {
    return {};
  }
  std::size_t width = 12;
  for (const Coefficient& c : summary.coefficients) {
    width = std::max(width, std::min<std::size_t>(28, c.name.size()));
  }
  const bool ratios = std::any_of(summary.coefficients.begin(), summary.coefficients.end(),
                                  [](const Coefficient& c) { return c.ratio.has_value(); });
  std::string out = fmt::format("{:<{}}on the scale of the columns\n", "Coefficients", label_width + 2);
  out += fmt::format("  {:<{}} {:>11} {:>10} {:>23}{}\n", "", width, "mean", "sd",
                     fmt::format("{:.4g} % interval", 100.0 * summary.level),
                     ratios ? fmt::format(" {:>14}", ratio_name(*summary.posterior)) : "");
  std::size_t shown = 0;
  for (const Coefficient& c : summary.coefficients) {
    if (shown++ == most_coefficients) {
      out += fmt::format("  ... and {} more (all with --coefficients FILE or --json)\n",
                         summary.coefficients.size() - most_coefficients);
      break;
    }
    out += fmt::format("  {:<{}} {:>11.5g} {:>10.4g} {:>11.4g} {:>11.4g}{}\n", c.name, width, c.mean, c.sd, c.lower,
                       c.upper, c.ratio ? fmt::format(" {:>14.4g}", *c.ratio) : "");
  }
  return out;
}

/// The effects of the first levels: mean and standard deviation.
std::string level_table(const GroupEffects& group) {
  std::size_t width = 12;
  const std::size_t shown = group.levels.size() > most_levels + 1 ? most_levels : group.levels.size();
  for (std::size_t i = 0; i < shown; ++i) {
    width = std::max(width, std::min<std::size_t>(28, group.levels[i].size()));
  }
  std::string out = fmt::format("  {:<{}}", "", width);
  for (const auto& effect : group.effects) {
    out += fmt::format(" {:>11} {:>10}", effect.name.size() > 11 ? "slope" : effect.name, "sd");
  }
  out += '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    out += fmt::format("  {:<{}}", group.levels[i], width);
    for (const auto& effect : group.effects) {
      const auto level = static_cast<Index>(i);
      out += fmt::format(" {:>11.4g} {:>10.3g}", effect.levels.mean(level), std::sqrt(effect.levels.variance(level)));
    }
    out += '\n';
  }
  if (shown < group.levels.size()) {
    out += fmt::format("  ... and {} more (all with --json)\n", group.levels.size() - shown);
  }
  return out;
}

std::string group_table(const FitSummary& summary) {
  std::string out;
  for (const GroupEffects& group : summary.groups) {
    std::string text =
        fmt::format("{}: {}", group.term, plural(static_cast<std::int64_t>(group.levels.size()), "level"));
    for (const auto& effect : group.effects) {
      text += fmt::format(", {} sd {:.5g}", effect.name, effect.sd);
    }
    if (summary.integration != nullptr) {
      text += " (learned)";
    }
    if (const auto* prior = std::get_if<Additive>(&summary.posterior->model().prior)) {
      const auto term = static_cast<std::size_t>(&group - summary.groups.data());
      if (const auto& correlation = prior->random[term].correlation) {
        text += fmt::format(", correlation {:.3g}", *correlation);
      }
    }
    line(out, out.empty() ? "Groups" : "", text);
    out += level_table(group);
  }
  return out;
}

std::string integration_lines(const Integrated& integrated, bool one_block) {
  const IntegrationReport& report = integrated.report;
  std::string out;
  line(out, "Integration",
       fmt::format("{}; {} with an effective number of {:.3g}; what follows is averaged over them", report.message,
                   plural(static_cast<std::int64_t>(integrated.points.size()), "point"), report.effective));
  line(out, "",
       fmt::format("log evidence {:.6f} ({})", integrated.log_evidence,
                   report.proper ? "parameters integrated out under their hyperpriors"
                                 : "log of the integral over the parameters on their scales; no evidence without "
                                   "hyperpriors on all of them"));
  if (!integrated.parameters.empty()) {
    line(out, "",
         "posterior mean and standard deviation of the logarithm (of correlations: atanh), 95 % interval of the "
         "parameter");
  }
  std::size_t shown = 0;
  for (const IntegratedParameter& parameter : integrated.parameters) {
    if (shown++ == most_parameters) {
      out += fmt::format("  ... and {} more (all with --json)\n", integrated.parameters.size() - most_parameters);
      break;
    }
    const bool short_name = one_block && parameter.name.starts_with("sites[0].");
    const std::string name = short_name ? "likelihood." + parameter.name.substr(9) : parameter.name;
    out += fmt::format("  {:<28} {:>10.4g}  +- {:<10.3g} {:.4g} to {:.4g}{}\n", name, parameter.mean, parameter.sd,
                       parameter.lower, parameter.upper, parameter.identified ? "" : "  NOT IDENTIFIED");
  }
  return out;
}

/// How well the rows predict one another.
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

}  // namespace

namespace {

/// "2 features (age, sex)", the first few by name.
std::string named(const std::vector<std::string>& names, std::string_view noun) {
  const auto shown = std::min(names.size(), most_names);
  return fmt::format("{} ({}{})", plural(static_cast<std::int64_t>(names.size()), noun),
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     names.size() > most_names ? ", ..." : "");
}

/// " (50 x setosa, 50 x versicolor, ... and 3 more classes)".
std::string classes_in_words(const TargetCoding& target, const Vector& responses) {
  std::vector<std::string> counts;
  for (std::size_t c = 0; c < std::min(most_classes, target.classes.size()); ++c) {
    const auto count = (responses.array() == static_cast<double>(c)).count();
    counts.push_back(fmt::format("{} x {}", count, target.classes[c]));
  }
  const std::size_t left = target.classes.size() - counts.size();
  return fmt::format(" ({}{})", fmt::join(counts, ", "),
                     left > 0 ? fmt::format(" and {} more classes", left) : std::string());
}

}  // namespace

std::string latents_in_words(const Latents& latents) {
  if (latents.count == 1) {
    return {};
  }
  std::string text = fmt::format(", {} latent functions", latents.count);
  if (!latents.kernels.empty()) {
    return text + " with kernels of their own";
  }
  return latents.model == LatentModel::identity ? text + ", independent"
                                                : text + fmt::format(" related by {}", name_of(latents.model));
}

std::string data_in_words(const std::string& data, const TableModelOptions& options, const TableModel& built) {
  const TableCoding& coding = built.coding;
  const FeatureCoding& features = coding.features;
  std::string text = fmt::format("{}: {}", data, plural(coding.training_rows, "row"));
  if (features.is_sparse) {
    text += ", " + plural(features.dimension(), "feature");
  } else if (features.dimension() > 0) {
    text += ", " + named(features.names(), "feature");
  }
  if (options.standardize) {
    text += features.is_sparse && !options.is_process() ? ", scaled" : features.dimension() > 0 ? ", standardized" : "";
  }
  std::vector<std::string> fixed;
  for (const FixedTerm& term : coding.fixed) {
    for (std::string& name : term.names()) {
      fixed.push_back(std::move(name));
    }
  }
  if (!fixed.empty()) {
    text += ", " + named(fixed, "fixed effect");
  }
  const TargetCoding& target = coding.target;
  if (!features.is_sparse) {
    text += fmt::format("; target {}", target.column);
  }
  if (target.kind == ResponseKind::sign) {
    const Vector& responses = built.model.sites.front()->responses();
    const auto positive = (responses.array() > 0.0).count();
    text += fmt::format(" ({} x {}, {} x {})", responses.size() - positive, target.label(-1.0), positive,
                        target.label(1.0));
  }
  if (target.kind == ResponseKind::label) {
    text += classes_in_words(target, built.model.sites.front()->responses());
  }
  text += events_in_words(built.model);
  if (!options.weights_column.empty()) {
    text += fmt::format("; weights {} (total {:.6g})", options.weights_column,
                        built.model.weights.head(coding.training_rows).sum());
  }
  return text;
}

std::string events_in_words(const Model& model) {
  const auto [events, censored] = count_events(model.sites);
  return events + censored == 0 ? std::string() : fmt::format("; {}, {} censored", plural(events, "event"), censored);
}

std::string model_in_words(const TableModelOptions& options, const TableModel& built) {
  if (!options.formula.empty()) {
    return fmt::format("{} likelihood, {}{}", options.likelihood, options.formula,
                       latents_in_words(built.model.latents));
  }
  const std::string kernel = options.kernel.empty() ? "se" : options.kernel;
  if (const auto* process = std::get_if<GaussianProcess>(&built.model.prior)) {
    return fmt::format("{} likelihood, Gaussian process with kernel {}{}{}", options.likelihood, kernel,
                       process->mean != 0.0 ? fmt::format(", mean {:.6g}", process->mean) : "",
                       latents_in_words(built.model.latents));
  }
  std::string text = fmt::format("{} likelihood, linear model with {}{}", options.likelihood,
                                 plural(built.model.dimension(), "weight"),
                                 built.coding.intercept ? ", the first one the intercept" : "");
  text += latents_in_words(built.model.latents);
  if (std::holds_alternative<NoGaussian>(built.model.prior)) {
    text += ", Laplace priors";
  }
  if (const auto* prior = std::get_if<Additive>(&built.model.prior)) {
    const bool linear = prior->fixed.size() > 0;
    text = fmt::format("{} likelihood, {}", options.likelihood,
                       linear ? "linear model with " + plural(prior->fixed.size(), "coefficient") +
                                    (built.coding.intercept ? ", the first one the intercept" : "")
                              : "effects of groups");
    for (const GroupCoding& group : built.coding.groups) {
      text += fmt::format(" + ({})", group.term);
    }
    if (prior->process) {
      text += fmt::format(" + Gaussian process with kernel {}", kernel);
    }
  }
  return text;
}

std::string score_line(const Scores& scores) {
  std::string text;
  if (scores.errors) {
    text = fmt::format("error rate {:.1f} % ({} of {}), ",
                       100.0 * static_cast<double>(*scores.errors) / static_cast<double>(scores.rows), *scores.errors,
                       scores.rows);
  } else if (scores.rmse) {
    text = fmt::format("RMSE {:.5g}, MAE {:.5g}", *scores.rmse, *scores.mae);
  } else if (scores.mae) {
    text = fmt::format("MAE of the median {:.5g}", *scores.mae);
  }
  if (!scores.errors && scores.mae) {
    text += scores.censored > 0
                ? fmt::format(" over the {} that are not censored, ", plural(scores.rows - scores.censored, "row"))
                : ", ";
  }
  return text + fmt::format("mean log predictive density {:.5g}{}", scores.mean_log_density,
                            scores.censored > 0 ? " over all" : "");
}

std::string calibration_line(const Scores& scores) {
  if (scores.errors) {
    return fmt::format("Brier score {:.4f}, expected calibration error {:.4f}", *scores.brier,
                       *scores.calibration_error);
  }
  std::string out;
  for (const Coverage& interval : scores.coverage) {
    out += fmt::format("{}{:.1f} % of the rows in the central {:.0f} % interval", out.empty() ? "" : ", ",
                       100.0 * interval.share, 100.0 * interval.level);
  }
  return out;
}

std::string summarise(const FitSummary& summary) {
  const Posterior& posterior = *summary.posterior;
  const Report& report = posterior.report();
  std::string out;
  line(out, "Data", summary.data_line);
  line(out, "Model", summary.model_line);
  line(out, "Method", method_in_words(posterior.method()));
  line(out, "Core", report.core);
  line(out, "Converged", convergence(report, summary.learning != nullptr));
  line(out, "Evidence",
       fmt::format("log evidence {:.6f} ({}{}){}", posterior.log_evidence().value,
                   evidence_in_words(posterior.log_evidence().kind), visible_error(posterior.log_evidence()),
                   summary.integration != nullptr ? ", at the learned parameters; integrated over them: below" : ""));
  if (summary.learning != nullptr) {
    line(out, "Learning", learning_line(*summary.learning));
  }
  if (const std::string table = parameter_table(summary); !table.empty()) {
    line(out, "Parameters", summary.learning != nullptr ? parameters_heading(*summary.learning) : "as given");
    out += table;
  }
  if (summary.integration != nullptr) {
    out += integration_lines(*summary.integration, summary.one_likelihood);
  }
  if (report.status != Status::numerical_failure) {
    out += coefficient_table(summary);
    out += group_table(summary);
  }
  if (summary.training) {
    line(out, "Training", score_line(*summary.training));
  }
  if (summary.leave_one_out) {
    line(out, "Left out", left_out_line(*summary.leave_one_out));
  }
  out += path_lines(report.notes);
  if (report.negative_precisions > 0) {
    line(out, "Negative",
         fmt::format("{} with negative precision: the likelihood discounts them",
                     plural(report.negative_precisions, "site")));
  }
  line(out, "Time", fmt::format("{:.3g} s", summary.seconds));
  if (!summary.saved.empty()) {
    line(out, "Saved", summary.saved);
    line(out, "Next", fmt::format("gaussmith predict --model {} --data {}", summary.saved, summary.new_table));
  }
  return out;
}

}  // namespace gaussmith::app
