#include "learn/explore.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace gaussmith {

namespace {

/// One step of the scan: a factor of 4.
const double scan_step = std::log(4.0);
constexpr int most_steps = 4;
/// How much of a step of the length-scales other parameters go with.
constexpr double most_following = 0.35;
/// A factor of 7 in the length-scales.
constexpr double long_step = 2.0;
/// Where the slope in the length-scales is this much for each row, there is no need to look to the other side.
constexpr double steep = 0.05;
/// A parameter is open where its standard error on its scale is more than this.
constexpr double open_error = 1.0;

/// To either side along every parameter that is open.
std::vector<Vector> steps_along_open(const Matrix& hessian) {
  std::vector<Vector> steps;
  const auto covariance = covariance_at_maximum(hessian);
  for (Index i = 0; covariance && i < hessian.rows(); ++i)
    if ((*covariance)(i, i) > open_error * open_error)
      for (const double side : {-long_step, long_step}) steps.emplace_back(side * Vector::Unit(hessian.rows(), i));
  return steps;
}

}  // namespace

void sort_best_first(std::vector<Evaluated>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Evaluated& a, const Evaluated& b) { return a.evaluation.value > b.evaluation.value; });
}

std::vector<std::vector<Index>> lengthscale_groups(const std::vector<FreeParameter>& free) {
  std::map<std::string, std::vector<Index>> groups;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const std::string& name = free[i].name;
    const auto last = name.find_last_of('.');
    const auto begin = last == std::string::npos ? 0 : last + 1;
    if (name.compare(begin, 11, "lengthscale") == 0)
      groups[name.substr(0, begin + 11)].push_back(static_cast<Index>(i));
  }
  std::vector<std::vector<Index>> out;
  out.reserve(groups.size());
  for (auto& [name, members] : groups) out.push_back(std::move(members));
  return out;
}

std::optional<Evaluated> scan_lengthscales(const PartialFunction& f, const Vector& start,
                                           const std::vector<FreeParameter>& free, double rows) {
  auto first = f(start);
  if (!first) return std::nullopt;
  Evaluated best{start, std::move(*first)};
  const auto groups = lengthscale_groups(free);
  if (groups.empty()) return best;
  double slope = 0.0;
  for (const auto& group : groups)
    for (const Index i : group) slope += best.evaluation.gradient(i);
  // Steps by a factor of 4 in one direction until `patience` of them in turn have not helped.
  const auto probe = [&](double direction, int patience) {
    Vector next = start;
    for (int missed = 0, steps = 0; missed < patience && steps < most_steps; ++steps) {
      for (const auto& group : groups)
        for (const Index i : group) {
          const FreeParameter& parameter = free[static_cast<std::size_t>(i)];
          next(i) = std::clamp(next(i) + direction * scan_step, parameter.lower, parameter.upper);
        }
      auto there = f(next);
      const bool helped = there && there->value > best.evaluation.value;
      if (helped) best = {next, std::move(*there)};
      // Beyond a failure lie more, beyond a better point the search goes on step by step.
      missed = helped ? patience - 1 : there ? missed + 1 : patience;
    }
  };
  if (std::abs(slope) > steep * rows) {
    probe(std::copysign(1.0, slope), 1);
  } else {
    probe(-1.0, 2);
    if (best.point == start) probe(1.0, 1);
  }
  return best;
}

std::vector<Vector> steps_beyond(const Curvature& curvature, const std::vector<FreeParameter>& free) {
  const auto size = static_cast<Index>(free.size());
  if (static_cast<Index>(curvature.coordinates.size()) != size) return {};
  std::vector<bool> is_scale(free.size(), false);
  Vector along = Vector::Zero(size);
  for (const auto& group : lengthscale_groups(free))
    for (const Index i : group) {
      is_scale[static_cast<std::size_t>(i)] = true;
      along(i) = 1.0;
    }
  std::vector<Index> others;
  for (Index i = 0; i < size; ++i)
    if (!is_scale[static_cast<std::size_t>(i)]) others.push_back(i);
  if (others.empty()) return {};
  if (static_cast<Index>(others.size()) == size) return steps_along_open(curvature.hessian);
  // The others follow: H_oo s_o = -H_ol s_l.
  const auto count = static_cast<Index>(others.size());
  Matrix inner(count, count);
  Vector pull(count);
  const Vector curved = curvature.hessian * along;
  for (Index r = 0; r < count; ++r) {
    pull(r) = curved(others[static_cast<std::size_t>(r)]);
    for (Index c = 0; c < count; ++c)
      inner(r, c) = curvature.hessian(others[static_cast<std::size_t>(r)], others[static_cast<std::size_t>(c)]);
  }
  const auto covariance = covariance_at_maximum(inner);
  if (!covariance) return {};
  const Vector follow = *covariance * pull;
  Vector step = along;
  for (Index r = 0; r < count; ++r) step(others[static_cast<std::size_t>(r)]) = follow(r);
  const double bend = -step.dot(curvature.hessian * step);
  if (!(bend > 0.0)) return {};
  const double length = std::clamp(2.2 / std::sqrt(bend), 1.2, 3.0);
  // So far away the others follow less than the tangent says.
  for (Index r = 0; r < count; ++r)
    step(others[static_cast<std::size_t>(r)]) = std::clamp(follow(r), -most_following, most_following);
  step *= length;
  // A long step may pass over the next maximum: towards short length-scales, where maxima are narrow, half of it is
  // looked at as well.
  std::vector<Vector> steps = {-step, step};
  if (length > long_step) steps.push_back(-0.5 * step);
  return steps;
}

TiedCoordinates::TiedCoordinates(const std::vector<FreeParameter>& free, const Vector& start)
    : start_(start), owner_(free.size(), -1) {
  Index count = 0;
  for (const auto& group : lengthscale_groups(free)) {
    for (const Index i : group) owner_[static_cast<std::size_t>(i)] = count;
    ++count;
  }
  for (Index& owner : owner_)
    if (owner < 0) owner = count++;
  lower_ = Vector::Constant(count, -std::numeric_limits<double>::infinity());
  upper_ = Vector::Constant(count, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double place = start(static_cast<Index>(i));
    lower_(owner_[i]) = std::max(lower_(owner_[i]), free[i].lower - place);
    upper_(owner_[i]) = std::min(upper_(owner_[i]), free[i].upper - place);
  }
}

Vector TiedCoordinates::point(const Vector& z) const {
  Vector out = start_;
  for (Index i = 0; i < out.size(); ++i) out(i) += z(owner_[static_cast<std::size_t>(i)]);
  return out;
}

Evaluation TiedCoordinates::gather(Evaluation evaluation) const {
  Vector sums = Vector::Zero(lower_.size());
  for (Index i = 0; i < evaluation.gradient.size(); ++i)
    sums(owner_[static_cast<std::size_t>(i)]) += evaluation.gradient(i);
  evaluation.gradient = std::move(sums);
  return evaluation;
}

}  // namespace gaussmith
