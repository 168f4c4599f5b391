#include "class_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reproduce {
namespace {

// Cubic interpolation of the normal distribution function: within 2e-10.
constexpr double grid_end = 9.0;
constexpr int cells_a_unit = 64;

// With e ~ N(0, 1), P(f_c + e_c is the largest) = ∫ φ(t - f_c) ∏_{k != c} Φ(t - f_k) dt, an entire integrand: the
// trapezoidal rule over where the largest can be is within 1e-9.
constexpr double step = 0.35;
constexpr double below = 7.0, above = 8.0;

double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

}  // namespace

ClassLikelihood::ClassLikelihood(std::string_view likelihood, gs::Index classes)
    : probit_(likelihood == "multinomial-probit"), classes_(classes) {
  const int nodes = static_cast<int>(2.0 * grid_end) * cells_a_unit + 1;
  for (int i = 0; i < nodes; ++i) {
    const double x = static_cast<double>(i) / cells_a_unit - grid_end;
    cdf_.push_back(0.5 * std::erfc(-x / std::numbers::sqrt2));
    density_.push_back(normal_density(x) / cells_a_unit);
  }
}

double ClassLikelihood::normal_cdf(double x) const {
  const double place = (x + grid_end) * cells_a_unit;
  if (place <= 0.0) return 0.0;
  const auto cell = static_cast<std::size_t>(place);
  if (cell + 1 >= cdf_.size()) return 1.0;
  const double s = place - static_cast<double>(cell), r = 1.0 - s;
  return cdf_[cell] * r * r * (1.0 + 2.0 * s) + cdf_[cell + 1] * s * s * (1.0 + 2.0 * r) +
         s * r * (density_[cell] * r - density_[cell + 1] * s);
}

double ClassLikelihood::log_probability(gs::Index label, const double* f) const {
  const double largest = *std::max_element(f, f + classes_);
  double sum = 0.0;
  if (!probit_) {
    for (gs::Index c = 0; c < classes_; ++c) sum += std::exp(f[c] - largest);
    return f[label] - largest - std::log(sum);
  }
  for (double t = largest - below; t < largest + above; t += step) {
    double product = normal_density(t - f[label]);
    for (gs::Index c = 0; c < classes_; ++c)
      if (c != label) product *= normal_cdf(t - f[c]);
    sum += product;
  }
  return std::log(std::max(step * sum, 1e-300));
}

void ClassLikelihood::probabilities(const double* f, double* out) const {
  const double largest = *std::max_element(f, f + classes_);
  std::fill(out, out + classes_, 0.0);
  if (!probit_) {
    double sum = 0.0;
    for (gs::Index c = 0; c < classes_; ++c) sum += out[c] = std::exp(f[c] - largest);
    for (gs::Index c = 0; c < classes_; ++c) out[c] /= sum;
    return;
  }
  std::vector<double> cdf(static_cast<std::size_t>(classes_));
  for (double t = largest - below; t < largest + above; t += step) {
    double product = step;
    for (gs::Index c = 0; c < classes_; ++c)
      product *= cdf[static_cast<std::size_t>(c)] = std::max(normal_cdf(t - f[c]), 1e-13);
    for (gs::Index c = 0; c < classes_; ++c)
      out[c] += product / cdf[static_cast<std::size_t>(c)] * normal_density(t - f[c]);
  }
}

}  // namespace reproduce
