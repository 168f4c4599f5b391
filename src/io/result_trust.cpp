#include "io/result_trust.hpp"

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

Json numbers(const Vector& values, Index rows = 0) {
  const Index count = rows > 0 ? std::min(rows, values.size()) : values.size();
  return std::vector<double>(values.data(), values.data() + count);
}

/// Worst of several vectors, with its sign; null where there is none.
Json largest(const Vector& a, const Vector& b) {
  double most = 0.0;
  bool any = false;
  for (const Vector* v : {&a, &b}) {
    for (Index i = 0; i < v->size(); ++i) {
      any = true;
      if (std::abs((*v)(i)) > std::abs(most)) {
        most = (*v)(i);
      }
    }
  }
  return any ? Json(most) : Json();
}

Json second_order_json(const SecondOrder& next) {
  return {{"evidence", next.evidence},
          {"mean_shift", largest(next.mean_shift, next.weights_mean_shift)},
          {"variance_shift", largest(next.variance_shift, next.weights_variance_shift)},
          {"inaccurate", next.inaccurate}};
}

Json check_json(const ImportanceCheck& check) {
  return {{"effective", check.effective},
          {"log_evidence", check.log_evidence},
          {"log_evidence_se", check.log_evidence_error},
          {"mean", {{"shift", check.mean_gap}, {"se", check.mean_gap_error}, {"at", check.mean_place}}},
          {"sd", {{"ratio", check.sd_ratio}, {"se", check.sd_ratio_error}, {"at", check.sd_place}}}};
}

Json one_marginal(const char* place, Index index, const CorrectedMarginal& marginal,
                  const std::vector<double>& levels) {
  Json out;
  out[place] = index;
  out["grid"] = numbers(marginal.grid);
  out["density"] = numbers(marginal.density);
  out["mean"] = marginal.mean;
  out["sd"] = marginal.sd;
  out["skewness"] = marginal.skewness;
  out["levels"] = levels;
  out["quantiles"] = numbers(marginal.quantiles);
  if (!marginal.settled) {
    out["settled"] = false;
  }
  return out;
}

}  // namespace

Json checks_json(const QuickChecks& checks) {
  Json out;
  out["mean_shift"] = checks.mean_shift ? Json(*checks.mean_shift) : Json();
  out["mean_shift_row"] = checks.mean_shift ? Json(checks.mean_shift_row) : Json();
  out["skewness"] = checks.skewness ? Json(*checks.skewness) : Json();
  out["skewness_row"] = checks.skewness ? Json(checks.skewness_row) : Json();
  out["outvoted"] = checks.outvoted;
  return out;
}

Json trust_json(const TrustCard& card, const Report& report, Index data_rows) {
  Json out;
  out["verdict"] = std::string(to_string(card.verdict));
  out["evidence"] = std::string(to_string(card.evidence));
  out["marginals"] = std::string(to_string(card.marginals));
  out["reasons"] = card.reasons;
  out["advice"] = card.advice;
  out["pareto_k"] = card.check ? Json(card.check->pareto_k) : Json();
  out["residual"] = report.residual;
  out["evidence_interval"] = {card.evidence_lower, card.evidence_upper ? Json(*card.evidence_upper) : Json()};
  out["worst_sites"] = Json::array();
  for (const WorstSite& site : card.worst_sites) {
    out["worst_sites"].push_back({{"row", site.row}, {"gap", site.gap}});
  }
  out["loo"] = {{"log_density", numbers(card.loo_log_density, data_rows)}, {"pit", numbers(card.loo_pit, data_rows)}};
  out["numerics"] = {{"jitter", report.jittered}, {"clipped", report.clipped}, {"skipped", report.skipped}};
  out["second_order"] = card.second_order ? second_order_json(*card.second_order) : Json();
  if (card.log_evidence_corrected) {
    out["log_evidence_corrected"] = *card.log_evidence_corrected;
  }
  out["modes"] = {{"searched", card.modes_searched}, {"starts", card.mode_starts}, {"found", card.modes_found}};
  out["draws"] = card.check ? card.check->draws : 0;
  out["check"] = card.check ? check_json(*card.check) : Json();
  return out;
}

Json marginals_json(const MarginalContent& marginals) {
  Json out = Json::array();
  const std::vector<double>& levels = marginals.options.levels;
  for (std::size_t i = 0; i < marginals.found.rows.size(); ++i) {
    out.push_back(one_marginal("row", marginals.options.rows[i], marginals.found.rows[i], levels));
  }
  for (std::size_t i = 0; i < marginals.found.weights.size(); ++i) {
    out.push_back(one_marginal("weight", marginals.options.weights[i], marginals.found.weights[i], levels));
  }
  for (std::size_t i = 0; i < marginals.found.points.size(); ++i) {
    out.push_back(one_marginal("point", static_cast<Index>(i), marginals.found.points[i], levels));
  }
  return out;
}

Json saved_trust_json(const SavedTrust& trust) {
  return {{"verdict", std::string(to_string(trust.verdict))}, {"reasons", trust.reasons}, {"advice", trust.advice}};
}

}  // namespace gaussmith
