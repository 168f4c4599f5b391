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

}  // namespace
}  // namespace gaussmith
