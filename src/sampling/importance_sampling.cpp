#include "sampling/importance_sampling.hpp"

#include "base/parallel_blocks.hpp"
#include "base/random_stream.hpp"
#include "base/vectorised.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "numerics/normal_numbers.hpp"
#include "numerics/special.hpp"
#include "sampling/pareto_smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gaussmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Numbers of a round of draws that is held at once: 128 MB.
constexpr Index round_numbers = Index{1} << 24;
/// Rows whose sums one thread adds up.
constexpr Index row_chunk = 256;

double log_sum(const std::vector<double>& values) {
  const double most = *std::max_element(values.begin(), values.end());
  if (!std::isfinite(most)) return most;
  double sum = 0.0;
  for (const double value : values) sum += std::exp(value - most);
  return most + std::log(sum);
}

/// Adds w y, w y^2 and w^2 y^p, p = 1, ..., 4, to columns of sums that are `stride` apart.
GAUSSMITH_VECTORISED void add_powers(const double* __restrict y, double w, Index count, Index stride,
                                     double* __restrict sums) {
  const double square = w * w;
  double* __restrict first = sums;
  double* __restrict second = sums + stride;
  double* __restrict square_first = sums + 2 * stride;
  double* __restrict square_second = sums + 3 * stride;
  double* __restrict square_third = sums + 4 * stride;
  double* __restrict square_fourth = sums + 5 * stride;
  for (Index i = 0; i < count; ++i) {
    const double value = y[i];
    const double squared = value * value;
    first[i] += w * value;
    second[i] += w * squared;
    square_first[i] += square * value;
    square_second[i] += square * squared;
    square_third[i] += square * squared * value;
    square_fourth[i] += square * squared * squared;
  }
}

}  // namespace

ImportanceSampler::ImportanceSampler(const Model& model, std::vector<ProposalPart> parts,
                                     const ImportanceOptions& options)
    : model_(&model), sites_(model), parts_(std::move(parts)), options_(options), log_unit_(-infinity) {
  if (parts_.empty()) throw std::invalid_argument("importance sampling needs something to draw from");
  const ReferenceGaussian& first = *parts_.front().gaussian;
  const SamplingSpace& space = first.space();
  options_.threads = sites_.any_thread() ? resolve_threads(options_.threads) : 1;
  degrees_ = options_.degrees > 0.0 ? options_.degrees : std::max(5.0, 0.25 * static_cast<double>(space.rank()));

  // Every part has its share of each block; the density that is divided by is that of what is drawn.
  double all = 0.0;
  for (const ProposalPart& part : parts_) all += part.share;
  Index given = 0;
  for (const ProposalPart& part : parts_) {
    counts_.push_back(
        std::max<Index>(1, static_cast<Index>(std::floor(static_cast<double>(block) * part.share / all))));
    given += counts_.back();
  }
  *std::max_element(counts_.begin(), counts_.end()) += block - given;

  pool_size_ = std::max<Index>(tail_size(options_.most), 1);
  const Index latents = space.latents();
  const Index more = space.weights_are_latents() ? 0 : space.weights();
  centre_.resize(latents + more);
  unit_.resize(latents + more);
  centre_.head(latents) = first.latent_mean();
  unit_.head(latents) = first.latent_sd();
  if (more > 0) {
    centre_.tail(more) = first.weight_mean();
    unit_.tail(more) = first.weight_sd();
  }
  unit_ = (unit_.array() > 0.0).select(unit_, 1.0);
  sums_ = Matrix::Zero(latents + more, 6);
  pool_.resize(latents + more, 0);
}

void ImportanceSampler::proposal_density(const Matrix& latents, const Vector& log_prior, Vector& out) const {
  const auto k = static_cast<double>(parts_.front().gaussian->rank());
  const double constant = log_gamma(0.5 * (degrees_ + k)) - log_gamma(0.5 * degrees_) -
                          0.5 * k * std::log(degrees_ * std::numbers::pi * options_.scale);
  out.resize(latents.cols());
  std::vector<double> parts(parts_.size());
  for (Index j = 0; j < latents.cols(); ++j) {
    const ConstSpan eta(latents.col(j).data(), static_cast<std::size_t>(latents.rows()));
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const ReferenceGaussian& gaussian = *parts_[p].gaussian;
      const double squared = std::max(0.0, gaussian.squared_distance(log_prior(j), eta));
      parts[p] = std::log(static_cast<double>(counts_[p]) / static_cast<double>(block)) + constant -
                 gaussian.log_determinant() - 0.5 * (degrees_ + k) * std::log1p(squared / (options_.scale * degrees_));
    }
    out(j) = log_sum(parts);
  }
}

void ImportanceSampler::make_block(Index number, Matrix& latents, Matrix& weights, Span log_weights) const {
  Random random = random_stream(options_.seed, static_cast<std::uint64_t>(number));
  const SamplingSpace& space = parts_.front().gaussian->space();
  const Index k = space.rank();
  latents.resize(space.latents(), block);
  weights.resize(space.weights_are_latents() ? 0 : space.weights(), block);
  Vector log_prior(block);
  Index begin = 0;
  Matrix x;
  Matrix deviation;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const ReferenceGaussian& gaussian = *parts_[p].gaussian;
    const Index count = counts_[p];
    x.resize(k, count);
    fill_normal(random, {x.data(), static_cast<std::size_t>(x.size())});
    for (Index j = 0; j < count; ++j)
      x.col(j) *= std::sqrt(options_.scale * degrees_ / (2.0 * random.gamma(0.5 * degrees_)));
    const Vector squared = x.colwise().squaredNorm();
    if (weights.rows() > 0) {
      weights.middleCols(begin, count).noalias() = times(gaussian.weight_root(), x);
      weights.middleCols(begin, count).colwise() += gaussian.weight_mean();
    }
    gaussian.spread(x, deviation);
    for (Index j = 0; j < count; ++j)
      log_prior(begin + j) =
          gaussian.log_prior(squared(j), {deviation.col(j).data(), static_cast<std::size_t>(deviation.rows())});
    latents.middleCols(begin, count) = deviation.colwise() + gaussian.latent_mean();
    begin += count;
  }
  if (log_weights.empty()) return;
  sites_.totals(latents, log_weights);
  Vector proposal;
  proposal_density(latents, log_prior, proposal);
  const double constant = -log_sqrt_two_pi * space.prior_precision().sum();
  for (Index j = 0; j < block; ++j) {
    double& value = log_weights[static_cast<std::size_t>(j)];
    value += constant + log_prior(j) - proposal(j);
    if (std::isnan(value)) value = -infinity;
  }
}

void ImportanceSampler::make_round(Index first, Index last, Matrix& values, std::vector<double>& log_weights) const {
  values.resize(centre_.size(), (last - first) * block);
  log_weights.resize(static_cast<std::size_t>(values.cols()));
  parallel_blocks(last - first, 1, options_.threads, [&](Index b, Index /*end*/) {
    Matrix latents;
    Matrix weights;
    make_block(first + b, latents, weights, {log_weights.data() + b * block, static_cast<std::size_t>(block)});
    auto out = values.middleCols(b * block, block);
    out.topRows(latents.rows()) = latents;
    out.bottomRows(weights.rows()) = weights;
    for (Index j = 0; j < block; ++j) out.col(j) = (out.col(j) - centre_).cwiseQuotient(unit_);
  });
}

void ImportanceSampler::draw(Index count) {
  const BlasThreads one(1);
  const Index first = draws_ / block;
  const Index blocks = (count + block - 1) / block;
  const Index at_once = std::clamp<Index>(round_numbers / (centre_.size() * block), 1, 40);
  Matrix values;
  std::vector<double> log_weights;
  for (Index done = 0; done < blocks; done += at_once) {
    const Index now = std::min(at_once, blocks - done);
    make_round(first + done, first + done + now, values, log_weights);
    keep(values, log_weights);
  }
  draws_ += blocks * block;
}

void ImportanceSampler::add_to_sums(const std::vector<const double*>& columns, const std::vector<double>& log_weights) {
  double most = log_unit_;
  for (const double value : log_weights) most = std::max(most, value);
  if (most == -infinity) return;
  if (most > log_unit_) {
    const double factor = std::exp(log_unit_ - most);
    sum_ *= factor;
    squares_ *= factor * factor;
    sums_.leftCols(2) *= factor;
    sums_.rightCols(4) *= factor * factor;
    log_unit_ = most;
  }
  std::vector<double> weights(log_weights.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    weights[j] = std::exp(log_weights[j] - log_unit_);
    sum_ += weights[j];
    squares_ += weights[j] * weights[j];
  }
  parallel_blocks(sums_.rows(), row_chunk, options_.threads, [&](Index begin, Index end) {
    for (std::size_t j = 0; j < columns.size(); ++j)
      if (weights[j] > 0.0) add_powers(columns[j] + begin, weights[j], end - begin, sums_.rows(), sums_.data() + begin);
  });
}

void ImportanceSampler::keep(const Matrix& values, const std::vector<double>& log_weights) {
  log_weights_.insert(log_weights_.end(), log_weights.begin(), log_weights.end());
  // The largest of the pool and the newcomers stay; ties go to the earlier ones.
  const auto old = static_cast<Index>(pool_weights_.size());
  const Index all = old + values.cols();
  const auto weight = [&](Index i) {
    return i < old ? pool_weights_[static_cast<std::size_t>(i)] : log_weights[static_cast<std::size_t>(i - old)];
  };
  const auto column = [&](Index i) { return i < old ? pool_.col(i).data() : values.col(i - old).data(); };
  std::vector<Index> order(static_cast<std::size_t>(all));
  std::iota(order.begin(), order.end(), Index{0});
  const Index stay = std::min(all, pool_size_);
  std::nth_element(order.begin(), order.begin() + (stay - 1), order.end(),
                   [&](Index a, Index b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  std::sort(order.begin(), order.begin() + stay);
  std::sort(order.begin() + stay, order.end());
  std::vector<const double*> leaving;
  std::vector<double> their_weights;
  for (Index i = stay; i < all; ++i) {
    leaving.push_back(column(order[static_cast<std::size_t>(i)]));
    their_weights.push_back(weight(order[static_cast<std::size_t>(i)]));
  }
  add_to_sums(leaving, their_weights);
  Matrix pool(pool_.rows(), stay);
  std::vector<double> pool_weights;
  for (Index i = 0; i < stay; ++i) {
    pool.col(i) = Eigen::Map<const Vector>(column(order[static_cast<std::size_t>(i)]), pool_.rows());
    pool_weights.push_back(weight(order[static_cast<std::size_t>(i)]));
  }
  pool_ = std::move(pool);
  pool_weights_ = std::move(pool_weights);
}

namespace {

/// What weighted sums of powers say: sums are those of w y^p / sum w and w^2 y^p / (sum w)^2 over standardised y.
struct WeightedPowers {
  double first, second;
  double square, square_first, square_second, square_third, square_fourth;
};

struct Moment {
  double mean, sd, mean_error, log_sd_error;
};

Moment moment_of(const WeightedPowers& p) {
  const double m = p.first;
  const double variance = std::max(0.0, p.second - m * m);
  const double sd = std::sqrt(variance);
  if (!(sd > 0.0)) return {m, 0.0, 0.0, 0.0};
  const double second = p.square_second - 2.0 * m * p.square_first + m * m * p.square;
  const double fourth = p.square_fourth - 4.0 * m * p.square_third + 6.0 * m * m * p.square_second -
                        4.0 * m * m * m * p.square_first + m * m * m * m * p.square;
  const double spread = fourth / (variance * variance) - 2.0 * second / variance + p.square;
  return {m, sd, std::sqrt(std::max(0.0, second)) / sd, 0.5 * std::sqrt(std::max(0.0, spread))};
}

}  // namespace

ImportanceEstimate ImportanceSampler::estimate() const {
  ImportanceEstimate out;
  out.draws = draws_;
  const SamplingSpace& space = parts_.front().gaussian->space();
  const double all = draws_ > 0 ? log_sum(log_weights_) : -infinity;
  if (!std::isfinite(all)) {
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    out.pareto_k = infinity;
    out.log_evidence = all;
    out.evidence_error = infinity;
    out.smoothed_evidence = all;
    out.smoothed_error = infinity;
    const auto none = [&](Index n) {
      const Vector v = Vector::Constant(n, nothing);
      return MomentEstimates{v, v, v, v};
    };
    out.latent = none(space.latents());
    out.weights = none(space.weights());
    return out;
  }
  double raw_squares = 0.0;
  for (const double value : log_weights_) raw_squares += std::exp(2.0 * (value - all));
  out.log_evidence = all - std::log(static_cast<double>(draws_));
  out.evidence_error = std::sqrt(std::max(0.0, raw_squares - 1.0 / static_cast<double>(draws_)));

  // The tail stands at the end of the pool in ascending order.
  std::vector<std::size_t> order(pool_weights_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pool_weights_[a] < pool_weights_[b]; });
  std::vector<double> weights(pool_weights_.size());
  for (std::size_t i = 0; i < order.size(); ++i) weights[i] = pool_weights_[order[i]];
  const auto tail = static_cast<std::size_t>(std::min<Index>(tail_size(draws_), static_cast<Index>(order.size())));
  const double below = std::isfinite(log_unit_) ? log_unit_ : weights.front();
  const double cutoff = tail < weights.size() ? weights[weights.size() - tail - 1] : below;
  out.pareto_k = smooth_tail({weights.data() + (weights.size() - tail), tail}, cutoff);

  const double unit = std::max(log_unit_, *std::max_element(weights.begin(), weights.end()));
  const double factor = std::isfinite(log_unit_) ? std::exp(log_unit_ - unit) : 0.0;
  double sum = sum_ * factor;
  double squares = squares_ * factor * factor;
  Matrix sums = sums_;
  sums.leftCols(2) *= factor;
  sums.rightCols(4) *= factor * factor;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double w = std::exp(weights[i] - unit);
    sum += w;
    squares += w * w;
    add_powers(pool_.col(static_cast<Index>(order[i])).data(), w, sums.rows(), sums.rows(), sums.data());
  }
  out.effective = sum * sum / squares;
  const double square = squares / (sum * sum);
  out.smoothed_evidence = unit + std::log(sum / static_cast<double>(draws_));
  out.smoothed_error = std::sqrt(std::max(0.0, square - 1.0 / static_cast<double>(draws_)));
  const Index latents = space.latents();
  const auto moments = [&](Index begin, Index size) {
    MomentEstimates m{Vector(size), Vector(size), Vector(size), Vector(size)};
    for (Index i = 0; i < size; ++i) {
      const Index r = begin + i;
      const Moment at = moment_of({sums(r, 0) / sum, sums(r, 1) / sum, square, sums(r, 2) / (sum * sum),
                                   sums(r, 3) / (sum * sum), sums(r, 4) / (sum * sum), sums(r, 5) / (sum * sum)});
      m.mean(i) = centre_(r) + unit_(r) * at.mean;
      m.sd(i) = unit_(r) * at.sd;
      m.mean_error(i) = at.mean_error;
      m.log_sd_error(i) = at.log_sd_error;
    }
    return m;
  };
  out.latent = moments(0, latents);
  if (space.weights_are_latents()) {
    out.weights = out.latent;
    if (model_->offset.size() > 0) out.weights.mean -= model_->offset;
    return out;
  }
  out.weights = moments(latents, space.weights());
  if (space.unseen_variance().size() > 0) {
    // What no row sees is known exactly.
    const Vector part = out.weights.sd;
    out.weights.sd = (part.cwiseAbs2() + space.unseen_variance()).cwiseSqrt();
    const Vector share = part.cwiseQuotient(out.weights.sd);
    out.weights.mean_error = out.weights.mean_error.cwiseProduct(share);
    out.weights.log_sd_error = out.weights.log_sd_error.cwiseProduct(share.cwiseAbs2());
  }
  return out;
}

Matrix ImportanceSampler::resample_weights(Index count) const {
  const BlasThreads one(1);
  const SamplingSpace& space = parts_.front().gaussian->space();
  Random random = random_stream(options_.seed ^ 0x5deece66du, 0);
  const double all = log_sum(log_weights_);
  Matrix out(space.weights(), count);
  const double step = 1.0 / static_cast<double>(count);
  double next = random.uniform() * step;
  double passed = 0.0;
  Index filled = 0;
  Matrix latents;
  Matrix weights;
  Index made = -1;
  for (std::size_t i = 0; i < log_weights_.size() && filled < count; ++i) {
    passed += std::exp(log_weights_[i] - all);
    const bool last = i + 1 == log_weights_.size();
    for (; filled < count && (next < passed || last); ++filled, next += step) {
      const Index number = static_cast<Index>(i) / block;
      if (number != made) make_block(made = number, latents, weights, {});
      const Index j = static_cast<Index>(i) % block;
      if (space.weights_are_latents()) {
        out.col(filled) = latents.col(j);
        if (model_->offset.size() > 0) out.col(filled) -= model_->offset;
      } else {
        out.col(filled) = weights.col(j);
      }
    }
  }
  if (space.unseen_variance().size() > 0) out += space.unseen_draws(count, random);
  return out;
}

}  // namespace gaussmith
