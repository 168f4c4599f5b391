#pragma once
// What blocks given by log t alone have in common: no parameters, no super-Gaussian form, no distribution of responses.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"
#include "sites/validate.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

class LatentOnlyBlock : public SiteBlock {
 public:
  LatentOnlyBlock(SiteTraits traits, Vector responses) : traits_(std::move(traits)), responses_(std::move(responses)) {
    check_responses({.traits = traits_, .formula = {}, .summary = {}, .arguments = {}}, responses_);
  }

  const SiteTraits& traits() const override { return traits_; }
  const Vector& responses() const override { return responses_; }
  const std::vector<SiteParameter>& parameters() const override { return parameters_; }

  void bound(Index, ConstSpan, const BoundOut&) const override { refuse("super-Gaussian form"); }
  void bound_shape(Index, Span, Span) const override { refuse("super-Gaussian form"); }

  void parameter_derivatives(Index, int parameter, ConstSpan, const ParameterOut&) const override {
    check_learnable(*this, parameter);
  }
  void parameter_expectation(Index, int parameter, ConstSpan, ConstSpan, Span) const override {
    check_learnable(*this, parameter);
  }
  void parameter_tilted(Index, int parameter, ConstSpan, ConstSpan, double, Span) const override {
    check_learnable(*this, parameter);
  }

  void response(Index, ConstSpan, ConstSpan, const ResponseOut&) const override { refuse(response_distribution); }
  void response_cdf(Index, ConstSpan, ConstSpan, ConstSpan, Span) const override { refuse(response_distribution); }
  void response_quantile(Index, ConstSpan, ConstSpan, double, Span) const override { refuse(response_distribution); }
  void response_sample(Index, ConstSpan, Random&, Span) const override { refuse(response_distribution); }

 protected:
  static void put(Span out, std::size_t i, double value) {
    if (!out.empty()) out[i] = value;
  }

  [[nodiscard]] double response_of(Index row) const { return responses_[row]; }

  void refuse_arguments(const SiteArguments& arguments) const {
    if (!arguments.empty())
      throw InvalidModel(
          fmt::format("{}: unknown argument '{}'; accepted: none", traits_.name, arguments.begin()->first));
  }

 private:
  static constexpr std::string_view response_distribution = "distribution of the response (only log t is known)";

  [[noreturn]] void refuse(std::string_view what) const {
    throw InvalidOption(
        fmt::format("{}: a custom likelihood has no {}; use the latent mean and variance, or a catalogued "
                    "likelihood",
                    traits_.name, what));
  }

  SiteTraits traits_;
  Vector responses_;
  std::vector<SiteParameter> parameters_;
};

}  // namespace gaussmith
