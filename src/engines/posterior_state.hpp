#pragma once
// What a posterior keeps. Engines fill it once; afterwards it is only read.

#include "gaussian/core.hpp"
#include "gaussmith/infer.hpp"

namespace gaussmith {

class Posterior::State {
 public:
  State(const Model& of_model, const Method& by_method) : model(of_model), method(by_method) {}

  Model model;  ///< First, because the core looks into it.
  Method method;
  int threads = 1;
  std::unique_ptr<GaussianCore> core;
  SiteApproximation sites;
  LatentPoint point;  ///< The mean of q in the core's coordinates.
  Marginals latent;
  Vector slack;  ///< 1 - tau v of every row, without cancellation: v / slack is the variance without the row's site.
  Evidence log_evidence;
  Report report;
};

}  // namespace gaussmith
