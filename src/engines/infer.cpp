#include "gaussmith/infer.hpp"

#include "base/parallel_blocks.hpp"
#include "engines/accurate_form.hpp"
#include "engines/engines.hpp"
#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

#include <chrono>

namespace gaussmith {

namespace {

/// A precision this small beside that of its marginal is rounding of zero, not an outlier.
constexpr double negligible = 1e-6;

}  // namespace

Posterior infer(const Model& model, const Method& method, const Run& run) {
  check_options(method);
  model.validate();
  return infer_valid(model, method, run);
}

Posterior infer_valid(const Model& model, const Method& method, const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  if (run.threads < 0) throw InvalidOption(fmt::format("threads must be 0 (all) or more, found {}", run.threads));
  check_options(method);
  std::visit([&]<class Options>(const Options&) { Engine<Options>::check(model); }, method);
  const BlasThreads blas(resolve_threads(run.threads));
  auto state = fit_accurately(model, method, run, blas.threads());
  state->report.negative_precisions =
      static_cast<int>((state->sites.precision.array() * state->rows().variance.array() < -negligible).count());
  state->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Posterior(std::move(state));
}

}  // namespace gaussmith
