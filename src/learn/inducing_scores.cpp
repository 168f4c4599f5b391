#include "learn/inducing_scores.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/inducing_basis.hpp"
#include "gaussian/site_form.hpp"
#include "model/site_rows.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gaussmith {

namespace {

constexpr int most_steps = 60;
constexpr double smallest_step = 1e-10;

/// K^c of the latents of a row with latent c, times k(x, x') of the kernel of c.
Vector mixing(const Model& model, const Matrix& latent_covariance, Index c) {
  return model.latents.kernels.empty() ? Vector(latent_covariance.col(c))
                                       : Vector(Vector::Unit(latent_covariance.rows(), c));
}

}  // namespace

GaussianProcess InducingScores::process_at(const InducingSite& site) const {
  GaussianProcess process = *process_of(model_.prior);
  if (!model_.latents.kernels.empty()) process.kernel = model_.latents.kernels[static_cast<std::size_t>(site.second)];
  process.inducing = Inducing{.sites = {{site.first, 0}}};
  return process;
}

InducingScores::InducingScores(const Model& model, int threads)
    : model_(model), threads_(threads), latent_covariance_(model.latents.covariance()) {
  const GaussianProcess& process = *process_of(model.prior);
  const Index c = latents();
  const bool own = !model.latents.kernels.empty();
  prior_variance_.resize(rows(), own ? c : 1);
  for (Index k = 0; k < prior_variance_.cols(); ++k) {
    Vector column;
    (own ? model.latents.kernels[static_cast<std::size_t>(k)] : process.kernel)->diagonal(process.inputs, column);
    prior_variance_.col(k) = column;
  }
  covariance_.resize(rows() * c * c);
  Vector mean(rows() * c);
  for (Index n = 0; n < rows(); ++n) {
    Eigen::Map<Matrix> block(covariance_.data() + n * c * c, c, c);
    block = own ? Matrix(prior_variance_.row(n).transpose().asDiagonal())
                : Matrix(prior_variance_(n, 0) * latent_covariance_);
    mean.segment(n * c, c).setConstant(process.mean);
    if (model.latents.mean.size() > 0) mean.segment(n * c, c) += model.latents.mean;
  }
  if (model.offset.size() > 0) mean += model.offset;
  left_ = diagonals(covariance_, c);
  Vector slope;
  Vector bend;
  SiteRows(model_, threads).expectation(mean, covariance_, nullptr, &slope, &bend);
  know_rows(-2.0 * bend, slope);
}

InducingScores::InducingScores(const Posterior& fit, int threads)
    : model_(fit.model()), threads_(threads), latent_covariance_(fit.model().latents.covariance()) {
  inducing_ = make_joint_inducing(*process_of(model_.prior), model_.latents, threads);
  seen_ = inducing_->see_rows();
  prior_variance_ = seen_.variance;
  left_ = diagonals(seen_.leftover, latents());
  covariance_ = fit.latent().covariance;
  // At this q the rule may ask for other sites than the fit has; the rule's are what makes the gain a bound.
  Vector slope;
  Vector bend;
  SiteRows(model_, threads).expectation(fit.latent().mean, covariance_, nullptr, &slope, &bend);
  know_rows(-2.0 * bend, slope);
}

void InducingScores::know_rows(const Vector& precision, const Vector& dual) {
  const Index c = latents();
  labels_.reserve(static_cast<std::size_t>(rows()));
  for (const Sites& block : model_.sites)
    for (Index i = 0; i < block->size(); ++i) labels_.push_back(static_cast<Index>(block->responses()(i)));
  all_.resize(labels_.size());
  std::iota(all_.begin(), all_.end(), Index{0});
  weights_.resize(c, rows());
  bound_.resize(covariance_.size());
  for (Index n = 0; n < rows(); ++n) {
    weights_.col(n) = -dual.segment(n * c, c) / row_weight(n);
    weights_(labels_[static_cast<std::size_t>(n)], n) += 1.0;
    weights_.col(n) = weights_.col(n).cwiseMax(0.0);
    Eigen::Map<Matrix> v(covariance_.data() + n * c * c, c, c);
    // A direction without variance is one that no candidate moves either.
    Matrix ridged = v;
    ridged.diagonal().array() += 1e-13 * v.trace();
    v = ridged.llt().solve(Matrix::Identity(c, c));
    Eigen::Map<Matrix>(bound_.data() + n * c * c, c, c) =
        v + Eigen::Map<const Matrix>(precision.data() + n * c * c, c, c) / row_weight(n);
  }
}

std::pair<Vector, double> InducingScores::residual_column(const InducingSite& site) const {
  const Index c = latents();
  const Vector mix = mixing(model_, latent_covariance_, site.second);
  const Matrix k = InducingPoints(process_at(site)).cross_rows(0, rows());
  Vector column = (mix * k).reshaped();
  double left = left_(site.first * c + site.second);
  if (inducing_) {
    JointInducing::Rows one;
    for (const Matrix& panel : seen_.panels) {
      const Index each = panel.cols() / rows();
      one.panels.emplace_back(panel.middleCols(site.first * each, each));
    }
    one.variance = seen_.variance.row(site.first);
    column -= inducing_->times(seen_, inducing_->matrix(one).row(site.second).transpose());
  }
  const Index entry = site.first * c + site.second;
  for (const Candidate& taken : taken_) {
    left -= taken.column(entry) * taken.column(entry);
    column -= taken.column(entry) * taken.column;
  }
  return {std::move(column), left};
}

InducingScores::Gain InducingScores::best(const std::vector<Index>& rows, const Vector& columns, double scale) const {
  const Index c = latents();
  struct Seen {
    double weight, inside, bound;  // tau_n = w'V^-1 w and w'S w.
  };
  std::vector<Seen> seen(rows.size());
  double count = 0.0;
  double bounds = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Index n = rows[i];
    const auto w = columns.segment(static_cast<Index>(i) * c, c);
    const double weight = scale * row_weight(n);
    seen[i] = {weight, std::min(1.0, w.dot(Eigen::Map<const Matrix>(covariance_.data() + n * c * c, c, c) * w)),
               w.dot(Eigen::Map<const Matrix>(bound_.data() + n * c * c, c, c) * w)};
    count += weight;
    bounds += weight * seen[i].bound;
  }
  Gain out{0.0, 1.0, 0.0};

  const auto spread_gain = [&](double v) {
    double sum = 0.5 * (1.0 + std::log(v) - v) + 0.5 * (1.0 - v) * bounds;
    for (const Seen& row : seen) sum += 0.5 * row.weight * std::log1p(-(1.0 - v) * row.inside);
    return sum;
  };
  // Steps by a model of two logarithms and a line, whose first two derivatives are the gain's: n/2 log(v + a) stands
  // for the rows. Its optimum is positive.
  double v = 1.0;
  for (int step = 0; step < most_steps; ++step) {
    double first = 0.0;
    double second = 0.0;
    for (const Seen& row : seen) {
      const double tau = row.inside / std::max(1e-300, 1.0 - (1.0 - v) * row.inside);
      first += row.weight * tau;
      second += row.weight * tau * tau;
    }
    if (!(second > 0.0)) {
      v = 1.0 / (1.0 + bounds);
      break;
    }
    const double root = std::sqrt(count * second);
    const double a = std::max(0.0, std::sqrt(count / second) - v);
    const double b = root + 1.0 + bounds - first;
    const double half = a * b - count - 1.0;
    const double next = half > 0.0 ? 2.0 * a / (half + std::sqrt(half * half + 4.0 * a * b))
                                   : (-half + std::sqrt(half * half + 4.0 * a * b)) / (2.0 * b);
    const bool done = std::abs(next - v) <= smallest_step * v;
    v = std::clamp(next, 1e-300, 1.0);
    if (done) break;
  }
  if (const double gain = spread_gain(v); gain > 0.0) {
    out.variance = v;
    out.gain = gain;
  }

  double slope_value = 0.0;
  const auto mean_gain = [&](double mu, double* slope, double* bend) {
    double sum = -0.5 * mu * mu;
    *slope = -mu;
    *bend = -1.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Index n = rows[i];
      double total = 0.0, average = 0.0, square = 0.0;
      double top = 0.0;
      for (Index k = 0; k < c; ++k) top = std::max(top, mu * columns(static_cast<Index>(i) * c + k));
      for (Index k = 0; k < c; ++k) {
        const double w = columns(static_cast<Index>(i) * c + k);
        const double g = weights_(k, n) * (w == 0.0 ? std::exp(-top) : std::exp(mu * w - top));
        total += g;
        average += g * w;
        square += g * w * w;
      }
      average /= total;
      const double own = columns(static_cast<Index>(i) * c + labels_[static_cast<std::size_t>(n)]);
      sum += seen[i].weight * (mu * own - top - std::log(total));
      *slope += seen[i].weight * (own - average);
      *bend -= seen[i].weight * std::max(0.0, square / total - average * average);
    }
    return sum;
  };
  double mu = 0.0;
  double bend = -1.0;
  double value = mean_gain(0.0, &slope_value, &bend);
  const double start = value;  // The weights' sums to rounding.
  for (int step = 0; step < most_steps; ++step) {
    double move = -slope_value / bend;
    if (slope_value * slope_value <= -bend * smallest_step * 1e-2) break;
    bool better = false;
    for (int halving = 0; halving < 40 && !better; ++halving, move *= 0.5) {
      double slope = 0.0, curvature = 0.0;
      const double next = mean_gain(mu + move, &slope, &curvature);
      better = next > value;
      if (better) {
        mu += move;
        value = next;
        slope_value = slope;
        bend = curvature;
      }
    }
    if (!better) break;
  }
  out.mean = mu;
  out.gain += value - start;
  return out;
}

Vector InducingScores::estimates(const std::vector<Index>& subset) const {
  const Index c = latents();
  const Index all = rows() * c;
  const auto few = static_cast<Index>(subset.size());
  // Residual covariances of the subset's latents with all: C few x all, latent by latent of a row.
  Matrix with(few * c, all);
  for (Index k = 0; k < prior_variance_.cols(); ++k) {
    const GaussianProcess process = process_at({0, k});
    Matrix block;
    process.kernel->block((*process.inputs)(subset, Eigen::all), process.inputs, block, threads_);
    for (Index i = 0; i < few; ++i)
      for (Index n = 0; n < rows(); ++n) {
        const double value = subset[static_cast<std::size_t>(i)] == n ? prior_variance_(n, k) : block(i, n);
        if (prior_variance_.cols() == 1) {
          with.block(i * c, n * c, c, c) = value * latent_covariance_;
        } else {
          if (k == 0) with.block(i * c, n * c, c, c).setZero();
          with(i * c + k, n * c + k) = value;
        }
      }
  }
  if (inducing_)
    for (Index i = 0; i < few; ++i) {
      JointInducing::Rows one;
      const Index row = subset[static_cast<std::size_t>(i)];
      for (const Matrix& panel : seen_.panels) {
        const Index each = panel.cols() / rows();
        one.panels.emplace_back(panel.middleCols(row * each, each));
      }
      one.variance = seen_.variance.row(row);
      const Matrix own = inducing_->matrix(one);
      parallel_blocks(c, 1, threads_, [&](Index k, Index /*end*/) {
        with.row(i * c + k) -= inducing_->times(seen_, own.row(k).transpose()).transpose();
      });
    }
  const double scale = static_cast<double>(rows()) / static_cast<double>(few);
  Vector out(all);
  constexpr Index piece = 256;
  parallel_blocks(all, piece, threads_, [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) {
      const double prior = prior_variance_(j / c, prior_variance_.cols() == 1 ? 0 : j % c) *
                           (prior_variance_.cols() == 1 ? latent_covariance_(j % c, j % c) : 1.0);
      out(j) = left_(j) > dependent_share(rows()) * prior ? best(subset, with.col(j) / std::sqrt(left_(j)), scale).gain
                                                          : 0.0;
    }
  });
  return out;
}

InducingScores::Candidate InducingScores::score(const InducingSite& site) const {
  const auto [column, left] = residual_column(site);
  const bool own = prior_variance_.cols() > 1;
  const double prior = own ? prior_variance_(site.first, site.second)
                           : prior_variance_(site.first, 0) * latent_covariance_(site.second, site.second);
  Candidate out{site, {}};
  if (!(left > dependent_share(rows()) * prior)) return out;
  out.column = column / std::sqrt(left);
  const Gain gain = best(all_, out.column, 1.0);
  out.mean = gain.mean;
  out.variance = gain.variance;
  out.gain = gain.gain;
  return out;
}

void InducingScores::take(const Candidate& candidate) {
  const Index c = latents();
  const double delta = 1.0 - candidate.variance;
  for (Index n = 0; n < rows(); ++n) {
    const Vector w = candidate.column.segment(n * c, c);
    Eigen::Map<Matrix> inverse(covariance_.data() + n * c * c, c, c);
    const Vector moved = inverse * w;
    const double rest = std::max(1e-12, 1.0 - delta * w.dot(moved));
    inverse += (delta / rest) * moved * moved.transpose();
    weights_.col(n).array() *= (candidate.mean * w.array()).exp();
    weights_.col(n) /= weights_.col(n).sum();
  }
  taken_.push_back(candidate);
}

}  // namespace gaussmith
