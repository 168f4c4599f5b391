// diag(C) from signs z: with any scales s, z_n (C S z)_n / s_n = C_nn + sum over other m of its colour of
// z_n z_m C_nm s_m / s_n. Scales near C_nn^-1/2 make what is added to C_nn that many correlations, whatever the units.

#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/variance_bars.hpp"
#include "linalg/variance_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// What is probed: the rows, or the weights themselves.
struct Target {
  Index size;
  LinearMap times;             ///< H X.
  LinearMap transposed_times;  ///< H'X.
  Vector known;                ///< diag(H W W'H').
  Vector scale;                ///< About C_nn^-1/2.
  std::vector<Index> colours;
};

struct Probed {
  Vector values;
  double error = 0.0;
};

Probed probe(VarianceSolver& solver, const Target& target, const ProbedVariances& method, Random& random,
             std::uint64_t seed) {
  const Index size = target.size;
  const std::vector<Index> chosen = random_subset(size, bar_items, seed);
  Matrix kept(static_cast<Index>(chosen.size()), method.rounds);          // Of the estimates e,
  Matrix kept_control(static_cast<Index>(chosen.size()), method.rounds);  // and of those of the control c.
  Vector sum = Vector::Zero(size);
  Vector control = Vector::Zero(size);
  Vector products = Vector::Zero(size);
  Vector squares = Vector::Zero(size);
  for (Index round = 0; round < method.rounds; ++round) {
    Vector signs(size);
    for (double& sign : signs) sign = random_sign(random);
    Vector e(size);
    Vector c(size);
    for (Index begin = 0; begin < method.colours; begin += solved_at_once) {
      const Index count = std::min<Index>(solved_at_once, method.colours - begin);
      Matrix z = Matrix::Zero(size, count);
      for (Index n = 0; n < size; ++n) {
        const Index colour = target.colours[static_cast<std::size_t>(n)] - begin;
        if (colour >= 0 && colour < count) z(n, colour) = signs(n) * target.scale(n);
      }
      const Matrix right = target.transposed_times(z);
      const Matrix known = solver.known(right);
      const Matrix whole = target.times(solver.solve(right, known));
      const Matrix part = target.times(known);
      for (Index n = 0; n < size; ++n) {
        const Index colour = target.colours[static_cast<std::size_t>(n)] - begin;
        if (colour < 0 || colour >= count) continue;
        e(n) = signs(n) * whole(n, colour) / target.scale(n);
        c(n) = signs(n) * part(n, colour) / target.scale(n);
      }
    }
    sum += e;
    control += c;
    products += e.cwiseProduct(c);
    squares += c.cwiseAbs2();
    kept.col(round) = e(chosen);
    kept_control.col(round) = c(chosen);
  }
  const auto rounds = static_cast<double>(method.rounds);
  const Vector mean = sum / rounds;
  const Vector control_mean = control / rounds;

  // One factor for all items, so that choosing it by the same signs biases none of them by more than 1 / items.
  double top = 0.0;
  double bottom = 0.0;
  for (Index n = 0; n < size; ++n) {
    const double unit = std::max(mean(n), target.known(n));
    if (!(unit > 0.0)) continue;
    top += (products(n) - rounds * mean(n) * control_mean(n)) / (unit * unit);
    bottom += (squares(n) - rounds * control_mean(n) * control_mean(n)) / (unit * unit);
  }
  const double factor = bottom > 0.0 ? std::clamp(top / bottom, 0.0, 1.0) : 0.0;
  Probed out;
  out.values = (mean - factor * (control_mean - target.known)).cwiseMax(target.known);

  Matrix deviations = kept - factor * kept_control;
  Index items = 0;
  for (Index i = 0; i < deviations.rows(); ++i) {
    const double value = out.values(chosen[static_cast<std::size_t>(i)]);
    if (value > 0.0) deviations.row(items++) = ((deviations.row(i).array() - deviations.row(i).mean()) / value).eval();
  }
  if (items == 0) return out;
  const double variance = deviations.topRows(items).squaredNorm() / static_cast<double>(items * (method.rounds - 1));
  out.error = relative_error_bar(deviations.topRows(items), variance, method.rounds - 1);
  return out;
}

/// known^-1/2, or one where nothing is known.
Vector scales_from(const Vector& known) {
  return known.unaryExpr([](double value) { return value > 0.0 ? 1.0 / std::sqrt(value) : 1.0; });
}

/// The colours that were given, or random ones.
std::vector<Index> colours_of(const char* what, Index size, Index colours, const std::vector<Index>& given,
                              Random& random) {
  const auto inside = [&](Index colour) { return colour >= 0 && colour < colours; };
  if (!given.empty()) {
    if (static_cast<Index>(given.size()) != size || !std::all_of(given.begin(), given.end(), inside))
      throw InvalidOption(fmt::format("variances by probes: every one of the {} {} needs a colour from 0 to {}", size,
                                      what, colours - 1));
    return given;
  }
  std::vector<Index> out(static_cast<std::size_t>(size));
  for (Index& colour : out) colour = random_below(colours, random);
  return out;
}

}  // namespace

void estimate_by_probes(VarianceSolver& solver, const ProbedVariances& method, const VarianceOptions& options,
                        VarianceEstimate& out) {
  const PrecisionSystem& system = solver.system();
  // A step of Lanczos makes every estimate positive.
  if (method.rounds < 3 || method.colours < 1 || method.control_steps < 1)
    throw InvalidOption(
        fmt::format("variances by probes: {} rounds of {} colours and {} control steps; at least 3, 1 and 1 are needed",
                    method.rounds, method.colours, method.control_steps));
  Random random(options.seed);
  if (options.rows) {
    const Vector known = solver.known_rows();
    const Target target{
        system.rows, system.rows_times,  system.rows_transposed_times,
        known,       scales_from(known), colours_of("rows", system.rows, method.colours, method.row_colours, random)};
    Probed probed = probe(solver, target, method, random, options.seed);
    out.rows = std::move(probed.values);
    out.rows_error = probed.error;
  }
  if (options.weights) {
    const LinearMap same = [](const Matrix& x) { return x; };
    const Vector known = solver.known_weights();
    const Vector scale =
        system.diagonal.size() > 0 ? scales_from(known.cwiseMax(system.diagonal.cwiseInverse())) : scales_from(known);
    const Target target{system.dimension,
                        same,
                        same,
                        known,
                        scale,
                        colours_of("weights", system.dimension, method.colours, method.weight_colours, random)};
    Probed probed = probe(solver, target, method, random, options.seed);
    out.weights = std::move(probed.values);
    out.weights_error = probed.error;
  }
}

}  // namespace gaussmith
