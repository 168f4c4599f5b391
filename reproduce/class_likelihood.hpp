#pragma once
// p(y = c | f) of softmax and multinomial probit, fast enough for millions of draws and written apart from the library.

#include <gaussmith/gaussmith.hpp>

#include <string_view>
#include <vector>

namespace reproduce {

namespace gs = gaussmith;

class ClassLikelihood {
 public:
  /// multinomial-logit or multinomial-probit.
  ClassLikelihood(std::string_view likelihood, gs::Index classes);

  [[nodiscard]] double log_probability(gs::Index label, const double* f) const;
  /// Of all classes, to `out`.
  void probabilities(const double* f, double* out) const;

 private:
  [[nodiscard]] double normal_cdf(double x) const;

  bool probit_;
  gs::Index classes_;
  std::vector<double> cdf_, density_;  // Of the standard normal on a grid.
};

}  // namespace reproduce
