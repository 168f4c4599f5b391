#pragma once
// The card, the quick checks and corrected marginals as parts of a result.

#include "gaussmith/files.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// The field `checks`.
[[nodiscard]] nlohmann::ordered_json checks_json(const QuickChecks& checks);

/// The field `trust`; `data_rows` bounds what has a number a row (0: all).
[[nodiscard]] nlohmann::ordered_json trust_json(const TrustCard& card, const Report& report, Index data_rows);

/// The field `marginals`.
[[nodiscard]] nlohmann::ordered_json marginals_json(const MarginalContent& marginals);

/// What a saved model keeps of a card.
[[nodiscard]] nlohmann::ordered_json saved_trust_json(const SavedTrust& trust);

}  // namespace gaussmith
