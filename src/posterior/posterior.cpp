#include "gaussmith/infer.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "linalg/blas_threads.hpp"
#include "posterior/leave_one_out.hpp"
#include "posterior/posterior_state.hpp"
#include "posterior/prediction_points.hpp"

#include <fmt/format.h>

namespace gaussmith {

Posterior::Posterior(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const Model& Posterior::model() const { return state_->model; }
const Method& Posterior::method() const { return state_->method; }
const Report& Posterior::report() const { return state_->report; }
const Evidence& Posterior::log_evidence() const { return state_->log_evidence; }
bool is_sampler(const Method& method) {
  return std::holds_alternative<ImportanceSampling>(method) || std::holds_alternative<AnnealedImportance>(method) ||
         std::holds_alternative<EllipticalSlices>(method) || std::holds_alternative<NoUTurn>(method);
}

const Marginals& Posterior::latent() const { return state_->rows(); }
const SiteApproximation& Posterior::site_approximation() const { return state_->sites; }

Marginals Posterior::weights() const {
  if (state_->model.design.is_identity() && state_->model.offset.size() == 0) return state_->rows();
  const BlasThreads blas(state_->threads);
  Marginals weights = state_->law->weights();
  // Rows that are weights know their variances better than differences do.
  if (state_->model.design.is_identity()) weights.variance = state_->rows().variance;
  return weights;
}

LeaveOneOut Posterior::leave_one_out() const { return gaussmith::leave_one_out(*state_); }

Matrix Posterior::latent_covariance(const std::vector<Index>& rows) const {
  const BlasThreads blas(state_->threads);
  const Model& model = state_->model;
  for (const Index row : rows)
    if (row < 0 || row >= model.rows())
      throw InvalidOption(fmt::format("row {} does not exist; the model has rows 0 to {}", row, model.rows() - 1));
  return state_->law->joint_covariance(NewRows{model.design.sized(model.dimension()).select(rows)});
}

Matrix Posterior::sample_weights(int draws, std::uint64_t seed) const {
  if (draws < 1) throw InvalidOption(fmt::format("draws must be at least 1, found {}", draws));
  const BlasThreads blas(state_->threads);
  Random random(seed);
  return state_->law->sample_weights(draws, random);
}

std::map<std::string, double, std::less<>> Posterior::gradient() const {
  const BlasThreads blas(state_->threads);
  return state_->gradient();
}

const std::optional<MixtureScales>& Posterior::scales() const { return state_->scales; }

double Posterior::gradient_error() const { return state_->gradient_error; }

FittedGaussian Posterior::fitted() const {
  FittedGaussian fitted;
  fitted.prior = state_->model.prior;
  std::tie(fitted.sites, fitted.row_arguments) = response_prototypes(state_->model.sites);
  state_->law->describe(fitted);
  return fitted;
}

Prediction Posterior::predict(const PredictionPoints& points) const {
  const BlasThreads blas(state_->threads);
  const auto [sites, row_arguments] = response_prototypes(state_->model.sites);
  return predict_points(points, *state_->law, sites, row_arguments);
}

}  // namespace gaussmith
