#include "fit_summary.hpp"

#include "command.hpp"
#include "report_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace gaussmith::app {

namespace {

constexpr std::size_t most_parameters = 40;
constexpr std::size_t most_names = 8;
constexpr std::size_t most_levels = 6;
constexpr std::size_t most_classes = 10;
constexpr std::size_t most_scales = 5;

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

/// The values at the first nodes: mean and standard deviation.
std::string field_table(const FitSummary& summary) {
  std::string out;
  for (const FieldEffects& field : summary.fields) {
    line(out, out.empty() ? "Fields" : "",
         fmt::format("{}: {}, scaled, precision {:.5g}{} (sd {:.4g})", field.term,
                     plural(static_cast<std::int64_t>(field.nodes.size()), "node"), field.precision,
                     summary.integration != nullptr ? " (learned)" : "", 1.0 / std::sqrt(field.precision)));
    GroupEffects shown;
    shown.levels = field.nodes;
    shown.effects = {{.name = "value", .levels = field.values}};
    out += level_table(shown);
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
  if (options.standardize && !options.is_network()) {
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
                              : "sum of effects");
    for (const GroupCoding& group : built.coding.groups) {
      text += fmt::format(" + ({})", group.term);
    }
    for (const FieldCoding& field : built.coding.fields) {
      text += fmt::format(" + {}", field.term);
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

namespace {

std::string interval_text(const TrustCard& card) {
  const bool bounded = std::isfinite(card.evidence_lower);
  if (bounded && card.evidence_upper) {
    return fmt::format("log evidence between {:.4f} and {:.4f}", card.evidence_lower, *card.evidence_upper);
  }
  if (bounded) {
    return fmt::format("log evidence at least {:.4f}; no upper limit", card.evidence_lower);
  }
  return card.evidence_upper
             ? fmt::format("log evidence at most {:.4f}; this method knows no lower bound", *card.evidence_upper)
             : std::string("log evidence without limits");
}

std::string card_lines(const TrustCard& card, const Posterior& posterior) {
  std::string out;
  line(out, "Trust",
       fmt::format("{} (evidence: {}, marginals: {})", to_string(card.verdict), to_string(card.evidence),
                   to_string(card.marginals)));
  for (const std::string& reason : card.reasons) {
    line(out, "", reason);
  }
  if (!card.advice.empty()) {
    line(out, "Advice", card.advice);
  }
  if (posterior.log_evidence().kind == EvidenceKind::exact) {
    return out;
  }
  if (card.check) {
    line(out, "Check",
         fmt::format("{} draws, worth {:.0f}; tail shape k = {:.2f}{}", card.check->draws, card.check->effective,
                     card.check->pareto_k, card.check->pareto_k > 0.7 ? ": they say nothing" : ""));
  }
  line(out, "Interval", interval_text(card));
  if (card.second_order) {
    line(out, "Next order",
         fmt::format(
             "evidence {:+.4f}{}", card.second_order->evidence,
             card.log_evidence_corrected ? fmt::format(", corrected {:.4f}", *card.log_evidence_corrected) : ""));
  }
  if (card.mode_starts > 0) {
    line(out, "Modes",
         fmt::format("{} found from {}", plural(card.modes_found, "mode"), plural(card.mode_starts, "start")));
  }
  if (!card.worst_sites.empty()) {
    std::string worst;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, card.worst_sites.size()); ++i) {
      worst += fmt::format("{}row {} ({:+.2g})", i == 0 ? "" : ", ", card.worst_sites[i].row, card.worst_sites[i].gap);
    }
    line(out, "Rows", "that add most to it: " + worst);
  }
  return out;
}

/// Rows of vmf that their noise discounts most. A small precision of a class or a count says only that it is clear.
std::string scale_line(const Posterior& posterior, Index data_rows) {
  if (!posterior.scales()) {
    return {};
  }
  const Vector& precision = posterior.scales()->mean_precision;
  const Index rows = data_rows > 0 ? data_rows : precision.size();
  std::vector<Index> order;
  order.reserve(static_cast<std::size_t>(rows));
  Index row = 0;
  for (const Sites& block : posterior.model().sites) {
    for (Index i = 0; i < block->size(); ++i, ++row) {
      if (block->traits().response == ResponseKind::real && row < rows && std::isfinite(precision(row))) {
        order.push_back(row);
      }
    }
  }
  const std::size_t shown = std::min(most_scales, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](Index a, Index b) { return std::pair(precision(a), a) < std::pair(precision(b), b); });
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}row {} ({:.3g})", i == 0 ? "" : ", ", order[i], precision(order[i]));
  }
  std::string out;
  if (shown > 0) {
    line(out, "Scales", "rows believed with the smallest precisions: " + text);
  }
  return out;
}

std::string marginal_lines(const MarginalContent& marginals) {
  std::string out;
  constexpr std::size_t most = 12;
  std::size_t shown = 0;
  const auto add = [&](const std::string& name, const CorrectedMarginal& m) {
    if (++shown > most) {
      return;
    }
    line(out, shown == 1 ? "Marginals" : "",
         fmt::format("{}: mean {:.4g}, sd {:.4g}, skewness {:+.2f}, {:.4g} to {:.4g}{}", name, m.mean, m.sd, m.skewness,
                     m.quantiles.size() > 0 ? m.quantiles(0) : m.mean,
                     m.quantiles.size() > 0 ? m.quantiles(m.quantiles.size() - 1) : m.mean,
                     m.settled ? "" : " (not settled)"));
  };
  for (std::size_t i = 0; i < marginals.found.rows.size(); ++i) {
    add(fmt::format("row {}", marginals.options.rows[i]), marginals.found.rows[i]);
  }
  for (std::size_t i = 0; i < marginals.found.weights.size(); ++i) {
    add(fmt::format("weight {}", marginals.options.weights[i]), marginals.found.weights[i]);
  }
  for (std::size_t i = 0; i < marginals.found.points.size(); ++i) {
    add(fmt::format("point {}", i), marginals.found.points[i]);
  }
  if (shown > most) {
    line(out, "", fmt::format("... {} more (all with --json)", shown - most));
  }
  return out;
}

}  // namespace

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
       std::isnan(posterior.log_evidence().value) && is_sampler(posterior.method())
           ? std::string("none: chains know no evidence; is and ais do")
           : fmt::format(
                 "log evidence {:.6f} ({}{}){}", posterior.log_evidence().value,
                 evidence_in_words(posterior.log_evidence().kind), visible_error(posterior.log_evidence()),
                 summary.integration != nullptr ? ", at the learned parameters; integrated over them: below" : ""));
  line(out, "Variances", variances_in_words(report));
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
    const std::string& likelihood = posterior.model().sites.front()->traits().name;
    out += coefficient_table(summary.coefficients, summary.level, likelihood);
    out += group_table(summary);
    out += field_table(summary);
  }
  if (summary.training) {
    line(out, "Training", score_line(*summary.training));
  }
  if (summary.leave_one_out) {
    line(out, "Left out", left_out_line(*summary.leave_one_out));
  }
  if (summary.card != nullptr) {
    out += card_lines(*summary.card, posterior);
  }
  if (summary.marginals != nullptr) {
    out += marginal_lines(*summary.marginals);
  }
  if (report.status != Status::numerical_failure) {
    out += scale_line(posterior, summary.data_rows);
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
