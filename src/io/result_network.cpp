#include "io/result_network.hpp"

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

Json moments_json(const std::optional<LogVariance>& scale) {
  return scale ? Json{{"mean", scale->mean}, {"sd", scale->sd}} : Json();
}

Json start_json(const NetworkStartReport& start) {
  return {{"log_evidence", start.log_evidence},
          {"weight", start.weight},
          {"residual", start.residual},
          {"converged", start.status == Status::converged},
          {"sweeps", start.sweeps},
          {"units", start.units},
          {"leave_one_out", start.leave_one_out}};
}

}  // namespace

Json network_summary_json(const NetworkPosterior& posterior) {
  const NetworkSummary& summary = posterior.summary();
  Json out;
  out["units"] = summary.units_kept;
  out["units_asked"] = summary.units;
  out["weights"] = std::string(to_string(posterior.model().prior.weights));
  out["noise"] = moments_json(summary.noise);
  out["log_scales"] = Json::array();
  for (const LogVariance& scale : summary.scales)
    out["log_scales"].push_back({{"group", scale.name}, {"mean", scale.mean}, {"sd", scale.sd}});
  out["relevance"] = Json::array();
  for (const InputRelevance& input : summary.relevance)
    out["relevance"].push_back({{"name", input.name},
                                {"share", input.share},
                                {"irrelevant", input.irrelevant},
                                {"hidden_scale", moments_json(input.hidden_scale)},
                                {"linear_scale", moments_json(input.linear_scale)}});
  out["starts"] = Json::array();
  for (const NetworkStartReport& start : summary.starts) out["starts"].push_back(start_json(start));
  return out;
}

}  // namespace gaussmith
