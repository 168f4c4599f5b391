#include "gaussian/sparse_core.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/sparse_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace gaussmith {

namespace {

/// Columns of a pattern handled by one task.
constexpr Index column_block = 4096;
/// A pivot this small beside its diagonal entry is rounding of zero, where only the sites hold some direction.
constexpr double singular_pivot = 1e-14;
/// Pivots from which on solves are refined.
constexpr double safe_pivot = 1e-6;
/// An improper field alone is factorised with this share of its diagonal added: its variances only start searches.
constexpr double ridge = 1e-6;

template <class Number>
std::size_t at(Number n) {
  return static_cast<std::size_t>(n);
}

}  // namespace

std::shared_ptr<const SparseMatrix> sparse_rows(const Design& design) {
  const DesignEntries stored = design.entries();
  if (stored.identity) return nullptr;
  if (stored.is_sparse()) {
    // The numbers are the design's: they live as long as some copy of it.
    const auto owner = std::make_shared<const Design>(design.in_double());
    return {owner, owner->entries().sparse};
  }
  auto made = std::make_shared<SparseMatrix>(stored.dense->sparseView());
  made->makeCompressed();
  return made;
}

RowPairs::RowPairs(std::shared_ptr<const SparseMatrix> rows, const SymmetricPattern& pattern) : rows_(std::move(rows)) {
  if (rows_ == nullptr) return;
  begin_.assign(at(pattern.size) + 1, 0);
  const int* column = rows_->innerIndexPtr();
  for (Index k = 0; k < rows_->nonZeros(); ++k) ++begin_[at(column[k]) + 1];
  for (std::size_t j = 0; j + 1 < begin_.size(); ++j) begin_[j + 1] += begin_[j];
  row_.resize(at(rows_->nonZeros()));
  place_.resize(row_.size());
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  for (Index n = 0; n < rows_->rows(); ++n)
    for (int k = rows_->outerIndexPtr()[n]; k < rows_->outerIndexPtr()[n + 1]; ++k) {
      const int to = next[at(column[k])]++;
      row_[at(to)] = static_cast<int>(n);
      place_[at(to)] = k;
    }
}

void RowPairs::add_gram(const Vector& weights, const SymmetricPattern& pattern, std::vector<double>& entries,
                        int threads) const {
  if (rows_ == nullptr) {
    for (Index j = 0; j < pattern.size; ++j) entries[at(pattern.begin[at(j)])] += weights(j);
    return;
  }
  const int* column = rows_->innerIndexPtr();
  const double* value = rows_->valuePtr();
  const int* end_of = rows_->outerIndexPtr() + 1;
  parallel_blocks(pattern.size, column_block, threads, [&](Index begin, Index end) {
    Vector sums = Vector::Zero(pattern.size);
    for (Index j = begin; j < end; ++j) {
      // Rows have their columns ascending: what follows entry j joins it with later weights.
      for (int k = begin_[at(j)]; k < begin_[at(j) + 1]; ++k) {
        const int n = row_[at(k)];
        const double scaled = weights(n) * value[place_[at(k)]];
        for (int other = place_[at(k)]; other < end_of[n]; ++other) sums(column[other]) += scaled * value[other];
      }
      for (int k = pattern.begin[at(j)]; k < pattern.begin[at(j) + 1]; ++k) {
        double& sum = sums(pattern.row[at(k)]);
        entries[at(k)] += sum;
        sum = 0.0;
      }
    }
  });
}

Vector RowPairs::quadratic_forms(const SymmetricPattern& pattern, const std::vector<double>& z) const {
  if (rows_ == nullptr) {
    Vector out(pattern.size);
    for (Index j = 0; j < pattern.size; ++j) out(j) = z[at(pattern.begin[at(j)])];
    return out;
  }
  const int* column = rows_->innerIndexPtr();
  const double* value = rows_->valuePtr();
  const int* end_of = rows_->outerIndexPtr() + 1;
  Vector out = Vector::Zero(rows_->rows());
  Vector of_column = Vector::Zero(pattern.size);
  for (Index j = 0; j < pattern.size; ++j) {
    for (int k = pattern.begin[at(j)]; k < pattern.begin[at(j) + 1]; ++k) of_column(pattern.row[at(k)]) = z[at(k)];
    for (int k = begin_[at(j)]; k < begin_[at(j) + 1]; ++k) {
      const int n = row_[at(k)];
      const int own = place_[at(k)];
      double sum = 0.5 * value[own] * of_column(j);
      for (int other = own + 1; other < end_of[n]; ++other) sum += value[other] * of_column(column[other]);
      out(n) += 2.0 * value[own] * sum;
    }
  }
  return out;
}

Vector RowPairs::absolute_transposed_times(const Vector& x) const {
  if (rows_ == nullptr) return x;
  Vector out = Vector::Zero(rows_->cols());
  for (Index n = 0; n < rows_->rows(); ++n)
    for (SparseMatrix::InnerIterator it(*rows_, n); it; ++it) out(it.col()) += std::abs(it.value()) * x(n);
  return out;
}

SparseCore::SparseCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset) {
  std::optional<KnownPrecision> known = prior_precision(geometry_->prior());
  if (!known) throw std::logic_error("the sparse form needs a sparse prior precision");
  prior_ = std::move(*known);
  prior_log_determinant_ = precision_log_determinant(geometry_->prior(), prior_);
  std::shared_ptr<const SparseMatrix> rows = sparse_rows(geometry_->design());
  SymmetricPattern pattern = gram_pattern(prior_.precision, rows.get());
  pairs_ = std::make_shared<const RowPairs>(std::move(rows), pattern);
  prior_entries_.assign(pattern.row.size(), 0.0);
  for (Index j = 0; j < pattern.size; ++j) {
    // Q by columns is Q by rows; both ascend.
    SparseMatrix::InnerIterator it(prior_.precision, j);
    for (int k = pattern.begin[at(j)]; k < pattern.begin[at(j) + 1]; ++k) {
      while (it && it.col() < pattern.row[at(k)]) ++it;
      if (it && it.col() == pattern.row[at(k)]) prior_entries_[at(k)] = it.value();
    }
  }
  for (std::size_t g = 0; g < prior_.grounds.size(); ++g)
    prior_entries_[at(pattern.begin[at(prior_.grounds[g])])] += prior_.ground_weights(static_cast<Index>(g));
  gaussian_ = std::make_shared<SparseGaussian>(
      SparseGaussian{std::make_shared<SparseCholesky>(std::move(pattern)), HeldDirections()});
}

HeldDirections SparseCore::hold_with(const SparseCholesky& factor) const {
  return {prior_.constraints, prior_.grounds, prior_.ground_weights, [&](Matrix& b) { factor.solve(b); }};
}

Vector SparseCore::prior_times(const Vector& x) const {
  if (prior_.root.rows() == 0) return prior_.precision * x;
  return prior_.root.transpose() * Vector(prior_.root * x);
}

std::vector<double> SparseCore::entries_at(const Vector& precision) const {
  std::vector<double> entries = prior_entries_;
  pairs_->add_gram(precision, gaussian_->factor->pattern(), entries, geometry_->threads());
  return entries;
}

bool SparseCore::factorise(const SiteApproximation& sites) {
  const Vector& precision = sites.precision;
  selected_.reset();
  entries_ = entries_at(precision);
  // Laws keep what they were made of.
  const bool lent = gaussian_.use_count() > 1;
  auto factor = lent ? gaussian_->factor->clone() : gaussian_->factor;
  const bool factorised = factor->factorise(entries_);
  gaussian_ =
      std::make_shared<SparseGaussian>(SparseGaussian{factor, factorised ? hold_with(*factor) : HeldDirections()});
  if (!factorised || !gaussian_->held.is_proper()) return false;
  return prior_.improper == 0 || factor->smallest_pivot() > singular_pivot;
}

const std::vector<double>& SparseCore::selected() const {
  if (!selected_) selected_ = gaussian_->factor->selected_inverse();
  return *selected_;
}

Vector SparseCore::held_variances(const SparseGaussian& gaussian, const Vector& unheld) const {
  if (!gaussian.held.any()) return unheld;
  const Design& h = geometry_->design();
  const Vector left = unheld - h.times(gaussian.held.lost_root(), geometry_->threads()).rowwise().squaredNorm() +
                      h.times(gaussian.held.gained_root(), geometry_->threads()).rowwise().squaredNorm();
  return left.cwiseMax(rounding_unit * unheld);
}

void SparseCore::find_variances(Vector& variance, Vector& share) {
  unheld_ = pairs_->quadratic_forms(gaussian_->factor->pattern(), selected()).cwiseMax(0.0);
  variance = held_variances(*gaussian_, unheld_);
  share = Vector::Ones(rows()) - sites().precision.cwiseProduct(variance);
}

Vector SparseCore::prior_variances() const {
  if (!prior_variances_) {
    if (!has_only_precision(geometry_->prior())) {
      prior_variances_ = geometry_->row_variances();
    } else {
      const auto factor = gaussian_->factor->clone();
      std::vector<double> entries = prior_entries_;
      if (prior_.improper > 0) {
        const SymmetricPattern& pattern = factor->pattern();
        for (Index j = 0; j < pattern.size; ++j) entries[at(pattern.begin[at(j)])] *= 1.0 + ridge;
      }
      if (!factor->factorise(entries)) throw std::logic_error("a prior precision could not be factorised");
      const SparseGaussian alone{factor, hold_with(*factor)};
      const Vector unheld = pairs_->quadratic_forms(factor->pattern(), factor->selected_inverse()).cwiseMax(0.0);
      prior_variances_ = held_variances(alone, unheld);
    }
  }
  return *prior_variances_;
}

bool SparseCore::factorises_cheaply() const {
  // Numbers that a factorisation keeps in registers count less than those of a solve, which come from memory.
  constexpr double blas = 4.0;
  constexpr double few = 15.0;
  const SparseCost cost = gaussian_->factor->cost();
  return cost.flops / blas < few * 4.0 * cost.factor_entries;
}

Vector SparseCore::solve(const Vector& b) const {
  const SparseCholesky& factor = *gaussian_->factor;
  Vector x = b;
  factor.solve(x);
  if (factor.smallest_pivot() < safe_pivot) {
    Vector hx;
    Vector residual =
        b - prior_times(x) - geometry_->design().gram_times(sites().precision, x, hx, geometry_->threads());
    for (std::size_t g = 0; g < prior_.grounds.size(); ++g)
      residual(prior_.grounds[g]) -= prior_.ground_weights(static_cast<Index>(g)) * x(prior_.grounds[g]);
    factor.solve(residual);
    x += residual;
  }
  gaussian_->held.hold(Eigen::Map<Matrix>(x.data(), x.size(), 1));
  return x;
}

LatentPoint SparseCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + geometry_->design().times(coordinates, geometry_->threads());
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint SparseCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  const Vector pull = shift - sites().precision.cwiseProduct(prior_mean_);
  return point(solve(geometry_->design().transposed_times(pull, geometry_->threads())));
}

LogDeterminant SparseCore::half_log_det() const {
  const double free = static_cast<double>(prior_.improper) * std::log(2.0 * std::numbers::pi);
  const double sites = gaussian_->factor->log_determinant() + gaussian_->held.log_determinant();
  return {0.5 * (sites - prior_log_determinant_ - free)};
}

Vector SparseCore::covariance_times(const Vector& x) const {
  const Design& h = geometry_->design();
  return h.times(solve(h.transposed_times(x, geometry_->threads())), geometry_->threads());
}

LatentPoint SparseCore::centre() const { return {Vector::Zero(geometry_->dimension()), prior_mean_}; }

double SparseCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  if (prior_.root.rows() == 0) return a.coordinates.dot(prior_.precision * b.coordinates);
  return Vector(prior_.root * a.coordinates).dot(Vector(prior_.root * b.coordinates));
}

double SparseCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  Vector gradient =
      geometry_->design().transposed_times(site_gradient, geometry_->threads()) - prior_times(from.coordinates);
  gaussian_->held.project(gradient);
  return gradient.dot(to.coordinates - from.coordinates);
}

Vector SparseCore::dual(const LatentPoint& at) const { return sites().shift - sites().precision.cwiseProduct(at.eta); }

Matrix SparseCore::covariance_weights(const LatentPoint& /*at*/, const Vector& /*implicit*/) const {
  throw std::logic_error("priors of the sparse form have no parameters of single entries");
}

ParameterGradient SparseCore::prior_gradient(const LatentPoint& at_mean, const RowMarginals& rows,
                                             const Vector& implicit) const {
  ParameterGradient gradient = GaussianCore::prior_gradient(at_mean, rows, implicit);
  const std::vector<FieldPart> parts = field_parts(geometry_->prior());
  if (parts.empty()) return gradient;
  const SymmetricPattern& pattern = gaussian_->factor->pattern();
  const std::vector<double>& z = selected();
  const Matrix& lost = gaussian_->held.lost_root();
  const Matrix& gained = gaussian_->held.gained_root();
  Vector pull;
  if (implicit.size() > 0) pull = geometry_->design().transposed_times(implicit, geometry_->threads());
  for (const FieldPart& part : parts) {
    // d log Z / d log p = (rank - w'Q w - tr(Q V)) / 2 - g'Sigma a over the weights of the field, Q its precision.
    double trace = 0.0;
    for (Index j = part.first; j < part.first + part.size; ++j) {
      SparseMatrix::InnerIterator it(prior_.precision, j);
      for (int k = pattern.begin[at(j)]; k < pattern.begin[at(j) + 1]; ++k) {
        while (it && it.col() < pattern.row[at(k)]) ++it;
        if (it && it.col() == pattern.row[at(k)]) trace += (it.col() == j ? 1.0 : 2.0) * it.value() * z[at(k)];
      }
    }
    Vector own = Vector::Zero(at_mean.coordinates.size());
    own.segment(part.first, part.size) = at_mean.coordinates.segment(part.first, part.size);
    if (gaussian_->held.any()) trace += prior_squares(gained, part) - prior_squares(lost, part);
    double slope = 0.5 * (part.rank - prior_squares(own, part) - trace);
    if (pull.size() > 0) slope -= pull.dot(own);
    gradient[part.name] = slope;
  }
  return gradient;
}

double SparseCore::prior_squares(const Matrix& x, const FieldPart& part) const {
  double sum = 0.0;
  Vector own = Vector::Zero(x.rows());
  for (Index c = 0; c < x.cols(); ++c) {
    own.segment(part.first, part.size) = x.col(c).segment(part.first, part.size);
    sum += prior_.root.rows() > 0 ? Vector(prior_.root * own).squaredNorm() : own.dot(Vector(prior_.precision * own));
  }
  return sum;
}

RoundingError SparseCore::rounding_error(const LatentPoint& at_mean) {
  const RowMarginals q = marginals(at_mean);
  const SymmetricPattern& pattern = gaussian_->factor->pattern();
  const std::vector<double>& z = selected();
  const Vector size = at_mean.coordinates.cwiseAbs();
  // What the gradient H'a - Q (w - mean) is a sum of, and eta.
  Vector terms = pairs_->absolute_transposed_times(q.dual.cwiseAbs());
  double quadratic = 0.0;  // What w'Q w is uncertain by.
  if (prior_.root.rows() == 0) {
    const Vector pulled = prior_.precision.cwiseAbs() * size;
    terms += pulled;
    quadratic = rounding_unit * size.dot(pulled);
  } else {
    const Vector difference = prior_.root * at_mean.coordinates;
    const Vector blur = rounding_unit * (prior_.root.cwiseAbs() * size);
    terms += prior_.root.cwiseAbs().transpose() * difference.cwiseAbs();
    terms += prior_.root.cwiseAbs().transpose() * blur / rounding_unit;
    quadratic = 2.0 * difference.cwiseAbs().cwiseProduct(blur).norm() + blur.squaredNorm();
  }
  const Vector eta_error = eta_rounding(at_mean) + rounding_unit * geometry_->absolute_times(size);
  double growth = 0.0;
  double slope = 0.0;
  for (Index j = 0; j < pattern.size; ++j) {
    const std::size_t diagonal = at(pattern.begin[at(j)]);
    growth += std::abs(entries_[diagonal]) * z[diagonal];
    slope += terms(j) * terms(j) * z[diagonal];
  }
  slope = rounding_unit * std::sqrt(slope);
  const auto tau = sites().precision.array().abs();
  const double blurred = std::sqrt((tau * eta_error.array().square()).sum()) +
                         (shift_rounding(at_mean).array() * q.variance.array().sqrt()).matrix().norm();
  RoundingError out;
  out.variance = rounding_unit * growth;
  // Variances are what is left of larger ones.
  if (gaussian_->held.any()) out.variance += rounding_unit * largest_ratio(unheld_, q.variance) * std::sqrt(growth);
  out.mean = slope + blurred + largest_ratio(eta_error, q.variance.cwiseSqrt());
  out.log_evidence = 0.5 * rounding_unit * growth + q.dual.cwiseProduct(eta_error).norm() + 0.5 * blurred * blurred +
                     0.5 * slope * slope + rounding_unit * std::abs(prior_log_determinant_) + 0.5 * quadratic;
  out.gradient =
      std::sqrt(std::abs(inner(at_mean, at_mean))) * out.mean + out.variance * (tau * q.variance.array()).sum();
  out.gradient = std::max(out.gradient, 2.0 * out.log_evidence);
  return out;
}

std::unique_ptr<PosteriorLaw> SparseCore::law(const LatentPoint& at_mean) const {
  const SymmetricPattern& pattern = gaussian_->factor->pattern();
  const std::vector<double>& z = selected();
  SparseLaw::Known known{Vector(pattern.size), Vector::Zero(pattern.size)};
  for (Index j = 0; j < pattern.size; ++j) {
    const int first = pattern.begin[at(j)];
    known.variance(j) = z[at(first)];
    if (first + 1 < pattern.begin[at(j) + 1] && pattern.row[at(first + 1)] == j + 1)
      known.neighbour(j) = z[at(first + 1)];
  }
  if (gaussian_->held.any()) {
    const Matrix& lost = gaussian_->held.lost_root();
    const Matrix& gained = gaussian_->held.gained_root();
    const Vector left = known.variance + gained.rowwise().squaredNorm() - lost.rowwise().squaredNorm();
    known.variance = left.cwiseMax(rounding_unit * known.variance);
    const Index rest = pattern.size - 1;
    known.neighbour.head(rest) += gained.topRows(rest).cwiseProduct(gained.bottomRows(rest)).rowwise().sum() -
                                  lost.topRows(rest).cwiseProduct(lost.bottomRows(rest)).rowwise().sum();
  }
  return std::make_unique<SparseLaw>(geometry_, gaussian_, std::move(known), at_mean.coordinates, sites().precision);
}

}  // namespace gaussmith
