#pragma once
// All sites of a model as one column of rows: engines call these instead of looping over blocks. A row of weight w has
// the site t^w, so that log t and its expectations come out times w.

#include "gaussmith/model.hpp"

#include <algorithm>
#include <functional>

namespace gaussmith {

/// What stands for E[log t] under a Gaussian.
enum class Smoothing {
  expectation,  ///< Itself.
  tangent,      ///< The best tangent of super-Gaussian sites, a lower bound (tangent_sites.hpp).
  mean_field    ///< Mean field with the sites' auxiliary variables: tangents, and noisy signs for probit sites.
};

/// Whether t is Phi(y eta), the sign of eta plus standard normal noise. With the best q(noisy eta) put in, mean field
/// has
///   e(m, v) = log Phi(y m) - v/2,
/// the site precision 1 whatever m and v are.
[[nodiscard]] bool is_noisy_sign(const SiteBlock& block);

/// What linearising sigma^2 = v at sigma_k, v = 2 sigma_k sigma - sigma_k^2, makes of expectations:
///   e(m, v) = E_{N(m, sigma^2)}[log t] - penalty (sigma - sigma_k)^2 / 2 - quartic (sigma - sigma_k)^4 / 2.
struct Linearised {
  Vector deviation;  ///< sigma_k.
  Vector penalty;
  double quartic = 0.0;
};

class SiteRows {
 public:
  /// Every row once, whatever the model's weights.
  SiteRows(const std::vector<Sites>& blocks, int threads);
  /// The sites with the weights of their model, which must outlive this.
  SiteRows(const Model& model, int threads, Smoothing smoothing = Smoothing::expectation);

  /// The same rows with linearised deviations, which must outlive them.
  [[nodiscard]] SiteRows linearised(const Linearised& linear) const {
    SiteRows out = *this;
    out.linear_ = &linear;
    return out;
  }

  [[nodiscard]] Index rows() const { return rows_; }
  /// C, the latents of a row: below, eta has C entries a row, a second derivative, a variance or a derivative in one
  /// C x C.
  [[nodiscard]] Index width() const { return width_; }

  /// Calls body(block, row within the block, row within the model, count) for pieces of at most rows_per_call rows;
  /// pieces run on several threads, so a body writes only its own rows. Blocks that may not be called from any thread
  /// come last, on the caller's.
  void for_pieces(const std::function<void(const SiteBlock&, Index, Index, Index)>& body) const;

  /// Null where every row counts once.
  [[nodiscard]] const Vector* weights() const { return weights_; }
  /// values(i) times the weight of row + i, or of row + i / each; for bodies that ask blocks themselves.
  void weigh(Index row, Span values, Index each = 1) const;

  /// w log t and its derivatives at eta; a null pointer is not computed.
  void log_density(const Vector& eta, Vector* value, Vector* first = nullptr, Vector* second = nullptr,
                   Vector* third = nullptr) const;

  /// w sum_ab covariance_ab d3 log t / d eta_a d eta_b d eta_k for every latent k of every row.
  [[nodiscard]] Vector curvature_slope(const Vector& eta, const Vector& covariance) const;

  /// pi of the curvature at eta where that is diag(pi) - pi pi'/1'pi in all rows; empty where it is not.
  [[nodiscard]] Vector star(const Vector& eta) const;

  /// w E[log t] under N(mean, variance), or what stands for it, and its derivatives; a null pointer is not computed.
  void expectation(const Vector& mean, const Vector& variance, Vector* value, Vector* d_mean = nullptr,
                   Vector* d_variance = nullptr) const;

  /// The same for a single row of the model.
  struct Smoothed {
    double d_mean, d_variance;
  };
  [[nodiscard]] Smoothed expectation_row(Index row, double mean, double variance) const;

  /// The same by SiteBlock::averaged_expectation, for sites that have it; `total` gets the sum of all rows' values by
  /// every randomisation of the points.
  void averaged_expectation(const Vector& mean, const Vector& covariance, std::uint64_t seed, Vector* value,
                            Vector* d_mean, Vector* d_variance, Vector* total) const;

  /// -d2/dmean2 of what expectation() gives, with its derivative in the variance: -2 d_variance of an expectation.
  [[nodiscard]] Vector curvature(const Vector& mean, const Vector& variance, const Vector& d_variance) const;

  /// Moments of N(mean, variance) t^(power min(1, w)), one row each; every variance > 0: a row of weight w > 1 is w
  /// copies of its site, of which one is tilted with. Returns how many rows did not reach the accuracy that
  /// SiteBlock::tilted promises.
  Index tilted(const Vector& mean, const Vector& variance, double power, Vector& log_normaliser, Vector& tilted_mean,
               Vector& tilted_variance) const;
  /// The same for a single row of the model.
  struct Tilted {
    double log_normaliser, mean, variance;
  };
  [[nodiscard]] Tilted tilted_row(Index row, double mean, double variance, double power) const;

  /// How many copies of its site a row is, max(1, w).
  [[nodiscard]] double copies(Index row) const { return weights_ ? std::max(1.0, (*weights_)(row)) : 1.0; }
  /// The exponent of the site in tilted(), power min(1, w).
  [[nodiscard]] double exponent(Index row, double power) const {
    return weights_ ? power * std::min(1.0, (*weights_)(row)) : power;
  }

  /// sum_n w_n log t_n(eta_n), added in a fixed order. -inf where any site is.
  [[nodiscard]] double total(const Vector& eta) const;

  [[nodiscard]] bool all(bool SiteTraits::*property) const;
  /// The rows with a property; empty where no row has it.
  [[nodiscard]] std::vector<bool> which(bool SiteTraits::*property) const;

 private:
  struct Piece {
    const SiteBlock* block;
    Index first, row, count;
  };
  std::vector<Piece> pieces_;
  [[nodiscard]] const Piece& piece_with(Index row) const;
  void linear_expectation(const Vector& mean, const Vector& variance, Vector* value, Vector* d_mean,
                          Vector* d_variance) const;

  const std::vector<Sites>* blocks_;
  const Vector* weights_ = nullptr;
  const Linearised* linear_ = nullptr;
  Index rows_ = 0;
  Index width_ = 1;
  int threads_;
  Smoothing smoothing_ = Smoothing::expectation;
};

}  // namespace gaussmith
