#pragma once
// What a session refuses, before any work.

#include "gaussmith/measurement.hpp"

namespace gaussmith {

/// Throws InvalidModel or InvalidOption for what cannot be run. The model has been validated.
void check_design(const Model& model, const Method& method, const DesignOptions& options);
void check_candidates(const CandidateRows& candidates, Index dimension);
/// Throws InvalidModel for a state whose parts do not fit together or the model.
void check_measurement_state(const MeasurementState& state, const Model& model, const DesignOptions& options);
/// Throws InvalidModel for rows of another width, without length or not finite, and for values that are not theirs.
void check_measurements(const Matrix& rows, const Vector& values, Index dimension);

}  // namespace gaussmith
