#include "gaussmith/active.hpp"
#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

ActiveState some_state() {
  ActiveState state;
  state.selected = {7, 0, 123456};
  state.labels = {1.0, -1.0, 1.0};
  state.sites = {Vector::LinSpaced(3, 1.0 / 7.0, 0.25), Vector::Constant(3, 0.1 + 0.2)};
  state.sites.precision(1) = 5e-324;
  state.curve = {{2, 1.0 / 3.0, 0.7, 0.125}, {3, 0.25, 0.6, 1e-9}};
  state.unconverged = 1;
  state.seconds = 2.5;
  state.fit_seconds = 1.0 / 3.0;
  state.score_seconds = 0.1;
  return state;
}

const ActiveIdentity identity{{"score", "random"}, {"seed", "7"}};

TEST(ActiveStateFile, KeepsEveryBit) {
  const ActiveState state = some_state();
  const ActiveState read = parse_active_state(format_active_state(state, identity), "s", identity);
  EXPECT_EQ(read.selected, state.selected);
  EXPECT_EQ(read.labels, state.labels);
  EXPECT_EQ(read.sites, state.sites);
  ASSERT_EQ(read.curve.size(), 2U);
  EXPECT_EQ(read.curve[0].test_error, 1.0 / 3.0);
  EXPECT_EQ(read.curve[1].labels, 3);
  EXPECT_EQ(read.curve[1].seconds, 1e-9);
  EXPECT_EQ(read.unconverged, 1);
  EXPECT_EQ(read.fit_seconds, state.fit_seconds);
}

TEST(ActiveStateFile, EveryCutAndEveryFlippedBitIsRefused) {
  const std::string text = format_active_state(some_state(), identity);
  for (std::size_t k = 0; k < text.size(); ++k) {
    EXPECT_THROW((void)parse_active_state(text.substr(0, k), "s", identity), InvalidFile);
    std::string changed = text;
    changed[k] = static_cast<char>(changed[k] ^ 1);
    EXPECT_THROW((void)parse_active_state(changed, "s", identity), InvalidFile);
  }
}

TEST(ActiveStateFile, IdentityFollowsOptionsSeedAndData) {
  const Table pool = parse_table("1 1:1 2:0.5\n-1 2:3\n", "pool.svm");
  const Table other = parse_table("1 1:1 2:0.5\n1 2:3\n", "pool.svm");
  const ActiveOptions options;
  const ActiveIdentity here = active_identity(options, 1, pool);
  EXPECT_EQ(here, active_identity(options, 1, pool));
  EXPECT_NE(here, active_identity(options, 2, pool));
  EXPECT_NE(here, active_identity(options, 1, other));
  ActiveOptions changed = options;
  changed.prior = LaplaceWeights{};
  EXPECT_NE(here, active_identity(changed, 1, pool));
  changed = options;
  changed.labels += 1;
  EXPECT_EQ(here, active_identity(changed, 1, pool));
}

}  // namespace
}  // namespace gaussmith
