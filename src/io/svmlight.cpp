#include "io/svmlight.hpp"

#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "io/plain_number.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
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

/// Entries as they come, in blocks that are given back one by one while the matrix is filled: at no time do two copies
/// of them exist. Blocks of full size are large enough for the system to take them back at once.
template <class Value>
class Entries {
 public:
  void push(int index, Value value) {
    if (filled_ == capacity_) add_block();
    blocks_.back().values[filled_] = value;
    blocks_.back().indices[filled_] = index;
    ++filled_;
  }
  [[nodiscard]] std::size_t size() const { return before_ + filled_; }

  /// Leaves nothing behind.
  [[nodiscard]] Design rows(const std::vector<int>& starts, Index columns) {
    Eigen::SparseMatrix<Value, Eigen::RowMajor> matrix(static_cast<Index>(starts.size()) - 1, columns);
    matrix.resizeNonZeros(static_cast<Index>(size()));
    std::copy(starts.begin(), starts.end(), matrix.outerIndexPtr());
    std::size_t done = 0;
    for (Block& block : blocks_) {
      const std::size_t count = &block == &blocks_.back() ? filled_ : block.size;
      std::copy_n(block.values, count, matrix.valuePtr() + done);
      std::copy_n(block.indices, count, matrix.innerIndexPtr() + done);
      done += count;
      block.bytes.reset();
    }
    return {std::move(matrix)};
  }

 private:
  static constexpr std::size_t smallest_block = std::size_t{1} << 12;
  static constexpr std::size_t largest_block = std::size_t{1} << 22;

  struct Block {
    std::size_t size;
    std::unique_ptr<std::byte[]> bytes;  // NOLINT(modernize-avoid-c-arrays): left uninitialised.
    Value* values;
    int* indices;
  };

  void add_block() {
    before_ += filled_;
    capacity_ = std::clamp(capacity_ * 2, smallest_block, largest_block);
    filled_ = 0;
    Block block{capacity_, std::make_unique_for_overwrite<std::byte[]>(capacity_ * (sizeof(Value) + sizeof(int))),
                nullptr, nullptr};
    block.values = reinterpret_cast<Value*>(block.bytes.get());
    block.indices = reinterpret_cast<int*>(block.bytes.get() + capacity_ * sizeof(Value));
    blocks_.push_back(std::move(block));
  }

  std::vector<Block> blocks_;
  std::size_t capacity_ = 0, filled_ = 0, before_ = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

struct Feature {
  std::int64_t index;
  double value;
};

/// "index:value" of plain digits at the start of [text, end); moves `text` behind it. False, without any move, for
/// everything else, right or wrong: that is for the careful reader.
bool read_plain_feature(const char*& text, const char* end, Feature& feature) {
  constexpr int most_digits = 9;
  const char* at = text;
  std::int64_t index = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    index = 10 * index + (*at - '0');
    if (at - text == most_digits) return false;
  }
  if (at == text || at == end || *at != ':' || index < 1 || index > max_sparse_features) return false;
  ++at;
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  double value = 0.0;
  at = read_plain_number(at, end, value);
  if (at == nullptr || (at != end && !is_blank(*at))) return false;
  feature = {index, negative ? -value : value};
  text = at;
  return true;
}

/// The same from any token, with a message for what is wrong.
Feature read_feature(const InputFile& file, std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos) {
    file.fail(file.line(), fmt::format("{} is not of the form index:value", in_quotes(token)));
  }
  if (token.substr(0, colon) == "qid") {
    file.fail(file.line(), "qid: marks ranking data, which is not supported; remove the qid entries");
  }
  const std::int64_t index = feature_index(file, token.substr(0, colon));
  return {index, feature_value(file, index, token.substr(colon + 1))};
}

template <class Value>
Table read_rows(InputFile& file, const TableOptions& options) {
  Table table;
  table.source = file.name();
  table.is_sparse = true;
  std::vector<double> labels;
  std::vector<int> starts{0};
  Entries<Value> entries;
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
    const char* at = rest.data();
    const char* const end = at + rest.size();
    while (true) {
      while (at != end && is_blank(*at)) ++at;
      if (at == end) break;
      Feature feature{};
      if (!read_plain_feature(at, end, feature)) {
        const char* const stop = std::find_if(at, end, is_blank);
        feature = read_feature(file, {at, static_cast<std::size_t>(stop - at)});
        at = stop;
      }
      const auto [index, value] = feature;
      if (index <= previous) {
        file.fail(file.line(), fmt::format("feature index {} after {}; indices must increase", index, previous));
      }
      previous = index;
      if (options.features > 0 && index > options.features) {
        if (!options.ignore_larger_indices) {
          file.fail(file.line(),
                    fmt::format("feature index {}, but the number of features is {}", index, options.features));
        }
        ++table.ignored_entries;
        continue;
      }
      largest = std::max(largest, index);
      if (std::abs(value) > static_cast<double>(std::numeric_limits<Value>::max())) {
        file.fail(
            file.line(),
            fmt::format("feature {}: {} is beyond single precision, which ends at {:.3g}; read in double precision",
                        index, number_text(value), std::numeric_limits<Value>::max()));
      }
      const auto stored = static_cast<Value>(value);
      if (stored == Value{0}) continue;
      if (entries.size() == max_entries) {
        file.fail(file.line(), fmt::format("more than {} entries, the most that is accepted", max_entries));
      }
      entries.push(static_cast<int>(index - 1), stored);
    }
    starts.push_back(static_cast<int>(entries.size()));
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
  table.features = entries.rows(starts, columns);
  return table;
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
  return options.single ? read_rows<float>(file, options) : read_rows<double>(file, options);
}

Table parse_svmlight(std::string_view text, std::string name, const TableOptions& options) {
  InputFile file(text, std::move(name));
  return read_svmlight(file, options);
}

}  // namespace gaussmith
