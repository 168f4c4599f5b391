#include "gaussmith/compare.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/calibrate.hpp"
#include "methods.hpp"
#include "running.hpp"
#include "spelling.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

nb::object optional_number(const std::optional<double>& value) {
  return value ? nb::object(nb::float_(*value)) : nb::object(nb::none());
}

nb::object error_fields(const std::optional<MethodError>& error) {
  if (!error) return nb::none();
  nb::dict out;
  out["log_evidence"] = error->log_evidence;
  out["mean"] = error->mean;
  out["mean_average"] = error->mean_average;
  out["sd_ratio"] = error->sd_ratio;
  out["sd_average"] = error->sd_average;
  out["worst_latent"] = error->worst_latent;
  return out;
}

nb::object truth_fields(const std::optional<Truth>& truth, Index latents) {
  if (!truth) return nb::none();
  nb::dict out;
  out["method"] = truth->method;
  out["log_evidence"] = truth->log_evidence;
  out["log_evidence_se"] = truth->standard_error;
  out["moment_error"] = truth->moment_error;
  out["latent_mean"] = to_array(truth->latent.mean, latents);
  out["latent_variance"] = to_array(truth->latent.variance, latents);
  out["weights_mean"] = to_array(truth->weights.mean, latents);
  out["weights_variance"] = to_array(truth->weights.variance, latents);
  out["notes"] = truth->notes;
  out["seconds"] = truth->seconds;
  return out;
}

nb::dict comparison_fields(const Comparison& comparison, Index latents) {
  nb::dict out;
  nb::list rows;
  for (const ComparedMethod& line : comparison.methods) {
    nb::dict row;
    row["method"] = line.name;
    row["posterior"] = nb::cast(line.posterior);
    row["below_best_bound"] = optional_number(line.below_best_bound);
    row["error"] = error_fields(line.error);
    row["log_density"] = optional_number(line.log_density);
    row["verdict"] =
        line.card ? nb::object(nb::cast(std::string(to_string(line.card->verdict)))) : nb::object(nb::none());
    row["seconds"] = line.seconds;
    rows.append(row);
  }
  out["rows"] = rows;
  out["truth"] = truth_fields(comparison.truth, latents);
  out["best_bound"] = optional_number(comparison.best_bound);
  out["notes"] = in_python(comparison.notes);
  return out;
}

nb::dict calibration_fields(const Calibration& calibration) {
  nb::dict ranks;
  nb::dict p_values;
  for (const CalibratedQuantity& quantity : calibration.quantities) {
    ranks[quantity.name.c_str()] = quantity.ranks;
    p_values[quantity.name.c_str()] = quantity.p_value;
  }
  nb::dict out;
  out["ranks"] = ranks;
  out["p_values"] = p_values;
  out["draws"] = calibration.draws;
  out["failed"] = calibration.failed;
  return out;
}

}  // namespace

void bind_compare(nb::module_& m) {
  m.def(
      "compare",
      [](const Model& model, const nb::list& methods, bool truth, bool verdicts, int threads, std::uint64_t seed,
         nb::object progress) {
        CompareOptions options;
        options.truth = truth;
        options.verdicts = verdicts;
        for (const nb::handle method : methods) options.methods.push_back(nb::cast<const MethodHolder&>(method).method);
        const Running running = to_running(threads, seed, "auto", true, std::move(progress));
        auto [found, interrupted] =
            run_for<Comparison>([model, options](const Run& run) { return compare(model, options, run); }, running);
        return std::make_pair(comparison_fields(found, model.latents.count), interrupted);
      },
      "model"_a, "methods"_a, "truth"_a, "verdicts"_a, "threads"_a, "seed"_a, "progress"_a.none());
  m.def(
      "calibrate",
      [](const Model& model, const MethodHolder& method, int simulations, int draws, nb::handle weights, int threads,
         std::uint64_t seed, nb::object progress) {
        const CalibrationOptions options{simulations, draws, to_indices(weights, "weights")};
        const Running running = to_running(threads, seed, "auto", true, std::move(progress));
        auto [found, interrupted] = run_for<Calibration>(
            [model, method = method.method, options](const Run& run) { return calibrate(model, method, options, run); },
            running);
        return std::make_pair(calibration_fields(found), interrupted);
      },
      "model"_a, "method"_a, "simulations"_a, "draws"_a, "weights"_a, "threads"_a, "seed"_a, "progress"_a.none());
}

}  // namespace gaussmith::python
