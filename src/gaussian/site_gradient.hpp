#pragma once
// The sites' part of an evidence gradient, by parameter name, whatever the engine.

#include "gaussmith/predict.hpp"
#include "model/prior.hpp"

#include <functional>

namespace gaussmith {

/// d log Z / d log(parameter) summed over a block whose first row is `row` of the model.
using SiteParameterGradient = std::function<double(const SiteBlock& block, Index row, int parameter)>;

/// Adds what the callable says for every learnable parameter of the sites.
void add_site_gradient(const std::vector<Sites>& blocks, const SiteParameterGradient& of, ParameterGradient& gradient);

/// sum_n w_n x_n over rows that begin at `row` of a model with these weights; without weights the plain sum.
[[nodiscard]] double weighted_sum(const Vector& weights, Index row, const Vector& x);

/// sum_n w_n E[d log t_n / d log(parameter)] under these marginals of eta; they and the weights (empty: all one) must
/// outlive it. The sites' part of the gradient of a bound that is stationary in q.
[[nodiscard]] SiteParameterGradient expected_site_gradient(const Marginals& latent, const Vector& weights);

}  // namespace gaussmith
