// Any bytes as a state of a design of measurements, as the payload behind a correct first line, and as a grey map: a
// state that is written back as it was read, or an InvalidFile of one line.

#include "fuzz_check.hpp"
#include "gaussmith/measurement.hpp"
#include "gaussmith/pictures.hpp"
#include "io/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gaussmith::fuzz::one_line([&] { static_cast<void>(gaussmith::parse_pgm(bytes, "fuzz.pgm")); });
  gaussmith::fuzz::one_line([&] { static_cast<void>(gaussmith::parse_measurement_state(bytes, "fuzz.state", {})); });
  const std::string sealed = "gaussmith-measurement/1 " + gaussmith::checksum_hex(bytes) + " " +
                             std::to_string(bytes.size()) + "\n" + std::string(bytes);
  gaussmith::fuzz::one_line([&] {
    const gaussmith::MeasurementState state = gaussmith::parse_measurement_state(sealed, "fuzz.state", {});
    const gaussmith::MeasurementIdentity any{{"method", "kl"}};
    const std::string written = gaussmith::format_measurement_state(state, any);
    FUZZ_CHECK(gaussmith::format_measurement_state(gaussmith::parse_measurement_state(written, "again.state", any),
                                                   any) == written);
  });
  return 0;
}
