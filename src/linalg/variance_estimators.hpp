#pragma once
// Variances of a Gaussian that is known through products with its precision A alone: those of the weights,
// (A^-1)_jj, and those of the rows of a design, h_n'A^-1 h_n. One call, several ways, and each states its error.

#include "linalg/conjugate_gradients.hpp"
#include "linalg/linear_map.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace gaussmith {

/// Right sides that are solved together.
constexpr Index solved_at_once = 16;

/// A = H'diag(tau) H + Q over `dimension` weights, positive definite, as products.
struct PrecisionSystem {
  Index dimension = 0;
  LinearMap times;                ///< A X.
  LinearMap preconditioner = {};  ///< About A^-1 X; none is the identity.
  Vector diagonal = {};           ///< About diag(A), positive: Lanczos works on A scaled by it. Empty is all ones.
  Index draws_at_once = solved_at_once;  ///< Draws that are solved together: more where the preconditioner is dense.
  Index rows = 0;                        ///< Of H.
  LinearMap rows_times = {};             ///< H X.
  LinearMap rows_transposed_times = {};  ///< H'X.
  Index root_columns = 0;                ///< Of F below.
  LinearMap root_times = {};  ///< F X for any F with F F' = A, as [H'diag(tau)^1/2, Q^1/2]. Needed by draws alone.
  /// What draws make the most of: whether the diagonal is that of A to rounding; tau where the first columns of F are
  /// H'diag(tau)^1/2; and rows with one entry alone, `single_scale` at weight `single_weight` (-1: other rows).
  bool exact_diagonal = false;
  Vector row_precision = {};
  std::vector<Index> single_weight = {};
  Vector single_scale = {};
};

/// The D x D matrix from D products and its Cholesky factor. For tests, and where D is small after all.
struct ExactVariances {};

/// W W' <= A^-1 from Lanczos' recursion, W = S Q L^-T with S A S Q = Q T + ..., T = L L', S = diag(A)^-1/2: `steps`
/// products with A. More steps with the same seed add squares and nothing else, so that the variances rise to the exact
/// ones. The error comes from exact variances of `checks` rows and weights drawn at random.
struct LanczosVariances {
  int steps = 100;
  int checks = 32;
};

/// v_n = E z_n (C z)_n, C = H A^-1 H', for vectors z of random signs. Rows have colours, each colour a vector of its
/// own, so that only rows of one colour disturb each other, and that is done in rounds with other signs. The
/// variances of `control_steps` of Lanczos, estimated with the same signs, are the control variate, and bound the
/// result from below. colours x rounds solves for the rows and as many for the weights.
struct ProbedVariances {
  int colours = 8;
  int rounds = 8;          ///< At least 3.
  int control_steps = 20;  ///< At least 1.
  /// Of each row and weight, less than `colours`; empty: drawn at random. Colours that keep apart what is strongly
  /// correlated, neighbours in space for example, make the error many times smaller.
  std::vector<Index> row_colours = {};
  std::vector<Index> weight_colours = {};
};

/// v_n = E (h_n'w)^2 for w = A^-1 F e, e standard normal (perturb-and-MAP). Of w, only the part that Lanczos' W W' does
/// not know is drawn, w - W W'F e; the rest is added as it is. So the standard error is sqrt(2 / draws) times the part
/// that `control_steps` leave. Unbiased and positive, one solve a draw for all rows and weights.
///
/// Without control steps, draws are used for what is not known otherwise (conditioned_variances.cpp): the variance of a
/// weight given all others is 1 / A_jj, so that only its conditional mean is drawn; and of the two numbers
/// tau^1/2 h'w and e - tau^1/2 h'w, uncorrelated with variances s = tau v and 1 - s, both are. Here e are random signs.
/// That is better wherever weights are not strongly correlated, as those of text are not.
struct SampledVariances {
  int draws = 64;
  int control_steps = 20;
};

using VarianceMethod = std::variant<ExactVariances, LanczosVariances, ProbedVariances, SampledVariances>;

struct VarianceOptions {
  bool rows = true;  ///< What is wanted; rows need a system that has them.
  bool weights = true;
  std::uint64_t seed = 1;
  double reduction = 1e-8;    ///< Of the residuals of solves; see ConjugateGradientOptions.
  int max_iterations = 1000;  ///< Of a solve.
  bool errors = true;         ///< Whether errors are wanted, which may cost solves of their own.
  /// The root of an earlier estimate by the same method and seed. Of draws, for a similar system: where solves begin.
  /// Of Lanczos, for the same system, whose errors were not wanted then.
  const Matrix* start = nullptr;
};

/// What an estimate is, whatever its error.
enum class VarianceKind {
  exact,       ///< But for rounding.
  from_below,  ///< No variance is overestimated.
  estimate,
};

struct VarianceEstimate {
  Vector rows;     ///< h_n'A^-1 h_n >= 0; empty if not wanted.
  Vector weights;  ///< (A^-1)_jj > 0; empty if not wanted.
  /// A bar on the root-mean-square over all n (all j) of (estimate - truth) / truth, truth > 0: what it is below with a
  /// probability of 95 % or more over seeds. Where solves did not converge, their own error is not in it.
  double rows_error = 0.0;
  double weights_error = 0.0;
  /// R with R R' about A^-1, D rows: what Lanczos knows, or the draws. Empty for a method without one.
  Matrix root;
  VarianceKind kind = VarianceKind::estimate;
  ConjugateGradientEnd solves = ConjugateGradientEnd::converged;  ///< The worst of all solves.
  int products = 0;                                               ///< With A, a block counted once.
};

/// The same bits for the same seed, as far as the products give the same bits.
[[nodiscard]] VarianceEstimate estimate_variances(const PrecisionSystem& system, const VarianceMethod& method,
                                                  const VarianceOptions& options = {});

}  // namespace gaussmith
