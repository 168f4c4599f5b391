#pragma once

#include "gaussmith/infer.hpp"

namespace gaussmith::bench {

/// GP classification: N points in d dimensions, squared exponential with one length-scale a dimension, logit sites.
inline Model classification(Index n, Index d) {
  Random random(42);
  Matrix x(n, d);
  for (Index j = 0; j < d; ++j)
    for (Index i = 0; i < n; ++i) x(i, j) = random.normal();
  Vector y(n);
  for (Index i = 0; i < n; ++i) y(i) = std::sin(2 * x(i, 0)) + x(i, 1 % d) + 0.5 * random.normal() > 0 ? 1.0 : -1.0;
  std::vector<double> scales(static_cast<std::size_t>(d), 2.0);
  return Model{
      .prior = GaussianProcess{std::move(x), make_kernel("se", {{"signal_sd", {1.5}}, {"lengthscale", scales}})},
      .design = Identity{},
      .offset = {},
      .sites = {observe("bernoulli-logit", y)}};
}

/// GP classification into C classes: independent functions, squared exponential, labels from functions of their own.
inline Model classes(Index n, Index count, std::string_view likelihood) {
  Random random(44);
  Matrix x(n, 3);
  for (double& value : x.reshaped()) value = random.normal();
  Vector y(n);
  for (Index i = 0; i < n; ++i) {
    double largest = -1e300;
    for (Index c = 0; c < count; ++c) {
      const double f =
          2.0 * std::sin(x(i, c % 3) * (1.0 + 0.3 * static_cast<double>(c / 3)) + 2.4 * static_cast<double>(c)) +
          random.normal();
      if (f > largest) {
        largest = f;
        y(i) = static_cast<double>(c);
      }
    }
  }
  return Model{
      .prior = GaussianProcess{std::move(x), make_kernel("se", {{"signal_sd", {2.0}}, {"lengthscale", {1.0}}})},
      .design = Identity{},
      .offset = {},
      .sites = {observe(likelihood, y, {{"classes", one(static_cast<double>(count))}})},
      .latents = {.count = count}};
}

/// Logistic regression: N rows, D weights.
inline Model regression(Index n, Index d) {
  Random random(43);
  Matrix h(n, d);
  for (Index j = 0; j < d; ++j)
    for (Index i = 0; i < n; ++i) h(i, j) = random.normal();
  Vector y(n);
  for (Index i = 0; i < n; ++i) y(i) = h(i, 0) - h(i, 1 % d) + random.normal() > 0 ? 1.0 : -1.0;
  return Model{.prior = Isotropic{Vector::Zero(d), 1.0},
               .design = std::move(h),
               .offset = {},
               .sites = {observe("bernoulli-logit", y)}};
}

}  // namespace gaussmith::bench
