#include "io/problem_file_inducing.hpp"

#include "io/text.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace gaussmith {

namespace {

using SiteList = std::vector<std::pair<Index, Index>>;

SiteList read_sites(const JsonNode& list, Index rows, Index latents) {
  SiteList sites;
  std::map<std::pair<Index, Index>, std::size_t> seen;
  for (std::size_t i = 0; i < list.array_size(); ++i) {
    const JsonNode pair = list.element(i);
    if (pair.array_size() != 2) {
      pair.fail("expected a pair [row, latent]");
    }
    sites.emplace_back(pair.element(0).integer(0, rows - 1), pair.element(1).integer(0, latents - 1));
    const auto [before, fresh] = seen.emplace(sites.back(), i);
    if (!fresh) {
      pair.fail(fmt::format("row {}, latent {} is sites[{}] already; each may stand once", sites.back().first,
                            sites.back().second, before->second));
    }
  }
  if (sites.empty()) {
    list.fail("expected at least one pair [row, latent]");
  }
  return sites;
}

Matrix read_inputs(const JsonNode& node, Index columns) {
  if (node.array_size() == 0) {
    node.fail(fmt::format("expected at least one row of {} numbers", columns));
  }
  return node.matrix(columns);
}

InducingSelection read_selection(const JsonNode& node, Index rows, Index latents) {
  node.expect_fields({"count", "select", "block", "subset", "filter", "noise"});
  InducingSelection selection;
  const Index all = rows * latents;
  selection.count = node.at("count").integer(1, all);
  if (const auto select = node.find("select")) {
    const std::string name = select->text();
    if (name != name_of(InducingChoice::active) && name != name_of(InducingChoice::random)) {
      select->fail(fmt::format("found {}; accepted: active or random", in_quotes(name)));
    }
    selection.select = name == name_of(InducingChoice::active) ? InducingChoice::active : InducingChoice::random;
  }
  const auto read = [&](const char* field, Index& number) {
    if (const auto given = node.find(field)) {
      number = given->integer(1, max_declared_size);
    }
  };
  read("block", selection.block);
  read("subset", selection.subset);
  read("filter", selection.filter);
  return selection;
}

double read_noise(const JsonNode& node) {
  const auto noise = node.find("noise");
  if (!noise) {
    return 0.0;
  }
  const double value = noise->number();
  if (!(value >= 0.0)) {
    noise->fail(fmt::format("found {}; expected a variance, 0 or more", value));
  }
  return value;
}

}  // namespace

void read_inducing(const JsonNode& node, PriorFields& fields) {
  auto& process = std::get<GaussianProcess>(fields.prior);
  const Index rows = process.inputs.rows();
  const auto inputs = node.find("inputs");
  const auto sites = node.find("sites");
  const int kinds = (inputs ? 1 : 0) + (sites ? 1 : 0) + (node.has("count") ? 1 : 0);
  if (kinds != 1) {
    node.fail(R"(expected one of "inputs" (rows of numbers), "sites" (pairs [row, latent]) and "count")");
  }
  const double noise = read_noise(node);
  const auto learns = node.find("learn");
  const bool learn = learns && learns->boolean();
  if (node.has("count")) {
    fields.selection = read_selection(node, rows, fields.latents.count);
    fields.selection->noise = noise;
    return;
  }
  node.expect_fields({inputs ? "inputs" : "sites", "noise", "learn"});
  process.inducing.emplace();
  process.inducing->learn = learn;
  process.inducing->noise = noise;
  if (inputs) {
    process.inducing->inputs = read_inputs(*inputs, process.inputs.cols());
  } else {
    process.inducing->sites = read_sites(*sites, rows, fields.latents.count);
  }
}

nlohmann::ordered_json inducing_json(const Inducing& inducing) {
  nlohmann::ordered_json out;
  if (inducing.sites.empty()) {
    out["inputs"] = matrix_json(inducing.inputs);
  } else {
    out["sites"] = nlohmann::ordered_json::array();
    for (const auto& [row, latent] : inducing.sites) {
      out["sites"].push_back({row, latent});
    }
  }
  if (inducing.learn) {
    out["learn"] = true;
  }
  if (inducing.noise > 0.0) {
    out["noise"] = inducing.noise;
  }
  return out;
}

}  // namespace gaussmith
