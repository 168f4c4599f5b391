#include "gaussian/joint_prior.hpp"

#include "linalg/blas_threads.hpp"
#include "linalg/tiled.hpp"

#include <utility>

namespace gaussmith {

namespace {

/// K^x is known by a root where it has this share of the rows at most: products with the root are then cheaper.
constexpr double largest_rank_share = 0.5;

}  // namespace

bool has_independent_functions(const Latents& latents) { return latents.covariance().isDiagonal(0.0); }

bool is_known_by_root(const Prior& prior, Index rows) {
  return independent_variances(prior).has_value() &&
         static_cast<double>(dimension_of(prior)) <= largest_rank_share * static_cast<double>(rows);
}

Matrix by_function(const Vector& stacked, Index width) {
  return Eigen::Map<const Matrix>(stacked.data(), width, stacked.size() / width).transpose();
}

Vector stacked(const Matrix& by_function) {
  Vector out(by_function.size());
  Eigen::Map<Matrix>(out.data(), by_function.cols(), by_function.rows()) = by_function.transpose();
  return out;
}

JointPrior::JointPrior(const Prior& prior, const Design& design, const Latents& latents, int threads)
    : latents_(latents), latent_covariance_(latents.covariance()), independent_(has_independent_functions(latents)) {
  if (has_own_kernels()) {
    auto process = std::get<GaussianProcess>(prior);
    for (const KernelHandle& kernel : latents.kernels) {
      process.kernel = kernel;
      geometries_.push_back(std::make_shared<PriorGeometry>(process, design, threads));
    }
  } else {
    geometries_.push_back(std::make_shared<PriorGeometry>(prior, design, threads));
  }
  if (is_known_by_root(prior, rows())) {
    geometries_.front()->whiten_rows();
    root_ = geometries_.front()->whitened_rows(0, rows()).transpose();
    return;
  }
  for (const auto& geometry : geometries_) kernels_.push_back(&geometry->row_covariance());
}

const Matrix& JointPrior::kernel(Index function) const {
  return *kernels_[has_own_kernels() ? static_cast<std::size_t>(function) : 0];
}

Vector JointPrior::mean() const {
  Matrix out(rows(), functions());
  for (Index c = 0; c < functions(); ++c) out.col(c) = geometry(c)->row_mean();
  if (latents_.mean.size() > 0) {
    // The functions' own means are means of w: the design applies to them.
    const PriorGeometry& first = *geometries_.front();
    const Vector of_ones = first.design().times(Vector(Vector::Ones(first.mean().size())), first.threads());
    out += of_ones * latents_.mean.transpose();
  }
  return stacked(out);
}

Vector JointPrior::mean_factors(const NewPoints& points, Index begin, Index end) const {
  const auto* rows = std::get_if<NewRows>(&points);
  if (rows == nullptr) return Vector::Ones(end - begin);
  const PriorGeometry& first = *geometries_.front();
  return rows->rows.sized(first.dimension()).transposed_rows(begin, end).colwise().sum().transpose();
}

Vector JointPrior::variances() const {
  Matrix out(rows(), functions());
  for (Index c = 0; c < functions(); ++c) out.col(c) = scale(c) * geometry(c)->row_variances();
  return stacked(out);
}

Matrix JointPrior::times(const Matrix& a) const {
  Matrix out(rows(), functions());
  if (has_root()) {
    out.noalias() = gaussmith::times(root_, Matrix(transposed_times(root_, a) * latent_covariance_));
  } else if (has_own_kernels()) {
    for (Index c = 0; c < functions(); ++c) out.col(c) = symmetric_times(kernel(c), Vector(a.col(c)));
  } else {
    // Slices on one thread too: the same bits for any number of them.
    Matrix product(a.rows(), a.cols());
    const double flops = 2.0 * static_cast<double>(a.rows()) * static_cast<double>(a.size());
    tiled::set_symmetric_product(kernel(), a, product, threads_for(flops));
    out.noalias() = product * latent_covariance_;
  }
  return out;
}

std::vector<CrossBlock> JointPrior::cross(const NewPoints& points, Index begin, Index end) const {
  std::vector<CrossBlock> blocks;
  for (const auto& geometry : geometries_) blocks.push_back(geometry->cross(points, begin, end));
  if (has_root()) blocks.front().whitened = geometries_.front()->whitened(points, begin, end).rows;
  return blocks;
}

}  // namespace gaussmith
