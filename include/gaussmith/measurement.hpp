#pragma once
// Sequential design of measurements: after every measurement y = X w + noise of a sparse signal the posterior says
// where to measure next (docs/design.md).

#include "gaussmith/infer.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// How rows are chosen that may be anything of unit norm.
enum class DesignRule {
  eigen,   ///< The leading eigenvectors of the covariance of w: the best orthonormal rows.
  greedy,  ///< One at a time, each the best after those before it. Rows may repeat; more gain than eigen.
  random   ///< Directions drawn uniformly.
};

/// "eigen", "greedy", "random".
[[nodiscard]] std::string_view to_string(DesignRule rule);
/// The rule of that name; throws InvalidOption.
[[nodiscard]] DesignRule design_rule(std::string_view name);

/// Rows that can be measured, where not every row can.
struct CandidateRows {
  Design rows;
  /// Rows that are measured together, such as a line of k-space; every row once. Empty: each row by itself.
  std::vector<std::vector<Index>> groups = {};
  bool repeats = false;  ///< Whether a group may be measured again.

  [[nodiscard]] Index count() const { return groups.empty() ? rows.rows() : static_cast<Index>(groups.size()); }
};

/// Variances of noise that are accepted: what is divided by them remains a number.
inline constexpr double smallest_noise_variance = 1e-100;
inline constexpr double largest_noise_variance = 1e100;

struct DesignOptions {
  double noise_variance = 1.0;           ///< Of a measurement.
  DesignRule rule = DesignRule::greedy;  ///< For free rows; of candidates `random` draws, and others take the best.
  std::optional<CandidateRows> candidates = {};  ///< Where rows are not free.
  Index refit = 1;                               ///< Steps from one fit to the next; in between the sites are held.
};

/// Rows to measure next.
struct MeasurementProposal {
  Matrix rows = {};                ///< One row a measurement.
  std::vector<Index> chosen = {};  ///< Of candidates: the groups, in the order of their choice.
  double gain = 0.0;               ///< 1/2 log|I + X V X' / variance| in nats, sites held.
  bool at_random = false;          ///< Drawn by propose_at_random(); the gain is then not computed (0).
};

/// A point of the curve of a simulation.
struct MeasurementPoint {
  Index measurements = 0;
  double error = 0.0;         ///< |mean - truth|.
  double gain = 0.0;          ///< Of the step's proposal; 0 for the initial rows, which nothing proposed.
  double log_evidence = 0.0;  ///< Of all measurements so far.
  Index iterations = 0;       ///< Factorisations of the step's fit; 0 where the sites were held.
  double seconds = 0.0;       ///< Since the start, time between resumed runs not counted.
};

/// All that a session needs to go on. A fit is named by where it began and what it saw; it is made when it is needed. A
/// session that goes on from a state makes its Gaussian again from the sites, or by the same fit where these do not
/// tell.
struct MeasurementState {
  Matrix rows = {};                  ///< All measurements, transposed: D x N.
  Vector values = {};                ///< What was measured.
  Index fitted = 0;                  ///< How many of them the last fit sees; the sites are held since.
  std::vector<Index> later = {};     ///< Numbers of measurements in each step since then.
  SiteApproximation start = {};      ///< Where that fit begins; empty: cold.
  SiteApproximation sites = {};      ///< Where it ended; empty while it was not needed.
  Evidence log_evidence = {};        ///< Of that fit, once it was made,
  bool converged = true;             ///< and whether it reached its tolerance.
  MeasurementProposal pending = {};  ///< Proposed and not yet measured; no rows: nothing.
  std::vector<Index> taken = {};     ///< Groups of candidates that were measured, in order.
  Index unconverged = 0;             ///< Fits that did not reach their tolerance.
  Index iterations = 0;              ///< Factorisations of all fits.
  std::vector<MeasurementPoint> curve = {};
  double seconds = 0.0;

  [[nodiscard]] Index measurements() const { return values.size(); }
};

/// The Gaussian q(w) = N(mean, V) that designs the next measurement, sites held since the last fit.
struct DesignBelief {
  Vector mean;
  Vector variance;        ///< diag V.
  Marginals latent;       ///< Of the sites' rows.
  Evidence log_evidence;  ///< Of all measurements.
  bool converged = true;  ///< Of the last fit.
};

/// Chooses measurements of w under a model whose sites are the sparsity prior, and takes in what they bring. Any
/// method that ends in a Gaussian serves; kl, vb and ep of independent weights, or without a Gaussian factor, are fast.
/// Cost of a step: 20 to 60 products with V for free rows, k D^2 for the update; of a refit: a few factorisations, D^3
/// flops each, or N^2 D for N measurements of weights that are sparse themselves.
class DesignSession {
 public:
  /// Throws InvalidModel and InvalidOption before any work; a state of this model goes on from there.
  DesignSession(Model model, Method method, DesignOptions options = {}, Run run = {}, MeasurementState state = {});
  ~DesignSession();
  DesignSession(DesignSession&& other) noexcept;
  DesignSession& operator=(DesignSession&& other) noexcept;
  DesignSession(const DesignSession&) = delete;
  DesignSession& operator=(const DesignSession&) = delete;

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] const MeasurementState& state() const;
  [[nodiscard]] const DesignOptions& options() const;

  /// `count` rows, or groups of candidates, to measure next; fits first where that is due. The same until they are
  /// measured, or others are asked for: another count, or at random. Throws InvalidOption where fewer candidates than
  /// that are left.
  const MeasurementProposal& propose(Index count);
  /// The same, but drawn at random whatever the rule.
  const MeasurementProposal& propose_at_random(Index count);
  /// Takes in values of the rows that were proposed.
  void observe(const Vector& values);
  /// Takes in values of any rows, one a row of D numbers; a proposal that is open lapses.
  void observe(const Matrix& rows, const Vector& values);

  /// What is believed now: fits where that is due, and otherwise updates what was.
  [[nodiscard]] const DesignBelief& belief();
  /// V X for a block of vectors, V that of the belief.
  [[nodiscard]] Matrix covariance_times(const Matrix& x);
  /// 1/2 log|I + X V X' / variance| of rows.
  [[nodiscard]] double gain(const Matrix& rows);
  /// The posterior of all measurements; fits where some have come since the last fit.
  [[nodiscard]] const Posterior& posterior();

  /// Points of a curve are the caller's.
  void add_point(const MeasurementPoint& point);
  void set_seconds(double seconds);

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

/// `count` rows of unit norm drawn uniformly, one a row: those that a session with this seed proposes at random after
/// so many measurements.
[[nodiscard]] Matrix random_rows(Index count, Index dimension, std::uint64_t seed, Index measurements);

/// A signal that is known, to be measured with noise of the session's variance.
struct MeasurementSimulation {
  Vector truth;
  Index initial = 100;  ///< Random rows, or groups of candidates, to begin with.
  Index steps = 200;    ///< Steps after these, from one proposal to the next.
  Index per_step = 1;   ///< Rows, or groups, a step.
};

/// Called after every step, on the caller's thread.
using MeasurementProgress = std::function<Next(const MeasurementState&)>;

/// Measures the truth as the session proposes and adds a point to the curve for each step. A session that has steps
/// already goes on, and ends as one call would have ended. Noise is fixed by the seed and the number of the
/// measurement. Throws Interrupted where the callback says Next::discard.
void simulate_design(DesignSession& session, const MeasurementSimulation& simulation, std::uint64_t seed,
                     const MeasurementProgress& progress = {});

// --- Files

/// Rows of numbers without a header, separated by commas, tabs or spaces, all of the same length and finite; empty
/// lines at the end are left out. Plain or gzip. Throws InvalidFile naming the line.
[[nodiscard]] Matrix read_number_rows(const std::filesystem::path& path);
/// Rows as that reads them back, bit for bit.
[[nodiscard]] std::string format_number_rows(const Matrix& rows);

/// What a state file belongs to, as names and values: a fingerprint of the model, options, seed.
using MeasurementIdentity = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] MeasurementIdentity measurement_identity(const Model& model, const Method& method,
                                                       const DesignOptions& options, std::uint64_t seed,
                                                       const MeasurementSimulation* simulation = nullptr);

/// "gaussmith-measurement/1 CHECKSUM BYTES\n", then a line of JSON and the numbers as little-endian doubles.
[[nodiscard]] std::string format_measurement_state(const MeasurementState& state, const MeasurementIdentity& identity);
/// Throws InvalidFile for another format or version, truncation, a wrong checksum, or the state of another run.
[[nodiscard]] MeasurementState parse_measurement_state(std::string_view text, std::string_view name,
                                                       const MeasurementIdentity& identity);
[[nodiscard]] MeasurementState load_measurement_state(const std::filesystem::path& path,
                                                      const MeasurementIdentity& identity);
/// The file is replaced as a whole once it is complete. Throws MachineError.
void save_measurement_state(const std::filesystem::path& path, const MeasurementState& state,
                            const MeasurementIdentity& identity);

}  // namespace gaussmith
