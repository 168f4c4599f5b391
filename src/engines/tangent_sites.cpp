#include "engines/tangent_sites.hpp"

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

}  // namespace gaussmith
