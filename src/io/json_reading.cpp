#include "io/json_reading.hpp"

#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

namespace gaussmith {

namespace {

constexpr int max_depth = 64;

const char* kind_of(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "an array";
    case nlohmann::json::value_t::string:
      return "text";
    case nlohmann::json::value_t::boolean:
      return "true or false";
    default:
      return "a number";
  }
}

/// The part of nlohmann's message that a user needs, on one line.
std::string plain_cause(const std::string& what) {
  std::string cause = what;
  if (const auto end = cause.find("] "); end != std::string::npos) {
    cause.erase(0, end + 2);
  }
  if (const auto start = cause.find("syntax error"); start != std::string::npos) {
    cause.erase(0, start);
  }
  std::replace_if(
      cause.begin(), cause.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  constexpr std::size_t longest = 160;
  if (cause.size() > longest) {
    cause = cause.substr(0, longest) + "...";
  }
  return cause;
}

std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  // The parser itself keeps the last of repeated keys and nests without limit; both are caught on the way.
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > max_depth) {
      throw InvalidFile(fmt::format("{}: nested deeper than {} levels", file, max_depth));
    }
    if (event == Event::object_start) {
      keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw InvalidFile(fmt::format("{}: the field {} is given twice in one object", file, in_quotes(key)));
      }
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), watch);
  } catch (const nlohmann::json::parse_error& error) {
    throw InvalidFile(
        fmt::format("{}: not valid JSON at {}: {}", file, position(text, error.byte), plain_cause(error.what())));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidFile(fmt::format("{}: {}; numbers must fit in double precision", file, plain_cause(error.what())));
  }
}

std::string first_bytes(const std::filesystem::path& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  constexpr std::string_view gzip_start = "\x1f\x8b";
  return bytes.starts_with(gzip_start) ? std::string() : bytes;
}

std::string list_of(const std::vector<std::string>& names, std::string_view last) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all += i == 0 ? "" : i + 1 == names.size() ? std::string(last) : ", ";
    all += names[i];
  }
  return all;
}

std::string JsonNode::prefix() const { return path_.empty() ? *file_ + ": " : *file_ + ": " + path_ + ": "; }

void JsonNode::fail(const std::string& message) const { throw InvalidFile(prefix() + message); }

void JsonNode::expect_fields(std::initializer_list<std::string_view> accepted) const {
  expect_fields(std::vector<std::string>(accepted.begin(), accepted.end()));
}

void JsonNode::expect_fields(const std::vector<std::string>& accepted) const {
  if (!value_->is_object()) {
    fail(fmt::format("expected an object with the fields {}, found {}", list_of(accepted, " and "), kind_of(*value_)));
  }
  for (const auto& [key, value] : value_->items()) {
    if (std::find(accepted.begin(), accepted.end(), key) == accepted.end()) {
      fail(fmt::format("unknown field {}{}; accepted: {}", in_quotes(key), suggestion(key, accepted),
                       list_of(accepted, ", ")));
    }
  }
}

bool JsonNode::has(std::string_view key) const { return value_->is_object() && value_->contains(std::string(key)); }

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) {
    fail(fmt::format("expected an object, found {}", kind_of(*value_)));
  }
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) {
    return std::nullopt;
  }
  return JsonNode(*found, *file_, path_.empty() ? std::string(key) : path_ + "." + std::string(key));
}

JsonNode JsonNode::at(std::string_view key) const {
  if (auto found = find(key)) {
    return *found;
  }
  fail(fmt::format("the field \"{}\" is missing", key));
}

std::size_t JsonNode::array_size() const {
  if (!value_->is_array()) {
    fail(fmt::format("expected an array, found {}", kind_of(*value_)));
  }
  return value_->size();
}

JsonNode JsonNode::element(std::size_t index) const {
  return {(*value_)[index], *file_, fmt::format("{}[{}]", path_, index)};
}

std::string JsonNode::text() const {
  if (!value_->is_string()) {
    fail(fmt::format("expected text, found {}", kind_of(*value_)));
  }
  return value_->get<std::string>();
}

double JsonNode::number() const {
  if (!value_->is_number()) {
    fail(fmt::format("expected a number, found {}", kind_of(*value_)));
  }
  return value_->get<double>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) {
    fail(fmt::format("expected true or false, found {}", kind_of(*value_)));
  }
  return value_->get<bool>();
}

Index JsonNode::integer(Index lowest, Index highest) const {
  const double value = number();
  if (!(value >= static_cast<double>(lowest) && value <= static_cast<double>(highest)) || value != std::floor(value)) {
    fail(fmt::format("expected a whole number from {} to {}, found {}", lowest, highest, value));
  }
  return static_cast<Index>(value);
}

std::vector<std::string> JsonNode::texts() const {
  std::vector<std::string> all;
  const std::size_t size = array_size();
  all.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    all.push_back(element(i).text());
  }
  return all;
}

Vector JsonNode::numbers() const {
  if (!value_->is_array()) {
    fail(fmt::format("expected an array of numbers, found {}", kind_of(*value_)));
  }
  Vector out(static_cast<Index>(value_->size()));
  for (std::size_t i = 0; i < value_->size(); ++i) {
    const nlohmann::json& entry = (*value_)[i];
    if (!entry.is_number()) {
      (void)element(i).number();
    }
    out[static_cast<Index>(i)] = entry.get<double>();
  }
  return out;
}

Vector JsonNode::numbers(Index size) const {
  Vector out = numbers();
  if (out.size() != size) {
    fail(fmt::format("expected {} numbers, found {}", size, out.size()));
  }
  return out;
}

Vector JsonNode::number_or_numbers() const {
  if (value_->is_number()) {
    return Vector::Constant(1, number());
  }
  if (!value_->is_array()) {
    fail(fmt::format("expected a number or an array of numbers, found {}", kind_of(*value_)));
  }
  return numbers();
}

Vector JsonNode::broadcast(Index size) const {
  if (value_->is_number()) {
    return Vector::Constant(size, number());
  }
  Vector out = number_or_numbers();
  if (out.size() != size) {
    fail(fmt::format("expected a number or {} numbers, found {} numbers", size, out.size()));
  }
  return out;
}

Matrix JsonNode::matrix(Index columns) const {
  const std::size_t rows = array_size();
  Index width = columns;
  if (width < 0 && rows > 0) {
    width = static_cast<Index>(element(0).array_size());
  }
  Matrix out(static_cast<Index>(rows), std::max<Index>(width, 0));
  for (std::size_t i = 0; i < rows; ++i) {
    const nlohmann::json& row = (*value_)[i];
    if (!row.is_array() || static_cast<Index>(row.size()) != width) {
      const JsonNode node = element(i);
      const std::size_t found = node.array_size();
      node.fail(
          fmt::format("expected {} numbers{}, found {}", width, columns < 0 ? " as in the first row" : "", found));
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (!row[j].is_number()) {
        (void)element(i).element(j).number();
      }
      out(static_cast<Index>(i), static_cast<Index>(j)) = row[j].get<double>();
    }
  }
  return out;
}

SparseMatrix JsonNode::sparse() const {
  const JsonNode shape = at("shape");
  if (shape.array_size() != 2) {
    shape.fail(fmt::format("expected [rows, columns], found {} entries", shape.array_size()));
  }
  const Index rows = shape.element(0).integer(0, max_declared_size);
  const Index columns = shape.element(1).integer(0, max_declared_size);
  const JsonNode list = at("triplets");
  const std::size_t count = list.array_size();
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const JsonNode entry = list.element(k);
    if (entry.array_size() != 3) {
      entry.fail(fmt::format("expected [row, column, value], found {} entries", entry.array_size()));
    }
    const auto index = [&](std::size_t which, Index size, const char* name) {
      const JsonNode node = entry.element(which);
      const double value = node.number();
      if (!(value >= 0 && value < static_cast<double>(size)) || value != std::floor(value)) {
        node.fail(fmt::format("{} {} is outside the shape; accepted: 0 to {}", name, value, size - 1));
      }
      return static_cast<int>(value);
    };
    const int row = index(0, rows, "row");
    const int column = index(1, columns, "column");
    triplets.emplace_back(row, column, entry.element(2).number());
  }
  std::vector<std::size_t> order(count);
  for (std::size_t k = 0; k < count; ++k) {
    order[k] = k;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(triplets[a].row(), triplets[a].col(), a) < std::tuple(triplets[b].row(), triplets[b].col(), b);
  });
  for (std::size_t k = 1; k < count; ++k) {
    const auto& left = triplets[order[k - 1]];
    const auto& right = triplets[order[k]];
    if (left.row() == right.row() && left.col() == right.col()) {
      list.element(order[k]).fail(fmt::format("the entry at row {}, column {} was already given by triplets[{}]",
                                              right.row(), right.col(), order[k - 1]));
    }
  }
  SparseMatrix out(rows, columns);
  out.setFromTriplets(triplets.begin(), triplets.end());
  return out;
}

}  // namespace gaussmith
