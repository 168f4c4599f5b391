#include "engines/accurate_form.hpp"

#include "base/memory.hpp"
#include "engines/engines.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace gaussmith {

namespace {

/// Errors of rounding from which on they may be why a search did not reach its end.
constexpr double noticeable = 1e-8;
/// The precision form of a model with more weights than rows costs D^3 in place of N^3.
constexpr Index most_weights = 2000;

std::shared_ptr<Posterior::State> fit(const Model& model, const Method& method, const Run& run, int threads) {
  auto state = std::make_shared<Posterior::State>(model, method);
  state->threads = threads;
  state->seed = run.seed;
  std::visit([&]<class Options>(const Options& options) { Engine<Options>::run(options, run, *state); }, method);
  return state;
}

double rounding_of(const Report& report) {
  return RoundingError{.mean = report.mean_error, .variance = report.variance_error}.largest_moment();
}

/// Whether rounding is, or may be, what keeps a run from its end.
bool suffers_from_rounding(const Report& report) {
  const bool ended = report.status == Status::stalled || report.status == Status::numerical_failure;
  return report.status == Status::inaccurate || (ended && rounding_of(report) > noticeable);
}

/// The better the lower.
int rank_of(Status status) {
  switch (status) {
    case Status::converged:
      return 0;
    case Status::inaccurate:
      return 1;
    case Status::stalled:
      return 2;
    case Status::iteration_limit:
      return 3;
    default:
      return 4;
  }
}

/// Whether the second of two runs is the one to keep: by how they ended, then by what rounding or the search left open.
bool is_better(const Report& second, const Report& first) {
  if (second.status != first.status) return rank_of(second.status) < rank_of(first.status);
  const bool finished = rank_of(first.status) <= 1;
  return finished ? rounding_of(second) < rounding_of(first) : second.residual < first.residual;
}

/// Whether the other form could do better where the covariance form, chosen from shapes, is not accurate: it knows the
/// rows themselves, not their products, and one weight for equal inputs.
bool has_second_form(const Model& model, const Run& run) {
  if (run.form != CoreForm::automatic || !has_gaussian(model.prior) || model.latents.count > 1 ||
      choose_form(model, run.form).form != CoreForm::covariance)
    return false;
  // The first result is kept until the second is known to be better.
  const double bytes =
      model_memory(model) + core_memory(model, CoreForm::covariance) + core_memory(model, CoreForm::precision);
  const bool few = process_of(model.prior) != nullptr || model.dimension() <= std::max(most_weights, 2 * model.rows());
  return few && bytes <= machine_memory();
}

}  // namespace

std::shared_ptr<Posterior::State> fit_accurately(const Model& model, const Method& method, const Run& run,
                                                 int threads) {
  std::shared_ptr<Posterior::State> first;
  std::exception_ptr refused;
  try {
    first = fit(model, method, run, threads);
  } catch (const InvalidModel&) {
    if (!has_second_form(model, run)) throw;
    refused = std::current_exception();
  }
  if (first && !(suffers_from_rounding(first->report) && has_second_form(model, run))) return first;
  Run other = run;
  other.form = CoreForm::precision;
  std::shared_ptr<Posterior::State> second;
  try {
    second = fit(model, method, other, threads);
  } catch (const InvalidInput&) {
    if (refused) std::rethrow_exception(refused);
    return first;
  }
  if (first && !is_better(second->report, first->report)) return first;
  second->report.core =
      fmt::format("precision form, D = {}: more accurate than the covariance form", model.dimension());
  second->report.notes.push_back(
      first ? fmt::format("precision form in place of the covariance form, where rounding leaves {:.1g} of a standard "
                          "deviation or a variance open",
                          rounding_of(first->report))
            : std::string("precision form in place of the covariance form, which could not be factorised"));
  return second;
}

}  // namespace gaussmith
