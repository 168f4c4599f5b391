#include "sampling/few_dimensions.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/dense.hpp"
#include "numerics/special.hpp"
#include "sampling/chains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index most_dimensions = 3;
/// Points below the highest by more than this hold nothing.
constexpr double negligible = 32.0;
/// Where the error is good enough to stop refining.
constexpr double good = 1e-7;

/// The integral of e^f and the moments under it, over a grid.
struct GridSum {
  double log_integral = -std::numeric_limits<double>::infinity();
  Vector mean;
  Matrix square;  // E[x x'].
};

struct Box {
  Vector low, high;
};

/// Points of a grid of `points` a side, the last dimension in the inner loop.
class Grid {
 public:
  Grid(const Box& box, Index points) : low_(box.low), points_(points) {
    step_ = (box.high - box.low) / static_cast<double>(points - 1);
  }
  [[nodiscard]] Index slabs() const { return low_.size() > 1 ? points_ : 1; }
  /// Calls body(x) for the points of a slab of the first dimension; all of them where there is one dimension.
  template <class Body>
  void visit(Index slab, const Body& body) const {
    const Index d = low_.size();
    Vector x = low_;
    Index inner = 1;
    for (Index k = d > 1 ? 1 : 0; k < d; ++k) inner *= points_;
    if (d > 1) x(0) = low_(0) + step_(0) * static_cast<double>(slab);
    for (Index i = 0; i < inner; ++i) {
      Index rest = i;
      for (Index k = d - 1; k >= (d > 1 ? 1 : 0); --k) {
        x(k) = low_(k) + step_(k) * static_cast<double>(rest % points_);
        rest /= points_;
      }
      body(x);
    }
  }
  [[nodiscard]] double volume() const { return step_.prod(); }
  [[nodiscard]] const Vector& step() const { return step_; }

 private:
  Vector low_, step_;
  Index points_;
};

template <class Value>
GridSum sum_over(const Box& box, Index points, int threads, const Value& value) {
  const Grid grid(box, points);
  const Index d = box.low.size();
  std::vector<GridSum> slabs(static_cast<std::size_t>(grid.slabs()));
  parallel_blocks(grid.slabs(), 1, threads, [&](Index slab, Index /*end*/) {
    double unit = -std::numeric_limits<double>::infinity();
    double sum = 0.0;
    Vector mean = Vector::Zero(d);
    Matrix square = Matrix::Zero(d, d);
    grid.visit(slab, [&](const Vector& x) {
      const double f = value(x);
      if (!(f > unit - 745.0)) return;
      if (f > unit) {
        const double factor = std::exp(unit - f);
        sum *= factor;
        mean *= factor;
        square *= factor;
        unit = f;
      }
      const double p = std::exp(f - unit);
      sum += p;
      mean += p * x;
      square.noalias() += p * x * x.transpose();
    });
    GridSum& out = slabs[static_cast<std::size_t>(slab)];
    if (sum > 0.0) out = {unit + std::log(sum), mean / sum, square / sum};
  });
  double most = -std::numeric_limits<double>::infinity();
  for (const GridSum& slab : slabs) most = std::max(most, slab.log_integral);
  GridSum out{most, Vector::Zero(d), Matrix::Zero(d, d)};
  if (!std::isfinite(most)) return out;
  double sum = 0.0;
  for (const GridSum& slab : slabs) {
    const double p = std::exp(slab.log_integral - most);
    if (p == 0.0) continue;
    sum += p;
    out.mean += p * slab.mean;
    out.square += p * slab.square;
  }
  out.mean /= sum;
  out.square /= sum;
  out.log_integral = most + std::log(sum) + std::log(grid.volume());
  return out;
}

/// The part of a box where the value comes within `negligible` of the highest seen; `highest` is raised.
template <class Value>
Box seen_in(const Box& box, Index points, double& highest, const Value& value) {
  const Grid grid(box, points);
  for (Index slab = 0; slab < grid.slabs(); ++slab)
    grid.visit(slab, [&](const Vector& x) { highest = std::max(highest, value(x)); });
  Box out{Vector::Constant(box.low.size(), std::numeric_limits<double>::infinity()),
          Vector::Constant(box.low.size(), -std::numeric_limits<double>::infinity())};
  for (Index slab = 0; slab < grid.slabs(); ++slab)
    grid.visit(slab, [&](const Vector& x) {
      if (value(x) < highest - negligible) return;
      out.low = out.low.cwiseMin(x);
      out.high = out.high.cwiseMax(x);
    });
  out.low -= grid.step();
  out.high += grid.step();
  return out;
}

/// A box that holds all that counts, from one around the reference and one that holds the prior.
template <class Value>
Box find_box(const Box& around, const std::optional<Box>& whole, const Value& value) {
  const Index d = around.low.size();
  const Index points = d == 1 ? 2001 : d == 2 ? 61 : 25;
  double highest = -std::numeric_limits<double>::infinity();
  Box box = around;
  const auto join = [](Box& a, const Box& b) {
    if (!(b.low.array() <= b.high.array()).all()) return;
    a.low = a.low.cwiseMin(b.low);
    a.high = a.high.cwiseMax(b.high);
  };
  // Both scans first, so that they share one highest value.
  static_cast<void>(seen_in(around, points, highest, value));
  if (whole) static_cast<void>(seen_in(*whole, points, highest, value));
  box = seen_in(around, points, highest, value);
  if (whole) join(box, seen_in(*whole, points, highest, value));
  if (!(box.low.array() <= box.high.array()).all()) return around;
  for (int round = 0; round < 30; ++round) {
    const Box before = box;
    const Box seen = seen_in(box, points, highest, value);
    if (!(seen.low.array() <= seen.high.array()).all()) break;
    // What reaches a side of the box goes on beyond it.
    const Vector step = (before.high - before.low) / static_cast<double>(points - 1);
    for (Index k = 0; k < d; ++k) {
      const double width = before.high(k) - before.low(k);
      box.low(k) = seen.low(k) < before.low(k) - 0.5 * step(k) ? before.low(k) - 0.5 * width : seen.low(k);
      box.high(k) = seen.high(k) > before.high(k) + 0.5 * step(k) ? before.high(k) + 0.5 * width : seen.high(k);
    }
    const Vector change = (box.high - box.low).cwiseQuotient(before.high - before.low);
    if (change.minCoeff() > 0.9 && change.maxCoeff() < 1.1) break;
  }
  return box;
}

/// Refines until two step sizes agree, or points run out. `most` bounds the points of a side.
template <class Value>
std::pair<GridSum, double> refine(const Box& box, Index points, Index most, int threads, const Value& value) {
  GridSum coarse = sum_over(box, points, threads, value);
  for (;;) {
    const Index finer = std::min(most, (points * 8) / 5 | 1);
    GridSum fine = sum_over(box, finer, threads, value);
    double error = std::abs(fine.log_integral - coarse.log_integral);
    const Matrix now = fine.square - fine.mean * fine.mean.transpose();
    const Matrix then = coarse.square - coarse.mean * coarse.mean.transpose();
    for (Index k = 0; k < box.low.size(); ++k) {
      error = std::max(error, std::abs(fine.mean(k) - coarse.mean(k)) / std::sqrt(std::max(1e-300, now(k, k))));
      error = std::max(error, 0.5 * std::abs(std::log(now(k, k) / then(k, k))));
    }
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error <= good || finer >= most) return {std::move(fine), error};
    coarse = std::move(fine);
    points = finer;
  }
}

/// A Gaussian N(mean, covariance) of at most three numbers times the sites of a small model.
struct SmallResult {
  double log_evidence, error;
  Vector mean;
  Matrix covariance;
};

/// Student-t rows under a Gaussian: a smooth integral over the logarithms of their precisions.
SmallResult scale_mixture(const Vector& prior_mean, const Matrix& prior, const Vector& y, const Vector& nu,
                          const Vector& scale, int threads) {
  const Index d = y.size();
  // log lambda: from where the gamma's left tail, or its right one, has lost e^-40.
  Box box{Vector(d), Vector(d)};
  for (Index k = 0; k < d; ++k) {
    box.low(k) = -80.0 / nu(k) - 4.0;
    box.high(k) = std::log(1.0 + 2.0 * (40.0 + 2.0 * nu(k)) / nu(k)) + 1.0;
  }
  const auto given = [&](const Vector& log_lambda, Matrix& factor, Vector& pull) {
    factor = prior;
    factor.diagonal().array() += scale.array().square() * (-log_lambda.array()).exp();
    if (!cholesky(factor)) return false;
    pull = y - prior_mean;
    solve_lower(factor, pull);
    return true;
  };
  const auto value = [&](const Vector& log_lambda) {
    Matrix factor;
    Vector pull;
    if (!given(log_lambda, factor, pull)) return -std::numeric_limits<double>::infinity();
    double f = -0.5 * pull.squaredNorm() - half_log_determinant(factor) - static_cast<double>(d) * log_sqrt_two_pi;
    for (Index k = 0; k < d; ++k) {
      const double half = 0.5 * nu(k);
      f += half * std::log(half) - log_gamma(half) + half * (log_lambda(k) - std::exp(log_lambda(k)));
    }
    return f;
  };
  box = find_box(box, std::nullopt, value);
  const auto moments = [&](Index points, SmallResult& out) {
    // Averages of b = M^-1 (y - m), b b' and M^-1, M = prior + diag(scale^2 / lambda).
    const Grid grid(box, points);
    struct Sums {
      double sum = 0.0;
      Vector b;
      Matrix bb, inverse;
    };
    double highest = -std::numeric_limits<double>::infinity();
    for (Index slab = 0; slab < grid.slabs(); ++slab)
      grid.visit(slab, [&](const Vector& x) { highest = std::max(highest, value(x)); });
    std::vector<Sums> slabs(static_cast<std::size_t>(grid.slabs()));
    parallel_blocks(grid.slabs(), 1, threads, [&](Index slab, Index /*end*/) {
      Sums& s = slabs[static_cast<std::size_t>(slab)];
      s.b = Vector::Zero(d);
      s.bb = s.inverse = Matrix::Zero(d, d);
      grid.visit(slab, [&](const Vector& x) {
        const double p = std::exp(value(x) - highest);
        Matrix factor;
        Vector pull;
        if (p == 0.0 || !given(x, factor, pull)) return;
        solve_lower_transposed(factor, pull);
        Matrix inverse = Matrix::Identity(d, d);
        solve_lower(factor, inverse);
        s.sum += p;
        s.b += p * pull;
        s.bb += p * pull * pull.transpose();
        s.inverse += p * inverse.transpose() * inverse;
      });
    });
    Sums all{0.0, Vector::Zero(d), Matrix::Zero(d, d), Matrix::Zero(d, d)};
    for (const Sums& s : slabs) {
      all.sum += s.sum;
      all.b += s.b;
      all.bb += s.bb;
      all.inverse += s.inverse;
    }
    const Vector b = all.b / all.sum;
    out.log_evidence = highest + std::log(all.sum) + std::log(grid.volume());
    out.mean = prior_mean + prior * b;
    out.covariance = prior - prior * (all.inverse / all.sum - (all.bb / all.sum - b * b.transpose())) * prior;
  };
  const Index points = d == 1 ? 401 : d == 2 ? 121 : 61;
  SmallResult coarse{};
  SmallResult fine{};
  moments(points * 2 / 3, coarse);
  moments(points, fine);
  fine.error = std::abs(fine.log_evidence - coarse.log_evidence);
  for (Index k = 0; k < d; ++k) {
    fine.error = std::max(fine.error, std::abs(fine.mean(k) - coarse.mean(k)) / std::sqrt(fine.covariance(k, k)));
    fine.error = std::max(fine.error, 0.5 * std::abs(std::log(fine.covariance(k, k) / coarse.covariance(k, k))));
  }
  return fine;
}

/// Rows of a model that are not Gaussian, and what is said of them.
struct OtherRows {
  std::vector<Index> rows;
  std::vector<Sites> sites;  // One row each.
  Vector weights;
};

std::optional<OtherRows> few_other_rows(const Model& model) {
  OtherRows out;
  std::vector<double> weights;
  Index row = 0;
  for (const Sites& block : model.sites) {
    if (!block->traits().gaussian) {
      if (static_cast<Index>(out.rows.size()) + block->size() > most_dimensions) return std::nullopt;
      for (Index i = 0; i < block->size(); ++i) {
        SiteArguments arguments;
        for (const SiteParameter& p : block->parameters())
          if (p.values.size() > 1) arguments[p.name] = one(p.values(i));
        out.rows.push_back(row + i);
        out.sites.push_back(block->with(one(block->responses()(i)), arguments));
        weights.push_back(model.weights.size() > 0 ? model.weights(row + i) : 1.0);
      }
    }
    row += block->size();
  }
  out.weights = Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size()));
  return out;
}

/// Degrees of freedom and scales where all rows are Student-t or Cauchy and count once.
std::optional<std::pair<Vector, Vector>> student_rows(const OtherRows& rows) {
  const auto count = static_cast<Index>(rows.rows.size());
  std::pair<Vector, Vector> out{Vector::Ones(count), Vector(count)};
  for (Index k = 0; k < count; ++k) {
    const SiteBlock& block = *rows.sites[static_cast<std::size_t>(k)];
    const bool student = block.traits().name == "student-t";
    if ((!student && block.traits().name != "cauchy") || rows.weights(k) != 1.0) return std::nullopt;
    for (const SiteParameter& p : block.parameters()) {
      if (p.name == "nu") out.first(k) = p.values(0);
      if (p.name == "scale") out.second(k) = p.values(0);
    }
  }
  return out;
}

/// Moments of all latents and weights when x, the coordinates of a reference, has this mean and covariance.
void put_moments(const ReferenceGaussian& reference, const Model& model, const Vector& mean, const Matrix& covariance,
                 QuadratureTruth& out) {
  const SamplingSpace& space = reference.space();
  const auto moments = [&](const Vector& centre, const Matrix& root) {
    const Matrix spread = root * covariance;
    return Marginals{centre + root * mean, spread.cwiseProduct(root).rowwise().sum()};
  };
  out.latent = moments(reference.latent_mean(), reference.latent_root());
  if (space.weights_are_latents()) {
    out.weights = out.latent;
    if (model.offset.size() > 0) out.weights.mean -= model.offset;
    return;
  }
  out.weights = moments(reference.weight_mean(), reference.weight_root());
  if (space.unseen_variance().size() > 0) out.weights.variance += space.unseen_variance();
}

/// The moments of x too, where asked for.
std::optional<QuadratureTruth> by_grid(const Model& model, const ReferenceGaussian& reference, int threads,
                                       GridSum* moments = nullptr) {
  const Index d = reference.rank();
  const SiteTotals sites(model);
  const ChainTarget target{&reference, &sites};
  const Matrix& root = reference.latent_root();
  const auto value = [&](const Vector& x) { return target.change(root * x) - 0.5 * x.squaredNorm(); };
  constexpr double reach = 9.0;
  const Box around{Vector::Constant(d, -reach), Vector::Constant(d, reach)};
  std::optional<Box> whole;
  const SamplingSpace& space = reference.space();
  if (space.prior_precision().minCoeff() > 0.0) {
    const Vector centre = reference.coordinates_of(Vector::Zero(d));
    Vector half = Vector::Zero(d);
    for (Index k = 0; k < d; ++k) half += (reference.coordinates_of(Vector::Unit(d, k)) - centre).cwiseAbs2();
    half = reach * half.cwiseSqrt();
    whole = Box{centre - half, centre + half};
  }
  const int used = sites.any_thread() ? threads : 1;
  const Box box = find_box(around, whole, value);
  const Index first = d == 1 ? 201 : d == 2 ? 61 : 31;
  const Index most = d == 1 ? 200001 : d == 2 ? 1201 : 121;
  auto [sum, error] = refine(box, first, most, used, value);
  if (!std::isfinite(sum.log_integral)) return std::nullopt;
  QuadratureTruth out;
  out.log_evidence = reference.log_normaliser() + sum.log_integral - static_cast<double>(d) * log_sqrt_two_pi;
  out.error = error;
  put_moments(reference, model, sum.mean, sum.square - sum.mean * sum.mean.transpose(), out);
  if (moments != nullptr) *moments = std::move(sum);
  return out;
}

}  // namespace

std::optional<QuadratureTruth> integrate_few_dimensions(const Model& model, const ReferenceGaussian& reference,
                                                        int threads) {
  const SamplingSpace& space = reference.space();
  const std::optional<OtherRows> others = space.width() == 1 ? few_other_rows(model) : std::nullopt;
  const bool grid = space.rank() <= most_dimensions;
  if (!others || others->rows.empty()) return grid ? by_grid(model, reference, threads) : std::nullopt;
  const auto student = student_rows(*others);
  if (grid && !student) return by_grid(model, reference, threads);

  // Gaussian rows first: their Gaussian, then what it says of the others.
  SiteApproximation sites{Vector::Zero(space.latents()), Vector::Zero(space.latents())};
  {
    const Vector& at = space.latent_mean();
    Index row = 0;
    for (const Sites& block : model.sites) {
      if (block->traits().gaussian) {
        Vector slope(block->size());
        Vector curvature(block->size());
        const Vector eta = at.segment(row, block->size());
        block->log_density(0, view(eta), {{}, view(slope), view(curvature), {}});
        for (Index i = 0; i < block->size(); ++i) {
          const double weight = model.weights.size() > 0 ? model.weights(row + i) : 1.0;
          sites.precision(row + i) = -weight * curvature(i);
          sites.shift(row + i) = weight * (slope(i) - curvature(i) * eta(i));
        }
      }
      row += block->size();
    }
  }
  const auto gaussian = ReferenceGaussian::make(reference.shared_space(), sites);
  if (!gaussian) return grid ? by_grid(model, reference, threads) : std::nullopt;
  const Matrix root = gaussian->latent_root()(others->rows, Eigen::all);
  const Vector mean = gaussian->latent_mean()(others->rows);
  const Matrix covariance = root * root.transpose();
  Matrix factor = covariance;
  if (!cholesky(factor)) return grid ? by_grid(model, reference, threads) : std::nullopt;

  SmallResult small{};
  if (student) {
    Vector y(mean.size());
    for (Index k = 0; k < y.size(); ++k) y(k) = others->sites[static_cast<std::size_t>(k)]->responses()(0);
    small = scale_mixture(mean, covariance, y, student->first, student->second, threads);
  } else {
    Model rest{
        .prior = DenseGaussian{mean, SharedMatrix(covariance)}, .sites = others->sites, .weights = others->weights};
    const auto rest_space = std::make_shared<const SamplingSpace>(rest);
    // The fit's sites of these rows stand for the fit.
    SiteApproximation of_fit{reference.sites().precision(others->rows), reference.sites().shift(others->rows)};
    auto around = ReferenceGaussian::make(rest_space, of_fit);
    if (!around) around = ReferenceGaussian::prior(rest_space);
    if (!around) return std::nullopt;
    GridSum moments;
    const std::optional<QuadratureTruth> truth = by_grid(rest, *around, threads, &moments);
    if (!truth) return std::nullopt;
    const Matrix& spread = around->latent_root();
    small = {truth->log_evidence, truth->error, truth->latent.mean,
             spread * (moments.square - moments.mean * moments.mean.transpose()) * spread.transpose()};
  }
  // The evidence of the Gaussian rows: their log densities at the mean, and what the prior leaves of it.
  double log_evidence = gaussian->log_normaliser() + small.log_evidence;
  Index row = 0;
  for (const Sites& block : model.sites) {
    if (block->traits().gaussian) {
      Vector value(block->size());
      const Vector eta = gaussian->latent_mean().segment(row, block->size());
      block->log_density(0, view(eta), {view(value), {}, {}, {}});
      for (Index i = 0; i < block->size(); ++i)
        log_evidence += (model.weights.size() > 0 ? model.weights(row + i) : 1.0) * value(i);
    }
    row += block->size();
  }
  QuadratureTruth out;
  out.log_evidence = log_evidence;
  out.error = small.error;
  // x given the others' latents f: E[x] = R'V^-1 (E[f] - m), Cov[x] = I - R'(V^-1 - V^-1 Cov[f] V^-1) R.
  Matrix gain = root;
  solve_lower(factor, gain);
  solve_lower_transposed(factor, gain);  // V^-1 R.
  const Vector x = gain.transpose() * (small.mean - mean);
  const Matrix spread =
      Matrix::Identity(root.cols(), root.cols()) - gain.transpose() * (covariance - small.covariance) * gain;
  put_moments(*gaussian, model, x, spread, out);
  return out;
}

}  // namespace gaussmith
