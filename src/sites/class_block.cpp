#include "sites/class_block.hpp"

#include "gaussmith/errors.hpp"
#include "sites/validate.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace gaussmith {

namespace {

constexpr double most_classes = 100'000;

[[noreturn]] void refuse(const SiteBlock& block, const char* what) {
  throw InvalidOption(fmt::format("{}: labels have no {}; use class probabilities", block.traits().name, what));
}

}  // namespace

SiteArgumentInfo classes_argument() {
  return {.name = "classes", .kind = ArgumentKind::count, .required = true, .help = "C, the number of classes"};
}

ClassBlock::ClassBlock(const LikelihoodInfo& info, Vector responses, const SiteArguments& arguments)
    : traits_(info.traits), responses_(std::move(responses)) {
  check_responses(info, responses_);
  parameters_ = complete_arguments(info, responses_.size(), arguments);
  const Vector& classes = parameters_.front().values;
  if (classes.size() != 1 || classes(0) < 2.0 || classes(0) > most_classes)
    throw InvalidModel(fmt::format("{}: argument 'classes' is {}; expected one number, 2 to {}", traits_.name,
                                   classes.size() > 0 ? classes(0) : 0.0, most_classes));
  classes_ = static_cast<Index>(classes(0));
  for (Index row = 0; row < responses_.size(); ++row)
    if (responses_(row) >= classes(0))
      refuse_response(traits_.name, row, responses_(row), fmt::format("a class, 0 to {}", classes_ - 1));
}

SiteArguments ClassBlock::arguments_with(const SiteArguments& changed) const {
  SiteArguments merged = changed;
  for (const SiteParameter& parameter : parameters_) merged.try_emplace(parameter.name, parameter.values);
  return merged;
}

void ClassBlock::expectation(Index, ConstSpan, ConstSpan, const ExpectationOut&) const {
  throw std::logic_error(traits_.name + ": no expectation in closed form");
}
void ClassBlock::tilted(Index, ConstSpan, ConstSpan, double, const TiltedOut&) const {
  throw std::logic_error(traits_.name + ": no tilted moments of one latent");
}
void ClassBlock::bound(Index, ConstSpan, const BoundOut&) const { refuse(*this, "super-Gaussian form"); }
void ClassBlock::bound_shape(Index, Span, Span) const { refuse(*this, "super-Gaussian form"); }
void ClassBlock::parameter_derivatives(Index, int parameter, ConstSpan, const ParameterOut&) const {
  check_learnable(*this, parameter);
}
void ClassBlock::parameter_expectation(Index, int parameter, ConstSpan, ConstSpan, Span) const {
  check_learnable(*this, parameter);
}
void ClassBlock::parameter_tilted(Index, int parameter, ConstSpan, ConstSpan, double, Span) const {
  check_learnable(*this, parameter);
}
void ClassBlock::response(Index, ConstSpan, ConstSpan, const ResponseOut&) const { refuse(*this, "mean and variance"); }
void ClassBlock::response_cdf(Index, ConstSpan, ConstSpan, ConstSpan, Span) const {
  refuse(*this, "distribution function");
}
void ClassBlock::response_quantile(Index, ConstSpan, ConstSpan, double, Span) const { refuse(*this, "quantiles"); }

}  // namespace gaussmith
