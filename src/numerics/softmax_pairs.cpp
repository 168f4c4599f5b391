#include "numerics/softmax_pairs.hpp"

#include "numerics/single_precision.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr Index lanes = single_lanes;

/// One group of points: `work` has two, `sum` one row of lanes a class.
GAUSSMITH_VECTORISED void add_group(const float* __restrict points, const float* __restrict weight,
                                    const float* __restrict mean, Index classes, Index directions,
                                    float* __restrict work, float* __restrict sum) {
  float* __restrict const moved = work;
  float* __restrict const term = work + classes * lanes;
  for (Index c = 0; c < classes; ++c) {
    float f[lanes] = {};
    for (Index k = 0; k < directions; ++k) {
      const float own = weight[c * directions + k];
      for (Index i = 0; i < lanes; ++i) f[i] += own * points[k * lanes + i];
    }
    for (Index i = 0; i < lanes; ++i) moved[c * lanes + i] = f[i];
  }
  for (const float sign : {1.0F, -1.0F}) {
    float top[lanes], total[lanes];
    for (Index i = 0; i < lanes; ++i) top[i] = mean[0] + sign * moved[i];
    for (Index c = 1; c < classes; ++c)
      for (Index i = 0; i < lanes; ++i) {
        const float f = mean[c] + sign * moved[c * lanes + i];
        top[i] = f > top[i] ? f : top[i];
      }
    for (Index i = 0; i < lanes; ++i) total[i] = 0.0F;
    for (Index c = 0; c < classes; ++c)
      for (Index i = 0; i < lanes; ++i) {
        const float e = single::exp(mean[c] + sign * moved[c * lanes + i] - top[i]);
        term[c * lanes + i] = e;
        total[i] += e;
      }
    for (Index i = 0; i < lanes; ++i) total[i] = 1.0F / total[i];
    for (Index c = 0; c < classes; ++c)
      for (Index i = 0; i < lanes; ++i) sum[c * lanes + i] += term[c * lanes + i] * total[i];
  }
}

GAUSSMITH_VECTORISED void fill_quantiles(const float* __restrict uniform, Index count, float* __restrict normal) {
  constexpr float least = 1e-8F, most = 1.0F - 1e-7F;
  for (Index i = 0; i < count; ++i) {
    const float u = uniform[i];
    normal[i] = single::normal_quantile(u < least ? least : (u > most ? most : u));
  }
}

}  // namespace

void normal_quantiles(const std::vector<float>& uniform, std::vector<float>& normal) {
  fill_quantiles(uniform.data(), static_cast<Index>(uniform.size()), normal.data());
}

SoftmaxPairs::SoftmaxPairs(const Vector& mean, const Matrix& directions)
    : classes_(mean.size()),
      directions_(directions.cols()),
      mean_(static_cast<std::size_t>(classes_)),
      weight_(static_cast<std::size_t>(classes_ * directions_)),
      work_(static_cast<std::size_t>(2 * lanes * classes_)),
      sum_(static_cast<std::size_t>(lanes * classes_)) {
  for (Index c = 0; c < classes_; ++c) {
    mean_[static_cast<std::size_t>(c)] = static_cast<float>(mean(c));
    for (Index k = 0; k < directions_; ++k)
      weight_[static_cast<std::size_t>(c * directions_ + k)] = static_cast<float>(directions(c, k));
  }
}

void SoftmaxPairs::add(const std::vector<float>& points, Index groups, Index dimension, Eigen::Ref<Vector> sum) {
  std::fill(sum_.begin(), sum_.end(), 0.0F);
  for (Index group = 0; group < groups; ++group)
    add_group(points.data() + group * dimension * lanes, weight_.data(), mean_.data(), classes_, directions_,
              work_.data(), sum_.data());
  for (Index c = 0; c < classes_; ++c)
    for (Index i = 0; i < lanes; ++i) sum(c) += static_cast<double>(sum_[static_cast<std::size_t>(c * lanes + i)]);
}

}  // namespace gaussmith
