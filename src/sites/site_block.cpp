// What a block of sites with one latent answers to questions that only several ask.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"

#include <stdexcept>

namespace gaussmith {

void SiteBlock::curvature_slope(Index first, ConstSpan eta, ConstSpan covariance, Span out) const {
  if (width() != 1) throw std::logic_error(traits().name + ": several latents need their own curvature_slope");
  log_density(first, eta, {.value = {}, .first = {}, .second = {}, .third = out});
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= covariance[i];
}

void SiteBlock::star(Index /*first*/, ConstSpan /*eta*/, Span /*out*/) const {
  throw std::logic_error(traits().name + ": the curvature is no star");
}

void SiteBlock::expected_log_density(Index /*first*/, ConstSpan /*mean*/, ConstSpan /*covariance*/,
                                     const ProbabilityGoal& /*goal*/, Span /*value*/, Span /*error*/) const {
  throw std::logic_error(traits().name + ": no expectation beside expectation()");
}

void SiteBlock::averaged_expectation(Index /*first*/, ConstSpan /*mean*/, ConstSpan /*covariance*/,
                                     std::uint64_t /*seed*/, const ExpectationOut& /*out*/, Span /*replicates*/) const {
  throw std::logic_error(traits().name + ": no expectation beside expectation()");
}

void SiteBlock::class_probabilities(Index /*first*/, ConstSpan /*mean*/, ConstSpan /*covariance*/,
                                    const ProbabilityGoal& /*goal*/, Span /*probability*/, Span /*error*/) const {
  throw InvalidOption(traits().name + ": the responses are no classes, so there are no class probabilities");
}

}  // namespace gaussmith
