#pragma once
// The fields of a prior that say how many latent functions a row has and how they are related.

#include "gaussmith/model.hpp"
#include "io/json_reading.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// Functions that a file may declare without writing anything of their size.
inline constexpr Index max_latents = 1000;

/// The fields that priors of one function and of several have in common with each other: those given, and the ones that
/// several functions add.
[[nodiscard]] std::vector<std::string> with_latent_fields(std::vector<std::string> fields);

/// `latents`, `latent_covariance`, `kernels` and, where it is C numbers, `mean`; `inputs` is the number of columns that
/// kernels see, -1 for a prior without a process.
[[nodiscard]] Latents read_latents(const JsonNode& prior, Index inputs);

/// The same fields of a prior with several functions; `mean` is what all functions share.
void put_latents(const Latents& latents, double mean, nlohmann::ordered_json& prior);

/// Values of eta for all latents, row by row: a number, one a row for all of its latents, or rows of C.
[[nodiscard]] Vector read_offset(const JsonNode& node, Index rows, Index latents);

}  // namespace gaussmith
