#include "sampling/rooted_mode.hpp"

#include "gaussian/positive_weights.hpp"

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

constexpr int max_steps = 100;
constexpr int max_halvings = 40;
/// Of the gradient, in standard deviations: the error of the integral is its square.
constexpr double tolerance = 1e-7;
constexpr double sufficient_increase = 1e-4;

}  // namespace

RootedSearch::Value RootedSearch::evaluate(const Vector& y, const Vector& centre, const RootedTerms& terms) const {
  const Vector eta = centre + rows_ * y;
  Value out;
  Vector value;
  sites_.log_density(eta, &value, &out.first, &out.second);
  if (terms.share != nullptr) {
    value.array() *= terms.share->array();
    out.first.array() *= terms.share->array();
    out.second.array() *= terms.share->array();
  }
  const Vector away = eta - approximation_.origin;
  const Vector bend = approximation_.precision.cwiseProduct(away);
  const double square = terms.prior != nullptr ? y.cwiseAbs2().dot(*terms.prior) : y.squaredNorm();
  out.objective =
      -0.5 * square + (value - approximation_.constant - away.cwiseProduct(approximation_.slope - 0.5 * bend)).sum();
  out.first -= approximation_.slope - bend;
  out.second += approximation_.precision;
  if (terms.extra != nullptr) {
    const double x = terms.extra->centre + terms.extra->direction.dot(y);
    double log_density = 0.0;
    terms.extra->block->log_density(0, ConstSpan(&x, 1),
                                    {Span(&log_density, 1), Span(&out.extra_first, 1), Span(&out.extra_second, 1), {}});
    out.objective += log_density;
  }
  return out;
}

bool RootedSearch::factorise(const Value& value, const Vector& centre, const RootedTerms& terms, bool touching,
                             Matrix& a) const {
  Vector weight = -value.second;
  if (touching) {
    const Vector eta = centre + rows_ * y_;
    Vector first;
    Vector second;
    sites_.log_density(eta, nullptr, &first, &second);
    weight = positive_weights(sites_, eta, first, second).precision;
    if (terms.share != nullptr) weight.array() *= terms.share->array();
    weight -= approximation_.precision;
  }
  a = transposed_times(rows_, Matrix(weight.asDiagonal() * rows_));
  if (terms.prior != nullptr)
    a.diagonal() += *terms.prior;
  else
    a.diagonal().array() += 1.0;
  if (terms.extra != nullptr)
    a.noalias() -= value.extra_second * terms.extra->direction * terms.extra->direction.transpose();
  return cholesky(a);
}

RootedMode RootedSearch::climb(const Vector& centre, const RootedTerms& terms) {
  Value now = evaluate(y_, centre, terms);
  if (!std::isfinite(now.objective)) {
    y_.setZero();
    now = evaluate(y_, centre, terms);
  }
  Matrix a;
  for (int step = 0; step < max_steps; ++step) {
    const bool mode = factorise(now, centre, terms, false, a);
    if (!mode && !factorise(now, centre, terms, true, a)) return {};
    Vector gradient = rows_.transpose() * now.first;
    gradient -= terms.prior != nullptr ? Vector(terms.prior->cwiseProduct(y_)) : y_;
    if (terms.extra != nullptr) gradient += now.extra_first * terms.extra->direction;
    Vector move = gradient;
    solve_lower(a, move);
    solve_lower_transposed(a, move);
    const double slope = gradient.dot(move);
    if (mode && slope <= tolerance * tolerance) return {now.objective - half_log_determinant(a), true};
    double length = 1.0;
    bool moved = false;
    for (int halving = 0; halving < max_halvings && !moved; ++halving, length *= 0.5) {
      const Vector trial = y_ + length * move;
      Value next = evaluate(trial, centre, terms);
      if (!(next.objective >= now.objective + sufficient_increase * length * slope)) continue;
      y_ = trial;
      now = std::move(next);
      moved = true;
    }
    // In double precision there may be nothing left to gain.
    if (!moved) return {now.objective - half_log_determinant(a), mode && slope <= 1e-8};
  }
  return {};
}

}  // namespace gaussmith
