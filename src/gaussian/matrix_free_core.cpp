#include "gaussian/matrix_free_core.hpp"

#include "base/random_choice.hpp"
#include "gaussian/root_law.hpp"
#include "linalg/dense.hpp"
#include "linalg/log_determinant.hpp"
#include "model/sparse_entries.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace gaussmith {

namespace {

/// Residuals, in posterior standard deviations, of solves that have to be as good as can be, beside their right side.
constexpr double finest_reduction = 1e-13;
constexpr int most_iterations = 5000;
/// Solves for draws need no more than the error of a draw, in the direction that they know least.
constexpr double drawn_error = 0.3;
constexpr double drawn_reduction = 1e-3;
constexpr double finest_drawn_reduction = 1e-8;
constexpr double draft_reduction = 0.01;
constexpr double first_reduction = 0.1;
/// The share of Lanczos' steps that drafts take is one in so many.
constexpr int draft_steps = 4;
constexpr int determinant_probes = 16;
constexpr double determinant_tolerance = 1e-5;
/// Up to this many weights, determinants are exact: D products and a dense factorisation.
constexpr Index few_weights = 1000;
/// A factor over rows is made again where a precision has changed by more than this factor. The condition of what it
/// leaves to conjugate gradients is at most the square.
constexpr double stale = 1.5;
/// Solves through it tell their error in standard deviations, all directions together. Coarser ones would leave draws
/// as they are where tangents still move.
constexpr double factored_error = 0.01;
/// Draws that are solved together through it.
constexpr Index factored_at_once = 64;
/// Drafts before it is made take one in so many of the draws, but not less than a block.
constexpr int draft_draws = 4;
/// Weights whose own precision is less than this share of A_jj may be solved for first,
constexpr double weakly_held = 0.5;
constexpr Index most_first = 64;
/// with at most so many numbers for each of the design,
constexpr double first_share = 2.0;
/// where the others are held better than the worst of them by this factor.
constexpr double worthwhile_hold = 4.0;
/// Vectors of random signs for the diagonal of an operator.
constexpr int diagonal_probes = 32;

bool is_exact(const VarianceMethod& method) { return std::holds_alternative<ExactVariances>(method); }

/// The diagonal of B diag(scale)^2 B' for an operator B, as E (B diag(scale) z)_i^2 over random signs z.
Vector squares_by_signs(const Vector& scale, std::uint64_t seed, const LinearMap& b) {
  Random random(seed);
  Matrix signs(scale.size(), diagonal_probes);
  for (double& sign : signs.reshaped()) sign = random_sign(random);
  return b(scale.asDiagonal() * signs).rowwise().squaredNorm() / diagonal_probes;
}

/// The weight of every row that has one entry alone, with that entry.
void find_single_rows(const Design& design, std::vector<Index>& weight, Vector& scale) {
  const DesignEntries stored = design.entries();
  const Index rows = design.rows();
  if (!stored.is_sparse() && !stored.identity) return;
  weight.assign(static_cast<std::size_t>(rows), -1);
  scale = Vector::Ones(rows);
  for (Index n = 0; n < rows; ++n) {
    if (stored.identity) weight[static_cast<std::size_t>(n)] = n;
  }
  if (!stored.is_sparse()) return;
  visit_sparse(stored, [&](const auto& entries) {
    for (Index n = 0; n < rows; ++n) {
      const auto begin = entries.outerIndexPtr()[n];
      if (entries.outerIndexPtr()[n + 1] - begin != 1) continue;
      weight[static_cast<std::size_t>(n)] = entries.innerIndexPtr()[begin];
      scale(n) = static_cast<double>(entries.valuePtr()[begin]);
    }
  });
}

}  // namespace

std::vector<Index> factored_rows(const Design& design, const VarianceMethod& method) {
  std::vector<Index> out;
  const DesignEntries stored = design.entries();
  if (!std::holds_alternative<SampledVariances>(method) || !stored.is_sparse()) return out;
  visit_sparse(stored, [&](const auto& entries) {
    for (Index n = 0; n < entries.rows(); ++n)
      if (entries.outerIndexPtr()[n + 1] - entries.outerIndexPtr()[n] > 1) out.push_back(n);
  });
  if (static_cast<Index>(out.size()) > std::min(most_factored_rows, design.cols())) out.clear();
  return out;
}

Index most_solved_first(const Design& design, const VarianceMethod& method) {
  const bool solves =
      std::holds_alternative<SampledVariances>(method) || std::holds_alternative<ProbedVariances>(method);
  if (!solves || !design.has_entries() || !factored_rows(design, method).empty()) return 0;
  return std::min(most_first, static_cast<Index>(first_share * design.nonzeros() / static_cast<double>(design.cols())));
}

MatrixFreeCore::MatrixFreeCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset,
                               const Estimation& estimation)
    : GaussianCore(std::move(geometry), offset), estimation_(estimation) {
  if (!geometry_->has_gaussian())
    prior_precision_ = Vector::Zero(geometry_->dimension());
  else if (geometry_->has_independent_weights())
    prior_precision_ = geometry_->weight_variances().cwiseInverse();
  else
    throw std::logic_error("the matrix-free form needs independent weights");
  find_single_rows(design(), single_weight_, single_scale_);
  joining_ = factored_rows(design(), estimation_.variances);
  if (!joining_.empty()) joining_rows_ = design().select(joining_);
}

Vector MatrixFreeCore::own_precision() const {
  Vector own = prior_precision_;
  for (std::size_t n = 0; n < single_weight_.size(); ++n)
    if (const Index j = single_weight_[n]; j >= 0) {
      const auto row = static_cast<Index>(n);
      own(j) += precision_(row) * single_scale_(row) * single_scale_(row);
    }
  return own;
}

std::optional<double> MatrixFreeCore::refresh_factor(bool exact) const {
  if (joining_.empty()) return {};
  const Vector own = own_precision();
  const Vector precision = precision_(joining_);
  if (factor_.exists()) {
    // 0 for a row that counts no more, infinite for one that did not count.
    const auto ratio = [](double then, double now) { return then == now ? 1.0 : then / now; };
    const Vector rows = factor_.precision().binaryExpr(precision, ratio);
    const Vector weights = factor_.own().binaryExpr(own, ratio);
    const double largest = std::max(rows.maxCoeff(), weights.maxCoeff());
    const double least = std::min(rows.minCoeff(), weights.minCoeff());
    if (largest == 1.0 && least == 1.0) return 1.0;
    if (!exact && largest <= stale && least * stale >= 1.0) return std::max(1.0, largest);
  }
  if (!factor_.factorise(joining_rows_, precision, own, geometry_->threads())) return {};
  return 1.0;
}

LinearMap MatrixFreeCore::preconditioner() const { return solved_first_preconditioner(diagonal_, first_); }

void MatrixFreeCore::refresh_preconditioner() const {
  first_.reset();
  const Vector held = own_precision().cwiseQuotient(diagonal_);
  held_ = held.minCoeff();
  std::vector<Index> weak;
  for (Index j = 0; j < held.size(); ++j)
    if (held(j) < weakly_held) weak.push_back(j);
  const auto weaker = [&](Index i, Index j) { return held(i) < held(j) || (held(i) == held(j) && i < j); };
  std::sort(weak.begin(), weak.end(), weaker);
  const auto most = static_cast<std::size_t>(most_solved_first(design(), estimation_.variances));
  const double others = weak.size() > most ? held(weak[most]) : weakly_held;
  if (weak.empty() || most == 0 || others < worthwhile_hold * held_) return;
  weak.resize(std::min(most, weak.size()));
  Matrix columns(held.size(), static_cast<Index>(weak.size()));
  for (Index begin = 0; begin < columns.cols(); begin += solved_at_once) {
    const Index count = std::min(solved_at_once, columns.cols() - begin);
    Matrix units = Matrix::Zero(held.size(), count);
    for (Index k = 0; k < count; ++k) units(weak[static_cast<std::size_t>(begin + k)], k) = 1.0;
    columns.middleCols(begin, count) = times(units);
  }
  auto first = std::make_shared<const SolvedFirst>(std::move(weak), columns);
  if (!first->exists()) return;
  first_ = std::move(first);
  held_ = others;
}

Vector MatrixFreeCore::gram_diagonal(const Vector& weights) const {
  if (design().has_entries()) return design().column_squares(weights, geometry_->threads());
  return squares_by_signs(weights.cwiseAbs().cwiseSqrt(), estimation_.seed,
                          [&](const Matrix& x) { return design().transposed_times(x, geometry_->threads()); });
}

bool MatrixFreeCore::factorise(const SiteApproximation& sites) {
  const Vector& precision = sites.precision;
  if (estimate_) last_root_ = std::move(estimate_->root);
  estimate_.reset();
  checked_ = false;
  log_determinant_.reset();
  exact_determinant_ = false;
  precision_ = precision;
  if ((precision.array() < 0.0).any()) return false;
  diagonal_ = prior_precision_ + gram_diagonal(precision);
  if (!diagonal_.allFinite() || !(diagonal_.array() > 0.0).all()) return false;
  // Sites alone may leave directions open, which an exact factorisation finds.
  return !is_exact(estimation_.variances) || estimate().solves != ConjugateGradientEnd::not_positive;
}

Matrix MatrixFreeCore::times(const Matrix& x) const {
  const int threads = geometry_->threads();
  Matrix out;
  if (x.cols() == 1) {
    Vector hx;
    out = design().gram_times(precision_, x, hx, threads);
  } else {
    out = design().gram_times(precision_, x, threads);
  }
  out += prior_precision_.asDiagonal() * x;
  return out;
}

LinearMap MatrixFreeCore::product() const {
  return [this](const Matrix& x) { return times(x); };
}

PrecisionSystem MatrixFreeCore::system() const {
  const int threads = geometry_->threads();
  const Index rows_of_noise = rows();
  PrecisionSystem out;
  out.dimension = geometry_->dimension();
  out.times = product();
  out.preconditioner = preconditioner();
  out.diagonal = diagonal_;
  out.exact_diagonal = design().has_entries();
  out.rows = rows();
  out.rows_times = [this, threads](const Matrix& x) { return design().times(x, threads); };
  out.rows_transposed_times = [this, threads](const Matrix& x) { return design().transposed_times(x, threads); };
  out.root_columns = rows_of_noise + out.dimension;
  out.root_times = [this, threads, rows_of_noise](const Matrix& x) -> Matrix {
    const Matrix scaled = precision_.cwiseSqrt().asDiagonal() * x.topRows(rows_of_noise);
    Matrix sum = design().transposed_times(scaled, threads);
    sum += prior_precision_.cwiseSqrt().asDiagonal() * x.bottomRows(x.rows() - rows_of_noise);
    return sum;
  };
  out.row_precision = precision_;
  out.single_weight = single_weight_;
  out.single_scale = single_scale_;
  return out;
}

void MatrixFreeCore::set_draft(bool draft) {
  if (draft_ && !draft && estimate_) {
    last_root_ = std::move(estimate_->root);
    estimate_.reset();
    forget_variances();
  }
  draft_ = draft;
}

double MatrixFreeCore::final_reduction() const {
  // A >= Q and what rows with one entry add to it, so that M A has no eigenvalue below the share that these hold. A
  // residual r leaves an error of r'A^-1 r <= r'M r / share, while b'M b is about D.
  const double reduction = drawn_error * std::sqrt(held_ / static_cast<double>(geometry_->dimension()));
  return std::clamp(reduction, finest_drawn_reduction, drawn_reduction);
}

VarianceOptions MatrixFreeCore::estimator_options() const {
  VarianceOptions options;
  options.seed = estimation_.seed;
  options.max_iterations = most_iterations;
  return options;
}

const VarianceEstimate& MatrixFreeCore::estimate() const {
  if (estimate_) return *estimate_;
  VarianceOptions options = estimator_options();
  options.errors = false;
  refresh_preconditioner();
  if (std::holds_alternative<SampledVariances>(estimation_.variances)) {
    // Drafts are where better ones begin, the first of them far from the last.
    options.reduction = !draft_ ? final_reduction() : last_root_.size() > 0 ? draft_reduction : first_reduction;
    if (last_root_.size() > 0) options.start = &last_root_;
  }
  PrecisionSystem of_draws = system();
  VarianceMethod method = estimation_.variances;
  if (auto* const sampled = std::get_if<SampledVariances>(&method); sampled != nullptr && !joining_.empty()) {
    if (draft_) {
      sampled->draws =
          std::min(sampled->draws, std::max(static_cast<int>(solved_at_once), sampled->draws / draft_draws));
    } else if (const std::optional<double> beyond = refresh_factor(false)) {
      const int threads = geometry_->threads();
      of_draws.preconditioner = [this, threads](const Matrix& x) { return factor_.solve(joining_rows_, x, threads); };
      of_draws.draws_at_once = factored_at_once;
      options.reduction = factored_error / std::sqrt(*beyond * static_cast<double>(geometry_->dimension()));
      // One step does it where the factor is that of A.
      if (*beyond == 1.0) options.start = nullptr;
    }
    if (options.start != nullptr && options.start->cols() != sampled->draws) options.start = nullptr;
  }
  if (auto* const lanczos = std::get_if<LanczosVariances>(&method); lanczos != nullptr && draft_)
    lanczos->steps = std::max(1, lanczos->steps / draft_steps);
  estimate_ = estimate_variances(of_draws, method, options);
  return *estimate_;
}

void MatrixFreeCore::find_variances(Vector& variance, Vector& share) {
  variance = estimate().rows;
  share = Vector::Ones(rows()) - sites().precision.cwiseProduct(variance);
}

Vector MatrixFreeCore::prior_variances() const {
  if (design().has_entries() || !geometry_->has_gaussian()) return geometry_->row_variances();
  return squares_by_signs(geometry_->weight_variances().cwiseSqrt(), estimation_.seed,
                          [&](const Matrix& x) { return design().times(x, geometry_->threads()); });
}

Accuracy MatrixFreeCore::accuracy() const {
  if (is_exact(estimation_.variances)) return Accuracy::exact;
  return std::holds_alternative<LanczosVariances>(estimation_.variances) ? Accuracy::from_below : Accuracy::estimate;
}

Accuracy MatrixFreeCore::determinant_accuracy() const { return exact_determinant_ ? Accuracy::exact : accuracy(); }

VarianceErrors MatrixFreeCore::variance_errors() {
  if (is_exact(estimation_.variances)) return {};
  if (std::holds_alternative<LanczosVariances>(estimation_.variances) && !checked_) {
    const Matrix root = estimate().root;
    VarianceOptions options = estimator_options();
    options.reduction = drawn_reduction;
    options.start = &root;
    estimate_ = estimate_variances(system(), estimation_.variances, options);
    checked_ = true;
  }
  return {
      estimate().rows_error, estimate().weights_error,
      solved_ && estimate().solves == ConjugateGradientEnd::converged && (factor_.exists() || half_log_det().exists)};
}

LatentPoint MatrixFreeCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + design().times(coordinates, geometry_->threads());
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint MatrixFreeCore::mean(const Vector& shift, const SolveGoal& goal) const {
  const int threads = geometry_->threads();
  Vector b = design().transposed_times(Vector(shift - precision_.cwiseProduct(prior_mean_)), threads);
  ConjugateGradientOptions options;
  options.max_iterations = most_iterations;
  options.reduction = std::max(goal.reduction, finest_reduction);
  options.residual_square = goal.tolerance * goal.tolerance;
  if (goal.start == nullptr) return point(solve(b, options));
  // The reduction is that of what the start leaves. A start that is good enough is improved all the same: the step
  // tells how good it is.
  b -= times(goal.start->coordinates);
  const Matrix improved = preconditioner()(b);
  options.residual_square = std::min(options.residual_square, 0.25 * improved.col(0).dot(b));
  return point(goal.start->coordinates + solve(b, options));
}

Vector MatrixFreeCore::solve(const Vector& b, const ConjugateGradientOptions& options) const {
  ConjugateGradientResult solved = conjugate_gradients(product(), b, options, preconditioner());
  solved_ = solved.end == ConjugateGradientEnd::converged;
  return solved.solution;
}

double MatrixFreeCore::largest_half_log_det() const {
  if (is_exact(estimation_.variances)) return half_log_det().value;
  return 0.5 * (diagonal_.array().log().sum() - prior_log_determinant());
}

double MatrixFreeCore::prior_log_determinant() const {
  if (geometry_->has_gaussian()) return prior_precision_.array().log().sum();
  return static_cast<double>(geometry_->dimension()) * std::log(2.0 * std::numbers::pi);
}

LogDeterminant MatrixFreeCore::half_log_det() const {
  if (!log_determinant_) {
    LogDeterminant out;
    if (is_exact(estimation_.variances)) {
      out.value = -2.0 * estimate().root.diagonal().array().log().sum();  // Of L^-T.
    } else if (geometry_->dimension() <= few_weights) {
      VarianceOptions options;
      options.rows = options.weights = false;
      const VarianceEstimate exact = estimate_variances(system(), ExactVariances{}, options);
      out.exists = exact.solves == ConjugateGradientEnd::converged;
      if (out.exists) out.value = -2.0 * exact.root.diagonal().array().log().sum();
      exact_determinant_ = true;
    } else if (refresh_factor(true)) {
      out.value = factor_.log_determinant();
      exact_determinant_ = true;
    } else {
      LogDeterminantOptions options;
      options.probes = determinant_probes;
      options.tolerance = determinant_tolerance;
      options.seed = estimation_.seed;
      options.exact_diagonal = design().has_entries();
      const LogDeterminantEstimate estimated = log_determinant(product(), diagonal_, options);
      out = {estimated.value, 0.5 * estimated.standard_error, 0.5 * estimated.unsettled, estimated.positive};
    }
    out.value = 0.5 * (out.value - prior_log_determinant());
    log_determinant_ = out;
  }
  return *log_determinant_;
}

Vector MatrixFreeCore::covariance_times(const Vector& x) const {
  ConjugateGradientOptions options;
  options.reduction = finest_reduction;
  options.max_iterations = most_iterations;
  return design().times(solve(design().transposed_times(x, geometry_->threads()), options), geometry_->threads());
}

LatentPoint MatrixFreeCore::centre() const { return {Vector::Zero(geometry_->dimension()), prior_mean_}; }

double MatrixFreeCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return a.coordinates.dot(prior_precision_.cwiseProduct(b.coordinates));
}

double MatrixFreeCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  const Vector gradient =
      design().transposed_times(site_gradient, geometry_->threads()) - prior_precision_.cwiseProduct(from.coordinates);
  return gradient.dot(to.coordinates - from.coordinates);
}

Vector MatrixFreeCore::dual(const LatentPoint& at) const {
  return sites().shift - sites().precision.cwiseProduct(at.eta);
}

Matrix MatrixFreeCore::covariance_weights(const LatentPoint& /*at*/, const Vector& /*implicit*/) const {
  throw std::logic_error("priors of the matrix-free form have no parameters of single entries");
}

RoundingError MatrixFreeCore::rounding_error(const LatentPoint& at) {
  const RowMarginals q = marginals(at);
  const Vector size = at.coordinates.cwiseAbs();
  const Vector eta_error = eta_rounding(at) + rounding_unit * geometry_->absolute_times(size);
  // What the gradient H'a - Q (w - mean) is a sum of; its terms' roundings add like independent ones.
  Vector terms = prior_precision_.cwiseProduct(size);
  terms += gram_diagonal(q.dual.cwiseAbs2()).cwiseSqrt();
  const double slope = rounding_unit * std::sqrt(terms.cwiseAbs2().cwiseProduct(estimate().weights).sum());
  const auto tau = sites().precision.array();
  const double blurred = std::sqrt((tau * eta_error.array().square()).sum()) +
                         (shift_rounding(at).array() * q.variance.array().sqrt()).matrix().norm();
  RoundingError out;
  // Products with A round like its diagonal.
  const double growth = diagonal_.cwiseProduct(estimate().weights).sum();
  out.variance = rounding_unit * growth;
  out.mean = slope + blurred + largest_ratio(eta_error, q.variance.cwiseSqrt());
  out.log_evidence = 0.5 * rounding_unit * growth + q.dual.cwiseProduct(eta_error).norm() + 0.5 * blurred * blurred +
                     0.5 * slope * slope;
  out.gradient = std::sqrt(std::abs(inner(at, at))) * out.mean + out.variance * (tau * q.variance.array()).sum();
  out.gradient = std::max(out.gradient, 2.0 * out.log_evidence);
  return out;
}

std::unique_ptr<PosteriorLaw> MatrixFreeCore::law(const LatentPoint& at) const {
  // Columns of the root are those of the estimate, scaled to its variances where it was drawn; what is left of a
  // variance beyond them counts as the weight's own.
  const VarianceEstimate& known = estimate();
  const Index size = geometry_->dimension();
  const Index columns = known.root.cols();
  const bool drawn = std::holds_alternative<SampledVariances>(estimation_.variances);
  const Vector squares = known.root.rowwise().squaredNorm();
  Vector factor = Vector::Ones(size);
  std::vector<Index> own;  // Weights with something left.
  for (Index j = 0; j < size; ++j) {
    if (drawn && squares(j) > 0.0) factor(j) = std::sqrt(known.weights(j) / squares(j));
    if (accuracy() == Accuracy::estimate && !drawn && known.weights(j) > squares(j)) own.push_back(j);
  }
  // Row by row as it is stored: triplets would take three times its memory.
  CovarianceRoot covariance;
  covariance.root.resize(columns + static_cast<Index>(own.size()), size);
  covariance.root.reserve((known.root.array() != 0.0).count() + static_cast<Index>(own.size()));
  for (Index k = 0; k < columns; ++k) {
    covariance.root.startVec(k);
    for (Index j = 0; j < size; ++j)
      if (known.root(j, k) != 0.0) covariance.root.insertBack(k, j) = factor(j) * known.root(j, k);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Index row = columns + static_cast<Index>(i);
    covariance.root.startVec(row);
    covariance.root.insertBack(row, own[i]) = std::sqrt(known.weights(own[i]) - squares(own[i]));
  }
  covariance.root.finalize();
  return std::make_unique<RootLaw>(geometry_, std::move(covariance), geometry_->mean() + at.coordinates);
}

}  // namespace gaussmith
