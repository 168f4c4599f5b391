#pragma once
// The rows of an additive model's weights: intercept, fixed effects, effects of groups.

#include "gaussmith/model.hpp"
#include "gaussmith/tables.hpp"

namespace gaussmith {

/// How many weights the terms have.
[[nodiscard]] Index weight_count(const TableCoding& coding);

/// Intercept and fixed effects, centred: rows x columns.
[[nodiscard]] Matrix fixed_rows(const TableCoding& coding, const Table& table);

enum class Groups {
  known,      ///< A level that was never seen has the effect 0.
  population  ///< Random effects and fields are left out for all rows.
};

/// Rows of all weights; dense without groups, unless fixed effects are wide (wide_rows.hpp), else sparse. `extra` are
/// further unit columns at the end, one a row: the values of a process at the rows themselves.
[[nodiscard]] Design additive_rows(const TableCoding& coding, const Table& table, Groups groups = Groups::known,
                                   Index extra = 0);

/// The prior variance of the effects that rows of unseen levels have, one a row, and how many rows there are.
struct UnseenLevels {
  Vector variance;
  Index rows = 0;
  Index first_row = -1;
  std::string first_level = {}, first_group = {};
};
[[nodiscard]] UnseenLevels unseen_levels(const TableCoding& coding, const Additive& prior, const Table& table);

}  // namespace gaussmith
