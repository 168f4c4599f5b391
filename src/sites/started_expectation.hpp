#pragma once
// Sites whose expectation() is the end of a search for each row, which searches of the whole model ask for again and
// again in nearly the same place.

#include "gaussmith/sites.hpp"

namespace gaussmith {

class StartedExpectation {
 public:
  struct Search {
    Span start;  ///< Numbers of each latent: where to start, zeros for nothing known; becomes where the search ended.
    double enough;  ///< What d_mean may lack, or 0 for the last digit. The value lacks about its square.
  };
  virtual ~StartedExpectation() = default;
  /// SiteBlock::expectation.
  virtual void expectation_from(Index first, ConstSpan mean, ConstSpan covariance, const Search& search,
                                const ExpectationOut& out) const = 0;
};

}  // namespace gaussmith
