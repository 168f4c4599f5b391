#include "gaussian/draws_law.hpp"

#include "base/random_choice.hpp"
#include "model/prior.hpp"

#include <cmath>
#include <utility>

namespace gaussmith {

Marginals moments_of_draws(const Matrix& draws, Index width) {
  const auto count = static_cast<double>(draws.cols());
  Marginals out;
  out.mean = draws.rowwise().mean();
  const Matrix apart = draws.colwise() - out.mean;
  out.variance = apart.rowwise().squaredNorm() / count;
  if (width == 1) return out;
  out.covariance.resize(draws.rows() * width);
  for (Index n = 0; n < draws.rows() / width; ++n) {
    const Matrix block = apart.middleRows(n * width, width);
    Eigen::Map<Matrix>(out.covariance.data() + n * width * width, width, width) = block * block.transpose() / count;
  }
  return out;
}

DrawsLaw::DrawsLaw(std::vector<std::shared_ptr<PriorGeometry>> geometries, Latents latents, Matrix draws,
                   Marginals weights)
    : PosteriorLaw(geometries.front()),
      geometries_(std::move(geometries)),
      latents_(std::move(latents)),
      latent_covariance_(latents_.covariance()),
      draws_(std::move(draws)),
      weights_(std::move(weights)) {
  for (const auto& geometry : geometries_)
    if (process_of(geometry->prior()) != nullptr) geometry->whiten();
  if (weights_.mean.size() == 0) weights_ = moments_of_draws(draws_, width());
}

Matrix DrawsLaw::kept() const {
  if (draws_.cols() <= most_kept) return draws_;
  Matrix out(draws_.rows(), most_kept);
  for (Index s = 0; s < most_kept; ++s) out.col(s) = draws_.col(s * draws_.cols() / most_kept);
  return out;
}

DrawsLaw::Seen DrawsLaw::see(const NewPoints& points, Index begin, Index end, const Matrix& draws) const {
  const Index c_count = width();
  const Index count = end - begin;
  const Index d = draws.rows() / c_count;
  Seen out{Matrix(count * c_count, draws.cols()), Matrix(count, c_count)};
  WhitenedBlock block;
  for (Index c = 0; c < c_count; ++c) {
    if (c == 0 || geometries_.size() > 1)
      block = geometries_[static_cast<std::size_t>(geometries_.size() > 1 ? c : 0)]->weight_rows(points, begin, end);
    // Copies of an input are one weight only where the geometry merges them; here it keeps them apart.
    Matrix of_c(d, draws.cols());
    for (Index j = 0; j < d; ++j) of_c.row(j) = draws.row(j * c_count + c);
    Matrix values = transposed_times(block.rows, of_c);
    values.colwise() += block.mean;
    if (latents_.mean.size() > 0 && std::holds_alternative<NewInputs>(points)) {
      // The function's own mean, of which the weights' rows hold a share already.
      const Vector missing = Vector::Ones(count) - Vector(block.rows.colwise().sum().transpose());
      values.colwise() += latents_.mean(c) * missing;
    }
    for (Index m = 0; m < count; ++m) out.values.row(m * c_count + c) = values.row(m);
    out.leftover.col(c) = block.leftover;
  }
  return out;
}

void DrawsLaw::add_leftover(const Matrix& leftover, Vector& blocks) const {
  const Index c_count = width();
  for (Index m = 0; m < leftover.rows(); ++m) {
    Eigen::Map<Matrix> block(blocks.data() + m * c_count * c_count, c_count, c_count);
    if (geometries_.size() > 1)
      block.diagonal() += leftover.row(m).transpose();
    else
      block += leftover(m, 0) * latent_covariance_;
  }
}

void DrawsLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  const Seen seen = see(points, begin, end, draws_);
  Marginals moments = moments_of_draws(seen.values, width());
  mean = std::move(moments.mean);
  variance = width() > 1 ? std::move(moments.covariance) : std::move(moments.variance);
  add_leftover(seen.leftover, variance);
}

std::vector<Marginals> DrawsLaw::by_draw(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  const Index c_count = width();
  const Matrix draws = kept();
  Vector blocks = Vector::Zero(count * c_count * c_count);
  Matrix values(count * c_count, draws.cols());
  constexpr Index points_at_once = 1024;
  Matrix leftover(count, c_count);
  for (Index begin = 0; begin < count; begin += points_at_once) {
    const Index size = std::min(points_at_once, count - begin);
    const Seen seen = see(points, begin, begin + size, draws);
    values.middleRows(begin * c_count, size * c_count) = seen.values;
    leftover.middleRows(begin, size) = seen.leftover;
  }
  add_leftover(leftover, blocks);
  std::vector<Marginals> out;
  for (Index s = 0; s < draws.cols(); ++s) {
    Marginals part{values.col(s), c_count > 1 ? diagonals(blocks, c_count) : blocks};
    if (c_count > 1) part.covariance = blocks;
    out.push_back(std::move(part));
  }
  return out;
}

Matrix DrawsLaw::joint_covariance(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  const Index c_count = width();
  const Seen seen = see(points, 0, count, draws_);
  const Matrix apart = seen.values.colwise() - Vector(seen.values.rowwise().mean());
  Matrix joint = times_transposed(apart, apart) / static_cast<double>(draws_.cols());
  if (!std::holds_alternative<NewInputs>(points)) return joint;
  // What the weights leave open is correlated between new inputs: K_new - g'g.
  for (Index c = 0; c < c_count; ++c) {
    if (c > 0 && geometries_.size() == 1) break;
    const PriorGeometry& geometry = *geometries_[static_cast<std::size_t>(c)];
    const Matrix rows = geometry.whitened(points, 0, count).rows;
    const Matrix open = geometry.prior_covariance(points) - transposed_times(rows, rows);
    for (Index j = 0; j < count; ++j)
      for (Index i = 0; i < count; ++i) {
        if (geometries_.size() > 1)
          joint(i * c_count + c, j * c_count + c) += open(i, j);
        else
          joint.block(i * c_count, j * c_count, c_count, c_count) += open(i, j) * latent_covariance_;
      }
  }
  return joint;
}

Matrix DrawsLaw::weight_root() const {
  return (draws_.colwise() - weights_.mean) / std::sqrt(static_cast<double>(draws_.cols()));
}

Matrix DrawsLaw::weight_deviations(int draws, Random& random) const {
  Matrix out(draws_.rows(), draws);
  std::vector<Index> order;
  for (Index s = 0; s < draws; ++s) {
    const auto place = static_cast<std::size_t>(s % draws_.cols());
    if (place == 0) order = random_order(draws_.cols(), random.bits());
    out.col(s) = draws_.col(order[place]) - weights_.mean;
  }
  return out;
}

void DrawsLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::draws;
  out.latents = latents_;
  out.draws = kept();
}

}  // namespace gaussmith
