#pragma once

namespace gaussmith::app {

/// One line on stderr: what the process has used, and what it may have. Allocates nothing.
void tell_out_of_memory();

}  // namespace gaussmith::app
