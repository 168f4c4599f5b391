#pragma once
// What likelihoods of C classes have in common: a label and C latents a row, nothing to learn, no super-Gaussian form.

#include "gaussmith/sites.hpp"

#include <vector>

namespace gaussmith {

class ClassBlock : public SiteBlock {
 public:
  /// Checks labels and the argument `classes` against the likelihood's line of the catalogue (InvalidModel).
  ClassBlock(const LikelihoodInfo& info, Vector responses, const SiteArguments& arguments);

  const SiteTraits& traits() const override { return traits_; }
  const Vector& responses() const override { return responses_; }
  const std::vector<SiteParameter>& parameters() const override { return parameters_; }
  Index width() const override { return classes_; }

  void expectation(Index, ConstSpan, ConstSpan, const ExpectationOut&) const override;
  void tilted(Index, ConstSpan, ConstSpan, double, const TiltedOut&) const override;
  void bound(Index, ConstSpan, const BoundOut&) const override;
  void bound_shape(Index, Span, Span) const override;
  void parameter_derivatives(Index, int parameter, ConstSpan, const ParameterOut&) const override;
  void parameter_expectation(Index, int parameter, ConstSpan, ConstSpan, Span) const override;
  void parameter_tilted(Index, int parameter, ConstSpan, ConstSpan, double, Span) const override;
  void response(Index, ConstSpan, ConstSpan, const ResponseOut&) const override;
  void response_cdf(Index, ConstSpan, ConstSpan, ConstSpan, Span) const override;
  void response_quantile(Index, ConstSpan, ConstSpan, double, Span) const override;

 protected:
  [[nodiscard]] Index label(Index row) const { return static_cast<Index>(responses_(row)); }
  [[nodiscard]] SiteArguments arguments_with(const SiteArguments& changed) const;

  /// Calls body(row, i) for the rows of a span of C numbers each.
  template <class Body>
  void for_rows(Index first, ConstSpan eta, Body&& body) const {
    const Index count = static_cast<Index>(eta.size()) / classes_;
    for (Index i = 0; i < count; ++i) body(first + i, i);
  }
  /// The numbers of row i of a span with `each` numbers a row; empty for an empty span.
  static ConstSpan row_of(ConstSpan all, Index i, Index each) {
    return all.empty() ? ConstSpan() : all.subspan(static_cast<std::size_t>(i * each), static_cast<std::size_t>(each));
  }
  static Span row_of(Span all, Index i, Index each) {
    return all.empty() ? Span() : all.subspan(static_cast<std::size_t>(i * each), static_cast<std::size_t>(each));
  }

 private:
  SiteTraits traits_;
  Vector responses_;
  std::vector<SiteParameter> parameters_;
  Index classes_;
};

/// The argument `classes` of the catalogue.
[[nodiscard]] SiteArgumentInfo classes_argument();

}  // namespace gaussmith
