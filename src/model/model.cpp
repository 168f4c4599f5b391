#include "gaussmith/model.hpp"

#include "gaussmith/errors.hpp"
#include "model/check_finite.hpp"
#include "model/inducing.hpp"
#include "model/latents.hpp"
#include "model/operators/adjoint.hpp"
#include "model/parameter_names.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace gaussmith {

namespace {

/// y'H x and x'H'y of an operator may differ by this much of their size.
constexpr double adjoint_tolerance = 1e-6;

/// An operator is taken at its word but for this: both of its products are those of one matrix.
void check_operator(const Design& design) {
  const auto times = [&](const Matrix& x) { return design.times(x); };
  const auto transposed_times = [&](const Matrix& x) { return design.transposed_times(x); };
  refuse_adjoint_error(adjoint_error(design.rows(), design.cols(), times, transposed_times, 0), adjoint_tolerance);
}

void check_design(const Design& design, Index dimension) {
  if (design.is_identity()) return;
  if (design.cols() != dimension)
    refuse_model(fmt::format("design has {} columns, but the prior has dimension {}", design.cols(), dimension));
  const auto [row, column] = design.first_not_finite();
  if (row >= 0)
    refuse_model(fmt::format("design[{}][{}] is {}; it must be a finite number", row, column,
                             design.transposed_rows(row, row + 1)(column, 0)));
  if (!design.has_entries() && design.rows() > 0) check_operator(design);
}

std::string site_name(std::size_t block, std::string_view parameter) {
  return fmt::format("sites[{}].{}", block, parameter);
}

}  // namespace

void refuse_model(const std::string& message) { throw InvalidModel(message); }

void check_finite(const Vector& values, const char* what) {
  for (Index i = 0; i < values.size(); ++i)
    if (!std::isfinite(values(i)))
      refuse_model(fmt::format("{}[{}] is {}; it must be a finite number", what, i, values(i)));
}

Index Model::dimension() const { return dimension_of(prior); }

double Parameter::on_scale() const {
  switch (scale) {
    case ParameterScale::logarithm:
      return std::log(value);
    case ParameterScale::inverse_tanh:
      return std::atanh(value);
    case ParameterScale::itself:
      break;
  }
  return value;
}

double value_on(ParameterScale scale, double place) {
  switch (scale) {
    case ParameterScale::logarithm:
      return std::exp(place);
    case ParameterScale::inverse_tanh:
      return std::tanh(place);
    case ParameterScale::itself:
      break;
  }
  return place;
}

Index Model::rows() const { return design.sized(dimension()).rows(); }

void Model::validate() const {
  gaussmith::validate(prior);
  gaussmith::validate(latents, prior);
  check_design(design, dimension());
  gaussmith::validate_inducing(*this);
  const Index n = rows();
  if (n == 0) refuse_model("design has no rows; a model needs at least one site");
  if (offset.size() != 0 && offset.size() != n * latents.count)
    refuse_model(latents.count == 1 ? fmt::format("offset has {} entries, but the model has {} rows", offset.size(), n)
                                    : fmt::format("offset has {} entries, but the model has {} rows of {} latents",
                                                  offset.size(), n, latents.count));
  check_finite(offset, "offset");
  if (sites.empty()) refuse_model("sites: the model has none; it needs one for every row");
  Index covered = 0;
  for (std::size_t b = 0; b < sites.size(); ++b) {
    if (!sites[b]) refuse_model(fmt::format("sites[{}] is empty", b));
    if (sites[b]->width() != latents.count)
      refuse_model(fmt::format("sites[{}] ({}) has {} latent{} a row, but prior.latents is {}; they must agree", b,
                               sites[b]->traits().name, sites[b]->width(), sites[b]->width() == 1 ? "" : "s",
                               latents.count));
    covered += sites[b]->size();
  }
  if (covered != n) refuse_model(fmt::format("sites cover {} rows, but the model has {}", covered, n));
  if (weights.size() != 0 && weights.size() != n)
    refuse_model(fmt::format("weights has {} entries, but the model has {} rows", weights.size(), n));
  for (Index i = 0; i < weights.size(); ++i)
    if (!(weights(i) > 0.0 && std::isfinite(weights(i))))
      refuse_model(fmt::format("weights[{}] is {}; a weight is a positive number", i, weights(i)));
}

std::vector<Parameter> Model::parameters() const {
  std::vector<Parameter> all;
  if (latents.kernels.empty()) {
    all = parameters_of(prior);
  } else if (const Inducing* inducing = inducing_of(*this)) {
    // Kernels of the functions stand in for the process's own; what is left of it are its inducing variables.
    all = parameters_of(*inducing);
  }
  for (Parameter& parameter : parameters_of(latents)) all.push_back(std::move(parameter));
  for (std::size_t b = 0; b < sites.size(); ++b)
    for (const SiteParameter& s : sites[b]->parameters())
      if (s.values.size() == 1) all.push_back({site_name(b, s.name), s.values(0), s.learnable});
  return all;
}

std::string Model::resolve_parameter(std::string_view name) const { return ParameterNames(*this).resolve(name); }

Model Model::with_parameters(const std::map<std::string, double, std::less<>>& values) const {
  std::map<std::string, double, std::less<>> full;
  const ParameterNames names(*this);
  for (const auto& [name, value] : values) full[names.resolve(name)] = value;
  Model changed = *this;
  const auto find = [&](const std::string& name) -> const double* {
    const auto it = full.find(name);
    return it == full.end() ? nullptr : &it->second;
  };
  changed.prior = gaussmith::with_parameters(prior, find);
  changed.latents = gaussmith::with_parameters(latents, find);
  for (std::size_t b = 0; b < sites.size(); ++b) {
    SiteArguments arguments;
    for (const SiteParameter& s : sites[b]->parameters())
      if (const double* value = find(site_name(b, s.name))) arguments[s.name] = one(*value);
    if (!arguments.empty()) changed.sites[b] = sites[b]->with(sites[b]->responses(), arguments);
  }
  return changed;
}

}  // namespace gaussmith
