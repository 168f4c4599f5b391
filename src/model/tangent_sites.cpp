#include "model/tangent_sites.hpp"

#include <cmath>
#include <vector>

namespace gaussmith {

namespace {

/// Slope beta and centre of every row.
struct Shape {
  std::vector<double> slope, centre;
  Shape(const SiteBlock& block, Index begin, std::size_t rows) : slope(rows), centre(rows) {
    block.bound_shape(begin, slope, centre);
  }
};

void tangents(const SiteBlock& block, Index begin, ConstSpan x, const Shape& shape, Span precision, Span shift) {
  block.bound(begin, x, {.value = {}, .first = precision, .second = {}});
  for (std::size_t i = 0; i < x.size(); ++i) {
    precision[i] *= -2.0;
    shift[i] = shape.slope[i] + precision[i] * shape.centre[i];
  }
}

}  // namespace

void tangent_sites(const SiteBlock& block, Index begin, ConstSpan x, Span precision, Span shift) {
  tangents(block, begin, x, Shape(block, begin, x.size()), precision, shift);
}

void tangent_sites_at(const SiteBlock& block, Index begin, ConstSpan eta, Span precision, Span shift) {
  const Shape shape(block, begin, eta.size());
  std::vector<double> x(eta.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (eta[i] - shape.centre[i]) * (eta[i] - shape.centre[i]);
  tangents(block, begin, x, shape, precision, shift);
}

void tangent_expectation(const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance,
                         const ExpectationOut& out) {
  const std::size_t rows = mean.size();
  const Shape shape(block, begin, rows);
  std::vector<double> x(rows);
  std::vector<double> value(out.value.size());
  std::vector<double> first(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double s = mean[i] - shape.centre[i];
    x[i] = s * s + variance[i];
  }
  block.bound(begin, x, {.value = value, .first = first, .second = {}});
  for (std::size_t i = 0; i < rows; ++i) {
    const double s = mean[i] - shape.centre[i];
    if (!out.value.empty()) out.value[i] = shape.slope[i] * s + value[i];
    if (!out.d_mean.empty()) out.d_mean[i] = shape.slope[i] + 2.0 * s * first[i];
    if (!out.d_variance.empty()) out.d_variance[i] = first[i];
  }
}

void tangent_bend(const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance, Span out) {
  const std::size_t rows = mean.size();
  const Shape shape(block, begin, rows);
  std::vector<double> x(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double s = mean[i] - shape.centre[i];
    x[i] = s * s + variance[i];
  }
  block.bound(begin, x, {.value = {}, .first = {}, .second = out});
  for (std::size_t i = 0; i < rows; ++i) {
    const double s = mean[i] - shape.centre[i];
    out[i] *= 4.0 * s * s;
  }
}

void tangent_parameter(const SiteBlock& block, Index begin, int parameter, ConstSpan mean, ConstSpan variance,
                       Span out) {
  const std::size_t rows = mean.size();
  const Shape shape(block, begin, rows);
  std::vector<double> left(rows);
  std::vector<double> right(rows);
  std::vector<double> share(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double s = mean[i] - shape.centre[i];
    const double xi = std::sqrt(s * s + variance[i]);
    left[i] = shape.centre[i] - xi;
    right[i] = shape.centre[i] + xi;
    share[i] = xi > 0.0 ? s / xi : 0.0;
  }
  std::vector<double> at_left(rows);
  std::vector<double> at_right(rows);
  block.parameter_derivatives(begin, parameter, left, {.value = at_left, .first = {}, .second = {}});
  block.parameter_derivatives(begin, parameter, right, {.value = at_right, .first = {}, .second = {}});
  for (std::size_t i = 0; i < rows; ++i)
    out[i] = 0.5 * (at_right[i] + at_left[i]) + 0.5 * share[i] * (at_right[i] - at_left[i]);
}

}  // namespace gaussmith
