#pragma once
// Checks of what the user hands to observe(): every message says what, which row and what would be accepted.

#include "gaussmith/sites.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// The arguments in the order of the catalogue line, defaults filled in. Throws InvalidModel on unknown or missing
/// names, on sizes other than 1 and rows, and on values outside the argument's range.
[[nodiscard]] std::vector<SiteParameter> complete_arguments(const LikelihoodInfo& info, Index rows,
                                                            const SiteArguments& arguments);

/// Whether an argument of that kind may have this value.
[[nodiscard]] bool accepts(ArgumentKind kind, double value);

/// Throws InvalidModel unless every response is finite and of the likelihood's kind.
void check_responses(const LikelihoodInfo& info, const Vector& responses);

/// Throws InvalidModel: "student-t: response of row 3 is nan; expected a finite number".
[[noreturn]] void refuse_response(const std::string& likelihood, Index row, double value, const std::string& expected);

/// Throws InvalidOption unless the index names a learnable parameter of the block.
void check_learnable(const SiteBlock& block, int parameter);

/// Throws InvalidOption unless 0 < level < 1.
void check_level(double level);

}  // namespace gaussmith
