#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/predict.hpp"
#include "linalg/blas_threads.hpp"
#include "posterior/prediction_points.hpp"

namespace gaussmith {

/// The fitted data with what can be computed once from it.
class Predictor::State {
 public:
  State(FittedGaussian fitted, int threads) : data(std::move(fitted)) {
    if (data.sites.empty() || data.sites.size() != data.row_arguments.size())
      throw InvalidModel("fitted: it needs a likelihood and its row-wise arguments for every block");
    law = make_law(data, threads);
  }

  FittedGaussian data;
  std::unique_ptr<PosteriorLaw> law;
};

Predictor::Predictor(FittedGaussian fitted, int threads) {
  const BlasThreads blas(resolve_threads(threads));
  state_ = std::make_shared<const State>(std::move(fitted), blas.threads());
}

const FittedGaussian& Predictor::fitted() const { return state_->data; }

Prediction Predictor::predict(const PredictionPoints& points, int threads) const {
  const BlasThreads blas(resolve_threads(threads));
  return predict_points(points, *state_->law, state_->data.sites, state_->data.row_arguments);
}

}  // namespace gaussmith
