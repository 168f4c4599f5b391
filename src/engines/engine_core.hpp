#pragma once
// What engines share that end in the site form: the core they begin with and the posterior they end with.

#include "engines/evidence_kind.hpp"
#include "gaussian/core.hpp"
#include "gaussian/joint_core.hpp"
#include "model/site_rows.hpp"
#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// The core of the state's model, for engines that end in the site form. Throws InvalidOption when it would not fit
/// into memory, before any work.
[[nodiscard]] std::shared_ptr<GaussianCore> build_core(const Run& run, Posterior::State& state);
/// The same for engines that can do with estimated variances, here by this method.
[[nodiscard]] std::shared_ptr<GaussianCore> build_core(const Run& run, const VarianceMethod& variances,
                                                       Estimates estimates, Posterior::State& state);

/// The core of a model with several latents a row whose sites will see this much; build_core gives it, too.
[[nodiscard]] std::shared_ptr<JointCore> build_joint_core(const Run& run, SitesSee sees, Posterior::State& state);

/// What to do about a core of this form that does not fit into memory, in words.
[[nodiscard]] std::string memory_way_out(const Model& model, CoreForm form);

/// How a run ends in the site form.
struct SiteFormEnd {
  LatentPoint mean;         ///< Of the core's Gaussian at its sites.
  double log_evidence;      ///< The method's.
  EvidenceOfMethod method;  ///< What that is.
  bool quadrature;          ///< Whether integrals over sites that are not Gaussian are part of it.
  bool no_step_helps;       ///< Whether the search ended because no step gains any more in double precision.
};

/// Ends in the site form: the posterior is the core's Gaussian at its sites. Adds what rounding leaves uncertain, and
/// takes the report's claim of convergence back where that is too much.
void end_in_site_form(GaussianCore& core, const SiteRows& sites, const SiteFormEnd& end, Posterior::State& state);

}  // namespace gaussmith
