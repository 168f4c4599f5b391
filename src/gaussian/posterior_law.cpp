#include "gaussian/posterior_law.hpp"

#include "gaussian/covariance_core.hpp"
#include "gaussian/draws_law.hpp"
#include "gaussian/factor_law.hpp"
#include "gaussian/inducing_law.hpp"
#include "gaussian/joint_core.hpp"
#include "gaussian/joint_inducing_law.hpp"
#include "gaussian/root_law.hpp"
#include "gaussian/sparse_core.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gaussmith {

Marginals PosteriorLaw::predict(const NewPoints& points) const {
  // About 64 MB of cross-covariances at a time, but enough columns to keep DTRSM busy.
  constexpr Index entries = Index{1} << 23;
  const Index columns = std::clamp<Index>(entries / std::max<Index>(1, numbers_per_point()), 64, 4096);
  const Index count = geometry_->count(points);
  const Index c = width();
  Marginals out{Vector(count * c), Vector(count * c)};
  if (c > 1) out.covariance.resize(count * c * c);
  Vector mean;
  Vector variance;
  for (Index begin = 0; begin < count; begin += columns) {
    const Index end = std::min(count, begin + columns);
    predict(points, begin, end, mean, variance);
    out.mean.segment(begin * c, mean.size()) = mean;
    if (c > 1) {
      out.covariance.segment(begin * c * c, variance.size()) = variance;
      variance = diagonals(variance, c);
    }
    out.variance.segment(begin * c, variance.size()) = variance;
  }
  return out;
}

Marginals PosteriorLaw::weights() const { return predict(NewRows{Identity{}}); }

std::vector<Marginals> PosteriorLaw::by_draw(const NewPoints& /*points*/) const { return {}; }

Vector PosteriorLaw::neighbour_covariances() const {
  // From the variances of w_j + w_(j+1).
  const Index size = geometry_->dimension();
  std::vector<Eigen::Triplet<double>> entries;
  for (int j = 0; j + 1 < static_cast<int>(size); ++j) {
    entries.emplace_back(j, j, 1.0);
    entries.emplace_back(j, j + 1, 1.0);
  }
  SparseMatrix sums(size - 1, size);
  sums.setFromTriplets(entries.begin(), entries.end());
  const Vector own = weights().variance;
  Vector out = Vector::Zero(size);
  out.head(size - 1) = 0.5 * (predict(NewRows{sums}).variance - own.head(size - 1) - own.tail(size - 1));
  return out;
}

Matrix PosteriorLaw::weight_deviations(int draws, Random& random) const {
  const Matrix root = weight_root();
  return times(root, normal_matrix(root.cols(), draws, random));
}

Matrix PosteriorLaw::sample_weights(int draws, Random& random) const {
  Matrix w = weight_deviations(draws, random);
  w.colwise() += weights().mean;
  return w;
}

void PosteriorLaw::know_rows(RowMarginals rows, SiteApproximation sites) {
  rows_ = std::move(rows);
  sites_ = std::move(sites);
}

Marginals PosteriorLaw::cavities() const {
  if (!rows_) throw std::logic_error("a law made from a saved model knows no rows");
  if (sites_.width > 1) return joint_cavities(*rows_, sites_);
  return gaussmith::cavities(*rows_, sites_.precision, 1.0);
}

namespace {

std::unique_ptr<PosteriorLaw> dual_law(const FittedGaussian& data, std::shared_ptr<PriorGeometry> geometry) {
  const Index n = geometry->rows();
  if (data.dual.size() != n || data.precision.size() != n)
    throw InvalidModel(fmt::format("fitted: {} dual values and {} precisions for {} rows", data.dual.size(),
                                   data.precision.size(), n));
  if (!data.dual.allFinite() || !data.precision.allFinite())
    throw InvalidModel("fitted: dual values and precisions must be finite");
  CovarianceCore core(std::move(geometry), Vector{});
  if (!core.set({data.precision, Vector::Zero(n)}))
    throw InvalidModel("fitted: the site precisions do not suit the prior covariance (not positive definite)");
  return core.law({data.dual, {}});
}

/// The mean and the factor of the precision of whitened values.
void check_factor(const FittedGaussian& data, Index rank) {
  if (data.coordinates.size() != rank || data.factor.rows() != rank || data.factor.cols() != rank)
    throw InvalidModel(fmt::format("fitted: {} coordinates and a {} x {} factor for a prior of rank {}",
                                   data.coordinates.size(), data.factor.rows(), data.factor.cols(), rank));
  if (!data.factor.allFinite() || !data.coordinates.allFinite() || (data.factor.diagonal().array() <= 0.0).any())
    throw InvalidModel("fitted: the factor must be finite with a positive diagonal");
}

std::unique_ptr<PosteriorLaw> factor_law(const FittedGaussian& data, const std::shared_ptr<PriorGeometry>& geometry) {
  geometry->whiten();
  check_factor(data, geometry->rank());
  return std::make_unique<FactorLaw>(geometry, std::make_shared<const Matrix>(data.factor), data.coordinates);
}

std::unique_ptr<PosteriorLaw> inducing_law(const FittedGaussian& data, int threads) {
  const auto* process = std::get_if<GaussianProcess>(&data.prior);
  if (process == nullptr || process->inducing)
    throw InvalidModel("fitted: the inducing form needs a process at the inputs of its inducing variables");
  const auto rank = static_cast<Index>(data.pivots.size());
  std::vector<bool> taken(static_cast<std::size_t>(process->inputs.rows()), false);
  for (const Index pivot : data.pivots) {
    if (pivot < 0 || pivot >= process->inputs.rows() || taken[static_cast<std::size_t>(pivot)])
      throw InvalidModel(fmt::format("fitted: pivot {} is none of {} inducing variables, or stands there twice", pivot,
                                     process->inputs.rows()));
    taken[static_cast<std::size_t>(pivot)] = true;
  }
  if (rank == 0 || data.noise.size() != rank || !data.noise.allFinite() || data.noise.minCoeff() < 0.0)
    throw InvalidModel(
        fmt::format("fitted: {} variances of noise for {} inducing variables; expected as many, 0 or more",
                    data.noise.size(), rank));
  check_factor(data, rank);
  auto basis = std::make_shared<const InducingBasis>(*process, data.pivots, data.noise);
  return std::make_unique<InducingLaw>(std::make_shared<const PriorGeometry>(std::move(basis), threads),
                                       std::make_shared<const Matrix>(data.factor), data.coordinates);
}

std::unique_ptr<PosteriorLaw> joint_inducing_law(const FittedGaussian& data, int threads) {
  std::shared_ptr<const JointInducing> inducing = make_joint_inducing(data, threads);
  check_factor(data, inducing->rank());
  return std::make_unique<JointInducingLaw>(std::move(inducing), std::make_shared<const Matrix>(data.factor),
                                            data.coordinates);
}

std::unique_ptr<PosteriorLaw> sparse_law(const FittedGaussian& data, std::shared_ptr<PriorGeometry> geometry) {
  const Index n = geometry->rows();
  if (data.precision.size() != n || data.coordinates.size() != geometry->dimension())
    throw InvalidModel(fmt::format("fitted: {} precisions for {} rows and {} coordinates for {} weights",
                                   data.precision.size(), n, data.coordinates.size(), geometry->dimension()));
  if (!data.coordinates.allFinite() || !data.precision.allFinite())
    throw InvalidModel("fitted: coordinates and precisions must be finite");
  SparseCore core(std::move(geometry), Vector{});
  if (!core.set({data.precision, Vector::Zero(n)}))
    throw InvalidModel("fitted: the site precisions do not suit the prior precision (not positive definite)");
  return core.law({data.coordinates, {}});
}

std::unique_ptr<PosteriorLaw> root_law(const FittedGaussian& data, const std::shared_ptr<PriorGeometry>& geometry) {
  const CovarianceRoot& covariance = data.covariance;
  const Index size = data.coordinates.size();
  if (covariance.root.cols() != size || (covariance.complement.size() > 0 && covariance.complement.cols() != size))
    throw InvalidModel(fmt::format("fitted: a root of {} columns and a complement of {} for {} coordinates",
                                   covariance.root.cols(), covariance.complement.cols(), size));
  const Vector entries = covariance.root.coeffs();
  if (!data.coordinates.allFinite() || !entries.allFinite() || !covariance.complement.allFinite() ||
      !(covariance.scale >= 0.0))
    throw InvalidModel("fitted: the mean and the root of the covariance must be finite");
  auto law = std::make_unique<RootLaw>(geometry, covariance, data.coordinates);
  const Index expected = covariance.whitened ? geometry->rank() : geometry->dimension();
  if (size != expected)
    throw InvalidModel(fmt::format("fitted: {} coordinates for a prior of dimension {}", size, expected));
  return law;
}

std::unique_ptr<PosteriorLaw> draws_law(const FittedGaussian& data, int threads) {
  std::vector<std::shared_ptr<PriorGeometry>> geometries;
  if (data.latents.kernels.empty()) {
    geometries.push_back(std::make_shared<PriorGeometry>(data.prior, data.design, threads));
  } else {
    auto process = std::get<GaussianProcess>(data.prior);
    for (const KernelHandle& kernel : data.latents.kernels) {
      process.kernel = kernel;
      geometries.push_back(std::make_shared<PriorGeometry>(process, data.design, threads));
    }
  }
  if (data.draws.cols() == 0 || data.draws.rows() != geometries.front()->dimension() * data.latents.count)
    throw InvalidModel(fmt::format("fitted: {} draws of {} numbers for {} weights of {} latents", data.draws.cols(),
                                   data.draws.rows(), geometries.front()->dimension(), data.latents.count));
  if (!data.draws.allFinite()) throw InvalidModel("fitted: draws must be finite");
  return std::make_unique<DrawsLaw>(std::move(geometries), data.latents, data.draws);
}

std::unique_ptr<PosteriorLaw> joint_law(const FittedGaussian& data, int threads) {
  auto prior = std::make_shared<JointPrior>(data.prior, data.design, data.latents, threads);
  const Index c = data.latents.count;
  const Index n = prior->rows();
  if (data.dual.size() != n * c || data.precision.size() != n * c * c ||
      (data.star.size() != 0 && data.star.size() != n * c))
    throw InvalidModel(fmt::format("fitted: {} dual values and {} precisions for {} rows of {} latents",
                                   data.dual.size(), data.precision.size(), n, c));
  if (!data.dual.allFinite() || !data.precision.allFinite() || !data.star.allFinite())
    throw InvalidModel("fitted: dual values and precisions must be finite");
  JointCore core(std::move(prior), Vector{});
  if (!core.set({data.precision, Vector::Zero(n * c), c, data.star}))
    throw InvalidModel("fitted: the site precisions do not suit the prior covariance (not positive definite)");
  return core.law({data.dual, {}});
}

}  // namespace

std::unique_ptr<PosteriorLaw> make_law(const FittedGaussian& fitted, int threads) {
  if (fitted.form == CoreForm::draws) return draws_law(fitted, threads);
  if (fitted.latents.count > 1)
    return fitted.form == CoreForm::inducing ? joint_inducing_law(fitted, threads) : joint_law(fitted, threads);
  if (fitted.form == CoreForm::inducing) return inducing_law(fitted, threads);
  auto geometry = std::make_shared<PriorGeometry>(fitted.prior, fitted.design, threads,
                                                  fitted.form == CoreForm::precision ? Copies::merged : Copies::apart);
  if (fitted.form == CoreForm::precision) {
    geometry->whiten();
    // Files of version 0.1 keep copies of an input apart, which may leave another rank.
    if (geometry->rank() != fitted.coordinates.size())
      geometry = std::make_shared<PriorGeometry>(fitted.prior, fitted.design, threads);
    return factor_law(fitted, geometry);
  }
  if (fitted.form == CoreForm::root) return root_law(fitted, geometry);
  if (fitted.form == CoreForm::sparse) return sparse_law(fitted, std::move(geometry));
  return dual_law(fitted, std::move(geometry));
}

Matrix normal_matrix(Index rows, Index cols, Random& random) {
  Matrix z(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) z(i, j) = random.normal();
  return z;
}

}  // namespace gaussmith
