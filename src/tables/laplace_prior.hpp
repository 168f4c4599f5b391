#pragma once
// Laplace priors of coefficients. They are no Gaussian factor, so that the whole prior becomes sites on rows of the
// identity below the rows of the data.

#include "gaussmith/model.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// Whether the coefficients share one parameter, sites[1].scale, or have a scale each, which are data.
enum class LaplaceScale { shared, by_coefficient };

/// Puts the priors of the coefficients below the rows of the model as sites and leaves no Gaussian factor. Coefficients
/// that are scaled get a Laplace density of mean 0 and the same variance, sites[1]; the others, the intercept among
/// them, keep their Gaussian, the block after it. Offset and weights of the rows grow with them. Answers with the
/// parameters of these sites that learning must keep, for they are data. The design has entries.
std::vector<std::string> put_laplace_prior(const FixedEffects& fixed, LaplaceScale scale, Model& model);

}  // namespace gaussmith
