#include "gaussmith/errors.hpp"
#include "io/levels.hpp"
#include "io/table.hpp"
#include "io/text.hpp"
#include "sites/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// The places of the cells among the labels.
Vector encode_labels(const Table& table, const Column& column, const std::vector<std::string>& labels) {
  check_no_missing(table, column);
  const LevelLookup lookup(labels);
  Vector places(column.rows());
  for (Index row = 0; row < column.rows(); ++row) {
    const auto level = lookup.find(column, row);
    if (!level) {
      fail_cell(
          table, column, row,
          fmt::format("label {} is unknown; the labels are {}", in_quotes(cell_text(column, row)), listed(labels)));
    }
    places[row] = static_cast<double>(*level);
  }
  return places;
}

Vector encode_signs(const Table& table, const Column& column, const TargetCoding& coding) {
  return encode_labels(table, column, {coding.negative, coding.positive}).unaryExpr([](double place) {
    return place == 0.0 ? -1.0 : 1.0;
  });
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
    throw InvalidFile(
        fmt::format("{}: classification needs two kinds of labels, found {}: {}; {}; several classes are for the "
                    "likelihoods multinomial-logit and multinomial-probit",
                    place, labels.size(), listed(labels, 10), accepted_labels));
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

/// Names and order that the user gives.
void check_classes(const std::vector<std::string>& classes) {
  if (classes.size() < 2) {
    throw InvalidOption(fmt::format("classes: found {}; expected two names or more", listed(classes)));
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].empty()) throw InvalidOption("classes: a name is empty; expected names separated by commas");
    for (std::size_t j = 0; j < i; ++j) {
      if (classes[i] == classes[j]) {
        throw InvalidOption(fmt::format("classes: {} is named twice", in_quotes(classes[i])));
      }
    }
  }
}

void learn_classes(const Table& table, const Column& column, const std::vector<std::string>& given,
                   TargetCoding& coding) {
  check_no_missing(table, column);
  const std::string accepted =
      given.empty() ? "integers or texts are accepted" : fmt::format("the labels are {}", listed(given));
  for (Index row = 0; row < column.rows() && column.type == ColumnType::numeric; ++row) {
    if (column.numbers[row] != std::floor(column.numbers[row])) {
      fail_cell(table, column, row, fmt::format("{} is not a label; {}", number_text(column.numbers[row]), accepted));
    }
  }
  const std::vector<std::string> labels = distinct_cells(column);
  coding.classes = given.empty() ? labels : given;
  if (!given.empty()) static_cast<void>(encode_labels(table, column, given));
  const std::string last_place = fmt::format("{}, column {}", table.where(column.rows() - 1), in_quotes(column.name));
  if (coding.classes.size() < 2) {
    throw InvalidFile(
        fmt::format("{}: all {} labels up to here are {}; several classes are needed, or the option classes to name "
                    "those without rows",
                    last_place, column.rows(), listed(labels)));
  }
  if (static_cast<Index>(labels.size()) == column.rows()) {
    throw InvalidFile(fmt::format(
        "{}: up to here each of the {} rows has a label of its own ({}); the rows of a class share one label",
        last_place, column.rows(), listed(labels, 5)));
  }
  constexpr std::size_t most = 10;
  coding.note = fmt::format("labels of {}:", in_quotes(column.name));
  for (std::size_t c = 0; c < std::min(most, coding.classes.size()); ++c) {
    coding.note += fmt::format("{} {} -> {}", c > 0 ? "," : "", listed({coding.classes[c]}), c);
  }
  if (coding.classes.size() > most) coding.note += fmt::format(" and {} more", coding.classes.size() - most);
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
      return encode_labels(table, target, classes);
    case ResponseKind::real:
      break;
  }
  return checked_numbers(table, target, is_any, "a number");
}

std::string TargetCoding::label(double response) const {
  if (kind == ResponseKind::label) return classes.at(static_cast<std::size_t>(response));
  if (kind != ResponseKind::sign) return number_text(response);
  return response > 0.0 ? positive : negative;
}

TargetCoding make_target_coding(const Table& table, const std::string& column, ResponseKind kind,
                                const std::vector<std::string>& classes) {
  if (!classes.empty()) check_classes(classes);
  TargetCoding coding;
  coding.kind = kind;
  const Column target = target_column(table, column);
  if (!table.is_sparse) coding.column = column;
  if (kind == ResponseKind::sign) {
    learn_signs(table, target, coding);
  } else if (kind == ResponseKind::label) {
    learn_classes(table, target, classes, coding);
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
