#pragma once
// CSV tables after RFC 4180, with a header, and the same with tabs in place of commas.

#include "gaussmith/tables.hpp"

#include <string>
#include <string_view>

namespace gaussmith {

class InputFile;

/// Reads a table separated by commas, or by tabs where the format says so: quotes with doubled quotes and line ends
/// inside (CRLF inside becomes LF), spaces and tabs around cells dropped, lines of nothing but spaces skipped (in a
/// table of one column they are missing cells, but not at the end). A column is numeric if all its cells are numbers or
/// missing, else text. Uses the fields of TableOptions for CSV. Throws InvalidFile with file and line.
[[nodiscard]] Table read_csv(InputFile& file, const TableOptions& options = {});

/// The same from text in memory.
[[nodiscard]] Table parse_csv(std::string_view text, std::string name, const TableOptions& options = {});

}  // namespace gaussmith
