// Any bytes as a problem file: a model that passes its own validation, or an InvalidFile of one line.

#include "fuzz_check.hpp"
#include "gaussmith/files.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gaussmith::fuzz::one_line([&] {
    const gaussmith::Problem problem = gaussmith::parse_problem(text, "fuzz.json");
    if (problem.network) {
      problem.network->validate();
    } else {
      FUZZ_CHECK(problem.model.rows() > 0 && problem.model.dimension() > 0);
      problem.model.validate();
    }
    FUZZ_CHECK(!problem.prediction || problem.prediction->points.block >= 0);
  });
  return 0;
}
