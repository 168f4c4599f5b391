#include "engines/anderson.hpp"

#include "linalg/qr.hpp"

#include <limits>
#include <utility>

namespace gaussmith {

namespace {

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
  Matrix differences(f.size(), past);
  for (Index i = 0; i < past; ++i)
    differences.col(i) = weight.cwiseProduct(f - residuals_[static_cast<std::size_t>(i)]);
  // Columns of one length, so that pairs far away do not make near ones look dependent.
  const Vector length = differences.colwise().norm().transpose().unaryExpr([](double l) { return l > 0.0 ? l : 1.0; });
  differences *= length.cwiseInverse().asDiagonal();
  const Vector gamma =
      least_squares(std::move(differences), weight.cwiseProduct(f), smallest_pivot).cwiseQuotient(length);
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
