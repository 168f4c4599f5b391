#include "gaussian/root_law.hpp"

#include "model/prior.hpp"

#include <numeric>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// The share of entries from which on a root is faster as a dense matrix.
constexpr double densely_filled = 0.3;

Design some_rows(const Design& rows, Index begin, Index end) {
  if (begin == 0 && end == rows.rows()) return rows;
  std::vector<Index> chosen(static_cast<std::size_t>(end - begin));
  std::iota(chosen.begin(), chosen.end(), begin);
  return rows.select(chosen);
}

}  // namespace

RootLaw::RootLaw(const std::shared_ptr<PriorGeometry>& geometry, CovarianceRoot covariance, Vector coordinates)
    : PosteriorLaw(geometry), covariance_(std::move(covariance)), coordinates_(std::move(coordinates)) {
  if (covariance_.whitened || process_of(geometry->prior()) != nullptr) geometry->whiten();
  const auto size = static_cast<double>(covariance_.root.rows()) * static_cast<double>(covariance_.root.cols());
  const bool dense = static_cast<double>(covariance_.root.nonZeros()) > densely_filled * size;
  if (dense && !covariance_.whitened && covariance_.complement.size() == 0 && process_of(geometry->prior()) == nullptr)
    transposed_root_ = Matrix(covariance_.root.transpose());
}

WhitenedBlock RootLaw::rows_at(const NewPoints& points, Index begin, Index end) const {
  if (covariance_.whitened) return geometry_->whitened(points, begin, end);
  return geometry_->weight_rows(points, begin, end);
}

void RootLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  const auto* rows_of_weights = std::get_if<NewRows>(&points);
  if (rows_of_weights && !covariance_.whitened && rows_of_weights->rows.is_identity()) {
    // The weights themselves: columns of the root, without a D x D identity.
    mean = coordinates_.segment(begin, end - begin);
    Vector squares = Vector::Zero(covariance_.root.cols());
    for (Index i = 0; i < covariance_.root.outerSize(); ++i)
      for (SparseMatrix::InnerIterator it(covariance_.root, i); it; ++it) squares(it.col()) += it.value() * it.value();
    variance = squares.segment(begin, end - begin);
    if (covariance_.complement.size() > 0)
      variance.array() +=
          covariance_.scale * covariance_.scale *
          (1.0 - covariance_.complement.middleCols(begin, end - begin).colwise().squaredNorm().transpose().array())
              .max(0.0);
    return;
  }
  if (rows_of_weights && transposed_root_.size() > 0) {
    const Design rows = some_rows(rows_of_weights->rows, begin, end);
    mean = rows.times(coordinates_);
    variance = rows.times(transposed_root_).rowwise().squaredNorm();
    return;
  }
  const WhitenedBlock block = rows_at(points, begin, end);
  mean = block.mean + transposed_times(block.rows, coordinates_);
  variance = block.leftover + Matrix(covariance_.root * block.rows).colwise().squaredNorm().transpose();
  if (covariance_.complement.size() > 0)
    variance.array() +=
        covariance_.scale * covariance_.scale *
        (block.rows.colwise().squaredNorm() - times(covariance_.complement, block.rows).colwise().squaredNorm())
            .transpose()
            .array()
            .max(0.0);
}

Matrix RootLaw::joint_covariance(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  Matrix joint = Matrix::Zero(count, count);
  if (std::holds_alternative<NewInputs>(points)) {
    // What the weights leave open is correlated between new inputs: K_new - g'g.
    joint = geometry_->prior_covariance(points);
    add_gram(-1.0, geometry_->whitened(points, 0, count).rows, 1.0, joint);
  }
  const WhitenedBlock block = rows_at(points, 0, count);
  add_gram(1.0, Matrix(covariance_.root * block.rows), 1.0, joint);
  if (covariance_.complement.size() > 0) {
    const double square = covariance_.scale * covariance_.scale;
    add_gram(square, block.rows, 1.0, joint);
    add_gram(-square, times(covariance_.complement, block.rows), 1.0, joint);
  }
  mirror_lower(joint);
  return joint;
}

Matrix RootLaw::weight_root() const {
  const Index size = covariance_.root.cols();
  const Index rank = covariance_.root.rows();
  Matrix root = Matrix::Zero(size, rank + (covariance_.complement.size() > 0 ? size : 0));
  root.leftCols(rank) = Matrix(covariance_.root).transpose();
  if (covariance_.complement.size() > 0) {
    // I - P'P is its own square.
    Matrix projection = Matrix::Identity(size, size) - transposed_times(covariance_.complement, covariance_.complement);
    root.rightCols(size) = covariance_.scale * projection;
  }
  return covariance_.whitened ? geometry_->unwhiten(root) : root;
}

Matrix RootLaw::weight_deviations(int draws, Random& random) const {
  Matrix out = covariance_.root.transpose() * normal_matrix(covariance_.root.rows(), draws, random);
  if (covariance_.complement.size() > 0) {
    const Matrix z = normal_matrix(covariance_.root.cols(), draws, random);
    out += covariance_.scale * (z - transposed_times(covariance_.complement, times(covariance_.complement, z)));
  }
  return covariance_.whitened ? geometry_->unwhiten(out) : out;
}

void RootLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::root;
  out.coordinates = coordinates_;
  out.covariance = covariance_;
}

}  // namespace gaussmith
