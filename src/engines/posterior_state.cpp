#include "engines/posterior_state.hpp"

namespace gaussmith {

void build_core(const Run& run, Posterior::State& state) {
  const FormChoice choice = choose_form(state.model, run.form);
  state.report.core = choice.reason;
  state.core = make_core(state.model, choice.form, state.threads);
}

}  // namespace gaussmith
