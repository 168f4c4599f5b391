// The factors of rows with several latents against textbook formulas of order N C in extended precision.

#include "gaussian/joint_factor.hpp"

#include "gaussian/block_factor.hpp"
#include "gaussian/root_factor.hpp"
#include "gaussian/star_factor.hpp"
#include "linalg/blas_threads.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

using Wide = std::vector<std::vector<long double>>;

Wide zeros(Index rows, Index cols) {
  return Wide(static_cast<std::size_t>(rows), std::vector<long double>(static_cast<std::size_t>(cols), 0));
}

Wide widened(const Matrix& a) {
  Wide out = zeros(a.rows(), a.cols());
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t j = 0; j < out[i].size(); ++j) out[i][j] = a(static_cast<Index>(i), static_cast<Index>(j));
  return out;
}

Matrix narrowed(const Wide& a) {
  Matrix out(static_cast<Index>(a.size()), static_cast<Index>(a.front().size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      out(static_cast<Index>(i), static_cast<Index>(j)) = static_cast<double>(a[i][j]);
  return out;
}

/// x with a x = b by elimination with partial pivoting; `log_det` gets log|a|.
Matrix solution(Wide a, Wide x, double& log_det) {
  const std::size_t n = a.size();
  long double sum = 0;
  for (std::size_t p = 0; p < n; ++p) {
    std::size_t best = p;
    for (std::size_t i = p; i < n; ++i)
      if (std::abs(a[i][p]) > std::abs(a[best][p])) best = i;
    std::swap(a[p], a[best]);
    std::swap(x[p], x[best]);
    sum += std::log(std::abs(a[p][p]));
    for (std::size_t i = 0; i < n; ++i) {
      if (i == p) continue;
      const long double factor = a[i][p] / a[p][p];
      for (std::size_t j = p; j < n; ++j) a[i][j] -= factor * a[p][j];
      for (std::size_t j = 0; j < x[i].size(); ++j) x[i][j] -= factor * x[p][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (long double& value : x[i]) value /= a[i][i];
  log_det = static_cast<double>(sum);
  return narrowed(x);
}

Wide one_plus_product(const Wide& a, const Wide& b) {
  Wide out = a;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) {
      out[i][j] = i == j ? 1 : 0;
      for (std::size_t l = 0; l < a.size(); ++l) out[i][j] += a[i][l] * b[l][j];
    }
  return out;
}

enum class Functions { alike, diagonal, full, singular, one_for_all, own_kernels };
enum class Stars { plain, zeros, extreme };

Matrix latent_covariance(Functions functions, Index count) {
  if (functions == Functions::full) return random_covariance(count, count, 5) + Matrix::Identity(count, count);
  if (functions == Functions::singular) return random_covariance(count, 1, 6);
  if (functions == Functions::one_for_all) return Matrix::Ones(count, count);
  if (functions == Functions::alike) return Matrix::Identity(count, count);
  return Vector(Vector::LinSpaced(count, 0.5, 2.0)).asDiagonal();
}

/// Inputs in one dimension, the last two of them copies of others: K^x is singular.
Matrix inputs_with_copies(Index rows) {
  Matrix x = 2.0 * random_matrix(rows, 1, 11);
  x.bottomRows(2) = x.topRows(2);
  return x;
}

std::shared_ptr<const JointPrior> make_prior(Functions functions, Index count, double variance, const Matrix& inputs) {
  const auto kernel = [&](double lengthscale) {
    return make_kernel("se", {{"signal_sd", {std::sqrt(variance)}}, {"lengthscale", {lengthscale}}});
  };
  Latents latents{.count = count};
  if (functions == Functions::own_kernels) {
    for (Index c = 0; c < count; ++c) latents.kernels.push_back(kernel(0.5 + 0.3 * static_cast<double>(c)));
  } else {
    latents.model = LatentModel::given;
    latents.factor = latent_covariance(functions, count);
  }
  return std::make_shared<const JointPrior>(GaussianProcess{inputs, kernel(1.0)}, Design(Identity{}), latents, 1);
}

/// Few weights under more rows, one of which repeats another.
std::shared_ptr<const JointPrior> make_linear_prior(Functions functions, Index count, double variance, Index rows) {
  Matrix h = random_matrix(rows, 3, 8);
  h.row(rows - 1) = h.row(0);
  Latents latents{.count = count, .model = LatentModel::given};
  latents.factor = latent_covariance(functions, count);
  return std::make_shared<const JointPrior>(Isotropic{Vector::Zero(3), variance}, Design(h), latents, 1);
}

/// K, stacked: of the rows, or between rows and points.
Matrix stacked_covariance(const JointPrior& prior, const std::vector<CrossBlock>& points) {
  const Index c_count = prior.functions();
  const Matrix& first = points.front().covariance;
  Matrix out(first.rows() * c_count, first.cols() * c_count);
  for (Index i = 0; i < first.rows(); ++i)
    for (Index j = 0; j < first.cols(); ++j)
      for (Index c = 0; c < c_count; ++c)
        for (Index d = 0; d < c_count; ++d) {
          const Matrix& k = points[points.size() > 1 ? static_cast<std::size_t>(c) : 0].covariance;
          out(i * c_count + c, j * c_count + d) = k(i, j) * prior.latent_covariance()(c, d);
        }
  return out;
}

/// K^x, or the kernel of one function.
Matrix kernel_of(const JointPrior& prior, Index function) {
  return prior.has_root() ? Matrix(prior.root() * prior.root().transpose()) : prior.kernel(function);
}

Matrix stacked_covariance(const JointPrior& prior) {
  std::vector<CrossBlock> kernels(prior.has_own_kernels() ? static_cast<std::size_t>(prior.functions()) : 1);
  for (std::size_t c = 0; c < kernels.size(); ++c) kernels[c].covariance = kernel_of(prior, static_cast<Index>(c));
  return stacked_covariance(prior, kernels);
}

/// New points: inputs in one dimension, or rows of weights.
std::vector<CrossBlock> new_points(const JointPrior& prior, Index count) {
  if (prior.has_root())
    return prior.cross(NewRows{Design(random_matrix(count, prior.geometry()->dimension(), 31))}, 0, count);
  const Matrix fresh = random_matrix(count, 1, 31);
  return prior.cross(NewInputs{&fresh}, 0, count);
}

/// Sites whose blocks are the C x C matrices of `block`.
SiteApproximation sites_of(Index rows, Index count, const auto& block) {
  SiteApproximation sites{Vector(rows * count * count), random_vector(rows * count, 21), count};
  for (Index n = 0; n < rows; ++n)
    sites.precision.segment(n * count * count, count * count) = Matrix(block(n)).reshaped();
  return sites;
}

SiteApproximation star_sites(Index rows, Index count, Stars kind) {
  Matrix pi = random_matrix(rows, count, 12).cwiseAbs();
  if (kind == Stars::zeros) {
    pi.row(0).setZero();
    pi(1, 0) = 0.0;
    pi.row(2).tail(count - 1).setZero();
  }
  if (kind == Stars::extreme) {
    pi.row(0).setConstant(1e-16);
    pi(0, 0) = 1.0;
    pi.row(1).setConstant(1e-300);
    pi.row(2).setConstant(1e-20);
    pi(2, 1) = 3e-20;
    pi(3, 0) = 1e-12;
    pi.row(4) *= 1e3;
  }
  SiteApproximation sites = sites_of(rows, count, [&](Index n) {
    // Off the diagonal first, and the diagonal as minus their sum: no cancellation.
    const Vector p = pi.row(n);
    Matrix t = Matrix::Zero(count, count);
    if (p.sum() == 0.0) return t;
    t = -(p / p.sum()) * p.transpose();
    t.diagonal().setZero();
    t.diagonal() = -t.rowwise().sum();
    return t;
  });
  sites.star = stacked(pi);
  return sites;
}

/// T, stacked. Stars from pi: their rounded blocks see a common shift, which a large variance does not forgive.
Wide stacked_precision(const SiteApproximation& sites) {
  const std::size_t count = static_cast<std::size_t>(sites.width);
  Wide t = zeros(sites.shift.size(), sites.shift.size());
  for (std::size_t n = 0; n < t.size(); n += count) {
    long double total = 0;
    for (std::size_t c = 0; c < count && sites.star.size() > 0; ++c) total += sites.star(static_cast<Index>(n + c));
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t d = 0; d < count; ++d) {
        if (sites.star.size() == 0) {
          t[n + c][n + d] = sites.precision(static_cast<Index>((n + d) * count + c));
        } else if (c != d && total > 0) {
          const long double link =
              sites.star(static_cast<Index>(n + c)) / total * sites.star(static_cast<Index>(n + d));
          t[n + c][n + d] -= link;
          t[n + c][n + c] += link;
        }
      }
  }
  return t;
}

double largest(const Matrix& a) { return a.cwiseAbs().maxCoeff(); }

void expect_truth(const JointFactor& factor, const Vector& covariances, const JointPrior& prior,
                  const SiteApproximation& sites) {
  const Index c_count = prior.functions();
  const Index rows = prior.rows();
  const Matrix k = stacked_covariance(prior);
  const Wide exact = stacked_precision(sites);
  const Wide moved = one_plus_product(exact, widened(k));
  const Matrix t = narrowed(exact);
  double log_det = 0.0;
  const Matrix p = solution(moved, widened(Matrix::Identity(k.rows(), k.rows())), log_det);
  const Matrix z = solution(moved, exact, log_det);
  const Matrix v = solution(one_plus_product(widened(k), exact), widened(k), log_det);
  const double size = largest(k);
  // Rounding of K's entries alone moves I + T K by as much as the second term.
  const double tolerance = 1e-12 + 8.0 * std::numeric_limits<double>::epsilon() * size * largest(t);

  EXPECT_NEAR(factor.half_log_det(), 0.5 * log_det, tolerance * (1.0 + std::abs(log_det)));

  const Vector r = sites.shift;
  EXPECT_LT(largest(stacked(factor.dual(by_function(r, c_count))) - p * r), tolerance * (1.0 + largest(p)));
  // Of a right-hand side that sites can have made, what is left is as good as the answer is large.
  const Vector made = t * r;
  const Vector made_dual = z * r;
  EXPECT_LT(largest(stacked(factor.dual(by_function(made, c_count))) - made_dual),
            tolerance * (largest(z) + largest(made_dual)));

  for (Index n = 0; n < rows; ++n) {
    const Matrix found = covariances.segment(n * c_count * c_count, c_count * c_count).reshaped(c_count, c_count);
    EXPECT_LT(largest(found - v.block(n * c_count, n * c_count, c_count, c_count)), tolerance * size) << "row " << n;
  }

  for (Index f = 0; f < (prior.has_own_kernels() ? c_count : 1); ++f) {
    if (prior.has_root()) break;
    Matrix expected = Matrix::Zero(rows, rows);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < rows; ++j) {
        const auto block = z.block(i * c_count, j * c_count, c_count, c_count);
        expected(i, j) = prior.has_own_kernels() ? block(f, f) : block.cwiseProduct(prior.latent_covariance()).sum();
      }
    const Matrix found = factor.kernel_precision(f).selfadjointView<Eigen::Lower>();
    EXPECT_LT(largest(found - expected), tolerance * (largest(expected) + largest(t))) << "function " << f;
  }
  if (!prior.has_own_kernels()) {
    const Matrix kernel = kernel_of(prior, 0);
    Matrix expected = Matrix::Zero(c_count, c_count);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < rows; ++j) expected += kernel(i, j) * z.block(i * c_count, j * c_count, c_count, c_count);
    EXPECT_LT(largest(factor.latent_traces() - expected), tolerance * (largest(expected) + 1.0));
  }

  const std::vector<CrossBlock> points = new_points(prior, 4);
  const Matrix cross = stacked_covariance(prior, points);
  const Matrix joint = cross.transpose() * z * cross;
  EXPECT_LT(largest(factor.joint_reduction(points) - joint), tolerance * (size + largest(cross) * largest(z * cross)));
  const Vector reductions = factor.reductions(points);
  for (Index m = 0; m < 4; ++m) {
    const Matrix found = reductions.segment(m * c_count * c_count, c_count * c_count).reshaped(c_count, c_count);
    EXPECT_LT(largest(found - joint.block(m * c_count, m * c_count, c_count, c_count)),
              tolerance * (size + largest(cross) * largest(z * cross)));
  }
}

template <class Factor>
void expect_truth(const std::shared_ptr<const JointPrior>& prior, const SiteApproximation& sites) {
  Factor factor(prior);
  ASSERT_TRUE(factor.factorise(sites));
  const Vector covariances = factor.covariances();
  expect_truth(factor, covariances, *prior, sites);
}

constexpr Index row_count = 8;

using StarCase = std::tuple<Functions, Index, double, Stars>;
class StarSites : public ::testing::TestWithParam<StarCase> {};

TEST_P(StarSites, AgreeWithDenseAlgebra) {
  const auto& [functions, count, variance, kind] = GetParam();
  const auto prior = make_prior(functions, count, variance, inputs_with_copies(row_count));
  const SiteApproximation sites = star_sites(row_count, count, kind);
  if (prior->is_independent()) expect_truth<StarFactor>(prior, sites);
  expect_truth<BlockFactor>(prior, sites);
  if (functions != Functions::own_kernels)
    expect_truth<RootFactor>(make_linear_prior(functions, count, variance, row_count), sites);
}

INSTANTIATE_TEST_SUITE_P(All, StarSites,
                         ::testing::Combine(::testing::Values(Functions::alike, Functions::diagonal, Functions::full,
                                                              Functions::singular, Functions::one_for_all,
                                                              Functions::own_kernels),
                                            ::testing::Values<Index>(2, 3, 5), ::testing::Values(1e-6, 1.0, 1e6),
                                            ::testing::Values(Stars::plain, Stars::zeros, Stars::extreme)));

class BlockSites : public ::testing::TestWithParam<std::tuple<Functions, double>> {};

TEST_P(BlockSites, WithoutCommonNullSpaceAgreeWithDenseAlgebra) {
  const auto& [functions, variance] = GetParam();
  for (const Index count : {2, 4}) {
    const auto prior = make_prior(functions, count, variance, inputs_with_copies(row_count));
    expect_truth<BlockFactor>(prior, sites_of(row_count, count, [&](Index n) {
                                return random_covariance(count, n == 0 ? 1 : count, 40 + static_cast<std::uint64_t>(n));
                              }));
  }
}

TEST_P(BlockSites, WithNegativePrecisionsAgreeWithDenseAlgebra) {
  const auto& [functions, variance] = GetParam();
  const auto prior = make_prior(functions, 2, variance, inputs_with_copies(row_count));
  const double weak = -0.02 / variance;
  expect_truth<BlockFactor>(prior, sites_of(row_count, 2, [&](Index n) -> Matrix {
                              Matrix t = random_covariance(2, 2, 50 + static_cast<std::uint64_t>(n));
                              if (n % 3 == 0) t(0, 0) = t(0, 1) = t(1, 0) = 0.0, t(0, 0) = weak;
                              if (n % 3 == 1) t *= weak / largest(t);
                              return t;
                            }));
}

// Contrasts alone, some of them negative.
TEST_P(BlockSites, WithNegativeContrastsAgreeWithDenseAlgebra) {
  const auto& [functions, variance] = GetParam();
  const auto prior = make_prior(functions, 3, variance, inputs_with_copies(row_count));
  const Matrix q = contrasts(3);
  expect_truth<BlockFactor>(prior, sites_of(row_count, 3, [&](Index n) -> Matrix {
                              Matrix t = random_covariance(2, 2, 60 + static_cast<std::uint64_t>(n));
                              if (n % 2 == 0) t *= -0.02 / (variance * largest(t));
                              return q * t * q.transpose();
                            }));
}

INSTANTIATE_TEST_SUITE_P(All, BlockSites,
                         ::testing::Combine(::testing::Values(Functions::alike, Functions::full, Functions::singular,
                                                              Functions::own_kernels),
                                            ::testing::Values(1e-4, 1.0, 1e4)));

TEST(JointFactors, ByARootTakeAnyPrecisions) {
  for (const Functions functions : {Functions::alike, Functions::full, Functions::singular})
    expect_truth<RootFactor>(make_linear_prior(functions, 2, 1.0, row_count),
                             sites_of(row_count, 2, [&](Index n) -> Matrix {
                               const double sign = n % 3 == 0 ? -1e-3 : 1.0;
                               return sign * random_covariance(2, 2, 70 + static_cast<std::uint64_t>(n));
                             }));
}

TEST(JointFactors, AreThereExactlyWhereThePosteriorIsProper) {
  // K = 2 I, so -1/2 is the boundary.
  const auto prior = make_prior(Functions::alike, 2, 2.0, Matrix::Zero(1, 1));
  BlockFactor factor(prior);
  const auto sites = [&](double t) {
    return sites_of(1, 2, [&](Index) { return Matrix(Eigen::Vector2d(1.0, t).asDiagonal()); });
  };
  EXPECT_TRUE(factor.factorise(sites(-0.5 + 1e-9)));
  EXPECT_FALSE(factor.factorise(sites(-0.5 - 1e-9)));
  EXPECT_FALSE(factor.factorise(sites(std::nan(""))));
  StarFactor star(prior);
  SiteApproximation negative = star_sites(1, 2, Stars::plain);
  negative.star(0) = -1e-3;
  EXPECT_FALSE(star.factorise(negative));
  negative.star = {};
  EXPECT_THROW((void)star.factorise(negative), std::logic_error);
}

/// All that a factor says, in one vector.
Vector everything(JointFactor& factor, const JointPrior& prior, const SiteApproximation& sites) {
  EXPECT_TRUE(factor.factorise(sites));
  const Vector covariances = factor.covariances();
  const Matrix dual = factor.dual(by_function(sites.shift, sites.width));
  Matrix precision;
  if (!prior.has_root()) precision = factor.kernel_precision(0).triangularView<Eigen::Lower>();
  const Matrix traces = factor.latent_traces();
  const std::vector<CrossBlock> points = new_points(prior, 40);
  const Vector reductions = factor.reductions(points);
  const Matrix joint = factor.joint_reduction(points);
  Vector all(covariances.size() + dual.size() + precision.size() + traces.size() + reductions.size() + joint.size() +
             1);
  all << covariances, dual.reshaped(), precision.reshaped(), traces.reshaped(), reductions, joint.reshaped(),
      factor.half_log_det();
  return all;
}

TEST(JointFactors, GiveTheSameBitsForAnyNumberOfThreads) {
  constexpr Index rows = 260;
  constexpr Index count = 4;
  const auto prior = make_prior(Functions::diagonal, count, 2.0, random_matrix(rows, 1, 7));
  const SiteApproximation sites = star_sites(rows, count, Stars::extreme);
  const auto linear = make_linear_prior(Functions::full, count, 2.0, 4000);
  const SiteApproximation many = star_sites(4000, count, Stars::extreme);
  StarFactor star(prior);
  BlockFactor block(prior);
  RootFactor root(linear);
  const auto expect_same = [](JointFactor& factor, const JointPrior& of, const SiteApproximation& at) {
    const Vector alone = everything(factor, of, at);
    EXPECT_TRUE(alone.allFinite());
    const BlasThreads blas(3);
    EXPECT_EQ(everything(factor, of, at), alone) << factor.describe();
  };
  expect_same(star, *prior, sites);
  expect_same(block, *prior, sites);
  expect_same(root, *linear, many);
}

// From some order on a function's own factorisation is cut into tiles.
TEST(JointFactors, OfManyRowsAgreeForAnyNumberOfThreads) {
  constexpr Index rows = 1010;
  const auto prior = make_prior(Functions::diagonal, 2, 2.0, random_matrix(rows, 1, 7));
  const SiteApproximation sites = star_sites(rows, 2, Stars::extreme);
  StarFactor star(prior);
  BlockFactor block(prior);
  const Vector alone = everything(star, *prior, sites);
  EXPECT_LT(largest(alone - everything(block, *prior, sites)), 1e-9 * largest(alone));
  const BlasThreads blas(3);
  EXPECT_EQ(everything(star, *prior, sites), alone);
}

// Weights and the linear kernel of the same inputs are one prior.
TEST(JointFactors, OfOneModelAgree) {
  constexpr Index rows = 60;
  const Matrix inputs = random_matrix(rows, 3, 8);
  const Latents latents{.count = 4, .model = LatentModel::diagonal, .weight = Vector::LinSpaced(4, 0.5, 2.0)};
  const SiteApproximation sites = star_sites(rows, 4, Stars::extreme);
  const auto process = std::make_shared<const JointPrior>(
      GaussianProcess{inputs, make_kernel("linear", {{"signal_sd", {2.0}}})}, Design(Identity{}), latents, 1);
  const auto linear = std::make_shared<const JointPrior>(Isotropic{Vector::Zero(3), 4.0}, Design(inputs), latents, 1);
  StarFactor star(process);
  BlockFactor block(process);
  RootFactor root(linear);
  for (JointFactor* factor :
       {static_cast<JointFactor*>(&star), static_cast<JointFactor*>(&block), static_cast<JointFactor*>(&root)})
    ASSERT_TRUE(factor->factorise(sites));
  const Vector covariances = star.covariances();
  for (JointFactor* factor : {static_cast<JointFactor*>(&block), static_cast<JointFactor*>(&root)}) {
    EXPECT_NEAR(factor->half_log_det(), star.half_log_det(), 1e-9);
    EXPECT_LT(largest(factor->covariances() - covariances), 1e-9 * largest(covariances));
    EXPECT_LT(largest(factor->latent_traces() - star.latent_traces()), 1e-9 * largest(star.latent_traces()));
    const Matrix r = by_function(sites.shift, 4);
    EXPECT_LT(largest(factor->dual(r) - star.dual(r)), 1e-9 * largest(star.dual(r)));
  }
  EXPECT_LT(largest(Matrix((block.kernel_precision(0) - star.kernel_precision(0)).triangularView<Eigen::Lower>())),
            1e-9 * largest(star.kernel_precision(0)));
  EXPECT_THROW((void)root.kernel_precision(0), std::logic_error);
}

TEST(JointFactors, AreChosenByStructure) {
  const SiteApproximation stars = star_sites(3, 3, Stars::plain);
  SiteApproximation blocks = stars;
  blocks.star = {};
  const Matrix x = random_matrix(3, 1, 1);
  const auto name = [&](Functions functions, const SiteApproximation& sites) {
    const auto factor = make_joint_factor(make_prior(functions, 3, 1.0, x), sites);
    EXPECT_TRUE(factor->factorise(sites));
    return factor->describe();
  };
  EXPECT_EQ(name(Functions::diagonal, stars), "4 factorisations of order 3 (independent functions, star sites)");
  EXPECT_EQ(name(Functions::own_kernels, stars), "4 factorisations of order 3 (independent functions, star sites)");
  EXPECT_EQ(name(Functions::full, stars), "a factorisation of order 6 (3 rows of 2 contrasts)");
  EXPECT_EQ(name(Functions::diagonal, blocks), "a factorisation of order 6 (3 rows of 2 contrasts)");
  const SiteApproximation many = star_sites(9, 3, Stars::plain);
  const auto root = make_joint_factor(make_linear_prior(Functions::diagonal, 3, 1.0, 9), many);
  EXPECT_TRUE(root->factorise(many));
  EXPECT_EQ(root->describe(), "a factorisation of order 6 (3 weights of 2 functions)");
}

}  // namespace
}  // namespace gaussmith
