#pragma once

#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gaussmith {

/// A problem that is refused in one line with all of these fragments.
inline void expect_complaint(const std::string& text, const std::vector<std::string>& fragments) {
  try {
    (void)parse_problem(text, "p.json");
    ADD_FAILURE() << "accepted: " << text;
  } catch (const InvalidFile& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& fragment : fragments)
      EXPECT_NE(message.find(fragment), std::string::npos) << message << "\nlacks " << fragment;
  }
}

}  // namespace gaussmith
