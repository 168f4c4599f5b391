#include "base/random_stream.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/measurement.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace gaussmith {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of the noise, beside the streams of a session.
constexpr std::uint64_t noise_stream = 0x6e6f697365u;

Vector measured(const Matrix& rows, const Vector& truth, double variance, std::uint64_t seed, Index before) {
  Vector values = rows * truth;
  for (Index k = 0; k < values.size(); ++k) {
    Random random = random_stream(seed + noise_stream, static_cast<std::uint64_t>(before + k));
    values(k) += std::sqrt(variance) * random.normal();
  }
  return values;
}

void check_simulation(const DesignSession& session, const MeasurementSimulation& simulation) {
  if (simulation.truth.size() != session.dimension())
    throw InvalidModel(fmt::format("the truth has {} numbers, but the model has {} weights", simulation.truth.size(),
                                   session.dimension()));
  if (!simulation.truth.allFinite()) throw InvalidModel("the truth has a number that is not finite");
  if (simulation.initial < 0 || simulation.steps < 0 || simulation.per_step < 1)
    throw InvalidOption(
        fmt::format("{} initial rows, {} steps of {} rows; 0 or more, 0 or more and 1 or more are accepted",
                    simulation.initial, simulation.steps, simulation.per_step));
  const DesignOptions& options = session.options();
  if (!options.candidates || options.candidates->repeats) return;
  const Index wanted = simulation.initial + simulation.steps * simulation.per_step;
  if (wanted > options.candidates->count())
    throw InvalidOption(
        fmt::format("{} initial candidates and {} steps of {} need {}, but there are {}; take fewer, or "
                    "allow repeats",
                    simulation.initial, simulation.steps, simulation.per_step, wanted, options.candidates->count()));
}

}  // namespace

void simulate_design(DesignSession& session, const MeasurementSimulation& simulation, std::uint64_t seed,
                     const MeasurementProgress& progress) {
  check_simulation(session, simulation);
  const double started = seconds_now() - session.state().seconds;
  const Index first = simulation.initial > 0 ? 1 : 0;  // The point of the initial rows.
  for (auto step = static_cast<Index>(session.state().curve.size()); step < first + simulation.steps; ++step) {
    const bool initial = step < first;
    const MeasurementProposal proposal =
        initial ? session.propose_at_random(simulation.initial) : session.propose(simulation.per_step);
    const Index before = session.state().iterations;
    session.observe(measured(proposal.rows, simulation.truth, session.options().noise_variance, seed,
                             session.state().measurements()));
    const DesignBelief& belief = session.belief();
    const double seconds = seconds_now() - started;
    session.add_point({session.state().measurements(), (belief.mean - simulation.truth).norm(), proposal.gain,
                       belief.log_evidence.value, session.state().iterations - before, seconds});
    session.set_seconds(seconds);
    if (!progress) continue;
    const Next next = progress(session.state());
    if (next == Next::discard) throw Interrupted();
    if (next == Next::accept) return;
  }
}

}  // namespace gaussmith
