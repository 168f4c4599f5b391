#include "gaussmith/errors.hpp"
#include "io/levels.hpp"
#include "io/table.hpp"
#include "io/text.hpp"
#include "sites/validate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace gaussmith {
namespace {

constexpr std::string_view accepted_labels = "accepted are -1 and 1, 0 and 1, 1 and 2, or two texts";

// The labels of a LIBSVM table under the same roof as a column of a CSV table.
Column target_column(const Table& table, const std::string& name) {
  check_shape(table);
  if (!table.is_sparse) {
    if (name.empty()) throw InvalidOption(fmt::format("{}: the name of the target column is needed", table.source));
    return table.column(name);
  }
  if (!name.empty() && name != "label") {
    throw InvalidOption(
        fmt::format("target {}: {} is LIBSVM text, whose target is the label at the start of each line; "
                    "leave the target out",
                    in_quotes(name), table.source));
  }
  return numeric_column("label", table.labels);
}

Vector checked_numbers(const Table& table, const Column& column, const std::function<bool(double)>& is_accepted,
                       std::string_view accepted) {
  check_numeric(table, column);
  for (Index row = 0; row < column.rows(); ++row) {
    if (!is_accepted(column.numbers[row])) {
      fail_cell(table, column, row, fmt::format("{} is not {}", number_text(column.numbers[row]), accepted));
    }
  }
  return column.numbers;
}

bool is_any(double) { return true; }
bool is_positive(double x) { return x > 0.0; }
bool is_count(double x) { return x >= 0.0 && x == std::floor(x); }

Vector encode_signs(const Table& table, const Column& column, const TargetCoding& coding) {
  check_no_missing(table, column);
  const std::vector<std::string> labels{coding.negative, coding.positive};
  const LevelLookup lookup(labels);
  Vector signs(column.rows());
  for (Index row = 0; row < column.rows(); ++row) {
    const auto level = lookup.find(column, row);
    if (!level) {
      fail_cell(
          table, column, row,
          fmt::format("label {} is unknown; the labels are {}", in_quotes(cell_text(column, row)), listed(labels)));
    }
    signs[row] = *level == 0 ? -1.0 : 1.0;
  }
  return signs;
}

void learn_signs(const Table& table, const Column& column, TargetCoding& coding) {
  check_no_missing(table, column);
  const std::vector<std::string> labels = distinct_cells(column);
  const std::string place = fmt::format("{}, column {}", table.name_in_messages(), in_quotes(column.name));
  if (labels.size() == 1) {
    throw InvalidFile(fmt::format("{}: all {} labels are {}; classification needs both classes", place, column.rows(),
                                  listed(labels)));
  }
  if (labels.size() > 2) {
    throw InvalidFile(fmt::format("{}: classification needs two kinds of labels, found {}: {}; {}", place,
                                  labels.size(), listed(labels, 10), accepted_labels));
  }
  coding.negative = labels[0];
  coding.positive = labels[1];
  if (column.type == ColumnType::numeric) {
    const double low = column.numbers.minCoeff(), high = column.numbers.maxCoeff();
    if (low == -1.0 && high == 1.0) return;
    if (!(low == 0.0 && high == 1.0) && !(low == 1.0 && high == 2.0)) {
      throw InvalidFile(fmt::format("{}: labels {}; {}", place, listed(labels), accepted_labels));
    }
  }
  coding.note =
      fmt::format("labels of {}: {} -> -1, {} -> 1", in_quotes(column.name), listed({labels[0]}), listed({labels[1]}));
}

}  // namespace

Vector TargetCoding::encode(const Table& table) const {
  const Column target = target_column(table, column);
  switch (kind) {
    case ResponseKind::sign:
      return encode_signs(table, target, *this);
    case ResponseKind::count:
      return checked_numbers(table, target, is_count, "a count; integers from 0 on are accepted");
    case ResponseKind::positive:
      return checked_numbers(table, target, is_positive, "positive; numbers above 0 are accepted");
    case ResponseKind::label:
    case ResponseKind::real:
      break;
  }
  return checked_numbers(table, target, is_any, "a number");
}

std::string TargetCoding::label(double response) const {
  if (kind != ResponseKind::sign) return number_text(response);
  return response > 0.0 ? positive : negative;
}

TargetCoding make_target_coding(const Table& table, const std::string& column, ResponseKind kind) {
  TargetCoding coding;
  coding.kind = kind;
  const Column target = target_column(table, column);
  if (!table.is_sparse) coding.column = column;
  if (kind == ResponseKind::sign) {
    learn_signs(table, target, coding);
  } else {
    static_cast<void>(coding.encode(table));
  }
  return coding;
}

Vector argument_column(const Table& table, std::string_view column, const SiteArgumentInfo& argument) {
  check_shape(table);
  if (!argument.column) {
    throw InvalidOption(fmt::format("{} cannot be given by a column of a table", argument.name));
  }
  const auto is_accepted = [&](double value) { return accepts(argument.kind, value); };
  return checked_numbers(table, table.column(column), is_accepted, argument.column->cell);
}

Vector weight_column(const Table& table, std::string_view column) {
  check_shape(table);
  return checked_numbers(table, table.column(column), is_positive, "a weight; numbers above 0 are accepted");
}

Vector event_column(const Table& table, std::string_view column) {
  check_shape(table);
  const auto is_flag = [](double x) { return x == 0.0 || x == 1.0; };
  const Vector events =
      checked_numbers(table, table.column(column), is_flag, "an event flag; 1 (event) or 0 (censored) are accepted");
  return 1.0 - events.array();
}

Vector number_column(const Table& table, std::string_view column) {
  check_shape(table);
  return checked_numbers(table, table.column(column), is_any, "a number");
}

}  // namespace gaussmith
