#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/measurement.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <vector>

namespace gaussmith {

namespace {

constexpr std::string_view separators = ", \t";

/// Appends the numbers of a line; commas with nothing between them are a missing number.
void append_numbers(const InputFile& file, std::string_view line, std::vector<double>& out) {
  const bool commas = line.find(',') != std::string_view::npos;
  std::size_t at = 0;
  while (at <= line.size()) {
    const std::size_t end = std::min(line.find_first_of(commas ? "," : separators, at), line.size());
    const std::string_view cell = trim(line.substr(at, end - at));
    at = end + 1;
    if (!commas && cell.empty()) continue;
    const Cell found = parse_cell(cell);
    if (found.kind != CellKind::number)
      file.fail(file.line(), fmt::format("{} is not a finite number; rows of numbers without a header are accepted",
                                         in_quotes(cell)));
    out.push_back(found.value);
  }
}

}  // namespace

Matrix read_number_rows(const std::filesystem::path& path) {
  InputFile file(path);
  std::vector<double> numbers;
  Index rows = 0;
  Index columns = 0;
  std::int64_t empty = 0;
  for (std::string_view line; file.next(line);) {
    if (trim(line).empty()) {
      if (empty == 0) empty = file.line();
      continue;
    }
    if (empty > 0) file.fail(empty, "an empty line among rows of numbers");
    const std::size_t before = numbers.size();
    append_numbers(file, trim(line), numbers);
    const auto found = static_cast<Index>(numbers.size() - before);
    if (rows == 0) columns = found;
    if (found != columns) file.fail(file.line(), fmt::format("{} numbers, but the first line has {}", found, columns));
    ++rows;
  }
  if (rows == 0) throw InvalidFile(fmt::format("{}: no numbers", file.name()));
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(numbers.data(), rows,
                                                                                                  columns);
}

std::string format_number_rows(const Matrix& rows) {
  std::string out;
  for (Index i = 0; i < rows.rows(); ++i)
    for (Index j = 0; j < rows.cols(); ++j) {
      out += number_text(rows(i, j));
      out += j + 1 < rows.cols() ? ',' : '\n';
    }
  return out;
}

}  // namespace gaussmith
