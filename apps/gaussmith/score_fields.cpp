#include "score_fields.hpp"

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Scores scores_of(const SavedPrediction& result) {
  const Prediction& prediction = result.predicted.prediction;
  Scores scores = score(prediction, result.predicted.responses, result.goal);
  if (result.model.method == "kl" && scores.confusion.size() > 0) {
    add_class_bounds(prediction, result.predicted.responses, scores);
  }
  return scores;
}

void put_scores(const Scores& scores, const std::vector<std::string>& classes, Json& out) {
  out["rows"] = scores.rows;
  if (scores.errors) {
    out["errors"] = *scores.errors;
    out["error_rate"] = *scores.error_rate();
    out["accuracy"] = 1.0 - *scores.error_rate();
  } else {
    out["censored"] = scores.censored;
    out["error_rows"] = scores.rows - scores.censored;
    out["rmse"] = optional_json(scores.rmse);
    out["mae"] = optional_json(scores.mae);
    out["point"] = scores.median_used ? "median" : "mean";
  }
  out["mean_log_predictive_density"] = scores.mean_log_density;
  out["mean_predictive_variance"] = optional_json(scores.mean_variance);
  if (scores.confusion.size() > 0) {
    out["classes"] = classes;
    out["confusion"] = Json::array();
    for (Index i = 0; i < scores.confusion.rows(); ++i) {
      out["confusion"].push_back(Json::array());
      for (Index j = 0; j < scores.confusion.cols(); ++j) {
        out["confusion"].back().push_back(static_cast<std::int64_t>(scores.confusion(i, j)));
      }
    }
  }
  if (scores.mean_log_density_lower) {
    out["mean_log_density_lower"] = *scores.mean_log_density_lower;
    out["mean_log_probability_at_mean"] = optional_json(scores.mean_log_probability_at_mean);
  }
  Json calibration;
  if (scores.errors) {
    calibration["brier"] = optional_json(scores.brier);
    calibration["expected_calibration_error"] = optional_json(scores.calibration_error);
    calibration["bins"] = Json::array();
    for (const ReliabilityBin& bin : scores.reliability) {
      calibration["bins"].push_back({{"lower", bin.lower},
                                     {"upper", bin.upper},
                                     {"count", bin.count},
                                     {"mean_probability", bin.count > 0 ? Json(bin.mean_probability) : Json()},
                                     {"frequency", bin.count > 0 ? Json(bin.frequency) : Json()}});
    }
  } else {
    calibration["coverage"] = Json::array();
    for (const Coverage& interval : scores.coverage) {
      calibration["coverage"].push_back({{"level", interval.level}, {"share", interval.share}});
    }
  }
  out["calibration"] = calibration;
}

}  // namespace gaussmith::app
