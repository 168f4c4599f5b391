#pragma once

#include "gaussmith/report.hpp"

#include <functional>
#include <vector>

namespace gaussmith {

/// The one way to tell progress: a step is written down, then the caller is asked.
class Progress {
 public:
  using Callback = std::function<Next(const Iteration&)>;

  /// Both are lent; the history may be null and the callback empty.
  Progress(const Callback& callback, std::vector<Iteration>* history) : callback_(&callback), history_(history) {}

  /// Throws Interrupted when the caller wants nothing kept; Next::accept asks to stop with what there is.
  Next tell(const Iteration& iteration) const {
    if (history_ != nullptr) history_->push_back(iteration);
    const Next next = *callback_ ? (*callback_)(iteration) : Next::proceed;
    if (next == Next::discard) throw Interrupted();
    return next;
  }

 private:
  const Callback* callback_;
  std::vector<Iteration>* history_;
};

}  // namespace gaussmith
