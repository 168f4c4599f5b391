#include "engines/engine_core.hpp"

#include "base/memory.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

namespace gaussmith {

std::string memory_way_out(const Model& model, CoreForm form) {
  if (form == CoreForm::covariance)
    return fmt::format("it grows with the square of the {} rows: take fewer of them", model.rows());
  return fmt::format("it grows with the square of the {} weights: take fewer of them{}", model.dimension(),
                     model.design.has_entries() ? ", or kl with kl.covariance=diagonal" : "");
}

std::shared_ptr<GaussianCore> build_core(const Run& run, Posterior::State& state) {
  const FormChoice choice = choose_form(state.model, run.form);
  const double bytes = model_memory(state.model) + core_memory(state.model, choice.form);
  if (bytes > machine_memory())
    throw InvalidOption(fmt::format("{} needs about {} for this model, more than the {} of this machine; {}",
                                    name_of(state.method), memory_in_words(bytes), memory_in_words(machine_memory()),
                                    memory_way_out(state.model, choice.form)));
  state.report.core = choice.reason;
  return make_core(state.model, choice.form, state.threads);
}

void settle_in_site_form(GaussianCore& core, const LatentPoint& mean, Posterior::State& state) {
  state.sites = core.sites();
  RowMarginals rows = core.marginals(mean);
  state.law = core.law(mean);
  state.law->know_rows(std::move(rows), state.sites.precision);
}

}  // namespace gaussmith
