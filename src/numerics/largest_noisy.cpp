#include "numerics/largest_noisy.hpp"

#include "base/vectorised.hpp"
#include "numerics/batch.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

/// Nodes that are worked on side by side.
constexpr Index lanes = 8;
/// Places between two nodes where distributions are tabulated; cubic Hermite between them errs by 1e-7 in the density.
constexpr Index phases = 16;
/// Noise of a smaller variance needs finer places.
constexpr double least_variance = 0.01;
/// Standard deviations in steps at most: that many nodes.
constexpr double most_steps = 40.0;
/// Sums over a Gumbel density need nodes as near as this.
constexpr double widest_gumbel_step = 0.4;
/// A normal variable is this far below or above its mean with a chance of 1e-8; so is a Gumbel one.
constexpr double normal_reach = 5.7, gumbel_below = 3.0, gumbel_above = 18.0;

double own_variance(ClassLink link, double variance) { return link == ClassLink::probit ? 1.0 + variance : variance; }

/// The largest of C normal variables has a standard deviation near s/sqrt(2 log C), which the step resolves; the
/// largest of Gumbel variables is one again, whose characteristic function falls as exp(-pi w/2).
double step_for(ClassLink link, const Vector& variance) {
  const double classes = static_cast<double>(variance.size());
  const double normal = 1.15 * std::sqrt(own_variance(link, variance.minCoeff()) / (2.0 + 2.0 * std::log(classes)));
  return link == ClassLink::probit ? normal : std::max(0.5, normal);
}

/// A class at a point: its first places in the table, how far the point is between two, and how many nodes count.
struct Place {
  const double *value, *next_value, *slope, *next_slope;
  double between;
  Index nodes;
};

/// Sums over nodes of a point: `out` has `lanes` sums for every class and for the mean of the largest, which is counted
/// in steps from the first node. `work` holds 2 `lanes` numbers a class.
GAUSSMITH_VECTORISED void sum_over_nodes(const Place* places, Index classes, Index nodes, double* work, double* out) {
  for (Index first = 0; first < nodes; first += lanes) {
    double product[lanes], density[lanes], node[lanes];
    for (Index i = 0; i < lanes; ++i) {
      product[i] = 1.0;
      density[i] = 0.0;
      node[i] = static_cast<double>(first + i);
    }
    for (Index c = 0; c < classes; ++c) {
      const Place& p = places[c];
      if (first >= p.nodes) continue;
      const double x = p.between;
      const double ease = x * x * (3.0 - 2.0 * x), leave = x * (1.0 - x) * (1.0 - x), arrive = x * x * (x - 1.0);
      const double d_ease = 6.0 * x * (1.0 - x), d_leave = (1.0 - x) * (1.0 - 3.0 * x), d_arrive = x * (3.0 * x - 2.0);
      double* __restrict distribution = work + 2 * lanes * c;
      double* __restrict share = distribution + lanes;
      const double* __restrict value = p.value + first;
      const double* __restrict next_value = p.next_value + first;
      const double* __restrict slope = p.slope + first;
      const double* __restrict next_slope = p.next_slope + first;
      for (Index i = 0; i < lanes; ++i) {
        const double rise = next_value[i] - value[i];
        const double a = slope[i], b = next_slope[i];
        distribution[i] = value[i] + (ease * rise + (leave * a + arrive * b));
        share[i] = product[i] * (d_ease * rise + (d_leave * a + d_arrive * b));
        product[i] *= distribution[i];
      }
    }
    for (Index i = 0; i < lanes; ++i) product[i] = 1.0;
    for (Index c = classes - 1; c >= 0; --c) {
      if (first >= places[c].nodes) continue;
      const double* __restrict distribution = work + 2 * lanes * c;
      const double* __restrict share = distribution + lanes;
      double* __restrict sum = out + lanes * c;
      for (Index i = 0; i < lanes; ++i) {
        const double chance = share[i] * product[i];
        sum[i] += chance;
        density[i] += chance;
        product[i] *= distribution[i];
      }
    }
    double* __restrict mean = out + lanes * classes;
    for (Index i = 0; i < lanes; ++i) mean[i] += density[i] * node[i];
  }
}

/// Distribution and density of a standard Gumbel variable at `from` + i `width`.
void gumbel(double from, double width, Vector& value, Vector& density) {
  constexpr double least_argument = -700.0;
  for (Index i = 0; i < value.size(); ++i)
    density(i) = -std::max(least_argument, from + static_cast<double>(i) * width);
  batch::exp(view(density), view(density));
  value = -density;
  batch::exp(view(value), view(value));
  density.array() *= value.array();
}

/// Distribution and density of a standard Gumbel variable with wide normal noise, by the trapezoidal rule over the
/// former, whose nodes are few however wide the noise is.
void wide_gumbel(double from, double width, double deviation, Vector& value, Vector& density) {
  constexpr double lowest = -4.0, highest = 24.0, apart = widest_gumbel_step;
  Vector nodes(static_cast<Index>((highest - lowest) / apart) + 1), weight(nodes.size());
  gumbel(lowest, apart, nodes, weight);
  weight /= weight.sum();
  value.setZero();
  density.setZero();
  Vector z(value.size()), part(value.size());
  for (Index k = 0; k < weight.size(); ++k) {
    const double shift = lowest + static_cast<double>(k) * apart;
    for (Index i = 0; i < z.size(); ++i) z(i) = (from + static_cast<double>(i) * width - shift) / deviation;
    part = -0.5 * z.array().square();
    batch::exp(view(part), view(part));
    density += weight(k) * part;
    batch::ndtr(view(z), view(z));
    value += weight(k) * z;
  }
  density /= deviation * std::sqrt(2.0 * std::numbers::pi);
}

}  // namespace

Vector LargestNoisy::usable(ClassLink link, const Vector& variance) {
  const Vector large = (variance.array() < least_variance).select(0.0, variance);
  const double most = most_steps * step_for(link, large);
  return large.cwiseMin(most * most);
}

LargestNoisy::LargestNoisy(ClassLink link, const Vector& variance)
    : step_(step_for(link, variance)), spread_(std::sqrt(1.0 + variance.maxCoeff())) {
  for (const double own : variance) tables_.push_back(table(link, own));
  work_.resize(lanes * (3 * variance.size() + 1));
}

LargestNoisy::Table LargestNoisy::table(ClassLink link, double variance) const {
  const double width = step_ / static_cast<double>(phases);
  const double deviation = std::sqrt(own_variance(link, variance));
  Table t;
  t.lower = -normal_reach * deviation;
  t.upper = normal_reach * deviation;
  if (link == ClassLink::logit) {
    // The right tail is exp(-x + variance/2) until the normal one is thicker.
    t.lower -= gumbel_below;
    t.upper = gumbel_above + std::min(t.upper, 0.5 * variance);
  }
  t.slots = static_cast<Index>(std::ceil((t.upper - t.lower) / step_)) + 1;
  t.stride = t.slots + 2 * lanes;
  const Index places = phases * t.stride + 1;
  Vector value(places), density(places);
  if (link == ClassLink::probit) {
    for (Index i = 0; i < places; ++i) value(i) = (t.lower + static_cast<double>(i) * width) / deviation;
    density = -0.5 * value.array().square();
    batch::exp(view(density), view(density));
    density /= deviation * std::sqrt(2.0 * std::numbers::pi);
    batch::ndtr(view(value), view(value));
  } else if (variance == 0.0) {
    gumbel(t.lower, width, value, density);
  } else if (width > widest_gumbel_step) {
    wide_gumbel(t.lower, width, deviation, value, density);
  } else {
    // The trapezoidal rule over the normal noise, on places of the table: accurate to 1e-8 or better.
    const auto apart = std::max(Index{1}, static_cast<Index>(std::min(0.6 * deviation, widest_gumbel_step) / width));
    const auto half = static_cast<Index>(std::ceil(6.5 * deviation / (static_cast<double>(apart) * width)));
    Vector plain(places + 2 * half * apart), plain_density(plain.size());
    gumbel(t.lower - static_cast<double>(half * apart) * width, width, plain, plain_density);
    value.setZero();
    density.setZero();
    double total = 0.0;
    for (Index k = -half; k <= half; ++k) {
      const double z = static_cast<double>(k * apart) * width / deviation;
      const double weight = std::exp(-0.5 * z * z);
      value += weight * plain.segment((half + k) * apart, places);
      density += weight * plain_density.segment((half + k) * apart, places);
      total += weight;
    }
    value /= total;
    density /= total;
  }
  density *= width;
  t.value.resize((phases + 1) * t.stride);
  t.slope.resize(t.value.size());
  for (Index phase = 0; phase <= phases; ++phase)
    for (Index slot = 0; slot < t.stride; ++slot) {
      const bool beyond = slot > t.slots;
      const Index from = std::min(places - 1, phases * slot + phase);
      t.value(phase * t.stride + slot) = beyond ? 1.0 : value(from);
      t.slope(phase * t.stride + slot) = beyond ? 0.0 : density(from);
    }
  return t;
}

void LargestNoisy::add(const Eigen::Ref<const Matrix>& f, Eigen::Ref<Vector> sum) {
  const auto classes = static_cast<Index>(tables_.size());
  std::vector<Place> places(tables_.size());
  double* const sums = work_.data() + 2 * lanes * classes;
  for (Index point = 0; point < f.rows(); ++point) {
    double first = f(point, 0) + tables_[0].lower, last = f(point, 0) + tables_[0].upper;
    for (Index c = 1; c < classes; ++c) {
      first = std::max(first, f(point, c) + tables_[static_cast<std::size_t>(c)].lower);
      last = std::max(last, f(point, c) + tables_[static_cast<std::size_t>(c)].upper);
    }
    const auto nodes = static_cast<Index>(std::ceil((last - first) / step_));
    for (Index c = 0; c < classes; ++c) {
      const Table& t = tables_[static_cast<std::size_t>(c)];
      Place& p = places[static_cast<std::size_t>(c)];
      const double from = std::min((first - f(point, c) - t.lower) / step_, static_cast<double>(t.slots));
      const auto slot = static_cast<Index>(from);
      const double phase = (from - static_cast<double>(slot)) * static_cast<double>(phases);
      const auto before = static_cast<Index>(phase);
      const Index at = before * t.stride + slot;
      p = {t.value.data() + at,
           t.value.data() + at + t.stride,
           t.slope.data() + at,
           t.slope.data() + at + t.stride,
           phase - static_cast<double>(before),
           std::min(nodes, t.slots - slot)};
    }
    std::fill(sums, sums + lanes * (classes + 1), 0.0);
    sum_over_nodes(places.data(), classes, nodes, work_.data(), sums);
    const Eigen::Map<const Matrix> by_lane(sums, lanes, classes + 1);
    const Vector chance = by_lane.colwise().sum().transpose() * static_cast<double>(phases);
    sum.head(classes) += chance.head(classes);
    // That chances do not quite add up to one is no news of where the largest is.
    sum(classes) += first + chance(classes) / chance.head(classes).sum() * step_;
  }
}

}  // namespace gaussmith
