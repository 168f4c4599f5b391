#pragma once
// Models in lme4's notation: y ~ age + sex + (1|patient) + gp(time).

#include "gaussmith/errors.hpp"
#include "gaussmith/kernel_expression.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// What stands inside the brackets of a random term: 1|g, x|g, x||g, 0 + x|g. Groups may be crossed, a:b.
struct GroupTerm {
  std::string text;                ///< As it was written, spaces aside.
  std::vector<std::string> group;  ///< Columns whose cells together name the level.
  bool intercept = true;
  std::string slope = {};   ///< Column; empty: none.
  bool correlated = false;  ///< Intercept and slope of a level are.
};

/// The parts of a model that are added up.
struct ModelTerms {
  std::string target = {};
  bool intercept = true;
  std::vector<std::vector<std::string>> fixed = {};  ///< Columns, or the columns of an interaction.
  std::vector<GroupTerm> groups = {};
  std::optional<KernelExpression> kernel = {};
};

/// "y ~ TERMS": 0, 1, - 1, a, a:b, a*b, (1|g) and its kin (g/h stands for g and g:h), kernels such as matern32(lon,
/// lat) and their products; gp(t) is se(t). Columns in backticks may have any name. Throws InvalidFormula.
[[nodiscard]] ModelTerms parse_formula(std::string_view text, Spelling spelling = Spelling::fields);

/// The inside of a random term's brackets; several terms for nested groups. Throws InvalidFormula.
[[nodiscard]] std::vector<GroupTerm> parse_groups(std::string_view text, Spelling spelling = Spelling::fields);

}  // namespace gaussmith
