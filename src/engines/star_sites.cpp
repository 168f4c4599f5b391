#include "engines/star_sites.hpp"

#include "gaussian/site_form.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// A hub that is joined to all others and they to nothing else has an endless pi; this multiple of the diagonal does.
constexpr double largest_sum = 1e10;
constexpr int bisections = 200;

/// The share of one class, on the branch below or above a half.
double share_of(double t, double s, bool above) {
  const double root = std::sqrt(std::max(0.0, 1.0 - 4.0 * t / s));
  return above ? 0.5 * (1.0 + root) : 2.0 * t / (s * (1.0 + root));
}

}  // namespace

void star_of_diagonal(ConstSpan diagonal, Span pi) {
  const auto hub = static_cast<std::size_t>(std::max_element(diagonal.begin(), diagonal.end()) - diagonal.begin());
  const double largest = diagonal[hub];
  if (!(largest > 0.0)) return std::fill(pi.begin(), pi.end(), 0.0);
  const auto excess = [&](double s, bool above) {
    double sum = -1.0;
    for (std::size_t c = 0; c < diagonal.size(); ++c) sum += share_of(std::max(0.0, diagonal[c]), s, above && c == hub);
    return sum;
  };
  // Below a half for all: the sum of shares falls from s = 4 max T on. Otherwise the hub is above, and it rises to one.
  double low = 4.0 * largest;
  double high = largest_sum * largest;
  const bool above = excess(low, false) < 0.0;
  for (int i = 0; i < bisections && high > low * (1.0 + 1e-15); ++i) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    const double value = excess(middle, above);
    ((above ? value < 0.0 : value > 0.0) ? low : high) = middle;
  }
  const double s = high;
  for (std::size_t c = 0; c < diagonal.size(); ++c)
    pi[c] = s * share_of(std::max(0.0, diagonal[c]), s, above && c == hub);
}

void set_star_blocks(SiteApproximation& sites) {
  const Index c = sites.width;
  sites.precision.resize(sites.star.size() * c);
  for (Index n = 0; n < sites.star.size() / c; ++n) {
    const auto pi = sites.star.segment(n * c, c);
    Eigen::Map<Matrix> block(sites.precision.data() + n * c * c, c, c);
    const double sum = pi.sum();
    block.setZero();
    if (!(sum > 0.0)) continue;
    block.noalias() = -pi * (pi / sum).transpose();
    // pi_k (1 - pi_k / sum) as the sum of the other entries, without cancellation.
    for (Index k = 0; k < c; ++k) block(k, k) = 0.0;
    block.diagonal() = -block.rowwise().sum();
  }
}

void make_stars(SiteApproximation& sites) {
  const Vector diagonal = diagonals(sites.precision, sites.width);
  sites.star.resize(diagonal.size());
  const auto each = static_cast<std::size_t>(sites.width);
  for (Index first = 0; first < diagonal.size(); first += sites.width)
    star_of_diagonal({diagonal.data() + first, each}, {sites.star.data() + first, each});
  set_star_blocks(sites);
}

}  // namespace gaussmith
