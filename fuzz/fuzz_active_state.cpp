// Any bytes as a state of active learning, and as the payload behind a correct first line: a state that is written back
// as it was read, or an InvalidFile of one line.

#include "fuzz_check.hpp"
#include "gaussmith/active.hpp"
#include "io/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gaussmith::fuzz::one_line([&] { static_cast<void>(gaussmith::parse_active_state(bytes, "fuzz.state", {})); });
  const std::string sealed = "gaussmith-active/1 " + gaussmith::checksum_hex(bytes) + " " +
                             std::to_string(bytes.size()) + "\n" + std::string(bytes);
  gaussmith::fuzz::one_line([&] {
    const gaussmith::ActiveState state = gaussmith::parse_active_state(sealed, "fuzz.state", {});
    const gaussmith::ActiveIdentity any{{"score", "random"}};
    const std::string written = gaussmith::format_active_state(state, any);
    FUZZ_CHECK(gaussmith::format_active_state(gaussmith::parse_active_state(written, "again.state", any), any) ==
               written);
  });
  return 0;
}
