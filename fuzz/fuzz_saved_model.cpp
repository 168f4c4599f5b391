// Any bytes as a saved model, and as the payload behind a correct first line: a model that is written back as it was
// read, or an InvalidFile of one line.

#include "fuzz_check.hpp"
#include "gaussmith/files.hpp"
#include "io/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gaussmith::fuzz::one_line([&] { static_cast<void>(gaussmith::parse_saved_model(bytes, "fuzz.gsm")); });
  const std::string whole =
      "gaussmith-model/1 " + gaussmith::checksum_hex(bytes) + " " + std::to_string(size) + "\n" + std::string(bytes);
  gaussmith::fuzz::one_line([&] {
    const std::string text = gaussmith::format_saved_model(gaussmith::parse_saved_model(whole, "fuzz.gsm"));
    FUZZ_CHECK(gaussmith::format_saved_model(gaussmith::parse_saved_model(text, "again.gsm")) == text);
  });
  return 0;
}
