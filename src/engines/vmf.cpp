#include "engines/vmf.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/mode_search.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

void check_vmf(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b)
    if (model.sites[b]->width() == 1)
      throw InvalidOption(fmt::format(
          "the vmf method takes multinomial-probit sites; sites[{}] (likelihood {}) takes laplace, kl or ep", b,
          model.sites[b]->traits().name));
}

void run_vmf(const Vmf& options, const Run& run, Posterior::State& state) {
  // The bound of q(f) q(a) is, with the best q(a) put in, max_m [sum log p(y_n | m_n) - m'K^-1 m / 2] - log|I + K| / 2
  // (m less its prior mean), and q(f) has the mean m and the covariance (K^-1 + I)^-1: the mode of the posterior with
  // unit precisions in place of its curvature.
  const std::shared_ptr<JointCore> core = build_joint_core(run, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  ModeSearch search(*core, sites, {"vmf", options.max_iterations, options.tolerance, false}, run, state.report);
  search.start_from(run.warm_start);
  search.climb();
  const LatentPoint mode = search.now().point;

  const Index c = core->width();
  SiteApproximation unit{Vector::Zero(mode.eta.size() * c), mode.coordinates + mode.eta, c};
  for (Index i = 0; i < mode.eta.size(); ++i) unit.precision(i * c + i % c) = 1.0;
  if (!core->set(unit)) throw InvalidModel("vmf: " + why_not_factorised(*core));
  const double bound = search.now().objective - core->half_log_det().value;
  end_in_site_form(*core, sites, {mode, bound, {EvidenceKind::lower_bound, false}, true, search.no_step_helps()},
                   state);
  state.gradient = [core, mode, &state] {
    return explicit_gradient(*core, mode, state, [](const SiteBlock&, Index, int) { return 0.0; });
  };
}

}  // namespace gaussmith
