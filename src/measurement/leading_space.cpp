#include "measurement/leading_space.hpp"

#include "linalg/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// What is left of a vector, beside its length, below which the space knows it already.
constexpr double smallest_rest = 1e-10;

/// v without its part in the columns of Q, of length one; `fresh` where nothing is left.
Vector new_direction(Vector v, const Eigen::Ref<const Matrix>& q, const std::function<Vector()>& fresh) {
  for (;;) {
    const double length = v.norm();
    for (int twice = 0; twice < 2; ++twice) v -= q * (q.transpose() * v);
    const double left = v.norm();
    if (left > smallest_rest * length && left > 0.0) return v / left;
    v = fresh();
  }
}

}  // namespace

void fix_signs(Matrix& vectors) {
  for (Index k = 0; k < vectors.cols(); ++k) {
    Index largest = 0;
    vectors.col(k).cwiseAbs().maxCoeff(&largest);
    if (vectors(largest, k) < 0.0) vectors.col(k) *= -1.0;
  }
}

LeadingSpace leading_space(const LinearMap& a, const Matrix& start, double tolerance, Index most,
                           const std::function<Vector()>& fresh) {
  const Index d = start.rows();
  const Index wanted = std::min(start.cols(), d);
  most = std::min(std::max(most, wanted), d);
  LeadingSpace out;
  Matrix products(d, 0);
  Matrix next = start.leftCols(wanted);
  for (;;) {
    const Index used = out.basis.cols();
    const Index width = std::min(next.cols(), most - used);
    out.basis.conservativeResize(d, used + width);
    for (Index k = 0; k < width; ++k)
      out.basis.col(used + k) = new_direction(next.col(k), out.basis.leftCols(used + k), fresh);
    next = a(out.basis.rightCols(width));
    out.products += width;
    products.conservativeResize(d, used + width);
    products.rightCols(width) = next;
    const Matrix border = out.basis.transpose() * next;
    out.projected.conservativeResize(used + width, used + width);
    out.projected.rightCols(width) = border;
    out.projected.bottomRows(width) = border.transpose();
    const SymmetricEigen eigen = symmetric_eigen(out.projected);
    const Matrix leading = eigen.vectors.rightCols(wanted).rowwise().reverse();
    out.values = eigen.values.tail(wanted).reverse();
    out.vectors = out.basis * leading;
    const Matrix residual = products * leading - out.vectors * out.values.asDiagonal();
    out.converged = (residual.colwise().norm().transpose().array() <= tolerance * out.values.array().abs()).all();
    if (out.converged || out.basis.cols() == most) break;
  }
  for (Index k = 0; k < wanted; ++k) out.vectors.col(k).normalize();
  fix_signs(out.vectors);
  return out;
}

}  // namespace gaussmith
