#include "base/input_file.hpp"
#include "gaussmith/active.hpp"
#include "io/checksum.hpp"
#include "io/json_reading.hpp"
#include "io/problem_file_parts.hpp"
#include "io/text.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <limits>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view state_family = "gaussmith-active/";
constexpr std::string_view state_format = "gaussmith-active/1";
constexpr std::size_t max_state_bytes = std::size_t{4} << 30;
constexpr Index largest_index = std::numeric_limits<int>::max();

template <class Value>
std::string_view bytes_of(const Value* values, Index count) {
  return {reinterpret_cast<const char*>(values), sizeof(Value) * static_cast<std::size_t>(count)};
}

/// Of shape, entries and labels, each with its own checksum.
std::string table_checksum(const Table& table) {
  return visit_sparse(table.features.entries(), [&](const auto& rows) {
    return checksum_hex(fmt::format("{} {} {} {} {} {}", rows.rows(), rows.cols(),
                                    checksum_hex(bytes_of(rows.outerIndexPtr(), rows.rows() + 1)),
                                    checksum_hex(bytes_of(rows.innerIndexPtr(), rows.nonZeros())),
                                    checksum_hex(bytes_of(rows.valuePtr(), rows.nonZeros())),
                                    checksum_hex(bytes_of(table.labels.data(), table.labels.size()))));
  });
}

std::string prior_text(const ActivePrior& prior) {
  if (const auto* const gaussian = std::get_if<GaussianWeights>(&prior))
    return fmt::format("gaussian with variance {}", gaussian->variance);
  return fmt::format("laplace with scale {}", std::get<LaplaceWeights>(prior).scale);
}

std::string method_text(const Method& method) {
  std::string out(name_of(method));
  for (const auto& [name, value] : options_of(method)) out += fmt::format(" {}={}", name, value);
  return out;
}

std::string_view checked_state(std::string_view text, std::string_view file) {
  if (!text.starts_with(state_family))
    throw InvalidFile(fmt::format("{}: not a state of active learning; it would start with {}", file, state_format));
  const std::size_t end = text.find('\n');
  const std::string_view header = text.substr(0, end);
  if (!header.starts_with(fmt::format("{} ", state_format)))
    throw InvalidFile(fmt::format("{}: starts with {}; this version reads {}", file,
                                  in_quotes(header.substr(0, header.find(' '))), state_format));
  const std::string_view payload = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (header != fmt::format("{} {} {}", state_format, checksum_hex(payload), payload.size()))
    throw InvalidFile(fmt::format("{}: the checksum does not match; the state was cut off, changed or damaged", file));
  return payload;
}

void check_identity(const JsonNode& node, const ActiveIdentity& identity) {
  for (const auto& [name, value] : identity) {
    const std::string found = node.has(name) ? node.at(name).text() : "not stated";
    if (found != value)
      throw InvalidFile(
          fmt::format("{}: the state of another run: {} is {} there and {} here; take another state file, "
                      "or the data and options it was made with",
                      node.file(), name, found, value));
  }
}

}  // namespace

ActiveIdentity active_identity(const ActiveOptions& options, std::uint64_t seed, const Table& pool, const Table* test) {
  ActiveIdentity out{{"score", std::string(to_string(options.score))},
                     {"initial", fmt::format("{}", options.initial)},
                     {"block", fmt::format("{}", options.block)},
                     {"seed", fmt::format("{}", seed)},
                     {"prior", prior_text(options.prior)},
                     {"method", method_text(options.method)},
                     {"lanczos", fmt::format("{}", options.lanczos)},
                     {"checksum of the pool", table_checksum(pool)}};
  if (test != nullptr) out.emplace_back("checksum of the test table", table_checksum(*test));
  return out;
}

std::string format_active_state(const ActiveState& state, const ActiveIdentity& identity) {
  Json out;
  for (const auto& [name, value] : identity) out["run"][name] = value;
  out["selected"] = state.selected;
  out["labels"] = state.labels;
  out["precision"] = vector_json(state.sites.precision);
  out["shift"] = vector_json(state.sites.shift);
  out["curve"] = Json::array();
  for (const ActivePoint& point : state.curve)
    out["curve"].push_back({point.labels, point.test_error, point.test_log_loss, point.seconds});
  out["unconverged"] = state.unconverged;
  out["seconds"] = {state.seconds, state.fit_seconds, state.score_seconds};
  const std::string payload = out.dump() + "\n";
  return fmt::format("{} {} {}\n", state_format, checksum_hex(payload), payload.size()) + payload;
}

ActiveState parse_active_state(std::string_view text, std::string_view name, const ActiveIdentity& identity) {
  const std::string file(name);
  const nlohmann::json document = parse_json(checked_state(text, file), file);
  const JsonNode root(document, file);
  root.expect_fields({"run", "selected", "labels", "precision", "shift", "curve", "unconverged", "seconds"});
  check_identity(root.at("run"), identity);
  ActiveState state;
  const JsonNode selected = root.at("selected");
  for (std::size_t k = 0; k < selected.array_size(); ++k)
    state.selected.push_back(selected.element(k).integer(0, largest_index));
  const Vector labels = root.at("labels").numbers(static_cast<Index>(state.selected.size()));
  state.labels.assign(labels.begin(), labels.end());
  state.sites.precision = root.at("precision").numbers();
  state.sites.shift = root.at("shift").numbers(state.sites.precision.size());
  const JsonNode curve = root.at("curve");
  for (std::size_t k = 0; k < curve.array_size(); ++k) {
    const JsonNode row = curve.element(k);
    const Vector numbers = row.numbers(4);
    state.curve.push_back({row.element(0).integer(1, largest_index), numbers(1), numbers(2), numbers(3)});
  }
  state.unconverged = root.at("unconverged").integer(0, largest_index);
  const Vector seconds = root.at("seconds").numbers(3);
  state.seconds = seconds(0);
  state.fit_seconds = seconds(1);
  state.score_seconds = seconds(2);
  return state;
}

ActiveState load_active_state(const std::filesystem::path& path, const ActiveIdentity& identity) {
  const std::string start = first_bytes(path, state_family.size());
  if (!start.empty() && start != state_family) (void)checked_state(start, path.string());
  return parse_active_state(read_text_file(path, max_state_bytes), path.string(), identity);
}

}  // namespace gaussmith
