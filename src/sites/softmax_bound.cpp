#include "sites/softmax_bound.hpp"

#include "numerics/other_class.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
/// Steps before the row is warmed up instead: solved for a small multiple of f first, where D is nearly the entropy,
/// then for `warming` times as much, each from the last.
constexpr int direct_steps = 12;
constexpr double warming = 4.0;
constexpr int warm_steps = 100;
/// A smaller probability leaves no trace in any result, but its logarithm must stay finite.
constexpr double smallest_log_odds = -700.0;
/// What Newton's matrix may lack of its second part, relative to the diagonal: steps square the residual until it is as
/// small as this, and multiply it by this from there on.
constexpr double curvature_accuracy = 1e-6;

/// log sum exp, and x - that.
double normalise(const Vector& x, Vector& out) {
  const double top = x.maxCoeff();
  const double sum = top + std::log((x.array() - top).exp().sum());
  out = x.array() - sum;
  return sum;
}

/// R, C x (C - 1), of diag p - pp' = RR' in closed form; sums of probabilities to come keep it free of cancellation.
void set_multinomial_root(const Vector& p, Matrix& root) {
  root.setZero();
  const Index classes = p.size();
  double after = p(classes - 1);
  for (Index j = classes - 2; j >= 0; --j) {
    const double from = after + p(j);
    if (p(j) > 0.0 && after > 0.0) {
      root(j, j) = std::sqrt(p(j)) * std::sqrt(after / from);
      const double share = std::sqrt(p(j)) / (std::sqrt(after) * std::sqrt(from));
      for (Index i = j + 1; i < classes; ++i) root(i, j) = -p(i) * share;
    }
    after = from;
  }
}

}  // namespace

struct SoftmaxBound::Work {
  /// All that a vector of log-odds determines.
  struct Point {
    explicit Point(Index classes)
        : log_odds(classes),
          log_probability(classes),
          probability(classes),
          exponent(classes),
          weight(classes),
          root(classes, classes - 1),
          scaled(classes, classes - 1),
          stretch(classes - 1) {}

    Vector log_odds;            // log p up to a constant.
    Vector log_probability;     // log p.
    Vector probability;         // p.
    Vector exponent;            // a_c - m_y.
    Vector weight;              // softmax(a).
    Matrix root;                // R, A = RR'.
    Matrix scaled;              // Row c: the coordinates of e_c - p in which V is I and A diagonal.
    Vector stretch;             // s.
    double entropy_part = 0.0;  // sum_k (1 + log s_k - s_k)/2.
    double dual = 0.0;          // D.
    double log_sum = 0.0;       // log sum_c exp(exponent_c).
    double residual = 0.0;
    bool settled = false;  // No step lowers the residual, and the gap is rounding.
    double terms = 0.0;    // Size of the terms of the exponents that matter.
    double size = 0.0;     // The same with what rounding of the eigenvalues does to them.

    /// The residual to reach, what rounding may leave of it in unlucky rows, and in D.
    [[nodiscard]] double goal() const { return 1e-13 + 8.0 * epsilon * terms; }
    [[nodiscard]] double rounding() const { return 1e-13 + 8.0 * epsilon * size; }
    [[nodiscard]] double blur() const { return 64.0 * epsilon * (1.0 + std::abs(dual) + size); }
    [[nodiscard]] double value() const { return entropy_part - log_sum; }
    [[nodiscard]] double gap() const { return std::max(0.0, dual - value()); }
  };

  explicit Work(Index size)
      : classes(size),
        now(size),
        next(size),
        mean(size),
        covariance_root(size, size - 1),
        gram(size - 1, size - 1),
        product(size - 1, size - 1),
        eigen(size - 1),
        curvature(size, size),
        newton(size, size),
        factor(size),
        columns(size, size - 1),
        pull(size),
        free(size),
        constant(size),
        step(size),
        narrow(size - 1),
        cauchy(size - 1, size - 1),
        outer(size, size),
        inner_factor(size - 1),
        inner(size - 1, size - 1),
        inner_root(size - 1, size) {}

  void set_row(Index label, ConstSpan m, ConstSpan v);
  void evaluate(Point& at);
  Index set_cauchy_root(const Vector& stretch);
  double find_step(const Point& at);
  void write_precision(const Point& at, Span out);

  void set_ahead(double length);
  int descend(double enough, int most_steps);

  Index classes;
  Point now, next;
  double warmth = 1.0;     // The row is solved for warmth * f.
  Vector mean;             // m_c - m_y.
  Matrix covariance_root;  // L, C x (C - 1), of V in differences to one class, whose row is zero.
  Matrix gram, product;
  Eigen::SelfAdjointEigenSolver<Matrix> eigen;
  Matrix curvature;  // -da/dp.
  Matrix newton;
  Eigen::LLT<Matrix> factor;
  Matrix columns;
  Vector pull, free, constant, step, narrow;
  Matrix cauchy;  // Columns u_r, sum_r u_rj u_rk = 1/(s_j s_k (s_j + s_k - 1)).
  Matrix outer;
  Eigen::LLT<Matrix> inner_factor;
  Matrix inner, inner_root;
};

/// Only differences between classes matter. They are taken to the class that varies least about the mean of all, which
/// spares the others the rounding errors of a large variance.
void SoftmaxBound::Work::set_row(Index label, ConstSpan m, ConstSpan v) {
  const Eigen::Map<const Matrix> full(v.data(), classes, classes);
  for (Index c = 0; c < classes; ++c) mean(c) = m[static_cast<std::size_t>(c)] - m[static_cast<std::size_t>(label)];
  Index reference = 0;
  double least = std::numeric_limits<double>::infinity();
  for (Index c = 0; c < classes; ++c) {
    const double spread = full(c, c) - 2.0 * full.col(c).mean();
    if (spread < least) {
      least = spread;
      reference = c;
    }
  }
  covariance_root.setZero();
  for (Index j = 0; j < classes - 1; ++j) {
    const Index column = other_class(j, reference);
    double spread = 0.0;
    for (Index i = j; i < classes - 1; ++i) {
      const Index row = other_class(i, reference);
      double entry =
          (full(row, column) - full(row, reference)) - (full(reference, column) - full(reference, reference));
      if (i == j) spread = entry;
      for (Index k = 0; k < j; ++k) entry -= covariance_root(row, k) * covariance_root(column, k);
      covariance_root(row, j) = entry;
    }
    const double pivot = covariance_root(column, j);
    // A pivot of rounding errors stands for a direction without variance.
    const double scale = pivot > 8.0 * epsilon * static_cast<double>(classes) * spread ? 1.0 / std::sqrt(pivot) : 0.0;
    for (Index i = j; i < classes - 1; ++i) covariance_root(other_class(i, reference), j) *= scale;
  }
}

void SoftmaxBound::Work::evaluate(Point& at) {
  normalise(at.log_odds, at.log_probability);
  at.probability = at.log_probability.array().exp();
  const Vector& p = at.probability;
  set_multinomial_root(p, at.root);
  product.noalias() = warmth * (at.root.transpose() * covariance_root);
  gram.noalias() = product.transpose() * product;
  eigen.compute(gram);
  at.scaled.noalias() = warmth * (covariance_root * eigen.eigenvectors());
  narrow.noalias() = at.scaled.transpose() * p;
  at.scaled.rowwise() -= narrow.transpose();
  at.entropy_part = 0.0;
  double dual_part = 0.0, sensitivity = 0.0;
  for (Index k = 0; k < classes - 1; ++k) {
    const double lambda = std::max(0.0, eigen.eigenvalues()(k));
    const double s = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * lambda));
    const double beyond = lambda / s;  // s - 1.
    at.stretch(k) = s;
    const double logarithm = std::log1p(beyond);
    at.entropy_part += 0.5 * (logarithm - beyond);
    dual_part += 0.5 * logarithm - beyond;
    sensitivity += 1.0 / (s + beyond);  // ds/d lambda.
  }
  double entropy = 0.0;
  at.terms = 0.0;
  for (Index c = 0; c < classes; ++c) {
    double square = 0.0;
    for (Index k = 0; k < classes - 1; ++k) square += at.scaled(c, k) * at.scaled(c, k) / at.stretch(k);
    const double shift = warmth * mean(c);
    at.exponent(c) = shift + 0.5 * square;
    if (p(c) > 0.0) {
      entropy += p(c) * (at.log_probability(c) - shift);
      at.terms = std::max(at.terms, (std::abs(shift) + square) * p(c));
    }
  }
  // Eigenvalues are as accurate as the largest allows.
  at.size = at.terms + std::max(0.0, eigen.eigenvalues()(classes - 2)) * sensitivity;
  at.dual = entropy + dual_part;
  at.log_sum = normalise(at.exponent, at.weight);
  at.weight = at.weight.array().exp();
  at.residual = (p - at.weight).cwiseAbs().maxCoeff();
}

/// Fills `cauchy` and returns how many columns do: 1/(s_j + s_k - 1) is a Cauchy matrix, of low rank to any accuracy,
/// and pivoted Cholesky finds it. What is left out is positive semidefinite.
Index SoftmaxBound::Work::set_cauchy_root(const Vector& s) {
  narrow = (2.0 * s.array() - 1.0).inverse();
  Index rank = 0;
  for (; rank < s.size(); ++rank) {
    Index pivot = 0;
    const double left = (narrow.array() * (2.0 * s.array() - 1.0)).maxCoeff(&pivot);
    if (!(left > curvature_accuracy)) break;
    auto column = cauchy.col(rank);
    column = (s.array() + (s(pivot) - 1.0)).inverse();
    for (Index k = 0; k < rank; ++k) column -= cauchy(pivot, k) * cauchy.col(k);
    column /= std::sqrt(narrow(pivot));
    narrow -= column.cwiseAbs2();
  }
  cauchy.leftCols(rank).array().colwise() /= s.array();
  return rank;
}

/// The Newton step in the log-odds, to `step`; the rate at which it lowers D, positive.
///
/// -da_c/dp_d = sum_k z_ck z_dk/s_k + sum_jk z_cj z_ck z_dj z_dk/(2 s_j s_k (s_j + s_k - 1)) =: M, z the rows of
/// `scaled`, from dX + dX AX + XA dX = -X dA X. Newton's equation (diag(1/p) + M) dp = a - log p + mu 1, 1'dp = 0, is
/// solved for dp/sqrt(p), and the log-odds move by a - log p + mu 1 - M dp, which holds for vanishing probabilities
/// too.
double SoftmaxBound::Work::find_step(const Point& at) {
  const Vector& s = at.stretch;
  columns = at.scaled * s.cwiseInverse().cwiseSqrt().asDiagonal();
  curvature.noalias() = columns * columns.transpose();
  const Index rank = set_cauchy_root(s);
  for (Index r = 0; r < rank; ++r) {
    // The second part, sum_r (Z diag(u_r) Z')^2/2 entry by entry.
    columns = at.scaled * cauchy.col(r).asDiagonal();
    outer.noalias() = columns * at.scaled.transpose();
    curvature.array() += 0.5 * outer.array().square();
  }
  pull = at.exponent - at.log_probability;
  constant = at.probability.cwiseSqrt();
  newton = constant.asDiagonal() * curvature * constant.asDiagonal();
  newton.diagonal().array() += 1.0;
  factor.compute(newton);
  // Only differences of the pulls count; the mean comes off before it can swamp them.
  pull.array() -= pull.dot(at.probability);
  free = constant.cwiseProduct(pull);
  step = constant;
  factor.solveInPlace(free);
  factor.solveInPlace(step);
  const double balance = -constant.dot(free) / constant.dot(step);
  free = constant.cwiseProduct(free + balance * step);  // dp.
  step = pull.array() + balance;
  step.noalias() -= curvature * free;
  step.array() -= step.dot(at.probability);
  return free.dot(pull);
}

/// T = R (I + R'XR)^-1 R': positive semidefinite as computed, relatively accurate where X is large.
void SoftmaxBound::Work::write_precision(const Point& at, Span out) {
  // R'1 = 0, so that the rows e_c - p of `scaled` serve as well as e_c.
  columns = at.scaled * at.stretch.cwiseInverse().cwiseSqrt().asDiagonal();
  product.noalias() = at.root.transpose() * columns;
  inner.noalias() = product * product.transpose();
  inner.diagonal().array() += 1.0;
  inner_factor.compute(inner);
  inner_root = at.root.transpose();
  inner_factor.matrixL().solveInPlace(inner_root);
  Eigen::Map<Matrix>(out.data(), classes, classes).noalias() = inner_root.transpose() * inner_root;
}

/// Moves by `length` of the step. Down, the log-odds are linear; up, the probability is, or where it is tiny it may
/// grow to what its own curvature says: an exponential from 1e-20 passes any aim.
void SoftmaxBound::Work::set_ahead(double length) {
  for (Index c = 0; c < classes; ++c) {
    const double move = length * step(c);
    double allowed = move;
    if (move > 0.0) {
      allowed = std::log1p(move);
      const double own = std::min(1.0, length * pull(c) / curvature(c, c));
      if (own > 0.0) allowed = std::max(allowed, std::min(move, std::log(own) - now.log_probability(c)));
    }
    next.log_odds(c) = now.log_probability(c) + allowed;
  }
}

/// Steps from `now` to a residual of `enough` or to rounding; the number of points evaluated.
int SoftmaxBound::Work::descend(double enough, int most_steps) {
  int steps = 0;
  now.settled = false;
  while (now.residual > std::max(enough, now.goal()) && steps < most_steps) {
    const double rate = find_step(now);
    double length = 1.0;
    bool good = false;
    while (!good && steps < most_steps && length > 1e-10) {
      set_ahead(length);
      evaluate(next);
      ++steps;
      // Below the blur the values of D are rounding errors.
      good = next.dual <= now.dual - 1e-4 * length * rate + now.blur();
      length *= 0.5;
    }
    now.settled = now.gap() <= now.blur() && !(good && next.residual < now.residual);
    if (!good || now.settled) break;
    std::swap(now, next);
    now.settled = false;
  }
  return steps;
}

SoftmaxBound::SoftmaxBound(Index classes) : work_(std::make_unique<Work>(classes)) { assert(classes >= 2); }
SoftmaxBound::~SoftmaxBound() = default;
SoftmaxBound::SoftmaxBound(SoftmaxBound&&) noexcept = default;
SoftmaxBound& SoftmaxBound::operator=(SoftmaxBound&&) noexcept = default;

SoftmaxBound::Result SoftmaxBound::maximise(Index label, ConstSpan mean, ConstSpan covariance, const Out& out) {
  Work& w = *work_;
  const Index classes = w.classes;
  assert(static_cast<Index>(mean.size()) == classes && static_cast<Index>(covariance.size()) == classes * classes);
  w.set_row(label, mean, covariance);
  Eigen::Map<Vector> b(out.probabilities.data(), classes);
  const double largest = b.maxCoeff();
  for (Index c = 0; c < classes; ++c)
    w.now.log_odds(c) = b(c) > 0.0 ? std::max(std::log(b(c) / largest), smallest_log_odds) : smallest_log_odds;
  if (!(largest > 0.0)) w.now.log_odds.setZero();
  w.evaluate(w.now);
  int steps = w.descend(out.enough, direct_steps);
  if (w.now.residual > std::max(out.enough, w.now.goal()) && !w.now.settled) {
    const double largest_variance = w.covariance_root.rowwise().squaredNorm().maxCoeff();
    const double spread = std::max(std::sqrt(largest_variance), w.mean.cwiseAbs().maxCoeff());
    w.now.log_odds.setZero();
    for (w.warmth = std::min(1.0, 1.0 / spread); w.warmth < 1.0; w.warmth = std::min(1.0, warming * w.warmth)) {
      w.evaluate(w.now);
      steps += 1 + w.descend(1e-3, warm_steps);
      w.now.log_odds = w.now.log_probability;
    }
    w.warmth = 1.0;
    w.evaluate(w.now);
    steps += 1 + w.descend(out.enough, warm_steps);
  }
  const Work::Point& at = w.now;
  b = at.probability;
  Index top = 0;
  at.probability.maxCoeff(&top);
  if (!out.d_mean.empty()) {
    Eigen::Map<Vector> d(out.d_mean.data(), classes);
    d = -at.probability;
    d(label) = 0.0;
    // 1 - b_y as a sum where it may be small.
    d(label) = label == top ? -d.sum() : 1.0 - at.probability(label);
  }
  if (!out.precision.empty()) w.write_precision(at, out.precision);
  return {at.value(), at.gap(), at.residual, steps, at.residual <= std::max(out.enough, at.rounding())};
}

}  // namespace gaussmith
