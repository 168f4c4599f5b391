#include "base/input_file.hpp"
#include "gaussmith/files.hpp"
#include "io/json_reading.hpp"
#include "io/problem_file_latents.hpp"
#include "io/problem_file_network.hpp"
#include "io/problem_file_parts.hpp"
#include "io/text.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

namespace {

constexpr std::string_view problem_format = "gaussmith-problem/1";
constexpr std::size_t max_problem_bytes = std::size_t{1} << 30;

/// Runs a check of a lower layer and puts the path in front of its complaint.
template <class Action>
auto located(const JsonNode& node, Action&& action) {
  try {
    return action();
  } catch (const InvalidModel& error) {
    node.fail(error.what());
  }
}

/// Rows of a block whose y is an array or whose parameters are; -1 when everything is a single number.
Index written_rows(const JsonNode& block) {
  for (const auto& [key, value] : block.json().items()) {
    if (value.is_array()) {
      return static_cast<Index>(value.size());
    }
  }
  return -1;
}

bool is_of_labels(const LikelihoodInfo& info) { return info.traits.response == ResponseKind::label; }

/// The fields of a block besides type and y. The number of classes is that of the latents, which the prior says.
std::vector<SiteArgumentInfo> written_arguments(const LikelihoodInfo& info) {
  return is_of_labels(info) ? std::vector<SiteArgumentInfo>() : info.arguments;
}

/// Who reads sites: rows of a model with so many latents, or of a network, which does not know its noise variance.
struct SitesOf {
  Index latents = 1;
  bool network = false;
};

Sites read_block(const JsonNode& node, Index rows, const SitesOf& of) {
  const LikelihoodInfo& info = read_likelihood(node);
  SiteArguments arguments;
  if (is_of_labels(info)) {
    if (of.latents < 2) {
      node.fail(fmt::format("{} needs one latent function a class; prior.latents must say how many, 2 or more",
                            info.traits.name));
    }
    arguments["classes"] = one(static_cast<double>(of.latents));
  }
  for (const auto& argument : written_arguments(info)) {
    const auto given = node.find(argument.name);
    if (!given) {
      if (of.network && info.traits.gaussian) {
        arguments[argument.name] = one(argument.starting_value);
      }
      continue;
    }
    if (argument.kind == ArgumentKind::bound) {
      arguments[argument.name] = located(node, [&] { return one(PiecewiseBound::parse(given->text()).code()); });
      continue;
    }
    arguments[argument.name] = given->is_array() ? given->numbers(rows) : given->number_or_numbers();
  }
  const Vector responses = node.at("y").broadcast(rows);
  return located(node, [&] { return observe(info.traits.name, responses, arguments); });
}

std::vector<Sites> read_sites(const JsonNode& list, Index rows, const SitesOf& of) {
  const std::size_t count = list.array_size();
  if (count == 0) {
    list.fail("expected at least one block of sites");
  }
  std::vector<Index> sizes(count);
  Index written = 0;
  std::size_t open = count;
  for (std::size_t b = 0; b < count; ++b) {
    const JsonNode node = list.element(b);
    std::vector<std::string> fields = {"type", "y", "rows"};
    const LikelihoodInfo& info = read_likelihood(node);
    for (const auto& argument : written_arguments(info)) {
      fields.push_back(argument.name);
    }
    node.expect_fields(fields);
    if (is_of_labels(info) && count > 1) {
      node.fail(fmt::format("one block of {} covers all rows, found {} blocks", info.traits.name, count));
    }
    const JsonNode y = node.at("y");
    sizes[b] = y.is_array() ? static_cast<Index>(y.array_size()) : written_rows(node);
    if (const auto stated = node.find("rows")) {
      const Index size = stated->integer(1, max_declared_size);
      if (sizes[b] >= 0 && sizes[b] != size) {
        stated->fail(fmt::format("{}, but y or an argument of the block has {} numbers", size, sizes[b]));
      }
      sizes[b] = size;
    }
    if (sizes[b] >= 0) {
      written += sizes[b];
    } else if (open == count) {
      open = b;
    } else {
      node.fail(fmt::format(
          "its length is not known: sites[{}] has a single y as well; write y as an array, or give rows", open));
    }
  }
  if (open < count) {
    sizes[open] = std::max<Index>(rows - written, 0);
    written += sizes[open];
  }
  if (written != rows) {
    list.fail(fmt::format("the blocks cover {} rows, but {} {}; y must have one entry a row", written,
                          of.network ? "the inputs have" : "the design has", rows));
  }
  std::vector<Sites> sites;
  for (std::size_t b = 0; b < count; ++b) {
    const JsonNode node = list.element(b);
    if (sizes[b] == 0) {
      node.fail("the block has no rows");
    }
    sites.push_back(read_block(node, sizes[b], of));
  }
  return sites;
}

Index read_points(const JsonNode& node, const Model& model, PredictionPoints& points) {
  const auto* process = process_of(model.prior);
  const auto inputs = node.find("inputs");
  const auto design = node.find("design");
  const Index beside = weights_beside_process(model.prior);
  if (process != nullptr && beside > 0) {
    points.inputs = node.at("inputs").matrix(process->inputs.cols());
    points.design = read_design(node.at("design"), beside);
    return points.inputs.rows();
  }
  if (process != nullptr && (inputs || model.design.is_identity())) {
    if (design) {
      design->fail("a gp prior is predicted at inputs; give one of the two");
    }
    points.inputs = node.at("inputs").matrix(process->inputs.cols());
    return points.inputs.rows();
  }
  if (inputs) {
    inputs->fail("only a gp prior is predicted at inputs; give a design");
  }
  points.design = read_design(node.at("design"), model.dimension());
  return points.design->sized(model.dimension()).rows();
}

SiteArguments read_arguments(const JsonNode& node, const SiteBlock& block, Index rows) {
  SiteArguments arguments;
  const auto given = node.find("parameters");
  if (!given) {
    return arguments;
  }
  std::vector<std::string> names;
  for (const auto& parameter : block.parameters()) {
    if (block.width() == 1) {
      names.push_back(parameter.name);
    }
  }
  given->expect_fields(names);
  for (const auto& name : names) {
    if (const auto value = given->find(name)) {
      arguments[name] = value->broadcast(rows);
    }
  }
  return arguments;
}

/// A parameter written by row but the same in all rows holds for new rows, too; one written as a single number is the
/// model's, which may be learned. Censoring describes how an old response
/// was recorded and does not.
SiteArguments complete_arguments(const SiteBlock& block, SiteArguments given) {
  for (const auto& parameter : block.parameters()) {
    const SiteArgumentInfo* info = find_argument(block, parameter.name);
    const bool recording = info != nullptr && info->role == ArgumentRole::censoring;
    if (!recording && parameter.values.size() > 1 && (parameter.values.array() == parameter.values[0]).all()) {
      given.try_emplace(parameter.name, one(parameter.values[0]));
    }
  }
  return given;
}

/// Responses outside the likelihood's support are refused here, before any inference.
void check_responses(const JsonNode& y, const SiteBlock& block, const PredictionRequest& request) {
  SiteArguments arguments = request.points.arguments;
  for (const auto& parameter : block.parameters()) {
    if (arguments.contains(parameter.name) || parameter.values.size() == 1) {
      continue;
    }
    const SiteArgumentInfo* info = find_argument(block, parameter.name);
    if (info == nullptr || info->required) {
      y.fail(fmt::format("{} varies by row; predict.parameters must give it for the new rows", parameter.name));
    }
    arguments[parameter.name] = one(info->default_value);
  }
  located(y, [&] { return block.with(*request.responses, arguments); });
}

/// Everything but where to predict, at so many points.
void complete_request(const JsonNode& node, const std::vector<Sites>& all, Index rows, Index latents,
                      PredictionRequest& request) {
  if (const auto offset = node.find("offset")) {
    request.points.offset = read_offset(*offset, rows, latents);
  }
  const auto blocks = static_cast<Index>(all.size());
  const auto block = node.find("block");
  if (block) {
    request.points.block = static_cast<int>(block->integer(0, blocks - 1));
  } else if (blocks > 1) {
    for (const char* field : {"y", "parameters"}) {
      if (const auto given = node.find(field)) {
        given->fail(
            fmt::format("the model has {} blocks of sites; \"block\" must say whose likelihood is meant", blocks));
      }
    }
    request.latent_only = true;
  }
  const SiteBlock& sites = *all[static_cast<std::size_t>(request.points.block)];
  request.points.arguments = complete_arguments(sites, read_arguments(node, sites, rows));
  if (const auto y = node.find("y")) {
    request.responses = y->numbers(rows);
    check_responses(*y, sites, request);
  }
}

PredictionRequest read_prediction(const JsonNode& node, const Model& model) {
  node.expect_fields({"inputs", "design", "offset", "y", "parameters", "block"});
  PredictionRequest request;
  const Index rows = read_points(node, model, request.points);
  complete_request(node, model.sites, rows, model.latents.count, request);
  return request;
}

/// A network has rows of inputs and one block of sites.
Problem read_network_problem(const JsonNode& root) {
  Problem problem;
  NetworkModel& network = problem.network.emplace();
  const JsonNode prior = root.at("prior");
  read_network_prior(prior, network);
  if (const auto design = root.find("design")) {
    design->fail("a network sees its inputs alone; leave the design out");
  }
  if (const auto weights = root.find("weights")) {
    weights->fail("rows of a network have no weights");
  }
  const Index rows = network.inputs.rows();
  const std::vector<Sites> sites = read_sites(root.at("sites"), rows, {.network = true});
  if (sites.size() != 1) {
    root.at("sites").fail(fmt::format("expected one block, of all rows of the network, found {}", sites.size()));
  }
  network.sites = sites.front();
  if (const auto offset = root.find("offset")) {
    network.offset = read_offset(*offset, rows, 1);
  }
  located(root, [&] { network.validate(); });
  if (const auto predict = root.find("predict")) {
    predict->expect_fields({"inputs", "offset", "y", "parameters"});
    PredictionRequest& request = problem.prediction.emplace();
    request.points.inputs = predict->at("inputs").matrix(network.inputs.cols());
    complete_request(*predict, sites, request.points.inputs.rows(), 1, request);
  }
  return problem;
}

}  // namespace

Problem parse_problem(std::string_view text, std::string_view name) {
  const std::string file(name);
  const nlohmann::json document = parse_json(text, file);
  const JsonNode root(document, file);
  if (!document.is_object()) {
    root.fail("expected a JSON object");
  }
  const std::string format = root.at("format").text();
  if (format != problem_format) {
    root.at("format").fail(fmt::format("found {}, expected \"{}\"", in_quotes(format), problem_format));
  }
  root.expect_fields({"format", "prior", "design", "offset", "weights", "sites", "predict"});
  if (is_network_prior(root.at("prior"))) {
    return read_network_problem(root);
  }
  Problem problem;
  Model& model = problem.model;
  PriorFields prior = read_prior(root.at("prior"));
  model.prior = std::move(prior.prior);
  model.latents = std::move(prior.latents);
  problem.selection = prior.selection;
  const Index dimension = dimension_of(model.prior);
  if (dimension == 0) {
    root.at("prior").fail("has dimension 0; expected at least 1");
  }
  if (const auto design = root.find("design")) {
    model.design = read_design(*design, dimension);
  }
  const Index rows = model.rows();
  if (rows == 0) {
    root.at("design").fail("has no rows; expected at least one");
  }
  model.sites = read_sites(root.at("sites"), rows, {.latents = model.latents.count});
  if (const auto offset = root.find("offset")) {
    model.offset = read_offset(*offset, rows, model.latents.count);
  }
  if (const auto weights = root.find("weights")) {
    model.weights = weights->numbers(rows);
  }
  located(root, [&] { model.validate(); });
  if (const auto predict = root.find("predict")) {
    problem.prediction = read_prediction(*predict, model);
  }
  return problem;
}

Problem read_problem(const std::filesystem::path& path) {
  const std::string start = first_bytes(path, 1024);
  if (start.find('\0') != std::string::npos) {
    throw InvalidFile(path.string() + ": contains a NUL byte; a problem is JSON text");
  }
  return parse_problem(read_text_file(path, max_problem_bytes), path.string());
}

}  // namespace gaussmith
