#include "sites.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <utility>

namespace gaussmith::python {

namespace {

const char* name_of(ResponseKind kind) {
  switch (kind) {
    case ResponseKind::sign:
      return "sign";
    case ResponseKind::count:
      return "count";
    case ResponseKind::positive:
      return "positive";
    case ResponseKind::label:
      return "label";
    case ResponseKind::real:
      break;
  }
  return "real";
}

nb::dict traits_of(const SiteTraits& traits) {
  nb::dict out;
  out["name"] = traits.name;
  out["response"] = name_of(traits.response);
  out["log_concave"] = traits.log_concave;
  out["super_gaussian"] = traits.super_gaussian;
  out["smooth"] = traits.smooth;
  out["gaussian"] = traits.gaussian;
  out["methods"] = traits.methods;
  return out;
}

nb::dict arguments_of(const SiteBlock& sites) {
  nb::dict out;
  for (const SiteParameter& parameter : sites.parameters()) {
    if (parameter.values.size() == 1)
      out[parameter.name.c_str()] = parameter.values(0);
    else
      out[parameter.name.c_str()] = to_array(parameter.values);
  }
  return out;
}

}  // namespace

SiteArguments to_site_arguments(nb::handle given, const std::string& owner) {
  SiteArguments arguments;
  if (given.is_none()) return arguments;
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const auto name = nb::cast<std::string>(key);
    arguments[name] = to_vector(value, owner.empty() ? name : fmt::format("{}.{}", owner, name));
  }
  return arguments;
}

void bind_sites(nb::module_& m) {
  nb::class_<SiteBlock>(m, "Sites", "Responses under one likelihood: a block of the rows of a model.")
      .def_prop_ro("name", [](const SiteBlock& sites) { return sites.traits().name; })
      .def_prop_ro(
          "responses", [](const SiteBlock& sites) { return to_array(sites.responses()); }, nb::rv_policy::move,
          nb::sig("def responses(self) -> FloatArray"))
      .def_prop_ro("arguments", &arguments_of, nb::sig("def arguments(self) -> dict[str, typing.Any]"),
                   "Values of the likelihood's arguments: one number, or one a row.")
      .def_prop_ro(
          "traits", [](const SiteBlock& sites) { return traits_of(sites.traits()); },
          nb::sig("def traits(self) -> dict[str, typing.Any]"), "What the likelihood promises about log t.")
      .def_prop_ro("latents", &SiteBlock::width, "Latents of a row.")
      .def("__len__", &SiteBlock::size)
      .def("__repr__",
           [](const SiteBlock& sites) {
             std::string arguments;
             for (const SiteParameter& parameter : sites.parameters())
               arguments += parameter.values.size() == 1
                                ? fmt::format(", {}={}", parameter.name, parameter.values(0))
                                : fmt::format(", {}=<{} values>", parameter.name, parameter.values.size());
             return fmt::format("<Sites {}: {} rows{}>", sites.traits().name, sites.size(), arguments);
           })
      .def("__reduce__", [](const Sites& sites) {
        if (find_likelihood(sites->traits().name) == nullptr)
          throw InvalidModel(
              fmt::format("{}: a likelihood of one's own cannot be pickled with its sites", sites->traits().name));
        return nb::make_tuple(nb::module_::import_("gaussmith._pickles").attr("sites"),
                              nb::make_tuple(sites->traits().name, to_array(sites->responses()), arguments_of(*sites)));
      });

  m.def("_sites_from_state", [](const std::string& name, nb::handle y, nb::handle arguments) {
    return observe(name, to_vector(y, "y"), to_site_arguments(arguments, name));
  });
  m.def(
      "_observe",
      [](const std::string& likelihood, nb::handle y, const nb::kwargs& arguments) {
        return observe(likelihood, to_vector(y, "y"), to_site_arguments(arguments, likelihood));
      },
      "likelihood"_a, "y"_a, "arguments"_a,
      nb::sig("def _observe(likelihood: str, y: ArrayLike, /, **arguments: ArrayLike) -> Sites"));
  m.def(
      "likelihood_catalogue",
      [] {
        nb::list out;
        for (const LikelihoodInfo& info : likelihood_catalogue()) {
          nb::list arguments;
          for (const SiteArgumentInfo& argument : info.arguments) {
            nb::dict fields;
            fields["name"] = argument.name;
            fields["required"] = argument.required;
            fields["default"] = argument.required ? nb::none() : nb::object(nb::float_(argument.default_value));
            fields["learnable"] = argument.learnable;
            fields["by_row"] = argument.column.has_value();
            fields["help"] = argument.help;
            arguments.append(fields);
          }
          nb::dict fields = traits_of(info.traits);
          fields["formula"] = info.formula;
          fields["summary"] = info.summary;
          fields["arguments"] = arguments;
          out.append(fields);
        }
        return out;
      },
      nb::sig("def likelihood_catalogue() -> list[dict[str, typing.Any]]"), "What `observe` knows.");
  bind_custom(m);
}

}  // namespace gaussmith::python
