#include "model/inducing.hpp"

#include "model/check_finite.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace gaussmith {

namespace {

void check_inputs(const Inducing& inducing, Index columns) {
  const Matrix& inputs = inducing.inputs;
  if (inputs.cols() != columns)
    refuse_model(
        fmt::format("prior.inducing.inputs has {} columns; the inputs of the process have {}", inputs.cols(), columns));
  for (Index i = 0; i < inputs.rows(); ++i)
    for (Index j = 0; j < inputs.cols(); ++j)
      if (!std::isfinite(inputs(i, j)))
        refuse_model(
            fmt::format("prior.inducing.inputs[{}][{}] is {}; it must be a finite number", i, j, inputs(i, j)));
}

void check_sites(const Inducing& inducing, Index rows, Index latents) {
  std::set<std::pair<Index, Index>> seen;
  for (std::size_t i = 0; i < inducing.sites.size(); ++i) {
    const auto& [row, latent] = inducing.sites[i];
    if (row < 0 || row >= rows)
      refuse_model(fmt::format("prior.inducing.sites[{}]: row {} does not exist; expected 0 to {}", i, row, rows - 1));
    if (latent < 0 || latent >= latents)
      refuse_model(
          fmt::format("prior.inducing.sites[{}]: latent {} does not exist; expected 0 to {}", i, latent, latents - 1));
    if (!seen.insert(inducing.sites[i]).second)
      refuse_model(fmt::format("prior.inducing.sites[{}]: row {}, latent {} stands there before; each may stand once",
                               i, row, latent));
  }
}

std::string input_name(Index i, Index j) { return fmt::format("inducing.inputs[{}][{}]", i, j); }

}  // namespace

bool learns_inputs(const GaussianProcess& process) { return process.inducing && process.inducing->learn; }

std::vector<Parameter> parameters_of(const Inducing& inducing) {
  std::vector<Parameter> all;
  for (Index i = 0; inducing.learn && i < inducing.inputs.rows(); ++i)
    for (Index j = 0; j < inducing.inputs.cols(); ++j)
      all.push_back({input_name(i, j), inducing.inputs(i, j), true, ParameterScale::itself});
  return all;
}

Inducing with_parameters(const Inducing& inducing, const std::function<const double*(const std::string&)>& find) {
  if (!inducing.learn) return inducing;
  Inducing changed = inducing;
  Matrix inputs = inducing.inputs;
  for (Index i = 0; i < inputs.rows(); ++i)
    for (Index j = 0; j < inputs.cols(); ++j)
      if (const double* value = find(input_name(i, j))) inputs(i, j) = *value;
  changed.inputs = std::move(inputs);
  check_inputs(changed, changed.inputs.cols());
  return changed;
}

void put_input_gradient(const Matrix& gradient, ParameterGradient& out) {
  for (Index i = 0; i < gradient.rows(); ++i)
    for (Index j = 0; j < gradient.cols(); ++j) out[input_name(i, j)] = gradient(i, j);
}

const char* name_of(InducingChoice choice) { return choice == InducingChoice::active ? "active" : "random"; }

const Inducing* inducing_of(const Model& model) {
  const GaussianProcess* process = process_of(model.prior);
  return process != nullptr && process->inducing ? &*process->inducing : nullptr;
}

Index count_of(const Inducing& inducing, Index latents) {
  return inducing.sites.empty() ? inducing.inputs.rows() * latents : static_cast<Index>(inducing.sites.size());
}

void validate_inducing(const Model& model) {
  const Inducing* inducing = inducing_of(model);
  if (inducing == nullptr) return;
  if (!std::holds_alternative<GaussianProcess>(model.prior))
    refuse_model(fmt::format("prior.inducing: a prior of type {} takes none; only gp does", type_of(model.prior)));
  if (!model.design.is_identity())
    refuse_model(fmt::format("prior.inducing: the rows must be values of the process; a {} design is not accepted",
                             model.design.kind()));
  const GaussianProcess& process = *process_of(model.prior);
  if ((inducing->inputs.rows() > 0) == !inducing->sites.empty())
    refuse_model("prior.inducing: expected either inputs or sites, at least one of them");
  if (!(inducing->noise >= 0.0) || !std::isfinite(inducing->noise))
    refuse_model(fmt::format("prior.inducing.noise is {}; expected a variance, 0 or more", inducing->noise));
  if (inducing->learn) {
    if (!inducing->sites.empty())
      refuse_model("prior.inducing.learn: sites are rows of the data and stay where they are; give inputs");
    const auto check_smooth = [](const KernelHandle& kernel) {
      if (const std::string_view rough = kernel->without_input_gradient(); !rough.empty())
        refuse_model(
            fmt::format("prior.inducing.learn: kernel {} has no derivative in its inputs; leave learn out", rough));
    };
    if (model.latents.kernels.empty()) check_smooth(process.kernel);
    for (const KernelHandle& kernel : model.latents.kernels) check_smooth(kernel);
  }
  if (inducing->sites.empty())
    check_inputs(*inducing, process.inputs.cols());
  else
    check_sites(*inducing, process.inputs.rows(), model.latents.count);
}

}  // namespace gaussmith
