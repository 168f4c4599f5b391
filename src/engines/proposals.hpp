#pragma once
// What importance sampling draws around where no card looks on: the fit, and what the fit may not know.

#include "engines/sampling_fit.hpp"
#include "sampling/importance_sampling.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// Log-concave sites: the fit. Others: `share_of_prior` of the draws around the prior where that is a distribution, and
/// the rest halved between the fit and the modes that a search finds, which the run's progress may end. Lends the fit.
class Proposals {
 public:
  Proposals(const Model& model, const SamplingFit& fit, double share_of_prior, const Run& run, int threads);
  Proposals(const Proposals&) = delete;
  Proposals& operator=(const Proposals&) = delete;

  [[nodiscard]] const std::vector<ProposalPart>& parts() const { return parts_; }
  /// "the ep fit and 2 modes".
  [[nodiscard]] const std::string& words() const { return words_; }
  /// Why modes were not searched for where there may be several; else empty.
  [[nodiscard]] const std::string& why_not_searched() const { return why_not_searched_; }

 private:
  std::vector<ReferenceGaussian> modes_;
  std::optional<ReferenceGaussian> prior_;
  std::vector<ProposalPart> parts_;
  std::string words_, why_not_searched_;
};

}  // namespace gaussmith
