#include "gaussian/related_inducing.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/inducing_basis.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "model/inducing.hpp"

#include <map>

namespace gaussmith {

namespace {

constexpr Index row_block = 256;
constexpr Index column_block = 128;

double flops(Index a, Index b, Index c) {
  return 2.0 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// The places where values stand, each once.
Matrix places(const GaussianProcess& process, std::vector<std::pair<Index, Index>>& values, Index latents) {
  const Inducing& inducing = *process.inducing;
  if (inducing.sites.empty()) {
    for (Index i = 0; i < inducing.inputs.rows(); ++i)
      for (Index c = 0; c < latents; ++c) values.emplace_back(i, c);
    return inducing.inputs;
  }
  std::map<Index, Index> place_of;
  std::vector<Index> rows;
  for (const auto& [row, latent] : inducing.sites) {
    const auto [at, fresh] = place_of.emplace(row, static_cast<Index>(rows.size()));
    if (fresh) rows.push_back(row);
    values.emplace_back(at->second, latent);
  }
  return (*process.inputs)(rows, Eigen::all);
}

/// The product of the panel of rows [begin, begin + count) and their blocks.
Matrix block_times(const Matrix& panel, const Vector& blocks, Index begin, Index count, Index c) {
  Matrix out(panel.rows(), count * c);
  for (Index n = 0; n < count; ++n)
    out.middleCols(n * c, c).noalias() =
        panel.middleCols((begin + n) * c, c) * Eigen::Map<const Matrix>(blocks.data() + (begin + n) * c * c, c, c);
  return out;
}

}  // namespace

RelatedInducing::RelatedInducing(const GaussianProcess& process, const Latents& latents, int threads)
    : JointInducing(process, latents, threads), points_(process, Matrix()) {
  std::vector<std::pair<Index, Index>> all;
  points_ = InducingPoints(process, places(process, all, functions()));
  for (const auto& [point, latent] : all) values_.push_back({point, latent});
  given_ = static_cast<Index>(values_.size());
  Matrix k = value_covariance(points_.covariance());
  k.diagonal().array() += process.inducing->noise;
  const std::vector<Index> pivots = pivoted_cholesky(k, dependent_share(given_)).pivots;
  if (pivots.empty()) throw InvalidModel("prior.inducing: no inducing variable has any variance");
  std::vector<Value> kept;
  kept.reserve(pivots.size());
  for (const Index pivot : pivots) kept.push_back(values_[static_cast<std::size_t>(pivot)]);
  values_ = std::move(kept);
  noise_ = Vector::Constant(static_cast<Index>(values_.size()), process.inducing->noise);
  triangle_ = k(pivots, pivots);
  if (!cholesky(triangle_))
    throw InvalidModel("prior.inducing: the covariance of the inducing variables is not positive definite");
  triangle_ = triangle_.triangularView<Eigen::Lower>().toDenseMatrix();
}

RelatedInducing::RelatedInducing(const GaussianProcess& process, const FittedGaussian& fitted, int threads)
    : JointInducing(process, fitted.latents, threads), points_(process), noise_(fitted.noise) {
  for (const Index pivot : fitted.pivots) values_.push_back({pivot / functions(), pivot % functions()});
  given_ = static_cast<Index>(values_.size());
  triangle_ = value_covariance(points_.covariance());
  triangle_.diagonal() += noise_;
  if (!cholesky(triangle_))
    throw InvalidModel("fitted: the covariance of the inducing variables is not positive definite");
  triangle_ = triangle_.triangularView<Eigen::Lower>().toDenseMatrix();
}

Matrix RelatedInducing::value_covariance(const Matrix& by_points) const {
  const auto size = static_cast<Index>(values_.size());
  Matrix out(size, size);
  for (Index j = 0; j < size; ++j)
    for (Index i = 0; i < size; ++i) {
      const Value& a = values_[static_cast<std::size_t>(i)];
      const Value& b = values_[static_cast<std::size_t>(j)];
      out(i, j) = by_points(a.point, b.point) * latent_covariance()(a.latent, b.latent);
    }
  return out;
}

JointInducing::Rows RelatedInducing::see(const NewPoints& points, Index begin, Index end) const {
  const Index c = functions();
  const Index count = end - begin;
  SeenPoints seen = gaussmith::see(points_, points, begin, end);
  Matrix a(rank(), count * c);
  for (Index n = 0; n < count; ++n)
    for (Index i = 0; i < rank(); ++i) {
      const Value& value = values_[static_cast<std::size_t>(i)];
      a.row(i).segment(n * c, c) = seen.cross(value.point, n) * latent_covariance().row(value.latent);
    }
  solve_lower(triangle_, a);
  Rows out{{}, seen.variance, std::move(seen.sums), prior_blocks(seen.variance)};
  for (Index n = 0; n < count; ++n)
    Eigen::Map<Matrix>(out.leftover.data() + n * c * c, c, c).noalias() -=
        a.middleCols(n * c, c).transpose() * a.middleCols(n * c, c);
  out.panels.push_back(std::move(a));
  return out;
}

Vector RelatedInducing::times(const Rows& rows, const Vector& u) const {
  Vector out = Vector::Zero(rows.count() * functions());
  add_transposed_times(rows.panels.front(), u, out);
  return out;
}

Vector RelatedInducing::transposed_times(const Rows& rows, const Vector& x) const {
  Vector out = Vector::Zero(rank());
  add_times(rows.panels.front(), x, out);
  return out;
}

Matrix RelatedInducing::gram(const Rows& rows, const Vector& blocks) const {
  const Index c = functions();
  const Matrix& a = rows.panels.front();
  Matrix out = Matrix::Zero(rank(), rank());
  const int threads = threads_for(flops(rows.count() * c, rank(), rank()) / 2.0);
  parallel_blocks(rank(), column_block, threads, [&](Index begin, Index end) {
    Matrix sum = Matrix::Zero(rank() - begin, end - begin);
    for (Index first = 0; first < rows.count(); first += row_block) {
      const Index count = std::min(row_block, rows.count() - first);
      const Matrix scaled = block_times(a.middleRows(begin, end - begin), blocks, first, count, c);
      serial::add_product(1.0, a.block(begin, first * c, rank() - begin, count * c), As::is, scaled, As::transposed,
                          1.0, sum);
    }
    out.block(begin, begin, rank() - begin, end - begin) = sum;
  });
  return out;
}

Vector RelatedInducing::covariances(const Rows& rows, const Matrix& s) const {
  const Index c = functions();
  const Matrix& a = rows.panels.front();
  Vector out = rows.leftover;
  parallel_blocks(rows.count(), row_block, threads_for(flops(rows.count() * c, rank(), rank())),
                  [&](Index begin, Index end) {
                    const auto own = a.middleCols(begin * c, (end - begin) * c);
                    Matrix moved(rank(), own.cols());
                    serial::add_product(1.0, s, As::is, own, As::is, 0.0, moved);
                    for (Index n = 0; n < end - begin; ++n)
                      Eigen::Map<Matrix>(out.data() + (begin + n) * c * c, c, c).noalias() +=
                          own.middleCols(n * c, c).transpose() * moved.middleCols(n * c, c);
                  });
  return out;
}

ParameterGradient RelatedInducing::gradient(const Stationary& at) const {
  // With D_n' = L^-T (u dual_n' + (I - Sigma) A_n'T_n), of a column for every latent, and W = -1/2 L^-T pull L^-1, the
  // bound changes by sum_n tr D_n dK_zn + tr W dK_zz - 1/2 sum_n tr T_n dK_nn, K = k K^c entry by entry.
  const Index c = functions();
  const Matrix& k_c = latent_covariance();
  const Matrix& a = at.rows.panels.front();
  const Index n_count = at.rows.count();
  Matrix within = -0.5 * at.pull;
  solve_lower_transposed(triangle_, within);
  within.transposeInPlace();
  solve_lower_transposed(triangle_, within);

  Matrix latent = Matrix::Zero(c, c);
  InducingPoints::Weights weights;
  weights.within = Matrix::Zero(points_.size(), points_.size());
  const Matrix k_points = points_.covariance();
  for (Index j = 0; j < rank(); ++j)
    for (Index i = 0; i < rank(); ++i) {
      const Value& x = values_[static_cast<std::size_t>(i)];
      const Value& y = values_[static_cast<std::size_t>(j)];
      weights.within(x.point, y.point) += within(i, j) * k_c(x.latent, y.latent);
      latent(x.latent, y.latent) += within(i, j) * k_points(x.point, y.point);
    }
  weights.rows.resize(n_count);
  for (Index n = 0; n < n_count; ++n) {
    const Eigen::Map<const Matrix> t(at.precision.data() + n * c * c, c, c);
    weights.rows(n) = -0.5 * t.cwiseProduct(k_c).sum();
    latent -= 0.5 * at.rows.variance(n, 0) * t;
  }
  const auto pulls = [&](Index begin, Index count) {
    Matrix d = times_transposed(at.coordinates, at.dual.segment(begin * c, count * c));
    serial::add_product(1.0, at.spread, As::is, block_times(a, at.precision, begin, count, c), As::is, 1.0, d);
    serial::solve_left(1.0, triangle_, As::transposed, d);
    return d;
  };
  constexpr Index piece = InducingPoints::row_block;
  std::vector<Matrix> latent_parts(static_cast<std::size_t>((n_count + piece - 1) / piece));
  weights.to_rows = [&](Index begin, Index end) {
    // Called once for every block of rows, so that the part of K^c is had on the way.
    const Matrix d = pulls(begin, end - begin);
    const Matrix k = points_.cross_rows(begin, end);
    Matrix out = Matrix::Zero(points_.size(), end - begin);
    Matrix own = Matrix::Zero(c, c);
    for (Index n = 0; n < end - begin; ++n)
      for (Index i = 0; i < rank(); ++i) {
        const Value& x = values_[static_cast<std::size_t>(i)];
        const auto entries = d.row(i).segment(n * c, c);
        out(x.point, n) += entries.dot(k_c.row(x.latent));
        own.row(x.latent) += k(x.point, n) * entries;
      }
    latent_parts[static_cast<std::size_t>(begin / piece)] = std::move(own);
    return out;
  };
  const auto [kernel, inputs] = points_.contract(weights, learns_inputs(process()), threads());
  ParameterGradient out;
  put_gradient(0, kernel, out);
  if (inputs.size() > 0) put_input_gradient(inputs, out);
  for (const Matrix& own : latent_parts)
    if (own.size() > 0) latent += own;
  if (learns_latents()) add_latent_gradient(latents(), 0.5 * (latent + latent.transpose()), out);
  return out;
}

double RelatedInducing::inverse_norm() const {
  Matrix inverse = triangle_;
  invert_lower(inverse);
  return inverse.triangularView<Eigen::Lower>().toDenseMatrix().norm();
}

void RelatedInducing::describe(FittedGaussian& out) const {
  GaussianProcess kept = process();
  kept.inducing.reset();
  kept.inputs = points_.inputs();
  out.prior = std::move(kept);
  for (const Value& value : values_) out.pivots.push_back(value.point * functions() + value.latent);
  out.noise = noise_;
}

}  // namespace gaussmith
