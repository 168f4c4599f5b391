#include "sites/softmax.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gaussmith {

namespace {

struct Largest {
  std::size_t at;
  double others;   // 1 - p of the largest class, from the other classes: nothing cancels.
  double log_sum;  // log sum_c exp(eta_c - eta_at).
};

Largest largest_class(ConstSpan eta) {
  const auto at = static_cast<std::size_t>(std::max_element(eta.begin(), eta.end()) - eta.begin());
  double sum = 0.0;
  for (std::size_t c = 0; c < eta.size(); ++c)
    if (c != at) sum += std::exp(eta[c] - eta[at]);
  return {at, sum / (1.0 + sum), std::log1p(sum)};
}

}  // namespace

double softmax_log_density(Index label, ConstSpan eta, Span first, Span second) {
  const std::size_t size = eta.size();
  const auto y = static_cast<std::size_t>(label);
  assert(y < size && (second.empty() || !first.empty()));
  const Largest top = largest_class(eta);
  const double value = (eta[y] - eta[top.at]) - top.log_sum;
  if (first.empty()) return value;
  for (std::size_t c = 0; c < size; ++c) first[c] = std::exp((eta[c] - eta[top.at]) - top.log_sum);
  const auto complement = [&](std::size_t c) { return c == top.at ? top.others : 1.0 - first[c]; };
  if (!second.empty())
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b < size; ++b)
        second[a * size + b] = a == b ? -first[a] * complement(a) : first[a] * first[b];
  const double missing = complement(y);
  for (std::size_t c = 0; c < size; ++c) first[c] = -first[c];
  first[y] = missing;
  return value;
}

void softmax_curvature_slope(ConstSpan eta, ConstSpan covariance, Span out) {
  const std::size_t size = eta.size();
  assert(covariance.size() == size * size && out.size() == size);
  const Largest top = largest_class(eta);
  // In differences to the largest class, whose own w then holds no large numbers: what all classes share in V cancels
  // entry by entry, and not in w.
  const std::size_t t = top.at;
  const auto difference = [&](std::size_t a, std::size_t b) {
    return (covariance[a * size + b] - covariance[a * size + t]) -
           (covariance[t * size + b] - covariance[t * size + t]);
  };
  const auto probability = [&](std::size_t c) { return std::exp((eta[c] - eta[t]) - top.log_sum); };
  // w_c - p'Vp = V_cc - 2 (Vp)_c; the term that they share leaves no trace in w_k - sum_c p_c w_c.
  double mean = 0.0;
  for (std::size_t c = 0; c < size; ++c) {
    double pulled = 0.0;
    for (std::size_t b = 0; b < size; ++b)
      if (b != t) pulled += difference(c, b) * probability(b);
    out[c] = difference(c, c) - 2.0 * pulled;
    mean += probability(c) * out[c];
  }
  double others = 0.0;
  for (std::size_t c = 0; c < size; ++c) {
    if (c == t) continue;
    out[c] = -probability(c) * (out[c] - mean);
    others += out[c];
  }
  out[t] = -others;
}

}  // namespace gaussmith
