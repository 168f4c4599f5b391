#include "trust/second_order.hpp"

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr Index columns_at_once = 256;

/// Directions with unit length; those of no length stay zero.
Matrix normalised(const Matrix& rows, const Vector& deviation) {
  Matrix unit = rows;
  for (Index i = 0; i < unit.rows(); ++i)
    if (deviation(i) > 0.0)
      unit.row(i) /= deviation(i);
    else
      unit.row(i).setZero();
  return unit;
}

Vector lengths(const Matrix& rows) { return rows.rowwise().norm(); }

/// x'G x for every row x of a matrix, G symmetric.
Vector quadratic_forms(const Matrix& rows, const Matrix& g) {
  return times(rows, g).cwiseProduct(rows).rowwise().sum();
}

/// Shifts of points with these unit directions.
struct Shifts {
  Vector direction;  ///< delta m = direction'x.
  Matrix curvature;  ///< delta v = x'curvature x.
};

void put_shifts(const PosteriorRoot& root, const Matrix& unit, const Shifts& shifts, SecondOrder& out) {
  out.mean_shift = unit * shifts.direction;
  out.variance_shift = quadratic_forms(unit, shifts.curvature);
  if (root.weights.size() == 0) return;
  const Matrix weights = normalised(root.weights, lengths(root.weights));
  out.weights_mean_shift = weights * shifts.direction;
  out.weights_variance_shift = quadratic_forms(weights, shifts.curvature);
}

/// d4 log t / d eta4 from central differences of the third derivative, on a scale on which rows vary.
Vector fourth_derivative(const SiteRows& sites, const Vector& eta, const Vector& deviation) {
  constexpr double share = 1e-3;
  const Vector step = (share * deviation).cwiseMax(1e-6 * (1.0 + eta.array().abs()).matrix());
  Vector up;
  Vector down;
  sites.log_density(eta + step, nullptr, nullptr, nullptr, &up);
  sites.log_density(eta - step, nullptr, nullptr, nullptr, &down);
  return (up - down).cwiseQuotient(2.0 * step);
}

SecondOrder of_laplace(const Posterior::State& state, const PosteriorRoot& root) {
  const SiteRows sites(state.model, state.threads);
  const Vector& eta = state.rows().mean;
  Vector third;
  sites.log_density(eta, nullptr, nullptr, nullptr, &third);
  return loop_sums(root, third, fourth_derivative(sites, eta, lengths(root.rows)));
}

/// EP of power p in a row of weight w is max(1, w)/p equal sites, each with its own tilted distribution.
Vector equal_sites(const SiteRows& sites, double power) {
  Vector copies(sites.rows());
  for (Index n = 0; n < sites.rows(); ++n) copies(n) = sites.copies(n) / power;
  return copies;
}

SecondOrder of_ep(const Posterior::State& state, const Ep& method, const PosteriorRoot& root) {
  const SiteRows sites(state.model, state.threads);
  const Vector copies = equal_sites(sites, method.power);
  const HermiteCoefficients a = tilted_coefficients(sites, state.rows(), state.sites, copies);
  const Matrix together = copies.asDiagonal() * a.coefficient;
  SecondOrder out = pair_sums(root, together, (1.0 - copies.array().inverse()).matrix());
  out.inaccurate = a.inaccurate;
  return out;
}

SecondOrder of_kl(const Posterior::State& state, const PosteriorRoot& root) {
  const SiteRows sites(state.model, state.threads);
  const HermiteCoefficients b = log_site_coefficients(sites, state.rows());
  SecondOrder out = pair_sums(root, b.coefficient, Vector::Ones(sites.rows()));
  out.inaccurate = b.inaccurate;
  return out;
}

}  // namespace

std::string why_no_second_order(const Posterior::State& state) {
  if (std::string why = why_no_root(state); !why.empty()) return why;
  const Method& method = state.method;
  if (std::holds_alternative<Laplace>(method) || std::holds_alternative<Ep>(method)) return {};
  if (std::holds_alternative<Kl>(method)) {
    FittedGaussian fitted;
    state.law->describe(fitted);
    return fitted.form == CoreForm::root ? "the covariance is constrained" : "";
  }
  return std::string(name_of(method)) + " has no such expansion";
}

SecondOrder second_order(const Posterior::State& state, const PosteriorRoot& root) {
  const BlasThreads blas(state.threads);
  if (const auto* ep = std::get_if<Ep>(&state.method)) return of_ep(state, *ep, root);
  if (std::holds_alternative<Kl>(state.method)) return of_kl(state, root);
  return of_laplace(state, root);
}

Vector laplace_mean_shift(const Posterior::State& state, const PosteriorRoot& root) {
  const SiteRows sites(state.model, state.threads);
  Vector third;
  sites.log_density(state.rows().mean, nullptr, nullptr, nullptr, &third);
  const Vector v = root.rows.rowwise().squaredNorm();
  const Vector direction = 0.5 * (root.rows.transpose() * third.cwiseProduct(v));
  return normalised(root.rows, lengths(root.rows)) * direction;
}

SecondOrder pair_sums(const PosteriorRoot& root, const Matrix& coefficients, const Vector& itself) {
  const Index n = root.rows.rows();
  const Matrix unit = normalised(root.rows, lengths(root.rows));
  const Vector a3 = coefficients.col(0);
  const Vector a4 = coefficients.col(1);
  const Vector a5 = coefficients.col(2);
  const Vector a6 = coefficients.col(3);
  SecondOrder out;
  out.share = Vector::Zero(n);
  Vector cubes = Vector::Zero(n);  // sum_m a3_m rho_mn^3
  Matrix curvature = Matrix::Zero(unit.cols(), unit.cols());
  for (Index begin = 0; begin < n; begin += columns_at_once) {
    const Index count = std::min(columns_at_once, n - begin);
    const auto block = unit.middleRows(begin, count);
    Matrix rho = times_transposed(unit, block);
    for (Index j = 0; j < count; ++j) {
      const Index row = begin + j;
      const auto r = rho.col(j).array();
      // rho^2 and rho^3 with the row's own entry scaled by how far it stands beside itself.
      Vector square = r.square();
      Vector cube = square.array() * r;
      square(row) *= itself(row);
      cube(row) *= itself(row);
      const auto q = cube.array();
      out.share(row) = 0.5 * (a3(row) / 6.0 * (a3.array() * q).sum() + a4(row) / 24.0 * (a4.array() * q * r).sum() +
                              a5(row) / 120.0 * (a5.array() * q * r.square()).sum() +
                              a6(row) / 720.0 * (a6.array() * q * r.cube()).sum());
      cubes(row) = (a3.array() * q).sum();
      rho.col(j) = a3(row) * a3.cwiseProduct(square) + a4(row) / 3.0 * a4.cwiseProduct(cube);
    }
    curvature += times(transposed_times(unit, rho), block);
  }
  const Vector mixed = a5.cwiseProduct(cubes) / 3.0;
  curvature += transposed_times(unit, Matrix(mixed.asDiagonal() * unit));
  out.evidence = out.share.sum();
  const Vector direction = unit.transpose() * a4.cwiseProduct(cubes) / 6.0;
  put_shifts(root, unit, {direction, 0.25 * (curvature + curvature.transpose())}, out);
  return out;
}

SecondOrder loop_sums(const PosteriorRoot& root, const Vector& third, const Vector& fourth) {
  const Index n = root.rows.rows();
  const Vector deviation = lengths(root.rows);
  const Matrix unit = normalised(root.rows, deviation);
  const Vector v = deviation.array().square();
  const Vector pulled = third.cwiseProduct(v);
  // V (f3 v), which is twice the shift of the mean.
  const Vector direction = root.rows.transpose() * pulled;
  const Vector twice = root.rows * direction;
  // (1/12) f3'V^{o3} f3 and the bubble of the variance, 1/2 f3_m V_mn^2 f3_n.
  const Vector scaled = third.array() * deviation.array().cube();
  Vector cubes = Vector::Zero(n);
  Matrix bubble = Matrix::Zero(unit.cols(), unit.cols());
  for (Index begin = 0; begin < n; begin += columns_at_once) {
    const Index count = std::min(columns_at_once, n - begin);
    const auto block = unit.middleRows(begin, count);
    Matrix rho = times_transposed(unit, block);
    for (Index j = 0; j < count; ++j) {
      const auto r = rho.col(j).array();
      cubes(begin + j) = (scaled.array() * r.cube()).sum();
      rho.col(j) = (0.5 * scaled(begin + j)) * (scaled.array() * r.square()).matrix();
    }
    bubble += times(transposed_times(unit, rho), block);
  }
  SecondOrder out;
  out.share = (fourth.array() * v.array().square() + pulled.array() * twice.array()) / 8.0 +
              scaled.array() * cubes.array() / 12.0;
  out.evidence = out.share.sum();
  // Curvature that the rows gain: from the fourth derivative, and from the third where the mean has moved.
  const Vector gained = 0.5 * (fourth.array() * v.array() + third.array() * twice.array());
  const Matrix change = bubble + transposed_times(root.rows, Matrix(gained.asDiagonal() * root.rows));
  put_shifts(root, unit, {0.5 * direction, 0.5 * (change + change.transpose())}, out);
  return out;
}

}  // namespace gaussmith
