#include "gaussmith/trust.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "prediction.hpp"
#include "running.hpp"
#include "spelling.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

nb::object optional_number(const std::optional<double>& value) {
  return value ? nb::object(nb::float_(*value)) : nb::object(nb::none());
}

nb::dict checks_fields(const QuickChecks& checks) {
  nb::dict out;
  out["mean_shift"] = optional_number(checks.mean_shift);
  out["mean_shift_row"] = checks.mean_shift_row;
  out["skewness"] = optional_number(checks.skewness);
  out["skewness_row"] = checks.skewness_row;
  out["outvoted"] = checks.outvoted;
  return out;
}

nb::object second_order_fields(const std::optional<SecondOrder>& next) {
  if (!next) return nb::none();
  nb::dict out;
  out["evidence"] = next->evidence;
  out["mean_shift"] = to_array(next->mean_shift);
  out["variance_shift"] = to_array(next->variance_shift);
  out["weights_mean_shift"] = to_array(next->weights_mean_shift);
  out["weights_variance_shift"] = to_array(next->weights_variance_shift);
  out["share"] = to_array(next->share);
  out["inaccurate"] = next->inaccurate;
  return out;
}

nb::object check_fields(const std::optional<ImportanceCheck>& check) {
  if (!check) return nb::none();
  nb::dict out;
  out["draws"] = check->draws;
  out["pareto_k"] = check->pareto_k;
  out["effective"] = check->effective;
  out["log_evidence"] = check->log_evidence;
  out["log_evidence_se"] = check->log_evidence_error;
  out["evidence_gap"] = check->evidence_gap;
  out["mean_gap"] = check->mean_gap;
  out["mean_gap_se"] = check->mean_gap_error;
  out["mean_place"] = check->mean_place;
  out["sd_ratio"] = check->sd_ratio;
  out["sd_ratio_se"] = check->sd_ratio_error;
  out["sd_place"] = check->sd_place;
  out["mean"] = to_array(check->latent_mean);
  out["sd"] = to_array(check->latent_sd);
  out["weights_mean"] = to_array(check->weights_mean);
  out["weights_sd"] = to_array(check->weights_sd);
  return out;
}

nb::dict card_fields(const TrustCard& card) {
  nb::dict out;
  out["verdict"] = std::string(to_string(card.verdict));
  out["evidence"] = std::string(to_string(card.evidence));
  out["marginals"] = std::string(to_string(card.marginals));
  out["reasons"] = in_python(card.reasons);
  out["advice"] = in_python(card.advice);
  out["check"] = check_fields(card.check);
  out["evidence_interval"] = nb::make_tuple(card.evidence_lower, optional_number(card.evidence_upper));
  out["second_order"] = second_order_fields(card.second_order);
  out["log_evidence_corrected"] = optional_number(card.log_evidence_corrected);
  std::vector<std::pair<Index, double>> worst;
  for (const WorstSite& site : card.worst_sites) worst.emplace_back(site.row, site.gap);
  out["worst_sites"] = worst;
  out["modes_searched"] = card.modes_searched;
  out["mode_starts"] = card.mode_starts;
  out["modes_found"] = card.modes_found;
  out["loo_log_density"] = to_array(card.loo_log_density);
  out["loo_pit"] = to_array(card.loo_pit);
  out["checks"] = checks_fields(card.checks);
  return out;
}

nb::list marginal_fields(const std::vector<CorrectedMarginal>& marginals) {
  nb::list all;
  for (const CorrectedMarginal& marginal : marginals) {
    nb::dict out;
    out["grid"] = to_array(marginal.grid);
    out["density"] = to_array(marginal.density);
    out["mean"] = marginal.mean;
    out["sd"] = marginal.sd;
    out["skewness"] = marginal.skewness;
    out["quantiles"] = to_array(marginal.quantiles);
    out["settled"] = marginal.settled;
    all.append(out);
  }
  return all;
}

EpMarginals to_ep_marginals(const std::string& name) {
  if (name == "factorised") return EpMarginals::factorised;
  if (name == "one-step") return EpMarginals::one_step;
  throw InvalidOption(fmt::format("ep: expected factorised or one-step, found \"{}\"", name));
}

}  // namespace

void bind_trust(nb::module_& m) {
  m.def("quick_checks", [](const Posterior& p) { return checks_fields(quick_checks(p)); });
  m.def(
      "diagnose",
      [](const Posterior& p, int draws, int most_draws, bool modes, bool advice, int threads, std::uint64_t seed,
         nb::object progress) {
        const DiagnoseOptions options{draws, most_draws, modes, advice};
        const Running running = to_running(threads, seed, "auto", true, std::move(progress));
        auto [card, interrupted] =
            run_for<TrustCard>([p, options](const Run& run) { return diagnose(p, options, run); }, running);
        return std::make_pair(card_fields(card), interrupted);
      },
      "posterior"_a, "draws"_a, "most_draws"_a, "modes"_a, "advice"_a, "threads"_a, "seed"_a, "progress"_a.none());
  m.def(
      "corrected_marginals",
      [](const Posterior& p, nb::handle rows, nb::handle weights, nb::handle inputs, nb::handle design,
         nb::handle offset, const std::string& ep, const std::vector<double>& levels) {
        MarginalOptions options;
        if (!rows.is_none()) options.rows = to_indices(rows, "rows");
        if (!weights.is_none()) options.weights = to_indices(weights, "weights");
        if (!inputs.is_none() || !design.is_none())
          options.points = to_points(inputs, design, offset, nb::none(), 0, nb::dict());
        options.ep = to_ep_marginals(ep);
        options.levels = levels;
        const CorrectedMarginals found = [&] {
          const Unlocked released;
          return corrected_marginals(p, options);
        }();
        nb::dict out;
        out["rows"] = marginal_fields(found.rows);
        out["weights"] = marginal_fields(found.weights);
        out["points"] = marginal_fields(found.points);
        return out;
      },
      "posterior"_a, "rows"_a.none(), "weights"_a.none(), "inputs"_a.none(), "design"_a.none(), "offset"_a.none(),
      "ep"_a, "levels"_a);
  m.def(
      "tierney_kadane_probability",
      [](const Posterior& p, nb::handle inputs, nb::handle design, nb::handle offset) {
        const PredictionPoints points = to_points(inputs, design, offset, nb::none(), 0, nb::dict());
        const Vector probability = [&] {
          const Unlocked released;
          return tierney_kadane_probability(p, points);
        }();
        return to_array(probability);
      },
      "posterior"_a, "inputs"_a.none(), "design"_a.none(), "offset"_a.none());
}

}  // namespace gaussmith::python
