#include "prediction.hpp"

#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "running.hpp"
#include "sites.hpp"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

Vector responses_for(const Prediction& prediction, nb::handle y) {
  Vector given = to_vector(y, "y");
  if (given.size() != prediction.points())
    throw InvalidModel(fmt::format("y: expected {} numbers, one a point, found {}", prediction.points(), given.size()));
  return given;
}

}  // namespace

PredictionPoints to_points(nb::handle inputs, nb::handle design, nb::handle offset, nb::handle variance, int block,
                           nb::handle arguments) {
  PredictionPoints points;
  if (!inputs.is_none()) points.inputs = to_matrix(inputs, "inputs");
  if (!design.is_none()) points.design = to_design(design, "design");
  points.offset = to_row_values(offset, "offset");
  points.variance = to_row_values(variance, "variance");
  points.block = block;
  points.arguments = to_site_arguments(arguments, "");
  return points;
}

ProbabilityGoal to_goal(const std::string& rule, double tolerance, std::uint64_t seed, int threads) {
  ProbabilityGoal goal{.tolerance = tolerance, .seed = seed, .threads = threads};
  if (rule == "quadrature")
    goal.rule = ProbabilityRule::quadrature;
  else if (rule == "qmc")
    goal.rule = ProbabilityRule::qmc;
  else if (rule != "auto")
    throw InvalidOption(fmt::format("probability: expected auto, quadrature or qmc, found \"{}\"", rule));
  if (!(tolerance > 0.0 && tolerance < 1.0))
    throw InvalidOption(fmt::format("tolerance: expected a number between 0 and 1, found {}", tolerance));
  return goal;
}

void bind_prediction(nb::module_& m) {
  nb::class_<Prediction>(m, "Prediction")
      .def_prop_ro("points", &Prediction::points)
      .def_prop_ro("latents", &Prediction::latents)
      .def_prop_ro("has_response", &Prediction::has_response)
      .def_prop_ro("missing", &Prediction::missing)
      .def_prop_ro("likelihood", &Prediction::likelihood)
      .def("latent_mean", [](const Prediction& p) { return to_array(p.latent_mean(), p.latents()); })
      .def("latent_variance", [](const Prediction& p) { return to_array(p.latent_variance(), p.latents()); })
      .def("latent_covariance", [](const Prediction& p) { return to_blocks(p.latent_covariance(), p.latents()); })
      .def("response_mean",
           [](const Prediction& p) {
             return to_array(heard(nb::find(p), [&p](const Run&) { return p.response_mean(); }));
           })
      .def("response_variance",
           [](const Prediction& p) {
             return to_array(heard(nb::find(p), [&p](const Run&) { return p.response_variance(); }));
           })
      .def("response_probability",
           [](const Prediction& p) {
             return to_array(heard(nb::find(p), [&p](const Run&) { return p.response_probability(); }));
           })
      .def("response_quantile",
           [](const Prediction& p, double level) {
             return to_array(heard(nb::find(p), [&p, level](const Run&) { return p.response_quantile(level); }));
           })
      .def("response_cdf",
           [](const Prediction& p, nb::handle y) {
             const Vector given = responses_for(p, y);
             return to_array(heard(nb::find(p), [&p, given](const Run&) { return p.response_cdf(given); }));
           })
      .def("log_density",
           [](const Prediction& p, nb::handle y) {
             const Vector given = responses_for(p, y);
             return to_array(heard(nb::find(p), [&p, given](const Run&) { return p.log_density(given); }));
           })
      .def("response_samples",
           [](const Prediction& p, int draws, std::uint64_t seed) {
             if (draws < 1) throw InvalidOption(fmt::format("draws: expected 1 or more, found {}", draws));
             return to_array(
                 heard(nb::find(p), [&p, draws, seed](const Run&) { return p.response_samples(draws, seed); }));
           })
      .def("class_probabilities",
           [](const Prediction& p, const std::string& rule, double tolerance, std::uint64_t seed, int threads) {
             const ProbabilityGoal goal = to_goal(rule, tolerance, seed, threads);
             ClassProbabilities made =
                 heard(nb::find(p), [&p, goal](const Run&) { return p.class_probabilities(goal); });
             return nb::make_tuple(to_array(std::move(made.probability)), to_array(std::move(made.error)));
           })
      .def("class_log_density_lower",
           [](const Prediction& p) {
             return to_array(heard(nb::find(p), [&p](const Run&) { return p.class_log_density_lower(); }));
           })
      .def("class_probabilities_at_mean",
           [](const Prediction& p) {
             return to_array(heard(nb::find(p), [&p](const Run&) { return p.class_probabilities_at_mean(); }));
           })
      .def("interval", [](const Prediction& p, double level) {
        const std::vector<Column> columns =
            heard(nb::find(p), [&p, level](const Run&) { return interval_columns(p, level); });
        nb::dict out;
        for (const Column& column : columns) out[column.name.c_str()] = to_array(column.numbers);
        return out;
      });
}

}  // namespace gaussmith::python
