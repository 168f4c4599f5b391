#include "gaussmith/active.hpp"
#include "io/checksum.hpp"
#include "io/json_reading.hpp"
#include "io/problem_file_parts.hpp"
#include "io/sealed_text.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <limits>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

constexpr SealedFormat active_format{"gaussmith-active/", "gaussmith-active/1", "a state of active learning"};
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
  out["run"] = identity_json(identity);
  out["selected"] = state.selected;
  out["labels"] = state.labels;
  out["precision"] = vector_json(state.sites.precision);
  out["shift"] = vector_json(state.sites.shift);
  out["curve"] = Json::array();
  for (const ActivePoint& point : state.curve)
    out["curve"].push_back({point.labels, point.test_error, point.test_log_loss, point.seconds});
  out["unconverged"] = state.unconverged;
  out["seconds"] = {state.seconds, state.fit_seconds, state.score_seconds};
  return seal(active_format, out.dump() + "\n");
}

ActiveState parse_active_state(std::string_view text, std::string_view name, const ActiveIdentity& identity) {
  const std::string file(name);
  const nlohmann::json document = parse_json(unseal(active_format, text, file), file);
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
  return parse_active_state(read_sealed(active_format, path), path.string(), identity);
}

}  // namespace gaussmith
