// States of designs of measurements: what is written is read back, and nothing else is.

#include "gaussmith/errors.hpp"
#include "gaussmith/measurement.hpp"
#include "io/checksum.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

const MeasurementIdentity measurement_run{{"method", "kl"}, {"seed", "0"}};

MeasurementState some_measurements() {
  MeasurementState state;
  state.rows = Matrix::Random(5, 4);
  state.values = Vector::LinSpaced(4, -1.0, 1.0 / 3.0);
  state.fitted = 3;
  state.later = {1};
  state.start = {Vector::Constant(6, 0.1), Vector::Constant(6, -2.0)};
  state.sites = {Vector::Constant(6, 1e-300), Vector::Zero(6)};
  state.pending = {Matrix::Random(2, 5), {3, 1}, 0.25, true};
  state.taken = {2};
  state.unconverged = 1;
  state.iterations = 17;
  state.curve = {{3, 0.5, 0.0, -12.5, 9, 0.125}, {4, 0.1, 1.5, -11.0 / 3.0, 0, 0.5}};
  state.seconds = 0.5;
  return state;
}

std::string refusal(const std::string& text, const MeasurementIdentity& run = measurement_run) {
  try {
    (void)parse_measurement_state(text, "run.state", run);
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "nothing";
}

TEST(MeasurementState, ComesBackBitForBit) {
  for (const MeasurementState& state : {some_measurements(), MeasurementState{}}) {
    const std::string text = format_measurement_state(state, measurement_run);
    const MeasurementState read = parse_measurement_state(text, "run.state", measurement_run);
    EXPECT_EQ(format_measurement_state(read, measurement_run), text);
    EXPECT_EQ(read.rows, state.rows);
    EXPECT_EQ(read.values, state.values);
    EXPECT_EQ(read.sites.precision, state.sites.precision);
    EXPECT_EQ(read.pending.rows, state.pending.rows);
    EXPECT_EQ(read.pending.chosen, state.pending.chosen);
    EXPECT_EQ(read.pending.at_random, state.pending.at_random);
    EXPECT_EQ(read.curve.size(), state.curve.size());
  }
}

std::string sealed(const std::string& payload) {
  return "gaussmith-measurement/1 " + checksum_hex(payload) + " " + std::to_string(payload.size()) + "\n" + payload;
}

TEST(MeasurementState, LayoutWithoutAtRandomIsRead) {
  const MeasurementState state = some_measurements();
  const std::string good = format_measurement_state(state, measurement_run);
  std::string old = good.substr(good.find('\n') + 1);
  const std::string field = "\"at_random\":true,";
  ASSERT_NE(old.find(field), std::string::npos);
  old.erase(old.find(field), field.size());
  const MeasurementState read = parse_measurement_state(sealed(old), "run.state", measurement_run);
  EXPECT_FALSE(read.pending.at_random);
  EXPECT_EQ(read.pending.rows, state.pending.rows);
  EXPECT_EQ(read.rows, state.rows);
}

TEST(MeasurementState, GroupsOfCandidatesAreToldApart) {
  const Model model{.prior = Isotropic{Vector::Zero(3), 1.0},
                    .design = Identity{},
                    .sites = {observe("laplace", Vector::Zero(3), {{"scale", one(0.5)}})}};
  DesignOptions options;
  options.candidates = CandidateRows{Matrix(Matrix::Identity(3, 3)), {{0, 1}, {2}}};
  const MeasurementIdentity known = measurement_identity(model, Kl{}, options, 0);
  EXPECT_EQ(measurement_identity(model, Kl{}, options, 0), known);
  options.candidates->groups = {{0}, {2, 1}};
  EXPECT_NE(measurement_identity(model, Kl{}, options, 0), known);
}

TEST(MeasurementState, DamageIsSeen) {
  const std::string good = format_measurement_state(some_measurements(), measurement_run);
  for (std::size_t place = 0; place < good.size(); place += 7) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    EXPECT_NE(refusal(bad), "nothing") << place;
    EXPECT_EQ(refusal(bad).rfind("run.state: ", 0), 0U);
  }
  EXPECT_NE(refusal(good.substr(0, good.size() / 2)).find("cut off"), std::string::npos);
  EXPECT_NE(refusal("gaussmith-active/1 0 0\n").find("not a state of a design of measurements"), std::string::npos);
  EXPECT_NE(refusal(good, {{"seed", "3"}}).find("seed is 0 there and 3 here"), std::string::npos);
}

TEST(MeasurementState, NumbersThatAreNotThereAreNotInvented) {
  // Whole payloads with sizes beyond their numbers.
  const std::string good = format_measurement_state(some_measurements(), measurement_run);
  const std::string payload = good.substr(good.find('\n') + 1);
  for (const auto& [from, to] :
       {std::pair("\"shape\":[5,4]", "\"shape\":[5,2000000000]"),
        std::pair("\"shape\":[5,4]", "\"shape\":[2000000000,4]"), std::pair("\"pending\":[2,5]", "\"pending\":[2,4]"),
        std::pair("\"sites\":[6,6]", "\"sites\":[6,2000000000]")}) {
    std::string bad = payload;
    ASSERT_NE(bad.find(from), std::string::npos);
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_NE(refusal(sealed(bad)).find("not as many as the state says"), std::string::npos) << to;
  }
}

}  // namespace
}  // namespace gaussmith
