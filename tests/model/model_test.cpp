#include "gaussmith/model.hpp"
#include "gaussmith/errors.hpp"

#include "base/parallel_blocks.hpp"
#include "model/site_rows.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

namespace gaussmith {
namespace {

Model small() {
  return Model{.prior = Isotropic{Vector::Zero(2), 1.0},
               .design = Matrix(Matrix::Ones(3, 2)),
               .offset = {},
               .sites = {observe("gaussian", Vector::Zero(3), {{"variance", one(0.5)}})}};
}

/// The one line of the exception that validate() throws.
std::string complaint(const Model& model) {
  try {
    model.validate();
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "";
}

TEST(Model, ComplainsWithPlaceAndValue) {
  EXPECT_EQ(complaint(small()), "");
  Model m = small();
  m.prior = Isotropic{Vector::Zero(2), 0.0};
  EXPECT_NE(complaint(m).find("prior.variance"), std::string::npos);
  m.prior = Isotropic{Vector::Zero(3), 1.0};
  EXPECT_NE(complaint(m).find("2 columns"), std::string::npos);
  m.prior = Isotropic{Vector(), 1.0};
  EXPECT_NE(complaint(m).find("dimension 0"), std::string::npos);
  m.prior = Isotropic{Vector::Constant(2, std::nan("")), 1.0};
  EXPECT_NE(complaint(m).find("prior.mean[0]"), std::string::npos);
  m.prior = Diagonal{Vector::Zero(2), Vector::Zero(2)};
  EXPECT_NE(complaint(m).find("prior.variance[0]"), std::string::npos);
  m.prior = Diagonal{Vector::Zero(2), Vector::Ones(3)};
  EXPECT_NE(complaint(m).find("3 entries"), std::string::npos);
  m.prior = NoGaussian{0};
  EXPECT_NE(complaint(m).find("dimension 0"), std::string::npos);
  m.prior = SparsePrecision{Vector::Zero(2), SparseMatrix(2, 2)};
  EXPECT_NE(complaint(m).find("not positive definite"), std::string::npos);
  m = small();
  m.offset = Vector::Zero(2);
  EXPECT_NE(complaint(m).find("offset has 2"), std::string::npos);
  m = small();
  m.sites.push_back(m.sites[0]);
  EXPECT_NE(complaint(m).find("cover 6 rows"), std::string::npos);
  m.sites.clear();
  EXPECT_NE(complaint(m).find("sites"), std::string::npos);
  m = small();
  Matrix infinite = *m.design.entries().dense;
  infinite(1, 0) = INFINITY;
  m.design = infinite;
  EXPECT_NE(complaint(m).find("design[1][0] is inf"), std::string::npos);
  EXPECT_THROW(Design(std::shared_ptr<const LinearOperator>()), InvalidModel);
}

TEST(Model, AcceptsSingularAndRefusesIndefiniteCovariances) {
  Model m = small();
  m.prior = DenseGaussian{Vector::Zero(2), Matrix::Ones(2, 2)};
  EXPECT_EQ(complaint(m), "");
  Matrix c(2, 2);
  c << 1.0, 2.0, 2.0, 1.0;
  m.prior = DenseGaussian{Vector::Zero(2), c};
  EXPECT_NE(complaint(m).find("not positive semi-definite"), std::string::npos);
  // Small beside the other variance, but negative all the same.
  c << 1e10, 0.0, 0.0, -1.0;
  m.prior = DenseGaussian{Vector::Zero(2), c};
  EXPECT_NE(complaint(m).find("prior.covariance[1][1]"), std::string::npos);
  c << 1.0, 0.5, 0.5, 0.0;
  m.prior = DenseGaussian{Vector::Zero(2), c};
  EXPECT_NE(complaint(m).find("variances is 0"), std::string::npos);
  c << 1.0, 0.5, 0.2, 1.0;
  m.prior = DenseGaussian{Vector::Zero(2), c};
  EXPECT_NE(complaint(m).find("not symmetric"), std::string::npos);
  m.prior = DenseGaussian{Vector::Zero(3), c};
  EXPECT_NE(complaint(m).find("2 x 2"), std::string::npos);
  m.prior = DenseGaussian{Vector::Zero(2), Matrix::Constant(2, 2, std::nan(""))};
  EXPECT_NE(complaint(m).find("finite"), std::string::npos);
}

TEST(Model, ComplainsAboutProcesses) {
  Model m = small();
  m.design = Identity{};
  m.prior = GaussianProcess{Matrix::Zero(3, 2), make_kernel("se", {{"lengthscale", {1, 1, 1}}})};
  EXPECT_NE(complaint(m), "");
  m.prior = GaussianProcess{Matrix::Zero(3, 2), nullptr};
  EXPECT_NE(complaint(m).find("kernel"), std::string::npos);
  m.prior = GaussianProcess{Matrix::Zero(0, 2), make_kernel("se")};
  EXPECT_NE(complaint(m).find("0 x 2"), std::string::npos);
  Matrix inputs = Matrix::Zero(3, 2);
  inputs(2, 1) = std::nan("");
  m.prior = GaussianProcess{inputs, make_kernel("se")};
  EXPECT_NE(complaint(m).find("prior.inputs[2][1]"), std::string::npos);
}

TEST(Model, NamesAndReplacesItsParameters) {
  Model m = small();
  EXPECT_EQ(m.resolve_parameter("likelihood.variance"), "sites[0].variance");
  const Model changed = m.with_parameters({{"likelihood.variance", 2.0}, {"prior.variance", 3.0}});
  for (const Parameter& p : changed.parameters()) EXPECT_EQ(p.value, p.name == "prior.variance" ? 3.0 : 2.0) << p.name;
  EXPECT_THROW((void)m.with_parameters({{"kernel.signal_sd", 1.0}}), InvalidOption);
  EXPECT_THROW((void)m.with_parameters({{"prior.variance", -1.0}}), InvalidModel);
  EXPECT_THROW((void)m.with_parameters({{"likelihood.variance", 0.0}}), InvalidModel);
  m.sites = {observe("gaussian", Vector::Zero(1), {{"variance", one(0.5)}}),
             observe("student-t", Vector::Zero(2), {{"nu", one(4)}, {"scale", one(1)}})};
  EXPECT_THROW((void)m.resolve_parameter("likelihood.scale"), InvalidOption);
  EXPECT_EQ(m.with_parameters({{"sites[1].scale", 0.25}}).sites[1]->parameters().size(), 2u);
  Model process{.prior = GaussianProcess{Matrix::Random(2, 2), make_kernel("se", {{"lengthscale", {1, 2}}})},
                .design = Identity{},
                .offset = {},
                .sites = {observe("poisson", Vector::Ones(2))}};
  EXPECT_EQ(process.with_parameters({{"kernel.lengthscale[1]", 5.0}}).parameters()[2].value, 5.0);
}

TEST(SiteRows, ConcatenateBlocksAndThreadsChangeNothing) {
  const Index n = 3000;
  Vector y = Vector::Zero(n);
  const std::vector<Sites> blocks = {observe("gaussian", y, {{"variance", one(0.5)}}), observe("poisson", y),
                                     observe("student-t", y, {{"nu", one(3)}, {"scale", one(1)}})};
  const Vector eta = Vector::LinSpaced(3 * n, -2, 2);
  const SiteRows one_thread(blocks, 1);
  const SiteRows two_threads(blocks, 2);
  EXPECT_EQ(one_thread.rows(), 3 * n);
  EXPECT_EQ(one_thread.total(eta), two_threads.total(eta));
  Vector value;
  one_thread.log_density(eta, &value);
  EXPECT_NEAR(value(n), -std::exp(eta(n)), 1e-12);
  EXPECT_FALSE(one_thread.all(&SiteTraits::log_concave));
  EXPECT_TRUE(one_thread.all(&SiteTraits::smooth));
}

TEST(ParallelBlocks, CoverEverythingOnceAndRethrow) {
  for (const int threads : {1, 2, 5}) {
    std::vector<int> seen(1003, 0);
    parallel_blocks(1003, 10, threads, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), 1003);
    EXPECT_THROW(parallel_blocks(100, 1, threads, [](Index, Index) { throw InvalidInput("x"); }), InvalidInput);
  }
  EXPECT_GE(resolve_threads(0), 1);
  EXPECT_EQ(resolve_threads(3), 3);
}

TEST(SiteRows, KeepsToTheCallersThreadWhereFunctionsAskForIt) {
  const auto caller = std::this_thread::get_id();
  CustomLikelihood custom;
  custom.any_thread = false;
  std::atomic<int> elsewhere = 0;
  custom.log_density = [&](double eta, double y) {
    if (std::this_thread::get_id() != caller) ++elsewhere;
    return -0.5 * (eta - y) * (eta - y);
  };
  const std::vector<Sites> blocks = {observe("poisson", Vector::Ones(3000)), observe(custom, Vector::Ones(3000))};
  Vector value;
  SiteRows(blocks, 3).log_density(Vector::Zero(6000), &value);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(value(5999), -0.5);
  EXPECT_NEAR(value(0), -1.0, 1e-15);
}

}  // namespace
}  // namespace gaussmith
