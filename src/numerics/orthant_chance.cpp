#include "numerics/orthant_chance.hpp"

#include "numerics/other_class.hpp"
#include "numerics/single_precision.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr Index lanes = single_lanes;

/// One group of points: the sum over lanes of the product.
GAUSSMITH_VECTORISED void add_group(const float* __restrict points, const float* __restrict bound,
                                    const float* __restrict factor, Index count, float* __restrict z,
                                    float* __restrict sum) {
  constexpr float least = 1e-8F;
  float product[lanes];
  for (Index i = 0; i < lanes; ++i) product[i] = 1.0F;
  for (Index k = 0; k < count; ++k) {
    float t[lanes];
    for (Index i = 0; i < lanes; ++i) t[i] = bound[k];
    for (Index j = 0; j < k; ++j) {
      const float own = factor[j];
      for (Index i = 0; i < lanes; ++i) t[i] -= own * z[j * lanes + i];
    }
    factor += k;
    for (Index i = 0; i < lanes; ++i) {
      const float chance = single::ndtr(t[i]);
      product[i] *= chance;
      t[i] = chance;
    }
    if (k + 1 == count) break;
    for (Index i = 0; i < lanes; ++i) {
      // A chance below the least leaves a product below it, too.
      const float u = points[k * lanes + i] * t[i];
      z[k * lanes + i] = single::normal_quantile(u > least ? (u < 1.0F - 1e-7F ? u : 1.0F - 1e-7F) : least);
    }
  }
  for (Index i = 0; i < lanes; ++i) sum[i] += product[i];
}

}  // namespace

OrthantChance::OrthantChance(Index label, const Vector& mean, const Matrix& covariance)
    : count_(mean.size() - 1),
      bound_(static_cast<std::size_t>(count_)),
      factor_(static_cast<std::size_t>(count_ * (count_ - 1) / 2)),
      work_(static_cast<std::size_t>(lanes * count_)) {
  Vector m(count_);
  Matrix s(count_, count_);
  for (Index i = 0; i < count_; ++i) {
    const Index a = other_class(i, label);
    m(i) = mean(a) - mean(label);
    for (Index j = 0; j < count_; ++j) {
      const Index b = other_class(j, label);
      s(i, j) = covariance(a, b) - covariance(a, label) - covariance(label, b) + covariance(label, label);
    }
  }
  // A Cholesky factorisation that takes the variable next whose chance is smallest where the others are at the means
  // of their truncated distributions.
  Vector spread = s.diagonal();
  const double least = std::numeric_limits<double>::epsilon() * spread.sum();
  Matrix l = Matrix::Zero(count_, count_);
  Vector expected = Vector::Zero(count_);
  for (Index k = 0; k < count_; ++k) {
    Index next = k;
    double smallest = std::numeric_limits<double>::infinity();
    for (Index i = k; i < count_; ++i) {
      const double t = -(m(i) + l.row(i).head(k).dot(expected.head(k))) / std::sqrt(std::max(least, spread(i)));
      if (t < smallest) {
        smallest = t;
        next = i;
      }
    }
    if (next != k) {
      s.row(k).swap(s.row(next));
      s.col(k).swap(s.col(next));
      l.row(k).head(k).swap(l.row(next).head(k));
      std::swap(m(k), m(next));
      std::swap(spread(k), spread(next));
    }
    l(k, k) = std::sqrt(std::max(least, spread(k)));
    for (Index i = k + 1; i < count_; ++i) {
      l(i, k) = (s(i, k) - l.row(i).head(k).dot(l.row(k).head(k))) / l(k, k);
      spread(i) -= l(i, k) * l(i, k);
    }
    // The mean of a standard normal variable below t: -phi(t)/Phi(t).
    expected(k) = -mills(smallest);
    bound_[static_cast<std::size_t>(k)] = static_cast<float>(-m(k) / l(k, k));
    for (Index j = 0; j < k; ++j)
      factor_[static_cast<std::size_t>(k * (k - 1) / 2 + j)] = static_cast<float>(l(k, j) / l(k, k));
  }
}

double OrthantChance::add(const std::vector<float>& points, Index groups, Index dimension) {
  float sum[lanes] = {};
  for (Index group = 0; group < groups; ++group)
    add_group(points.data() + group * dimension * lanes, bound_.data(), factor_.data(), count_, work_.data(), sum);
  double total = 0.0;
  for (const float own : sum) total += static_cast<double>(own);
  return total;
}

}  // namespace gaussmith
