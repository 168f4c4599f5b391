#include "kernels/starting_period.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

/// Frequencies tried in one column, and products of rows and frequencies.
constexpr double most_frequencies = 4000;
constexpr double most_work = 4e6;
/// Frequencies for each that the range can tell apart.
constexpr double oversampling = 6;

/// Values without their best straight line in x.
Vector detrended(const Vector& x, const Vector& y) {
  const Vector dx = x.array() - x.mean();
  const double slope = dx.dot(y) / dx.squaredNorm();
  return y.array() - y.mean() - slope * dx.array();
}

/// The sum of squares that a cos(w x) + b sin(w x) explains of y.
double explained(const Vector& x, const Vector& y, double frequency) {
  double cc = 0, cs = 0, ss = 0, yc = 0, ys = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double angle = 2.0 * std::numbers::pi * frequency * x(i);
    const double c = std::cos(angle), s = std::sin(angle);
    cc += c * c;
    cs += c * s;
    ss += s * s;
    yc += y(i) * c;
    ys += y(i) * s;
  }
  const double determinant = cc * ss - cs * cs;
  if (!(determinant > 1e-9 * (cc + ss) * (cc + ss))) return 0.0;
  return (ss * yc * yc - 2.0 * cs * yc * ys + cc * ys * ys) / determinant;
}

struct Candidate {
  double period = 1.0;
  double share = -1.0;  ///< Of the responses that it explains.
};

Candidate best_period(const Vector& column, const Vector& responses) {
  std::vector<double> sorted(column.begin(), column.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() < 4) return {};
  const double range = sorted.back() - sorted.front();
  const double spacing = range / static_cast<double>(sorted.size() - 1);
  if (!(range > 0.0) || !std::isfinite(range)) return {};
  const double lowest = 1.5 / range;
  const double highest = std::max(0.5 / spacing, 2.0 * lowest);
  Candidate best{1.0 / std::sqrt(lowest * highest), 0.0};
  if (responses.size() != column.size()) return best;
  const Vector x = column.array() - sorted.front();
  const Vector y = detrended(x, responses);
  const double total = y.squaredNorm();
  if (!(total > 0.0)) return best;
  const double wanted = oversampling * range * (highest - lowest);
  const double count =
      std::clamp(wanted, 2.0, std::min(most_frequencies, std::max(2.0, most_work / static_cast<double>(x.size()))));
  for (double k = 0; k < count; ++k) {
    const double frequency = lowest + (highest - lowest) * k / count;
    const double share = explained(x, y, frequency) / total;
    if (share > best.share) best = {1.0 / frequency, share};
  }
  return best;
}

}  // namespace

double starting_period(const Matrix& inputs, const Vector& responses) {
  Candidate best;
  for (Index j = 0; j < inputs.cols(); ++j) {
    const Candidate found = best_period(inputs.col(j), responses);
    if (found.share > best.share) best = found;
  }
  return best.period;
}

}  // namespace gaussmith
