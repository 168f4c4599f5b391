#include "io/svmlight.hpp"

#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace gaussmith {
namespace {

// SparseMatrix counts its entries in int.
constexpr std::size_t max_entries = std::numeric_limits<int>::max();

std::string_view next_token(std::string_view& rest) {
  rest = trim(rest);
  const std::string_view token = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(token.size());
  return token;
}

double label_value(const InputFile& file, std::string_view text) {
  if (text.find(':') != std::string_view::npos) {
    file.fail(file.line(), fmt::format("starts with {}; a label must come first", in_quotes(text)));
  }
  const Cell cell = parse_cell(text);
  if (cell.kind != CellKind::number) {
    file.fail(file.line(), fmt::format("label {} is not a finite number", in_quotes(text)));
  }
  return cell.value;
}

double feature_value(const InputFile& file, std::int64_t index, std::string_view text) {
  const Cell cell = parse_cell(text);
  if (cell.kind != CellKind::number) {
    file.fail(file.line(), fmt::format("feature {}: value {} is not a finite number", index, in_quotes(text)));
  }
  return cell.value;
}

std::int64_t feature_index(const InputFile& file, std::string_view text) {
  std::int64_t index = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, index);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) {
    file.fail(file.line(), fmt::format("feature index {} is not an integer", in_quotes(text)));
  }
  if (result.ec == std::errc::result_out_of_range || index > max_sparse_features) {
    file.fail(file.line(), fmt::format("feature index {} is too large; at most {} is accepted", in_quotes(text),
                                       max_sparse_features));
  }
  if (index < 1) file.fail(file.line(), fmt::format("feature index {}; indices count from 1", index));
  return index;
}

SparseMatrix assemble(const std::vector<int>& starts, const std::vector<int>& indices,
                      const std::vector<double>& values, Index columns) {
  SparseMatrix matrix(static_cast<Index>(starts.size()) - 1, columns);
  matrix.resizeNonZeros(static_cast<Index>(values.size()));
  std::copy(starts.begin(), starts.end(), matrix.outerIndexPtr());
  std::copy(indices.begin(), indices.end(), matrix.innerIndexPtr());
  std::copy(values.begin(), values.end(), matrix.valuePtr());
  return matrix;
}

}  // namespace

Table read_svmlight(InputFile& file, const TableOptions& options) {
  if (!options.text_columns.empty()) {
    throw InvalidOption(fmt::format("{}: a LIBSVM table has no text columns", file.name()));
  }
  if (options.features < 0 || options.features > max_sparse_features) {
    throw InvalidOption(fmt::format("number of features {}; 1 to {} are accepted, or 0 to take it from the file",
                                    options.features, max_sparse_features));
  }
  Table table;
  table.source = file.name();
  table.is_sparse = true;
  std::vector<double> labels, values;
  std::vector<int> starts{0}, indices;
  std::int64_t largest = 0;

  std::string_view line;
  while (file.next(line)) {
    std::string_view rest = line.substr(0, line.find('#'));
    const std::string_view label = next_token(rest);
    if (label.empty()) continue;
    if (static_cast<std::int64_t>(labels.size()) == max_table_cells) {
      file.fail(file.line(), fmt::format("more than {} rows, the most that is accepted", max_table_cells));
    }
    labels.push_back(label_value(file, label));
    table.lines.push_back(file.line());

    std::int64_t previous = 0;
    for (std::string_view token = next_token(rest); !token.empty(); token = next_token(rest)) {
      const std::size_t colon = token.find(':');
      if (colon == std::string_view::npos) {
        file.fail(file.line(), fmt::format("{} is not of the form index:value", in_quotes(token)));
      }
      if (token.substr(0, colon) == "qid") {
        file.fail(file.line(), "qid: marks ranking data, which is not supported; remove the qid entries");
      }
      const std::int64_t index = feature_index(file, token.substr(0, colon));
      if (index <= previous) {
        file.fail(file.line(), fmt::format("feature index {} after {}; indices must increase", index, previous));
      }
      previous = index;
      const double value = feature_value(file, index, token.substr(colon + 1));
      if (options.features > 0 && index > options.features) {
        if (!options.ignore_larger_indices) {
          file.fail(file.line(),
                    fmt::format("feature index {}, but the number of features is {}", index, options.features));
        }
        ++table.ignored_entries;
        continue;
      }
      largest = std::max(largest, index);
      if (value == 0.0) continue;
      if (values.size() == max_entries) {
        file.fail(file.line(), fmt::format("more than {} entries, the most that is accepted", max_entries));
      }
      indices.push_back(static_cast<int>(index - 1));
      values.push_back(value);
    }
    starts.push_back(static_cast<int>(values.size()));
  }
  if (labels.empty()) {
    throw InvalidFile(
        fmt::format("{}: the table is empty; lines of the form \"label index:value ...\" are expected", file.name()));
  }
  const std::int64_t columns = options.features > 0 ? options.features : largest;
  if (columns == 0) {
    throw InvalidFile(
        fmt::format("{}: no line has a feature; entries of the form index:value are expected", file.name()));
  }
  table.labels = Eigen::Map<const Vector>(labels.data(), static_cast<Index>(labels.size()));
  table.features = assemble(starts, indices, values, columns);
  return table;
}

Table parse_svmlight(std::string_view text, std::string name, const TableOptions& options) {
  InputFile file(text, std::move(name));
  return read_svmlight(file, options);
}

}  // namespace gaussmith
