#pragma once
// LIBSVM / SVMlight text: "label index:value index:value ... # comment".

#include "gaussmith/tables.hpp"

#include <string>
#include <string_view>

namespace gaussmith {

class InputFile;

/// Reads sparse rows with 1-based, strictly increasing indices. Blank and comment lines are skipped, entries of value
/// zero are not stored. Uses the fields of TableOptions for LIBSVM. Throws InvalidFile with file and line.
[[nodiscard]] Table read_svmlight(InputFile& file, const TableOptions& options = {});

/// The same from text in memory.
[[nodiscard]] Table parse_svmlight(std::string_view text, std::string name, const TableOptions& options = {});

}  // namespace gaussmith
