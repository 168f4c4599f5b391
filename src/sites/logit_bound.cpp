#include "sites/logit_bound.hpp"

#include "gaussmith/errors.hpp"
#include "sites/validate.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// log t(eta) = F(y eta) with F of one piecewise quadratic site; the logistic block answers for responses.
class LogitBoundBlock final : public SiteBlock {
 public:
  LogitBoundBlock(PiecewiseBound bound, const Vector& responses) : LogitBoundBlock(bound, bound.sites(), responses) {}

  LogitBoundBlock(PiecewiseBound bound, PiecewiseQuadratic pieces, const Vector& responses)
      : bound_(bound),
        shape_(pieces),
        logistic_(observe("bernoulli-logit", responses)),
        pieces_(observe(std::move(pieces), Vector::Zero(responses.size()))),
        traits_(logistic_->traits()),
        parameters_{{"bound", one(bound.code()), false}} {
    traits_.log_concave = pieces_->traits().log_concave;
    traits_.super_gaussian = false;
    traits_.smooth = false;
  }

  const SiteTraits& traits() const override { return traits_; }
  const Vector& responses() const override { return logistic_->responses(); }
  const std::vector<SiteParameter>& parameters() const override { return parameters_; }

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    if (arguments.empty()) return std::make_shared<const LogitBoundBlock>(bound_, shape_, responses);
    SiteArguments merged = arguments;
    merged.try_emplace("bound", one(bound_.code()));
    return observe("bernoulli-logit", responses, merged);
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    pieces_->log_density(first, turned(first, eta), out);
    turn(first, out.first);
    turn(first, out.third);
  }
  void expectation(Index first, ConstSpan mean, ConstSpan variance, const ExpectationOut& out) const override {
    pieces_->expectation(first, turned(first, mean), variance, out);
    turn(first, out.d_mean);
  }
  void tilted(Index first, ConstSpan mean, ConstSpan variance, double power, const TiltedOut& out) const override {
    pieces_->tilted(first, turned(first, mean), variance, power, out);
    turn(first, out.mean);
  }

  void bound(Index /*first*/, ConstSpan /*x*/, const BoundOut& /*out*/) const override { refuse_bound(); }
  void bound_shape(Index /*first*/, Span /*slope*/, Span /*centre*/) const override { refuse_bound(); }

  void parameter_derivatives(Index, int parameter, ConstSpan, const ParameterOut&) const override {
    check_learnable(*this, parameter);
  }
  void parameter_expectation(Index, int parameter, ConstSpan, ConstSpan, Span) const override {
    check_learnable(*this, parameter);
  }
  void parameter_tilted(Index, int parameter, ConstSpan, ConstSpan, double, Span) const override {
    check_learnable(*this, parameter);
  }

  void response(Index first, ConstSpan mean, ConstSpan variance, const ResponseOut& out) const override {
    logistic_->response(first, mean, variance, out);
  }
  void response_cdf(Index first, ConstSpan mean, ConstSpan variance, ConstSpan y, Span out) const override {
    logistic_->response_cdf(first, mean, variance, y, out);
  }
  void response_quantile(Index first, ConstSpan mean, ConstSpan variance, double level, Span out) const override {
    logistic_->response_quantile(first, mean, variance, level, out);
  }
  void response_sample(Index first, ConstSpan eta, Random& random, Span out) const override {
    logistic_->response_sample(first, eta, random, out);
  }

 private:
  void turn(Index first, Span values) const {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= responses()[first + static_cast<Index>(i)];
  }
  [[nodiscard]] std::vector<double> turned(Index first, ConstSpan values) const {
    std::vector<double> out(values.begin(), values.end());
    turn(first, out);
    return out;
  }
  [[noreturn]] void refuse_bound() const {
    throw InvalidOption(
        fmt::format("{} with bound {} has no super-Gaussian form; vb takes it without", traits_.name, bound_.text()));
  }

  PiecewiseBound bound_;
  PiecewiseQuadratic shape_;
  Sites logistic_, pieces_;
  SiteTraits traits_;
  std::vector<SiteParameter> parameters_;
};

}  // namespace

Sites make_logit_bound(const PiecewiseBound& bound, const Vector& responses) {
  return std::make_shared<const LogitBoundBlock>(bound, responses);
}

}  // namespace gaussmith
