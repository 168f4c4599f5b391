#include "active/inclusion.hpp"

#include <cmath>

namespace gaussmith {

namespace {

constexpr double accuracy = 1e-13;
/// Of scores, which only have to be compared.
constexpr double score_accuracy = 1e-7;
constexpr int most_steps = 200;
/// Below this the series is exact to rounding.
constexpr double small_place = 1e-4;

/// tanh(xi/2) / (2 xi).
double tangent_precision(double place) {
  return place < small_place ? 0.25 - place * place / 48.0 : std::tanh(0.5 * place) / (2.0 * place);
}

/// xi of the marginal with a tangent of this precision.
double place_after(const Marginal& marginal, double shift, double precision) {
  const double shrink = 1.0 / (1.0 + precision * marginal.variance);
  const double mean = (marginal.mean + marginal.variance * shift) * shrink;
  return std::sqrt(mean * mean + marginal.variance * shrink);
}

/// The zero of place_after(xi) - xi by secants, kept within what is known of it: the map rises, from that of the
/// steepest tangent to that of the flattest.
IncludedSite tangent_for(const Marginal& marginal, double y, double accuracy_wanted) {
  const double shift = 0.5 * y;
  const auto gap_at = [&](double place) { return place_after(marginal, shift, tangent_precision(place)) - place; };
  double below = place_after(marginal, shift, 0.25);
  double above = place_after(marginal, shift, 0.0);
  // As if the label were no news, and the map's answer to that.
  double before = std::sqrt(marginal.mean * marginal.mean + marginal.variance);
  double gap_before = gap_at(before);
  double place = before + gap_before;
  double gap = gap_at(place);
  for (int step = 0; step < most_steps && std::abs(gap) > accuracy_wanted * place; ++step) {
    double& bracket = gap > 0.0 ? below : above;
    bracket = place;
    const double secant = place - gap * (place - before) / (gap - gap_before);
    before = place;
    gap_before = gap;
    place = secant > below && secant < above ? secant : 0.5 * (below + above);
    if (place == before) break;
    gap = gap_at(place);
  }
  return {tangent_precision(place), shift};
}

}  // namespace

IncludedSite include_label(const Marginal& marginal, double y) { return tangent_for(marginal, y, accuracy); }

double divergence_by(const IncludedSite& site, const Marginal& marginal) {
  const double ratio = 1.0 + site.precision * marginal.variance;
  const double pull = site.shift - site.precision * marginal.mean;
  return 0.5 * (std::log1p(site.precision * marginal.variance) +
                marginal.variance / ratio * (pull * pull / ratio - site.precision));
}

double information_gain(const Marginal& marginal, double probability) {
  return probability * divergence_by(tangent_for(marginal, 1.0, score_accuracy), marginal) +
         (1.0 - probability) * divergence_by(tangent_for(marginal, -1.0, score_accuracy), marginal);
}

}  // namespace gaussmith
