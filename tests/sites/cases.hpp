#pragma once
// The likelihoods that every table-driven test runs over.

#include "gaussmith/sites.hpp"

#include <string>
#include <vector>

namespace gaussmith::testing {

/// A likelihood with responses and arguments in an ordinary range.
struct SiteCase {
  std::string likelihood;
  Vector responses;
  SiteArguments arguments;

  [[nodiscard]] Sites sites() const { return observe(likelihood, responses, arguments); }
};

[[nodiscard]] const std::vector<SiteCase>& site_cases();

}  // namespace gaussmith::testing
