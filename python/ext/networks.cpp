// Networks and sparse linear models: their model, their method, what is found.

#include "gaussmith/network.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "methods.hpp"
#include "prediction.hpp"
#include "results.hpp"
#include "running.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

constexpr std::string_view option_prefix = "network.";

std::string keyword(const MethodOptionInfo& option) { return option.name.substr(option_prefix.size()); }

LogVariancePrior to_log_variance(nb::handle pair, const char* name) {
  const Vector two = to_vector(pair, name);
  if (two.size() != 2) throw InvalidModel(fmt::format("{}: expected (mean, sd), found {} numbers", name, two.size()));
  return {two(0), two(1)};
}

NetworkModel to_model(nb::handle inputs, const Sites& sites, const nb::dict& given) {
  NetworkModel model{.inputs = to_shared_matrix(inputs, "inputs"), .sites = sites};
  NetworkPrior& prior = model.prior;
  prior.units = nb::cast<int>(given["units"]);
  prior.weights = parse_weight_prior(nb::cast<std::string>(given["weights"]));
  for (const auto& [name, columns] : nb::cast<nb::dict>(given["groups"]))
    prior.groups.push_back({nb::cast<std::string>(name), to_indices(columns, "groups")});
  prior.linear = nb::cast<bool>(given["linear"]);
  prior.scale_prior = to_log_variance(given["scale_prior"], "scale_prior");
  prior.noise_prior = to_log_variance(given["noise_prior"], "noise_prior");
  prior.bias_sd = to_number(given["bias_sd"], "bias_sd");
  prior.intercept_sd = to_number(given["intercept_sd"], "intercept_sd");
  prior.output_scale = to_number(given["output_scale"], "output_scale");
  prior.output_degrees = to_number(given["output_degrees"], "output_degrees");
  model.offset = to_optional_vector(given["offset"], "offset");
  model.input_names = nb::cast<std::vector<std::string>>(given["input_names"]);
  model.standardize = nb::cast<bool>(given["standardize"]);
  model.validate();
  return model;
}

nb::object scale_pair(const std::optional<LogVariance>& scale) {
  return scale ? nb::object(nb::make_tuple(scale->mean, scale->sd)) : nb::object(nb::none());
}

nb::dict summary_fields(const NetworkSummary& summary) {
  nb::dict out;
  out["units"] = summary.units;
  out["units_kept"] = summary.units_kept;
  out["noise"] = scale_pair(summary.noise);
  nb::dict scales;
  for (const LogVariance& scale : summary.scales) scales[scale.name.c_str()] = nb::make_tuple(scale.mean, scale.sd);
  out["scales"] = scales;
  nb::list relevance;
  for (const InputRelevance& input : summary.relevance) {
    nb::dict fields;
    fields["input"] = input.input;
    fields["name"] = input.name;
    fields["share"] = input.share;
    fields["hidden_scale"] = scale_pair(input.hidden_scale);
    fields["linear_scale"] = scale_pair(input.linear_scale);
    fields["irrelevant"] = input.irrelevant;
    relevance.append(fields);
  }
  out["relevance"] = relevance;
  nb::list starts;
  for (const NetworkStartReport& start : summary.starts) {
    nb::dict fields;
    fields["log_evidence"] = start.log_evidence;
    fields["weight"] = start.weight;
    fields["residual"] = start.residual;
    fields["sweeps"] = start.sweeps;
    fields["units"] = start.units;
    fields["leave_one_out"] = start.leave_one_out;
    fields["status"] = std::string(to_string(start.status));
    starts.append(fields);
  }
  out["starts"] = starts;
  return out;
}

void bind_model_and_method(nb::module_& m) {
  nb::class_<NetworkModel>(m, "NetworkModel")
      .def("__init__", [](NetworkModel* self, nb::handle inputs, const Sites& sites,
                          const nb::dict& given) { new (self) NetworkModel(to_model(inputs, sites, given)); })
      .def_prop_ro("inputs", [](const NetworkModel& model) { return to_array(Matrix(*model.inputs)); })
      .def_prop_ro("sites", [](const NetworkModel& model) { return model.sites; })
      .def_prop_ro("rows", [](const NetworkModel& model) { return model.inputs.rows(); })
      .def_prop_ro("units", [](const NetworkModel& model) { return model.prior.units; })
      .def_prop_ro("weights", [](const NetworkModel& model) { return std::string(to_string(model.prior.weights)); })
      .def_prop_ro("input_names", [](const NetworkModel& model) { return model.input_names; })
      .def("__repr__", [](const NetworkModel& model) {
        return fmt::format(
            "<NetworkModel: {} rows, {} inputs, {}, weights {}, {}>", model.inputs.rows(), model.inputs.cols(),
            model.prior.units > 0 ? fmt::format("{} hidden units", model.prior.units) : std::string("sparse linear"),
            to_string(model.prior.weights), model.sites->traits().name);
      });

  nb::class_<NetworkEp>(m, "NetworkEp", "Expectation propagation of networks and sparse linear models.")
      .def(
          "__init__",
          [](NetworkEp* self, const nb::kwargs& given) {
            std::map<std::string, std::string, std::less<>> options;
            for (const auto& [key, value] : given) {
              const std::string name = fmt::format("{}{}", option_prefix, nb::cast<std::string>(key));
              options[name] = option_text(value, name);
            }
            new (self) NetworkEp(make_network_ep(options));
          },
          nb::sig("def __init__(self, **options: typing.Any) -> None"))
      .def_prop_ro("name", [](const NetworkEp& /*method*/) { return "ep"; })
      .def_prop_ro(
          "options",
          [](const NetworkEp& method) {
            nb::dict out;
            const auto texts = options_of(method);
            for (std::size_t i = 0; i < texts.size(); ++i) {
              const MethodOptionInfo& option = network_options()[i];
              out[keyword(option).c_str()] = to_python(option, texts[i].second);
            }
            return out;
          },
          nb::sig("def options(self) -> dict[str, typing.Any]"))
      .def("__eq__",
           [](const NetworkEp& method, nb::handle other) {
             const NetworkEp* that = nullptr;
             return nb::try_cast(other, that, false) && options_of(method) == options_of(*that);
           })
      .def("__hash__",
           [](const NetworkEp& method) { return nb::hash(nb::cast(fmt::format("{}", options_of(method)))); })
      .def("__reduce__",
           [](const NetworkEp& method) {
             std::map<std::string, std::string, std::less<>> options;
             for (const auto& [name, text] : options_of(method, true))
               options[name.substr(option_prefix.size())] = text;
             return nb::make_tuple(nb::module_::import_("gaussmith._pickles").attr("network_ep"),
                                   nb::make_tuple(options));
           })
      .def("__repr__", [](const NetworkEp& method) {
        std::vector<std::string> options;
        for (const auto& [name, text] : options_of(method, true))
          options.push_back(fmt::format("{}={}", name.substr(option_prefix.size()),
                                        name == "network.start" ? "'" + text + "'" : text));
        return fmt::format("NetworkEp({})", fmt::join(options, ", "));
      });
  m.def(
      "network_options",
      [] {
        nb::list out;
        for (const MethodOptionInfo& option : network_options()) {
          nb::dict fields;
          fields["name"] = option.name;
          fields["default"] = option.default_value;
          fields["range"] = option.range;
          fields["help"] = option.help;
          out.append(fields);
        }
        return out;
      },
      nb::sig("def network_options() -> list[dict[str, typing.Any]]"));
}

}  // namespace

void bind_networks(nb::module_& m) {
  bind_model_and_method(m);
  nb::class_<NetworkPosterior>(m, "NetworkPosterior")
      .def_prop_ro("model", [](const NetworkPosterior& p) { return p.model(); })
      .def_prop_ro("method", [](const NetworkPosterior& p) { return p.method(); })
      .def("report", [](const NetworkPosterior& p) { return report_fields(p.report()); })
      .def("log_evidence", [](const NetworkPosterior& p) { return evidence_fields(p.log_evidence()); })
      .def("latent", [](const NetworkPosterior& p) { return moments(p.latent(), 1); })
      .def("leave_one_out", [](const NetworkPosterior& p) { return left_out_fields(p.leave_one_out(), 1); })
      .def("summary", [](const NetworkPosterior& p) { return summary_fields(p.summary()); })
      .def("coefficients",
           [](const NetworkPosterior& p, double level) {
             return coefficient_list(unlocked([&] { return coefficients(p, level); }));
           })
      .def(
          "predict",
          [](const NetworkPosterior& p, nb::handle inputs, nb::handle offset, nb::handle arguments) {
            PredictionPoints points = to_points(inputs, nb::none(), offset, nb::none(), 0, arguments);
            return heard(nb::find(p), [&p, points = std::move(points)](const Run&) { return p.predict(points); });
          },
          "inputs"_a, "offset"_a.none(), "arguments"_a);

  m.def(
      "infer_network",
      [](const NetworkModel& model, const NetworkEp& method, int threads, std::uint64_t seed, const std::string& form,
         nb::object progress) {
        const Running running = to_running(threads, seed, form, true, std::move(progress));
        return run_for<NetworkPosterior>([model, method](const Run& asked) { return infer(model, method, asked); },
                                         running);
      },
      "model"_a, "method"_a, "threads"_a, "seed"_a, "form"_a, "progress"_a.none());
}

}  // namespace gaussmith::python
