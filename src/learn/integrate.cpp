#include "gaussmith/integrate.hpp"

#include "base/progress.hpp"
#include "gaussmith/errors.hpp"
#include "learn/integration_axes.hpp"
#include "learn/integration_design.hpp"
#include "learn/integration_grid.hpp"
#include "learn/integration_summary.hpp"
#include "learn/integration_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index most_for_automatic_grid = 4;
constexpr Index most_for_grid = 8;
/// A density that is still within this of its peak at a bound says that the bound, not the data, ends the parameter.
constexpr double identified_fall = 3.0;
/// A bound at which the density has fallen by less has a tail that no curvature knows of.
constexpr double flat_fall = 12.0;
/// Tails that have fallen by this much are not followed to their bound.
constexpr double line_depth = 20.0;
/// Points along such a tail; finding its ends takes fewer fits than that again.
constexpr int line_points = 121;
/// What all points left out as negligible may weigh together.
constexpr double negligible_weight = 1e-5;
/// A density whose logarithm differs by more than this from a normal's at the corners of a cube, in the root of the
/// mean of squares, takes a finer grid: at 0.6 the coarser one is good to about 1e-3 standard deviations.
constexpr double rough_corners = 0.6;

bool takes_grid(Index dimension, IntegrationDesign design) {
  return design == IntegrationDesign::grid ||
         (design == IntegrationDesign::automatic && dimension <= most_for_automatic_grid);
}

/// Fits that find the axes and look at the bounds, and those of the design, a grid being the finer one.
int fits_needed(Index dimension, const IntegrateOptions& options) {
  if (dimension == 0) return 0;
  double fits = 8.0 * static_cast<double>(dimension);
  if (takes_grid(dimension, options.design)) {
    const GridPlan plan = grid_plan(dimension, options.fineness, true);
    fits += IntegrationLattice(dimension, plan.fineness).count_within(std::sqrt(2.0 * plan.depth));
  } else
    fits += static_cast<double>(composite_design(dimension).weights.size() - 1);
  return static_cast<int>(std::min(std::round(fits), 1e9));
}

void check_options(const IntegrateOptions& options, Index dimension) {
  if (!(options.fineness > 0.0) || !std::isfinite(options.fineness))
    throw InvalidOption(fmt::format("the fineness of integration must be positive, found {}", options.fineness));
  if (options.max_fits < 1)
    throw InvalidOption(fmt::format("max_fits of integration must be at least 1, found {}", options.max_fits));
  if (options.design == IntegrationDesign::grid && dimension > most_for_grid)
    throw InvalidOption(
        fmt::format("a grid over {} parameters is too large; up to {} are accepted, else the composite design",
                    dimension, most_for_grid));
  if (!takes_grid(dimension, options.design) && fits_needed(dimension, options) > options.max_fits)
    throw InvalidOption(fmt::format(
        "integration over {} parameters takes {} fits, more than max_fits = {}; fix some of them or raise it",
        dimension, fits_needed(dimension, options), options.max_fits));
}

/// One call of integrate().
class Integration {
 public:
  Integration(const Learned& learned, const IntegrateOptions& options, const Run& run)
      : options_(options),
        progress_(run.progress, nullptr),
        target_(learned, options.learning, run),
        dimension_(target_.mode().size()),
        bound_fall_(target_.free().size(), std::numeric_limits<double>::infinity()) {
    out_.model = learned.posterior.model();
  }

  Integrated run() {
    check_options(options_, dimension_);
    if (const Report& report = target_.at_mode().posterior.report(); report.status == Status::numerical_failure) {
      out_.report.status = Status::numerical_failure;
      out_.report.message = "there is no fit to integrate around: " + report.message;
      return std::move(out_);
    }
    const bool grid = takes_grid(dimension_, options_.design);
    if (dimension_ == 0) {
      keep(Vector(0), target_.at_mode(), 0.0);
      out_.report.message = "no parameter is free to integrate over";
    } else {
      axes_ = integration_axes(target_, [this] { return stop(); });
      peak_ = target_.at_mode().log_density + axes_.log_volume(Vector::Zero(dimension_));
      look_at_bounds();
      const bool room = target_.fits() + 2 * line_points <= options_.max_fits;
      if (grid && dimension_ == 1 && room && bound_fall_.front() < flat_fall)
        fill_line();
      else
        grid ? fill_grid() : fill_composite();
      out_.report.message = fmt::format("{} over {} parameter{}: {} fits", grid ? "grid" : "central composite design",
                                        dimension_, dimension_ == 1 ? "" : "s", target_.fits());
    }
    return finish();
  }

 private:
  bool stop() {
    if (!stopped_)
      stopped_ =
          progress_.tell({target_.fits() + 1, target_.at_mode().log_density, 0.0, "integration"}) == Next::accept;
    return stopped_;
  }

  void keep(const Vector& place, const IntegrationFit& fit, double log_share) {
    samples_.push_back({place, fit.log_density, log_share, fit.posterior.fitted(), fit.posterior.latent(),
                        fit.posterior.weights(),
                        options_.leave_one_out ? std::optional(fit.posterior.leave_one_out()) : std::nullopt});
  }

  /// Whether the place lies in the box; if not, remembers how little the density has fallen at the bounds in the way.
  bool inside(const Vector& place, double fall) {
    bool in = true;
    for (Index i = 0; i < dimension_; ++i) {
      if (place(i) >= target_.lower()(i) && place(i) <= target_.upper()(i)) continue;
      in = false;
      double& least = bound_fall_[static_cast<std::size_t>(i)];
      least = std::min(least, fall);
    }
    return in;
  }

  /// How far the density has fallen at the bounds of each parameter, the others at the mode. Where that is little, what
  /// the curvature at the mode says about the tails is wrong.
  void look_at_bounds() {
    const double peak = target_.at_mode().log_density;
    for (Index i = 0; i < dimension_; ++i) {
      for (const Vector* bounds : {&target_.lower(), &target_.upper()}) {
        if (target_.fits() >= options_.max_fits || stop()) return;
        Vector place = target_.mode();
        place(i) = (*bounds)(i);
        const auto fit = target_.probe(place);
        double& least = bound_fall_[static_cast<std::size_t>(i)];
        if (fit) least = std::min(least, std::max(0.0, peak - *fit));
      }
    }
  }

  /// One parameter whose density has a flat tail: equal steps from one end of it to the other.
  void fill_line() {
    constexpr int points = line_points;
    const double width = std::abs(axes_.root(0, 0));
    const auto end_of = [&](double bound, double direction) {
      Vector place = target_.mode();
      for (double reach = 4.0 * width; !stop(); reach *= 1.5) {
        place(0) = target_.mode()(0) + direction * reach;
        if (!(direction * (bound - place(0)) > 0.0)) return bound;
        const auto there = target_.probe(place);
        if (!there || target_.at_mode().log_density - *there > line_depth) return place(0);
      }
      return place(0);
    };
    const double first = end_of(target_.lower()(0), -1.0);
    const double last = end_of(target_.upper()(0), 1.0);
    const double step = (last - first) / (points - 1);
    for (int k = 0; k < points && !stop(); ++k) {
      Vector place(1);
      place(0) = first + k * step;
      const bool end = k == 0 || k == points - 1;
      if (const auto fit = target_.fit(place)) keep(place, *fit, std::log(end ? 0.5 * step : step));
    }
    smoothing_ = 0.45 * step / width;
  }

  // --- Grid ---

  /// Whether the density is far from N(0, I) between the axes, where nothing has bent it.
  bool is_rough() {
    if (dimension_ <= 2) return false;
    const CompositeDesign design = composite_design(dimension_);
    double squares = 0.0;
    int looks = 0;
    for (Index k = 1 + 2 * dimension_; k < design.weights.size(); ++k) {
      if (target_.fits() >= options_.max_fits || stop()) return false;
      Vector z = design.points.row(k);
      for (Index i = 0; i < dimension_; ++i)
        if (axes_.one_sided[static_cast<std::size_t>(i)]) z(i) = std::abs(z(i));
      const auto found = target_.probe(axes_.place(z));
      if (!found) continue;
      const double excess = *found + axes_.log_volume(z) - peak_ + 0.5 * z.squaredNorm();
      squares += excess * excess;
      ++looks;
    }
    return looks > 0 && squares > rough_corners * rough_corners * looks;
  }

  void fill_grid() {
    const GridPlan plan = grid_plan(dimension_, options_.fineness, is_rough());
    const IntegrationLattice lattice(dimension_, plan.fineness);
    bool cut_short = false;
    const auto evaluate = [&](const LatticePoint& point) -> std::optional<double> {
      const Vector z = lattice.place(point);
      const bool origin = z.squaredNorm() == 0.0;
      cut_short = cut_short || (!origin && target_.fits() >= options_.max_fits);
      if (cut_short || (!origin && stop())) return std::nullopt;
      const auto fit = origin ? std::optional(target_.at_mode()) : target_.fit(axes_.place(z));
      if (!fit) return std::nullopt;
      keep(axes_.place(z), *fit, 0.0);
      return fit->log_density + axes_.log_volume(z) - peak_;
    };
    const auto share = [&](const LatticePoint& point, double log_density) {
      return leaves_one_sided(point) || !inside(axes_.place(lattice.place(point)), -log_density) ? 0.0
                                                                                                 : share_of_face(point);
    };
    const std::vector<double> masses = integrate_on_lattice(lattice, plan.depth, evaluate, share);
    for (std::size_t k = 0; k < samples_.size(); ++k) {
      // A share, so that density times share is the mass, tails included.
      samples_[k].log_share = masses[k] > 0.0 ? std::log(masses[k]) + peak_ - samples_[k].log_density
                                              : -std::numeric_limits<double>::infinity();
    }
    if (cut_short)
      out_.report.warnings.push_back(fmt::format(
          "integration stopped at {} fits (max_fits): less likely points are extrapolated", target_.fits()));
    smoothing_ = 0.45 * lattice.step();
  }

  [[nodiscard]] bool leaves_one_sided(const LatticePoint& point) const {
    for (std::size_t i = 0; i < point.size(); ++i)
      if (axes_.one_sided[i] && point[i] < 0) return true;
    return false;
  }

  /// A point on the face of the box belongs to it with half of its cell.
  [[nodiscard]] double share_of_face(const LatticePoint& point) const {
    double share = 1.0;
    for (std::size_t i = 0; i < point.size(); ++i)
      if (axes_.one_sided[i] && point[i] == 0) share *= 0.5;
    return share;
  }

  // --- Central composite design ---

  void fill_composite() {
    const CompositeDesign design = composite_design(dimension_);
    for (Index k = 0; k < design.weights.size(); ++k) {
      Vector z = design.points.row(k);
      const bool origin = z.squaredNorm() == 0.0;
      // A parameter at its bound has one side only: |z| is half-normal there.
      for (Index i = 0; i < dimension_; ++i)
        if (axes_.one_sided[static_cast<std::size_t>(i)]) z(i) = std::abs(z(i));
      const Vector place = axes_.place(z);
      if (!inside(place, 0.5 * z.squaredNorm())) continue;
      if (!origin && stop()) break;
      const auto fit = origin ? std::optional(target_.at_mode()) : target_.fit(place);
      if (fit)
        keep(place, *fit,
             std::log(design.weights(k)) + 0.5 * z.squaredNorm() + axes_.log_volume(z) + composite_volume());
    }
    smoothing_ = std::sqrt(static_cast<double>(dimension_) + 2.0);
  }

  /// log of (2 pi)^(d/2), halved for every one-sided coordinate.
  [[nodiscard]] double composite_volume() const {
    const auto sided = static_cast<double>(std::count(axes_.one_sided.begin(), axes_.one_sided.end(), true));
    return 0.5 * static_cast<double>(dimension_) * std::log(2.0 * std::numbers::pi) - sided * std::numbers::ln2;
  }

  // --- The end ---

  Integrated finish() {
    out_.report.fits = target_.fits();
    out_.report.failed = target_.failures();
    out_.report.cut_off = target_.cut_off();
    out_.report.proper = target_.proper();
    if (stopped_) {
      out_.report.status = Status::stopped;
      out_.report.message += "; stopped by the caller";
    }
    if (out_.report.failed > 0)
      out_.report.warnings.push_back(
          fmt::format("{} of {} fits of the integration failed and were left out; the last: {}", out_.report.failed,
                      out_.report.fits, target_.failure()));
    if (out_.report.cut_off > 0)
      out_.report.warnings.push_back(fmt::format(
          "{} of {} fits of the integration were cut off at {} iterations, before they converged, and were left out",
          out_.report.cut_off, out_.report.fits, target_.most_iterations()));
    const bool any = dimension_ > 0;
    summarise_integration(std::move(samples_), target_,
                          any ? Vector(smoothing_ * axes_.root.rowwise().norm()) : Vector(), negligible_weight, out_);
    for (Index i = 0; i < dimension_; ++i) judge(i);
    return std::move(out_);
  }

  void judge(Index i) {
    const auto k = static_cast<std::size_t>(i);
    IntegratedParameter& parameter = out_.parameters[k];
    const bool at_bound = axes_.one_sided[k];
    parameter.identified = !at_bound && bound_fall_[k] >= identified_fall;
    if (parameter.identified) return;
    out_.report.warnings.push_back(fmt::format(
        "{} is not identified: {}, so that its bounds {:.3g} to {:.3g} decide the average; a hyperprior "
        "(--hyperpriors weak) or narrower bounds would settle it",
        parameter.name,
        at_bound
            ? std::string("the evidence is highest at its bound")
            : fmt::format("at a bound the evidence is within {:.1f} nats of its peak", std::max(0.0, bound_fall_[k])),
        target_.value(i, target_.lower()(i)), target_.value(i, target_.upper()(i))));
  }

  const IntegrateOptions& options_;
  Progress progress_;
  IntegrationTarget target_;
  Index dimension_;
  IntegrationAxes axes_;
  double peak_ = 0.0;
  double smoothing_ = 0.0;          ///< Standard deviation of the kernel that smooths points to densities, in z.
  std::vector<double> bound_fall_;  ///< How far the density has fallen at least where a bound cuts it off.
  std::vector<IntegrationSample> samples_;
  Integrated out_;
  bool stopped_ = false;
};

}  // namespace

int integration_fits(const Model& model, const IntegrateOptions& options) {
  const auto free = static_cast<Index>(free_parameters(model, options.learning).size());
  check_options(options, free);
  return std::min(fits_needed(free, options), options.max_fits);
}

Integrated integrate(const Learned& learned, const IntegrateOptions& options, const Run& run) {
  return Integration(learned, options, run).run();
}

Prediction Integrated::predict(const PredictionPoints& at, int threads) const {
  return predict_mixture(mixture(), at, threads);
}

Prediction Integrated::predict_rows() const {
  if (model.sites.size() != 1)
    throw InvalidModel(
        fmt::format("predict_rows: the model has {} blocks of sites; one is needed", model.sites.size()));
  std::vector<Prediction> parts;
  Vector shares(static_cast<Index>(points.size()));
  for (std::size_t k = 0; k < points.size(); ++k) {
    parts.emplace_back(points[k].latent, model.with_parameters(points[k].gaussian.parameters).sites.front());
    shares(static_cast<Index>(k)) = points[k].gaussian.weight;
  }
  return Prediction::mixture(std::move(parts), std::move(shares));
}

std::vector<WeightedGaussian> Integrated::mixture() const {
  std::vector<WeightedGaussian> out;
  for (const IntegrationPoint& point : points) out.push_back(point.gaussian);
  return out;
}

}  // namespace gaussmith
