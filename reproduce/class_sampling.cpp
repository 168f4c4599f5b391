#include "class_sampling.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace reproduce {
namespace {

constexpr int batches = 40;
constexpr int draws_at_once = 256;

gs::Matrix root_of(gs::Matrix covariance) {
  // Smooth kernels are singular to rounding; noise of this size is far below the error of any sampling.
  covariance.diagonal().array() += 1e-9 * covariance.diagonal().maxCoeff();
  const Eigen::LLT<gs::Matrix> factor(covariance);
  if (factor.info() != Eigen::Success) throw std::runtime_error("a covariance to draw from is not positive definite");
  return factor.matrixL();
}

/// R with RRᵀ = T.
gs::Matrix semidefinite_root(const gs::Matrix& t) {
  const Eigen::SelfAdjointEigenSolver<gs::Matrix> eigen(t);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

gs::Matrix stacked(const gs::Matrix& above, const gs::Matrix& below) {
  gs::Matrix all(above.rows() + below.rows(), above.cols());
  all << above, below;
  return all;
}

gs::Matrix standard_normal(gs::Index rows, gs::Index columns, gs::Random& random) {
  gs::Matrix z(rows, columns);
  for (double& entry : z.reshaped()) entry = random.normal();
  return z;
}

/// log of the mean of exp(log_weight) with what belongs to it.
SampledEvidence evidence_of(const gs::Vector& log_weight) {
  const auto draws = static_cast<double>(log_weight.size());
  const double largest = log_weight.maxCoeff();
  const gs::Vector weight = (log_weight.array() - largest).exp().matrix();
  const double mean = weight.mean();
  const double error = std::sqrt((weight.array() - mean).square().sum() / (draws - 1.0) / draws);
  return {.log_value = largest + std::log(mean),
          .standard_error = error / mean,
          .upper = largest + std::log(mean + 3.09 * error),
          .effective_draws = weight.sum() * weight.sum() / weight.squaredNorm()};
}

}  // namespace

/// Weighted moments of latents and classes, in batches. Weights are on one scale throughout.
class ClassSampler::Tally {
 public:
  Tally(const ClassSampler& sampler, int looks) : sampler_(sampler), looks_(looks) {
    const gs::Index latents = (sampler.rows_ + sampler.points_) * sampler.classes_;
    first_ = gs::Vector::Zero(latents);
    second_ = gs::Vector::Zero(latents);
    probability_.assign(batches, gs::Matrix::Zero(sampler.points_, sampler.classes_));
    batch_weight_.assign(batches, 0.0);
    density_ = gs::Vector(sampler.classes_);
  }

  void look(const gs::Vector& f, double weight) {
    const auto batch = static_cast<std::size_t>(static_cast<std::int64_t>(seen_++) * batches / looks_);
    // Deviations from q's mean keep the sum of squares from cancelling.
    const gs::Vector deviation = f - sampler_.mean_;
    first_ += weight * deviation;
    second_ += weight * deviation.cwiseAbs2();
    const gs::Index c = sampler_.classes_;
    for (gs::Index m = 0; m < sampler_.points_; ++m) {
      sampler_.likelihood_.probabilities(f.data() + (sampler_.rows_ + m) * c, density_.data());
      probability_[batch].row(m) += weight * density_.transpose();
    }
    batch_weight_[batch] += weight;
  }

  [[nodiscard]] SampledClasses result() const {
    double weight = 0.0;
    gs::Matrix sum = gs::Matrix::Zero(sampler_.points_, sampler_.classes_);
    for (std::size_t b = 0; b < batches; ++b) {
      weight += batch_weight_[b];
      sum += probability_[b];
    }
    SampledClasses classes;
    const gs::Vector shift = first_ / weight;
    classes.latent_mean = sampler_.mean_ + shift;
    classes.latent_variance = second_ / weight - shift.cwiseAbs2();
    classes.probability = sum / weight;
    for (std::size_t b = 0; b < batches; ++b)
      classes.without_batch.emplace_back((sum - probability_[b]) / (weight - batch_weight_[b]));
    return classes;
  }

 private:
  const ClassSampler& sampler_;
  int looks_;
  int seen_ = 0;
  gs::Vector first_, second_;
  std::vector<gs::Matrix> probability_;
  std::vector<double> batch_weight_;
  gs::Vector density_;
};

ClassSampler::ClassSampler(const gs::Posterior& q, const gs::Matrix& points, double widening)
    : likelihood_(q.model().sites.at(0)->traits().name, q.model().latents.count),
      labels_(q.model().sites.at(0)->responses()),
      rows_(q.model().rows()),
      points_(points.rows()),
      classes_(q.model().latents.count),
      approximation_(q.site_approximation()) {
  const auto& process = std::get<gs::GaussianProcess>(q.model().prior);
  const gs::Matrix& inputs = *process.inputs;
  gs::Matrix kx;
  process.kernel->gram(stacked(inputs, points), kx);
  const gs::Matrix kc = q.model().latents.covariance();
  const gs::Index c = classes_, all = rows_ + points_;
  input_root_ = root_of(kx);
  class_root_ = semidefinite_root(kc);

  // V = K - S(I + RᵀKR)⁻¹Sᵀ over rows and points, S = KR, T = RRᵀ at the rows.
  std::vector<gs::Matrix> root(static_cast<std::size_t>(rows_));
  dual_ = approximation_.shift;
  approximation_.precision /= widening;
  for (gs::Index n = 0; n < rows_; ++n) {
    const Eigen::Map<const gs::Matrix> t(approximation_.precision.data() + n * c * c, c, c);
    root[static_cast<std::size_t>(n)] = semidefinite_root(t);
    const gs::Vector pull = t * q.latent().mean.segment(n * c, c);
    dual_.segment(n * c, c) -= widening * pull;
    approximation_.shift.segment(n * c, c) = dual_.segment(n * c, c) + pull;
  }
  gs::Matrix s(all * c, rows_ * c);
  for (gs::Index n = 0; n < rows_; ++n) {
    const gs::Matrix kr = kc * root[static_cast<std::size_t>(n)];
    for (gs::Index i = 0; i < all; ++i) s.block(i * c, n * c, c, c) = kx(i, n) * kr;
  }
  gs::Matrix b(rows_ * c, rows_ * c);
  for (gs::Index n = 0; n < rows_; ++n)
    b.middleRows(n * c, c) = root[static_cast<std::size_t>(n)].transpose() * s.middleRows(n * c, c);
  b.diagonal().array() += 1.0;
  const Eigen::LLT<gs::Matrix> factor(b);
  mean_ = gs::Vector(all * c);
  gs::Matrix v(all * c, all * c);
  for (gs::Index i = 0; i < all; ++i) {
    gs::Vector sum = gs::Vector::Zero(c);
    for (gs::Index n = 0; n < rows_; ++n) sum += kx(i, n) * dual_.segment(n * c, c);
    mean_.segment(i * c, c) = kc * sum;
    for (gs::Index j = 0; j < all; ++j) v.block(i * c, j * c, c, c) = kx(i, j) * kc;
  }
  const gs::Matrix w = factor.matrixL().solve(s.transpose());
  v.selfadjointView<Eigen::Lower>().rankUpdate(w.transpose(), -1.0);
  root_ = root_of(std::move(v));
  log_site_evidence_ =
      0.5 * approximation_.shift.dot(mean_.head(rows_ * c)) - factor.matrixLLT().diagonal().array().log().sum();
}

gs::Matrix ClassSampler::prior_noise(int draws, gs::Random& random) const {
  const gs::Index all = rows_ + points_;
  // A draw is LxZLcᵀ; the latents of a row stand side by side, so Lc from the left of its transpose.
  gs::Matrix out(all * classes_, draws);
  for (int l = 0; l < draws; ++l) {
    const gs::Matrix z = standard_normal(all, classes_, random);
    const gs::Matrix f = class_root_ * (input_root_.triangularView<Eigen::Lower>() * z).transpose();
    out.col(l) = f.reshaped();
  }
  return out;
}

gs::Matrix ClassSampler::q_noise(int draws, gs::Random& random) const {
  return root_.triangularView<Eigen::Lower>() * standard_normal(root_.rows(), draws, random);
}

double ClassSampler::log_likelihood(const double* f) const {
  double sum = 0.0;
  for (gs::Index n = 0; n < rows_; ++n)
    sum += likelihood_.log_probability(static_cast<gs::Index>(labels_(n)), f + n * classes_);
  return sum;
}

double ClassSampler::log_sites(const double* f) const {
  const gs::Index c = classes_;
  const Eigen::Map<const gs::Vector> latents(f, rows_ * c);
  double sum = approximation_.shift.dot(latents);
  for (gs::Index n = 0; n < rows_; ++n) {
    const Eigen::Map<const gs::Matrix> t(approximation_.precision.data() + n * c * c, c, c);
    sum -= 0.5 * latents.segment(n * c, c).dot(t * latents.segment(n * c, c));
  }
  return sum;
}

ImportanceSample ClassSampler::importance(int draws, int thinning, std::uint64_t seed) const {
  constexpr int prior_every = 10;
  constexpr double prior_share = 1.0 / prior_every;
  gs::Random random(seed);
  gs::Vector log_weight(draws);
  Tally tally(*this, draws / thinning);
  const double scale = log_site_evidence_ + log_likelihood(mean_.data()) - log_sites(mean_.data());
  gs::Matrix around_q;
  gs::Vector f;
  int next = 0;
  for (int l = 0; l < draws; ++l) {
    if (l % prior_every == 0) {
      f = prior_noise(1, random).col(0);
    } else {
      if (next == around_q.cols()) {
        around_q = q_noise(draws_at_once, random);
        next = 0;
      }
      f = mean_ + around_q.col(next++);
    }
    const double q_over_prior = std::exp(log_sites(f.data()) - log_site_evidence_);
    log_weight(l) = log_likelihood(f.data()) - std::log((1.0 - prior_share) * q_over_prior + prior_share);
    // Odd thinning and ten are prime to one another, so that draws of both kinds are looked at in their shares.
    if (l % thinning == thinning - 1) tally.look(f, std::exp(log_weight(l) - scale));
  }
  return {.evidence = evidence_of(log_weight), .classes = tally.result()};
}

SampledEvidence ClassSampler::importance_student(int draws, std::uint64_t seed) const {
  constexpr double nu = 4.0;
  gs::Random random(seed);
  const auto p = static_cast<double>(rows_ * classes_);
  const gs::Matrix row_root = input_root_.topLeftCorner(rows_, rows_);
  const Eigen::Map<const gs::Matrix> dual(dual_.data(), classes_, rows_);
  const double mean_norm = dual_.dot(mean_.head(rows_ * classes_));
  const double constant = std::lgamma(0.5 * nu) - std::lgamma(0.5 * (nu + p)) +
                          0.5 * p * std::log(std::numbers::pi * nu) - 0.5 * p * std::log(2.0 * std::numbers::pi);
  gs::Vector log_weight(draws);
  for (int l = 0; l < draws; ++l) {
    const gs::Matrix z = standard_normal(rows_, classes_, random);
    const double scale = std::sqrt(nu / (2.0 * random.gamma(0.5 * nu)));
    const gs::Matrix noise = class_root_ * (row_root.triangularView<Eigen::Lower>() * z).transpose();
    gs::Vector f = mean_.head(rows_ * classes_) + scale * noise.reshaped();
    const double distance = scale * scale * z.squaredNorm();
    const double prior_distance = mean_norm + 2.0 * scale * dual.cwiseProduct(noise).sum() + distance;
    log_weight(l) =
        log_likelihood(f.data()) - 0.5 * prior_distance + constant + 0.5 * (nu + p) * std::log1p(distance / nu);
  }
  return evidence_of(log_weight);
}

ChainSample ClassSampler::chain(int steps, int thinning, std::uint64_t seed) const {
  return run_chain(false, steps, thinning, seed);
}

ChainSample ClassSampler::prior_chain(int steps, int thinning, std::uint64_t seed) const {
  return run_chain(true, steps, thinning, seed);
}

ChainSample ClassSampler::run_chain(bool around_prior, int steps, int thinning, std::uint64_t seed) const {
  gs::Random random(seed);
  const gs::Vector centre = around_prior ? gs::Vector(gs::Vector::Zero(mean_.size())) : mean_;
  const auto noise = [&](int draws) { return around_prior ? prior_noise(draws, random) : q_noise(draws, random); };
  const auto log_ratio = [&](const gs::Vector& f) {
    return log_likelihood(f.data()) - (around_prior ? 0.0 : log_sites(f.data()));
  };
  gs::Vector deviation =
      mean_ - centre + (around_prior ? gs::Vector(gs::Vector::Zero(mean_.size())) : gs::Vector(noise(1).col(0)));
  gs::Vector f = centre + deviation;
  double height = log_ratio(f);
  const int thrown_away = steps / 10;
  std::int64_t evaluations = 0;
  Tally tally(*this, steps / thinning);
  gs::Vector trace(steps);
  gs::Matrix directions;
  for (int step = -thrown_away, used = 0; step < steps; ++step, ++used) {
    if (used == directions.cols()) {
      directions = noise(draws_at_once);
      used = 0;
    }
    const auto direction = directions.col(used);
    const double level = height + std::log(random.uniform());
    double angle = 2.0 * std::numbers::pi * random.uniform();
    double low = angle - 2.0 * std::numbers::pi, high = angle;
    gs::Vector proposed;
    do {
      proposed = std::cos(angle) * deviation + std::sin(angle) * direction;
      f = centre + proposed;
      height = log_ratio(f);
      ++evaluations;
      (angle < 0.0 ? low : high) = angle;
      angle = low + (high - low) * random.uniform();
    } while (height < level);
    deviation = std::move(proposed);
    if (step < 0) continue;
    trace(step) = log_likelihood(f.data());
    if ((step + 1) % thinning == 0) tally.look(f, 1.0);
  }
  // The variance of batch means is that of independent draws divided by the efficiency.
  const gs::Index length = steps / batches;
  gs::Vector means(batches);
  for (gs::Index b = 0; b < batches; ++b) means(b) = trace.segment(b * length, length).mean();
  const double spread = (trace.array() - trace.mean()).square().mean();
  const double batch_spread = (means.array() - means.mean()).square().sum() / (batches - 1);
  return {.classes = tally.result(),
          .draws_a_step = static_cast<double>(evaluations) / (steps + thrown_away),
          .efficiency = spread / (static_cast<double>(length) * batch_spread)};
}

SampledScore score_sample(const SampledClasses& classes, const gs::Vector& labels) {
  const auto parts = static_cast<double>(classes.without_batch.size());
  std::vector<double> without;
  for (const gs::Matrix& probability : classes.without_batch)
    without.push_back(score_classes(probability, labels).log_density);
  double mean = 0.0, squares = 0.0;
  for (const double value : without) mean += value / parts;
  for (const double value : without) squares += (value - mean) * (value - mean);
  return {.score = score_classes(classes.probability, labels),
          .standard_error = std::sqrt(squares * (parts - 1.0) / parts)};
}

}  // namespace reproduce
