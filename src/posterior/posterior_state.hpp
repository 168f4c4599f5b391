#pragma once
// What a posterior keeps. Engines fill it once; afterwards it is only read.

#include "gaussian/posterior_law.hpp"
#include "gaussmith/infer.hpp"
#include "model/prior.hpp"

#include <functional>

namespace gaussmith {

class Posterior::State {
 public:
  State(const Model& of_model, const Method& by_method) : model(of_model), method(by_method) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Model model;
  Method method;
  int threads = 1;
  SiteApproximation sites;
  std::unique_ptr<PosteriorLaw> law;            ///< Knows the rows.
  std::function<ParameterGradient()> gradient;  ///< Of the evidence; may look into this state.
  Evidence log_evidence;
  double gradient_error = 0.0;  ///< What rounding leaves uncertain in an entry of the gradient.
  Report report;

  [[nodiscard]] const RowMarginals& rows() const { return law->rows(); }
};

}  // namespace gaussmith
