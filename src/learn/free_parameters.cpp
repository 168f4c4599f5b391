#include "learn/free_parameters.hpp"

#include "gaussmith/errors.hpp"
#include "model/parameter_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace gaussmith {

namespace {

/// Closer to a bound than this on its scale counts as at it.
constexpr double bound_margin = 1e-6;

/// Bounds of a correlation where none are given.
constexpr double largest_correlation = 0.999;
/// Bounds of an entry of a factor, whose diagonal is about one.
constexpr double largest_entry = 1e3;

double place_of(ParameterScale scale, double value) { return Parameter{{}, value, true, scale}.on_scale(); }

/// Default bounds that are nearer to a start than this factor give way, as far as the others say.
constexpr double near_bound = 100.0;
constexpr double room_below = 1e-4;
constexpr double room_above = 1e2;

/// Precisions of differences between neighbours grow with a power of their number.
constexpr double largest_field_precision = 1e12;
/// Latent functions behind a link have a unit: a standard deviation of this says yes or no for certain, and far beyond
/// it inference runs out of digits.
constexpr double largest_signal = 1e3;

bool behind_links(const Model& model) {
  return !model.sites.empty() && std::all_of(model.sites.begin(), model.sites.end(), [](const Sites& block) {
    const LikelihoodInfo* info = find_likelihood(block->traits().name);
    return info != nullptr && info->link != Link::identity;
  });
}

Bounds usual_bounds(ParameterScale scale, const LearnOptions& options) {
  if (scale == ParameterScale::logarithm) return options.default_bounds;
  const double largest = scale == ParameterScale::inverse_tanh ? largest_correlation : largest_entry;
  return {-largest, largest};
}

void check_range(const std::string& name, const Bounds& bounds, ParameterScale scale) {
  const char* accepted = scale == ParameterScale::logarithm      ? "0 < lower < upper"
                         : scale == ParameterScale::inverse_tanh ? "-1 < lower < upper < 1"
                                                                 : "finite with lower < upper";
  if (!is_inside(scale, bounds.lower) || !is_inside(scale, bounds.upper) || !(bounds.lower < bounds.upper))
    throw InvalidOption(
        fmt::format("bounds of {} must be {}, found {} and {}", name, accepted, bounds.lower, bounds.upper));
}

void check_hyperprior(const std::string& name, const LogNormal& prior, ParameterScale scale) {
  const char* accepted = scale == ParameterScale::logarithm      ? "a positive median"
                         : scale == ParameterScale::inverse_tanh ? "a median between -1 and 1"
                                                                 : "a finite median";
  if (!is_inside(scale, prior.median) || !(prior.sd > 0.0) || !std::isfinite(prior.sd))
    throw InvalidOption(fmt::format("the hyperprior of {} needs {} and a positive sd, found {} and {}", name, accepted,
                                    prior.median, prior.sd));
}

}  // namespace

bool is_inside(ParameterScale scale, double value) {
  if (scale == ParameterScale::logarithm && !(value > 0.0)) return false;
  if (scale == ParameterScale::inverse_tanh && !(std::abs(value) < 1.0)) return false;
  return std::isfinite(value);
}

std::vector<FreeParameter> free_parameters(const Model& model, const LearnOptions& options) {
  const ParameterNames names(model);
  std::set<std::string> fixed;
  for (const std::string& name : options.fixed) fixed.insert(names.resolve(name));
  std::map<std::string, Bounds> bounds;
  for (const auto& [name, range] : options.bounds) bounds[names.resolve(name)] = range;
  check_range("parameters (default_bounds)", options.default_bounds, ParameterScale::logarithm);
  std::map<std::string, LogNormal> hyperpriors;
  for (const auto& [name, prior] : options.hyperpriors) hyperpriors[names.resolve(name)] = prior;
  const bool has_unit = behind_links(model) && options.default_bounds.upper == Bounds{}.upper;
  std::vector<FreeParameter> free;
  for (const Parameter& p : model.parameters()) {
    const auto own = bounds.find(p.name);
    const auto prior = hyperpriors.find(p.name);
    if (own != bounds.end()) check_range(p.name, own->second, p.scale);
    if (prior != hyperpriors.end()) check_hyperprior(p.name, prior->second, p.scale);
    // The scale of coefficients' priors is learned under a hyperprior alone; numbers that are data never are.
    const bool under_hyperprior = prior != hyperpriors.end() && !p.name.starts_with("sites[");
    if ((!p.learnable && !under_hyperprior) || fixed.contains(p.name)) continue;
    Bounds range = own != bounds.end() ? own->second : usual_bounds(p.scale, options);
    if (own == bounds.end()) {
      if (has_unit && p.name.ends_with(".signal_sd")) range.upper = largest_signal;
      // What a difference of neighbours may be depends on how many there are.
      if ((p.name == "prior.precision" || p.name.starts_with("fields[")) &&
          options.default_bounds.upper == Bounds{}.upper)
        range.upper = largest_field_precision;
      // Units are the user's: there is room below and above any start.
      if (p.scale == ParameterScale::logarithm) {
        if (p.value < near_bound * range.lower) range.lower = std::min(range.lower, room_below * p.value);
        if (p.value * near_bound > range.upper) range.upper = std::max(range.upper, room_above * p.value);
      }
      range.lower = std::min(range.lower, p.value);
      range.upper = std::max(range.upper, p.value);
    } else if (p.value < range.lower || p.value > range.upper) {
      throw InvalidOption(
          fmt::format("{} starts at {}, outside its bounds [{}, {}]", p.name, p.value, range.lower, range.upper));
    }
    const double lower = place_of(p.scale, range.lower);
    const double upper = place_of(p.scale, range.upper);
    free.push_back({p.name, p.scale, std::clamp(p.on_scale(), lower, upper), lower, upper,
                    prior == hyperpriors.end() ? std::nullopt : std::optional(prior->second), own != bounds.end()});
  }
  return free;
}

double FreeParameter::z_of(double place) const {
  return (place - place_of(scale, hyperprior->median)) / hyperprior->sd;
}
bool FreeParameter::at_lower(double value) const { return value <= lower + bound_margin; }
bool FreeParameter::at_upper(double value) const { return value >= upper - bound_margin; }

Vector collect(const std::vector<FreeParameter>& free, double FreeParameter::*member) {
  Vector out(static_cast<Index>(free.size()));
  for (Index i = 0; i < out.size(); ++i) out(i) = free[static_cast<std::size_t>(i)].*member;
  return out;
}

Vector projected_gradient(const Vector& gradient, const Vector& point, const std::vector<FreeParameter>& free) {
  Vector out = gradient;
  for (Index i = 0; i < out.size(); ++i) {
    const FreeParameter& f = free[static_cast<std::size_t>(i)];
    if ((f.at_lower(point(i)) && out(i) < 0.0) || (f.at_upper(point(i)) && out(i) > 0.0)) out(i) = 0.0;
  }
  return out;
}

}  // namespace gaussmith
