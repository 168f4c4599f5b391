// Marginals beyond the Gaussian: p(x) = q(x) exp(h) with h from the sites alone, in the coordinates of posterior_root.
// Given x = mean + sd alpha, z has the mean f alpha and the covariance I - f f' for the unit direction f of x.

#include "gaussmith/errors.hpp"
#include "gaussmith/trust.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "posterior/prediction_points.hpp"
#include "sampling/rooted_mode.hpp"
#include "trust/line_marginal.hpp"
#include "trust/posterior_root.hpp"
#include "trust/row_ratio.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace gaussmith {

namespace {

/// A row with no more of its variance than this left, given x, is a function of x.
constexpr double no_variance = 1e-10;

/// What all marginals of a posterior share.
struct Rows {
  const Posterior::State& state;
  PosteriorRoot root;
  SiteRows sites;
  Vector variance;

  explicit Rows(const Posterior::State& s) : state(s), root(posterior_root(s)), sites(s.model, s.threads) {
    variance = root.rows.rowwise().squaredNorm();
  }
};

/// h along one direction.
class Line {
 public:
  Line(const Rows& rows, const Vector& direction) : rows_(rows), pull_(rows.root.rows * direction) {
    // I - f f' = (I - k f f')^2 where k |f|^2 = 1 - (1 - |f|^2)^(1/2); shorter than 1 where x is more than z.
    const double square = std::min(1.0, direction.squaredNorm());
    const double share = square > 0.0 ? (1.0 - std::sqrt(1.0 - square)) / square : 0.0;
    across_ = rows.root.rows;
    across_.noalias() -= share * pull_ * direction.transpose();
    smallest_ = no_variance * rows.variance;
    variance_ = (rows.variance - pull_.cwiseAbs2()).cwiseMax(0.0);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  virtual ~Line() = default;

  [[nodiscard]] virtual double at(double alpha) = 0;
  virtual void restart() {}

 protected:
  [[nodiscard]] Vector centre(double alpha) const { return rows_.state.rows().mean + alpha * pull_; }

  const Rows& rows_;
  Vector pull_;    ///< c: eta has the mean m + c alpha given x.
  Matrix across_;  ///< A root of the covariance of eta given x.
  Vector smallest_;
  Vector variance_;  ///< Its diagonal.
};

/// The constrained mode of laplace: p(x) is the largest p(z) with this x over the root of the curvature across.
class ConstrainedMode final : public Line {
 public:
  ConstrainedMode(const Rows& rows, const Vector& direction)
      : Line(rows, direction),
        approximation_(centred(rows.state.sites, rows.state.rows().mean)),
        search_(rows.sites, approximation_, across_) {}
  [[nodiscard]] double at(double alpha) override {
    const RootedMode mode = search_.climb(centre(alpha));
    return mode.settled ? mode.log_integral : std::numeric_limits<double>::quiet_NaN();
  }
  void restart() override { search_.start(Vector::Zero(across_.cols())); }

 private:
  CentredSites approximation_;
  RootedSearch search_;
};

/// EP, factorised: every t/s integrated over its row given x.
class Factorised : public Line {
 public:
  Factorised(const Rows& rows, const Vector& direction) : Line(rows, direction) {}
  [[nodiscard]] double at(double alpha) override {
    const Vector mean = centre(alpha);
    return log_ratio(rows_.sites, centred(rows_.state.sites, rows_.state.rows().mean), mean, variance_, smallest_,
                     power());
  }

 protected:
  [[nodiscard]] double power() const { return std::get<Ep>(rows_.state.method).power; }
};

/// EP, one step: all sites updated once given x, then the evidence of the result.
class OneStep final : public Factorised {
 public:
  using Factorised::Factorised;
  [[nodiscard]] double at(double alpha) override {
    const SiteRows& sites = rows_.sites;
    const Vector mean = centre(alpha);
    CentredSites approximation = centred(rows_.state.sites, mean);
    RatioMoments tilted;
    const double before = log_ratio(sites, approximation, mean, variance_, smallest_, power(), &tilted);
    if (!std::isfinite(before)) return before;
    // Changes of precisions and slopes, around the mean given x.
    Vector precision = Vector::Zero(mean.size());
    Vector slope = Vector::Zero(mean.size());
    for (Index n = 0; n < mean.size(); ++n) {
      if (tilted.cavity_variance(n) == 0.0) continue;
      const double copies = sites.copies(n) / power();
      const double site = 1.0 / tilted.variance(n) - 1.0 / tilted.cavity_variance(n);
      const double away = tilted.mean(n) - mean(n);
      const double pull = away / tilted.variance(n) - (tilted.cavity_mean(n) - mean(n)) / tilted.cavity_variance(n);
      precision(n) = copies * site - approximation.precision(n);
      slope(n) = copies * pull - approximation.slope(n);
    }
    Matrix a = transposed_times(across_, Matrix(precision.asDiagonal() * across_));
    a.diagonal().array() += 1.0;
    if (!cholesky(a)) return before;
    Vector moved = across_.transpose() * slope;
    solve_lower(a, moved);
    const double site_part = 0.5 * moved.squaredNorm() - half_log_determinant(a);
    solve_lower_transposed(a, moved);
    Matrix reduced = across_.transpose();
    solve_lower(a, reduced);
    const Vector variance = reduced.colwise().squaredNorm().transpose();
    approximation.precision += precision;
    approximation.slope += slope;
    const double ratio = log_ratio(sites, approximation, mean + across_ * moved, variance, smallest_, power());
    return std::isfinite(ratio) ? site_part + ratio : before;
  }
};

/// Those of `exact` are its own.
class Unchanged final : public Line {
 public:
  using Line::Line;
  [[nodiscard]] double at(double /*alpha*/) override { return 0.0; }
};

std::unique_ptr<Line> line(const Rows& rows, const Vector& direction, EpMarginals ep) {
  const Method& method = rows.state.method;
  if (std::holds_alternative<Laplace>(method)) return std::make_unique<ConstrainedMode>(rows, direction);
  if (std::holds_alternative<Exact>(method)) return std::make_unique<Unchanged>(rows, direction);
  if (ep == EpMarginals::one_step) return std::make_unique<OneStep>(rows, direction);
  return std::make_unique<Factorised>(rows, direction);
}

std::vector<CorrectedMarginal> along(const Rows& rows, const RootedPoints& points, const MarginalOptions& options) {
  std::vector<CorrectedMarginal> out;
  const Vector variance = points.variance();
  for (Index i = 0; i < points.mean.size(); ++i) {
    const double sd = std::sqrt(variance(i));
    if (!(sd > 0.0)) {
      CorrectedMarginal point;
      point.mean = points.mean(i);
      point.quantiles = Vector::Constant(static_cast<Index>(options.levels.size()), points.mean(i));
      out.push_back(std::move(point));
      continue;
    }
    const auto h = line(rows, points.directions.col(i) / sd, options.ep);
    out.push_back(line_marginal(
        points.mean(i), sd, options.levels, [&](double alpha) { return h->at(alpha); }, [&] { h->restart(); }));
  }
  return out;
}

void check_method(const Posterior& posterior) {
  const Method& method = posterior.method();
  if (!std::holds_alternative<Laplace>(method) && !std::holds_alternative<Ep>(method) &&
      !std::holds_alternative<Exact>(method))
    throw InvalidOption(fmt::format("marginals: {} has none beyond its Gaussian; use laplace or ep", name_of(method)));
  if (std::string why = why_no_root(posterior.state()); !why.empty())
    throw InvalidOption(fmt::format("marginals: {}, for which there are none beyond the Gaussian", why));
}

void check_places(const std::vector<Index>& places, Index count, const char* what) {
  for (const Index place : places)
    if (place < 0 || place >= count)
      throw InvalidOption(
          fmt::format("marginals: there is no {0} {1}; the model has {0}s 0 to {2}", what, place, count - 1));
}

}  // namespace

CorrectedMarginals corrected_marginals(const Posterior& posterior, const MarginalOptions& options, const Run& /*run*/) {
  check_method(posterior);
  const Posterior::State& state = posterior.state();
  check_places(options.rows, state.model.rows(), "row");
  check_places(options.weights, state.model.dimension(), "weight");
  for (const double level : options.levels)
    if (!(level > 0.0 && level < 1.0))
      throw InvalidOption(fmt::format("marginals: levels lie between 0 and 1, found {}", level));
  const BlasThreads blas(state.threads);
  const Rows rows(state);
  CorrectedMarginals out;
  out.rows = along(rows, rooted_rows(state, rows.root, options.rows), options);
  if (!options.weights.empty()) {
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t i = 0; i < options.weights.size(); ++i)
      entries.emplace_back(static_cast<int>(i), static_cast<int>(options.weights[i]), 1.0);
    SparseMatrix chosen(static_cast<Index>(options.weights.size()), state.model.dimension());
    chosen.setFromTriplets(entries.begin(), entries.end());
    out.weights = along(rows, rooted_points(state, rows.root, NewRows{Design(chosen)}), options);
  }
  if (const NewPoints at = where(options.points, state.law->geometry()); state.law->geometry().count(at) > 0) {
    RootedPoints points = rooted_points(state, rows.root, at);
    if (options.points.offset.size() > 0) points.mean += options.points.offset;
    if (options.points.variance.size() > 0) points.leftover += options.points.variance;
    out.points = along(rows, points, options);
  }
  return out;
}

Vector tierney_kadane_probability(const Posterior& posterior, const PredictionPoints& points, const Run& /*run*/) {
  if (!std::holds_alternative<Laplace>(posterior.method()))
    throw InvalidOption(fmt::format("predict.probability=tierney-kadane needs the laplace method, found {}",
                                    name_of(posterior.method())));
  if (std::string why = why_no_root(posterior.state()); !why.empty())
    throw InvalidOption(fmt::format("predict.probability=tierney-kadane: {}", why));
  const Prediction plain = posterior.predict(points);
  if (!plain.has_response()) throw InvalidModel(plain.missing());
  if (plain.likelihood()->traits().response != ResponseKind::sign)
    throw InvalidOption(fmt::format("predict.probability=tierney-kadane needs responses of two classes, found {}",
                                    plain.likelihood()->traits().name));
  const Posterior::State& state = posterior.state();
  const BlasThreads blas(state.threads);
  const Rows rows(state);
  const RootedPoints at = rooted_points(state, rows.root, where(points, state.law->geometry()));
  const CentredSites approximation = centred(state.sites, state.rows().mean);
  // What a point has beside z is one coordinate more, which no row sees.
  Matrix wide(rows.root.rows.rows(), rows.root.rank() + 1);
  wide << rows.root.rows, Vector::Zero(rows.root.rows.rows());
  Vector probability(plain.points());
  for (Index i = 0; i < plain.points(); ++i) {
    double leftover = at.leftover(i);
    if (points.variance.size() > 0) leftover += points.variance(i);
    ExtraSite extra{nullptr, plain.latent_mean()(i), Vector(wide.cols())};
    extra.direction << at.directions.col(i), std::sqrt(leftover);
    std::array<double, 2> log_evidence{};
    for (const int sign : {0, 1}) {
      SiteArguments arguments;
      for (const SiteParameter& parameter : plain.likelihood()->parameters())
        arguments[parameter.name] = one(parameter.values(parameter.values.size() == 1 ? 0 : i));
      const Sites block = plain.likelihood()->with(one(sign == 0 ? -1.0 : 1.0), arguments);
      extra.block = block.get();
      RootedSearch search(rows.sites, approximation, wide);
      log_evidence[static_cast<std::size_t>(sign)] = search.climb(state.rows().mean, {.extra = &extra}).log_integral;
    }
    probability(i) = 1.0 / (1.0 + std::exp(log_evidence[0] - log_evidence[1]));
  }
  return probability;
}

}  // namespace gaussmith
