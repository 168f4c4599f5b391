#pragma once
// What a network's posterior keeps. Filled once; afterwards it is only read.

#include "gaussmith/network.hpp"

namespace gaussmith {

class NetworkPosterior::State {
 public:
  State(const NetworkModel& of_model, const NetworkEp& by_method) : model(of_model), method(by_method) {}

  NetworkModel model;
  NetworkEp method;
  int threads = 1;
  Report report;
  Evidence log_evidence;
  Marginals latent;
  LeaveOneOut left_out;
  NetworkSummary summary;
  std::optional<NetworkPredictor> predictor;
};

}  // namespace gaussmith
