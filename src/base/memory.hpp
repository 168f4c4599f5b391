#pragma once

namespace gaussmith {

/// Bytes of physical memory of this machine; infinite where the system does not say.
[[nodiscard]] double machine_memory();

}  // namespace gaussmith
