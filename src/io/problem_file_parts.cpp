#include "io/problem_file_parts.hpp"

#include "gaussmith/operators.hpp"
#include "io/problem_file_inducing.hpp"
#include "io/problem_file_kernel.hpp"
#include "io/problem_file_latents.hpp"
#include "io/text.hpp"
#include "measurement/operator_entries.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gaussmith {

namespace {

Vector read_mean(const JsonNode& prior, Index dimension) {
  const auto mean = prior.find("mean");
  return mean ? mean->broadcast(dimension) : Vector::Zero(dimension);
}

/// A mean of several numbers is that of the functions where there are several.
Vector read_mean(const JsonNode& prior, Index dimension, const Latents& latents) {
  return latents.mean.size() > 0 ? Vector(Vector::Zero(dimension)) : read_mean(prior, dimension);
}

PriorFields read_isotropic(const JsonNode& node) {
  node.expect_fields(with_latent_fields({"type", "dim", "mean", "variance"}));
  const Index dimension = node.at("dim").integer(1, max_declared_size);
  const Latents latents = read_latents(node, -1);
  return {Isotropic{.mean = read_mean(node, dimension, latents), .variance = node.at("variance").number()}, latents};
}

PriorFields read_diagonal(const JsonNode& node) {
  node.expect_fields(with_latent_fields({"type", "mean", "variance"}));
  const Vector variance = node.at("variance").numbers();
  const Latents latents = read_latents(node, -1);
  return {Diagonal{.mean = read_mean(node, variance.size(), latents), .variance = variance}, latents};
}

DenseGaussian read_dense_prior(const JsonNode& node) {
  node.expect_fields({"type", "mean", "covariance"});
  const JsonNode covariance = node.at("covariance");
  const auto dimension = static_cast<Index>(covariance.array_size());
  return {.mean = read_mean(node, dimension), .covariance = covariance.matrix(dimension)};
}

Matrix read_inputs(const JsonNode& node) {
  Matrix inputs = node.at("inputs").matrix();
  if (inputs.rows() == 0 || inputs.cols() == 0) {
    node.at("inputs").fail("expected at least one row with at least one number");
  }
  return inputs;
}

/// The process as one function has it.
GaussianProcess read_process(const JsonNode& node) {
  node.expect_fields({"type", "inputs", "kernel", "mean"});
  GaussianProcess process;
  process.inputs = read_inputs(node);
  process.kernel = read_kernel(node.at("kernel"), process.inputs.cols());
  if (const auto mean = node.find("mean")) {
    process.mean = mean->number();
  }
  return process;
}

PriorFields read_functions(const JsonNode& node) {
  node.expect_fields(with_latent_fields({"type", "inputs", "kernel", "mean", "inducing"}));
  GaussianProcess process;
  process.inputs = read_inputs(node);
  const Latents latents = read_latents(node, process.inputs.cols());
  // Kernels of the functions stand in for the process's own, which must be there all the same.
  process.kernel =
      latents.kernels.empty() ? read_kernel(node.at("kernel"), process.inputs.cols()) : latents.kernels.front();
  if (const auto mean = node.find("mean"); mean && latents.mean.size() == 0) {
    process.mean = mean->number();
  }
  PriorFields fields{std::move(process), latents};
  if (const auto inducing = node.find("inducing")) {
    read_inducing(*inducing, fields);
  }
  return fields;
}

RandomEffects read_random_effects(const JsonNode& node) {
  node.expect_fields({"levels", "sd", "correlation"});
  RandomEffects term{.levels = node.at("levels").integer(1, max_declared_size),
                     .sd = node.at("sd").number_or_numbers()};
  if (const auto correlation = node.find("correlation")) {
    term.correlation = correlation->number();
  }
  return term;
}

SparsePrecision read_precision(const JsonNode& node) {
  node.expect_fields({"type", "mean", "precision"});
  const JsonNode matrix = node.at("precision");
  matrix.expect_fields({"shape", "triplets"});
  SparsePrecision prior;
  prior.precision = matrix.sparse();
  prior.mean = read_mean(node, prior.precision.rows());
  return prior;
}

constexpr std::array field_kinds = {FieldKind::rw1, FieldKind::rw2, FieldKind::besag};

/// The field of that type, nothing for another type.
std::optional<IntrinsicField> read_intrinsic(const JsonNode& node, const std::string& type) {
  const auto* kind = std::find_if(field_kinds.begin(), field_kinds.end(),
                                  [&](FieldKind each) { return type == type_of(IntrinsicField{each}); });
  if (kind == field_kinds.end()) {
    return {};
  }
  IntrinsicField prior;
  prior.kind = *kind;
  if (prior.kind == FieldKind::besag) {
    node.expect_fields({"type", "dim", "edges", "precision", "scaled", "scale"});
    const JsonNode edges = node.at("edges");
    for (std::size_t e = 0; e < edges.array_size(); ++e) {
      const JsonNode edge = edges.element(e);
      if (edge.array_size() != 2) {
        edge.fail("expected a pair of nodes [i, j]");
      }
      prior.edges.emplace_back(edge.element(0).integer(0, max_declared_size),
                               edge.element(1).integer(0, max_declared_size));
    }
  } else {
    node.expect_fields({"type", "dim", "precision", "locations", "cyclic", "scaled", "scale"});
    if (const auto locations = node.find("locations")) {
      prior.locations = locations->numbers();
    }
    if (const auto cyclic = node.find("cyclic")) {
      prior.cyclic = cyclic->boolean();
    }
  }
  prior.dimension = node.at("dim").integer(1, max_declared_size);
  prior.precision = node.at("precision").number();
  const auto factors = node.find("scale");
  if (factors) {
    prior.scale = factors->numbers();
  }
  if (const auto by_variance = node.find("scaled"); by_variance && by_variance->boolean()) {
    if (factors) {
      node.fail("scaled finds the factors that scale gives; keep one");
    }
    try {
      prior = scaled(std::move(prior));
    } catch (const InvalidModel& error) {
      node.fail(error.what());
    }
  }
  return prior;
}

MarkovField read_part(const JsonNode& node) {
  const std::string type = node.at("type").text();
  if (type == "precision") {
    return read_precision(node);
  }
  if (auto field = read_intrinsic(node, type)) {
    return std::move(*field);
  }
  node.at("type").fail(fmt::format("unknown field {}; accepted: rw1, rw2, besag or precision", in_quotes(type)));
}

Additive read_additive(const JsonNode& node) {
  node.expect_fields({"type", "fixed", "random", "fields", "process"});
  Additive prior;
  if (const auto fixed = node.find("fixed")) {
    fixed->expect_fields({"mean", "sd", "scaled", "scale"});
    prior.fixed.sd = fixed->at("sd").numbers();
    prior.fixed.mean = read_mean(*fixed, prior.fixed.sd.size());
    if (const auto scaled = fixed->find("scaled")) {
      for (std::size_t j = 0; j < scaled->array_size(); ++j) {
        prior.fixed.scaled.push_back(scaled->element(j).boolean());
      }
    }
    if (const auto scale = fixed->find("scale")) {
      prior.fixed.scale = scale->number();
    }
  }
  if (const auto random = node.find("random")) {
    for (std::size_t t = 0; t < random->array_size(); ++t) {
      prior.random.push_back(read_random_effects(random->element(t)));
    }
  }
  if (const auto fields = node.find("fields")) {
    for (std::size_t k = 0; k < fields->array_size(); ++k) {
      prior.fields.push_back(read_part(fields->element(k)));
    }
  }
  if (const auto process = node.find("process")) {
    prior.process = read_process(*process);
  }
  return prior;
}

void expect_columns(const JsonNode& node, Index found, Index dimension) {
  if (found != dimension) {
    node.fail(fmt::format("has {} columns, but the prior has dimension {}", found, dimension));
  }
}

}  // namespace

PriorFields read_prior(const JsonNode& node) {
  const std::string type = node.at("type").text();
  if (type == "isotropic") {
    return read_isotropic(node);
  }
  if (type == "diagonal") {
    return read_diagonal(node);
  }
  if (type == "dense") {
    return {read_dense_prior(node)};
  }
  if (type == "gp") {
    return read_functions(node);
  }
  if (type == "additive") {
    return {read_additive(node)};
  }
  if (type == "none") {
    node.expect_fields({"type", "dim"});
    return {NoGaussian{node.at("dim").integer(1, max_declared_size)}};
  }
  if (type == "precision") {
    return {read_precision(node)};
  }
  if (auto field = read_intrinsic(node, type)) {
    return {std::move(*field)};
  }
  const std::string accepted = "isotropic, diagonal, dense, precision, rw1, rw2, besag, gp, additive or none";
  node.at("type").fail(fmt::format("unknown prior {}; accepted: {}", in_quotes(type), accepted));
}

namespace {

/// Entries come from products with unit vectors: a second for this many pixels.
constexpr Index most_pixels = 1 << 14;
constexpr Index most_stacked_rows = 1 << 20;

/// Ready operators, as sparse rows: differences and wavelets of an image of as many pixels as there are weights.
std::optional<Design> read_image_rows(const JsonNode& node, const std::string& type, Index dimension) {
  if (type != "differences" && type != "wavelets") {
    return {};
  }
  const bool waves = type == "wavelets";
  node.expect_fields(waves ? std::vector<std::string>{"type", "height", "width", "levels"}
                           : std::vector<std::string>{"type", "height", "width"});
  const Grid grid{.height = node.has("height") ? node.at("height").integer(1, most_pixels) : 1,
                  .width = node.at("width").integer(1, most_pixels)};
  expect_columns(node, grid.size(), dimension);
  if (grid.size() > most_pixels) {
    node.fail(fmt::format("{} pixels; up to {} are accepted", grid.size(), most_pixels));
  }
  try {
    return with_few_entries(waves ? wavelets(grid, static_cast<int>(node.at("levels").integer(1, 30)))
                                  : finite_differences(grid));
  } catch (const InvalidModel& error) {
    node.fail(error.what());
  }
}

/// The rows of several designs, one below the other.
Design read_stacked(const JsonNode& node, Index dimension) {
  node.expect_fields({"type", "parts"});
  const JsonNode parts = node.at("parts");
  if (parts.array_size() == 0) {
    parts.fail("expected at least one design");
  }
  std::vector<Eigen::Triplet<double>> entries;
  Index rows = 0;
  for (std::size_t k = 0; k < parts.array_size(); ++k) {
    const Design part = read_design(parts.element(k), dimension).sized(dimension);
    if (rows + part.rows() > most_stacked_rows) {
      parts.fail(fmt::format("more than {} rows", most_stacked_rows));
    }
    const DesignEntries stored = part.entries();
    for (Index i = 0; i < part.rows(); ++i) {
      if (stored.identity) {
        entries.emplace_back(rows + i, i, 1.0);
      } else if (stored.dense != nullptr) {
        for (Index j = 0; j < dimension; ++j) {
          entries.emplace_back(rows + i, j, (*stored.dense)(i, j));
        }
      } else {
        for (SparseMatrix::InnerIterator entry(*stored.sparse, i); entry; ++entry) {
          entries.emplace_back(rows + i, entry.col(), entry.value());
        }
      }
    }
    rows += part.rows();
  }
  SparseMatrix out(rows, dimension);
  out.setFromTriplets(entries.begin(), entries.end());
  return {std::move(out)};
}

}  // namespace

Design read_design(const JsonNode& node, Index dimension) {
  const std::string type = node.at("type").text();
  if (auto image = read_image_rows(node, type, dimension)) {
    return std::move(*image);
  }
  if (type == "stacked") {
    return read_stacked(node, dimension);
  }
  if (type == "identity") {
    node.expect_fields({"type"});
    return Identity{};
  }
  if (type == "dense") {
    node.expect_fields({"type", "rows"});
    Matrix rows = node.at("rows").matrix();
    if (rows.rows() > 0) {
      expect_columns(node, rows.cols(), dimension);
    }
    return rows;
  }
  if (type == "sparse") {
    node.expect_fields({"type", "shape", "triplets"});
    SparseMatrix matrix = node.sparse();
    expect_columns(node, matrix.cols(), dimension);
    return matrix;
  }
  node.at("type").fail(fmt::format(
      "unknown design {}; accepted: identity, dense, sparse, differences, wavelets or stacked", in_quotes(type)));
}

const LikelihoodInfo& read_likelihood(const JsonNode& block) {
  const std::string type = block.at("type").text();
  if (const LikelihoodInfo* found = find_likelihood(type)) {
    return *found;
  }
  std::vector<std::string> names;
  for (const auto& info : likelihood_catalogue()) {
    names.push_back(info.traits.name);
  }
  block.at("type").fail(
      fmt::format("unknown likelihood {}{}; accepted: {}", in_quotes(type), suggestion(type, names), list_of(names)));
}

nlohmann::ordered_json vector_json(const Vector& values) {
  auto out = nlohmann::ordered_json::array();
  for (const double value : values) {
    out.push_back(value);
  }
  return out;
}

nlohmann::ordered_json matrix_json(const Matrix& matrix) {
  auto out = nlohmann::ordered_json::array();
  for (Index i = 0; i < matrix.rows(); ++i) {
    out.push_back(vector_json(matrix.row(i)));
  }
  return out;
}

namespace {

/// What the mean of all weights is; several functions add a number each.
double shared_mean(const Prior& prior) {
  if (const auto* process = std::get_if<GaussianProcess>(&prior)) {
    return process->mean;
  }
  const auto* isotropic = std::get_if<Isotropic>(&prior);
  const auto* diagonal = std::get_if<Diagonal>(&prior);
  if (isotropic == nullptr && diagonal == nullptr) {
    throw InvalidModel(fmt::format("a prior of type {} has one latent function", type_of(prior)));
  }
  const Vector& mean = isotropic != nullptr ? isotropic->mean : diagonal->mean;
  if ((mean.array() != mean(0)).any()) {
    throw InvalidModel("prior.mean: weights of several latents with different means cannot be written to a file");
  }
  return mean(0);
}

}  // namespace

nlohmann::ordered_json prior_json(const Prior& prior, const Latents& latents) {
  using Json = nlohmann::ordered_json;
  struct Write {
    Json operator()(const Isotropic& p) const {
      return {{"type", "isotropic"}, {"dim", p.mean.size()}, {"mean", vector_json(p.mean)}, {"variance", p.variance}};
    }
    Json operator()(const Diagonal& p) const {
      return {{"type", "diagonal"}, {"mean", vector_json(p.mean)}, {"variance", vector_json(p.variance)}};
    }
    Json operator()(const DenseGaussian& p) const {
      return {{"type", "dense"}, {"mean", vector_json(p.mean)}, {"covariance", matrix_json(p.covariance)}};
    }
    Json operator()(const GaussianProcess& p) const {
      Json out = {
          {"type", "gp"}, {"inputs", matrix_json(p.inputs)}, {"kernel", kernel_json(*p.kernel)}, {"mean", p.mean}};
      if (p.inducing) {
        out["inducing"] = inducing_json(*p.inducing);
      }
      return out;
    }
    Json operator()(const NoGaussian& p) const { return {{"type", "none"}, {"dim", p.dimension}}; }
    Json operator()(const Additive& p) const {
      Json out = {{"type", "additive"}};
      if (p.fixed.size() > 0) {
        out["fixed"] = {{"mean", vector_json(p.fixed.mean)}, {"sd", vector_json(p.fixed.sd)}};
        if (!p.fixed.scaled.empty()) {
          out["fixed"]["scaled"] = p.fixed.scaled;
          out["fixed"]["scale"] = p.fixed.scale;
        }
      }
      out["random"] = Json::array();
      for (const RandomEffects& term : p.random) {
        Json entry = {{"levels", term.levels}, {"sd", vector_json(term.sd)}};
        if (term.correlation) {
          entry["correlation"] = *term.correlation;
        }
        out["random"].push_back(std::move(entry));
      }
      if (!p.fields.empty()) {
        out["fields"] = Json::array();
        for (const MarkovField& field : p.fields) {
          out["fields"].push_back(std::visit(*this, field));
        }
      }
      if (p.process) {
        out["process"] = (*this)(*p.process);
      }
      return out;
    }
    Json operator()(const SparsePrecision& p) const {
      Json precision = design_json(p.precision);
      precision.erase("type");
      return {{"type", "precision"}, {"mean", vector_json(p.mean)}, {"precision", std::move(precision)}};
    }
    Json operator()(const IntrinsicField& p) const {
      Json out = {{"type", type_of(p)}, {"dim", p.dimension}, {"precision", p.precision}};
      if (p.kind == FieldKind::besag) {
        out["edges"] = Json::array();
        for (const auto& [i, j] : p.edges) {
          out["edges"].push_back({i, j});
        }
      }
      if (p.locations.size() > 0) {
        out["locations"] = vector_json(p.locations);
      }
      if (p.cyclic) {
        out["cyclic"] = true;
      }
      if (p.scale.size() > 0) {
        out["scale"] = vector_json(p.scale);
      }
      return out;
    }
  };
  Json out = std::visit(Write{}, prior);
  if (latents.count > 1) {
    put_latents(latents, shared_mean(prior), out);
  }
  return out;
}

nlohmann::ordered_json design_json(const Design& design) {
  nlohmann::ordered_json out;
  const DesignEntries stored = design.entries();
  if (!design.has_entries()) {
    throw InvalidModel("a design that only multiplies cannot be written to a file; give a dense or sparse one");
  }
  out["type"] = design.kind();
  if (stored.dense != nullptr) {
    out["rows"] = matrix_json(*stored.dense);
  } else if (stored.is_sparse()) {
    out["shape"] = {design.rows(), design.cols()};
    out["triplets"] = nlohmann::ordered_json::array();
    visit_sparse(stored, [&]<class Rows>(const Rows& rows) {
      for (Index i = 0; i < rows.outerSize(); ++i) {
        for (typename Rows::InnerIterator it(rows, i); it; ++it) {
          out["triplets"].push_back({it.row(), it.col(), static_cast<double>(it.value())});
        }
      }
    });
  }
  return out;
}

}  // namespace gaussmith
