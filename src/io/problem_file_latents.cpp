#include "io/problem_file_latents.hpp"

#include "io/problem_file_kernel.hpp"
#include "io/problem_file_parts.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <array>

namespace gaussmith {

namespace {

/// The models that a file can name; a matrix stands for itself.
constexpr std::array named_models = {LatentModel::identity, LatentModel::diagonal, LatentModel::centred_diagonal,
                                     LatentModel::centred, LatentModel::full};

LatentModel read_model(const JsonNode& node) {
  const std::string name = node.text();
  std::vector<std::string> names;
  for (const LatentModel model : named_models) {
    if (name == name_of(model)) {
      return model;
    }
    names.emplace_back(name_of(model));
  }
  node.fail(fmt::format("unknown model {}{}; accepted: {}", in_quotes(name), suggestion(name, names), list_of(names)));
}

/// C rows of C numbers; of a lower triangle shorter rows will do.
Matrix read_square(const JsonNode& node, Index size, bool lower) {
  if (static_cast<Index>(node.array_size()) != size) {
    node.fail(
        fmt::format("expected {0} rows of {0} numbers, one for each latent, found {1} rows", size, node.array_size()));
  }
  Matrix out = Matrix::Zero(size, size);
  for (Index i = 0; i < size; ++i) {
    const JsonNode row = node.element(static_cast<std::size_t>(i));
    const bool short_row = lower && row.is_array() && static_cast<Index>(row.array_size()) == i + 1;
    out.row(i).head(short_row ? i + 1 : size) = row.numbers(short_row ? i + 1 : size).transpose();
  }
  return out;
}

void read_covariance(const JsonNode& node, Latents& latents) {
  if (node.is_array()) {
    latents.model = LatentModel::given;
    latents.factor = read_square(node, latents.count, false);
    return;
  }
  if (!node.json().is_object()) {
    if (!node.json().is_string() || node.text() != "identity") {
      node.fail(
          "expected \"identity\", rows of numbers, or {\"model\": ...} with identity, diagonal, centred-diagonal, "
          "centred or full");
    }
    return;
  }
  latents.model = read_model(node.at("model"));
  switch (latents.model) {
    case LatentModel::diagonal:
    case LatentModel::centred_diagonal:
      node.expect_fields({"model", "weight"});
      if (const auto weight = node.find("weight")) {
        latents.weight = weight->numbers(latents.count);
      }
      break;
    case LatentModel::centred:
    case LatentModel::full:
      node.expect_fields({"model", "factor"});
      if (const auto factor = node.find("factor")) {
        latents.factor = read_square(*factor, latents.count, true);
      }
      break;
    case LatentModel::identity:
    case LatentModel::given:
      node.expect_fields({"model"});
      break;
  }
}

void read_kernels(const JsonNode& prior, const JsonNode& list, Index inputs, Latents& latents) {
  if (inputs < 0) {
    list.fail("only a gp prior has kernels");
  }
  for (const char* other : {"kernel", "latent_covariance"}) {
    if (prior.has(other)) {
      list.fail(fmt::format("functions with kernels of their own are independent; leave {} out", other));
    }
  }
  if (static_cast<Index>(list.array_size()) != latents.count) {
    list.fail(fmt::format("expected {} kernels, one for each latent, found {}", latents.count, list.array_size()));
  }
  for (std::size_t c = 0; c < list.array_size(); ++c) {
    latents.kernels.push_back(read_kernel(list.element(c), inputs));
  }
}

}  // namespace

std::vector<std::string> with_latent_fields(std::vector<std::string> fields) {
  fields.insert(fields.end(), {"latents", "latent_covariance", "kernels"});
  return fields;
}

Latents read_latents(const JsonNode& prior, Index inputs) {
  Latents latents;
  if (const auto count = prior.find("latents")) {
    latents.count = count->integer(1, max_latents);
  }
  const auto covariance = prior.find("latent_covariance");
  const auto kernels = prior.find("kernels");
  if (latents.count == 1) {
    const bool identity = covariance && covariance->json() == "identity";
    if (kernels || (covariance && !identity)) {
      (kernels ? *kernels : *covariance)
          .fail("relates several latent functions; prior.latents must say how many, 2 or more");
    }
    return latents;
  }
  if (kernels) {
    read_kernels(prior, *kernels, inputs, latents);
  }
  if (covariance) {
    read_covariance(*covariance, latents);
  }
  if (const auto mean = prior.find("mean"); mean && mean->is_array()) {
    latents.mean = mean->numbers(latents.count);
  }
  return latents;
}

void put_latents(const Latents& latents, double mean, nlohmann::ordered_json& prior) {
  using Json = nlohmann::ordered_json;
  prior["latents"] = latents.count;
  if (latents.mean.size() > 0) {
    prior["mean"] = vector_json(latents.mean.array() + mean);
  } else {
    prior["mean"] = mean;
  }
  if (!latents.kernels.empty()) {
    prior.erase("kernel");
    prior["kernels"] = Json::array();
    for (const KernelHandle& kernel : latents.kernels) {
      prior["kernels"].push_back(kernel_json(*kernel));
    }
    return;
  }
  if (latents.model == LatentModel::given) {
    prior["latent_covariance"] = matrix_json(latents.factor);
    return;
  }
  Json covariance = {{"model", name_of(latents.model)}};
  if (latents.weight.size() > 0) {
    covariance["weight"] = vector_json(latents.weight);
  }
  if (latents.factor.size() > 0) {
    covariance["factor"] = matrix_json(latents.factor.triangularView<Eigen::Lower>());
  }
  prior["latent_covariance"] = std::move(covariance);
}

Vector read_offset(const JsonNode& node, Index rows, Index latents) {
  const bool by_latent = latents > 1 && node.is_array() && node.array_size() > 0 && node.element(0).is_array();
  if (!by_latent) {
    const Vector by_row = node.broadcast(rows);
    Vector out(rows * latents);
    for (Index n = 0; n < rows; ++n) {
      out.segment(n * latents, latents).setConstant(by_row(n));
    }
    return out;
  }
  if (static_cast<Index>(node.array_size()) != rows) {
    node.fail(fmt::format("expected {} rows of {} numbers, found {} rows", rows, latents, node.array_size()));
  }
  const Matrix by_function = node.matrix(latents).transpose();
  return by_function.reshaped();
}

}  // namespace gaussmith
