#pragma once
// Active learning of a linear classifier: which rows of a pool to ask the label of (docs/active.md).

#include "gaussmith/infer.hpp"
#include "gaussmith/tables.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gaussmith {

/// What makes a row worth its label.
enum class ActiveScore {
  uncertainty,       ///< -|P(y = 1) - 1/2|, P the predictive probability.
  information_gain,  ///< The expected KL(q', q) of the marginal of its eta, q' with its label.
  random             ///< Nothing: rows are drawn.
};

/// "uncertainty", "information-gain", "random".
[[nodiscard]] std::string_view to_string(ActiveScore score);
/// The score of that name; throws InvalidOption.
[[nodiscard]] ActiveScore active_score(std::string_view name);

/// Independent weights N(0, variance).
struct GaussianWeights {
  double variance = 1.0;
};
/// Independent weights exp(-|w| / scale) / (2 scale), as sites of their own.
struct LaplaceWeights {
  double scale = 1.0;
};
using ActivePrior = std::variant<GaussianWeights, LaplaceWeights>;

struct ActiveOptions {
  ActiveScore score = ActiveScore::uncertainty;
  Index initial = 100;  ///< Rows drawn at random to begin with.
  Index block = 3;      ///< Labels from one fit to the next.
  Index labels = 1000;  ///< At the end, the initial ones among them.
  Index every = 1;      ///< The curve gets a point after at least that many labels, and at the end.
  ActivePrior prior = GaussianWeights{};
  Method method = Vb{.tolerance = 1e-4};
  /// Steps of Lanczos' recursion for the variances of the pool; 0: exact ones, with the D x D covariance.
  int lanczos = 0;
};

/// Rows that can be labelled; `label` is asked once for each row chosen and answers -1 or 1. The design has entries.
struct ActivePool {
  Design rows;
  std::function<double(Index row)> label;
};

/// Rows whose labels judge the classifier.
struct ActiveTest {
  Design rows;
  Vector labels;  ///< -1 or 1.
};

/// A point of the learning curve.
struct ActivePoint {
  Index labels = 0;
  double test_error = 0.0;     ///< Share of wrong classes; 0 without test rows.
  double test_log_loss = 0.0;  ///< Mean of -log P(label).
  double seconds = 0.0;        ///< Since the first draw, time between resumed runs not counted.
};

/// All that a run needs to go on: it is what it is after the last fit.
struct ActiveState {
  std::vector<Index> selected = {};  ///< In the order of their labels.
  std::vector<double> labels = {};
  SiteApproximation sites = {};  ///< Of the selected rows, then of the weights under LaplaceWeights.
  std::vector<ActivePoint> curve = {};
  Index unconverged = 0;       ///< Fits that did not reach their tolerance.
  double seconds = 0.0;        ///< So far.
  double fit_seconds = 0.0;    ///< Those of the fits.
  double score_seconds = 0.0;  ///< Those of variances, scores and updates of the pool.
};

/// Called after every fit, on the caller's thread.
using ActiveProgress = std::function<Next(const ActiveState&)>;

/// Draws `initial` rows, then chooses blocks of rows by their scores, fitting after each block. Within a block the
/// marginals of the pool follow every label by a rank-one update. A state from an earlier call with the same
/// arguments (`labels` and `every` may differ) goes on from there and chooses what one call would have chosen. Throws
/// InvalidOption and InvalidModel before any work, Interrupted where a callback says Next::discard. Cost of a block:
/// one fit started at the last, the pool's variances (N L^2 for L entries a row, or `lanczos` products), and for each
/// label a solve and a product with the pool.
[[nodiscard]] ActiveState learn_actively(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options,
                                         const Run& run = {}, ActiveState state = {},
                                         const ActiveProgress& progress = {});

/// The point that all labels of the pool lead to, for comparison.
[[nodiscard]] ActivePoint learn_from_all(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options,
                                         const Run& run = {});

/// What a state file belongs to, as names and values: options, seed, checksums of tables.
using ActiveIdentity = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] ActiveIdentity active_identity(const ActiveOptions& options, std::uint64_t seed, const Table& pool,
                                             const Table* test = nullptr);

/// "gaussmith-active/1 CHECKSUM BYTES\n" and a JSON payload of that many bytes.
[[nodiscard]] std::string format_active_state(const ActiveState& state, const ActiveIdentity& identity);
/// Throws InvalidFile for another format or version, truncation, a wrong checksum, or the state of another run.
[[nodiscard]] ActiveState parse_active_state(std::string_view text, std::string_view name,
                                             const ActiveIdentity& identity);
[[nodiscard]] ActiveState load_active_state(const std::filesystem::path& path, const ActiveIdentity& identity);

}  // namespace gaussmith
