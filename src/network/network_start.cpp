#include "network/network_start.hpp"

#include "engines/quasi_newton.hpp"
#include "linalg/dense.hpp"
#include "numerics/batch.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

constexpr int outer_loops = 5, inner_steps = 60;
/// Variance of the noise that is assumed first, of standardised responses.
constexpr double first_noise = 0.3, least_noise = 1e-6;
/// Random weights: their deviation over that which gives h unit variance.
constexpr double spread = 1.5;
/// Of the sites of a log scale that does not start from its prior.
constexpr double start_precision = 2.0;
/// What is added to sums of squared weights where precisions are re-estimated: hidden, linear.
constexpr double hidden_floor = 0.05, linear_floor = 0.02;

/// The network as a function: hidden weights, D x K; output weights; linear weights.
struct PointWeights {
  Matrix hidden;
  Vector output, linear;
};

/// The penalised loss of a network and its gradient.
class PenalisedLoss {
 public:
  explicit PenalisedLoss(const NetworkFit& fit)
      : problem_(&fit.problem()),
        units_(fit.hidden()),
        linear_rows_(problem_->prior.linear ? problem_->rows.cols() : 1),
        noise_(problem_->gaussian ? first_noise : 1.0),
        hidden_precision_(Vector::Ones(problem_->rows.cols())),
        linear_precision_(Vector::Ones(linear_rows_)) {
    const NetworkPrior& prior = problem_->prior;
    hidden_precision_.tail(1).setConstant(1.0 / (prior.bias_sd * prior.bias_sd));
    linear_precision_.tail(1).setConstant(1.0 / (prior.intercept_sd * prior.intercept_sd));
  }

  [[nodiscard]] Index size() const { return units_ * (problem_->rows.cols() + 1) + linear_rows_; }
  [[nodiscard]] PointWeights unpack(const Vector& x) const {
    const Index d = problem_->rows.cols();
    return {Eigen::Map<const Matrix>(x.data(), d, units_), x.segment(d * units_, units_), x.tail(linear_rows_)};
  }
  [[nodiscard]] auto linear_rows() const { return problem_->rows.rightCols(linear_rows_); }

  /// g(h) and g'(h) = 2 phi(h) of all rows and units, and f.
  struct Forward {
    Matrix g, slope;
    Vector f;
  };
  [[nodiscard]] Forward forward(const PointWeights& w) const {
    Forward out;
    const Matrix h = times(problem_->rows, w.hidden);
    out.g.resize(h.rows(), h.cols());
    out.slope.resize(h.rows(), h.cols());
    const auto count = static_cast<std::size_t>(h.size());
    batch::ndtr({h.data(), count}, {out.g.data(), count});
    out.g = 2.0 * out.g.array() - 1.0;
    out.slope = -0.5 * h.array().square();
    batch::exp({out.slope.data(), count}, {out.slope.data(), count});
    out.slope *= std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    out.f = out.g * w.output + linear_rows() * w.linear;
    if (problem_->offset.size() > 0) out.f += problem_->offset;
    return out;
  }

  /// log t and its first two derivatives in f, at the current noise.
  void log_density(const Vector& f, Vector& value, Vector& first, Vector& second) const {
    const Index n = f.size();
    value.resize(n);
    first.resize(n);
    second.resize(n);
    if (problem_->gaussian) {
      first = (problem_->sites->responses() - f) / noise_;
      value = -0.5 * noise_ * first.array().square();
      second.setConstant(-1.0 / noise_);
      return;
    }
    problem_->sites->log_density(0, view(f), {view(value), view(first), view(second), {}});
  }

  double operator()(const Vector& x, Vector& gradient) const {
    const PointWeights w = unpack(x);
    const Forward at = forward(w);
    Vector value, first, second;
    log_density(at.f, value, first, second);
    const NetworkPrior& prior = problem_->prior;
    const double output_precision = 1.0 / (prior.output_scale * prior.output_scale);
    const Matrix back = at.slope.cwiseProduct(first * w.output.transpose());
    const Matrix penalty = hidden_precision_.asDiagonal() * w.hidden;
    gradient.resize(size());
    const Index d = problem_->rows.cols();
    Eigen::Map<Matrix>(gradient.data(), d, units_) = penalty - transposed_times(problem_->rows, back);
    gradient.segment(d * units_, units_) = output_precision * w.output - at.g.transpose() * first;
    gradient.tail(linear_rows_) = linear_precision_.cwiseProduct(w.linear) - linear_rows().transpose() * first;
    return -value.sum() + 0.5 * (penalty.cwiseProduct(w.hidden).sum() + output_precision * w.output.squaredNorm() +
                                 linear_precision_.dot(w.linear.cwiseAbs2()));
  }

  /// Precisions of inputs from their weights, and the noise from the residuals with effective parameters left out.
  void re_estimate(const PointWeights& w) {
    const Index inputs = problem_->input_count();
    const double units = static_cast<double>(units_);
    const Forward at = forward(w);
    if (problem_->gaussian) {
      const Vector error = problem_->sites->responses() - at.f;
      const Matrix curvature =
          problem_->rows.cwiseAbs2().transpose() * (at.slope * w.output.asDiagonal()).cwiseAbs2() / noise_;
      double effective = 0.0;
      for (Index k = 0; k < units_; ++k)
        for (Index j = 0; j <= inputs; ++j) effective += curvature(j, k) / (curvature(j, k) + hidden_precision_(j));
      const Vector of_linear = linear_rows().cwiseAbs2().colwise().sum().transpose() / noise_;
      effective += (of_linear.array() / (of_linear + linear_precision_).array()).sum() + units;
      const double n = static_cast<double>(error.size());
      noise_ = std::max(least_noise, error.squaredNorm() / (n - std::min(effective, 0.5 * n)));
    }
    for (Index j = 0; j < inputs; ++j) {
      hidden_precision_(j) = (units + 1.0) / (w.hidden.row(j).squaredNorm() + hidden_floor);
      if (linear_rows_ > 1) linear_precision_(j) = 2.0 / (w.linear(j) * w.linear(j) + linear_floor);
    }
  }

  [[nodiscard]] double noise() const { return noise_; }
  [[nodiscard]] const Vector& hidden_precision() const { return hidden_precision_; }
  [[nodiscard]] const Vector& linear_precision() const { return linear_precision_; }

 private:
  const NetworkProblem* problem_;
  Index units_, linear_rows_;
  double noise_;
  Vector hidden_precision_, linear_precision_;
};

void set_noise_sites(NetworkFit& fit, double noise) {
  fit.noise_sites.precision.setConstant(0.5);
  fit.noise_sites.shift.setConstant(0.5 * std::log(noise));
}

void set_prior_sites(NetworkUnit& unit, const Vector& precision) {
  unit.weights.precision = precision.head(unit.weights.precision.size());
  unit.weights.shift.setZero();
}

/// Log scales near one value: sites of every scale share a precision of start_precision.
void set_scale_sites(NetworkFit& fit, double mean) {
  const LogVariancePrior& prior = fit.problem().prior.scale_prior;
  std::vector<double> sharing(fit.log_scales().size());
  for (const NetworkUnit& unit : fit.units())
    for (const Index l : unit.scale) sharing[static_cast<std::size_t>(l)] += 1.0;
  const double shift = start_precision * mean + (mean - prior.mean) / (prior.sd * prior.sd);
  for (NetworkUnit& unit : fit.units())
    for (std::size_t j = 0; j < unit.scale.size(); ++j) {
      const double share = 1.0 / sharing[static_cast<std::size_t>(unit.scale[j])];
      unit.log_scales.precision(static_cast<Index>(j)) = share * start_precision;
      unit.log_scales.shift(static_cast<Index>(j)) = share * shift;
    }
}

void set_output_prior(NetworkFit& fit) {
  const double scale = fit.problem().prior.output_scale;
  fit.output_prior.precision.setConstant(1.0 / (scale * scale));
  fit.output_prior.shift.setConstant(1.0 / scale);
}

}  // namespace

void start_linear(NetworkFit& fit) {
  const NetworkProblem& problem = fit.problem();
  const LogVariancePrior& prior = problem.prior.scale_prior;
  // Many weights of a linear model start so small that together they explain no more than there is.
  const bool many = fit.hidden() == 0 && prior.sd > 0.0;
  const double scale = many ? std::min(prior.mean, -std::log(static_cast<double>(problem.input_count()))) : prior.mean;
  for (NetworkUnit& unit : fit.units()) {
    set_prior_sites(unit, Vector::Constant(unit.weights.precision.size(), std::exp(-scale)));
    unit.log_scales = GaussianFactors(unit.log_scales.shift.size());
    unit.activations = GaussianFactors(problem.row_count());
  }
  if (scale < prior.mean) set_scale_sites(fit, scale);
  if (!problem.gaussian) return;
  const double noise = problem.prior.noise_prior.sd > 0.0 ? first_noise : std::exp(problem.prior.noise_prior.mean);
  set_noise_sites(fit, noise);
  NetworkUnit& linear = fit.units().front();
  linear.activations.precision.setConstant(1.0 / noise);
  linear.activations.shift = problem.sites->responses() / noise;
}

void start_zero(NetworkFit& fit) {
  start_linear(fit);
  if (fit.problem().gaussian) fit.units().front().activations = GaussianFactors(fit.problem().row_count());
  set_output_prior(fit);
}

void start_fitted(NetworkFit& fit, Random& random) {
  const NetworkProblem& problem = fit.problem();
  const Index d = problem.rows.cols();
  PenalisedLoss loss(fit);
  Vector x = Vector::Zero(loss.size());
  const double deviation = spread / std::sqrt(static_cast<double>(d));
  for (Index i = 0; i < d * fit.hidden(); ++i) x(i) = deviation * random.normal();
  for (Index k = 0; k < fit.hidden(); ++k) x(d * fit.hidden() + k) = 0.3 * random.normal();
  for (int outer = 0; outer < outer_loops; ++outer) {
    QuasiNewton search([&](const Vector& at, Vector& gradient) { return loss(at, gradient); }, {});
    (void)search.minimise(x, inner_steps, [](const Vector&, double) { return false; });
    x = search.point();
    if (outer + 1 < outer_loops) loss.re_estimate(loss.unpack(x));
  }

  PointWeights w = loss.unpack(x);
  for (Index k = 0; k < fit.hidden(); ++k)
    if (w.output(k) < 0.0) {
      w.output(k) = -w.output(k);
      w.hidden.col(k) = -w.hidden.col(k);
    }
  const PenalisedLoss::Forward at = loss.forward(w);
  Vector value, slope, second;
  loss.log_density(at.f, value, slope, second);
  const Vector curvature = (-second).cwiseMax(0.0);

  NetworkUnit& linear = fit.units().front();
  set_prior_sites(linear, loss.linear_precision());
  linear.activations.precision = curvature;
  linear.activations.shift = curvature.cwiseProduct(loss.linear_rows() * w.linear) + slope;
  for (Index k = 0; k < fit.hidden(); ++k) {
    NetworkUnit& unit = fit.units()[static_cast<std::size_t>(k) + 1];
    set_prior_sites(unit, loss.hidden_precision());
    const Vector gain = w.output(k) * at.slope.col(k);
    unit.activations.precision = gain.cwiseAbs2().cwiseProduct(curvature);
    unit.activations.shift =
        unit.activations.precision.cwiseProduct(problem.rows * w.hidden.col(k)) + gain.cwiseProduct(slope);
  }
  fit.output_sites.precision = curvature;
  fit.output_sites.shift = curvature.cwiseProduct(at.g * w.output) + slope;
  set_output_prior(fit);
  if (problem.gaussian) set_noise_sites(fit, loss.noise());
  // These sites stand along E[g], not along g at the point: shifts of the latter would have the output weights make up
  // for the difference, those of units without any effect above all.
  if (fit.begin()) fit.output_sites.shift = curvature.cwiseProduct(fit.activation_means() * w.output) + slope;
}

}  // namespace gaussmith
