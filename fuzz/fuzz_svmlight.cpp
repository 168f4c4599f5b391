// Any bytes as LIBSVM text: a table or an InvalidFile of one line, and codings without NaN or infinity.

#include "fuzz_check.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"
#include "io/svmlight.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gaussmith {
namespace {

// Wider tables are legal, but a dense vector of that size for every input would only slow the search down.
constexpr Index widest_coded = 500;

void check_features(const Table& table) {
  const SparseMatrix& rows = *table.features.entries().sparse;
  for (Index row = 0; row < rows.outerSize(); ++row) {
    Index previous = -1;
    for (SparseMatrix::InnerIterator entry(rows, row); entry; ++entry) {
      FUZZ_CHECK(entry.col() > previous && entry.col() < rows.cols());
      FUZZ_CHECK(std::isfinite(entry.value()) && entry.value() != 0.0);
      previous = entry.col();
    }
  }
}

void encode(const Table& table) {
  if (table.features.cols() > widest_coded) return;
  for (const Scaling scaling : {Scaling::none, Scaling::standardize, Scaling::scale}) {
    FeatureOptions options;
    options.scaling = scaling;
    fuzz::one_line([&] {
      const FeatureCoding coding = make_feature_coding(table, options);
      FUZZ_CHECK(coding.encode_dense(table).allFinite());
      if (scaling != Scaling::standardize) FUZZ_CHECK(coding.encode_sparse(table).rows() == table.rows());
    });
  }
}

}  // namespace
}  // namespace gaussmith

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gaussmith::TableOptions limited;
  limited.features = 5;
  limited.ignore_larger_indices = true;
  for (const gaussmith::TableOptions& options : {gaussmith::TableOptions{}, limited}) {
    gaussmith::fuzz::one_line([&] {
      const gaussmith::Table table = gaussmith::parse_svmlight(text, "fuzz.svm", options);
      FUZZ_CHECK(table.rows() == table.labels.size() && table.labels.allFinite());
      gaussmith::check_features(table);
      gaussmith::encode(table);
    });
  }
  return 0;
}
