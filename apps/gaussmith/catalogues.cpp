// The commands methods, likelihoods and kernels: what is available and what goes together.

#include "command.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

struct Listing {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  Json json;
};

/// Samplers take every likelihood.
bool samples(const std::string& method) { return is_sampler(make_method(method)); }

bool names(const LikelihoodInfo& likelihood, const std::string& method) {
  const auto& methods = likelihood.traits.methods;
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

/// Likelihoods of several latents name their methods. Otherwise asks the library itself: one site under a unit prior.
bool accepts(const std::string& method, const LikelihoodInfo& likelihood) {
  if (samples(method)) {
    return true;
  }
  if (!likelihood.traits.methods.empty()) {
    return names(likelihood, method);
  }
  SiteArguments arguments;
  for (const auto& argument : likelihood.arguments) {
    if (argument.required) {
      arguments[argument.name] = one(1.0);
    }
  }
  Model model;
  model.prior = Isotropic{.mean = Vector::Zero(1), .variance = 1.0};
  model.sites = {observe(likelihood.traits.name, one(placeholder_response(likelihood.traits.response)), arguments)};
  try {
    (void)infer(model, make_method(method));
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

std::string response_name(ResponseKind kind) {
  switch (kind) {
    case ResponseKind::sign:
      return "two classes";
    case ResponseKind::count:
      return "counts 0, 1, 2, ...";
    case ResponseKind::positive:
      return "positive numbers";
    case ResponseKind::label:
      return "classes";
    case ResponseKind::real:
      break;
  }
  return "numbers";
}

constexpr const char* latent_by_class = "one per class";

/// The numbers of latents a row that a method knows.
std::vector<std::string> latents_for(const MethodInfo& method) {
  const auto& catalogue = likelihood_catalogue();
  const auto any = [&](const auto& accepted) { return std::any_of(catalogue.begin(), catalogue.end(), accepted); };
  std::vector<std::string> latents;
  if (any([&](const LikelihoodInfo& info) { return info.traits.methods.empty() && accepts(method.name, info); })) {
    latents.emplace_back("1");
  }
  if (samples(method.name) || any([&](const LikelihoodInfo& info) { return names(info, method.name); })) {
    latents.emplace_back(latent_by_class);
  }
  return latents;
}

/// The method that fits networks, too, by options of their own.
constexpr std::string_view method_of_networks = "ep";
constexpr const char* network_priors = "--prior network and sparse-linear";

/// Names with defaults for the table, all there is to know for JSON.
void list_options(const std::vector<MethodOptionInfo>& all, std::vector<std::string>& options, Json& json) {
  for (const MethodOptionInfo& option : all) {
    options.push_back(fmt::format("{} = {}", option.name, option.default_value));
    json.push_back(
        {{"name", option.name}, {"default", option.default_value}, {"range", option.range}, {"help", option.help}});
  }
}

Listing list_methods() {
  Listing out{{"method", "evidence", "sites", "latents", "what it is", "options"}, {}, Json::array()};
  for (const MethodInfo& info : method_catalogue()) {
    std::vector<std::string> options;
    Json option_json = Json::array();
    list_options(info.options, options, option_json);
    std::string summary = info.summary;
    Json network_json = Json::array();
    if (info.name == method_of_networks) {
      summary += fmt::format("; also of networks ({})", network_priors);
      list_options(network_options(), options, network_json);
    }
    const std::vector<std::string> latents = latents_for(info);
    out.rows.push_back({info.name, info.evidence, info.sites, fmt::format("{}", fmt::join(latents, ", ")), summary,
                        fmt::format("{}", fmt::join(options, ", "))});
    out.json.push_back({{"name", info.name},
                        {"evidence_kind", info.evidence},
                        {"sites", info.sites},
                        {"latents", latents},
                        {"summary", info.summary},
                        {"options", option_json}});
    if (!network_json.empty()) {
      out.json.back()["network_options"] = network_json;
    }
  }
  return out;
}

/// Whether networks take a likelihood: gaussian, whose variance they integrate, or one without free parameters.
bool goes_with_networks(const LikelihoodInfo& likelihood) {
  return likelihood.traits.gaussian ||
         (likelihood.traits.response != ResponseKind::label &&
          std::none_of(likelihood.arguments.begin(), likelihood.arguments.end(),
                       [](const SiteArgumentInfo& argument) { return argument.learnable; }));
}

std::vector<std::string> shape_of(const SiteTraits& traits) {
  std::vector<std::string> shape;
  if (traits.gaussian) {
    shape.emplace_back("Gaussian");
  }
  if (traits.log_concave && !traits.gaussian) {
    shape.emplace_back("log-concave");
  }
  if (traits.super_gaussian && !traits.gaussian) {
    shape.emplace_back("super-Gaussian");
  }
  if (!traits.smooth) {
    shape.emplace_back("with a kink");
  }
  return shape;
}

std::vector<std::string> methods_for(const LikelihoodInfo& likelihood) {
  std::vector<std::string> methods;
  for (const MethodInfo& method : method_catalogue()) {
    if (accepts(method.name, likelihood)) {
      methods.push_back(method.name);
    }
  }
  return methods;
}

Listing list_likelihoods() {
  Listing out{{"likelihood", "response", "latents", "parameters", "shape", "methods", "what it is"}, {}, Json::array()};
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    std::vector<std::string> arguments;
    Json argument_json = Json::array();
    const bool labels = info.traits.response == ResponseKind::label;
    for (const auto& argument : info.arguments) {
      if (labels) {
        continue;  // The number of classes is that of the data.
      }
      arguments.push_back(argument.required ? argument.name
                                            : fmt::format("{} = {}", argument.name, argument.default_value));
      argument_json.push_back({{"name", argument.name},
                               {"required", argument.required},
                               {"default", argument.required ? Json() : Json(argument.default_value)},
                               {"learnable", argument.learnable},
                               {"help", argument.help}});
    }
    const std::vector<std::string> shape = shape_of(info.traits);
    const std::vector<std::string> methods = methods_for(info);
    out.rows.push_back({info.traits.name, response_name(info.traits.response), labels ? latent_by_class : "1",
                        fmt::format("{}", fmt::join(arguments, ", ")), fmt::format("{}", fmt::join(shape, ", ")),
                        fmt::format("{}{}", fmt::join(methods, ", "), goes_with_networks(info) ? "; networks" : ""),
                        info.formula});
    out.json.push_back({{"name", info.traits.name},
                        {"formula", info.formula},
                        {"summary", info.summary},
                        {"response", response_name(info.traits.response)},
                        {"latents", labels ? Json(latent_by_class) : Json(1)},
                        {"parameters", argument_json},
                        {"log_concave", info.traits.log_concave},
                        {"super_gaussian", info.traits.super_gaussian},
                        {"smooth", info.traits.smooth},
                        {"methods", methods},
                        {"networks", goes_with_networks(info)}});
  }
  return out;
}

Listing list_kernels() {
  Listing out{{"kernel", "formula", "parameters", "what it is"}, {}, Json::array()};
  for (const KernelInfo& info : kernel_catalogue()) {
    std::vector<std::string> arguments;
    Json argument_json = Json::array();
    bool ard = false;
    for (const auto& argument : info.arguments) {
      ard = ard || argument.per_dimension;
      arguments.push_back(fmt::format("{} = {}", argument.name, argument.default_value));
      argument_json.push_back({{"name", std::string(argument.name)},
                               {"default", argument.default_value},
                               {"per_feature", argument.per_dimension},
                               {"help", std::string(argument.help)}});
    }
    out.rows.push_back({std::string(info.name) + (ard ? ", " + std::string(info.name) + "-ard" : ""),
                        std::string(info.formula), fmt::format("{}", fmt::join(arguments, ", ")),
                        std::string(info.summary)});
    out.json.push_back({{"name", std::string(info.name)},
                        {"formula", std::string(info.formula)},
                        {"summary", std::string(info.summary)},
                        {"parameters", argument_json}});
  }
  return out;
}

/// Bytes that continue a UTF-8 character take no room on the screen.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string to_text(const Listing& listing) {
  std::string out;
  for (const auto& row : listing.rows) {
    out += row.front() + "\n";
    for (std::size_t j = 1; j < row.size(); ++j) {
      if (!row[j].empty()) {
        out += fmt::format("    {:<12}{}\n", listing.header[j], row[j]);
      }
    }
  }
  return out;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : std::string(1, c);
  }
  return out;
}

/// "se, se-ard" as `se`, `se-ard`.
std::string code_cell(const std::string& names) {
  std::string out = "`";
  for (const char c : names) {
    out += c == ',' ? "`," : c == ' ' ? " `" : std::string(1, c);
  }
  return out + "`";
}

std::string to_markdown(const Listing& listing) {
  std::vector<std::vector<std::string>> rows = {listing.header};
  for (const auto& row : listing.rows) {
    rows.emplace_back();
    for (std::size_t j = 0; j < row.size(); ++j) {
      rows.back().push_back(j == 0 ? code_cell(row[j]) : markdown_cell(row[j]));
    }
  }
  std::vector<std::size_t> widths(listing.header.size(), 3);
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      widths[j] = std::max(widths[j], width_of(row[j]));
    }
  }
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      out += (j == 0 ? "| " : " | ") + rows[i][j] + std::string(widths[j] - width_of(rows[i][j]), ' ');
    }
    out += " |\n";
    if (i == 0) {
      for (const std::size_t width : widths) {
        out += "| " + std::string(width, '-') + " ";
      }
      out += "|\n";
    }
  }
  return out;
}

Command add_catalogue(CLI::App& root, CommonOptions& common, const std::string& name, const std::string& help,
                      Listing (*list)()) {
  CLI::App* app = root.add_subcommand(name, help);
  auto markdown = std::make_shared<bool>(false);
  app->add_flag("--markdown", *markdown, "Print a Markdown table");
  add_common(*app, common, false);
  app->footer(fmt::format("Examples:\n  gaussmith {0}\n  gaussmith {0} --json", name));
  return {app, [=, &common] {
            const Listing listing = list();
            Outcome outcome;
            if (common.json) {
              Json out;
              out["format"] = "gaussmith-catalogue/1";
              out[name] = listing.json;
              outcome.output = out.dump(2) + "\n";
            } else {
              outcome.output = *markdown ? to_markdown(listing) : to_text(listing);
            }
            return outcome;
          }};
}

}  // namespace

Command add_methods(CLI::App& root, CommonOptions& common) {
  return add_catalogue(root, common, "methods", "List the inference methods", list_methods);
}

Command add_likelihoods(CLI::App& root, CommonOptions& common) {
  return add_catalogue(root, common, "likelihoods", "List the likelihoods and the methods that accept them",
                       list_likelihoods);
}

Command add_kernels(CLI::App& root, CommonOptions& common) {
  return add_catalogue(root, common, "kernels", "List the kernels; join them with + and *", list_kernels);
}

}  // namespace gaussmith::app
