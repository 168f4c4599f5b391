#include "sampling/annealed_importance.hpp"

#include "base/parallel_blocks.hpp"
#include "base/random_stream.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "numerics/normal_numbers.hpp"
#include "sampling/elliptical_slices.hpp"
#include "sampling/pareto_smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gaussmith {

namespace {

/// Particles that share a product with the root.
constexpr Index batch = 25;
/// Blocks between two looks at the caller's wishes.
constexpr Index round_blocks = 4;

/// Powers from 0 to 1, close to one another where the first steps away from the reference change most.
double power_at(int step, int steps) {
  const double share = static_cast<double>(step) / static_cast<double>(steps);
  return share * share * share * share;
}

}  // namespace

AnnealedParticles anneal(const ChainTarget& target, const AnnealingOptions& options, const Progress& progress) {
  const BlasThreads one(1);
  const ReferenceGaussian& reference = *target.reference;
  const SamplingSpace& space = reference.space();
  const int threads = target.sites->any_thread() ? resolve_threads(options.threads) : 1;
  const Index blocks = (options.particles + batch - 1) / batch;
  const Index k = reference.rank();
  AnnealedParticles out;
  out.latents.resize(space.latents(), blocks * batch);
  Matrix coordinates(space.weights_are_latents() ? 0 : k, blocks * batch);
  out.log_weights.resize(blocks * batch);

  Index done = 0;
  while (done < blocks && !out.stopped) {
    const Index until = std::min(blocks, done + round_blocks);
    parallel_blocks(until - done, 1, threads, [&](Index b, Index /*end*/) {
      const Index begin = (done + b) * batch;
      Random random = random_stream(options.seed, static_cast<std::uint64_t>(done + b));
      Matrix x(k, batch);
      fill_normal(random, {x.data(), static_cast<std::size_t>(x.size())});
      Matrix moved = x;
      Matrix d;
      reference.spread(moved, d);
      Vector change(batch);
      for (Index j = 0; j < batch; ++j) change(j) = target.change(d.col(j));
      Vector weight = Vector::Zero(batch);
      Matrix z(k, batch);
      Matrix pz;
      for (int step = 1; step <= options.temperatures; ++step) {
        const double power = power_at(step, options.temperatures);
        weight += (power - power_at(step - 1, options.temperatures)) * change;
        for (int move = 0; move < options.moves; ++move) {
          fill_normal(random, {z.data(), static_cast<std::size_t>(z.size())});
          moved = z;
          reference.spread(moved, pz);
          for (Index j = 0; j < batch; ++j) {
            double now = power * change(j);
            elliptical_move(x.col(j), d.col(j), z.col(j), pz.col(j), now, random,
                            [&](const Vector& at, double /*square*/) { return power * target.change(at); });
            change(j) = now / power;
          }
        }
      }
      out.log_weights.segment(begin, batch) = weight;
      for (Index j = 0; j < batch; ++j) out.latents.col(begin + j) = d.col(j) + reference.latent_mean();
      if (coordinates.rows() > 0) coordinates.middleCols(begin, batch) = x;
    });
    done = until;
    const Iteration told{static_cast<int>(done * batch), static_cast<double>(done * batch),
                         static_cast<double>((blocks - done) * batch), "particles"};
    out.stopped = progress.tell(told) != Next::proceed && done < blocks;
  }
  const Index made = done * batch;
  out.latents.conservativeResize(Eigen::NoChange, made);
  out.log_weights.conservativeResize(made);
  if (coordinates.rows() > 0) {
    out.weights = times(reference.weight_root(), coordinates.leftCols(made));
    out.weights.colwise() += reference.weight_mean();
    Random unseen = random_stream(options.seed, 1u << 30);
    if (space.unseen_variance().size() > 0) out.weights += space.unseen_draws(made, unseen);
  }

  const double most = out.log_weights.maxCoeff();
  if (!std::isfinite(most)) {
    out.log_evidence = -std::numeric_limits<double>::infinity();
    out.evidence_error = out.pareto_k = std::numeric_limits<double>::infinity();
    out.smoothed = Vector::Constant(made, 1.0 / static_cast<double>(made));
    return out;
  }
  const Vector raw = (out.log_weights.array() - most).exp();
  const double sum = raw.sum();
  out.log_evidence = reference.log_normaliser() + most + std::log(sum / static_cast<double>(made));
  out.evidence_error = std::sqrt(std::max(0.0, raw.squaredNorm() / (sum * sum) - 1.0 / static_cast<double>(made)));
  std::vector<Index> order(static_cast<std::size_t>(made));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return out.log_weights(a) < out.log_weights(b); });
  const auto tail = static_cast<std::size_t>(tail_size(made));
  std::vector<double> largest;
  for (std::size_t i = order.size() - tail; i < order.size(); ++i) largest.push_back(out.log_weights(order[i]));
  out.pareto_k = smooth_tail(largest, out.log_weights(order[order.size() - tail - 1]));
  out.smoothed = raw;
  for (std::size_t i = 0; i < tail; ++i) out.smoothed(order[order.size() - tail + i]) = std::exp(largest[i] - most);
  out.smoothed /= out.smoothed.sum();
  out.effective = 1.0 / out.smoothed.squaredNorm();
  return out;
}

}  // namespace gaussmith
