#include "gaussmith/measurement.hpp"
#include "io/atomic_file.hpp"
#include "io/checksum.hpp"
#include "io/json_reading.hpp"
#include "io/problem_file_parts.hpp"
#include "io/sealed_text.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;
static_assert(std::endian::native == std::endian::little, "states are written as they stand in memory");

constexpr SealedFormat measurement_format{"gaussmith-measurement/", "gaussmith-measurement/1",
                                          "a state of a design of measurements"};
constexpr Index largest_count = std::numeric_limits<int>::max();

std::string_view bytes_of_numbers(const double* values, Index count) {
  return {reinterpret_cast<const char*>(values), sizeof(double) * static_cast<std::size_t>(count)};
}

std::string checksum_of_vector(const Vector& values) {
  return checksum_hex(bytes_of_numbers(values.data(), values.size()));
}

/// Some vector without structure, the same in every run.
Vector probe(Index size) {
  Vector out(size);
  for (Index i = 0; i < size; ++i) out(i) = 1.0 + std::sin(static_cast<double>(i + 1) * 12.9898);
  return out;
}

/// What products with a probe and the shape say of a design, however it is stored.
std::string design_fingerprint(const Design& design) {
  return fmt::format("{} x {} {} {}", design.rows(), design.cols(),
                     checksum_of_vector(design.times(probe(design.cols()))),
                     checksum_of_vector(design.transposed_times(probe(design.rows()))));
}

std::string prior_fingerprint(const Prior& prior) {
  std::string out = fmt::format("{} {} {}", type_of(prior), dimension_of(prior), checksum_of_vector(mean_of(prior)));
  for (const Parameter& parameter : parameters_of(prior)) out += fmt::format(" {}={}", parameter.name, parameter.value);
  if (const auto variances = independent_variances(prior)) out += " " + checksum_of_vector(*variances);
  if (has_dense_covariance(prior)) {
    const SharedMatrix covariance = dense_covariance(prior, 1);
    out += " " + checksum_hex(bytes_of_numbers(covariance->data(), covariance.size()));
  }
  if (const auto known = prior_precision(prior))
    out += " " + checksum_of_vector(known->precision * probe(known->precision.cols()));
  return out;
}

/// Blocks by their likelihoods, arguments and densities at some points.
std::string sites_fingerprint(const Model& model) {
  std::string out;
  for (const Sites& block : model.sites) {
    const Index size = block->size();
    const Vector eta = probe(size);
    Vector value(size);
    block->log_density(0, view(eta), {view(value), {}, {}, {}});
    out += fmt::format("{} {} {};", block->traits().name, size, checksum_of_vector(value));
  }
  return out;
}

void put(std::string& out, const double* values, Index count) { out += bytes_of_numbers(values, count); }

/// Numbers one after the other, as many as are asked for.
class Numbers {
 public:
  Numbers(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}
  void take(double* values, Index count) {
    const std::size_t size = sizeof(double) * static_cast<std::size_t>(count);
    if (size > bytes_.size()) fail();
    if (size > 0) std::memcpy(values, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  [[nodiscard]] Vector vector(Index size) {
    check(size);
    Vector out(size);
    take(out.data(), size);
    return out;
  }
  [[nodiscard]] Matrix matrix(Index rows, Index cols) {
    if (rows > 0) check(cols > 0 ? std::max(rows, cols) : 0);
    if (cols > 0 && rows > static_cast<Index>(bytes_.size() / sizeof(double)) / cols) fail();
    Matrix out(rows, cols);
    take(out.data(), out.size());
    return out;
  }
  void expect_end() const {
    if (!bytes_.empty()) fail();
  }

 private:
  void check(Index count) const {
    if (count > static_cast<Index>(bytes_.size() / sizeof(double))) fail();
  }
  [[noreturn]] void fail() const {
    throw InvalidFile(fmt::format("{}: the numbers are not as many as the state says", file_));
  }
  std::string_view bytes_;
  const std::string& file_;
};

std::vector<Index> indices(const JsonNode& node) {
  std::vector<Index> out;
  for (std::size_t k = 0; k < node.array_size(); ++k) out.push_back(node.element(k).integer(0, largest_count));
  return out;
}

}  // namespace

MeasurementIdentity measurement_identity(const Model& model, const Method& method, const DesignOptions& options,
                                         std::uint64_t seed, const MeasurementSimulation* simulation) {
  const Design design = model.design.sized(model.dimension());
  MeasurementIdentity out{{"method", method_text(method)},
                          {"noise variance", fmt::format("{}", options.noise_variance)},
                          {"refit", fmt::format("{}", options.refit)},
                          {"seed", fmt::format("{}", seed)},
                          {"prior", prior_fingerprint(model.prior)},
                          {"design", design_fingerprint(design)},
                          {"sites", sites_fingerprint(model)},
                          {"offset and weights", checksum_of_vector(model.offset) + checksum_of_vector(model.weights)},
                          {"rule", std::string(to_string(options.rule))},
                          {"candidates", "none"}};
  if (options.candidates) {
    std::string groups;
    for (const auto& group : options.candidates->groups) groups += fmt::format("{};", fmt::join(group, " "));
    out.back().second =
        fmt::format("{}, {} groups {}, {}", design_fingerprint(options.candidates->rows), options.candidates->count(),
                    checksum_hex(groups), options.candidates->repeats ? "repeats" : "no repeats");
  }
  out.emplace_back("use", simulation != nullptr ? "simulation" : "ask and tell");
  if (simulation != nullptr) {
    out.emplace_back("truth", checksum_of_vector(simulation->truth));
    out.emplace_back("initial", fmt::format("{}", simulation->initial));
    out.emplace_back("rows a step", fmt::format("{}", simulation->per_step));
  }
  return out;
}

std::string format_measurement_state(const MeasurementState& state, const MeasurementIdentity& identity) {
  Json out;
  out["run"] = identity_json(identity);
  out["shape"] = {state.rows.rows(), state.measurements()};
  out["fitted"] = state.fitted;
  out["later"] = state.later;
  out["log_evidence"] = state.log_evidence.value;
  out["evidence_kind"] = static_cast<int>(state.log_evidence.kind);
  out["converged"] = state.converged;
  out["sites"] = {state.start.rows(), state.sites.rows()};
  out["pending"] = {state.pending.rows.rows(), state.pending.rows.cols()};
  out["chosen"] = state.pending.chosen;
  out["gain"] = state.pending.gain;
  out["at_random"] = state.pending.at_random;
  out["taken"] = state.taken;
  out["unconverged"] = state.unconverged;
  out["iterations"] = state.iterations;
  out["seconds"] = state.seconds;
  out["curve"] = Json::array();
  for (const MeasurementPoint& p : state.curve)
    out["curve"].push_back({p.measurements, p.error, p.gain, p.log_evidence, p.iterations, p.seconds});
  std::string payload = out.dump() + "\n";
  payload.reserve(payload.size() +
                  sizeof(double) * static_cast<std::size_t>(state.rows.size() + state.pending.rows.size()));
  put(payload, state.values.data(), state.values.size());
  for (const SiteApproximation* sites : {&state.start, &state.sites}) {
    put(payload, sites->precision.data(), sites->rows());
    put(payload, sites->shift.data(), sites->rows());
  }
  put(payload, state.pending.rows.data(), state.pending.rows.size());
  put(payload, state.rows.data(), state.rows.size());
  return seal(measurement_format, payload);
}

MeasurementState parse_measurement_state(std::string_view text, std::string_view name,
                                         const MeasurementIdentity& identity) {
  const std::string file(name);
  const std::string_view payload = unseal(measurement_format, text, file);
  const std::size_t end = payload.find('\n');
  if (end == std::string_view::npos) throw InvalidFile(fmt::format("{}: the state has no line of JSON", file));
  const nlohmann::json document = parse_json(payload.substr(0, end), file);
  const JsonNode root(document, file);
  root.expect_fields({"run", "shape", "fitted", "later", "log_evidence", "evidence_kind", "converged", "sites",
                      "pending", "chosen", "gain", "at_random", "taken", "unconverged", "iterations", "seconds",
                      "curve"});
  check_identity(root.at("run"), identity);
  const auto pair = [&](const char* field) {
    const std::vector<Index> found = indices(root.at(field));
    if (found.size() != 2) root.at(field).fail("expected two numbers");
    return std::pair(found[0], found[1]);
  };
  MeasurementState state;
  state.fitted = root.at("fitted").integer(0, largest_count);
  state.later = indices(root.at("later"));
  state.log_evidence.value = root.at("log_evidence").number();
  state.log_evidence.kind = static_cast<EvidenceKind>(root.at("evidence_kind").integer(0, 3));
  state.converged = root.at("converged").boolean();
  state.pending.chosen = indices(root.at("chosen"));
  state.pending.gain = root.at("gain").number();
  // Older states do not say.
  if (const auto at_random = root.find("at_random")) state.pending.at_random = at_random->boolean();
  state.taken = indices(root.at("taken"));
  state.unconverged = root.at("unconverged").integer(0, largest_count);
  state.iterations = root.at("iterations").integer(0, largest_count);
  state.seconds = root.at("seconds").number();
  const JsonNode curve = root.at("curve");
  for (std::size_t k = 0; k < curve.array_size(); ++k) {
    const JsonNode row = curve.element(k);
    const Vector numbers = row.numbers(6);
    state.curve.push_back({row.element(0).integer(0, largest_count), numbers(1), numbers(2), numbers(3),
                           row.element(4).integer(0, largest_count), numbers(5)});
  }
  Numbers numbers(payload.substr(end + 1), file);
  const auto [dimension, count] = pair("shape");
  const auto [start, sites] = pair("sites");
  const auto [pending_rows, pending_columns] = pair("pending");
  state.values = numbers.vector(count);
  state.start.precision = numbers.vector(start);
  state.start.shift = numbers.vector(start);
  state.sites.precision = numbers.vector(sites);
  state.sites.shift = numbers.vector(sites);
  state.pending.rows = numbers.matrix(pending_rows, pending_columns);
  state.rows = numbers.matrix(dimension, count);
  numbers.expect_end();
  return state;
}

MeasurementState load_measurement_state(const std::filesystem::path& path, const MeasurementIdentity& identity) {
  return parse_measurement_state(read_sealed(measurement_format, path), path.string(), identity);
}

void save_measurement_state(const std::filesystem::path& path, const MeasurementState& state,
                            const MeasurementIdentity& identity) {
  write_atomically(path, format_measurement_state(state, identity));
}

}  // namespace gaussmith
