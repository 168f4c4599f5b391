#pragma once
// May a fit be trusted? The card that answers, from cheap numbers to a check by importance sampling (docs/trust.md).

#include "gaussmith/infer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// What a card says of a fit.
enum class Verdict {
  trust,        ///< Evidence within 1 nat, means within half a standard deviation, deviations within 20 %.
  caution,      ///< Not shown to be so, nor to be otherwise.
  do_not_trust  ///< Not converged, or shown to be off by more.
};

/// "trust", "caution" or "do-not-trust".
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// The next order of an expansion around the method's Gaussian. Means are in standard deviations of the fit, variances
/// relative; what is not known is empty.
struct SecondOrder {
  double evidence = 0.0;  ///< log Z minus the method's evidence, as far as this order sees.
  Vector mean_shift;      ///< Of the rows.
  Vector variance_shift;
  Vector weights_mean_shift;
  Vector weights_variance_shift;
  Vector share;          ///< Of `evidence`, row by row.
  Index inaccurate = 0;  ///< Rows whose integrals were not settled.
};

/// What every fit can be asked at next to no cost: one call of its sites.
struct QuickChecks {
  /// The largest shift of a row's mean that third derivatives predict, in standard deviations, and its row; laplace.
  std::optional<double> mean_shift = {};
  Index mean_shift_row = -1;
  /// The largest skewness that a site gives its row, s^3 d3 log t at the mean, and its row; smooth sites.
  std::optional<double> skewness = {};
  Index skewness_row = -1;
  /// Rows where log t is convex at the mean: the others outvote them (an outlier, or one of several modes).
  std::vector<Index> outvoted = {};
};

/// The quick checks of one latent a row; all empty otherwise.
[[nodiscard]] QuickChecks quick_checks(const Posterior& posterior);

/// How far diagnose() goes.
struct DiagnoseOptions {
  int draws = 4000;        ///< Of a round of the importance check, 100 or more.
  int most_draws = 40000;  ///< Where it ends undecided.
  bool modes = true;       ///< Search for other modes where sites are not log-concave.
  bool advice = true;      ///< Where the verdict is not `trust`, fit other methods and judge them by the same draws.
};

/// What the importance check measured; errors are standard errors.
struct ImportanceCheck {
  Index draws = 0;
  double pareto_k = 0.0;   ///< Up to 0.5 averages over the draws mean what they say, beyond 0.7 they do not.
  double effective = 0.0;  ///< Effective number of draws.
  double log_evidence = 0.0, log_evidence_error = 0.0;
  // The fit's numbers against those of the draws, where they differ most beyond what chance explains.
  double evidence_gap = 0.0;  ///< Evidence of the draws less that of the fit, in nats.
  double mean_gap = 0.0;      ///< Of a row or weight, in standard deviations.
  double mean_gap_error = 0.0;
  double sd_ratio = 1.0;  ///< The fit's over that of the draws.
  double sd_ratio_error = 0.0;
  std::string mean_place, sd_place;                         ///< "row 7", "weight 0".
  Vector latent_mean, latent_sd, weights_mean, weights_sd;  ///< Of the draws.
};

/// A row's share of what second order says about the evidence.
struct WorstSite {
  Index row = 0;
  double gap = 0.0;
};

/// The card.
struct TrustCard {
  Verdict verdict = Verdict::caution;
  Verdict evidence = Verdict::caution;   ///< Of the evidence alone.
  Verdict marginals = Verdict::caution;  ///< Of means and standard deviations alone.
  std::vector<std::string> reasons;      ///< One for the evidence, one for the marginals, and what else counted.
  std::string advice;                    ///< What to do; empty where nothing is wrong.
  std::optional<ImportanceCheck> check;  ///< Empty where there was none; a reason says why.
  /// The evidence lies between: a lower bound, and an upper end where draws are good enough to have one.
  double evidence_lower = 0.0;
  std::optional<double> evidence_upper;
  std::optional<SecondOrder> second_order;
  std::optional<double> log_evidence_corrected;  ///< EP's evidence and its second order.
  std::vector<WorstSite> worst_sites;            ///< Ten at most, by the size of their gaps.
  bool modes_searched = false;                   ///< Also where there can be only one.
  int mode_starts = 0;
  int modes_found = 1;
  std::vector<Vector> mode_places;  ///< Where, at the rows, by falling mass; empty where none was searched for.
  Vector loo_log_density;           ///< log p(y_n | others), NaN where it does not exist.
  Vector loo_pit;  ///< P(Y_n <= y_n | others), for counts and signs less half P(Y_n = y_n); NaN likewise.
  QuickChecks checks;
};

/// Looks for what the fit got wrong: second order, other modes, and a check by importance sampling that draws until it
/// is decided. Seeded by the run, whose threads it takes; the same seed gives the same card at any number of threads.
/// Never throws for what is wrong with the fit. Throws InvalidOption for fewer than 100 draws, and for posteriors by
/// sampling, which have diagnostics of their own.
[[nodiscard]] TrustCard diagnose(const Posterior& posterior, const DiagnoseOptions& options = {}, const Run& run = {});

/// How the marginals of a posterior by `ep` are corrected.
enum class EpMarginals {
  factorised,  ///< Every site integrated over its row given x; no factorisation.
  one_step     ///< One parallel update of all sites given x: a factorisation for every point of the grid, and better.
};

/// Which marginals to correct, and how.
struct MarginalOptions {
  std::vector<Index> rows = {};     ///< Latents by row.
  std::vector<Index> weights = {};  ///< Weights by position.
  PredictionPoints points = {};     ///< New points: inputs or rows of a design.
  EpMarginals ep = EpMarginals::factorised;
  std::vector<double> levels = {0.025, 0.25, 0.5, 0.75, 0.975};  ///< Of the quantiles.
};

/// A marginal on a grid, no Gaussian.
struct CorrectedMarginal {
  Vector grid;     ///< Increasing, about an eighth of a standard deviation apart.
  Vector density;  ///< Integrates to one.
  double mean = 0.0, sd = 0.0, skewness = 0.0;
  Vector quantiles;     ///< At the levels asked for.
  bool settled = true;  ///< False where a search along the grid did not reach its end.
};

struct CorrectedMarginals {
  std::vector<CorrectedMarginal> rows;
  std::vector<CorrectedMarginal> weights;
  std::vector<CorrectedMarginal> points;
};

/// Marginals of a posterior by `laplace` (the constrained mode, after Tierney and Kadane) or `ep` beyond its Gaussian;
/// those of `exact` are its own. Right to next order where the posterior has one mode. Throws InvalidOption for other
/// methods, for several latents a row, and for rows that do not exist.
[[nodiscard]] CorrectedMarginals corrected_marginals(const Posterior& posterior, const MarginalOptions& options,
                                                     const Run& run = {});

/// The rows among the first `rows` (0: all) whose marginals are farthest from a Gaussian: by the skewness that their
/// sites give them. At most `count`, the farthest first. One latent a row.
[[nodiscard]] std::vector<Index> most_skewed_rows(const Posterior& posterior, Index count, Index rows = 0);

/// Probabilities of the two classes at new points as ratios of Laplace evidences with and without the new response
/// (Tierney and Kadane), normalised over the classes: P(y = 1). Throws InvalidOption unless the method is `laplace` and
/// the responses are signs.
[[nodiscard]] Vector tierney_kadane_probability(const Posterior& posterior, const PredictionPoints& points,
                                                const Run& run = {});

}  // namespace gaussmith
