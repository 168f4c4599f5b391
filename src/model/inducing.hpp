#pragma once
// Inducing variables: the few values of a process that a posterior is made of.

#include "gaussmith/model.hpp"
#include "model/prior.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gaussmith {

/// Those of a model, or null.
[[nodiscard]] const Inducing* inducing_of(const Model& model);

/// M, how many single latents they are.
[[nodiscard]] Index count_of(const Inducing& inducing, Index latents);

/// Whether the inputs are parameters of the model.
[[nodiscard]] bool learns_inputs(const GaussianProcess& process);

/// inducing.inputs[0][0], row by row; none unless they are to be learned.
[[nodiscard]] std::vector<Parameter> parameters_of(const Inducing& inducing);
/// With some parameters replaced; `find` gives null for those that stay.
[[nodiscard]] Inducing with_parameters(const Inducing& inducing,
                                       const std::function<const double*(const std::string&)>& find);
/// The gradient in the inputs under the names of these parameters.
void put_input_gradient(const Matrix& gradient, ParameterGradient& out);

/// Throws InvalidModel naming the field, what was found and what would be accepted.
void validate_inducing(const Model& model);

}  // namespace gaussmith
