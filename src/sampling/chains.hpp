#pragma once
// Markov chains over x, the coordinates of a reference Gaussian (sampling/reference_gaussian.hpp): what a kernel is,
// and how several chains of one kind are run side by side.

#include "base/progress.hpp"
#include "gaussmith/random.hpp"
#include "sampling/chain_diagnostics.hpp"
#include "sampling/reference_gaussian.hpp"
#include "sampling/site_totals.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace gaussmith {

/// What chains move in: log p(x) = -|x|^2 / 2 + change(d), d = P x, up to a constant. All is lent.
struct ChainTarget {
  const ReferenceGaussian* reference;
  const SiteTotals* sites;

  /// sum log t(eta_q + d) - a'd + d'T d / 2.
  [[nodiscard]] double change(const Vector& d) const { return change_at(d, reference->latent_mean() + d); }
  /// The same where eta = eta_q + d is at hand.
  [[nodiscard]] double change_at(const Vector& d, const Vector& eta) const;
  /// The same with its gradient in d.
  [[nodiscard]] double change(const Vector& d, Vector& gradient) const;
};

/// One chain. Its state is a point x with its d = P x.
class Chain {
 public:
  virtual ~Chain() = default;
  /// Moves on to the next draw; during warm-up a kernel may adapt.
  virtual void advance(bool warmup) = 0;
  [[nodiscard]] virtual const Vector& x() const = 0;
  [[nodiscard]] virtual const Vector& deviation() const = 0;
  /// Steps that failed, e.g. trajectories that left the region where the integrator is stable.
  [[nodiscard]] virtual int failures() const { return 0; }
};

struct ChainOptions {
  int chains = 4;
  Index draws = 4000;  ///< Of all chains together.
  Index warmup = 500;  ///< Of each chain.
  std::uint64_t seed = 0;
  int threads = 1;
};

/// Draws of all chains that ran: chain by chain, a column a draw.
struct ChainDraws {
  Index chains = 0, length = 0;  ///< Draws of a chain.
  Matrix latents;                ///< N C x draws.
  Matrix weights;                ///< D C x draws; empty where the weights are the latents but for the offset.
  ChainDiagnostics worst;        ///< Over all latents and weights.
  Vector latent_mean_ess, latent_square_ess;
  int failures = 0;
  bool stopped = false;  ///< The caller wanted no more; what was drawn until then is here.
};

/// Runs chains and diagnoses them. `make` makes chain number c with its own generator. Chains write to their own place,
/// so that any number of threads gives the same bytes; progress is told between rounds of all chains.
[[nodiscard]] ChainDraws run_chains(const ChainTarget& target,
                                    const std::function<std::unique_ptr<Chain>(int chain, Random random)>& make,
                                    const ChainOptions& options, const Progress& progress);

/// Elliptical slice sampling (Murray, Adams and MacKay 2010) around a t with the reference Gaussian's shape in place of
/// the prior, so that its tails are no limit (Nishihara, Murray and Adams 2014). With `around_prior`, which takes a
/// proper prior, every other move is around the prior itself: it leads from one mode to another where the reference
/// stands on one of them. `from` is the first x.
[[nodiscard]] std::unique_ptr<Chain> elliptical_chain(const ChainTarget& target, Vector from, Random random,
                                                      bool around_prior = false);

/// No-U-turn sampling (Hoffman and Gelman 2014) with multinomial choice along the trajectory (Betancourt 2017); the
/// step size is found by dual averaging for this acceptance. The reference's root stands for a mass matrix.
[[nodiscard]] std::unique_ptr<Chain> no_u_turn_chain(const ChainTarget& target, Vector from, double acceptance,
                                                     int max_depth, Random random);

}  // namespace gaussmith
