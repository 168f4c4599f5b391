#include "sampling/left_out_draws.hpp"

#include "base/parallel_blocks.hpp"
#include "model/site_rows.hpp"
#include "sampling/pareto_smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gaussmith {

namespace {

/// Smooths the log weights of all draws and scales them to sum to one; false where they say nothing.
bool smooth(Vector& log_weights) {
  if (!log_weights.allFinite()) return false;
  std::vector<Index> order(static_cast<std::size_t>(log_weights.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return log_weights(a) < log_weights(b); });
  const auto tail = static_cast<std::size_t>(tail_size(log_weights.size()));
  if (tail + 1 > order.size()) return false;
  std::vector<double> largest;
  for (std::size_t i = order.size() - tail; i < order.size(); ++i) largest.push_back(log_weights(order[i]));
  static_cast<void>(smooth_tail(largest, log_weights(order[order.size() - tail - 1])));
  for (std::size_t i = 0; i < tail; ++i) log_weights(order[order.size() - tail + i]) = largest[i];
  const double most = log_weights.maxCoeff();
  log_weights = (log_weights.array() - most).exp();
  log_weights /= log_weights.sum();
  return true;
}

}  // namespace

LeaveOneOut left_out_of_draws(const Model& model, const Matrix& latents, int threads) {
  const Index rows = model.rows();
  const Index width = latents.rows() / rows;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  LeaveOneOut out{{Vector::Constant(latents.rows(), none), Vector::Constant(latents.rows(), none)},
                  Vector::Constant(rows, none)};
  if (width > 1) out.latent.covariance = Vector::Constant(latents.rows() * width, none);
  Matrix values(rows, latents.cols());
  const SiteRows sites(model, threads);
  Vector value;
  for (Index s = 0; s < latents.cols(); ++s) {
    sites.log_density(latents.col(s), &value);
    values.col(s) = value;
  }
  parallel_blocks(rows, 16, threads, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      Vector weight = -values.row(n).transpose();
      if (!smooth(weight)) continue;
      const Vector density = values.row(n).transpose();
      const double most = density.maxCoeff();
      // What one response says, not all copies of it.
      const double copies = model.weights.size() > 0 ? model.weights(n) : 1.0;
      out.log_density(n) = most / copies + std::log(weight.dot(Vector(((density.array() - most) / copies).exp())));
      for (Index c = 0; c < width; ++c) {
        const Vector eta = latents.row(n * width + c);
        const double mean = weight.dot(eta);
        out.latent.mean(n * width + c) = mean;
        out.latent.variance(n * width + c) = weight.dot(Vector((eta.array() - mean).square()));
      }
      for (Index a = 0; a < width && width > 1; ++a)
        for (Index b = 0; b < width; ++b) {
          const Vector first = latents.row(n * width + a).array() - out.latent.mean(n * width + a);
          const Vector second = latents.row(n * width + b).array() - out.latent.mean(n * width + b);
          out.latent.covariance((n * width + a) * width + b) = weight.dot(first.cwiseProduct(second));
        }
    }
  });
  return out;
}

}  // namespace gaussmith
