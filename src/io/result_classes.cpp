#include "io/result_classes.hpp"

#include "io/problem_file_parts.hpp"

namespace gaussmith {

using Json = nlohmann::ordered_json;

Json row_arrays(const Vector& values, Index latents) {
  if (latents == 1) {
    return vector_json(values);
  }
  Json out = Json::array();
  for (Index first = 0; first + latents <= values.size(); first += latents) {
    out.push_back(vector_json(values.segment(first, latents)));
  }
  return out;
}

Json row_matrices(const Vector& values, Index latents) {
  Json out = Json::array();
  const Index square = latents * latents;
  for (Index first = 0; first + square <= values.size(); first += square) {
    out.push_back(row_arrays(values.segment(first, square), latents));
  }
  return out;
}

Json class_names(const std::vector<std::string>& names, Index classes) {
  if (!names.empty()) {
    return names;
  }
  Json out = Json::array();
  for (Index c = 0; c < classes; ++c) {
    out.push_back(c);
  }
  return out;
}

void put_classes(const Prediction& prediction, const ResultContent& content, bool kl, Json& out) {
  const ClassProbabilities found = prediction.class_probabilities(content.probability);
  const Json names = class_names(content.classes, found.probability.cols());
  out["probability"] = matrix_json(found.probability);
  out["probability_error"] = vector_json(found.error);
  out["label"] = Json::array();
  for (Index t = 0; t < found.probability.rows(); ++t) {
    out["label"].push_back(names[static_cast<std::size_t>(found.likeliest(t))]);
  }
  if (const auto& responses = content.prediction->responses) {
    out["log_density"] = vector_json(found.log_density(*responses));
  }
  if (kl) {
    out["log_density_lower"] = matrix_json(prediction.class_log_density_lower());
  }
  out["probability_at_mean"] = matrix_json(prediction.class_probabilities_at_mean());
}

Json bounds_json(const ClassBounds& bounds) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"log_zb", bounds.log_zb},
          {"log_zb_error", bounds.log_zb_error},
          {"theorem9", number(bounds.theorem9)},
          {"theorem10", number(bounds.theorem10)}};
}

Json joint_json(const Json& prediction, const Vector& responses, const std::optional<double>& evidence_gap) {
  double lower = 0.0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(responses.size()); ++t) {
    lower +=
        prediction["log_density_lower"][t][static_cast<std::size_t>(responses(static_cast<Index>(t)))].get<double>();
  }
  return {{"sum_lower", lower},
          {"evidence_gap", evidence_gap ? Json(*evidence_gap) : Json()},
          {"lower", evidence_gap ? Json(lower + *evidence_gap) : Json()}};
}

}  // namespace gaussmith
