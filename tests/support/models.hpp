#pragma once
// Seeded models for tests: every likelihood of the catalogue with plausible data, in any prior and design.

#include "gaussmith/model.hpp"

#include <string>
#include <vector>

namespace gaussmith::testing {

Vector random_vector(Index size, std::uint64_t seed);
Matrix random_matrix(Index rows, Index cols, std::uint64_t seed);

/// The same matrix with one row replaced.
Matrix with_row(Matrix m, Index row, const Vector& values);

/// R R' of the given rank, D x D.
Matrix random_covariance(Index dimension, Index rank, std::uint64_t seed);

/// n responses of a likelihood drawn at latent values around 0, with fixed plausible arguments.
Sites random_sites(const std::string& likelihood, Index n, std::uint64_t seed);

/// The names of all likelihoods of the catalogue with one latent a row, and of the smooth ones.
std::vector<std::string> all_likelihoods();
std::vector<std::string> smooth_likelihoods();

/// GP with an ARD squared exponential in two dimensions.
Model process_model(const std::string& likelihood, Index n, std::uint64_t seed);

/// Linear model with a dense design and an isotropic prior.
Model linear_model(const std::string& likelihood, Index rows, Index dimension, std::uint64_t seed);

}  // namespace gaussmith::testing
