#include "engines/anderson.hpp"

#include "linalg/qr.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index row_block = 1024;

/// Directions that contribute less than this are noise of earlier ones.
constexpr double smallest_pivot = std::numeric_limits<double>::epsilon();

}  // namespace

void AndersonMixing::clear() {
  points_.clear();
  residuals_.clear();
}

Vector AndersonMixing::next(const Vector& x, const Vector& f, const Vector& weight, double damping) {
  Vector proposed = propose(x, f, weight, damping);
  remember(x, f);
  return proposed;
}

Vector AndersonMixing::propose(const Vector& x, const Vector& f, const Vector& weight, double damping) const {
  const Vector step = damping * f;
  const auto past = static_cast<Index>(points_.size());
  if (past == 0) return x + step;
  // R of the weighted differences beside f, in blocks of rows: the differences themselves would take as much again as
  // what they are made of.
  Matrix triangle = Matrix::Zero(past + 1, past + 1);
  for (Index begin = 0; begin < f.size(); begin += row_block) {
    const Index count = std::min(row_block, f.size() - begin);
    const auto weights = weight.segment(begin, count);
    const auto now = f.segment(begin, count);
    Matrix rows(count, past + 1);
    for (Index i = 0; i < past; ++i)
      rows.col(i) = weights.cwiseProduct(now - residuals_[static_cast<std::size_t>(i)].segment(begin, count));
    rows.col(past) = weights.cwiseProduct(now);
    add_rows(triangle, rows);
  }
  Matrix differences = triangle.topLeftCorner(past, past).triangularView<Eigen::Upper>();
  // Columns of one length, so that pairs far away do not make near ones look dependent.
  const Vector length = differences.colwise().norm().transpose().unaryExpr([](double l) { return l > 0.0 ? l : 1.0; });
  differences *= length.cwiseInverse().asDiagonal();
  const Vector gamma =
      least_squares(std::move(differences), triangle.col(past).head(past), smallest_pivot).cwiseQuotient(length);
  if (!gamma.allFinite()) return x + step;
  Vector proposed = x + step;
  for (Index i = 0; i < past; ++i) {
    const auto k = static_cast<std::size_t>(i);
    proposed -= gamma(i) * ((x - points_[k]) + damping * (f - residuals_[k]));
  }
  return proposed;
}

void AndersonMixing::remember(const Vector& x, const Vector& f) {
  points_.push_front(x);
  residuals_.push_front(f);
  if (static_cast<int>(points_.size()) > depth_) {
    points_.pop_back();
    residuals_.pop_back();
  }
}

}  // namespace gaussmith
