// The duality gap of kl against the upper bound computed from its definition, and around the optimum at every step.

#include "engines/duality_gap.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

const std::vector<std::string>& concave_likelihoods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const std::string& name : all_likelihoods())
      if (likelihood_info(name).traits.log_concave) out.push_back(name);
    return out;
  }();
  return names;
}

/// A linear model or a process with blocks of several likelihoods; some processes have inputs that repeat one another.
Model mixed_model(std::uint64_t seed, bool linear) {
  const auto& names = concave_likelihoods();
  const Index each = 3;
  const Index blocks = 4;
  const Index rows = each * blocks;
  Random random(seed);
  Model model = linear ? linear_model("gaussian", rows, 3 + static_cast<Index>(seed % 3), seed)
                       : process_model("gaussian", rows, seed);
  if (!linear && seed % 4 == 1) {
    auto& process = std::get<GaussianProcess>(model.prior);
    Matrix inputs = process.inputs;
    inputs.bottomRows(2) = inputs.topRows(2).eval();
    process.inputs = std::move(inputs);
  }
  model.sites.clear();
  for (Index b = 0; b < blocks; ++b)
    model.sites.push_back(
        random_sites(names[static_cast<std::size_t>(random.uniform() * 0.9999 * static_cast<double>(names.size()))],
                     each, seed * 10 + static_cast<std::uint64_t>(b)));
  if (seed % 5 == 0) {
    model.weights = Vector::Ones(rows);
    for (Index n = 0; n < rows; n += 2) model.weights(n) = 0.5 + 2.0 * random.uniform();
  }
  if (seed % 3 == 0) model.offset = 0.3 * random_vector(rows, seed + 7);
  return model;
}

bool has_laplace(const Model& model) {
  return std::any_of(model.sites.begin(), model.sites.end(),
                     [](const Sites& block) { return block->traits().name == "laplace"; });
}

/// -E[log t] under N(m, s^2) of one row.
double negative_expectation(const SiteBlock& block, Index row, double m, double s) {
  const double v = s * s;
  double value = 0.0;
  block.expectation(row, {&m, 1}, {&v, 1}, {{&value, 1}, {}, {}});
  return -value;
}

/// sup over m and s of a m + r s - f, by a compass that turns its needle to what worked; no derivatives.
double searched_conjugate(const SiteBlock& block, Index row, double a, double r, double m, double s) {
  const auto g = [&](double x, double y) { return a * x + r * y - negative_expectation(block, row, x, std::abs(y)); };
  double best = g(m, s);
  double step = 0.5 * s;
  while (step > 1e-9 * (1.0 + std::abs(m))) {
    bool moved = false;
    for (int k = 0; k < 16; ++k) {
      const double angle = k * 3.14159265358979 / 8.0;
      const double x = m + step * std::cos(angle);
      const double y = s + step * std::sin(angle);
      if (const double value = g(x, y); value > best) {
        best = value;
        m = x;
        s = y;
        moved = true;
        break;
      }
    }
    step *= moved ? 1.3 : 0.5;
  }
  return best;
}

TEST(DualityGap, HoldsTheOptimumAtEveryStep) {
  const auto seeds = static_cast<std::uint64_t>(repetitions(200));
  int certified = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Model model = mixed_model(seed, seed % 2 == 0);
    const Posterior q = infer(model, Kl{.covariance = "full", .tolerance = 1e-9}, {.every_gap = true});
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    const double optimum = q.log_evidence().value;
    const double rounding = 1e-10 * (1.0 + std::abs(optimum));
    for (const Iteration& step : q.report().history) {
      EXPECT_LE(step.objective, optimum + rounding);
      if (!step.duality_gap) continue;
      ++certified;
      EXPECT_GE(*step.duality_gap, 0.0);
      EXPECT_GE(step.objective + *step.duality_gap, optimum - rounding);
    }
    ASSERT_TRUE(q.report().duality_gap.has_value());
    EXPECT_LE(*q.report().duality_gap, has_laplace(model) ? 12 * 1e-9 + 1e-9 : 1e-9);
    EXPECT_LE(q.report().duality_gap_rows.size(), 5U);
  }
  EXPECT_GT(certified, 3 * static_cast<int>(seeds));
}

/// Any point: perturbed precisions, and the mean that some shifts give.
KlPoint perturbed_point(GaussianCore& core, const SiteRows& sites, std::uint64_t seed) {
  KlPoint point;
  const KlStart start = independent_start(core, sites, core.centre());
  point.precision = start.precision.cwiseProduct((0.1 * random_vector(core.rows(), seed)).array().exp().matrix());
  if (!core.set({point.precision, Vector::Zero(core.rows())})) throw InvalidModel("no Gaussian to start from");
  point.variance = core.variances();
  Vector d_mean;
  sites.expectation(core.centre().eta, point.variance, nullptr, &d_mean);
  const LatentPoint at = core.mean(0.9 * d_mean + point.precision.cwiseProduct(core.centre().eta));
  point.mean = smoothed_point(core, sites, point.variance, at);
  point.bound = point.mean.objective - core.half_log_det().value + 0.5 * point.precision.dot(point.variance);
  return point;
}

/// f* of a Laplace row, a cone: alpha y + log t(y), its value at the tip, for |alpha| <= 1/b and
/// rho <= (2/b) phi(z) with Phi(z) = (1 + b alpha)/2; elsewhere infinite.
double cone_conjugate(double alpha, double rho, double y, double scale) {
  if (!(std::abs(alpha) * scale < 1.0)) return HUGE_VAL;
  double low = -9.0;
  double high = 9.0;
  for (int i = 0; i < 60; ++i) {
    const double z = 0.5 * (low + high);
    (std::erfc(-z / std::numbers::sqrt2) < 1.0 + scale * alpha ? low : high) = z;
  }
  const double limit = 2.0 / scale * std::exp(-0.5 * low * low) / std::sqrt(2.0 * std::numbers::pi);
  return rho < limit ? alpha * y - std::log(2.0 * scale) : HUGE_VAL;
}

/// sum f*(alpha, lambda s) by search from the moments of the point, cones in closed form.
double searched_conjugates(const Model& model, const KlPoint& point, const Vector& alpha, const Vector& variance) {
  double sum = 0.0;
  Index row = 0;
  for (const Sites& block : model.sites)
    for (Index i = 0; i < block->size(); ++i, ++row) {
      const double deviation = std::sqrt(variance(row));
      if (block->traits().name == "laplace") {
        const double scale = 0.6;  // Of random_sites().
        sum += cone_conjugate(alpha(row), point.precision(row) * deviation, block->responses()(i), scale);
      } else {
        sum += searched_conjugate(*block, i, alpha(row), point.precision(row) * deviation, point.mean.at.eta(row),
                                  deviation);
      }
    }
  return sum;
}

TEST(DualityGap, IsTheUpperBoundLessTheBound) {
  // Away from the optimum, where nothing is small.
  int finite = 0;
  for (std::uint64_t seed = 1; seed < 13; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Model model = linear_model("gaussian", 8, 8, seed);
    if (seed % 2 == 0)
      model.sites = {random_sites("poisson", 3, seed), random_sites("bernoulli-logit", 3, seed + 1),
                     random_sites("gamma", 2, seed + 2)};
    else
      model.sites = {random_sites("laplace", 3, seed), random_sites("bernoulli-probit", 3, seed + 1),
                     random_sites("negative-binomial", 2, seed + 2)};
    const SiteRows sites(model, 1);
    const auto core = make_core(model, CoreForm::covariance, 1);
    const auto& prior = std::get<Isotropic>(model.prior);
    const auto& h = *model.design.entries().dense;
    const Matrix k = prior.variance * h * h.transpose();
    const Vector mean = core->prior_mean();
    const Index rows = model.rows();
    const KlPoint point = perturbed_point(*core, sites, seed + 20);
    const DualityGap gap = duality_gap(*core, sites, point);

    // The same alpha and lambda, with nothing of the core: U from dense algebra and conjugates by search.
    const Matrix t = Matrix(point.precision.asDiagonal());
    const Matrix inner = Matrix::Identity(rows, rows) + dense_product(k, t);
    const Vector shift = point.mean.d_mean + point.precision.cwiseProduct(point.mean.at.eta);
    const Vector next = mean + dense_solve(inner, dense_product(k, shift - point.precision.cwiseProduct(mean)));
    const Vector alpha = -(shift - point.precision.cwiseProduct(next));
    const Vector variance = dense_product(dense_inverse(inner), k).diagonal();
    const double upper = 0.5 * alpha.dot(k * alpha) - mean.dot(alpha) - 0.5 * std::log(dense_determinant(inner)) -
                         0.5 * point.precision.dot(variance) + searched_conjugates(model, point, alpha, variance);
    // Outside the domain the gap is that of a smaller lambda.
    if (!std::isfinite(upper)) continue;
    ++finite;
    EXPECT_NEAR(gap.value, upper - point.bound, 1e-9 * (1.0 + std::abs(upper)));
    EXPECT_GT(gap.value, 1e-6);
  }
  EXPECT_GE(finite, 9);
}

TEST(DualityGap, IsTheUpperBoundLessTheBoundWithoutGaussianFactor) {
  int finite = 0;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Index dimension = 3;
    Model model = linear_model("poisson", 12, dimension, seed);
    model.prior = NoGaussian{dimension};
    model.sites = {random_sites("poisson", 6, seed), random_sites("gaussian", 6, seed + 1)};
    const SiteRows sites(model, 1);
    const auto core = make_core(model, CoreForm::precision, 1);
    const auto& h = *model.design.entries().dense;
    const KlPoint point = perturbed_point(*core, sites, seed + 20);
    const DualityGap gap = duality_gap(*core, sites, point);
    if (!std::isfinite(gap.value)) continue;
    ++finite;

    // sup over q of its entropy less alpha'eta less sum rho s, with H'alpha = 0, is at V = (H'LH)^-1.
    const Matrix v = dense_inverse(dense_transposed_product(h, point.precision.asDiagonal() * h));
    const Vector shift = point.mean.d_mean + point.precision.cwiseProduct(point.mean.at.eta - model.offset);
    const Vector next = h * (v * (h.transpose() * shift));
    const Vector alpha = point.precision.cwiseProduct(next) - shift;
    ASSERT_LT((h.transpose() * alpha).lpNorm<Eigen::Infinity>(), 1e-9);
    const Vector variance = (h * v * h.transpose()).diagonal();
    const double entropy = 0.5 * std::log(dense_determinant(v)) +
                           0.5 * static_cast<double>(dimension) * (1.0 + std::log(2.0 * std::numbers::pi));
    const double bound = entropy + point.mean.objective;
    const double upper = entropy - alpha.dot(model.offset) - point.precision.dot(variance) +
                         searched_conjugates(model, point, alpha, variance);
    EXPECT_NEAR(gap.value, upper - bound, 1e-9 * (1.0 + std::abs(upper)));
    EXPECT_GT(gap.value, 1e-6);
  }
  EXPECT_GE(finite, 6);
}

TEST(DualityGap, ConjugatesOfEverySite) {
  const Index rows = 8;
  for (const std::string& name : concave_likelihoods()) {
    SCOPED_TRACE(name);
    const Sites block = random_sites(name, rows, 3);
    // Slopes of f at these moments, where f* is attained: a m + r s - f.
    const Vector mean = random_vector(rows, 4);
    const Vector deviation = random_vector(rows, 5).array().exp();
    const Vector variance = deviation.cwiseAbs2();
    Vector value(rows), d_mean(rows), d_variance(rows);
    block->expectation(0, view(mean), view(variance), {view(value), view(d_mean), view(d_variance)});
    const Vector slope = -d_mean;
    // Slopes of cones lie on the boundary of the domain, and rounding has them outside.
    const Vector growth = -2.0 * (1.0 - 1e-12) * deviation.cwiseProduct(d_variance);
    const Vector near_mean = mean.array() + 0.1;
    const Vector near_deviation = 1.2 * deviation;
    Vector found(rows), best_mean(rows), best_deviation(rows), limit(rows);
    const auto conjugate = [&](const Vector& r) {
      block->conjugate(0, view(slope), view(r), view(near_mean), view(near_deviation),
                       {view(found), view(best_mean), view(best_deviation)});
    };
    conjugate(growth);
    const Vector expected = slope.cwiseProduct(mean) + growth.cwiseProduct(deviation) + value;
    for (Index n = 0; n < rows; ++n) EXPECT_NEAR(found(n), expected(n), 1e-9 * (1.0 + std::abs(expected(n)))) << n;
    // Inside the domain, and beyond its boundary where that is known.
    block->conjugate_limit(0, view(slope), view(limit));
    for (Index n = 0; n < rows; ++n) EXPECT_LE(growth(n), limit(n) * (1.0 + 1e-9)) << n;
    const Vector beyond = 1.02 * limit.cwiseMin(1e6);
    conjugate(beyond);
    for (Index n = 0; n < rows; ++n) {
      if (std::isfinite(limit(n))) {
        EXPECT_FALSE(std::isfinite(found(n))) << n;
      }
    }
  }
}

TEST(DualityGap, EveryFormAndNoGaussianFactor) {
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision, CoreForm::sparse}) {
    const Posterior q = infer(linear_model("bernoulli-logit", 30, 4, 3), Kl{}, {.form = form});
    ASSERT_TRUE(q.report().duality_gap.has_value());
    EXPECT_LE(*q.report().duality_gap, 1e-10);
  }
  Model none = linear_model("poisson", 20, 3, 5);
  none.prior = NoGaussian{3};
  const Posterior q = infer(none, Kl{});
  ASSERT_TRUE(q.report().duality_gap.has_value());
  EXPECT_LE(*q.report().duality_gap, 1e-10);
}

TEST(DualityGap, ThroughInducingVariables) {
  Model model = process_model("bernoulli-probit", 40, 3);
  auto& process = std::get<GaussianProcess>(model.prior);
  process.inducing = Inducing{.inputs = Matrix(random_matrix(10, 2, 11))};
  const Posterior q = infer(model, Kl{.tolerance = 1e-9});
  ASSERT_TRUE(q.report().converged());
  ASSERT_TRUE(q.report().duality_gap.has_value());
  EXPECT_LE(*q.report().duality_gap, 1e-10);
  for (const Iteration& step : q.report().history)
    if (step.duality_gap) {
      EXPECT_GE(step.objective + *step.duality_gap, q.log_evidence().value - 1e-9);
    }
}

TEST(DualityGap, OnTheWayOnlyForTheAsking) {
  const Model model = process_model("bernoulli-logit", 40, 9);
  const auto look = [](const Iteration&) { return Next::proceed; };
  const Posterior watched = infer(model, Kl{}, {.progress = look});
  const Posterior asked = infer(model, Kl{}, {.progress = look, .every_gap = true});
  const auto& quiet = watched.report().history;
  for (std::size_t i = 0; i + 1 < quiet.size(); ++i) EXPECT_FALSE(quiet[i].duality_gap.has_value());
  EXPECT_TRUE(quiet.back().duality_gap.has_value());
  EXPECT_TRUE(asked.report().history[asked.report().history.size() - 2].duality_gap.has_value());
  EXPECT_EQ(watched.log_evidence().value, asked.log_evidence().value);
  // The last step has one wherever it is.
  const auto stop = [](const Iteration& step) { return step.residual < 0.1 ? Next::accept : Next::proceed; };
  const Posterior stopped = infer(model, Kl{}, {.progress = stop});
  ASSERT_EQ(stopped.report().status, Status::stopped);
  ASSERT_TRUE(stopped.report().duality_gap.has_value());
  EXPECT_EQ(stopped.report().history.back().duality_gap, stopped.report().duality_gap);
  EXPECT_GE(stopped.log_evidence().value + *stopped.report().duality_gap, asked.log_evidence().value - 1e-10);
}

TEST(DualityGap, EndsTheSearch) {
  const Model model = process_model("bernoulli-logit", 60, 9);
  const Posterior best = infer(model, Kl{});
  const Posterior q = infer(model, Kl{.stop = KlStop::gap, .gap_tolerance = 1e-2});
  ASSERT_TRUE(q.report().converged());
  ASSERT_LE(*q.report().duality_gap, 1e-2);
  EXPECT_LT(q.report().iterations, best.report().iterations);
  EXPECT_LE(best.log_evidence().value - q.log_evidence().value, *q.report().duality_gap);
  EXPECT_GE(q.log_evidence().numerical_error, *q.report().duality_gap);
}

TEST(DualityGap, SaysWhyThereIsNone) {
  const Posterior heavy = infer(linear_model("student-t", 12, 2, 1), Kl{.starts = 1});
  EXPECT_FALSE(heavy.report().duality_gap.has_value());
  EXPECT_TRUE(std::any_of(heavy.report().notes.begin(), heavy.report().notes.end(),
                          [](const std::string& note) { return note.find("student-t") != std::string::npos; }));
  EXPECT_THROW((void)infer(linear_model("student-t", 12, 2, 1), Kl{.stop = KlStop::gap}), InvalidOption);
  const Posterior narrow = infer(linear_model("poisson", 12, 3, 1), Kl{.covariance = "diagonal"});
  EXPECT_FALSE(narrow.report().duality_gap.has_value());
  EXPECT_THROW((void)infer(linear_model("poisson", 12, 3, 1), Kl{.covariance = "diagonal", .stop = KlStop::gap}),
               InvalidOption);
}

}  // namespace
}  // namespace gaussmith
