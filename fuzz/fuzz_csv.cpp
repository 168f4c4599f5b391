// Any bytes as a CSV table: a table or an InvalidFile of one line, and codings without NaN or infinity.

#include "fuzz_check.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"
#include "io/csv.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gaussmith {
namespace {

void encode(const Table& table) {
  for (const Scaling scaling : {Scaling::none, Scaling::standardize}) {
    FeatureOptions options;
    options.scaling = scaling;
    options.drop_first_level = scaling == Scaling::standardize;
    const CompleteRows complete = complete_rows(table, choose_features(table, options), true);
    const FeatureCoding coding = make_feature_coding(complete.table, options);
    FUZZ_CHECK(static_cast<Index>(coding.names().size()) == coding.dimension());
    static_cast<void>(coding.report());
    FUZZ_CHECK(coding.encode_dense(complete.table).allFinite());
  }
}

void check_targets(const Table& table) {
  const std::string& last = table.columns.back().name;
  for (const ResponseKind kind :
       {ResponseKind::real, ResponseKind::sign, ResponseKind::count, ResponseKind::positive}) {
    fuzz::one_line([&] { FUZZ_CHECK(make_target_coding(table, last, kind).encode(table).allFinite()); });
  }
}

}  // namespace
}  // namespace gaussmith

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gaussmith::fuzz::one_line([&] {
    const gaussmith::Table table = gaussmith::parse_csv(text, "fuzz.csv");
    FUZZ_CHECK(table.rows() > 0);
    gaussmith::check_targets(table);
    gaussmith::encode(table);
  });
  return 0;
}
