#include "sampling/sampling_space.hpp"

#include "base/memory.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "linalg/symmetric_eigen.hpp"
#include "numerics/normal_numbers.hpp"

#include <fmt/format.h>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Spans of more coordinates than this are not looked through for rows that repeat one another: they cost nothing more
/// than time.
constexpr Index few_coordinates = 64;
/// Directions of the rows' span that are shorter than this beside the longest are rounding.
constexpr double no_direction = 1e-12;

/// R with Sigma = R R' of a prior known by its precision, within its constraints: proper directions first, then those
/// that the prior says nothing about, with a flat density.
Matrix root_of_precision(const KnownPrecision& known, Index& proper) {
  const Index size = known.precision.rows();
  Matrix basis;  // Of the w that the constraints allow.
  if (known.constraints.rows() > 0) {
    const Eigen::HouseholderQR<Matrix> qr(Matrix(known.constraints.transpose()));
    basis = Matrix(qr.householderQ()).rightCols(size - known.constraints.rows());
  } else {
    basis = Matrix::Identity(size, size);
  }
  const SymmetricEigen eigen = symmetric_eigen(transposed_times(basis, Matrix(known.precision * basis)));
  const Index count = basis.cols();
  proper = count - known.improper;
  Matrix root(size, count);
  // Eigenvalues ascend: the improper directions come first.
  root.leftCols(proper) = times(basis, eigen.vectors.rightCols(proper)) *
                          eigen.values.tail(proper).cwiseMax(0.0).cwiseInverse().cwiseSqrt().asDiagonal();
  root.rightCols(known.improper) = times(basis, eigen.vectors.leftCols(known.improper));
  return root;
}

/// A root F of K^c, as many columns as its rank.
Matrix latent_root(const Latents& latents) {
  return latents.count > 1 ? pivoted_cholesky(latents.covariance()).factor : Matrix::Ones(1, 1);
}

}  // namespace

SamplingSpace::SamplingSpace(const Model& model) : width_(model.latents.count), between_(latent_root(model.latents)) {
  // One thread: its bits are those of any number of threads.
  const BlasThreads one(1);
  const double n = static_cast<double>(model.rows() * width_);
  const double d = static_cast<double>(model.dimension() * width_);
  const double bytes = 8.0 * (3.0 * n * std::min(n, d) + (model.design.is_identity() ? 0.0 : 3.0 * d * std::min(n, d)) +
                              (has_dense_covariance(model.prior) || has_only_precision(model.prior) ? 3.0 * d * d : 0));
  if (bytes > machine_memory())
    throw InvalidOption(
        fmt::format("sampling needs about {} for {} latents and {} weights, more than the {} of this machine; take "
                    "fewer rows",
                    memory_in_words(bytes), n, d, memory_in_words(machine_memory())));
  if (!model.latents.kernels.empty()) {
    auto process = std::get<GaussianProcess>(model.prior);
    for (const KernelHandle& kernel : model.latents.kernels) {
      process.kernel = kernel;
      geometries_.push_back(std::make_shared<PriorGeometry>(process, model.design, 1));
    }
  } else {
    geometries_.push_back(std::make_shared<PriorGeometry>(model.prior, model.design, 1));
  }
  use_root(model);
}

void SamplingSpace::use_root(const Model& model) {
  const PriorGeometry& first = *geometries_.front();
  const Index n = first.rows();
  const Index d = first.dimension();
  // The rows of every function in its whitened weights.
  std::vector<Matrix> of_function;
  if (has_only_precision(model.prior)) {
    Index proper = 0;
    given_root_ = root_of_precision(*gaussmith::prior_precision(model.prior), proper);
    of_function.push_back(first.design().times(given_root_));
    prior_precision_ = Vector::Ones(given_root_.cols());
    prior_precision_.tail(given_root_.cols() - proper).setZero();
    ranks_.push_back(given_root_.cols());
  } else {
    for (const auto& geometry : geometries_) {
      geometry->whiten_rows();
      of_function.push_back(geometry->whitened_rows(0, n).transpose());
      ranks_.push_back(geometry->rank());
    }
    Index total = 0;
    if (geometries_.size() == 1) ranks_.resize(static_cast<std::size_t>(between_.cols()), ranks_.front());
    for (const Index rank : ranks_) total += rank;
    prior_precision_ = Vector::Constant(total, first.has_gaussian() ? 1.0 : 0.0);
  }

  rows_ = Matrix::Zero(n * width_, prior_precision_.size());
  Index begin = 0;
  for (std::size_t f = 0; f < ranks_.size(); ++f) {
    const Matrix& g = of_function[geometries_.size() > 1 ? f : 0];
    for (Index c = 0; c < width_; ++c) {
      const double weight =
          geometries_.size() > 1 ? (c == static_cast<Index>(f) ? 1.0 : 0.0) : between_(c, static_cast<Index>(f));
      if (weight == 0.0) continue;
      for (Index j = 0; j < g.cols(); ++j)
        for (Index i = 0; i < n; ++i) rows_(i * width_ + c, begin + j) = weight * g(i, j);
    }
    begin += ranks_[f];
  }

  weight_mean_.resize(d * width_);
  latent_mean_.resize(n * width_);
  const Vector mean = mean_of(model.prior);
  for (Index c = 0; c < width_; ++c) {
    const double more = model.latents.mean.size() > 0 ? model.latents.mean(c) : 0.0;
    const Vector of_c = mean.array() + more;
    const Vector rows_of_c = first.design().times(of_c);
    for (Index j = 0; j < d; ++j) weight_mean_(j * width_ + c) = of_c(j);
    for (Index i = 0; i < n; ++i) latent_mean_(i * width_ + c) = rows_of_c(i);
  }
  if (model.offset.size() > 0) latent_mean_ += model.offset;
  weights_are_latents_ = model.design.is_identity();

  reduce_to_span();
  if (prior_precision_.minCoeff() == 0.0 && rank() > latents()) throw InvalidModel(std::string(undetermined_weights));
  if (weights_are_latents_) return;
  weight_rows_ = unwhiten(span_.size() > 0 ? span_ : Matrix::Identity(rank(), rank()));
  if (span_.size() == 0) return;
  Vector variances(d * width_);
  const Vector own = given_root_.size() > 0 ? Vector(given_root_.rowwise().squaredNorm()) : first.weight_variances();
  const Vector scale = between_.rowwise().squaredNorm();
  for (Index j = 0; j < d; ++j)
    for (Index c = 0; c < width_; ++c)
      variances(j * width_ + c) =
          geometries_.size() > 1 ? geometries_[static_cast<std::size_t>(c)]->weight_variances()(j) : scale(c) * own(j);
  unseen_variance_ = (variances - weight_rows_.rowwise().squaredNorm()).cwiseMax(0.0);
}

void SamplingSpace::reduce_to_span() {
  const Index columns = rows_.cols();
  if (prior_precision_.minCoeff() == 0.0 || (columns <= latents() && columns > few_coordinates)) return;
  const Eigen::ColPivHouseholderQR<Matrix> qr(Matrix(rows_.transpose()));
  const Vector pivots = qr.matrixQR().diagonal().cwiseAbs();
  Index rank = 0;
  while (rank < pivots.size() && pivots(rank) > no_direction * pivots(0)) ++rank;
  if (rank == columns) return;
  span_ = qr.householderQ() * Matrix::Identity(columns, rank);
  rows_ = times(rows_, span_);
  prior_precision_ = Vector::Ones(rank);
}

Matrix SamplingSpace::unwhiten(const Matrix& x) const {
  if (given_root_.size() > 0) return times(given_root_, x);
  const Index d = geometries_.front()->dimension();
  Matrix out = Matrix::Zero(d * width_, x.cols());
  Index begin = 0;
  for (std::size_t f = 0; f < ranks_.size(); ++f) {
    const bool own = geometries_.size() > 1;
    const Matrix values = geometries_[own ? f : 0]->unwhiten(x.middleRows(begin, ranks_[f]));
    for (Index c = 0; c < width_; ++c) {
      const double weight = own ? (c == static_cast<Index>(f) ? 1.0 : 0.0) : between_(c, static_cast<Index>(f));
      if (weight == 0.0) continue;
      for (Index j = 0; j < d; ++j) out.row(j * width_ + c) += weight * values.row(j);
    }
    begin += ranks_[f];
  }
  return out;
}

Matrix SamplingSpace::unseen_draws(Index count, Random& random) const {
  if (unseen_variance_.size() == 0) return Matrix::Zero(weights(), count);
  Matrix g(span_.rows(), count);
  fill_normal(random, {g.data(), static_cast<std::size_t>(g.size())});
  g -= times(span_, transposed_times(span_, g));
  return unwhiten(g);
}

}  // namespace gaussmith
