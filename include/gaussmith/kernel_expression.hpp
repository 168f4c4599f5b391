#pragma once
// Kernels written as text: se-ard, matern32+linear, periodic*(se+white), se(age)+matern32(lon,lat).

#include "gaussmith/errors.hpp"
#include "gaussmith/kernels.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// A kernel before its parameters are complete: parse, set what is known, start the rest from data or leave it at the
/// defaults of the catalogue, build.
struct KernelExpression {
  std::string name;           ///< Of the catalogue; "sum" or "product" with terms.
  bool ard = false;           ///< One value per input column for every argument that accepts it.
  KernelArguments arguments;  ///< What was set explicitly.
  std::vector<KernelExpression> terms;
  std::vector<std::string> columns = {};  ///< Columns of a table that it sees, by name; empty: all features.
  std::vector<Index> places = {};         ///< The same as columns of the inputs, once these are known; empty: all.

  /// All columns that terms name, in the order of their first mention.
  [[nodiscard]] std::vector<std::string> named_columns() const;
  /// Whether some term names no columns and so sees all of them.
  [[nodiscard]] bool sees_all() const;
  /// Finds the places of named columns; `places_of` gives the columns of the inputs that a column became.
  void place_columns(const std::function<std::vector<Index>(const std::string&)>& places_of);

  /// Sets a parameter by its name below "kernel.": lengthscale, lengthscale[1], terms[0].signal_sd. Several values, or
  /// an index, make the argument ARD; `input_columns` is the number of input columns. False when there is no such
  /// parameter. Throws InvalidOption for a wrong number of values.
  bool set(std::string_view parameter, const std::vector<double>& values, Index input_columns,
           Spelling spelling = Spelling::fields);

  /// Starting values for learning where nothing was set: the response's scale for signal_sd (shared between the terms
  /// of a sum, and over the size of a row for linear), the spread of a column times sqrt(columns) for the length-scales
  /// of stationary kernels, the strongest period of the responses (of their inputs' range where there are none) for
  /// periodic. Further components on the same columns start apart: at a quarter of the length-scale each, at the next
  /// period of what the others leave.
  void start_from(const Matrix& inputs, double response_scale, const Vector& responses = {});

  /// The kernel over inputs of that many columns; what nothing set takes the defaults of the catalogue.
  [[nodiscard]] KernelHandle build(Index input_columns) const;

  /// What nothing has set yet, with the value it will have: "signal_sd = 1, lengthscale = 1".
  [[nodiscard]] std::string defaults() const;
};

/// Parses sums of products of names and brackets; products bind closer, NAME-ard has one value per input column,
/// NAME(a, b) sees the columns a and b; `a column` in backticks may have any name.
/// Throws InvalidOption with the position or the names accepted.
[[nodiscard]] KernelExpression parse_kernel(std::string_view text, Spelling spelling = Spelling::fields);

}  // namespace gaussmith
