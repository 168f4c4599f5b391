#include "support/hard_problems.hpp"

#include <array>
#include <cmath>

namespace gaussmith::testing {

namespace {

/// Draws of the shapes these problems need.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  double normal() { return random_.normal(); }
  double poisson(double mean) { return random_.poisson(mean); }
  double between(double low, double high) { return low + (high - low) * random_.uniform(); }
  double log_between(double low, double high) { return low * std::pow(high / low, random_.uniform()); }
  Index count(Index low, Index high) { return low + static_cast<Index>(between(0.0, static_cast<double>(high - low))); }
  bool chance(double probability) { return random_.uniform() < probability; }
  double sign() { return chance(0.5) ? 1.0 : -1.0; }
  Matrix matrix(Index rows, Index cols) {
    return Matrix::NullaryExpr(rows, cols, [this] { return normal(); });
  }

 private:
  Random random_;
};

KernelHandle kernel(Draws& draw, double signal_sd) {
  const char* name = draw.chance(0.5) ? "se" : "matern32";
  return make_kernel(name, {{"signal_sd", {signal_sd}}, {"lengthscale", {draw.log_between(0.3, 2.0)}}});
}

Model process(Matrix inputs, KernelHandle kernel, Sites sites) {
  return {.prior = GaussianProcess{std::move(inputs), std::move(kernel), 0.0},
          .design = Identity{},
          .offset = {},
          .sites = {std::move(sites)}};
}

double wave(const Matrix& inputs, Index row) { return std::sin(2.0 * inputs(row, 0)) + 0.3 * inputs.row(row).sum(); }

Sites heavy_tails(Draws& draw, const Vector& y, bool cauchy) {
  const double scale = draw.log_between(0.03, 0.5);
  if (cauchy) return observe("cauchy", y, {{"scale", one(scale)}});
  return observe("student-t", y, {{"nu", one(static_cast<double>(draw.count(2, 5)))}, {"scale", one(scale)}});
}

Model outliers(Draws& draw, bool cauchy) {
  const Index n = draw.count(20, 61);
  const Matrix inputs = draw.matrix(n, draw.count(1, 3));
  Vector y(n);
  for (Index i = 0; i < n; ++i) {
    y(i) = wave(inputs, i) + 0.1 * draw.normal();
    if (draw.chance(0.15)) y(i) += draw.sign() * draw.log_between(2.0, 100.0);
  }
  return process(inputs, kernel(draw, draw.log_between(0.5, 5.0)), heavy_tails(draw, y, cauchy));
}

Model conflicts(Draws& draw, bool cauchy) {
  const Index pairs = draw.count(8, 21);
  Matrix inputs(2 * pairs, 1);
  Vector y(2 * pairs);
  for (Index i = 0; i < pairs; ++i) {
    inputs(2 * i, 0) = draw.between(-3.0, 3.0);
    inputs(2 * i + 1, 0) = inputs(2 * i, 0) + 0.01 * draw.normal();
    y(2 * i) = wave(inputs, 2 * i) + 0.1 * draw.normal();
    y(2 * i + 1) = y(2 * i) + (draw.chance(0.5) ? draw.sign() * draw.between(1.0, 4.0) : 0.1 * draw.normal());
  }
  return process(inputs, kernel(draw, draw.log_between(0.7, 4.0)), heavy_tails(draw, y, cauchy));
}

Model robust_line(Draws& draw) {
  const Index n = draw.count(20, 61);
  const Index d = draw.count(2, 9);
  const Matrix h = draw.matrix(n, d);
  Vector y = h * draw.matrix(d, 1);
  for (Index i = 0; i < n; ++i) y(i) += draw.chance(0.2) ? 20.0 * draw.normal() : 0.1 * draw.normal();
  return {.prior = Isotropic{Vector::Zero(d), draw.log_between(0.1, 100.0)},
          .design = h,
          .offset = {},
          .sites = {heavy_tails(draw, y, false)}};
}

Sites nearly_separable(Draws& draw, const Vector& score) {
  Vector y(score.size());
  for (Index i = 0; i < y.size(); ++i) y(i) = (score(i) > 0.0) != draw.chance(0.02) ? 1.0 : -1.0;
  return observe(draw.chance(0.5) ? "bernoulli-logit" : "bernoulli-probit", y);
}

Model separable_process(Draws& draw) {
  const Index n = draw.count(20, 61);
  const Matrix inputs = draw.matrix(n, draw.count(1, 3));
  const Vector score = inputs.col(0);
  return process(inputs, kernel(draw, draw.log_between(3.0, 100.0)), nearly_separable(draw, score));
}

Model separable_line(Draws& draw) {
  const Index n = draw.count(20, 81);
  const Index d = draw.count(2, 12);
  const Matrix h = draw.matrix(n, d);
  const double sd = draw.log_between(3.0, 100.0);
  const Vector score = h * draw.matrix(d, 1);
  return {.prior = Isotropic{Vector::Zero(d), sd * sd},
          .design = h,
          .offset = {},
          .sites = {nearly_separable(draw, score)}};
}

/// Gaussian rows, and a sparsity prior on every weight instead of a Gaussian factor.
Model sparse_weights(Draws& draw, bool student) {
  const Index d = draw.count(15, 41);
  const Index n = draw.count(5, d);
  Matrix h(n + d, d);
  h.topRows(n) = draw.matrix(n, d);
  h.bottomRows(d) = Matrix::Identity(d, d);
  Vector w = Vector::Zero(d);
  for (Index j = 0; j < d; ++j)
    if (draw.chance(0.15)) w(j) = 3.0 * draw.normal();
  const double noise = draw.log_between(1e-3, 0.3);
  const Vector y = h.topRows(n) * w + noise * draw.matrix(n, 1);
  const double scale = draw.log_between(0.05, 1.0);
  const Vector zero = Vector::Zero(d);
  const Sites prior = student ? observe("student-t", zero, {{"nu", one(3.0)}, {"scale", one(scale)}})
                              : observe("laplace", zero, {{"scale", one(scale)}});
  return {.prior = NoGaussian{d},
          .design = h,
          .offset = {},
          .sites = {observe("gaussian", y, {{"variance", one(noise * noise)}}), prior}};
}

Model duplicates(Draws& draw) {
  const Index distinct = draw.count(5, 13);
  const Index n = distinct * draw.count(2, 6);
  const Matrix points = draw.matrix(distinct, 2);
  Matrix inputs(n, 2);
  Vector y(n);
  const int kind = static_cast<int>(draw.count(0, 3));
  for (Index i = 0; i < n; ++i) {
    inputs.row(i) = points.row(i % distinct);
    const double f = wave(inputs, i);
    if (kind == 0) y(i) = f + draw.normal() > 0.0 ? 1.0 : -1.0;
    if (kind == 1) y(i) = draw.poisson(std::exp(f));
    if (kind == 2) y(i) = f + (draw.chance(0.2) ? 5.0 : 0.1) * draw.normal();
  }
  const Sites sites = kind == 0   ? observe("bernoulli-logit", y)
                      : kind == 1 ? observe("poisson", y)
                                  : heavy_tails(draw, y, false);
  return process(inputs, kernel(draw, draw.log_between(1.0, 30.0)), sites);
}

Model huge_counts(Draws& draw) {
  const Index n = draw.count(20, 51);
  const Matrix inputs = draw.matrix(n, 1);
  const double level = draw.between(0.0, std::log(1e6) - 2.0);
  Vector y(n);
  for (Index i = 0; i < n; ++i) y(i) = std::min(1e6, draw.poisson(std::exp(level + wave(inputs, i))));
  const Sites sites = draw.chance(0.5) ? observe("poisson", y)
                                       : observe("negative-binomial", y, {{"shape", one(draw.log_between(0.3, 1e4))}});
  return process(inputs, kernel(draw, draw.log_between(1.0, 20.0)), sites);
}

}  // namespace

HardProblem hard_problem(std::uint64_t seed) {
  Draws draw(1000 + seed);
  switch (seed % 10) {
    case 0:
      return {"student-t, gross outliers", outliers(draw, false)};
    case 1:
      return {"student-t, conflicting neighbours", conflicts(draw, false)};
    case 2:
      return {"cauchy, gross outliers", outliers(draw, true)};
    case 3:
      return {"cauchy, conflicting neighbours", conflicts(draw, true)};
    case 4:
      return {"student-t, linear", robust_line(draw)};
    case 5:
      return {"nearly separable process", separable_process(draw)};
    case 6:
      return {"nearly separable, linear", separable_line(draw)};
    case 7:
      return {"sparse weights, N < D", sparse_weights(draw, seed % 20 == 17)};
    case 8:
      return {"duplicate inputs", duplicates(draw)};
    default:
      return {"huge counts", huge_counts(draw)};
  }
}

}  // namespace gaussmith::testing
