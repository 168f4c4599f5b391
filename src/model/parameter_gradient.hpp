#pragma once
// The explicit part of an evidence gradient, by parameter name: what the kernel and the sites add, whatever the engine.

#include "gaussmith/model.hpp"
#include "gaussmith/predict.hpp"

#include <functional>
#include <map>
#include <string>

namespace gaussmith {

/// d log Z / d log(parameter) by the name of the parameter.
using ParameterGradient = std::map<std::string, double, std::less<>>;

/// d log Z / d log(parameter) summed over a block whose first row is `row` of the model.
using SiteParameterGradient = std::function<double(const SiteBlock& block, Index row, int parameter)>;

/// Adds tr(M dSigma / d log(parameter)) for every parameter of the kernel; only the lower triangle of M is meant.
void add_kernel_gradient(const GaussianProcess& process, const Matrix& weights, int threads,
                         ParameterGradient& gradient);

/// Adds what the callable says for every learnable parameter of the sites.
void add_site_gradient(const std::vector<Sites>& blocks, const SiteParameterGradient& of, ParameterGradient& gradient);

/// sum_n E[d log t_n / d log(parameter)] under these marginals of eta, which must outlive it: the sites' part of the
/// gradient of a bound that is stationary in q.
[[nodiscard]] SiteParameterGradient expected_site_gradient(const Marginals& latent);

}  // namespace gaussmith
