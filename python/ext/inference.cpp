#include "gaussmith/infer.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/class_bounds.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "gaussmith/integrate.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/starts.hpp"
#include "methods.hpp"
#include "prediction.hpp"
#include "results.hpp"
#include "running.hpp"
#include "spelling.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

nb::object optional_number(const std::optional<double>& value) {
  return value ? nb::object(nb::float_(*value)) : nb::object(nb::none());
}

nb::dict learned_fields(const LearnReport& report) {
  nb::dict out;
  out["status"] = std::string(to_string(report.status));
  out["message"] = in_python(report.message);
  out["warnings"] = in_python(report.warnings);
  out["evaluations"] = report.evaluations;
  out["curvature_evaluations"] = report.curvature_evaluations;
  out["failed_evaluations"] = report.failed_evaluations;
  out["failures"] = in_python(report.failures);
  out["initial_objective"] = report.initial_objective;
  out["objective"] = report.objective;
  out["log_hyperprior"] = report.log_hyperprior;
  out["residual"] = report.residual;
  out["best_start"] = report.best_start;
  out["start_objectives"] = report.start_objectives;
  nb::list parameters;
  for (const LearnedParameter& parameter : report.parameters) {
    nb::dict fields;
    fields["name"] = parameter.name;
    fields["initial"] = parameter.initial;
    fields["value"] = parameter.value;
    fields["gradient"] = parameter.gradient;
    fields["fixed"] = parameter.fixed;
    fields["at_bound"] = parameter.at_bound;
    fields["standard_error"] = optional_number(parameter.standard_error);
    fields["hyperprior"] = parameter.hyperprior
                               ? nb::object(nb::make_tuple(parameter.hyperprior->median, parameter.hyperprior->sd))
                               : nb::object(nb::none());
    parameters.append(fields);
  }
  out["parameters"] = parameters;
  out["hessian_parameters"] = report.hessian_parameters;
  out["hessian"] = to_array(report.hessian);
  return out;
}

nb::dict integration_fields(const Integrated& integrated) {
  const IntegrationReport& report = integrated.report;
  nb::dict out;
  out["status"] = std::string(to_string(report.status));
  out["message"] = in_python(report.message);
  out["warnings"] = in_python(report.warnings);
  out["fits"] = report.fits;
  out["failed"] = report.failed;
  out["cut_off"] = report.cut_off;
  out["effective"] = report.effective;
  out["proper"] = report.proper;
  out["log_evidence"] = integrated.log_evidence;
  nb::list points;
  Vector weights(static_cast<Index>(integrated.points.size()));
  for (std::size_t k = 0; k < integrated.points.size(); ++k) {
    nb::dict values;
    for (const auto& [name, value] : integrated.points[k].gaussian.parameters) values[name.c_str()] = value;
    points.append(values);
    weights(static_cast<Index>(k)) = integrated.points[k].gaussian.weight;
  }
  out["points"] = points;
  out["weights"] = to_array(std::move(weights));
  nb::list parameters;
  for (const IntegratedParameter& parameter : integrated.parameters) {
    nb::dict fields;
    fields["name"] = parameter.name;
    fields["mean"] = parameter.mean;
    fields["sd"] = parameter.sd;
    fields["lower"] = parameter.lower;
    fields["upper"] = parameter.upper;
    fields["identified"] = parameter.identified;
    parameters.append(fields);
  }
  out["parameters"] = parameters;
  return out;
}

Bounds to_bounds(nb::handle pair, const std::string& name) {
  const Vector two = to_vector(pair, name);
  if (two.size() != 2)
    throw InvalidOption(fmt::format("{}: expected (lower, upper), found {} numbers", name, two.size()));
  return {two(0), two(1)};
}

InducingSelection to_selection(Index count, const std::string& select) {
  if (count < 1) throw InvalidOption(fmt::format("inducing: expected a number of inputs, 1 or more, found {}", count));
  for (const InducingChoice choice : {InducingChoice::active, InducingChoice::random})
    if (name_of(choice) == select) return {.count = count, .select = choice};
  throw InvalidOption(fmt::format("inducing_select: expected active or random, found \"{}\"", select));
}

IntegrationDesign to_integration_design(const std::string& name) {
  if (name == "auto") return IntegrationDesign::automatic;
  if (name == "grid") return IntegrationDesign::grid;
  if (name == "composite") return IntegrationDesign::composite;
  throw InvalidOption(fmt::format("design: expected auto, grid or composite, found \"{}\"", name));
}

}  // namespace

nb::dict report_fields(const Report& report) {
  nb::dict out;
  out["status"] = std::string(to_string(report.status));
  out["message"] = in_python(report.message);
  out["iterations"] = report.iterations;
  out["residual"] = report.residual;
  out["tolerance"] = report.tolerance;
  out["mean_error"] = report.mean_error;
  out["variance_error"] = report.variance_error;
  out["latent_estimate_error"] = report.latent_estimate_error;
  out["weights_estimate_error"] = report.weights_estimate_error;
  out["duality_gap"] = optional_number(report.duality_gap);
  nb::list gaps;
  for (const RowGap& row : report.duality_gap_rows) gaps.append(nb::make_tuple(row.row, row.gap));
  out["duality_gap_rows"] = gaps;
  nb::object diagnostics = nb::none();
  if (report.diagnostics) {
    nb::dict fields;
    fields["rhat"] = optional_number(report.diagnostics->rhat);
    fields["bulk_ess"] = optional_number(report.diagnostics->bulk_ess);
    fields["tail_ess"] = optional_number(report.diagnostics->tail_ess);
    fields["pareto_k"] = optional_number(report.diagnostics->pareto_k);
    diagnostics = fields;
  }
  out["diagnostics"] = diagnostics;
  out["core"] = report.core;
  out["jittered"] = report.jittered;
  out["clipped"] = report.clipped;
  out["skipped"] = report.skipped;
  out["negative_precisions"] = report.negative_precisions;
  out["local_optimum"] = report.local_optimum;
  out["substituted"] = report.substituted;
  out["seconds"] = report.seconds;
  out["notes"] = in_python(report.notes);
  out["warnings"] = in_python(report.warnings);
  out["brief"] = in_python(report.brief());
  nb::list history;
  for (const Iteration& step : report.history)
    history.append(nb::make_tuple(step.number, step.objective, step.residual, std::string(step.step),
                                  optional_number(step.duality_gap)));
  out["history"] = history;
  return out;
}

nb::tuple moments(const Marginals& marginals, Index latents) {
  return nb::make_tuple(to_array(marginals.mean, latents), to_array(marginals.variance, latents));
}

nb::dict left_out_fields(const LeaveOneOut& left_out, Index latents) {
  nb::dict out;
  out["mean"] = to_array(left_out.latent.mean, latents);
  out["variance"] = to_array(left_out.latent.variance, latents);
  out["log_density"] = to_array(left_out.log_density);
  return out;
}

nb::dict evidence_fields(const Evidence& evidence) {
  nb::dict out;
  out["value"] = evidence.value;
  out["kind"] = std::string(to_string(evidence.kind));
  out["standard_error"] = optional_number(evidence.standard_error);
  out["numerical_error"] = evidence.numerical_error;
  return out;
}

/// The model that learn() is given: hyperpriors are around the values that it has, not around what was learned.
LearnOptions to_learn_options(const Model& model, const nb::dict& given) {
  LearnOptions options;
  for (const nb::handle name : given["fixed"])
    for (const std::string& full : full_names(model, nb::cast<std::string>(name))) options.fixed.insert(full);
  for (const auto& [key, pair] : nb::cast<nb::dict>(given["bounds"])) {
    const auto name = nb::cast<std::string>(key);
    for (const std::string& full : full_names(model, name)) options.bounds[full] = to_bounds(pair, "bounds of " + name);
  }
  if (nb::isinstance<nb::str>(given["hyperpriors"])) {
    const auto kind = nb::cast<std::string>(given["hyperpriors"]);
    if (kind != "weak")
      throw InvalidOption(fmt::format("hyperpriors: expected \"weak\" or a mapping, found \"{}\"", kind));
    options.hyperpriors = weak_hyperpriors(model);
  } else {
    for (const auto& [key, pair] : nb::cast<nb::dict>(given["hyperpriors"])) {
      const auto name = nb::cast<std::string>(key);
      const Bounds shape = to_bounds(pair, "hyperprior of " + name);
      for (const std::string& full : full_names(model, name)) options.hyperpriors[full] = {shape.lower, shape.upper};
    }
  }
  options.max_evaluations = to_count(given["max_evaluations"], "max_evaluations", 1);
  options.tolerance = to_number(given["tolerance"], "tolerance");
  options.restarts = to_count(given["restarts"], "restarts", 0);
  options.restart_spread = to_number(given["restart_spread"], "restart_spread");
  options.warm_start = nb::cast<bool>(given["warm_start"]);
  if (!given["standard_errors"].is_none())
    options.standard_errors = nb::cast<bool>(nb::bool_(given["standard_errors"]));
  return options;
}

namespace {

/// The start of a table's model keeps to the bounds but where the caller has set it; any other is the caller's own.
Model to_start(const Model& model, const LearnOptions& options, const nb::dict& given) {
  if (given["set"].is_none()) return model;
  return started_inside(model, options, nb::cast<std::vector<std::string>>(given["set"]));
}

/// Where learning leaves its best point so far.
std::shared_ptr<Kept<Learned>> keep_best(LearnOptions& options) {
  auto kept = std::make_shared<Kept<Learned>>();
  options.keep = [kept](const Learned& learned) { kept->put(learned); };
  return kept;
}

IntegrateOptions to_integrate_options(const Model& model, const nb::dict& options, const std::string& design,
                                      double fineness, int max_fits, bool leave_one_out) {
  return {.learning = to_learn_options(model, options),
          .design = to_integration_design(design),
          .fineness = fineness,
          .max_fits = max_fits,
          .leave_one_out = leave_one_out};
}

}  // namespace

void bind_inference(nb::module_& m) {
  nb::class_<Posterior>(m, "Posterior")
      .def_prop_ro("model", [](const Posterior& p) { return p.model(); })
      .def_prop_ro(
          "method", [](const Posterior& p) { return to_python(p.method()); }, nb::sig("def method(self) -> Method"))
      .def("report", [](const Posterior& p) { return report_fields(p.report()); })
      .def("log_evidence", [](const Posterior& p) { return evidence_fields(p.log_evidence()); })
      .def("latent", [](const Posterior& p) { return moments(p.latent(), p.model().latents.count); })
      .def("latent_row_covariance",
           [](const Posterior& p) { return to_blocks(p.latent().covariance, p.model().latents.count); })
      .def("weights",
           [](const Posterior& p) {
             return moments(heard(nb::find(p), [&p](const Run&) { return p.weights(); }), p.model().latents.count);
           })
      .def("latent_covariance",
           [](const Posterior& p, nb::handle rows) {
             const std::vector<Index> chosen = to_indices(rows, "rows");
             for (const Index row : chosen)
               if (row < 0 || row >= p.model().rows())
                 throw InvalidOption(fmt::format("rows: there is no row {}; there are {}", row, p.model().rows()));
             return to_array(heard(nb::find(p), [&p, chosen](const Run&) { return p.latent_covariance(chosen); }));
           })
      .def("sample_weights",
           [](const Posterior& p, int draws, std::uint64_t seed) {
             if (draws < 1) throw InvalidOption(fmt::format("draws: expected 1 or more, found {}", draws));
             return to_array(unlocked([&] { return p.sample_weights(draws, seed); }));
           })
      .def("site_approximation",
           [](const Posterior& p) {
             const SiteApproximation& sites = p.site_approximation();
             return nb::make_tuple(to_array(sites.precision), to_array(sites.shift));
           })
      .def("leave_one_out",
           [](const Posterior& p) {
             return left_out_fields(heard(nb::find(p), [&p](const Run&) { return p.leave_one_out(); }),
                                    p.model().latents.count);
           })
      .def(
          "scales",
          [](const Posterior& p) -> nb::object {
            if (!p.scales()) return nb::none();
            return nb::make_tuple(to_array(p.scales()->shape), to_array(p.scales()->rate),
                                  to_array(p.scales()->mean_precision));
          },
          nb::sig("def scales(self) -> tuple[FloatArray, FloatArray, FloatArray] | None"))
      .def("gradient", [](const Posterior& p) { return unlocked([&] { return p.gradient(); }); })
      .def("gradient_error", [](const Posterior& p) { return p.gradient_error(); })
      .def(
          "predict",
          [](const Posterior& p, nb::handle inputs, nb::handle design, nb::handle offset, nb::handle variance,
             int block, nb::handle arguments) {
            PredictionPoints points = to_points(inputs, design, offset, variance, block, arguments);
            return heard(nb::find(p), [&p, points = std::move(points)](const Run&) { return p.predict(points); });
          },
          "inputs"_a.none(), "design"_a.none(), "offset"_a.none(), "variance"_a.none(), "block"_a, "arguments"_a)
      .def("has_class_bounds", [](const Posterior& p) { return has_class_bounds(p); })
      .def("class_bounds",
           [](const Posterior& p, const std::string& rule, double tolerance, std::uint64_t seed, int threads) {
             const ProbabilityGoal goal = to_goal(rule, tolerance, seed, threads);
             const ClassBounds bounds = heard(nb::find(p), [&p, goal](const Run&) { return class_bounds(p, goal); });
             nb::dict out;
             out["log_zb"] = bounds.log_zb;
             out["log_zb_error"] = bounds.log_zb_error;
             out["theorem9"] = optional_number(bounds.theorem9);
             out["theorem10"] = optional_number(bounds.theorem10);
             return out;
           });

  nb::class_<Learned>(m, "Learned")
      .def_prop_ro("posterior", [](const Learned& learned) { return learned.posterior; })
      .def("report", [](const Learned& learned) { return learned_fields(learned.report); });

  nb::class_<Integrated>(m, "Integrated")
      .def_prop_ro("model", [](const Integrated& integrated) { return integrated.model; })
      .def("report", &integration_fields)
      .def(
          "latent", [](const Integrated& i) { return moments(i.latent, i.model.latents.count); },
          nb::sig("def latent(self) -> tuple[FloatArray, FloatArray]"))
      .def(
          "weights", [](const Integrated& i) { return moments(i.weights, i.model.latents.count); },
          nb::sig("def weights(self) -> tuple[FloatArray, FloatArray]"))
      .def(
          "leave_one_out",
          [](const Integrated& i) {
            return i.left_out ? nb::object(left_out_fields(*i.left_out, i.model.latents.count))
                              : nb::object(nb::none());
          },
          nb::sig("def leave_one_out(self) -> dict[str, FloatArray] | None"))
      .def(
          "predict",
          [](const Integrated& i, nb::handle inputs, nb::handle design, nb::handle offset, nb::handle variance,
             int block, nb::handle arguments, int threads) {
            PredictionPoints points = to_points(inputs, design, offset, variance, block, arguments);
            return heard(nb::find(i),
                         [&i, points = std::move(points), threads](const Run&) { return i.predict(points, threads); });
          },
          "inputs"_a.none(), "design"_a.none(), "offset"_a.none(), "variance"_a.none(), "block"_a, "arguments"_a,
          "threads"_a);

  m.def(
      "infer",
      [](const Model& model, const MethodHolder& method, int threads, std::uint64_t seed, const std::string& form,
         bool substitutes, nb::object progress, const Posterior* warm_start) {
        const Running running = to_running(threads, seed, form, substitutes, std::move(progress));
        std::optional<Posterior> start;
        if (warm_start != nullptr) start = *warm_start;
        return run_for<Posterior>(
            [model, method = method.method, start](const Run& asked) {
              Run run = asked;
              run.warm_start = start ? &*start : nullptr;
              return infer(model, method, run);
            },
            running);
      },
      "model"_a, "method"_a, "threads"_a, "seed"_a, "form"_a, "substitutes"_a, "progress"_a.none(),
      "warm_start"_a.none());

  m.def(
      "learn",
      [](const Model& model, const MethodHolder& method, const nb::dict& options, int threads, std::uint64_t seed,
         const std::string& form, bool substitutes, nb::object progress) {
        const Running running = to_running(threads, seed, form, substitutes, std::move(progress));
        LearnOptions chosen = to_learn_options(model, options);
        const Model first = to_start(model, chosen, options);
        const auto kept = keep_best(chosen);
        return run_for<Learned>(
            [first, method = method.method, chosen](const Run& run) { return learn(first, method, chosen, run); },
            running, kept);
      },
      "model"_a, "method"_a, "options"_a, "threads"_a, "seed"_a, "form"_a, "substitutes"_a, "progress"_a.none());

  m.def(
      "choose_inducing",
      [](const nb::object& of, Index count, const std::string& select, int threads, std::uint64_t seed) {
        const auto& model = nb::cast<const Model&>(of);
        const Running running = to_running(threads, seed, "auto", true, nb::none());
        const ChosenInducing chosen = heard(
            of,
            [&model, wanted = to_selection(count, select)](const Run& run) {
              return choose_inducing(model, wanted, run);
            },
            running);
        return nb::make_tuple(chosen.model, chosen.how);
      },
      "model"_a, "count"_a, "select"_a, "threads"_a, "seed"_a,
      nb::sig(
          "def choose_inducing(model: Model, count: int, select: str, threads: int, seed: int) -> tuple[Model, str]"));

  m.def(
      "learn_inducing",
      [](const Model& model, Index count, const std::string& select, const MethodHolder& method,
         const nb::dict& options, int threads, std::uint64_t seed, const std::string& form, bool substitutes,
         nb::object progress) {
        const Running running = to_running(threads, seed, form, substitutes, std::move(progress));
        LearnOptions chosen = to_learn_options(model, options);
        const Model first = to_start(model, chosen, options);
        const auto kept = keep_best(chosen);
        return run_for<Learned>(
            [first, wanted = to_selection(count, select), method = method.method, chosen](const Run& run) {
              return learn_inducing(first, wanted, method, chosen, run).learned;
            },
            running, kept);
      },
      "model"_a, "count"_a, "select"_a, "method"_a, "options"_a, "threads"_a, "seed"_a, "form"_a, "substitutes"_a,
      "progress"_a.none());

  m.def(
      "integration_fits",
      [](const Model& model, const nb::dict& options, const std::string& design, double fineness, int max_fits) {
        return integration_fits(model, to_integrate_options(model, options, design, fineness, max_fits, false));
      },
      "model"_a, "options"_a, "design"_a, "fineness"_a, "max_fits"_a);

  m.def(
      "integrate",
      [](const Model& model, const Learned& learned, const nb::dict& options, const std::string& design,
         double fineness, int max_fits, bool leave_one_out, int threads, std::uint64_t seed, const std::string& form,
         bool substitutes, nb::object progress) {
        const Running running = to_running(threads, seed, form, substitutes, std::move(progress));
        const IntegrateOptions chosen = to_integrate_options(model, options, design, fineness, max_fits, leave_one_out);
        return run_for<Integrated>([learned, chosen](const Run& run) { return integrate(learned, chosen, run); },
                                   running);
      },
      "model"_a, "learned"_a, "options"_a, "design"_a, "fineness"_a, "max_fits"_a, "leave_one_out"_a, "threads"_a,
      "seed"_a, "form"_a, "substitutes"_a, "progress"_a.none());
}

}  // namespace gaussmith::python
