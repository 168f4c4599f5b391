#include "gaussmith/compare.hpp"

#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "trust/left_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Samplers are part of the default where a product with a root of the covariance has at most so many entries.
constexpr double cheap_root = 1e6;
/// Those that move step by step, tens of thousands of them, where a step has at most so many operations: beyond, they
/// take many times as long as all fits together.
constexpr double cheap_step = 1e5;
/// Operations of a site beside those of the product.
constexpr double site_operations = 20.0;

/// Errors of means in true sds and ratios of sds, of all numbers of two marginals that are known.
class ErrorSum {
 public:
  void add(const Marginals& found, const Marginals& truth, MethodError& error, bool latent) {
    for (Index i = 0; i < truth.mean.size(); ++i) {
      const double sd = std::sqrt(truth.variance(i));
      if (!(sd > 0.0) || !std::isfinite(found.mean(i))) continue;
      const double apart = std::abs(found.mean(i) - truth.mean(i)) / sd;
      const double ratio = std::sqrt(std::max(0.0, found.variance(i))) / sd;
      const double change = std::abs(std::log(ratio));
      means_ += apart;
      sds_ += change;
      ++count_;
      error.mean = std::max(error.mean, apart);
      if (change > std::abs(std::log(error.sd_ratio))) error.sd_ratio = ratio;
      if (latent && apart + change > worst_) {
        worst_ = apart + change;
        error.worst_latent = i;
      }
    }
  }
  void finish(MethodError& error) const {
    if (count_ == 0) return;
    error.mean_average = means_ / count_;
    error.sd_average = sds_ / count_;
  }

 private:
  double means_ = 0.0, sds_ = 0.0, worst_ = -1.0;
  int count_ = 0;
};

MethodError error_of(const Posterior& posterior, const Truth& truth) {
  MethodError error;
  error.log_evidence = posterior.log_evidence().value - truth.log_evidence;
  ErrorSum sum;
  sum.add(posterior.latent(), truth.latent, error, true);
  if (!posterior.model().design.is_identity()) sum.add(posterior.weights(), truth.weights, error, false);
  sum.finish(error);
  return error;
}

std::optional<double> mean_of_known(const Vector& values) {
  double sum = 0.0;
  int count = 0;
  for (const double value : values)
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    }
  if (count == 0) return std::nullopt;
  return sum / count;
}

/// Those of responses; the rows of a prior of sites are behind them.
Vector of_data(const Vector& values, Index data_rows) {
  return data_rows > 0 ? Vector(values.head(std::min(data_rows, values.size()))) : values;
}

/// Nothing where a method knows no such prediction.
std::optional<double> density_of(const Posterior& posterior, const CompareOptions& options) {
  try {
    if (!options.held_out) return mean_of_known(of_data(posterior.leave_one_out().log_density, options.data_rows));
    const Prediction predicted = posterior.predict(options.held_out->points);
    if (!predicted.has_response()) return std::nullopt;
    return mean_of_known(predicted.log_density(options.held_out->responses));
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

/// Empty where a method knows no leave-one-out predictions.
Vector transforms_of(const Posterior& posterior, const std::optional<TrustCard>& card) {
  if (card) return card->loo_pit;
  try {
    return left_out_transforms(posterior.model(), posterior.leave_one_out());
  } catch (const InvalidInput&) {
    return {};
  }
}

bool usable(const Posterior& posterior) { return posterior.report().status != Status::numerical_failure; }

/// Nothing for samplers, and for fits that have no card.
std::optional<TrustCard> card_of(const Posterior& posterior, const Run& run) {
  if (is_sampler(posterior.method()) || !usable(posterior)) return std::nullopt;
  try {
    return diagnose(posterior, {.advice = false}, run);
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

std::vector<Method> all_that_apply(const Model& model, std::vector<std::string>& notes) {
  const auto n = static_cast<double>(model.rows() * model.latents.count);
  const auto d = static_cast<double>(model.dimension() * model.latents.count);
  const double root = n * std::min(n, d);
  const bool short_steps = root + site_operations * n <= cheap_step;
  std::vector<Method> out;
  std::vector<std::string> left_out;
  for (const std::string& name : methods_for(model)) {
    Method method = make_method(name);
    const bool steps = is_sampler(method) && !std::holds_alternative<ImportanceSampling>(method);
    if (!is_sampler(method) || (steps ? short_steps : root <= cheap_root))
      out.push_back(std::move(method));
    else
      left_out.push_back(name);
  }
  if (!left_out.empty())
    notes.push_back(fmt::format(
        "left out, because {:.0f} latents of rank up to {:.0f} would take them many times as long as the fits: {}; "
        "name them among the methods to run them",
        n, std::min(n, d), fmt::join(left_out, ", ")));
  return out;
}

}  // namespace

std::vector<std::string> methods_for(const Model& model) {
  std::vector<std::string> names;
  for (const MethodInfo& info : method_catalogue()) {
    try {
      check_method(model, make_method(info.name));
      names.push_back(info.name);
    } catch (const InvalidInput&) {
      // It does not take this model.
    }
  }
  return names;
}

Comparison compare(const Model& model, const CompareOptions& options, const Run& run) {
  model.validate();
  Comparison out;
  out.held_out = options.held_out.has_value();
  const bool asked_for = !options.methods.empty();
  const std::vector<Method> methods = asked_for ? options.methods : all_that_apply(model, out.notes);
  for (const Method& method : methods) check_method(model, method);
  for (const Method& method : methods) {
    const auto start = std::chrono::steady_clock::now();
    try {
      Posterior posterior = infer_valid(model, method, run);
      ComparedMethod line{std::string(name_of(method)), std::move(posterior)};
      line.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (usable(line.posterior)) line.log_density = density_of(line.posterior, options);
      if (options.verdicts) line.card = card_of(line.posterior, run);
      if (usable(line.posterior)) line.loo_pit = of_data(transforms_of(line.posterior, line.card), options.data_rows);
      out.methods.push_back(std::move(line));
    } catch (const InvalidInput& error) {
      // Too large for this machine, or refused after a look at the numbers.
      if (asked_for) throw;
      out.notes.push_back(fmt::format("{}: {}", name_of(method), error.what()));
    }
  }
  if (options.truth) {
    out.truth = find_truth(model, options.truth_options, run);
    if (!out.truth) out.notes.emplace_back("no truth could be had: sampling is out of reach of this model");
  }
  for (const ComparedMethod& line : out.methods) {
    const Evidence& evidence = line.posterior.log_evidence();
    if (usable(line.posterior) && (evidence.kind == EvidenceKind::lower_bound || evidence.kind == EvidenceKind::exact))
      out.best_bound = std::max(out.best_bound.value_or(-std::numeric_limits<double>::infinity()), evidence.value);
  }
  for (ComparedMethod& line : out.methods) {
    if (!usable(line.posterior)) continue;
    const double value = line.posterior.log_evidence().value;
    if (out.best_bound && std::isfinite(value)) line.below_best_bound = *out.best_bound - value;
    if (out.truth) line.error = error_of(line.posterior, *out.truth);
  }
  return out;
}

}  // namespace gaussmith
