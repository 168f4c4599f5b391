#include "gaussmith/report.hpp"

#include <fmt/format.h>

namespace gaussmith {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::iteration_limit:
      return "iteration limit";
    case Status::stalled:
      return "stalled";
    case Status::inaccurate:
      return "inaccurate";
    case Status::numerical_failure:
      return "numerical failure";
    case Status::stopped:
      return "stopped";
  }
  return "unknown";
}

std::string_view to_string(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::exact:
      return "exact";
    case EvidenceKind::lower_bound:
      return "lower-bound";
    case EvidenceKind::approximation:
      return "approximation";
    case EvidenceKind::estimate:
      return "estimate";
  }
  return "unknown";
}

std::string Report::brief() const {
  return fmt::format("{} after {} iteration{}, residual {:.1e} (tolerance {:.1e}): {}", to_string(status), iterations,
                     iterations == 1 ? "" : "s", residual, tolerance, message);
}

}  // namespace gaussmith
