#include "base/parallel_blocks.hpp"
#include "base/random_stream.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/measurement.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "measurement/candidate_scores.hpp"
#include "measurement/directions.hpp"
#include "measurement/measured_fit.hpp"
#include "measurement/operator_entries.hpp"
#include "measurement/session_checks.hpp"
#include "measurement/updated_gaussian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gaussmith {

namespace {

constexpr std::array<std::pair<DesignRule, std::string_view>, 3> rule_names{
    {{DesignRule::eigen, "eigen"}, {DesignRule::greedy, "greedy"}, {DesignRule::random, "random"}}};

/// Residual of the leading eigenvectors beside their values: gains are then within half of that of the best.
constexpr double direction_tolerance = 1e-3;
/// Columns of the Krylov space at most, for k rows.
constexpr Index space_columns(Index count) { return 60 + 40 * count; }
/// M'M grows by whole blocks of measurements, so that it is the same whatever steps they came in.
constexpr Index gram_block = 64;

/// Streams of random numbers that a session's seed has.
enum Stream : std::uint64_t { of_rows = 1, of_starts = 2, of_candidates = 3 };

Random stream(std::uint64_t seed, Stream what, Index number) {
  return random_stream(seed + 0x9e3779b97f4a7c15u * what, static_cast<std::uint64_t>(number));
}

Vector normal_vector(Index size, Random& random) {
  Vector out(size);
  for (double& x : out) x = random.normal();
  return out;
}

}  // namespace

std::string_view to_string(DesignRule rule) {
  return std::find_if(rule_names.begin(), rule_names.end(), [&](const auto& known) { return known.first == rule; })
      ->second;
}

DesignRule design_rule(std::string_view name) {
  for (const auto& known : rule_names)
    if (known.second == name) return known.first;
  throw InvalidOption(fmt::format("unknown rule \"{}\"; eigen, greedy and random are accepted", name));
}

Matrix random_rows(Index count, Index dimension, std::uint64_t seed, Index measurements) {
  if (count < 0 || dimension < 1 || measurements < 0)
    throw InvalidOption(fmt::format(
        "{} random rows of {} numbers after {} measurements; counts from 0 and rows of 1 or more are accepted", count,
        dimension, measurements));
  Matrix out(count, dimension);
  for (Index k = 0; k < count; ++k) {
    Random random = stream(seed, of_rows, measurements + k);
    out.row(k) = normal_vector(dimension, random).normalized().transpose();
  }
  return out;
}

class DesignSession::Session {
 public:
  Session(Model model, Method method, DesignOptions options, Run run, MeasurementState state)
      : model_(std::move(model)),
        method_(std::move(method)),
        options_(std::move(options)),
        run_(std::move(run)),
        state_(std::move(state)) {
    model_.validate();
    check_design(model_, method_, options_);
    check_measurement_state(state_, model_, options_);
    model_.design = with_few_entries(model_.design.sized(model_.dimension()));
    run_.threads = resolve_threads(run_.threads);
    if (!options_.candidates) return;
    candidate_entries_ = with_few_entries(options_.candidates->rows);
    taken_.assign(static_cast<std::size_t>(options_.candidates->count()), 0);
    for (const Index group : state_.taken) taken_[static_cast<std::size_t>(group)] = 1;
  }

  [[nodiscard]] Index dimension() const { return model_.dimension(); }
  [[nodiscard]] const MeasurementState& state() const { return state_; }
  [[nodiscard]] MeasurementState& state() { return state_; }
  [[nodiscard]] const DesignOptions& options() const { return options_; }

  const MeasurementProposal& propose(Index count, bool at_random) {
    check_count(count);
    const MeasurementProposal& open = state_.pending;
    if (open.rows.rows() > 0 && pending_count() == count && open.at_random == at_random) return open;
    const BlasThreads blas(run_.threads);
    MeasurementProposal next = options_.candidates ? from_candidates(count, at_random) : free_rows(count, at_random);
    next.at_random = at_random;
    if (!at_random) next.gain = gaussian().gain(next.rows.transpose(), options_.noise_variance);
    state_.pending = std::move(next);
    return state_.pending;
  }

  void observe(const Matrix& rows, const Vector& values) {
    check_measurements(rows, values, dimension());
    const Index before = state_.measurements();
    const Index count = values.size();
    state_.rows.conservativeResize(dimension(), before + count);
    state_.rows.rightCols(count) = rows.transpose();
    state_.values.conservativeResize(before + count);
    state_.values.tail(count) = values;
    state_.pending = {};
    state_.later.push_back(count);
    if (state_.sites.rows() == 0) {
      plan_fit();
      return;
    }
    if (belief_) {
      const BlasThreads blas(run_.threads);
      update(count, state_.measurements());
    }
    if (static_cast<Index>(state_.later.size()) >= options_.refit) plan_fit();
  }

  void observe(const Vector& values) {
    const MeasurementProposal proposed = state_.pending;
    if (proposed.rows.rows() == 0)
      throw InvalidModel("no rows are proposed whose values these could be; propose some first");
    if (values.size() != proposed.rows.rows())
      throw InvalidModel(fmt::format("{} values, but {} rows were proposed", values.size(), proposed.rows.rows()));
    observe(proposed.rows, values);
    for (const Index group : proposed.chosen) {
      state_.taken.push_back(group);
      taken_[static_cast<std::size_t>(group)] = 1;
    }
  }

  const DesignBelief& belief() {
    (void)gaussian();
    return *belief_;
  }

  /// The current Gaussian: the fit, made where it is not there, and what was measured after it.
  const UpdatedGaussian& gaussian() {
    if (belief_) return *gaussian_;
    const BlasThreads blas(run_.threads);
    fit();
    Index seen = state_.fitted;
    for (const Index count : state_.later) update(count, seen += count);
    return *gaussian_;
  }

  const Posterior& posterior() {
    if (!state_.later.empty()) plan_fit();
    if (!posterior_) {
      const BlasThreads blas(run_.threads);
      fit_anew();
    }
    return *posterior_;
  }

 private:
  [[nodiscard]] Index pending_count() const {
    return options_.candidates ? static_cast<Index>(state_.pending.chosen.size()) : state_.pending.rows.rows();
  }

  void check_count(Index count) const {
    if (count < 1) throw InvalidOption(fmt::format("{} rows to propose; 1 or more are accepted", count));
    if (!options_.candidates) {
      if (count > dimension())
        throw InvalidOption(fmt::format("{} rows to propose at once; the model has {} weights", count, dimension()));
      return;
    }
    const Index left = options_.candidates->repeats ? options_.candidates->count()
                                                    : static_cast<Index>(std::count(taken_.begin(), taken_.end(), 0));
    if (count > left)
      throw InvalidOption(fmt::format("{} candidates to propose, but {} {} left; take fewer, or allow repeats", count,
                                      left, left == 1 ? "is" : "are"));
  }

  MeasurementProposal free_rows(Index count, bool at_random) {
    if (at_random || options_.rule == DesignRule::random)
      return {random_rows(count, dimension(), run_.seed, state_.measurements())};
    const UpdatedGaussian& q = gaussian();
    Random random = stream(run_.seed, of_starts, state_.measurements());
    const auto fresh = [&] { return normal_vector(dimension(), random); };
    Matrix start(dimension(), count);
    for (Index k = 0; k < count; ++k) start.col(k) = fresh();
    const LeadingSpace space = leading_space([&](const Matrix& x) { return q.times(x); }, start, direction_tolerance,
                                             space_columns(count), fresh);
    return {options_.rule == DesignRule::eigen ? eigen_rows(space) : greedy_rows(space, options_.noise_variance)};
  }

  MeasurementProposal from_candidates(Index count, bool at_random) {
    MeasurementProposal out;
    std::vector<Matrix> rows;
    if (at_random || options_.rule == DesignRule::random) {
      out.chosen = drawn_candidates(count);
      for (const Index group : out.chosen)
        rows.push_back(group_transposed(*options_.candidates, candidate_entries_, group));
    } else {
      const std::shared_ptr<const Matrix> covariance = gaussian().covariance();
      CandidateScores scores(*options_.candidates, candidate_entries_, *covariance, options_.noise_variance, taken_);
      for (Index k = 0; k < count; ++k) {
        CandidateScores::Choice choice = scores.choose();
        out.chosen.push_back(choice.group);
        rows.push_back(std::move(choice.rows));
      }
    }
    Index total = 0;
    for (const Matrix& block : rows) total += block.cols();
    out.rows.resize(total, dimension());
    Index at = 0;
    for (const Matrix& block : rows) {
      out.rows.middleRows(at, block.cols()) = block.transpose();
      at += block.cols();
    }
    return out;
  }

  [[nodiscard]] std::vector<Index> drawn_candidates(Index count) const {
    std::vector<Index> left;
    for (std::size_t group = 0; group < taken_.size(); ++group)
      if (options_.candidates->repeats || taken_[group] == 0) left.push_back(static_cast<Index>(group));
    Random random = stream(run_.seed, of_candidates, state_.measurements());
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
      std::swap(left[k], left[k + static_cast<std::size_t>(random.uniform() * static_cast<double>(left.size() - k))]);
    left.resize(static_cast<std::size_t>(count));
    return left;
  }

  /// The next fit sees all measurements, and begins near where these leave the last one.
  void plan_fit() {
    if (state_.sites.rows() > 0) {
      state_.start = sites_near(model_, method_, belief().latent, state_.sites, run_.threads);
      state_.sites = {};
    }
    state_.fitted = state_.measurements();
    state_.later.clear();
    belief_.reset();
    gaussian_.reset();
    posterior_.reset();
  }

  /// The Gaussian of the last fit: made again of its sites where it was made before.
  void fit() {
    if (state_.sites.rows() > 0) {
      if (const auto again = gaussian_at(model_, measured_rows(), method_, state_.sites, run_)) {
        believe(*again);
        return;
      }
    }
    fit_anew();
  }

  void fit_anew() {
    const MeasuredFit found = fit_measured(model_, measured_rows(), method_, state_.start, run_);
    const Report& report = found.posterior->report();
    if (state_.sites.rows() == 0) {
      state_.iterations += report.iterations;
      state_.unconverged += report.converged() ? 0 : 1;
    }
    state_.sites = found.sites;
    state_.log_evidence = found.posterior->log_evidence();
    state_.converged = report.converged();
    posterior_ = found.posterior;
    believe(found);
  }

  void believe(const MeasuredFit& found) {
    gaussian_.emplace(found.mean, found.covariance);
    belief_ = DesignBelief{found.mean, gaussian_->variances(), found.latent, state_.log_evidence, state_.converged};
  }

  [[nodiscard]] std::shared_ptr<const MeasuredRows> measured_rows() {
    auto out = std::make_shared<MeasuredRows>();
    out->rows = state_.fitted > 0 ? Matrix(state_.rows.leftCols(state_.fitted)) : Matrix(dimension(), 0);
    out->values = state_.values.head(state_.fitted);
    out->variance = options_.noise_variance;
    if (suits_measured_core(model_, method_, run_) && state_.fitted >= gram_block) {
      grow_gram();
      out->gram = gram_;
      out->gram_rows = gram_rows_;
    }
    return out;
  }

  void grow_gram() {
    if (!gram_) gram_ = std::make_shared<Matrix>(Matrix::Zero(dimension(), dimension()));
    if (gram_rows_ + gram_block > state_.fitted) return;
    // A posterior that somebody holds may still look into the former sums.
    if (gram_.use_count() > 1) gram_ = std::make_shared<Matrix>(*gram_);
    for (; gram_rows_ + gram_block <= state_.fitted; gram_rows_ += gram_block)
      add_outer(1.0, state_.rows.middleCols(gram_rows_, gram_block), 1.0, *gram_);
  }

  /// Takes in the `count` measurements before `end`.
  void update(Index count, Index end) {
    const UpdatedGaussian::Step step = gaussian_->measure(
        state_.rows.middleCols(end - count, count), state_.values.segment(end - count, count), options_.noise_variance);
    gaussian_->take(step);
    const Matrix seen = model_.design.times(step.shrink, run_.threads);
    belief_->mean = gaussian_->mean();
    belief_->variance -= step.shrink.rowwise().squaredNorm();
    belief_->latent.mean += model_.design.times(step.move, run_.threads);
    belief_->latent.variance -= seen.rowwise().squaredNorm();
    belief_->log_evidence.value += step.log_density;
    // With the sites held it is no bound of the model's evidence, but that of the Gaussian model that they make.
    belief_->log_evidence.kind = EvidenceKind::approximation;
  }

  Model model_;
  Method method_;
  DesignOptions options_;
  Run run_;
  MeasurementState state_;
  Design candidate_entries_;
  std::vector<char> taken_;
  std::shared_ptr<Matrix> gram_;
  Index gram_rows_ = 0;
  std::optional<Posterior> posterior_;
  std::optional<UpdatedGaussian> gaussian_;
  std::optional<DesignBelief> belief_;
};

DesignSession::DesignSession(Model model, Method method, DesignOptions options, Run run, MeasurementState state)
    : session_(std::make_unique<Session>(std::move(model), std::move(method), std::move(options), std::move(run),
                                         std::move(state))) {}
DesignSession::~DesignSession() = default;
DesignSession::DesignSession(DesignSession&& other) noexcept = default;
DesignSession& DesignSession::operator=(DesignSession&& other) noexcept = default;

Index DesignSession::dimension() const { return session_->dimension(); }
const MeasurementState& DesignSession::state() const { return std::as_const(*session_).state(); }
const DesignOptions& DesignSession::options() const { return session_->options(); }
const MeasurementProposal& DesignSession::propose(Index count) { return session_->propose(count, false); }
const MeasurementProposal& DesignSession::propose_at_random(Index count) { return session_->propose(count, true); }
void DesignSession::observe(const Vector& values) { session_->observe(values); }
void DesignSession::observe(const Matrix& rows, const Vector& values) { session_->observe(rows, values); }
const DesignBelief& DesignSession::belief() { return session_->belief(); }
const Posterior& DesignSession::posterior() { return session_->posterior(); }
void DesignSession::add_point(const MeasurementPoint& point) { session_->state().curve.push_back(point); }
void DesignSession::set_seconds(double seconds) { session_->state().seconds = seconds; }

Matrix DesignSession::covariance_times(const Matrix& x) {
  if (x.rows() != dimension())
    throw InvalidModel(
        fmt::format("a block of vectors of {} numbers, but the model has {} weights", x.rows(), dimension()));
  return session_->gaussian().times(x);
}

double DesignSession::gain(const Matrix& rows) {
  check_measurements(rows, Vector::Zero(rows.rows()), dimension());
  return session_->gaussian().gain(rows.transpose(), options().noise_variance);
}

}  // namespace gaussmith
