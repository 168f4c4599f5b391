#include "io/result_scores.hpp"

#include "io/result_classes.hpp"

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Json number_array(const Vector& values) {
  Json out = Json::array();
  for (const double value : values) {
    out.push_back(value);
  }
  return out;
}

Json training_json(const Scores& scores) {
  Json out;
  out["rows"] = scores.rows;
  if (scores.errors) {
    const double rate = static_cast<double>(*scores.errors) / static_cast<double>(scores.rows);
    out["errors"] = *scores.errors;
    out["error_rate"] = rate;
    out["accuracy"] = 1.0 - rate;
    out["brier"] = optional_number(scores.brier);
  } else {
    out["censored"] = scores.censored;
    out["error_rows"] = scores.rows - scores.censored;
    out["rmse"] = optional_number(scores.rmse);
    out["mae"] = optional_number(scores.mae);
    out["point"] = scores.median_used ? "median" : "mean";
  }
  out["mean_log_predictive_density"] = scores.mean_log_density;
  return out;
}

Json leave_one_out_json(const LeaveOneOut& left_out, Index latents) {
  const RowTotal total = row_total(left_out.log_density);
  return {{"mean", row_arrays(left_out.latent.mean, latents)},
          {"variance", row_arrays(left_out.latent.variance, latents)},
          {"log_density", number_array(left_out.log_density)},
          {"rows", total.rows},
          {"total", total.rows > 0 ? Json(total.total) : Json()},
          {"total_se", optional_number(total.standard_error)}};
}

void put_event_counts(const std::vector<Sites>& sites, Json& out) {
  const EventCounts counts = count_events(sites);
  if (counts.events + counts.censored > 0) {
    out["events"] = counts.events;
    out["censored"] = counts.censored;
  }
}

}  // namespace gaussmith
