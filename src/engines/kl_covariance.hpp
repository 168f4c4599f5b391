#pragma once
// Which covariance Gaussian-KL inference is to have: what was asked for, or the choice of `auto`.

#include "families/covariance_family.hpp"
#include "gaussmith/infer.hpp"

#include <string>

namespace gaussmith {

struct KlCovariance {
  CovarianceFamily family;  ///< The full one is found in the site form.
  double bytes = 0.0;       ///< Memory needed beyond the model, estimated.
  std::string reason;       ///< What `auto` took and why; empty where a family was asked for.
};

/// Throws InvalidOption when the family does not suit the model or does not fit into the memory allowed.
[[nodiscard]] KlCovariance choose_kl_covariance(const Kl& options, const Model& model, CoreForm form);

}  // namespace gaussmith
