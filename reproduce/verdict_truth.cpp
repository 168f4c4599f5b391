#include "verdict_truth.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

namespace reproduce {

namespace {

using gs::Index;
using gs::Matrix;
using gs::Random;
using gs::Vector;

/// w = mean + R z with z ~ N(0, I), and log t of all rows.
class LogLikelihood {
 public:
  explicit LogLikelihood(const gs::Model& model) : model_(model) {
    if (const auto* process = std::get_if<gs::GaussianProcess>(&model.prior)) {
      Matrix k;
      process->kernel->gram(process->inputs, k);
      k.diagonal().array() += 1e-10;
      root_ = Eigen::LLT<Matrix>(k).matrixL();
      mean_ = Vector::Constant(k.rows(), process->mean);
    } else {
      const auto& prior = std::get<gs::Isotropic>(model.prior);
      mean_ = prior.mean;
      root_ = std::sqrt(prior.variance) * Matrix::Identity(mean_.size(), mean_.size());
    }
    rows_ = model.design.is_identity() ? root_ : model.design.times(root_);
    centre_ = model.design.is_identity() ? mean_ : model.design.times(mean_);
    if (model.offset.size() > 0) centre_ += model.offset;
    value_.resize(rows_.rows());
  }

  [[nodiscard]] Index dimension() const { return root_.cols(); }
  [[nodiscard]] Vector latents(const Vector& z) const { return centre_ + rows_ * z; }
  [[nodiscard]] Vector weights(const Vector& z) const { return mean_ + root_ * z; }

  [[nodiscard]] double operator()(const Vector& z) {
    const Vector eta = latents(z);
    Index row = 0;
    for (const gs::Sites& block : model_.sites) {
      const auto size = static_cast<std::size_t>(block->size());
      block->log_density(0, {eta.data() + row, size}, {{value_.data() + row, size}, {}, {}, {}});
      row += block->size();
    }
    return value_.sum();
  }

 private:
  const gs::Model& model_;
  Matrix root_, rows_;
  Vector mean_, centre_, value_;
};

struct Run {
  double log_evidence = 0.0;
  Matrix particles;
  Vector weight;
};

/// One elliptical slice step at a power of the likelihood (Murray, Adams and MacKay 2010).
void slice(LogLikelihood& likelihood, double power, Random& random, Eigen::Ref<Vector> z, double& value) {
  Vector nu(z.size());
  for (Index i = 0; i < nu.size(); ++i) nu(i) = random.normal();
  const double level = power * value - random.exponential();
  double angle = 2.0 * M_PI * random.uniform();
  double low = angle - 2.0 * M_PI;
  double high = angle;
  const Vector from = z;
  while (high - low > 1e-12) {
    const Vector trial = std::cos(angle) * from + std::sin(angle) * nu;
    const double next = likelihood(trial);
    if (power * next > level) {
      z = trial;
      value = next;
      return;
    }
    (angle < 0.0 ? low : high) = angle;
    angle = low + (high - low) * random.uniform();
  }
}

Run temper(const gs::Model& model, int count, std::uint64_t seed) {
  constexpr double keep = 0.8;  // Of the effective particles in a step.
  constexpr int moves = 4;
  LogLikelihood likelihood(model);
  Random random(seed);
  Run run;
  run.particles.resize(likelihood.dimension(), count);
  Vector value(count);
  for (int j = 0; j < count; ++j) {
    for (Index i = 0; i < run.particles.rows(); ++i) run.particles(i, j) = random.normal();
    value(j) = likelihood(run.particles.col(j));
  }
  double power = 0.0;
  while (power < 1.0) {
    const auto effective = [&](double step) {
      const Vector w = (step * (value.array() - value.maxCoeff())).exp();
      return w.sum() * w.sum() / w.squaredNorm() / count;
    };
    double step = 1.0 - power;
    if (effective(step) < keep) {
      double low = 0.0;
      for (int halving = 0; halving < 50; ++halving) {
        const double middle = 0.5 * (low + step);
        (effective(middle) < keep ? step : low) = middle;
      }
    }
    const double most = value.maxCoeff();
    const Vector w = (step * (value.array() - most)).exp();
    run.log_evidence += step * most + std::log(w.mean());
    power = std::min(1.0, power + step);
    // Systematic resampling.
    Matrix next(run.particles.rows(), count);
    Vector next_value(count);
    double at = random.uniform();
    double passed = 0.0;
    int filled = 0;
    const double total = w.sum();
    for (int j = 0; j < count; ++j) {
      passed += w(j) / total * count;
      for (; filled < count && at < passed; ++filled, at += 1.0) {
        next.col(filled) = run.particles.col(j);
        next_value(filled) = value(j);
      }
    }
    for (; filled < count; ++filled) {
      next.col(filled) = run.particles.col(count - 1);
      next_value(filled) = value(count - 1);
    }
    run.particles = next;
    value = next_value;
    const int rounds = power < 1.0 ? moves : 2 * moves;
    for (int j = 0; j < count; ++j)
      for (int m = 0; m < rounds; ++m) slice(likelihood, power, random, run.particles.col(j), value(j));
  }
  run.weight = Vector::Constant(count, 1.0 / count);
  return run;
}

/// A box that shrinks to where there is anything, one or two dimensions.
Run grid(const gs::Model& model) {
  LogLikelihood likelihood(model);
  const Index d = likelihood.dimension();
  constexpr double depth = 32.0;
  const int rounds = 6;
  Vector low = Vector::Constant(d, -9.0);
  Vector high = Vector::Constant(d, 9.0);
  Run run;
  Vector value;
  double cell = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const bool last = round + 1 == rounds;
    const Index steps = d == 1 ? (last ? 20001 : 2001) : (last ? 601 : 201);
    run.particles.resize(d, d == 1 ? steps : steps * steps);
    value.resize(run.particles.cols());
    for (Index j = 0; j < run.particles.cols(); ++j) {
      for (Index i = 0; i < d; ++i)
        run.particles(i, j) = low(i) + (high(i) - low(i)) * static_cast<double>(i == 0 ? j % steps : j / steps) /
                                           static_cast<double>(steps - 1);
      value(j) = likelihood(run.particles.col(j)) - 0.5 * run.particles.col(j).squaredNorm() -
                 0.5 * static_cast<double>(d) * std::log(2.0 * M_PI);
    }
    cell = ((high - low) / static_cast<double>(steps - 1)).prod();
    if (last) break;
    const double most = value.maxCoeff();
    const Vector width = (high - low) / static_cast<double>(steps - 1);
    Vector inner_low = high;
    Vector inner_high = low;
    for (Index j = 0; j < value.size(); ++j) {
      if (value(j) < most - depth) continue;
      inner_low = inner_low.cwiseMin(run.particles.col(j));
      inner_high = inner_high.cwiseMax(run.particles.col(j));
    }
    low = low.cwiseMax(inner_low - width);
    high = high.cwiseMin(inner_high + width);
  }
  const double most = value.maxCoeff();
  run.weight = (value.array() - most).exp();
  run.log_evidence = most + std::log(run.weight.sum() * cell);
  run.weight /= run.weight.sum();
  return run;
}

struct Moments {
  Vector mean, sd;
};

template <class Of>
Moments moments(const Run& run, Of&& of) {
  Vector mean;
  Vector square;
  for (Index j = 0; j < run.particles.cols(); ++j) {
    if (run.weight(j) == 0.0) continue;
    const Vector x = of(Vector(run.particles.col(j)));
    if (mean.size() == 0) mean = square = Vector::Zero(x.size());
    mean += run.weight(j) * x;
    square += run.weight(j) * x.cwiseAbs2();
  }
  return {mean, (square - mean.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt()};
}

}  // namespace

PosteriorTruth posterior_truth(const gs::Model& model, int particles, std::uint64_t seed) {
  const LogLikelihood likelihood(model);
  PosteriorTruth truth;
  const auto latents = [&](const Vector& z) { return likelihood.latents(z); };
  const auto weights = [&](const Vector& z) { return likelihood.weights(z); };
  if (likelihood.dimension() <= 2) {
    const Run run = grid(model);
    const Moments rows = moments(run, latents);
    const Moments own = moments(run, weights);
    return {run.log_evidence, 1e-4, rows.mean, rows.sd, own.mean, own.sd, 1e-4, 1e-4};
  }
  const Run one = temper(model, particles, seed);
  const Run two = temper(model, particles, seed + 1);
  truth.log_evidence = 0.5 * (one.log_evidence + two.log_evidence);
  truth.log_evidence_error = std::abs(one.log_evidence - two.log_evidence);
  const auto both = [&](const Moments& a, const Moments& b, Vector& mean, Vector& sd) {
    mean = 0.5 * (a.mean + b.mean);
    sd = (0.5 * (a.sd.cwiseAbs2() + b.sd.cwiseAbs2()) + 0.25 * (a.mean - b.mean).cwiseAbs2()).cwiseSqrt();
    truth.mean_error = std::max(truth.mean_error, 0.5 * (a.mean - b.mean).cwiseQuotient(sd).lpNorm<Eigen::Infinity>());
    truth.sd_error = std::max(truth.sd_error, 0.5 * (a.sd - b.sd).cwiseQuotient(sd).lpNorm<Eigen::Infinity>());
  };
  both(moments(one, latents), moments(two, latents), truth.latent_mean, truth.latent_sd);
  both(moments(one, weights), moments(two, weights), truth.weights_mean, truth.weights_sd);
  return truth;
}

}  // namespace reproduce
