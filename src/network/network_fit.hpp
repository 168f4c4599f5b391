#pragma once
// One run of expectation propagation on a network: its sites, the Gaussians that they make, and the sweep over them.
//
//   q = q(w_0) prod_k q(w_k) q(v) q(theta) prod_l q(phi_l)
//
// Sites: of every row on its activations (tau, nu for each unit), on v (rank one, along E[g]) and on theta; of every
// input weight on itself and on its log scale; of every output weight. docs/engines/network_formulas.md has the
// formulas.

#include "network/network_problem.hpp"
#include "network/output_law.hpp"
#include "network/scale_prior.hpp"
#include "network/unit_law.hpp"

#include <memory>
#include <vector>

namespace gaussmith {

/// One unit: its sites, q(w), and what the rows see of it with their own sites left out.
struct NetworkUnit {
  NetworkUnit(const NetworkProblem& problem, const Matrix& rows, std::vector<Index> scale_index, bool covariance_form);

  UnitLaw law;
  GaussianFactors activations;      ///< n: likelihood sites on h.
  GaussianFactors weights;          ///< Prior sites on the weights of inputs,
  GaussianFactors log_scales;       ///< and on their log scales,
  std::vector<Index> scale;         ///< which are these.
  double constant_precision = 1.0;  ///< Of the prior of the last weight.

  Marginals cavity;  ///< Of h at every row, a share p of the row's site left out.

  /// Prior sites and the normal prior of the constant: what UnitLaw takes.
  [[nodiscard]] GaussianFactors weight_factors() const;
  [[nodiscard]] bool refresh(int threads) { return law.refresh(weight_factors(), activations, threads); }
};

/// What a sweep found.
struct SweepResult {
  double mismatch = 0.0;  ///< Largest |tilted mean - mean| / (power sd) and |tilted variance / variance - 1| / power.
  int skipped = 0;        ///< Sites whose cavity was no distribution.
  int shortened = 0;      ///< Blocks whose step was halved.
};

class NetworkFit {
 public:
  NetworkFit(const NetworkProblem& problem, double power, CoreForm form, int threads);
  NetworkFit(const NetworkFit&) = delete;
  NetworkFit& operator=(const NetworkFit&) = delete;

  /// The units, the linear one first; sites are set here before begin().
  [[nodiscard]] std::vector<NetworkUnit>& units() { return units_; }
  [[nodiscard]] const std::vector<NetworkUnit>& units() const { return units_; }
  [[nodiscard]] Index hidden() const { return static_cast<Index>(units_.size()) - 1; }
  GaussianFactors output_sites;  ///< n: on direction'v.
  GaussianFactors output_prior;  ///< K: on v.
  GaussianFactors noise_sites;   ///< n: on theta; empty for other than gaussian sites.

  /// Makes all Gaussians from the sites; false where one of them is none.
  [[nodiscard]] bool begin();
  /// One pass over all sites: unit after unit, all rows of a unit at once; then v and theta. A damping of 0 changes
  /// nothing and measures.
  SweepResult sweep(double damping);

  /// log Z; an approximation with hidden units.
  [[nodiscard]] double log_evidence() const;
  /// Every row seen from the others: f without the row's site and the log density of its response.
  [[nodiscard]] LeaveOneOut leave_one_out() const;
  /// f at the rows under q.
  [[nodiscard]] Marginals outputs() const;

  /// All site parameters as one vector, and the weights that make their changes comparable: marginal variances for
  /// precisions, deviations for shifts.
  [[nodiscard]] Vector packed() const;
  [[nodiscard]] Vector packed_weights() const;
  /// The other way round; begin() comes next.
  void unpack(const Vector& packed);

  /// Var(direction'v), row by row.
  [[nodiscard]] Vector output_site_variances() const;

  /// Whether the data have switched the hidden unit k > 0 off: its output weight is not away from zero and what it adds
  /// is little beside the noise.
  [[nodiscard]] bool is_off(Index k) const;
  /// E[v_k^2 g_k^2], averaged over the rows, over the noise variance.
  [[nodiscard]] double share_of_noise(Index k) const;
  /// Takes units away; false where what is left is no distribution.
  [[nodiscard]] bool remove(const std::vector<Index>& units);

  /// All sites with their units, to come back to.
  struct Snapshot {
    std::vector<NetworkUnit> units;
    GaussianFactors output_sites, output_prior, noise_sites;
  };
  [[nodiscard]] Snapshot snapshot() const { return {units_, output_sites, output_prior, noise_sites}; }
  [[nodiscard]] bool restore(Snapshot snapshot);

  [[nodiscard]] const NetworkProblem& problem() const { return *problem_; }
  [[nodiscard]] bool covariance_form() const { return covariance_form_; }
  /// E[g] of every row and hidden unit in the cavity of the row's site.
  [[nodiscard]] const Matrix& activation_means() const { return g_mean_; }
  [[nodiscard]] const Vector& output_mean() const { return output_mean_; }
  [[nodiscard]] const Matrix& output_covariance() const { return output_covariance_; }
  [[nodiscard]] const std::vector<Normal>& log_scales() const { return log_scales_; }
  [[nodiscard]] const Normal& noise() const { return noise_; }
  /// Noise variance, or that of a standard probit or logit response as a yardstick.
  [[nodiscard]] double noise_level() const;

 private:
  /// v at a row with a share of its site left out: m + move a and S + ratio a a', a = S direction.
  struct OutputCavity {
    Vector ratio, move;
    Vector kept;  ///< The share of the precision of direction'v that is left.
  };
  /// What a unit was before its turn, and what its turn would change: buffers that stay.
  struct Turn {
    GaussianFactors change, activations;
    Marginals before;
  };
  [[nodiscard]] OutputCavity output_cavity(double share) const;
  [[nodiscard]] bool refresh_log_scales(bool near);
  [[nodiscard]] bool refresh_output_weights();
  [[nodiscard]] bool refresh_noise();
  /// Where the integrals over theta have their nodes.
  void set_noise_rules();
  void find_activations(Index k);
  void find_activations(Index k, Index begin, Index end);
  void find_outputs();
  void find_covariance(Index k, Index begin, Index end);
  void carry_on(Index k, Index begin, Index end);
  void tilt_linear(Vector& d_precision, Vector& d_shift, SweepResult& result) const;
  void tilt_hidden(Index k, Vector& d_precision, Vector& d_shift, SweepResult& result);
  void tilt_weights(const NetworkUnit& unit, GaussianFactors& d_weights, GaussianFactors& d_scales,
                    SweepResult& result) const;
  void update_unit(Index k, double damping, SweepResult& result);
  void update_outputs(double damping, SweepResult& result);
  void update_output_weights(double damping, const GaussianFactors& change, SweepResult& result);
  void update_noise(double damping, const GaussianFactors& change, SweepResult& result);
  [[nodiscard]] Vector output_variance() const { return explained_ + added_ + units_.front().cavity.variance; }

  const NetworkProblem* problem_;
  double power_;
  int threads_;
  bool covariance_form_;
  Matrix constant_rows_;  // What a linear unit without inputs sees.
  std::vector<NetworkUnit> units_;

  std::vector<Normal> log_scales_;
  Normal noise_;
  Vector output_mean_;  // Of v.
  Matrix output_covariance_;

  // A column a hidden unit, a row a row; all in the cavity of the row's sites.
  Matrix direction_;            // Of the rank-one sites on v: E[g] when they were made.
  Matrix reach_;                // Cov(v_k, direction'v) under q.
  Matrix g_mean_, g_variance_;  // Of g(h_k).
  Vector along_;                // E[g]' S direction.
  Vector covariance_;           // c: Cov(v_k, f) of the unit k that has its turn.
  OutputCavity cavity_;
  Turn turn_;
  Vector mean_;       // m_f.
  Vector explained_;  // E[g]' S E[g].
  Vector added_;      // sum_k (m_k^2 + S_kk) Var[g_k].
  std::unique_ptr<OutputLaw> for_units_, for_outputs_;
  NoisyOutput *noisy_units_ = nullptr, *noisy_outputs_ = nullptr;  // The same where the noise is unknown.
};

}  // namespace gaussmith
