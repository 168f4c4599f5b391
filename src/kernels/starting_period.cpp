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

/// The best a cos(w x) + b sin(w x) to y.
struct Wave {
  double cosine = 0.0, sine = 0.0;
  double explained = 0.0;  ///< The sum of squares of y that it takes away.
};

Wave best_wave(const Vector& x, const Vector& y, double frequency) {
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
  if (!(determinant > 1e-9 * (cc + ss) * (cc + ss))) return {};
  const double cosine = (ss * yc - cs * ys) / determinant;
  const double sine = (cc * ys - cs * yc) / determinant;
  return {cosine, sine, cosine * yc + sine * ys};
}

struct Candidate {
  double period = 1.0;
  double share = -1.0;  ///< Of the responses that it explains.
};

/// The strongest periods in one column, each of what those before it leave.
std::vector<Candidate> periods_in(const Vector& column, const Vector& responses, std::size_t count) {
  std::vector<double> sorted(column.begin(), column.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() < 4) return {};
  const double range = sorted.back() - sorted.front();
  const double spacing = range / static_cast<double>(sorted.size() - 1);
  if (!(range > 0.0) || !std::isfinite(range)) return {};
  const double lowest = 1.5 / range;
  const double highest = std::max(0.5 / spacing, 2.0 * lowest);
  const Candidate middle{1.0 / std::sqrt(lowest * highest), 0.0};
  if (responses.size() != column.size()) return {middle};
  const Vector x = column.array() - sorted.front();
  Vector y = detrended(x, responses);
  const double total = y.squaredNorm();
  if (!(total > 0.0)) return {middle};
  const double wanted = oversampling * range * (highest - lowest);
  const double frequencies =
      std::clamp(wanted, 2.0, std::min(most_frequencies, std::max(2.0, most_work / static_cast<double>(x.size()))));
  std::vector<Candidate> out;
  while (out.size() < count) {
    Candidate best = middle;
    Wave wave;
    for (double k = 0; k < frequencies; ++k) {
      const double frequency = lowest + (highest - lowest) * k / frequencies;
      const Wave found = best_wave(x, y, frequency);
      if (found.explained / total > best.share) {
        best = {1.0 / frequency, found.explained / total};
        wave = found;
      }
    }
    out.push_back(best);
    if (!(best.share > 0.0)) break;
    const Vector angles = (2.0 * std::numbers::pi / best.period) * x;
    y -= wave.cosine * angles.array().cos().matrix() + wave.sine * angles.array().sin().matrix();
  }
  return out;
}

}  // namespace

std::vector<double> strongest_periods(const Matrix& inputs, const Vector& responses, std::size_t count) {
  std::vector<Candidate> all;
  for (Index j = 0; j < inputs.cols(); ++j)
    for (const Candidate& found : periods_in(inputs.col(j), responses, count)) all.push_back(found);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.share > b.share; });
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) out.push_back(all[i].period);
  if (out.empty()) out.push_back(1.0);
  return out;
}

}  // namespace gaussmith
