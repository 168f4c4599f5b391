#include "measurement/session_checks.hpp"

#include "base/memory.hpp"
#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace gaussmith {

namespace {

/// Matrices of D x D that a fit and the design after it hold at once.
constexpr double matrices = 6.0;

void check_groups(const CandidateRows& candidates) {
  std::vector<char> seen(static_cast<std::size_t>(candidates.rows.rows()), 0);
  for (std::size_t g = 0; g < candidates.groups.size(); ++g) {
    if (candidates.groups[g].empty()) throw InvalidModel(fmt::format("candidates: group {} has no rows", g));
    for (const Index row : candidates.groups[g]) {
      if (row < 0 || row >= candidates.rows.rows() || seen[static_cast<std::size_t>(row)] != 0)
        throw InvalidModel(
            fmt::format("candidates: group {} has row {}, which is not one of the {} rows or comes twice", g, row,
                        candidates.rows.rows()));
      seen[static_cast<std::size_t>(row)] = 1;
    }
  }
  for (std::size_t row = 0; row < seen.size(); ++row)
    if (seen[row] == 0) throw InvalidModel(fmt::format("candidates: row {} is in no group", row));
}

}  // namespace

void check_candidates(const CandidateRows& candidates, Index dimension) {
  if (candidates.rows.rows() == 0) throw InvalidModel("candidates: no rows; at least one is needed");
  if (candidates.rows.cols() != dimension)
    throw InvalidModel(
        fmt::format("candidates: rows of {} numbers, but the model has {} weights", candidates.rows.cols(), dimension));
  const auto [row, column] = candidates.rows.first_not_finite();
  if (row >= 0) throw InvalidModel(fmt::format("candidates: entry ({}, {}) is not a finite number", row, column));
  if (!candidates.groups.empty()) check_groups(candidates);
  const Vector length = candidates.rows.row_squares(Vector::Ones(dimension));
  for (Index group = 0; group < candidates.count(); ++group) {
    double square = candidates.groups.empty() ? length(group) : 0.0;
    if (!candidates.groups.empty())
      for (const Index member : candidates.groups[static_cast<std::size_t>(group)]) square += length(member);
    if (!(square > 0.0) || !std::isfinite(square))
      throw InvalidModel(fmt::format("candidates: {} {} has length zero, or one beyond the range of numbers",
                                     candidates.groups.empty() ? "row" : "group", group));
  }
}

void check_design(const Model& model, const Method& method, const DesignOptions& options) {
  if (!(options.noise_variance >= smallest_noise_variance && options.noise_variance <= largest_noise_variance))
    throw InvalidOption(fmt::format("the noise variance is {}; a number from {:g} to {:g} is accepted",
                                    options.noise_variance, smallest_noise_variance, largest_noise_variance));
  if (options.refit < 1) throw InvalidOption(fmt::format("refit is {}; 1 or more is accepted", options.refit));
  if (model.latents.count > 1 || inducing_of(model) != nullptr)
    throw InvalidModel("measurements are of weights with one latent a row, without inducing variables");
  if (is_sampler(method))
    throw InvalidOption(fmt::format(
        "method {}: design needs a Gaussian; kl, vb, ep, laplace, vmf and exact are accepted", name_of(method)));
  check_method(model, method);
  const auto d = static_cast<double>(model.dimension());
  if (const double bytes = 8.0 * matrices * d * d; bytes > machine_memory())
    throw InvalidOption(
        fmt::format("the covariance of {} weights and what is made of it need about {}, more than the "
                    "{} of this machine",
                    model.dimension(), memory_in_words(bytes), memory_in_words(machine_memory())));
  if (options.candidates) check_candidates(*options.candidates, model.dimension());
}

void check_measurements(const Matrix& rows, const Vector& values, Index dimension) {
  constexpr double largest = 1e100;  // Squares of it, over the noise variance, must remain numbers.
  if (rows.cols() != dimension)
    throw InvalidModel(
        fmt::format("measurements: rows of {} numbers, but the model has {} weights", rows.cols(), dimension));
  if (rows.rows() != values.size() || values.size() == 0)
    throw InvalidModel(
        fmt::format("measurements: {} values for {} rows; one a row is needed", values.size(), rows.rows()));
  for (Index i = 0; i < values.size(); ++i)
    if (!(std::abs(values(i)) <= largest) || !(rows.row(i).cwiseAbs().maxCoeff() <= largest))
      throw InvalidModel(
          fmt::format("measurement {}: its number and its row must be finite, at most {:g} in size", i, largest));
}

void check_measurement_state(const MeasurementState& state, const Model& model, const DesignOptions& options) {
  const Index n = state.measurements();
  const Index later = std::accumulate(state.later.begin(), state.later.end(), Index{0});
  const auto fits = [&](const SiteApproximation& sites) {
    return sites.rows() == 0 || (sites.rows() == model.rows() && sites.precision.size() == model.rows() &&
                                 sites.precision.allFinite() && sites.shift.allFinite());
  };
  const bool sized = n == 0 || (state.rows.rows() == model.dimension() && state.rows.cols() == n);
  if (!sized || state.fitted < 0 || state.fitted + later != n || !fits(state.start) || !fits(state.sites) ||
      !state.rows.allFinite() || !state.values.allFinite())
    throw InvalidModel(
        fmt::format("the state has {} measurements, {} of them fitted, of {} weights, which do not fit "
                    "together or the model's {} weights",
                    n, state.fitted, state.rows.rows(), model.dimension()));
  if (state.pending.rows.rows() > 0 &&
      (state.pending.rows.cols() != model.dimension() || !state.pending.rows.allFinite()))
    throw InvalidModel("the state proposes rows that do not fit the model");
  const Index groups = options.candidates ? options.candidates->count() : 0;
  for (const std::vector<Index>* list : {&state.taken, &state.pending.chosen})
    for (const Index group : *list)
      if (group < 0 || group >= groups)
        throw InvalidModel(fmt::format("the state names candidate {}, but there are {}", group, groups));
}

}  // namespace gaussmith
