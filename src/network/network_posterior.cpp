#include "network/network_state.hpp"

#include <utility>

namespace gaussmith {

NetworkPosterior::NetworkPosterior(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const NetworkModel& NetworkPosterior::model() const { return state_->model; }
const NetworkEp& NetworkPosterior::method() const { return state_->method; }
const Report& NetworkPosterior::report() const { return state_->report; }
const Evidence& NetworkPosterior::log_evidence() const { return state_->log_evidence; }
const Marginals& NetworkPosterior::latent() const { return state_->latent; }
const LeaveOneOut& NetworkPosterior::leave_one_out() const { return state_->left_out; }
const std::vector<InputRelevance>& NetworkPosterior::relevance() const { return state_->summary.relevance; }
const NetworkSummary& NetworkPosterior::summary() const { return state_->summary; }
const FittedNetwork& NetworkPosterior::fitted() const { return state_->predictor->fitted(); }

Prediction NetworkPosterior::predict(const PredictionPoints& points) const {
  return state_->predictor->predict(points, state_->threads);
}

}  // namespace gaussmith
