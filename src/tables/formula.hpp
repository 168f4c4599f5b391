#pragma once
// Models in lme4's notation: y ~ age + sex + (1|patient) + gp(time).

#include "gaussmith/errors.hpp"
#include "gaussmith/kernel_expression.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// A Markov field over the cells of a column: besag(district), rw1(year), rw2(day, cyclic), rw2(year, 1990, 2030).
struct FieldTerm {
  std::string text;  ///< As it was written, spaces aside.
  std::string kind;  ///< "besag"
  std::string column;
  bool cyclic = false;
  std::optional<std::pair<double, double>> range = {};  ///< First and last node of a random walk.
};

/// The parts of a model that are added up.
struct ModelTerms {
  std::string target = {};
  bool intercept = true;
  std::vector<std::vector<std::string>> fixed = {};  ///< Columns, or the columns of an interaction.
  std::vector<GroupTerm> groups = {};
  std::vector<FieldTerm> fields = {};
  std::optional<KernelExpression> kernel = {};
};

/// "y ~ TERMS": 0, 1, - 1, a, a:b, a*b, (1|g) and its kin (g/h stands for g and g:h), kernels such as matern32(lon,
/// lat) and their products; gp(t) is se(t); fields such as besag(district). Columns in backticks may have any name.
/// Throws InvalidFormula.
[[nodiscard]] ModelTerms parse_formula(std::string_view text, Spelling spelling = Spelling::fields);

/// One field. Throws InvalidFormula.
[[nodiscard]] FieldTerm parse_field(std::string_view text, Spelling spelling = Spelling::fields);

/// The inside of a random term's brackets; several terms for nested groups. Throws InvalidFormula.
[[nodiscard]] std::vector<GroupTerm> parse_groups(std::string_view text, Spelling spelling = Spelling::fields);

}  // namespace gaussmith
