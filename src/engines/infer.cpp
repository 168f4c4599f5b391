#include "gaussmith/infer.hpp"

#include "base/parallel_blocks.hpp"
#include "engines/engine.hpp"
#include "engines/leave_one_out.hpp"
#include "engines/prediction_points.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gaussmith {

namespace {

/// A precision this small beside that of its marginal is rounding of zero, not an outlier.
constexpr double negligible = 1e-6;
/// Matrices up to this size are not worth a second BLAS thread, which spins for a while after each call.
constexpr Index smallest_for_threads = 200;

}  // namespace

Posterior infer(const Model& model, const Method& method, const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  if (run.threads < 0) throw InvalidOption(fmt::format("threads must be 0 (all) or more, found {}", run.threads));
  check_options(method);
  model.validate();
  std::visit([&](const auto& m) { check_sites(m, model); }, method);

  auto state = std::make_shared<Posterior::State>(model, method);
  state->threads = resolve_threads(run.threads);
  const bool small = std::max(model.rows(), model.dimension()) <= smallest_for_threads;
  const BlasThreads blas(small ? 1 : state->threads);
  std::visit([&](const auto& m) { run_engine(m, run, *state); }, method);
  state->report.negative_precisions =
      static_cast<int>((state->sites.precision.array() * state->latent.variance.array() < -negligible).count());
  state->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Posterior(std::move(state));
}

Posterior::Posterior(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const Model& Posterior::model() const { return state_->model; }
const Method& Posterior::method() const { return state_->method; }
const Report& Posterior::report() const { return state_->report; }
const Evidence& Posterior::log_evidence() const { return state_->log_evidence; }
const Marginals& Posterior::latent() const { return state_->latent; }
const SiteApproximation& Posterior::sites() const { return state_->sites; }

Marginals Posterior::weights() const {
  const bool same = std::holds_alternative<Identity>(state_->model.design) && state_->model.offset.size() == 0;
  if (same) return state_->latent;
  const BlasThreads blas(state_->threads);
  const Design all = Identity{};
  const NewPoints points = NewRows{&all};
  const PosteriorGaussian& gaussian = state_->gaussian();
  return predict_in_blocks(gaussian.geometry().dimension(), gaussian.numbers_per_point(),
                           [&](Index begin, Index end, Vector& mean, Vector& variance) {
                             gaussian.predict(points, begin, end, state_->point, mean, variance);
                           });
}

LeaveOneOut Posterior::leave_one_out() const { return gaussmith::leave_one_out(*state_); }

Matrix Posterior::latent_covariance(const std::vector<Index>& rows) const {
  const BlasThreads blas(state_->threads);
  const Model& model = state_->model;
  for (const Index row : rows)
    if (row < 0 || row >= model.rows())
      throw InvalidOption(fmt::format("row {} does not exist; the model has rows 0 to {}", row, model.rows() - 1));
  // The chosen rows of the design, as a design of their own.
  const auto count = static_cast<Index>(rows.size());
  SparseMatrix chosen(count, model.dimension());
  Design selected;
  if (const auto* dense = std::get_if<Matrix>(&model.design)) {
    Matrix h(count, dense->cols());
    for (Index i = 0; i < count; ++i) h.row(i) = dense->row(rows[static_cast<std::size_t>(i)]);
    selected = std::move(h);
  } else {
    std::vector<Eigen::Triplet<double>> entries;
    for (Index i = 0; i < count; ++i) {
      const Index row = rows[static_cast<std::size_t>(i)];
      if (const auto* sparse = std::get_if<SparseMatrix>(&model.design))
        for (SparseMatrix::InnerIterator it(*sparse, row); it; ++it)
          entries.emplace_back(static_cast<int>(i), static_cast<int>(it.col()), it.value());
      else
        entries.emplace_back(static_cast<int>(i), static_cast<int>(row), 1.0);
    }
    chosen.setFromTriplets(entries.begin(), entries.end());
    selected = std::move(chosen);
  }
  return state_->gaussian().joint_covariance(NewRows{&selected});
}

Matrix Posterior::sample_weights(int draws, std::uint64_t seed) const {
  if (draws < 1) throw InvalidOption(fmt::format("draws must be at least 1, found {}", draws));
  const BlasThreads blas(state_->threads);
  Random random(seed);
  Matrix w = state_->gaussian().weight_deviations(draws, random);
  w.colwise() += weights().mean;
  return w;
}

std::map<std::string, double, std::less<>> Posterior::gradient() const {
  const BlasThreads blas(state_->threads);
  return std::visit([&](const auto& m) { return evidence_gradient(m, *state_); }, state_->method);
}

FittedGaussian Posterior::fitted() const {
  FittedGaussian fitted;
  fitted.prior = state_->model.prior;
  std::tie(fitted.sites, fitted.row_arguments) = response_prototypes(state_->model.sites);
  state_->gaussian().describe(state_->point, fitted);
  return fitted;
}

Prediction Posterior::predict(const PredictionPoints& points) const {
  const BlasThreads blas(state_->threads);
  const auto [sites, row_arguments] = response_prototypes(state_->model.sites);
  return predict_points(points, state_->model.prior, state_->model.dimension(), state_->gaussian().numbers_per_point(),
                        sites, row_arguments,
                        [&](const NewPoints& at, Index begin, Index end, Vector& mean, Vector& variance) {
                          state_->gaussian().predict(at, begin, end, state_->point, mean, variance);
                        });
}

}  // namespace gaussmith
