#include "sampling/chains.hpp"

#include "base/parallel_blocks.hpp"
#include "base/random_stream.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

/// Draws of every chain between two looks at the caller's wishes.
constexpr Index round_length = 20;

}  // namespace

double ChainTarget::change_at(const Vector& d, const Vector& eta) const {
  return sites->total(view(eta)) - reference->site_change(view(d));
}

double ChainTarget::change(const Vector& d, Vector& gradient) const {
  const Vector eta = reference->latent_mean() + d;
  gradient.resize(d.size());
  const double total = sites->total(view(eta), view(gradient));
  reference->add_site_gradient(view(d), -1.0, view(gradient));
  return total - reference->site_change(view(d));
}

ChainDraws run_chains(const ChainTarget& target,
                      const std::function<std::unique_ptr<Chain>(int chain, Random random)>& make,
                      const ChainOptions& options, const Progress& progress) {
  const BlasThreads one(1);
  const ReferenceGaussian& reference = *target.reference;
  const SamplingSpace& space = reference.space();
  const int threads = target.sites->any_thread() ? resolve_threads(options.threads) : 1;
  ChainDraws out;
  out.chains = options.chains;
  const Index wanted = (options.draws + options.chains - 1) / options.chains;
  std::vector<std::unique_ptr<Chain>> chains;
  std::vector<Matrix> latents;
  std::vector<Matrix> coordinates;
  for (int c = 0; c < options.chains; ++c) {
    chains.push_back(make(c, random_stream(options.seed, static_cast<std::uint64_t>(c))));
    latents.emplace_back(space.latents(), wanted);
    coordinates.emplace_back(space.weights_are_latents() ? 0 : space.rank(), wanted);
  }
  const Index all = options.warmup + wanted;
  Index done = 0;
  while (done < all && !out.stopped) {
    const Index until = std::min(all, done + round_length);
    parallel_blocks(options.chains, 1, threads, [&](Index c, Index /*end*/) {
      const auto at = static_cast<std::size_t>(c);
      for (Index i = done; i < until; ++i) {
        chains[at]->advance(i < options.warmup);
        if (i < options.warmup) continue;
        latents[at].col(i - options.warmup) = reference.latent_mean() + chains[at]->deviation();
        if (coordinates[at].rows() > 0) coordinates[at].col(i - options.warmup) = chains[at]->x();
      }
    });
    done = until;
    const Iteration told{static_cast<int>(done), static_cast<double>(std::max<Index>(0, done - options.warmup)),
                         static_cast<double>(all - done), done <= options.warmup ? "warm-up" : "draws"};
    out.stopped = progress.tell(told) != Next::proceed && done < all;
  }
  out.length = std::max<Index>(0, done - options.warmup);
  out.latents.resize(space.latents(), out.length * out.chains);
  out.weights.resize(space.weights_are_latents() ? 0 : space.weights(), out.latents.cols());
  Random unseen = random_stream(options.seed, 1u << 20);
  for (int c = 0; c < options.chains; ++c) {
    const auto at = static_cast<std::size_t>(c);
    out.failures += chains[at]->failures();
    out.latents.middleCols(c * out.length, out.length) = latents[at].leftCols(out.length);
    if (out.weights.rows() == 0 || out.length == 0) continue;
    Matrix w = times(reference.weight_root(), coordinates[at].leftCols(out.length));
    w.colwise() += reference.weight_mean();
    if (space.unseen_variance().size() > 0) w += space.unseen_draws(out.length, unseen);
    out.weights.middleCols(c * out.length, out.length) = w;
  }

  const Index quantities = out.latents.rows() + out.weights.rows();
  std::vector<ChainDiagnostics> each(static_cast<std::size_t>(quantities));
  parallel_blocks(quantities, 16, threads, [&](Index begin, Index end) {
    for (Index q = begin; q < end; ++q) {
      const bool latent = q < out.latents.rows();
      const Vector values = latent ? out.latents.row(q) : out.weights.row(q - out.latents.rows());
      each[static_cast<std::size_t>(q)] =
          diagnose_chains(Eigen::Map<const Matrix>(values.data(), out.length, out.chains));
    }
  });
  out.worst = each.front();
  out.latent_mean_ess.resize(out.latents.rows());
  out.latent_square_ess.resize(out.latents.rows());
  for (Index q = 0; q < quantities; ++q) {
    const ChainDiagnostics& one_of = each[static_cast<std::size_t>(q)];
    out.worst = worse(out.worst, one_of);
    if (q >= out.latents.rows()) continue;
    out.latent_mean_ess(q) = one_of.mean_ess;
    out.latent_square_ess(q) = one_of.square_ess;
  }
  return out;
}

}  // namespace gaussmith
