#pragma once
// One piece of code for stored sparse rows of either precision.

#include "gaussmith/design.hpp"

#include <utility>

namespace gaussmith {

/// visit(rows) for the stored sparse matrix; entries.is_sparse() must hold. Entries are to be taken as doubles before
/// anything is made of them: products of two floats would be floats.
template <class Visit>
decltype(auto) visit_sparse(const DesignEntries& entries, Visit&& visit) {
  return entries.single != nullptr ? std::forward<Visit>(visit)(*entries.single)
                                   : std::forward<Visit>(visit)(*entries.sparse);
}

}  // namespace gaussmith
