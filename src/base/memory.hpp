#pragma once

#include <string>

namespace gaussmith {

/// Bytes of memory of this machine: the physical memory, or what a container allows if that is less; infinite where the
/// system does not say. Not what is free at the moment, so that the same machine gives the same answer at any load.
[[nodiscard]] double machine_memory();

/// "1.25 GB", "3.1 MB".
[[nodiscard]] std::string memory_in_words(double bytes);

}  // namespace gaussmith
