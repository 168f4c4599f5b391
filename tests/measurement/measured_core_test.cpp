// The core of measured weights against the general forms on the stacked rows, which share no code with it.

#include "measurement/measured_core.hpp"

#include "gaussian/precision_core.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "linalg/blas_threads.hpp"
#include "measurement/measured_fit.hpp"
#include "measurement/operator_entries.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace gaussmith {
namespace {

Matrix normals(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed);
  Matrix out(rows, cols);
  for (double& x : out.reshaped()) x = random.normal();
  return out;
}

struct Case {
  std::string name;
  Model model;
  Index measurements;
};

Model sparse_signal(const Prior& prior, const Design& design, Index rows, const char* likelihood = "laplace") {
  const SiteArguments arguments = std::string(likelihood) == "laplace"
                                      ? SiteArguments{{"scale", one(0.4)}}
                                      : SiteArguments{{"nu", one(3.0)}, {"scale", one(0.3)}};
  return {.prior = prior, .design = design, .sites = {observe(likelihood, Vector::Zero(rows), arguments)}};
}

Design image_rows() {
  const Grid grid{.height = 4, .width = 8};
  return with_few_entries(stacked({finite_differences(grid), wavelets(grid, 2)}));
}

std::vector<Case> cases() {
  const Index d = 32;
  std::vector<Case> out;
  out.push_back({"identity, few", sparse_signal(NoGaussian{d}, Identity{}, d), 9});
  out.push_back({"identity, many", sparse_signal(NoGaussian{d}, Identity{}, d), 40});
  out.push_back({"images", sparse_signal(NoGaussian{d}, image_rows(), image_rows().rows()), 9});
  out.push_back({"dense rows", sparse_signal(NoGaussian{d}, normals(50, d, 3), 50), 11});
  out.push_back(
      {"isotropic", sparse_signal(Isotropic{Vector::Constant(d, 0.3), 2.0}, image_rows(), image_rows().rows()), 9});
  out.push_back({"isotropic, few", sparse_signal(Isotropic{Vector::Constant(d, 0.3), 2.0}, Identity{}, d), 9});
  out.push_back({"no measurements", sparse_signal(Isotropic{Vector::Zero(d), 2.0}, Identity{}, d), 0});
  for (Case& c : out) c.model.design = c.model.design.sized(d);
  Case offset = out[2];
  offset.name = "offset";
  offset.model.offset = normals(offset.model.rows(), 1, 8).col(0);
  out.push_back(offset);
  return out;
}

std::shared_ptr<MeasuredRows> measured(Index count, Index d, bool gram = false) {
  auto out = std::make_shared<MeasuredRows>();
  out->rows = normals(d, count, 11).colwise().normalized();
  out->values = normals(count, 1, 12).col(0);
  out->variance = 0.05;
  if (gram) {
    out->gram_rows = count / 2;
    out->gram =
        std::make_shared<Matrix>(out->rows.leftCols(out->gram_rows) * out->rows.leftCols(out->gram_rows).transpose());
  }
  return out;
}

void agrees_with_stacked_rows(const Model& model, Index count) {
  for (const bool gram : {false, true}) {
    const auto rows = measured(count, model.dimension(), gram);
    MeasuredCore core(std::make_shared<PriorGeometry>(model.prior, model.design, 1), model.offset, rows);
    const Model stacked = with_measurements(model, *rows);
    PrecisionCore plain(std::make_shared<PriorGeometry>(stacked.prior, stacked.design, 1), stacked.offset);
    const Index n = model.rows();
    SiteApproximation sites{normals(n, 1, 5).col(0).cwiseAbs2() + Vector::Constant(n, 0.2), normals(n, 1, 6).col(0)};
    SiteApproximation all{Vector::Constant(n + count, 1.0 / rows->variance), Vector(n + count)};
    all.precision.head(n) = sites.precision;
    all.shift << sites.shift, rows->values / rows->variance;
    ASSERT_TRUE(core.set(sites));
    ASSERT_TRUE(plain.set(all));
    const LatentPoint mean = core.GaussianCore::mean();
    const LatentPoint expected = plain.GaussianCore::mean();
    const double size = 1.0 + expected.eta.norm();
    EXPECT_LT((mean.eta - expected.eta.head(n)).norm(), 1e-10 * size);
    EXPECT_LT((core.variances() - plain.variances().head(n)).norm(), 1e-10 * size);
    EXPECT_LT((core.covariance_times(sites.shift) -
               plain.covariance_times((Vector(n + count) << sites.shift, Vector::Zero(count)).finished()).head(n))
                  .norm(),
              1e-10 * size);
    // The log of the integral of prior, measurements and sites' squares: the core's parts hold the measurements.
    const double own = sites.shift.dot(mean.eta) - 0.5 * sites.precision.dot(mean.eta.cwiseAbs2()) -
                       0.5 * core.inner(mean, mean) - core.half_log_det().value;
    const Vector misfit = expected.eta.tail(count) - rows->values;
    const double truth = sites.shift.dot(expected.eta.head(n)) -
                         0.5 * sites.precision.dot(expected.eta.head(n).cwiseAbs2()) -
                         0.5 * misfit.squaredNorm() / rows->variance -
                         0.5 * static_cast<double>(count) * std::log(2.0 * std::numbers::pi * rows->variance) -
                         0.5 * plain.inner(expected, expected) - plain.half_log_det().value;
    EXPECT_NEAR(own, truth, 1e-9 * (1.0 + std::abs(truth)));
    // A Newton step from the centre: its slope is the squared length that both forms give it.
    const LatentPoint from = core.centre();
    const Vector gradient = sites.shift - sites.precision.cwiseProduct(from.eta);
    const LatentPoint arrow{mean.coordinates - from.coordinates, mean.eta - from.eta};
    EXPECT_NEAR(core.slope(from, mean, gradient), core.inner(arrow, arrow) + sites.precision.dot(arrow.eta.cwiseAbs2()),
                1e-8 * size);
    // Its law and its covariance.
    const auto law = core.law(mean);
    const Matrix joint = law->joint_covariance(NewRows{Design(Identity{}).sized(model.dimension())});
    EXPECT_LT((joint - *core.covariance()).norm(), 1e-10 * (1.0 + joint.norm()));
    EXPECT_LT((law->weights().mean - core.weights(mean)).norm(), 1e-10 * size);
    const RoundingError rounding = core.rounding_error(mean);
    EXPECT_LT(rounding.largest_moment(), 1e-6);
    EXPECT_GE(rounding.log_evidence, std::abs(own - truth) * 1e-2);
  }
}

TEST(MeasuredCore, AgreesWithTheStackedRows) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    agrees_with_stacked_rows(c.model, c.measurements);
  }
}

/// Rows of a hundred entries, and a few with so many that they count as dense.
Design scattered_rows(Index d) {
  Random random(4);
  SparseMatrix out(600, d);
  for (Index i = 0; i < out.rows(); ++i) {
    out.startVec(i);
    const double share = i % 100 == 7 ? 0.3 : 100.0 / static_cast<double>(d);
    for (Index j = 0; j < d; ++j)
      if (random.uniform() < share) out.insertBack(i, j) = random.normal();
  }
  out.finalize();
  return {std::move(out)};
}

TEST(MeasuredCore, ThreadsShareItsWorkToTheSameBits) {
  const Index d = 1450;
  const Model model = sparse_signal(Isotropic{Vector::Zero(d), 0.5}, scattered_rows(d), 600);
  const auto rows = measured(20, d, true);
  const SiteApproximation sites{normals(600, 1, 5).col(0).cwiseAbs(), normals(600, 1, 6).col(0)};
  Vector variances;
  for (const int threads : {1, 2, 3}) {
    const BlasThreads blas(threads);
    MeasuredCore core(std::make_shared<PriorGeometry>(model.prior, model.design, threads), {}, rows);
    // The second factorisation takes the room of the first, and what somebody holds of that stays as it is.
    ASSERT_TRUE(core.set({2.0 * sites.precision, sites.shift}));
    const auto held = core.covariance();
    const Matrix copy = *held;
    ASSERT_TRUE(core.set(sites));
    // One thread takes matrices whole, several by tiles that do not depend on their number.
    if (threads <= 2)
      variances = core.variances();
    else
      EXPECT_EQ(core.variances(), variances);
    EXPECT_EQ(*held, copy);
    const Matrix& inverse = *core.covariance();
    const Vector x = normals(d, 1, 9).col(0);
    const Vector y = inverse * x;
    const Vector seen = model.design.times(y, 1);
    const Vector pull = sites.precision.cwiseProduct(seen);
    const Vector back =
        rows->rows * (rows->rows.transpose() * y) / rows->variance + 2.0 * y + model.design.transposed_times(pull, 1);
    EXPECT_LT((back - x).norm(), 1e-9 * x.norm());
    for (const Index n : {3, 7, 599}) {
      const Vector h = model.design.transposed_rows(n, n + 1).col(0);
      EXPECT_NEAR(core.variances()(n), h.dot(inverse * h), 1e-10 * core.variances()(n));
    }
  }
}

TEST(MeasuredCore, TakesNegativePrecisionsWhileTheWholeIsPositive) {
  const Model model = sparse_signal(NoGaussian{12}, Design(Identity{}).sized(12), 12, "student-t");
  const auto rows = measured(3, 12);
  MeasuredCore core(std::make_shared<PriorGeometry>(model.prior, model.design, 1), {}, rows);
  SiteApproximation sites{Vector::Ones(12), Vector::Zero(12)};
  sites.precision(4) = -0.01;
  const Matrix a = rows->rows * rows->rows.transpose() / rows->variance + Matrix(sites.precision.asDiagonal());
  const bool positive = a.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff() > 0.0;
  ASSERT_EQ(core.set(sites), positive);
  ASSERT_TRUE(positive);
  EXPECT_LT((*core.covariance() - a.inverse()).norm(), 1e-9 * a.inverse().norm());
  sites.precision(4) = -100.0;
  EXPECT_FALSE(core.set(sites));
}

TEST(MeasuredCore, WeightsWithNextToNoPrecisionOfTheirOwnLoseNoDigits) {
  const Index d = 30;
  const Model model = sparse_signal(NoGaussian{d}, Design(Identity{}).sized(d), d);
  const auto rows = measured(8, d);
  MeasuredCore core(std::make_shared<PriorGeometry>(model.prior, model.design, 1), {}, rows);
  for (const double tiny : {1e-3, 1e-8, 1e-40, 1e-200}) {
    SiteApproximation sites{Vector::Constant(d, 2.0), Vector::Zero(d)};
    sites.precision(3) = sites.precision(11) = tiny;
    ASSERT_TRUE(core.set(sites));
    const Matrix a = rows->rows * rows->rows.transpose() / rows->variance + Matrix(sites.precision.asDiagonal());
    const Matrix inverse = a.ldlt().solve(Matrix::Identity(d, d));
    EXPECT_LT((core.variances() - inverse.diagonal()).cwiseQuotient(inverse.diagonal()).lpNorm<Eigen::Infinity>(),
              1e-8);
    EXPECT_LT((*core.covariance() - inverse).norm(), 1e-8 * inverse.norm());
    const Vector mean = inverse * (rows->rows * rows->values) / rows->variance;
    const LatentPoint found = static_cast<const GaussianCore&>(core).mean();
    EXPECT_LT((core.weights(found) - mean).norm(), 1e-8 * mean.norm());
  }
}

TEST(MeasuredFit, MeasurementsAreRowsWithGaussianSites) {
  for (const Case& c : cases()) {
    if (c.measurements == 0) continue;
    const auto rows = measured(c.measurements, c.model.dimension());
    for (const Method& method : {Method(Kl{}), Method(Vb{}), Method(Ep{.power = 0.9})}) {
      const MeasuredFit fit = fit_measured(c.model, rows, method, {}, {});
      const Posterior truth = infer(with_measurements(c.model, *rows), method);
      ASSERT_TRUE(truth.report().converged()) << c.name;
      EXPECT_TRUE(fit.posterior->report().converged()) << c.name << ": " << fit.posterior->report().brief();
      EXPECT_NEAR(fit.posterior->log_evidence().value, truth.log_evidence().value,
                  1e-7 * (1.0 + std::abs(truth.log_evidence().value)))
          << c.name;
      const Marginals expected = truth.weights();
      EXPECT_LT((fit.mean - expected.mean).cwiseQuotient(expected.variance.cwiseSqrt()).norm(), 1e-5) << c.name;
      EXPECT_LT((fit.covariance->diagonal() - expected.variance).norm(), 1e-5 * expected.variance.norm()) << c.name;
      if (truth.gradient().contains("prior.variance")) {
        EXPECT_NEAR(fit.posterior->gradient().at("prior.variance"), truth.gradient().at("prior.variance"), 1e-5);
      }
    }
  }
}

TEST(MeasuredFit, AnyPriorAndAnyFamilyServe) {
  const Index d = 12;
  const Matrix root = normals(d, d, 2);
  Model model = sparse_signal(DenseGaussian{Vector::Zero(d), Matrix(root * root.transpose())}, Identity{}, d);
  const auto rows = measured(5, d);
  const MeasuredFit dense = fit_measured(model, rows, Kl{}, {}, {});
  const Posterior truth = infer(with_measurements(model, *rows), Kl{});
  EXPECT_LT((dense.covariance->diagonal() - truth.weights().variance).norm(), 1e-9);
  model.prior = NoGaussian{d};
  const MeasuredFit chevron = fit_measured(model, rows, Kl{.covariance = "chevron:4"}, {}, {});
  EXPECT_LT(chevron.posterior->log_evidence().value,
            fit_measured(model, rows, Kl{}, {}, {}).posterior->log_evidence().value);
  EXPECT_EQ(chevron.covariance->rows(), d);
}

TEST(OperatorEntries, AreThoseOfTheOperator) {
  const Grid grid{.height = 8, .width = 8};
  const Design h = stacked({finite_differences(grid), wavelets(grid, 2)});
  const Design entries = with_few_entries(h);
  EXPECT_EQ(std::string(entries.kind()), "sparse");
  const Matrix x = normals(64, 3, 1);
  EXPECT_LT((entries.times(x) - h.times(x)).norm(), 1e-13 * x.norm());
  const FrequencyMask all = FrequencyMask::Constant(8, 8, true);
  EXPECT_EQ(std::string(with_few_entries(subsampled_fourier(grid, all)).kind()), "dense");
}

}  // namespace
}  // namespace gaussmith
