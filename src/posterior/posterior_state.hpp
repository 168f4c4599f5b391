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
  std::uint64_t seed = 0;  ///< Of random choices that the evidence rests on.
  SiteApproximation sites;
  std::unique_ptr<PosteriorLaw> law;            ///< Knows the rows.
  std::function<ParameterGradient()> gradient;  ///< Of the evidence; may look into this state.
  /// Where the law's rows without their own sites are not what leave-one-out predictions come from; else empty.
  std::function<LeaveOneOut()> left_out;
  Evidence log_evidence;
  std::optional<MixtureScales> scales = {};  ///< Of vmf.
  double gradient_error = 0.0;               ///< What rounding leaves uncertain in an entry of the gradient.
  Report report;
  Vector mean_shift;  ///< Of laplace: how far third derivatives say that means lie beside the mode, in sds; else empty.

  [[nodiscard]] const RowMarginals& rows() const { return law->rows(); }
};

}  // namespace gaussmith
