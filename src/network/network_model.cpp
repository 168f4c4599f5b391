#include "gaussmith/errors.hpp"
#include "gaussmith/network.hpp"
#include "model/check_finite.hpp"
#include "network/input_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

namespace gaussmith {

namespace {

struct Named {
  WeightPrior weights;
  const char* name;
};
constexpr std::array<Named, 5> weight_priors{{{WeightPrior::gaussian, "gaussian"},
                                              {WeightPrior::ard, "ard"},
                                              {WeightPrior::laplace, "laplace"},
                                              {WeightPrior::laplace_ard, "laplace-ard"},
                                              {WeightPrior::independent, "independent"}}};

constexpr int most_units = 10000;

void check_inputs(const NetworkModel& model) {
  const Matrix& inputs = model.inputs;
  if (inputs.rows() < 2 || inputs.cols() == 0)
    refuse_model(fmt::format("inputs are {} x {}; a network needs two rows and one column at least", inputs.rows(),
                             inputs.cols()));
  if (!model.input_names.empty() && static_cast<Index>(model.input_names.size()) != inputs.cols())
    refuse_model(
        fmt::format("input_names has {} names, but inputs have {} columns", model.input_names.size(), inputs.cols()));
  for (Index j = 0; j < inputs.cols(); ++j)
    for (Index i = 0; i < inputs.rows(); ++i)
      if (!std::isfinite(inputs(i, j)))
        refuse_model(fmt::format("inputs({}, {}) of column {} is {}; finite numbers are accepted", i, j,
                                 input_name(model, j), inputs(i, j)));
  if (((inputs.rowwise() - inputs.row(0)).array() == 0.0).all())
    refuse_model("every column of the inputs is constant; one at least must vary");
}

void check_sites(const NetworkModel& model) {
  if (!model.sites) refuse_model("sites: the model has none; it needs one for every row");
  const SiteBlock& sites = *model.sites;
  const std::string& name = sites.traits().name;
  if (sites.size() != model.inputs.rows())
    refuse_model(fmt::format("sites cover {} rows, but inputs have {}", sites.size(), model.inputs.rows()));
  if (sites.width() != 1)
    refuse_model(fmt::format("sites ({}) have {} latents a row; a network has one", name, sites.width()));
  for (const SiteParameter& p : sites.parameters()) {
    if (name == "gaussian" && p.values.size() > 1)
      refuse_model("sites (gaussian) have a variance for every row; a network's noise variance is unknown and one");
    if (name != "gaussian" && p.learnable)
      refuse_model(fmt::format(
          "sites ({}) have a free parameter, {}; a network takes gaussian sites, or a likelihood that has none "
          "(bernoulli-probit, poisson)",
          name, p.name));
  }
  if ((sites.responses().array() == sites.responses()(0)).all())
    refuse_model(fmt::format("all responses are {}; a network needs responses that vary", sites.responses()(0)));
  if (model.offset.size() != 0 && model.offset.size() != sites.size())
    refuse_model(fmt::format("offset has {} entries, but inputs have {} rows", model.offset.size(), sites.size()));
  check_finite(model.offset, "offset");
}

void check_groups(const NetworkModel& model) {
  const NetworkPrior& prior = model.prior;
  if (!prior.groups.empty() && prior.weights != WeightPrior::ard && prior.weights != WeightPrior::laplace_ard)
    refuse_model(fmt::format("prior.groups: groups of inputs go with weights ard or laplace-ard, found {}",
                             to_string(prior.weights)));
  std::vector<const InputGroup*> owner(static_cast<std::size_t>(model.inputs.cols()), nullptr);
  for (const InputGroup& group : prior.groups) {
    if (group.inputs.empty()) refuse_model(fmt::format("prior.groups: {} has no inputs", group.name));
    for (const Index j : group.inputs) {
      if (j < 0 || j >= model.inputs.cols())
        refuse_model(
            fmt::format("prior.groups: {} has input {}; there are 0 to {}", group.name, j, model.inputs.cols() - 1));
      const InputGroup*& before = owner[static_cast<std::size_t>(j)];
      if (before != nullptr)
        refuse_model(fmt::format("prior.groups: {} is in {} and in {}; an input has one group at most",
                                 input_name(model, j), before->name, group.name));
      before = &group;
    }
  }
}

void check_scale(const LogVariancePrior& scale, const char* name) {
  if (!std::isfinite(scale.mean) || std::abs(scale.mean) > 100.0 || !(scale.sd >= 0.0 && scale.sd <= 100.0))
    refuse_model(fmt::format("{} is {},{}; a mean in [-100, 100] and a standard deviation in [0, 100] are accepted",
                             name, scale.mean, scale.sd));
}

void check_positive(double value, const char* name) {
  if (!(value > 0.0 && std::isfinite(value)))
    refuse_model(fmt::format("{} is {}; a positive number is accepted", name, value));
}

}  // namespace

std::string input_name(const NetworkModel& model, Index input) {
  return model.input_names.empty() ? fmt::format("x{}", input + 1) : model.input_names[static_cast<std::size_t>(input)];
}

std::string_view to_string(WeightPrior weights) {
  for (const Named& known : weight_priors)
    if (known.weights == weights) return known.name;
  return "unknown";
}

WeightPrior parse_weight_prior(std::string_view name) {
  std::vector<std::string> known;
  for (const Named& candidate : weight_priors) {
    if (name == candidate.name) return candidate.weights;
    known.emplace_back(candidate.name);
  }
  throw InvalidOption(
      fmt::format("there are no weights {}{}; there are {}", name, suggestion(name, known), fmt::join(known, ", ")));
}

void NetworkModel::validate() const {
  check_inputs(*this);
  check_sites(*this);
  if (prior.units < 0 || prior.units > most_units)
    refuse_model(
        fmt::format("prior.units is {}; 0 (a linear model) to {} hidden units are accepted", prior.units, most_units));
  if (prior.units == 0 && !prior.linear)
    refuse_model("prior.linear is false and prior.units is 0: nothing sees the inputs; give hidden units");
  check_groups(*this);
  check_scale(prior.scale_prior, "prior.scale_prior");
  check_scale(prior.noise_prior, "prior.noise_prior");
  check_positive(prior.bias_sd, "prior.bias_sd");
  check_positive(prior.intercept_sd, "prior.intercept_sd");
  check_positive(prior.output_scale, "prior.output_scale");
  check_positive(prior.output_degrees, "prior.output_degrees");
}

}  // namespace gaussmith
