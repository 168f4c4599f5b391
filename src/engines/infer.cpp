#include "gaussmith/infer.hpp"

#include "base/parallel_blocks.hpp"
#include "engines/accurate_form.hpp"
#include "engines/engines.hpp"
#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace gaussmith {

namespace {

/// A precision this small beside that of its marginal is rounding of zero, not an outlier.
constexpr double negligible = 1e-6;

/// Sites of several latents say themselves which methods know them.
void check_latents(const Model& model, const Method& method) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    const bool named = std::find(traits.methods.begin(), traits.methods.end(), name_of(method)) != traits.methods.end();
    if (model.sites[b]->width() > 1 && !named && !is_sampler(method))
      throw InvalidOption(
          fmt::format("sites[{}] ({}, {} latents a row): {} does not take this likelihood; use {}, is, "
                      "ais, ess or nuts",
                      b, traits.name, model.sites[b]->width(), name_of(method), fmt::join(traits.methods, ", ")));
  }
}

/// Only kl sees rows through few values of a process.
void check_inducing(const Model& model, const Method& method) {
  if (inducing_of(model) == nullptr) return;
  if (!std::holds_alternative<Kl>(method))
    throw InvalidOption(
        fmt::format("prior.inducing: {} knows no inducing variables; use kl, or leave them out", name_of(method)));
}

/// Sites of other rows would start nothing, or start it at random.
void check_warm_start(const Model& model, const Posterior* warm) {
  if (warm == nullptr) return;
  const SiteApproximation& sites = warm->site_approximation();
  if (sites.rows() != model.rows())
    throw InvalidOption(fmt::format("warm_start: it has {} rows, the model {}; give a result of as many rows, or none",
                                    sites.rows(), model.rows()));
  if (sites.width != model.latents.count)
    throw InvalidOption(
        fmt::format("warm_start: it has {} latents a row, the model {}; give a result of as many, or none", sites.width,
                    model.latents.count));
}

}  // namespace

void check_method(const Model& model, const Method& method) {
  check_options(method);
  check_latents(model, method);
  check_inducing(model, method);
  std::visit([&]<class Options>(const Options&) { Engine<Options>::check(model); }, method);
}

Posterior infer(const Model& model, const Method& method, const Run& run) {
  check_options(method);
  model.validate();
  return infer_valid(model, method, run);
}

Posterior infer_valid(const Model& model, const Method& method, const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  if (run.threads < 0) throw InvalidOption(fmt::format("threads must be 0 (all) or more, found {}", run.threads));
  check_method(model, method);
  check_warm_start(model, run.warm_start);
  const BlasThreads blas(resolve_threads(run.threads));
  auto state = fit_accurately(model, method, run, blas.threads());
  const Vector strength = diagonals(state->sites.precision, state->sites.width);
  state->report.negative_precisions =
      static_cast<int>((strength.array() * state->rows().variance.array() < -negligible).count());
  state->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Posterior(std::move(state));
}

}  // namespace gaussmith
