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

/// Closer to a bound than this in the logarithm counts as at it.
constexpr double bound_margin = 1e-6;

void check_range(const std::string& name, const Bounds& bounds) {
  if (!(bounds.lower > 0.0) || !(bounds.lower < bounds.upper) || !std::isfinite(bounds.upper))
    throw InvalidOption(
        fmt::format("bounds of {} must be 0 < lower < upper, found {} and {}", name, bounds.lower, bounds.upper));
}

}  // namespace

std::vector<FreeParameter> free_parameters(const Model& model, const LearnOptions& options) {
  const ParameterNames names(model);
  std::set<std::string> fixed;
  for (const std::string& name : options.fixed) fixed.insert(names.resolve(name));
  std::map<std::string, Bounds> bounds;
  for (const auto& [name, range] : options.bounds) {
    check_range(name, range);
    bounds[names.resolve(name)] = range;
  }
  check_range("parameters (default_bounds)", options.default_bounds);
  std::map<std::string, LogNormal> hyperpriors;
  for (const auto& [name, prior] : options.hyperpriors) {
    if (!(prior.median > 0.0) || !(prior.sd > 0.0) || !std::isfinite(prior.median) || !std::isfinite(prior.sd))
      throw InvalidOption(fmt::format("the hyperprior of {} needs a positive median and sd, found {} and {}", name,
                                      prior.median, prior.sd));
    hyperpriors[names.resolve(name)] = prior;
  }
  std::vector<FreeParameter> free;
  for (const Parameter& p : model.parameters()) {
    if (!p.learnable || fixed.contains(p.name)) continue;
    const auto own = bounds.find(p.name);
    Bounds range = own == bounds.end() ? options.default_bounds : own->second;
    if (own == bounds.end()) {
      // A starting value outside the default range is the user's word that such values make sense.
      range.lower = std::min(range.lower, p.value);
      range.upper = std::max(range.upper, p.value);
    } else if (p.value < range.lower || p.value > range.upper) {
      throw InvalidOption(
          fmt::format("{} starts at {}, outside its bounds [{}, {}]", p.name, p.value, range.lower, range.upper));
    }
    const auto prior = hyperpriors.find(p.name);
    const double lower = std::log(range.lower);
    const double upper = std::log(range.upper);
    free.push_back({p.name, std::clamp(std::log(p.value), lower, upper), lower, upper,
                    prior == hyperpriors.end() ? std::nullopt : std::optional(prior->second)});
  }
  return free;
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
