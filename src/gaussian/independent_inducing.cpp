#include "gaussian/independent_inducing.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/joint_prior.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "model/inducing.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr Index row_block = 512;

double flops(Index a, Index b, Index c) {
  return 2.0 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// B with K^c = B B': diagonal, or lower triangular where K^c is regular.
Matrix root_of(const Matrix& latent_covariance) {
  if (latent_covariance.isDiagonal(0.0)) return latent_covariance.diagonal().cwiseSqrt().asDiagonal();
  return Eigen::LLT<Matrix>(latent_covariance).matrixL();
}

}  // namespace

IndependentInducing::IndependentInducing(const GaussianProcess& process, const Latents& latents, int threads,
                                         bool complete)
    : JointInducing(process, latents, threads), shared_(complete) {
  mix_ = root_of(latent_covariance());
  const Inducing& inducing = *process.inducing;
  given_ = count_of(inducing, functions());
  if (shared_) {
    GaussianProcess own = this->process();
    std::erase_if(own.inducing->sites, [&](const auto& site) { return site.second != 0; });
    // Sites that are not complete in the order of one latent are so in that of any other.
    auto basis = std::make_shared<const InducingBasis>(own);
    parts_.push_back({basis->points(), basis});
  }
  for (Index c = 0; c < functions() && !shared_; ++c) {
    GaussianProcess own = process_of_latent(c);
    std::erase_if(own.inducing->sites, [&](const auto& site) { return site.second != c; });
    const double scale = latent_covariance()(c, c);
    const bool none = (own.inducing->sites.empty() && own.inducing->inputs.rows() == 0) || !(scale > 0.0);
    if (none) {
      parts_.push_back({InducingPoints(own, Matrix(0, own.inputs.cols())), nullptr});
      continue;
    }
    own.inducing->noise /= scale;
    auto basis = std::make_shared<const InducingBasis>(own);
    parts_.push_back({basis->points(), basis});
  }
  count_values();
}

IndependentInducing::IndependentInducing(const GaussianProcess& process, const FittedGaussian& fitted, int threads,
                                         bool complete)
    : JointInducing(process, fitted.latents, threads), shared_(complete) {
  if (shared_ && has_own_kernels())
    throw InvalidModel("fitted: latents with kernels of their own have inducing variables of their own");
  mix_ = root_of(latent_covariance());
  if (shared_) {
    auto basis = std::make_shared<const InducingBasis>(this->process(), fitted.pivots, fitted.noise);
    parts_.push_back({basis->points(), basis});
  }
  // Latent by latent.
  std::size_t begin = 0;
  for (Index c = 0; c < functions() && !shared_; ++c) {
    const GaussianProcess own = process_of_latent(c);
    std::vector<Index> places;
    for (std::size_t i = begin; i < fitted.pivots.size() && fitted.pivots[i] % functions() == c; ++i)
      places.push_back(fitted.pivots[i] / functions());
    if (places.empty()) {
      parts_.push_back({InducingPoints(own, Matrix(0, own.inputs.cols())), nullptr});
      continue;
    }
    const auto size = static_cast<Index>(places.size());
    auto basis = std::make_shared<const InducingBasis>(own, std::move(places),
                                                       fitted.noise.segment(static_cast<Index>(begin), size));
    parts_.push_back({basis->points(), basis});
    begin += static_cast<std::size_t>(size);
  }
  if (!shared_ && begin < fitted.pivots.size())
    throw InvalidModel("fitted: inducing variables of independent latents stand latent by latent");
  count_values();
}

void IndependentInducing::count_values() {
  plain_ = mix_.rows() == mix_.cols() && mix_.isIdentity(0.0);
  starts_ = {0};
  for (Index q = 0; q < mixed(); ++q) {
    const auto& basis = parts_[part(q)].basis;
    starts_.push_back(starts_.back() + (basis ? basis->rank() : 0));
  }
  if (rank() == 0) throw InvalidModel("prior.inducing: no inducing variable has any variance");
}

JointInducing::Rows IndependentInducing::see(const NewPoints& points, Index begin, Index end) const {
  const Index count = end - begin;
  const Index c_count = functions();
  Rows out;
  Matrix left(count, static_cast<Index>(parts_.size()));
  out.variance.resize(count, has_own_kernels() ? c_count : 1);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    SeenPoints seen = gaussmith::see(parts_[i].points, points, begin, end);
    if (parts_[i].basis) solve_lower(parts_[i].basis->triangle(), seen.cross);
    const auto column = static_cast<Index>(i);
    left.col(column) = (seen.variance - seen.cross.colwise().squaredNorm().transpose()).cwiseMax(0.0);
    if (column < out.variance.cols()) out.variance.col(column) = seen.variance;
    out.sums = std::move(seen.sums);
    out.panels.push_back(std::move(seen.cross));
  }
  out.leftover.resize(count * c_count * c_count);
  for (Index n = 0; n < count; ++n) {
    Eigen::Map<Matrix> block(out.leftover.data() + n * c_count * c_count, c_count, c_count);
    if (shared_)
      block = left(n, 0) * latent_covariance();
    else
      block = left.row(n).transpose().cwiseProduct(mix_.diagonal().cwiseAbs2()).asDiagonal();
  }
  return out;
}

Matrix IndependentInducing::mixed_columns(const Vector& x) const {
  const Matrix by_latent = by_function(x, functions());
  return plain_ ? by_latent : Matrix(by_latent * mix_);
}

Vector IndependentInducing::times(const Rows& rows, const Vector& u) const {
  Matrix g(rows.count(), mixed());
  for (Index q = 0; q < mixed(); ++q) {
    const Matrix& a = rows.panels[part(q)];
    g.col(q).setZero();
    if (size(q) > 0) add_transposed_times(a, u.segment(start(q), size(q)), g.col(q));
  }
  return stacked(plain_ ? g : Matrix(g * mix_.transpose()));
}

Vector IndependentInducing::transposed_times(const Rows& rows, const Vector& x) const {
  const Matrix g = mixed_columns(x);
  Vector out = Vector::Zero(rank());
  for (Index q = 0; q < mixed(); ++q)
    if (size(q) > 0) add_times(rows.panels[part(q)], g.col(q), out.segment(start(q), size(q)));
  return out;
}

Vector IndependentInducing::mixed_blocks(const Vector& blocks) const {
  const Index c = functions();
  const Index q = mixed();
  if (plain_) return blocks;
  Vector out(blocks.size() / (c * c) * q * q);
  for (Index n = 0; n < blocks.size() / (c * c); ++n)
    Eigen::Map<Matrix>(out.data() + n * q * q, q, q).noalias() =
        mix_.transpose() * Eigen::Map<const Matrix>(blocks.data() + n * c * c, c, c) * mix_;
  return out;
}

Matrix IndependentInducing::gram(const Rows& rows, const Vector& blocks) const {
  const Index q_count = mixed();
  const Index square = q_count * q_count;
  const Vector t = mixed_blocks(blocks);
  Matrix out = Matrix::Zero(rank(), rank());
  const Index pairs = q_count * (q_count + 1) / 2;
  const int threads = threads_for(flops(rows.count(), rank(), rank()) / 2.0);
  parallel_blocks(pairs, 1, threads, [&](Index pair, Index /*end*/) {
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= pair) ++i;
    const Index j = pair - i * (i + 1) / 2;
    if (size(i) == 0 || size(j) == 0) return;
    const Matrix& left = rows.panels[part(i)];
    const Matrix& right = rows.panels[part(j)];
    Matrix sum = Matrix::Zero(size(i), size(j));
    Matrix scaled;
    for (Index begin = 0; begin < rows.count(); begin += row_block) {
      const Index count = std::min(row_block, rows.count() - begin);
      scaled = right.middleCols(begin, count);
      for (Index n = 0; n < count; ++n) scaled.col(n) *= t((begin + n) * square + j * q_count + i);
      serial::add_product(1.0, left.middleCols(begin, count), As::is, scaled, As::transposed, 1.0, sum);
    }
    out.block(start(i), start(j), size(i), size(j)) = sum;
  });
  return out;
}

Vector IndependentInducing::covariances(const Rows& rows, const Matrix& s) const {
  const Index c = functions();
  const Index q_count = mixed();
  Vector out = rows.leftover;
  const int threads = threads_for(flops(rows.count(), rank(), rank()) / 2.0);
  parallel_blocks(rows.count(), row_block, threads, [&](Index begin, Index end) {
    const Index count = end - begin;
    Matrix inner = Matrix::Zero(q_count * q_count, count);
    Matrix moved;
    for (Index j = 0; j < q_count; ++j)
      for (Index i = j; i < q_count; ++i) {
        if (size(i) == 0 || size(j) == 0) continue;
        moved.resize(size(i), count);
        serial::add_product(1.0, s.block(start(i), start(j), size(i), size(j)), As::is,
                            rows.panels[part(j)].middleCols(begin, count), As::is, 0.0, moved);
        inner.row(j * q_count + i) = moved.cwiseProduct(rows.panels[part(i)].middleCols(begin, count)).colwise().sum();
        if (i != j) inner.row(i * q_count + j) = inner.row(j * q_count + i);
      }
    for (Index n = 0; n < count; ++n) {
      const Eigen::Map<const Matrix> block(inner.data() + n * q_count * q_count, q_count, q_count);
      Eigen::Map<Matrix> whole(out.data() + (begin + n) * c * c, c, c);
      if (plain_)
        whole += block;
      else
        whole.noalias() += mix_ * block * mix_.transpose();
    }
  });
  return out;
}

Matrix IndependentInducing::matrix(const Rows& rows) const {
  const Index c_count = functions();
  Matrix out = Matrix::Zero(rows.count() * c_count, rank());
  for (Index q = 0; q < mixed(); ++q)
    for (Index n = 0; n < rows.count(); ++n)
      for (Index c = 0; c < c_count; ++c)
        if (mix_(c, q) != 0.0)
          out.row(n * c_count + c).segment(start(q), size(q)) = mix_(c, q) * rows.panels[part(q)].col(n).transpose();
  return out;
}

ParameterGradient IndependentInducing::gradient(const Stationary& at) const {
  // As for one latent, function by function: with p_n = u_q g_nq + sum_j T~_n,qj (I - Sigma)_qj a_j the bound changes
  // by sum_n p_n'da_q - 1/2 sum_n T~_n,qq dk_nn, and sum_n p_n a_q' is the function's own block of `pull`.
  const Index q_count = mixed();
  const Index square = q_count * q_count;
  const Vector t = mixed_blocks(at.precision);
  const Matrix dual = mixed_columns(at.dual);
  const bool in_inputs = learns_inputs(process());
  ParameterGradient out;
  Matrix inputs;
  std::vector<Vector> kernels;
  Matrix latent = Matrix::Zero(functions(), functions());  // What noise adds to the gradient in K^c.

  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Index first = shared_ ? 0 : static_cast<Index>(i);
    const Index last = shared_ ? q_count : first + 1;
    const Index n_count = at.rows.count();
    InducingPoints::Weights weights;
    weights.rows = Vector::Zero(n_count);
    for (Index q = first; q < last; ++q)
      for (Index n = 0; n < n_count; ++n) weights.rows(n) -= 0.5 * t(n * square + q * q_count + q);
    if (!parts_[i].basis) {
      kernels.push_back(parts_[i].points.process().kernel->contract_diagonal(process().inputs, weights.rows));
      continue;
    }
    const Matrix& lower = parts_[i].basis->triangle();
    weights.within = Matrix::Zero(lower.rows(), lower.rows());
    for (Index q = first; q < last; ++q) weights.within -= 0.5 * at.pull.block(start(q), start(q), size(q), size(q));
    solve_lower_transposed(lower, weights.within);
    weights.within.transposeInPlace();
    solve_lower_transposed(lower, weights.within);
    weights.to_rows = [&](Index begin, Index end) {
      const Index count = end - begin;
      Matrix sum = Matrix::Zero(lower.rows(), count);
      Matrix scaled;
      for (Index q = first; q < last; ++q) {
        sum += at.coordinates.segment(start(q), size(q)) * dual.col(q).segment(begin, count).transpose();
        for (Index j = 0; j < q_count; ++j) {
          if (size(j) == 0) continue;
          scaled = at.rows.panels[part(j)].middleCols(begin, count);
          for (Index n = 0; n < count; ++n) scaled.col(n) *= t((begin + n) * square + j * q_count + q);
          serial::add_product(1.0, at.spread.block(start(q), start(j), size(q), size(j)), As::is, scaled, As::is, 1.0,
                              sum);
        }
      }
      serial::solve_left(1.0, lower, As::transposed, sum);
      return sum;
    };
    auto [kernel, of_inputs] = parts_[i].basis->contract(weights, in_inputs, threads());
    kernels.push_back(std::move(kernel));
    if (in_inputs) inputs = inputs.size() > 0 ? Matrix(inputs + of_inputs) : std::move(of_inputs);
    if (!shared_ && process().inducing->noise > 0.0) {
      const double scale = latent_covariance()(first, first);
      latent(first, first) -= process().inducing->noise / (scale * scale) * weights.within.trace();
    }
  }
  if (has_own_kernels()) {
    for (Index c = 0; c < functions(); ++c) put_gradient(c, kernels[static_cast<std::size_t>(c)], out);
  } else {
    Vector total = kernels.front();
    for (std::size_t i = 1; i < kernels.size(); ++i) total += kernels[i];
    put_gradient(0, total, out);
  }
  if (in_inputs) put_input_gradient(inputs, out);
  if (learns_latents()) {
    // dB = 1/2 dK^c K^c^-1 B: sum_n [dual_n (A_n u)' - T_n V_n] K^c^-1 / 2, symmetric by tr(G dK^c).
    const Index c = functions();
    Matrix sum = Matrix::Zero(c, c);
    for (Index n = 0; n < at.rows.count(); ++n) {
      sum += at.dual.segment(n * c, c) * at.seen.segment(n * c, c).transpose();
      sum -= Eigen::Map<const Matrix>(at.precision.data() + n * c * c, c, c) *
             Eigen::Map<const Matrix>(at.covariance.data() + n * c * c, c, c);
    }
    const Matrix half = 0.5 * latent_covariance().ldlt().solve(Matrix(sum.transpose())).transpose();
    add_latent_gradient(latents(), 0.5 * (half + half.transpose()) + latent, out);
  }
  return out;
}

double IndependentInducing::inverse_norm() const {
  double sum = 0.0;
  for (const Part& one : parts_) {
    if (!one.basis) continue;
    Matrix inverse = one.basis->triangle();
    invert_lower(inverse);
    sum += (shared_ ? static_cast<double>(mixed()) : 1.0) *
           inverse.triangularView<Eigen::Lower>().toDenseMatrix().squaredNorm();
  }
  return std::sqrt(sum);
}

void IndependentInducing::describe(FittedGaussian& out) const {
  GaussianProcess kept = process();
  kept.inducing.reset();
  if (shared_) {
    kept.inputs = parts_.front().basis->given_inputs();
    out.pivots = parts_.front().basis->pivots();
    out.noise = parts_.front().basis->noise();
    out.prior = std::move(kept);
    return;
  }
  // Latent by latent, the inputs of each below one another.
  Matrix inputs(0, process().inputs.cols());
  out.noise.resize(rank());
  for (Index c = 0; c < functions(); ++c) {
    if (size(c) == 0) continue;
    const InducingBasis& basis = *parts_[static_cast<std::size_t>(c)].basis;
    for (Index i = 0; i < size(c); ++i) out.pivots.push_back((inputs.rows() + i) * functions() + c);
    inputs.conservativeResize(inputs.rows() + size(c), Eigen::NoChange);
    inputs.bottomRows(size(c)) = basis.points().inputs();
    out.noise.segment(start(c), size(c)) = basis.noise();
  }
  kept.inputs = std::move(inputs);
  out.prior = std::move(kept);
}

}  // namespace gaussmith
