#include "base/spelling.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

TEST(Spelling, FieldsAndOptionsOfTheCommandLine) {
  EXPECT_EQ(option_name("drop_missing", Spelling::fields), "drop_missing");
  EXPECT_EQ(option_name("drop_missing", Spelling::command_line), "--drop-missing");
  EXPECT_EQ(setting_name("prior.variance", Spelling::fields), "prior.variance");
  EXPECT_EQ(setting_name("prior.variance", Spelling::command_line), "--set prior.variance");
}

TEST(Suggestion, TheNearestNameWithinAThirdOfItsLetters) {
  const std::vector<std::string> names = {"matern12", "matern32", "matern52", "se", "periodic"};
  EXPECT_EQ(suggestion("mattern32", names), " (did you mean matern32?)");  // One letter too many,
  EXPECT_EQ(suggestion("perodic", names), " (did you mean periodic?)");    // one too few,
  EXPECT_EQ(suggestion("perioidc", names), " (did you mean periodic?)");   // two swapped,
  EXPECT_EQ(suggestion("matorm12", names), " (did you mean matern12?)");   // two others.
  EXPECT_EQ(suggestion("rbf", names), "");
  EXPECT_EQ(suggestion("s", names), "");
  EXPECT_EQ(suggestion("", names), "");
  EXPECT_EQ(suggestion(std::string(1000, 'x'), names), "");
  EXPECT_EQ(suggestion("x", {}), "");
}

}  // namespace
}  // namespace gaussmith
