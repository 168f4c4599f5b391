#include "io/csv.hpp"

#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "io/column_checks.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace gaussmith {
namespace {

// Splits the lines of a file into records; cells live in one buffer that is used again for the next record.
class RecordReader {
 public:
  RecordReader(InputFile& file, TableFormat format)
      : file_(file),
        separator_(format == TableFormat::tsv ? '\t' : ','),
        look_for_tabs_(format == TableFormat::csv_or_tsv) {}

  // The next record, false at the end.
  bool next() {
    if (!next_line()) return false;
    first_line_ = file_.line();
    buffer_.clear();
    ends_.clear();
    count_ = 0;
    any_quotes_ = false;
    position_ = 0;
    while (read_cell()) {
    }
    return true;
  }

  // Cells of the record; beyond max_table_columns they are counted but not kept.
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::string_view cell(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(buffer_).substr(begin, ends_[i] - begin);
  }
  [[nodiscard]] std::int64_t line() const { return first_line_; }
  [[nodiscard]] bool is_blank() const { return count_ == 1 && !any_quotes_ && buffer_.empty(); }
  [[nodiscard]] bool any_quotes() const { return any_quotes_; }
  [[nodiscard]] char separator() const { return separator_; }

 private:
  bool next_line() {
    if (!file_.next(line_)) return false;
    if (!is_valid_utf8(line_)) file_.fail(file_.line(), "is not valid UTF-8; save the table as UTF-8 text");
    if (look_for_tabs_ && !trim(line_).empty()) {
      separator_ = trim(line_).find('\t') == std::string_view::npos ? ',' : '\t';
      look_for_tabs_ = false;
    }
    return true;
  }

  void skip_spaces() {
    while (position_ < line_.size() && (line_[position_] == ' ' || (line_[position_] == '\t' && separator_ != '\t'))) {
      ++position_;
    }
  }

  void end_cell() {
    ++count_;
    if (count_ <= max_table_columns) {
      ends_.push_back(buffer_.size());
    } else if (!ends_.empty()) {
      buffer_.resize(ends_.back());
    }
  }

  // Reads one cell and the separator after it; false if the record ends instead.
  bool read_cell() {
    const std::size_t start = position_;
    skip_spaces();
    if (position_ < line_.size() && line_[position_] == '"') {
      read_quoted();
    } else {
      position_ = start;
      read_bare();
    }
    end_cell();
    if (position_ >= line_.size()) return false;
    ++position_;
    return true;
  }

  void read_bare() {
    const std::size_t end = std::min(line_.find(separator_, position_), line_.size());
    const std::string_view cell = trim(line_.substr(position_, end - position_));
    if (cell.find('"') != std::string_view::npos) {
      file_.fail(file_.line(), fmt::format("cell {} has a quote inside bare text; quote the whole cell and double the "
                                           "quotes in it",
                                           count_ + 1));
    }
    if (cell.find('\r') != std::string_view::npos) {
      file_.fail(file_.line(), "has a carriage return in the middle; lines must end in LF or CRLF");
    }
    buffer_ += cell;
    position_ = end;
  }

  void read_quoted() {
    any_quotes_ = true;
    const std::int64_t opened = file_.line();
    const std::size_t begin = buffer_.size();
    ++position_;
    for (;;) {
      const std::size_t quote = line_.find('"', position_);
      if (quote == std::string_view::npos) {
        buffer_ += line_.substr(position_);
        buffer_ += '\n';
        if (buffer_.size() - begin > max_line_bytes) {
          file_.fail(opened, fmt::format("a quoted cell goes on for more than {} MiB; is its closing quote missing?",
                                         max_line_bytes >> 20));
        }
        if (!next_line()) file_.fail(opened, "a quoted cell begins here and never ends; its closing quote is missing");
        position_ = 0;
        continue;
      }
      buffer_ += line_.substr(position_, quote - position_);
      position_ = quote + 1;
      if (position_ == line_.size() || line_[position_] != '"') break;
      buffer_ += '"';
      ++position_;
    }
    skip_spaces();
    if (position_ < line_.size() && line_[position_] != separator_) {
      file_.fail(file_.line(), fmt::format("cell {} has text after its closing quote; a {} or the end of the line "
                                           "is expected there",
                                           count_ + 1, separator_ == ',' ? "comma" : "tab"));
    }
  }

  InputFile& file_;
  char separator_;
  bool look_for_tabs_;  // Until the first line that is not blank.
  std::string_view line_;
  std::size_t position_ = 0;
  std::string buffer_;
  std::vector<std::size_t> ends_;
  std::int64_t count_ = 0;
  std::int64_t first_line_ = 0;
  bool any_quotes_ = false;
};

// A column while it is read. The text of every cell is kept: whether the column is numeric is known only at the end.
struct ColumnBuilder {
  std::string name;
  std::string bytes;
  std::vector<std::uint32_t> lengths;  // max_line_bytes fits; offsets would double the memory.
  std::vector<double> numbers;
  std::int64_t first_text = -1;
  std::int64_t first_infinite = -1;

  void add(std::string_view text) {
    const Cell cell = parse_cell(text);
    const auto row = static_cast<std::int64_t>(lengths.size());
    if (cell.kind == CellKind::text && first_text < 0) first_text = row;
    if (cell.kind == CellKind::infinite && first_infinite < 0) first_infinite = row;
    if (cell.kind == CellKind::missing) text = {};
    bytes += text;
    lengths.push_back(static_cast<std::uint32_t>(text.size()));
    if (first_text < 0) numbers.push_back(cell.value);
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> out;
    out.reserve(lengths.size());
    std::size_t begin = 0;
    for (const std::uint32_t length : lengths) {
      out.emplace_back(bytes, begin, length);
      begin += length;
    }
    return out;
  }
};

std::vector<ColumnBuilder> read_header(InputFile& file, RecordReader& record) {
  do {
    if (!record.next()) {
      throw InvalidFile(
          fmt::format("{}: the table is empty; a header line with column names is expected", file.name()));
    }
  } while (record.is_blank());
  if (record.count() > max_table_columns) {
    file.fail(record.line(), fmt::format("{} columns; at most {} are accepted", record.count(), max_table_columns));
  }
  if (record.count() == 1 && !record.any_quotes()) {
    const char* wanted = record.separator() == ',' ? "comma" : "tab";
    for (const auto& [separator, word] :
         {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}, std::pair{',', "commas"}}) {
      const auto found = std::count(record.cell(0).begin(), record.cell(0).end(), separator);
      if (found > 0) {
        file.fail(record.line(),
                  fmt::format("the header has {} {} and no {}; columns must be separated by commas, or by tabs in a "
                              "file named .tsv",
                              found, word, wanted));
      }
    }
  }
  std::vector<ColumnBuilder> columns(static_cast<std::size_t>(record.count()));
  std::vector<std::string> names;
  for (std::size_t j = 0; j < columns.size(); ++j) names.emplace_back(trim(record.cell(j)));
  if (looks_like_data(names)) {
    file.fail(record.line(),
              fmt::format("holds only numbers ({}) where the names of the columns are expected; give the "
                          "table a header",
                          listed(names, 3)));
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    columns[j].name = names[j];
    if (columns[j].name.empty()) {
      file.fail(record.line(), fmt::format("column {} of {} has no name", j + 1, columns.size()));
    }
    const auto [first, is_new] = seen.emplace(columns[j].name, j);
    if (!is_new) {
      file.fail(record.line(), fmt::format("the name {} stands over columns {} and {}; names must differ",
                                           in_quotes(columns[j].name), first->second + 1, j + 1));
    }
  }
  return columns;
}

Column finish(const InputFile& file, ColumnBuilder&& builder, const std::vector<std::int64_t>& lines, bool as_text) {
  Column column;
  column.name = std::move(builder.name);
  const bool numeric = builder.first_text < 0 && !as_text;
  if (numeric && builder.first_infinite >= 0) {
    const auto row = static_cast<std::size_t>(builder.first_infinite);
    file.fail(lines[row], fmt::format("column {}: {} is not a finite number", in_quotes(column.name),
                                      in_quotes(builder.texts()[row])));
  }
  if (numeric) {
    column.numbers = Eigen::Map<const Vector>(builder.numbers.data(), static_cast<Index>(builder.numbers.size()));
    return column;
  }
  column.type = ColumnType::text;
  column.first_text_row = builder.first_text;
  column.texts = builder.texts();
  return column;
}

}  // namespace

Table read_csv(InputFile& file, const TableOptions& options) {
  RecordReader record(file, options.format);
  std::vector<ColumnBuilder> columns = read_header(file, record);
  const auto width = static_cast<std::int64_t>(columns.size());

  Table table;
  table.source = file.name();
  std::vector<std::int64_t> blank_lines;
  const auto begin_row = [&](std::int64_t line) {
    if (static_cast<std::int64_t>(table.lines.size() + 1) * width > max_table_cells) {
      file.fail(line, fmt::format("the table has more than {} cells, the most that is accepted", max_table_cells));
    }
    table.lines.push_back(line);
  };
  while (record.next()) {
    if (record.is_blank()) {
      if (width == 1 && static_cast<std::int64_t>(blank_lines.size()) < max_table_cells) {
        blank_lines.push_back(record.line());
      }
      continue;
    }
    if (record.count() != width) {
      file.fail(record.line(), fmt::format("found {} cells, expected {} as in the header", record.count(), width));
    }
    for (const std::int64_t line : blank_lines) {
      begin_row(line);
      columns[0].add({});
    }
    blank_lines.clear();
    begin_row(record.line());
    for (std::size_t j = 0; j < columns.size(); ++j) columns[j].add(record.cell(j));
  }
  if (table.lines.empty()) {
    throw InvalidFile(fmt::format("{}: the table is empty; it has a header but no rows", file.name()));
  }

  std::vector<std::string> text_columns = options.text_columns;
  std::sort(text_columns.begin(), text_columns.end());
  for (ColumnBuilder& column : columns) {
    const bool asked = std::binary_search(text_columns.begin(), text_columns.end(), column.name);
    const bool verbatim = std::find(options.verbatim_columns.begin(), options.verbatim_columns.end(), column.name) !=
                          options.verbatim_columns.end();
    table.columns.push_back(finish(file, std::move(column), table.lines, asked || verbatim));
    table.columns.back().categorical = asked;
    column = {};
  }
  for (const std::string& name : text_columns) static_cast<void>(table.column(name));
  return table;
}

Table parse_csv(std::string_view text, std::string name, const TableOptions& options) {
  InputFile file(text, std::move(name));
  return read_csv(file, options);
}

}  // namespace gaussmith
