#pragma once
// The functions of a model with several latents a row, and how they are related: K^c and its parameters.

#include "model/prior.hpp"

namespace gaussmith {

/// Throws InvalidModel naming the field; what is wrong with latents beside this prior.
void validate(const Latents& latents, const Prior& prior);

/// prior.latent_covariance.weight[0], .factor[1][0]; kernels[0].signal_sd.
[[nodiscard]] std::vector<Parameter> parameters_of(const Latents& latents);

/// The latents with some parameters replaced; `find` gives null for those that stay.
[[nodiscard]] Latents with_parameters(const Latents& latents,
                                      const std::function<const double*(const std::string&)>& find);

/// Puts tr(G dK^c / d parameter) for each parameter of K^c, on the parameter's scale; G symmetric.
void add_latent_gradient(const Latents& latents, const Matrix& weights, ParameterGradient& gradient);

/// Evidence sees contrasts of the functions alone, so that some directions of K^c and of the scale beside it change
/// nothing. -1/2 |g|^2 for conditions g that every set of equivalent parameters meets once, at K^c = I and M = I among
/// others:
///   full: M1 along 1, 1'M1/C = tr(Q'M Q)/(C - 1), tr M = C;  centred: the first two;  diagonal: tr M = C.
/// Adds the gradient on the parameters' scale. Without a scale beside K^c that can follow, the second condition of
/// `full` is left out.
[[nodiscard]] double latent_anchor(const Latents& latents, bool scale_is_free, ParameterGradient& gradient);

/// Q, C x (C - 1) with orthonormal columns that sum to zero: contrasts of C functions (Helmert's).
[[nodiscard]] Matrix contrasts(Index count);

}  // namespace gaussmith
