#pragma once
// Standard normal numbers in bulk, where Random::normal would cost more than what is done with them.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

namespace gaussmith {

/// Independent standard normal numbers: Box and Muller's transform of pairs of uniform numbers, vectorised. The numbers
/// are those of the generator's state alone, whatever the machine's instructions do to their last bits.
void fill_normal(Random& random, Span out);

}  // namespace gaussmith
