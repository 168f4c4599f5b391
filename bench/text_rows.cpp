// LIBSVM text of documents (text_rows.hpp): written, and read with the speed and the peak of memory that it takes.
//   gaussmith_text_rows write FILE [entries]     about as many entries; 4.96e7, those of rcv1, if not given
//   gaussmith_text_rows read FILE [single]       a table
//   gaussmith_text_rows model FILE [single]      a logistic regression without an intercept
//   gaussmith_text_rows intercept FILE [single]  the same with one
// MB/s are of processor time, which a busy machine disturbs least.

#include "text_rows.hpp"

#include "gaussmith/gaussmith.hpp"
#include "peak_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

namespace gs = gaussmith;

namespace {

int write(const char* path, double entries) {
  const gs::bench::TextShape shape = gs::bench::text_shape_of(entries);
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) {
    std::perror(path);
    return 1;
  }
  gs::bench::TextRows rows(shape);
  gs::bench::TextRows::Row row;
  double written = 0.0;
  for (gs::Index n = 0; n < shape.rows; ++n) {
    rows.next(row);
    std::fputs(row.label > 0.0 ? "1" : "-1", file);
    for (const auto& [column, value] : row.entries) std::fprintf(file, " %d:%.7g", column + 1, value);
    std::fputc('\n', file);
    written += static_cast<double>(row.entries.size());
  }
  std::printf("%ld rows, %.0f entries\n", static_cast<long>(shape.rows), written);
  return std::fclose(file) == 0 ? 0 : 1;
}

int read(const std::string& what, const char* path, bool single) {
  const double before = gs::bench::memory_status("VmRSS");
  const std::clock_t begin = std::clock();
  gs::Table table = gs::read_table(path, {.format = gs::TableFormat::svmlight, .single = single});
  gs::Design rows = table.features;
  gs::TableModel built;
  if (what != "read") {
    rows = {};
    gs::TableModelOptions options{.likelihood = "bernoulli-logit", .prior = "isotropic"};
    options.intercept = what == "intercept";
    options.parameters = {{"prior.variance", {1.0}}};
    built = gs::build_table_model(std::move(table), options);
    rows = built.model.design;
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double entries = rows.nonzeros();
  std::printf("%ld rows, %.0f entries: %.2f s, %.0f MB/s; %.1f bytes an entry held, %.1f at the peak\n",
              static_cast<long>(rows.rows()), entries, seconds,
              static_cast<double>(std::filesystem::file_size(path)) / 1e6 / seconds,
              (gs::bench::memory_status("VmRSS") - before) / entries,
              (gs::bench::memory_status("VmHWM") - before) / entries);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 2 ? arguments[1] : "";
  if (what == "write") return write(arguments[2], count > 3 ? std::atof(arguments[3]) : 4.96e7);
  if (what == "read" || what == "model" || what == "intercept")
    return read(what, arguments[2], count > 3 && std::string(arguments[3]) == "single");
  std::fputs("usage: gaussmith_text_rows write FILE [entries] | read, model or intercept FILE [single]\n", stderr);
  return 2;
}
