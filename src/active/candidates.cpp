#include "active/candidates.hpp"

#include "active/classifier.hpp"
#include "active/inclusion.hpp"
#include "base/parallel_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gaussmith {

namespace {

constexpr Index scored_at_once = 256;
/// Mantissa bits of |mean| that tell bins apart: eight bins to a power of two, at any scale of the means.
constexpr int bits_below_bins = 52 - 3;

/// Rises with |mean|, as the bits of positive numbers do.
std::size_t bin_of(double mean) {
  return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(std::abs(mean)) >> bits_below_bins);
}

}  // namespace

Vector scores_of(const Marginals& latent, ActiveScore score, int threads) {
  Marginals usable = latent;
  usable.variance = latent.variance.cwiseMax(0.0);
  const Vector probability = class_probabilities(usable, threads);
  Vector out(probability.size());
  parallel_blocks(out.size(), scored_at_once, threads, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const Marginal marginal{usable.mean(n), usable.variance(n)};
      if (!(marginal.variance > 0.0)) {
        out(n) = std::numeric_limits<double>::lowest();
      } else {
        out(n) = score == ActiveScore::uncertainty ? -std::abs(probability(n) - 0.5)
                                                   : information_gain(marginal, probability(n));
      }
    }
  });
  return out;
}

std::vector<Index> not_ruled_out(const Marginals& latent, const std::vector<char>& taken) {
  const auto rows = static_cast<Index>(taken.size());
  const auto is_free = [&](Index n) { return taken[static_cast<std::size_t>(n)] == 0; };
  const std::size_t bins = bin_of(latent.mean.size() > 0 ? latent.mean.cwiseAbs().maxCoeff() : 0.0) + 1;
  // First the largest variance of each bin, then that of all bins before it.
  std::vector<double> largest(bins + 1, std::numeric_limits<double>::lowest());
  for (Index n = 0; n < rows; ++n)
    if (is_free(n)) {
      double& before_next = largest[bin_of(latent.mean(n)) + 1];
      before_next = std::max(before_next, latent.variance(n));
    }
  for (std::size_t bin = 1; bin <= bins; ++bin) largest[bin] = std::max(largest[bin], largest[bin - 1]);
  std::vector<Index> out;
  for (Index n = 0; n < rows; ++n)
    if (is_free(n) && latent.variance(n) >= largest[bin_of(latent.mean(n))]) out.push_back(n);
  return out;
}

Index best_candidate(const Marginals& latent, const std::vector<char>& taken, ActiveScore score, int threads) {
  const std::vector<Index> candidates = not_ruled_out(latent, taken);
  const Vector scores = scores_of({latent.mean(candidates), latent.variance(candidates)}, score, threads);
  return candidates[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
}

}  // namespace gaussmith
