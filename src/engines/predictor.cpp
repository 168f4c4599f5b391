#include "base/parallel_blocks.hpp"
#include "engines/prediction_points.hpp"
#include "gaussian/covariance_core.hpp"
#include "gaussian/precision_predict.hpp"
#include "gaussian/root_gaussian.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/predict.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

namespace gaussmith {

namespace {

std::unique_ptr<PosteriorGaussian> make_root(const FittedGaussian& data, std::shared_ptr<PriorGeometry> geometry) {
  const CovarianceRoot& covariance = data.covariance;
  const Index size = data.coordinates.size();
  if (covariance.root.cols() != size || (covariance.complement.size() > 0 && covariance.complement.cols() != size))
    throw InvalidModel(fmt::format("fitted: a root of {} columns and a complement of {} for {} coordinates",
                                   covariance.root.cols(), covariance.complement.cols(), size));
  const Vector entries = covariance.root.coeffs();
  if (!data.coordinates.allFinite() || !entries.allFinite() || !covariance.complement.allFinite() ||
      !(covariance.scale >= 0.0))
    throw InvalidModel("fitted: the mean and the root of the covariance must be finite");
  auto gaussian = std::make_unique<RootGaussian>(geometry, covariance);
  const Index expected = covariance.whitened ? geometry->rank() : geometry->dimension();
  if (size != expected)
    throw InvalidModel(fmt::format("fitted: {} coordinates for a prior of dimension {}", size, expected));
  return gaussian;
}

}  // namespace

/// The fitted data with what can be computed once from it.
class Predictor::State {
 public:
  State(FittedGaussian fitted, int threads) : data(std::move(fitted)) {
    geometry = std::make_shared<PriorGeometry>(data.prior, data.design, threads);
    if (data.sites.empty() || data.sites.size() != data.row_arguments.size())
      throw InvalidModel("fitted: it needs a likelihood and its row-wise arguments for every block");
    if (data.form == CoreForm::precision) {
      geometry->whiten();
      const Index rank = geometry->rank();
      if (data.coordinates.size() != rank || data.factor.rows() != rank || data.factor.cols() != rank)
        throw InvalidModel(fmt::format("fitted: {} coordinates and a {} x {} factor for a prior of rank {}",
                                       data.coordinates.size(), data.factor.rows(), data.factor.cols(), rank));
      if (!data.factor.allFinite() || !data.coordinates.allFinite() || (data.factor.diagonal().array() <= 0.0).any())
        throw InvalidModel("fitted: the factor must be finite with a positive diagonal");
      return;
    }
    if (data.form == CoreForm::root) {
      gaussian = make_root(data, geometry);
      point = {data.coordinates, {}};
      return;
    }
    const Index n = geometry->rows();
    if (data.dual.size() != n || data.precision.size() != n)
      throw InvalidModel(fmt::format("fitted: {} dual values and {} precisions for {} rows", data.dual.size(),
                                     data.precision.size(), n));
    if (!data.dual.allFinite() || !data.precision.allFinite())
      throw InvalidModel("fitted: dual values and precisions must be finite");
    auto core = std::make_unique<CovarianceCore>(geometry, Vector{});
    if (!core->factorise(data.precision))
      throw InvalidModel("fitted: the site precisions do not suit the prior covariance (not positive definite)");
    gaussian = std::move(core);
    point = {data.dual, {}};
  }

  FittedGaussian data;
  std::shared_ptr<PriorGeometry> geometry;
  std::unique_ptr<PosteriorGaussian> gaussian;  ///< Not in the precision form.
  LatentPoint point;
};

Predictor::Predictor(FittedGaussian fitted, int threads) {
  const BlasThreads blas(resolve_threads(threads));
  state_ = std::make_shared<const State>(std::move(fitted), resolve_threads(threads));
}

const FittedGaussian& Predictor::fitted() const { return state_->data; }

Prediction Predictor::predict(const PredictionPoints& points, int threads) const {
  const BlasThreads blas(resolve_threads(threads));
  const State& s = *state_;
  return predict_points(
      points, s.data.prior, s.geometry->dimension(), s.gaussian ? s.gaussian->numbers_per_point() : s.geometry->rows(),
      s.data.sites, s.data.row_arguments,
      [&](const NewPoints& at, Index begin, Index end, Vector& mean, Vector& variance) {
        if (s.gaussian)
          s.gaussian->predict(at, begin, end, s.point, mean, variance);
        else
          predict_from_precision(*s.geometry, s.data.factor, s.data.coordinates, at, begin, end, mean, variance);
      });
}

}  // namespace gaussmith
