#pragma once
// From what a user asks to predict to latent moments and a likelihood: shared by Posterior and Predictor.

#include "gaussian/posterior_law.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gaussmith {

/// One row of every block with its shared parameters, and for every block the arguments that each new row must bring.
[[nodiscard]] std::pair<std::vector<Sites>, std::vector<std::vector<std::string>>> response_prototypes(
    const std::vector<Sites>& blocks);

/// Where the points are, in the prior's terms. Throws InvalidModel for points that do not suit it.
[[nodiscard]] NewPoints where(const PredictionPoints& points, const PriorGeometry& geometry);

/// Checks the points (InvalidModel), predicts eta in blocks and finds the likelihood of the response.
[[nodiscard]] Prediction predict_points(const PredictionPoints& points, const PosteriorLaw& law,
                                        const std::vector<Sites>& prototypes,
                                        const std::vector<std::vector<std::string>>& row_arguments);

}  // namespace gaussmith
