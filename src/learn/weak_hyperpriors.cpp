#include "gaussmith/errors.hpp"
#include "gaussmith/learn.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

std::map<std::string, LogNormal, std::less<>> weak_hyperpriors(const Model& model, double sd) {
  if (!(sd > 0.0) || !std::isfinite(sd))
    throw InvalidOption(fmt::format("the sd of weak hyperpriors must be positive, found {}", sd));
  std::map<std::string, LogNormal, std::less<>> out;
  for (const Parameter& parameter : model.parameters())
    if (parameter.learnable) out[parameter.name] = {parameter.value, sd};
  return out;
}

}  // namespace gaussmith
