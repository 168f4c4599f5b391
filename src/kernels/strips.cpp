#include "kernels/strips.hpp"

#include "base/vectorised.hpp"

namespace gaussmith {

namespace {

inline double cut(double square) { return square < farthest_square ? square : farthest_square; }

inline double scaled_square(double difference, double inverse_scale) {
  const double scaled = difference * inverse_scale;
  return scaled * scaled;
}

// Raw pointers below: the compiler vectorises these loops only when it sees plain arrays that do not overlap.

GAUSSMITH_VECTORISED
void add_squares(const double* __restrict x, Index stride, Index rows, Index columns, const double* point,
                 const double* inverse_scale, double* __restrict squares) {
  for (Index i = 0; i < rows; ++i) squares[i] = 0.0;
  Index c = 0;
  // Four columns a pass: the sums are loaded and stored a quarter as often.
  for (; c + 4 <= columns; c += 4) {
    const double* x0 = x + c * stride;
    const double* x1 = x0 + stride;
    const double* x2 = x1 + stride;
    const double* x3 = x2 + stride;
    const double z0 = point[c], z1 = point[c + 1], z2 = point[c + 2], z3 = point[c + 3];
    const double s0 = inverse_scale[c], s1 = inverse_scale[c + 1], s2 = inverse_scale[c + 2], s3 = inverse_scale[c + 3];
    for (Index i = 0; i < rows; ++i) {
      squares[i] += (scaled_square(x0[i] - z0, s0) + scaled_square(x1[i] - z1, s1)) +
                    (scaled_square(x2[i] - z2, s2) + scaled_square(x3[i] - z3, s3));
    }
  }
  for (; c < columns; ++c) {
    const double* xc = x + c * stride;
    const double zc = point[c], sc = inverse_scale[c];
    for (Index i = 0; i < rows; ++i) squares[i] += scaled_square(xc[i] - zc, sc);
  }
  for (Index i = 0; i < rows; ++i) squares[i] = cut(squares[i]);
}

GAUSSMITH_VECTORISED
void add_square_parts(const double* __restrict x, Index stride, Index rows, Index columns, const double* point,
                      const double* inverse_scale, double* __restrict squares, double* __restrict parts,
                      Index part_stride) {
  for (Index i = 0; i < rows; ++i) squares[i] = 0.0;
  for (Index c = 0; c < columns; ++c) {
    const double* xc = x + c * stride;
    double* part = parts + c * part_stride;
    const double zc = point[c], sc = inverse_scale[c];
    for (Index i = 0; i < rows; ++i) {
      const double square = cut(scaled_square(xc[i] - zc, sc));
      part[i] = square;
      squares[i] += square;
    }
  }
  for (Index i = 0; i < rows; ++i) squares[i] = cut(squares[i]);
}

GAUSSMITH_VECTORISED
void add_products(const double* __restrict x, Index stride, Index rows, Index columns, const double* point,
                  double offset, double* __restrict products) {
  for (Index i = 0; i < rows; ++i) products[i] = offset;
  for (Index c = 0; c < columns; ++c) {
    const double* xc = x + c * stride;
    const double zc = point[c];
    for (Index i = 0; i < rows; ++i) products[i] += xc[i] * zc;
  }
}

GAUSSMITH_VECTORISED
double dot(const double* a, const double* b, double at, Index count) {
  // Independent partial sums: without them IEEE order would forbid vector additions.
  constexpr Index lanes = 16;
  double partial[lanes] = {};
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (Index k = 0; k < lanes; ++k) partial[k] += a[i + k] * (b[i + k] - at);
  }
  for (Index k = 0; i < count; ++i, ++k) partial[k] += a[i] * (b[i] - at);
  for (Index half = lanes / 2; half > 0; half /= 2) {
    for (Index k = 0; k < half; ++k) partial[k] += partial[k + half];
  }
  return partial[0];
}

}  // namespace

void squared_distances(const Matrix& x, Index first, ConstSpan point, ConstSpan inverse_scale, Span squares) {
  add_squares(x.data() + first, x.rows(), static_cast<Index>(squares.size()), x.cols(), point.data(),
              inverse_scale.data(), squares.data());
}

void squared_distance_parts(const Matrix& x, Index first, ConstSpan point, ConstSpan inverse_scale, Span squares,
                            Eigen::Ref<Matrix> parts) {
  add_square_parts(x.data() + first, x.rows(), static_cast<Index>(squares.size()), x.cols(), point.data(),
                   inverse_scale.data(), squares.data(), parts.data(), parts.outerStride());
}

void inner_products(const Matrix& x, Index first, ConstSpan point, double offset, Span products) {
  add_products(x.data() + first, x.rows(), static_cast<Index>(products.size()), x.cols(), point.data(), offset,
               products.data());
}

double weighted_sum(ConstSpan a, ConstSpan b) { return dot(a.data(), b.data(), 0.0, static_cast<Index>(a.size())); }

double weighted_differences(ConstSpan a, ConstSpan x, double at) {
  return dot(a.data(), x.data(), at, static_cast<Index>(a.size()));
}

void scale(double factor, Span values) {
  for (double& value : values) value *= factor;
}

void multiply(ConstSpan a, ConstSpan b, Span out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] * b[i];
}

}  // namespace gaussmith
