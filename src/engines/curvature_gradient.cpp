#include "engines/curvature_gradient.hpp"

#include "engines/explicit_gradient.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

ParameterGradient curvature_gradient(const GaussianCore& core, const LatentPoint& mode, const Posterior::State& state) {
  const Vector& eta = state.rows().mean;
  const Vector& v = state.rows().variance;
  const Vector& weights = state.model.weights;
  const Vector s = 0.5 * SiteRows(state.model, state.threads).curvature_slope(eta, state.rows().covariances());
  const Vector v_s = core.covariance_times(s);
  const Vector implicit = s - precision_times(state.sites, v_s);
  return explicit_gradient(
      core, mode, state,
      [&](const SiteBlock& block, Index row, int parameter) {
        const Index n = block.size();
        Vector value(n);
        Vector first(n);
        Vector second(n);
        block.parameter_derivatives(0, parameter, ConstSpan(eta.data() + row, static_cast<std::size_t>(n)),
                                    {view(value), view(first), view(second)});
        if (weights.size() > 0) {
          first.array() *= weights.segment(row, n).array();
          second.array() *= weights.segment(row, n).array();
        }
        return weighted_sum(weights, row, value) + 0.5 * v.segment(row, n).dot(second) + v_s.segment(row, n).dot(first);
      },
      implicit);
}

}  // namespace gaussmith
