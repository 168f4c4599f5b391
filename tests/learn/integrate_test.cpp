#include "gaussmith/integrate.hpp"

#include "gaussmith/errors.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// One axis of a dense grid: places on the logarithm.
struct DenseAxis {
  std::string name;
  double centre, half_width;
  int steps;  ///< On each side.
};

struct DenseAverage {
  Marginals latent, response;
  double log_integral = 0.0;
};

/// The average over a tensor grid of equal steps in log parameters, by nothing but infer() and sums.
DenseAverage dense_average(const Model& model, const Method& method, const LearnOptions& options,
                           const std::vector<DenseAxis>& axes, const PredictionPoints& points) {
  struct Fit {
    double log_weight;
    Vector m, v, y, s;
  };
  std::vector<Fit> fits;
  std::vector<int> at(axes.size(), 0);
  double log_cell = 0.0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    at[i] = -axes[i].steps;
    log_cell += std::log(axes[i].half_width / axes[i].steps);
  }
  for (bool more = true; more;) {
    std::map<std::string, double, std::less<>> values;
    double log_prior = 0.0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double place = axes[i].centre + axes[i].half_width * at[i] / axes[i].steps;
      values[axes[i].name] = std::exp(place);
      if (const auto prior = options.hyperpriors.find(axes[i].name); prior != options.hyperpriors.end()) {
        const double z = (place - std::log(prior->second.median)) / prior->second.sd;
        log_prior += -0.5 * z * z - std::log(prior->second.sd * std::sqrt(2.0 * M_PI));
      }
    }
    const Posterior q = infer(model.with_parameters(values), method);
    if (q.report().converged()) {
      const Prediction p = q.predict(points);
      fits.push_back({q.log_evidence().value + log_prior, p.latent_mean(), p.latent_variance(), p.response_mean(),
                      p.response_variance()});
    }
    more = false;
    for (std::size_t i = 0; i < axes.size() && !more; ++i) {
      if (++at[i] <= axes[i].steps)
        more = true;
      else
        at[i] = -axes[i].steps;
    }
  }
  double largest = -1e300;
  for (const Fit& f : fits) largest = std::max(largest, f.log_weight);
  const Index count = fits.front().m.size();
  double total = 0.0;
  Vector m = Vector::Zero(count), mm = m, v = m, y = m, yy = m, s = m;
  for (const Fit& f : fits) {
    const double w = std::exp(f.log_weight - largest);
    total += w;
    m += w * f.m;
    mm += w * f.m.cwiseAbs2();
    v += w * f.v;
    y += w * f.y;
    yy += w * f.y.cwiseAbs2();
    s += w * f.s;
  }
  m /= total;
  y /= total;
  return {{m, v / total + mm / total - m.cwiseAbs2()},
          {y, s / total + yy / total - y.cwiseAbs2()},
          largest + std::log(total) + log_cell};
}

/// Axes around the learned parameters.
std::vector<DenseAxis> axes_around(const Integrated& integrated, double sds, int steps) {
  std::vector<DenseAxis> axes;
  for (const IntegratedParameter& p : integrated.parameters) axes.push_back({p.name, p.mean, sds * p.sd, steps});
  return axes;
}

/// Errors of means and standard deviations in standard deviations, the largest.
double largest_error(const Vector& mean, const Vector& variance, const Marginals& truth) {
  const Vector sd = truth.variance.cwiseSqrt();
  return std::max((mean - truth.mean).cwiseQuotient(sd).lpNorm<Eigen::Infinity>(),
                  (variance.cwiseSqrt() - sd).cwiseQuotient(sd).lpNorm<Eigen::Infinity>());
}

struct Case {
  std::string name;
  Model model;
  Method method;
  LearnOptions learning;
  PredictionPoints points;
  double sds;
  int steps;
};

Model regression(Index n, std::uint64_t seed) {
  const Matrix x = random_matrix(n, 2, seed);
  const Vector y = (1.3 * x.col(0)).array().sin() + 0.5 * x.col(1).array() + 0.3 * random_vector(n, seed + 1).array();
  return {.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {1.0, 1.0}}}), 0.0},
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", y, {{"variance", one(0.2)}})}};
}

Case one_parameter() {
  const Model model = linear_model("poisson", 30, 4, 3);
  PredictionPoints points;
  points.design = random_matrix(5, 4, 11);
  return {"one", model, Laplace{}, {.hyperpriors = {{"prior.variance", {1.0, 1.5}}}}, points, 8.0, 200};
}

Case two_parameters() {
  Matrix x = 2.0 * random_matrix(40, 1, 5);
  const Vector y = (x.col(0).array().sin() + 0.6 * random_vector(40, 6).array()).sign();
  const Model model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {1.0}}}), 0.0},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("bernoulli-probit", y)}};
  PredictionPoints points;
  points.inputs = 3.0 * random_matrix(6, 1, 7);
  return {
      "two",  model, Laplace{}, {.hyperpriors = {{"kernel.signal_sd", {1.0, 1.0}}, {"kernel.lengthscale", {1.0, 1.0}}}},
      points, 6.0,   30};
}

Case four_parameters(Index rows) {
  PredictionPoints points;
  points.inputs = 1.5 * random_matrix(6, 2, 9);
  return {"four",
          regression(rows, 2),
          Exact{},
          {.hyperpriors = {{"kernel.signal_sd", {1.0, 1.0}},
                           {"kernel.lengthscale[0]", {1.0, 1.0}},
                           {"kernel.lengthscale[1]", {1.0, 1.0}},
                           {"sites[0].variance", {0.2, 1.0}}}},
          points,
          rows < 30 ? 5.5 : 5.0,
          8};
}

/// The contract: predictive means and standard deviations as a dense grid has them, to 1e-3 standard deviations.
void expect_dense(const Case& c) {
  const Learned learned = learn(c.model, c.method, c.learning);
  const Integrated integrated = integrate(learned, {.learning = c.learning});
  const DenseAverage truth =
      dense_average(c.model, c.method, c.learning, axes_around(integrated, c.sds, c.steps), c.points);
  const Prediction p = integrated.predict(c.points);
  EXPECT_LT(largest_error(p.latent_mean(), p.latent_variance(), truth.latent), 1e-3);
  EXPECT_LT(largest_error(p.response_mean(), p.response_variance(), truth.response), 1e-3);
  EXPECT_NEAR(integrated.log_evidence, truth.log_integral, 1e-3);
  EXPECT_TRUE(integrated.report.proper);
  EXPECT_EQ(integrated.report.failed, 0);
  // The point estimate is nowhere near, or this would show nothing.
  const Prediction at_mode = learned.posterior.predict(c.points);
  EXPECT_GT(largest_error(at_mode.latent_mean(), at_mode.latent_variance(), truth.latent), 0.05);
  // What was announced is about what was done; a quarter of it where more than two parameters are near normal.
  const int announced = integration_fits(c.model, {.learning = c.learning});
  EXPECT_LT(integrated.report.fits, 2 * announced);
  EXPECT_GT((integrated.parameters.size() > 2 ? 5 : 2) * integrated.report.fits, announced);
}

TEST(Integrate, AgreesWithADenseGridOverOneParameter) { expect_dense(one_parameter()); }
TEST(Integrate, AgreesWithADenseGridOverTwoParameters) { expect_dense(two_parameters()); }
TEST(Integrate, AgreesWithADenseGridOverFourParameters) { expect_dense(four_parameters(40)); }
TEST(Integrate, AgreesWithADenseGridFarFromNormal) { expect_dense(four_parameters(20)); }

TEST(Integrate, LooksMoreCloselyWhereThePosteriorIsFarFromNormal) {
  const auto fits = [](const Case& c) {
    return integrate(learn(c.model, c.method, c.learning), {.learning = c.learning}).report.fits;
  };
  EXPECT_GT(fits(four_parameters(20)), 3 * fits(four_parameters(40)));
}

TEST(Integrate, CompositeDesignTakesFarFewerFitsAndMostOfTheError) {
  const Case c = four_parameters(40);
  const Learned learned = learn(c.model, c.method, c.learning);
  const Integrated fine = integrate(learned, {.learning = c.learning});
  const Integrated coarse = integrate(learned, {.learning = c.learning, .design = IntegrationDesign::composite});
  const Prediction truth = fine.predict(c.points);
  const Marginals moments{truth.latent_mean(), truth.latent_variance()};
  const Prediction p = coarse.predict(c.points);
  const Prediction at_mode = learned.posterior.predict(c.points);
  EXPECT_LT(5 * largest_error(p.latent_mean(), p.latent_variance(), moments),
            largest_error(at_mode.latent_mean(), at_mode.latent_variance(), moments));
  EXPECT_LT(5 * coarse.report.fits, fine.report.fits);
  EXPECT_NEAR(coarse.log_evidence, fine.log_evidence, 0.05);
  EXPECT_EQ(coarse.points.size(), 25U);
}

TEST(Integrate, MomentsAreThoseOfTheParts) {
  const Case c = two_parameters();
  const Learned learned = learn(c.model, c.method, c.learning);
  const Integrated integrated = integrate(learned, {.learning = c.learning});
  double total = 0.0, squares = 0.0;
  Vector m = Vector::Zero(40), second = m;
  for (const IntegrationPoint& point : integrated.points) {
    const double w = point.gaussian.weight;
    total += w;
    squares += w * w;
    const Posterior q = infer(c.model.with_parameters(point.gaussian.parameters), c.method);
    m += w * q.latent().mean;
    second += w * (q.latent().variance + q.latent().mean.cwiseAbs2());
  }
  EXPECT_NEAR(total, 1.0, 1e-12);
  EXPECT_NEAR(integrated.report.effective, 1.0 / squares, 1e-9);
  EXPECT_LT((integrated.latent.mean - m).norm(), 1e-5);
  EXPECT_LT((integrated.latent.variance - (second - m.cwiseAbs2())).norm(), 1e-5);
  EXPECT_LT((integrated.weights.mean - integrated.latent.mean).norm(), 1e-10);
  const Prediction rows = integrated.predict_rows();
  EXPECT_LT((rows.latent_mean() - integrated.latent.mean).norm(), 1e-10);
  EXPECT_LT((rows.latent_variance() - integrated.latent.variance).norm(), 1e-10);
}

/// The model without one of its rows.
Model without_row(const Model& model, Index row) {
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Index n = model.rows();
  Matrix x(n - 1, process.inputs.cols());
  Vector y(n - 1);
  for (Index i = 0; i < n - 1; ++i) {
    x.row(i) = process.inputs->row(i + (i >= row ? 1 : 0));
    y(i) = model.sites.front()->responses()(i + (i >= row ? 1 : 0));
  }
  Model out = model;
  out.prior = GaussianProcess{x, process.kernel, process.mean};
  out.sites = {observe("gaussian", y, {{"variance", one(0.2)}})};
  return out;
}

TEST(Integrate, LeavesRowsOutOfTheWeightsOfThePointsToo) {
  // Exact fits: a row left out is the integration of a model that never saw it.
  const Model model = regression(12, 2);
  const LearnOptions learning{
      .fixed = {"kernel.signal_sd", "kernel.lengthscale[1]"},
      .hyperpriors = {{"kernel.lengthscale[0]", {1.0, 1.0}}, {"sites[0].variance", {0.2, 1.0}}}};
  const Learned learned = learn(model, Exact{}, learning);
  const Integrated integrated = integrate(learned, {.learning = learning, .fineness = 2.0, .leave_one_out = true});
  ASSERT_TRUE(integrated.left_out.has_value());
  const LeaveOneOut at_mode = learned.posterior.leave_one_out();
  double farthest = 0.0;
  for (const Index row : {0, 4, 7, 11}) {
    const Integrated rest =
        integrate(learn(without_row(model, row), Exact{}, learning), {.learning = learning, .fineness = 2.0});
    PredictionPoints points;
    points.inputs = std::get<GaussianProcess>(model.prior).inputs->row(row);
    const Prediction p = rest.predict(points);
    const double log_density = p.log_density(model.sites.front()->responses().segment(row, 1))(0);
    const double sd = std::sqrt(p.latent_variance()(0));
    EXPECT_NEAR(integrated.left_out->log_density(row), log_density, 1e-3);
    EXPECT_NEAR(integrated.left_out->latent.mean(row), p.latent_mean()(0), 1e-3 * sd);
    EXPECT_NEAR(std::sqrt(integrated.left_out->latent.variance(row)), sd, 1e-3 * sd);
    farthest = std::max(farthest, std::abs(at_mode.log_density(row) - log_density));
  }
  EXPECT_GT(farthest, 0.05);
  EXPECT_FALSE(integrate(learned, {.learning = learning}).left_out.has_value());
}

TEST(Integrate, CountsFitsThatWereCutOff) {
  // Steps of 0.5 % need thousands of iterations from anywhere but the learned point itself.
  const Case c = two_parameters();
  const Integrated integrated = integrate(learn(c.model, Ep{}, c.learning), {.learning = c.learning});
  EXPECT_EQ(integrated.report.cut_off, 0);
  const Ep slow{.mode = EpMode::parallel, .damping = 0.005, .max_iterations = 20000};
  Learned learned = learn(c.model, slow, c.learning);
  // A warm start at itself makes the learned fit look cheap.
  const Posterior reached = learned.posterior;
  gaussmith::Run warm;
  warm.warm_start = &reached;
  learned.posterior = infer(reached.model(), slow, warm);
  const Integrated cut = integrate(learned, {.learning = c.learning, .max_fits = 20});
  EXPECT_GT(cut.report.cut_off, 0);
  const auto& warnings = cut.report.warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(),
                          [](const std::string& w) { return w.find("cut off at") != std::string::npos; }));
}

TEST(Integrate, ParametersHaveTheirPosterior) {
  // y ~ N(0, v I) with v alone free: the evidence is v^(-n/2) exp(-s / 2v), so that 1 / v is gamma and log v has the
  // moments of a log-gamma variable with shape n/2.
  const Index n = 12;
  const Vector y = random_vector(n, 4);
  const Model model{.prior = Isotropic{Vector::Zero(n), 1e-9},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(1.0)}})}};
  const LearnOptions learning{.fixed = {"prior.variance"}};
  const Integrated integrated = integrate(learn(model, Exact{}, learning), {.learning = learning});
  const double shape = 0.5 * static_cast<double>(n);
  double digamma = -0.57721566490153286, trigamma = M_PI * M_PI / 6.0;
  for (int k = 1; k < 6; ++k) {
    digamma += 1.0 / k;
    trigamma -= 1.0 / (k * k);
  }
  ASSERT_EQ(integrated.parameters.size(), 1U);
  const IntegratedParameter& v = integrated.parameters.front();
  EXPECT_EQ(v.name, "sites[0].variance");
  EXPECT_NEAR(v.mean, std::log(0.5 * y.squaredNorm()) - digamma, 2e-4);
  EXPECT_NEAR(v.sd, std::sqrt(trigamma), 5e-4);
  EXPECT_TRUE(v.identified);
  // 0.5 |y|^2 / v is gamma(6, 1), whose 2.5 and 97.5 % points are 2.201894 and 11.668332.
  EXPECT_NEAR(std::log(v.lower), std::log(0.5 * y.squaredNorm() / 11.668332), 0.03);
  EXPECT_NEAR(std::log(v.upper), std::log(0.5 * y.squaredNorm() / 2.201894), 0.03);
  // The integral over log v: Gamma(n/2) / ((2 pi)^(n/2) (s/2)^(n/2)); no hyperprior makes it an evidence.
  EXPECT_NEAR(integrated.log_evidence,
              std::lgamma(shape) - shape * std::log(2.0 * M_PI) - shape * std::log(0.5 * y.squaredNorm()), 1e-3);
  EXPECT_FALSE(integrated.report.proper);
}

TEST(Integrate, SaysWhichParameterTheBoundsDecide) {
  // Responses without any signal: the length-scale means nothing.
  const Matrix x = random_matrix(25, 1, 3);
  const Model model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {0.3}}, {"lengthscale", {1.0}}}), 0.0},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", random_vector(25, 8), {{"variance", one(1.0)}})}};
  LearnOptions learning{.fixed = {"kernel.signal_sd", "sites[0].variance"}, .default_bounds = {0.01, 100.0}};
  const Integrated flat = integrate(learn(model, Exact{}, learning), {.learning = learning});
  ASSERT_EQ(flat.parameters.size(), 1U);
  EXPECT_FALSE(flat.parameters.front().identified);
  ASSERT_EQ(flat.report.warnings.size(), 1U);
  EXPECT_NE(flat.report.warnings.front().find("kernel.lengthscale is not identified"), std::string::npos);
  EXPECT_GE(flat.parameters.front().lower, 0.01 - 1e-12);
  EXPECT_LE(flat.parameters.front().upper, 100.0 + 1e-9);
  learning.hyperpriors = {{"kernel.lengthscale", {1.0, 0.5}}};
  const Integrated settled = integrate(learn(model, Exact{}, learning), {.learning = learning});
  EXPECT_TRUE(settled.parameters.front().identified);
  EXPECT_TRUE(settled.report.warnings.empty());
}

TEST(Integrate, StartsFromTheBoundWhereTheEvidenceIsHighestThere) {
  // One free variance with a bound below its optimum: the exact average is a one-dimensional integral.
  const Index n = 12;
  const Vector y = 2.0 * random_vector(n, 4);
  const Model model{.prior = Isotropic{Vector::Zero(n), 1e-9},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", y, {{"variance", one(0.5)}})}};
  const LearnOptions learning{.fixed = {"prior.variance"}, .bounds = {{"sites[0].variance", {0.01, 1.0}}}};
  const Integrated integrated = integrate(learn(model, Exact{}, learning), {.learning = learning});
  const double s = y.squaredNorm();
  double mass = 0.0, first = 0.0;
  constexpr int steps = 200000;
  for (int k = 0; k < steps; ++k) {
    const double t = std::log(0.01) * (k + 0.5) / steps;
    const double w = std::exp(-0.5 * static_cast<double>(n) * t - 0.5 * s * std::exp(-t) + 0.5 * s);
    mass += w;
    first += w * t;
  }
  EXPECT_NEAR(integrated.parameters.front().mean, first / mass, 0.03 * std::abs(first / mass));
  EXPECT_FALSE(integrated.parameters.front().identified);
  EXPECT_LE(integrated.parameters.front().upper, 1.0 + 1e-12);
}

TEST(Integrate, StopsAtTheLimitOfFitsAndAtTheCallersWish) {
  const Case c = two_parameters();
  const Learned learned = learn(c.model, c.method, c.learning);
  const Integrated few = integrate(learned, {.learning = c.learning, .max_fits = 30});
  EXPECT_EQ(few.report.fits, 30);
  ASSERT_EQ(few.report.warnings.size(), 1U);
  EXPECT_NE(few.report.warnings.front().find("max_fits"), std::string::npos);
  EXPECT_NEAR(few.parameters.front().mean, integrate(learned, {.learning = c.learning}).parameters.front().mean, 0.1);
  int asked = 0;
  const Integrated stopped =
      integrate(learned, {.learning = c.learning},
                {.progress = [&](const Iteration&) { return ++asked == 25 ? Next::accept : Next::proceed; }});
  EXPECT_EQ(stopped.report.status, Status::stopped);
  EXPECT_EQ(stopped.report.fits, 24);
  EXPECT_THROW(
      (void)integrate(learned, {.learning = c.learning}, {.progress = [](const Iteration&) { return Next::discard; }}),
      Interrupted);
}

TEST(Integrate, TakesNoFreeParametersAndRefusesSenselessOptions) {
  const Case c = one_parameter();
  const LearnOptions fixed{.fixed = {"prior.variance"}};
  const Learned learned = learn(c.model, c.method, fixed);
  const Integrated integrated = integrate(learned, {.learning = fixed});
  ASSERT_EQ(integrated.points.size(), 1U);
  EXPECT_EQ(integrated.report.fits, 0);
  EXPECT_EQ(integrated.log_evidence, learned.posterior.log_evidence().value);
  EXPECT_EQ(integrated.latent.mean, learned.posterior.latent().mean);
  EXPECT_EQ(integration_fits(c.model, {.learning = fixed}), 0);
  EXPECT_THROW((void)integrate(learned, {.fineness = 0.0}), InvalidOption);
  EXPECT_THROW((void)integrate(learned, {.max_fits = 0}), InvalidOption);
  EXPECT_THROW((void)integration_fits(c.model, {.design = IntegrationDesign::composite, .max_fits = 5}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
