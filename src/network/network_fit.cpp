#include "network/network_fit.hpp"

#include "base/parallel_blocks.hpp"
#include "base/vectorised.hpp"
#include "linalg/dense.hpp"
#include "network/activation.hpp"
#include "network/factors.hpp"
#include "network/output_moments.hpp"
#include "network/unit_tilt.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index row_block = 512;
constexpr Index weight_block = 32;
/// Nodes of theta: inside the quadratures over activations, and where it stands alone.
constexpr Index few_noise_nodes = 5, many_noise_nodes = 15;
/// A cavity of phi keeps at least this share of its prior's precision: a flatter one sends e^phi anywhere.
constexpr double least_scale_share = 0.2;
/// Steps are halved so often; the first few times also for moving too far.
constexpr int most_halvings = 10, gentle_halvings = 3;
constexpr double furthest_activation = 3.0, furthest_scale = 2.0;  // In deviations; in units of phi.

Eigen::Ref<const Vector> column(const Matrix& m, Index j, Index begin, Index end) {
  return m.col(j).segment(begin, end - begin);
}

ConstSpan part(const Vector& v, Index begin, Index end) {
  return {v.data() + begin, static_cast<std::size_t>(end - begin)};
}
Span part(Vector& v, Index begin, Index end) { return {v.data() + begin, static_cast<std::size_t>(end - begin)}; }
ConstSpan part(const Matrix& m, Index j, Index begin, Index end) {
  return {m.col(j).data() + begin, static_cast<std::size_t>(end - begin)};
}

/// a x and the diagonal of a b', in rows begin to end.
Vector times_rows(const Matrix& a, const Vector& x, Index begin, Index end) {
  Vector product = Vector::Zero(end - begin);
  if (a.cols() > 0) serial::add_product(1.0, a.middleRows(begin, end - begin), As::is, x, As::is, 0.0, product);
  return product;
}
Vector row_products(const Matrix& a, const Matrix& b, Index begin, Index end) {
  Vector sum = Vector::Zero(end - begin);
  for (Index k = 0; k < a.cols(); ++k) sum += column(a, k, begin, end).cwiseProduct(column(b, k, begin, end));
  return sum;
}

/// Marginals without a share of their factors, as `without` has it.
GAUSSMITH_VECTORISED void cavities(std::size_t count, double share, const double* __restrict mean,
                                   const double* __restrict variance, const double* __restrict precision,
                                   const double* __restrict shift, double* __restrict cavity_mean,
                                   double* __restrict cavity_variance) {
  for (std::size_t i = 0; i < count; ++i) {
    const double left = 1.0 - share * precision[i] * variance[i];
    const double inverse = left > least_share ? 1.0 / left : 1.0;
    const double taken = left > least_share ? share * shift[i] : 0.0;
    cavity_mean[i] = (mean[i] - variance[i] * taken) * inverse;
    cavity_variance[i] = variance[i] * inverse;
  }
}

/// FactorChange of tilted moments in units of the marginals, `moved` deviations away and `ratio` the variance; where
/// there is no cavity or no moment nothing changes and `mismatch` is negative.
GAUSSMITH_VECTORISED void factor_changes(std::size_t count, double power, const double* __restrict mean,
                                         const double* __restrict variance, const double* __restrict taken,
                                         const double* __restrict moved, const double* __restrict ratio,
                                         double* __restrict d_precision, double* __restrict d_shift,
                                         double* __restrict mismatch) {
  constexpr double largest = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const bool proper =
        (1.0 - taken[i] * variance[i] > least_share) & (ratio[i] > 0.0) & (std::fabs(moved[i]) <= largest);
    const double tighter = 1.0 / ratio[i], scale = 1.0 / (power * variance[i]);
    const double precision = (tighter - 1.0) * scale;
    const double shift = (mean[i] * (tighter - 1.0) + std::sqrt(variance[i]) * moved[i] * tighter) * scale;
    const double away = std::fabs(moved[i]), wider = std::fabs(ratio[i] - 1.0);
    d_precision[i] = proper ? precision : 0.0;
    d_shift[i] = proper ? shift : 0.0;
    mismatch[i] = proper ? (away > wider ? away : wider) / power : -1.0;
  }
}

/// Results of blocks, added up in a fixed order.
class BlockResults {
 public:
  BlockResults(Index count, Index block)
      : block_(block), results_(static_cast<std::size_t>((count + block - 1) / block)) {}
  SweepResult& at(Index begin) { return results_[static_cast<std::size_t>(begin / block_)]; }
  void add_to(SweepResult& result) const {
    for (const SweepResult& r : results_) {
      result.mismatch = std::max(result.mismatch, r.mismatch);
      result.skipped += r.skipped;
    }
  }

 private:
  Index block_;
  std::vector<SweepResult> results_;
};

/// A site that cannot be updated is no match.
void skip(SweepResult& result) {
  ++result.skipped;
  result.mismatch = std::max(result.mismatch, 1.0);
}

void note(SweepResult& result, double mismatch) {
  result.mismatch = std::max(result.mismatch, std::isfinite(mismatch) ? mismatch : 1.0);
}

void move(GaussianFactors& factors, double step, const GaussianFactors& change) {
  factors.precision += step * change.precision;
  factors.shift += step * change.shift;
}

}  // namespace

NetworkUnit::NetworkUnit(const NetworkProblem& problem, const Matrix& rows, std::vector<Index> scale_index,
                         bool covariance_form)
    : law(rows, covariance_form),
      activations(problem.row_count()),
      weights(static_cast<Index>(scale_index.size())),
      log_scales(static_cast<Index>(scale_index.size())),
      scale(std::move(scale_index)) {}

GaussianFactors NetworkUnit::weight_factors() const {
  GaussianFactors all(weights.shift.size() + 1);
  all.precision << weights.precision, constant_precision;
  all.shift << weights.shift, 0.0;
  return all;
}

NetworkFit::NetworkFit(const NetworkProblem& problem, double power, CoreForm form, int threads)
    : problem_(&problem),
      power_(power),
      threads_(threads),
      covariance_form_(form == CoreForm::covariance ||
                       (form == CoreForm::automatic && problem.rows.cols() > problem.row_count())),
      constant_rows_(Matrix::Ones(problem.prior.linear ? 0 : problem.row_count(), 1)) {
  const NetworkPrior& prior = problem.prior;
  const Index n = problem.row_count();
  for (std::size_t k = 0; k < problem.scales.of_unit.size(); ++k) {
    const bool sees_constant = k == 0 && !prior.linear;
    units_.emplace_back(problem, sees_constant ? constant_rows_ : problem.rows, problem.scales.of_unit[k],
                        covariance_form_ && !sees_constant);
    const double sd = k == 0 ? prior.intercept_sd : prior.bias_sd;
    units_.back().constant_precision = 1.0 / (sd * sd);
  }
  output_sites = GaussianFactors(n);
  output_prior = GaussianFactors(hidden());
  direction_.setZero(n, hidden());
  log_scales_.assign(problem.scales.names.size(),
                     {prior.scale_prior.mean, prior.scale_prior.sd * prior.scale_prior.sd});
  noise_ = {prior.noise_prior.mean, prior.noise_prior.sd * prior.noise_prior.sd};
  if (problem.gaussian) {
    noise_sites = GaussianFactors(n);
    auto few =
        std::make_unique<NoisyOutput>(problem.sites->responses(), power, noise_.variance > 0.0 ? few_noise_nodes : 1);
    auto many =
        std::make_unique<NoisyOutput>(problem.sites->responses(), power, noise_.variance > 0.0 ? many_noise_nodes : 1);
    noisy_units_ = few.get();
    noisy_outputs_ = many.get();
    for_units_ = std::move(few);
    for_outputs_ = std::move(many);
  } else {
    for_units_ = std::make_unique<CatalogueOutput>(problem.sites, power);
    for_outputs_ = std::make_unique<CatalogueOutput>(problem.sites, power);
  }
}

bool NetworkFit::begin() {
  if (!refresh_log_scales(false) || !refresh_noise()) return false;
  for (NetworkUnit& unit : units_)
    if (!unit.refresh(threads_)) return false;
  const Index n = problem_->row_count();
  g_mean_.resize(n, hidden());
  g_variance_.resize(n, hidden());
  for (Index k = 0; k <= hidden(); ++k) find_activations(k);
  direction_ = g_mean_;
  if (!refresh_output_weights()) return false;
  find_outputs();
  if (!mean_.allFinite() || !output_variance().allFinite()) return false;
  set_noise_rules();  // Which depend on outputs: those of now, not of the fit that was here before.
  return true;
}

bool NetworkFit::refresh_log_scales(bool near) {
  const LogVariancePrior& prior = problem_->prior.scale_prior;
  if (prior.sd == 0.0) return true;
  Vector precision = Vector::Zero(static_cast<Index>(log_scales_.size())), shift = precision;
  for (const NetworkUnit& unit : units_)
    for (std::size_t j = 0; j < unit.scale.size(); ++j) {
      precision(unit.scale[j]) += unit.log_scales.precision(static_cast<Index>(j));
      shift(unit.scale[j]) += unit.log_scales.shift(static_cast<Index>(j));
    }
  std::vector<Normal> next;
  for (std::size_t l = 0; l < log_scales_.size(); ++l) {
    const PriorTimesFactors q(prior, precision(static_cast<Index>(l)), shift(static_cast<Index>(l)));
    if (!(q.precision > 0.0) || !std::isfinite(q.mean)) return false;
    if (near && std::abs(q.mean - log_scales_[l].mean) > furthest_scale) return false;
    next.push_back({q.mean, 1.0 / q.precision});
  }
  log_scales_ = std::move(next);
  return true;
}

bool NetworkFit::refresh_noise() {
  if (noisy_units_ == nullptr) return true;
  const LogVariancePrior& prior = problem_->prior.noise_prior;
  if (prior.sd > 0.0) {
    const PriorTimesFactors q(prior, noise_sites.precision.sum(), noise_sites.shift.sum());
    if (!(q.precision > 0.0) || !std::isfinite(q.mean)) return false;
    noise_ = {q.mean, 1.0 / q.precision};
  }
  set_noise_rules();
  return true;
}

void NetworkFit::set_noise_rules() {
  if (noisy_units_ == nullptr) return;
  const Index n = problem_->row_count();
  const bool known = mean_.size() == n && problem_->prior.noise_prior.sd > 0.0;
  const Vector outputs = known ? output_variance() : Vector();
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    Vector mean(end - begin), variance(end - begin);
    for (Index i = begin; i < end; ++i) {
      Normal cavity;
      (void)without(noise_, power_ * noise_sites.precision(i), power_ * noise_sites.shift(i), cavity);
      mean(i - begin) = cavity.mean;
      variance(i - begin) = cavity.variance;
    }
    noisy_units_->set_noise(begin, view(std::as_const(mean)), view(std::as_const(variance)),
                            known ? part(std::as_const(mean_), begin, end) : ConstSpan{},
                            known ? part(outputs, begin, end) : ConstSpan{});
    noisy_outputs_->set_noise(begin, view(std::as_const(mean)), view(std::as_const(variance)), *noisy_units_);
  });
}

bool NetworkFit::refresh_output_weights() {
  if (hidden() == 0) {  // Units may all have gone.
    output_mean_.resize(0);
    output_covariance_.resize(0, 0);
    reach_.resize(direction_.rows(), 0);
    cavity_ = output_cavity(power_);
    return true;
  }
  Matrix lower = weighted_gram(direction_, output_sites.precision, threads_);
  lower.diagonal() += output_prior.precision;
  if (!lower.allFinite() || !cholesky(lower)) return false;
  Vector shift = output_prior.shift;
  add_transposed_times(direction_, output_sites.shift, shift);
  invert_lower(lower);
  lower_transposed_times_lower(lower);
  mirror_lower(lower);
  output_mean_ = lower * shift;
  output_covariance_ = std::move(lower);
  reach_.resize(direction_.rows(), hidden());
  parallel_blocks(direction_.rows(), row_block, threads_, [&](Index begin, Index end) {
    serial::add_product(1.0, direction_.middleRows(begin, end - begin), As::is, output_covariance_, As::is, 0.0,
                        reach_.middleRows(begin, end - begin));
  });
  cavity_ = output_cavity(power_);
  return true;
}

NetworkFit::OutputCavity NetworkFit::output_cavity(double share) const {
  const Index n = direction_.rows();
  OutputCavity cavity{Vector::Zero(n), Vector::Zero(n), Vector(n)};
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Vector variance = row_products(direction_, reach_, begin, end);
    const Vector mean = times_rows(direction_, output_mean_, begin, end);
    for (Index i = begin; i < end; ++i) {
      const double precision = share * output_sites.precision(i);
      const double left = 1.0 - precision * variance(i - begin);
      cavity.kept(i) = left;
      if (!(left > least_share)) continue;
      cavity.ratio(i) = precision / left;
      cavity.move(i) = (precision * mean(i - begin) - share * output_sites.shift(i)) / left;
    }
  });
  return cavity;
}

void NetworkFit::find_activations(Index k) {
  NetworkUnit& unit = units_[static_cast<std::size_t>(k)];
  const Index n = unit.law.activations().mean.size();
  unit.cavity.mean.resize(n);
  unit.cavity.variance.resize(n);
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) { find_activations(k, begin, end); });
}

void NetworkFit::find_activations(Index k, Index begin, Index end) {
  NetworkUnit& unit = units_[static_cast<std::size_t>(k)];
  const Marginals& q = unit.law.activations();
  cavities(static_cast<std::size_t>(end - begin), power_, &q.mean(begin), &q.variance(begin),
           &unit.activations.precision(begin), &unit.activations.shift(begin), &unit.cavity.mean(begin),
           &unit.cavity.variance(begin));
  if (k == 0) return;
  activation_moments(part(std::as_const(unit.cavity.mean), begin, end),
                     part(std::as_const(unit.cavity.variance), begin, end),
                     Span(g_mean_.col(k - 1).data() + begin, static_cast<std::size_t>(end - begin)),
                     Span(g_variance_.col(k - 1).data() + begin, static_cast<std::size_t>(end - begin)));
}

void NetworkFit::find_outputs() {
  const Index n = problem_->row_count();
  mean_ = units_.front().cavity.mean;
  if (problem_->offset.size() > 0) mean_ += problem_->offset;
  explained_.setZero(n);
  added_.setZero(n);
  along_.setZero(n);
  covariance_.resize(n);
  if (hidden() == 0) return;
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Index count = end - begin;
    const auto ratio = cavity_.ratio.segment(begin, count).array();
    const auto move = cavity_.move.segment(begin, count).array();
    along_.segment(begin, count) = row_products(g_mean_, reach_, begin, end);
    Matrix c(count, hidden());
    serial::add_product(1.0, g_mean_.middleRows(begin, count), As::is, output_covariance_, As::is, 0.0, c);
    explained_.segment(begin, count) = ratio * along_.segment(begin, count).array().square();
    for (Index k = 0; k < hidden(); ++k) {
      const auto a = reach_.col(k).segment(begin, count).array();
      const auto g = g_mean_.col(k).segment(begin, count).array();
      const Eigen::ArrayXd m = output_mean_(k) + move * a;
      const Eigen::ArrayXd s = output_covariance_(k, k) + ratio * a.square();
      explained_.segment(begin, count).array() += g * c.col(k).array();
      mean_.segment(begin, count).array() += m * g;
      added_.segment(begin, count).array() += (m.square() + s) * g_variance_.col(k).segment(begin, count).array();
    }
  });
}

/// Cov(v_k, f) of a hidden unit in rows begin to end: O(K) a row.
void NetworkFit::find_covariance(Index k, Index begin, Index end) {
  const Index count = end - begin, column_of = k - 1;
  covariance_.segment(begin, count) = times_rows(g_mean_, output_covariance_.col(column_of), begin, end);
  covariance_.segment(begin, count).array() += cavity_.ratio.segment(begin, count).array() *
                                               reach_.col(column_of).segment(begin, count).array() *
                                               along_.segment(begin, count).array();
}

/// Rows begin to end after a unit's turn: what they see of it, and what changes of f.
void NetworkFit::carry_on(Index k, Index begin, Index end) {
  const Index count = end - begin, column_of = k - 1;
  if (k == 0) {
    const Vector& mean = units_.front().cavity.mean;
    mean_.segment(begin, count) -= mean.segment(begin, count);
    find_activations(k, begin, end);
    mean_.segment(begin, count) += mean.segment(begin, count);
    return;
  }
  const Vector before_mean = column(g_mean_, column_of, begin, end);
  const Vector before_variance = column(g_variance_, column_of, begin, end);
  find_activations(k, begin, end);
  const Eigen::ArrayXd change = (column(g_mean_, column_of, begin, end) - before_mean).array();
  const auto a = reach_.col(column_of).segment(begin, count).array();
  const Eigen::ArrayXd m = output_mean_(column_of) + cavity_.move.segment(begin, count).array() * a;
  const Eigen::ArrayXd s =
      output_covariance_(column_of, column_of) + cavity_.ratio.segment(begin, count).array() * a.square();
  mean_.segment(begin, count).array() += m * change;
  explained_.segment(begin, count).array() += change * (2.0 * covariance_.segment(begin, count).array() + change * s);
  added_.segment(begin, count).array() +=
      (m.square() + s) * (column(g_variance_, column_of, begin, end) - before_variance).array();
  along_.segment(begin, count).array() += change * a;
}

void NetworkFit::tilt_linear(Vector& d_precision, Vector& d_shift, SweepResult& result) const {
  const NetworkUnit& unit = units_.front();
  const Marginals& q = unit.law.activations();
  const Vector variance = output_variance();
  const Index n = mean_.size();
  BlockResults results(n, row_block);
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Index count = end - begin;
    Vector normaliser(count), slope(count), curvature(count);
    for_outputs_->slopes(begin, part(mean_, begin, end), part(variance, begin, end),
                         {view(normaliser), view(slope), view(curvature)});
    SweepResult& here = results.at(begin);
    for (Index i = begin; i < end; ++i) {
      const double m = unit.cavity.mean(i), v = unit.cavity.variance(i);
      const double alpha = slope(i - begin), beta = curvature(i - begin);
      const double left = 1.0 - beta * v;
      if (1.0 - power_ * unit.activations.precision(i) * q.variance(i) <= least_share || !(left > 0.0) ||
          !std::isfinite(alpha)) {
        skip(here);
        continue;
      }
      d_precision(i) = beta / left / power_ - unit.activations.precision(i);
      d_shift(i) = (alpha + beta * m) / left / power_ - unit.activations.shift(i);
      note(here, FactorChange({q.mean(i), q.variance(i)}, {m + v * alpha, v * left}, power_).mismatch);
    }
  });
  results.add_to(result);
}

void NetworkFit::tilt_hidden(Index k, Vector& d_precision, Vector& d_shift, SweepResult& result) {
  const NetworkUnit& unit = units_[static_cast<std::size_t>(k)];
  const Marginals& q = unit.law.activations();
  const Index n = mean_.size(), column_of = k - 1;
  BlockResults results(n, row_block);
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Index count = end - begin;
    find_covariance(k, begin, end);
    const auto a = reach_.col(column_of).segment(begin, count).array();
    const Vector m = (output_mean_(column_of) + cavity_.move.segment(begin, count).array() * a).matrix();
    const Vector s =
        (output_covariance_(column_of, column_of) + cavity_.ratio.segment(begin, count).array() * a.square()).matrix();
    const Vector rest =
        explained_.segment(begin, count) + added_.segment(begin, count) +
        units_.front().cavity.variance.segment(begin, count) -
        ((m.array().square() + s.array()) * column(g_variance_, column_of, begin, end).array()).matrix();
    const Vector precision = power_ * unit.activations.precision.segment(begin, count);
    const Vector shift = power_ * unit.activations.shift.segment(begin, count);
    Vector moved(count), ratio(count);
    tilt_unit(*for_units_, begin,
              {.mean = part(q.mean, begin, end),
               .variance = part(q.variance, begin, end),
               .precision = view(precision),
               .shift = view(shift),
               .activation = part(g_mean_, column_of, begin, end),
               .output_mean = part(mean_, begin, end),
               .output_variance = view(rest),
               .weight_mean = view(m),
               .weight_variance = view(s),
               .covariance = part(std::as_const(covariance_), begin, end)},
              view(moved), view(ratio));
    SweepResult& here = results.at(begin);
    Vector mismatch(count);
    factor_changes(static_cast<std::size_t>(count), power_, &q.mean(begin), &q.variance(begin), precision.data(),
                   moved.data(), ratio.data(), &d_precision(begin), &d_shift(begin), mismatch.data());
    for (const double found : mismatch) {
      if (found < 0.0)
        skip(here);
      else
        note(here, found);
    }
  });
  results.add_to(result);
}

void NetworkFit::tilt_weights(const NetworkUnit& unit, GaussianFactors& d_weights, GaussianFactors& d_scales,
                              SweepResult& result) const {
  const LogVariancePrior& prior = problem_->prior.scale_prior;
  const auto count = static_cast<Index>(unit.scale.size());
  BlockResults results(count, weight_block);
  parallel_blocks(count, weight_block, threads_, [&](Index begin, Index end) {
    SweepResult& here = results.at(begin);
    for (Index j = begin; j < end; ++j) {
      const Normal& phi = log_scales_[static_cast<std::size_t>(unit.scale[static_cast<std::size_t>(j)])];
      const double m = unit.law.mean()(j), v = unit.law.variance()(j);
      Normal weight_cavity, scale_cavity;
      bool proper =
          without({m, v}, power_ * unit.weights.precision(j), power_ * unit.weights.shift(j), weight_cavity) &&
          without(phi, power_ * unit.log_scales.precision(j), power_ * unit.log_scales.shift(j), scale_cavity);
      proper = proper && scale_cavity.variance * least_scale_share <= prior.sd * prior.sd;
      if (!proper) {
        skip(here);
        continue;
      }
      const TiltedWeight tilted = tilted_weight(problem_->laplace(), weight_cavity, scale_cavity, power_);
      if (!(tilted.weight.variance > 0.0) || !std::isfinite(tilted.weight.mean)) {
        skip(here);
        continue;
      }
      const FactorChange change({m, v}, tilted.weight, power_);
      d_weights.precision(j) = change.precision;
      d_weights.shift(j) = change.shift;
      note(here, change.mismatch);
      if (prior.sd == 0.0 || !(tilted.scale.variance > 0.0)) continue;
      const FactorChange of_scale(phi, tilted.scale, power_);
      d_scales.precision(j) = of_scale.precision;
      d_scales.shift(j) = of_scale.shift;
      note(here, of_scale.mismatch);
    }
  });
  results.add_to(result);
}

void NetworkFit::update_unit(Index k, double damping, SweepResult& result) {
  NetworkUnit& unit = units_[static_cast<std::size_t>(k)];
  const Index n = mean_.size();
  turn_.change.precision.setZero(n);
  turn_.change.shift.setZero(n);
  if (k == 0)
    tilt_linear(turn_.change.precision, turn_.change.shift, result);
  else
    tilt_hidden(k, turn_.change.precision, turn_.change.shift, result);
  GaussianFactors d_weights(unit.weights.shift.size()), d_scales(unit.weights.shift.size());
  tilt_weights(unit, d_weights, d_scales, result);
  if (damping == 0.0) return;

  turn_.activations = unit.activations;
  turn_.before = unit.law.activations();
  const GaussianFactors weights = unit.weights, scales = unit.log_scales;
  double step = damping;
  for (int halving = 0;; ++halving, step *= 0.5) {
    if (halving == most_halvings) step = 0.0;
    move(unit.activations, step, turn_.change);
    move(unit.weights, step, d_weights);
    const bool near = halving >= gentle_halvings;
    if (unit.refresh(threads_) && (near || ((unit.law.activations().mean - turn_.before.mean).array().square() <=
                                            furthest_activation * furthest_activation * turn_.before.variance.array())
                                               .all()))
      break;
    if (halving == most_halvings) break;
    ++result.shortened;
    unit.activations = turn_.activations;
    unit.weights = weights;
  }
  // Log scales by themselves: weights go on where these cannot.
  for (int halving = 0; halving <= most_halvings; ++halving, step *= 0.5) {
    move(unit.log_scales, halving == most_halvings ? 0.0 : step, d_scales);
    if (refresh_log_scales(true)) break;
    ++result.shortened;
    unit.log_scales = scales;
  }

  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) { carry_on(k, begin, end); });
}

void NetworkFit::update_outputs(double damping, SweepResult& result) {
  const Index n = mean_.size();
  const Vector variance = output_variance();
  GaussianFactors d_outputs(n), d_noise(noise_sites.shift.size());
  const bool noise_unknown = noisy_outputs_ != nullptr && problem_->prior.noise_prior.sd > 0.0;
  if (hidden() == 0 && !noise_unknown) return;
  BlockResults results(n, row_block);
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Index count = end - begin;
    SweepResult& here = results.at(begin);
    Vector first(count), second(count), third(count);
    if (noise_unknown) {
      noisy_outputs_->noise_moments(begin, part(mean_, begin, end), part(variance, begin, end), view(first),
                                    view(second));
      for (Index i = begin; i < end; ++i) {
        if (1.0 - power_ * noise_sites.precision(i) * noise_.variance <= least_share || !(second(i - begin) > 0.0)) {
          skip(here);
          continue;
        }
        const FactorChange change(noise_, {first(i - begin), second(i - begin)}, power_);
        d_noise.precision(i) = change.precision;
        d_noise.shift(i) = change.shift;
        note(here, change.mismatch);
      }
    }
    if (hidden() == 0) return;
    for_outputs_->slopes(begin, part(mean_, begin, end), part(variance, begin, end),
                         {view(first), view(second), view(third)});
    const Vector under_q = times_rows(g_mean_, output_mean_, begin, end);
    for (Index i = begin; i < end; ++i) {
      const double alpha = second(i - begin), beta = third(i - begin), s = explained_(i), along = along_(i);
      const double left = 1.0 - beta * s;
      if (cavity_.kept(i) <= least_share || !(left > 0.0) || !std::isfinite(alpha)) {
        skip(here);
        continue;
      }
      const double m = under_q(i - begin) + cavity_.move(i) * along;
      const RankOneSite site(alpha, beta, s, m);
      d_outputs.precision(i) = site.precision / power_ - output_sites.precision(i);
      d_outputs.shift(i) = site.shift / power_ - output_sites.shift(i);
      const double marginal = s - cavity_.ratio(i) * along * along;
      if (marginal > 0.0)
        note(here, FactorChange({m - cavity_.move(i) * along, marginal}, {m + s * alpha, s * left}, power_).mismatch);
    }
  });
  results.add_to(result);
  update_output_weights(damping, d_outputs, result);
  if (noise_unknown) update_noise(damping, d_noise, result);
  if (damping > 0.0) find_outputs();
}

void NetworkFit::update_output_weights(double damping, const GaussianFactors& change, SweepResult& result) {
  if (hidden() == 0) return;
  const NetworkPrior& prior = problem_->prior;
  GaussianFactors d_prior(hidden());
  for (Index k = 0; k < hidden(); ++k) {
    Normal cavity;
    const double m = output_mean_(k), v = output_covariance_(k, k);
    if (!without({m, v}, power_ * output_prior.precision(k), power_ * output_prior.shift(k), cavity)) {
      skip(result);
      continue;
    }
    const TiltedOutputWeight tilted = tilted_output_weight(cavity, prior.output_scale, prior.output_degrees, power_);
    if (!(tilted.weight.variance > 0.0)) {
      skip(result);
      continue;
    }
    const FactorChange of_prior({m, v}, tilted.weight, power_);
    d_prior.precision(k) = of_prior.precision;
    d_prior.shift(k) = of_prior.shift;
    note(result, of_prior.mismatch);
  }
  if (damping == 0.0) return;
  const GaussianFactors sites = output_sites, priors = output_prior;
  const Matrix direction = direction_;
  direction_ = g_mean_;
  double step = damping;
  for (int halving = 0; halving < most_halvings; ++halving, step *= 0.5) {
    move(output_sites, step, change);
    move(output_prior, step, d_prior);
    if (refresh_output_weights()) return;
    ++result.shortened;
    output_sites = sites;
    output_prior = priors;
  }
  direction_ = direction;
  (void)refresh_output_weights();
}

void NetworkFit::update_noise(double damping, const GaussianFactors& change, SweepResult& result) {
  if (damping == 0.0) return;
  const GaussianFactors sites = noise_sites;
  double step = damping;
  for (int halving = 0; halving < most_halvings; ++halving, step *= 0.5) {
    move(noise_sites, step, change);
    if (refresh_noise()) return;
    ++result.shortened;
    noise_sites = sites;
  }
  (void)refresh_noise();
}

SweepResult NetworkFit::sweep(double damping) {
  SweepResult result;
  for (Index k = 0; k <= hidden(); ++k) update_unit(k, damping, result);
  update_outputs(damping, result);
  return result;
}

double NetworkFit::share_of_noise(Index k) const {
  const Index at = k - 1;
  const double square = (g_mean_.col(at).array().square() + g_variance_.col(at).array()).mean();
  return (output_mean_(at) * output_mean_(at) + output_covariance_(at, at)) * square / noise_level();
}

bool NetworkFit::is_off(Index k) const {
  constexpr double away = 1.5, little = 0.05;
  return output_mean_(k - 1) < away * std::sqrt(output_covariance_(k - 1, k - 1)) && share_of_noise(k) < little;
}

double NetworkFit::noise_level() const { return noisy_units_ != nullptr ? std::exp(noise_.mean) : 1.0; }

bool NetworkFit::restore(Snapshot snapshot) {
  units_ = std::move(snapshot.units);
  output_sites = std::move(snapshot.output_sites);
  output_prior = std::move(snapshot.output_prior);
  noise_sites = std::move(snapshot.noise_sites);
  return begin();
}

bool NetworkFit::remove(const std::vector<Index>& units) {
  for (auto it = units.rbegin(); it != units.rend(); ++it) {
    units_.erase(units_.begin() + *it);
    const Index k = *it - 1, after = hidden() - k;
    for (Vector* v : {&output_prior.precision, &output_prior.shift}) {
      v->segment(k, after) = v->tail(after).eval();
      v->conservativeResize(hidden());
    }
  }
  return begin();
}

}  // namespace gaussmith
