#include "learn/integration_axes.hpp"

#include "learn/curvature.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// No axis is taken for longer than this on the parameters' scales: what is flatter than that the bounds cut off.
constexpr double longest = 2.5;
/// Where the density on an axis is looked at, in standard deviations of the curvature.
constexpr double trials[] = {1.5, 3.0};
constexpr double far_trial = 6.0;
/// A fall that a far look is worth after, and the falls that say something about the shape.
constexpr double slow_fall = 3.0;
constexpr double least_fall = 0.02;
constexpr double most_fall = 30.0;
/// How far out a bend must rise, and how steeply compared with its middle.
constexpr double farthest = 5.0;
constexpr double least_slope = 0.2;

/// The symmetric root of the inverse of the negative curvature; flat and rising directions get the greatest length. Of
/// all roots its axes are the nearest to the parameters, each of which has a tail of its own.
Matrix curvature_root(const Matrix& hessian) {
  const SymmetricEigen eigen = symmetric_eigen(-hessian);
  Matrix root = eigen.vectors;
  for (Index i = 0; i < root.cols(); ++i)
    root.col(i) *= eigen.values(i) > 1.0 / (longest * longest) ? 1.0 / std::sqrt(eigen.values(i)) : longest;
  return root * eigen.vectors.transpose();
}

bool inside(const IntegrationTarget& target, const Vector& place) {
  return (place.array() >= target.lower().array()).all() && (place.array() <= target.upper().array()).all();
}

/// u = sqrt(2 fall) against z on both sides of an axis.
AxisBend bend_of(IntegrationTarget& target, const IntegrationAxes& axes, Index axis, double peak,
                 const std::function<bool()>& stop) {
  std::vector<std::pair<double, double>> pairs;
  for (const double sign : {1.0, -1.0}) {
    double fall = 0.0;
    const auto look = [&](double z) {
      const Vector place = axes.place(sign * z * Vector::Unit(axes.root.cols(), axis));
      if (!inside(target, place) || stop()) return;
      if (const auto fit = target.fit(place)) {
        fall = peak - fit->log_density;
        if (fall > least_fall && fall < most_fall) pairs.emplace_back(sign * std::sqrt(2.0 * fall), sign * z);
      }
    };
    for (const double z : trials) look(z);
    if (fall < slow_fall) look(far_trial);
  }
  return fit_bend(pairs);
}

bool rises(const AxisBend& bend) {
  for (int k = -20; k <= 20; ++k)
    if (bend.slope(farthest * k / 20.0) < least_slope * bend.linear) return false;
  return bend.linear > 0.0;
}

/// The axes of the parameters that are not at a bound.
void set_interior(IntegrationTarget& target, const std::vector<Index>& interior, double peak, const Vector& gradient,
                  const std::function<bool()>& stop, IntegrationAxes& axes) {
  const auto of_place = [&](const Vector& place) { return stop() ? std::nullopt : target.evaluate(place); };
  const auto found =
      curvature(of_place, target.mode(), gradient, interior, target.lower(), target.upper(), {.step = 0.1});
  const auto size = static_cast<Index>(interior.size());
  const Matrix root =
      found && found->hessian.allFinite() ? curvature_root(found->hessian) : Matrix::Identity(size, size);
  // Coordinates keep their numbers: the axes of the interior parameters stand in their columns.
  for (Index r = 0; r < size; ++r)
    for (Index c = 0; c < size; ++c)
      axes.root(interior[static_cast<std::size_t>(r)], interior[static_cast<std::size_t>(c)]) = root(r, c);
  std::vector<AxisBend> bends = axes.bends;
  for (const Index axis : interior) bends[static_cast<std::size_t>(axis)] = bend_of(target, axes, axis, peak, stop);
  axes.bends = std::move(bends);
}

}  // namespace

AxisBend fit_bend(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.empty()) return {};
  // z / u is a parabola in u; a small ridge decides where there are fewer than three pairs.
  Eigen::Matrix3d normal = Eigen::Vector3d(1e-9, 1e-4, 1e-4).asDiagonal();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  double ratio = 0.0;
  for (const auto& [u, z] : pairs) {
    const Eigen::Vector3d powers(1.0, u, u * u);
    normal += powers * powers.transpose();
    right += powers * (z / u);
    ratio += z / u / static_cast<double>(pairs.size());
  }
  const Eigen::Vector3d fit = normal.inverse() * right;
  AxisBend bend{fit(0), fit(1), fit(2)};
  for (int halving = 0; halving < 30 && !rises(bend); ++halving)
    bend = {0.5 * (bend.linear + ratio), 0.5 * bend.square, 0.5 * bend.cube};
  return bend;
}

Vector IntegrationAxes::place(const Vector& u) const {
  Vector z(u.size());
  for (Index i = 0; i < u.size(); ++i) z(i) = bends[static_cast<std::size_t>(i)](u(i));
  return origin + root * z;
}

double IntegrationAxes::log_volume(const Vector& u) const {
  double out = log_root_volume;
  for (Index i = 0; i < u.size(); ++i) out += std::log(bends[static_cast<std::size_t>(i)].slope(u(i)));
  return out;
}

IntegrationAxes integration_axes(IntegrationTarget& target, const std::function<bool()>& stop) {
  const Vector& mode = target.mode();
  const Index dimension = mode.size();
  const IntegrationFit peak = target.at_mode();
  const Vector gradient = target.gradient(peak, mode);
  IntegrationAxes axes{
      mode, Matrix::Zero(dimension, dimension), std::vector<AxisBend>(static_cast<std::size_t>(dimension)), {}};
  std::vector<Index> interior;
  for (Index i = 0; i < dimension; ++i) {
    const FreeParameter& parameter = target.free()[static_cast<std::size_t>(i)];
    const bool low = parameter.at_lower(mode(i)) && gradient(i) <= 0.0;
    const bool high = parameter.at_upper(mode(i)) && gradient(i) >= 0.0;
    axes.one_sided.push_back(low || high);
    if (!low && !high) {
      interior.push_back(i);
      continue;
    }
    // The density falls like exp(-|gradient| t) with the distance t from the bound.
    axes.origin(i) = low ? parameter.lower : parameter.upper;
    axes.root(i, i) = (low ? 1.0 : -1.0) * std::min(longest, 0.4 / std::max(std::abs(gradient(i)), 1e-3));
  }
  if (!interior.empty()) set_interior(target, interior, peak.log_density, gradient, stop, axes);
  axes.log_root_volume = 0.5 * symmetric_eigen(axes.root.transpose() * axes.root).values.array().log().sum();
  return axes;
}

}  // namespace gaussmith
