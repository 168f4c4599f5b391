// A site of several latents given by log t and its derivatives.

#include "gaussmith/errors.hpp"
#include "sites/latent_only.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace gaussmith {

namespace {

/// Third derivatives come from differences of the Hessian over this step, beside the size of eta.
constexpr double difference_step = 1e-5;

SiteTraits traits_of(const CustomJointLikelihood& likelihood) {
  return {.name = likelihood.name,
          .log_concave = likelihood.log_concave,
          .any_thread = likelihood.any_thread,
          .methods = {"laplace"}};
}

class CustomJointBlock final : public LatentOnlyBlock {
 public:
  CustomJointBlock(CustomJointLikelihood likelihood, Vector responses)
      : LatentOnlyBlock(traits_of(likelihood), std::move(responses)), likelihood_(std::move(likelihood)) {
    if (likelihood_.latents < 2)
      throw InvalidModel(fmt::format("{}: latents is {}; expected 2 or more, or a CustomLikelihood", likelihood_.name,
                                     likelihood_.latents));
    if (!likelihood_.log_density || !likelihood_.derivatives)
      throw InvalidModel(fmt::format("{}: log_density or derivatives is empty; expected functions", likelihood_.name));
  }

  Index width() const override { return likelihood_.latents; }

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    refuse_arguments(arguments);
    return std::make_shared<const CustomJointBlock>(likelihood_, responses);
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    Vector gradient(width());
    Matrix hessian(width(), width());
    const bool derivatives = !out.first.empty() || !out.second.empty();
    for (Index i = 0; i < count(eta); ++i) {
      const ConstSpan f = latents_of(eta, i);
      const double y = response_of(first + i);
      if (!out.value.empty()) {
        const double value = likelihood_.log_density(f, y);
        if (std::isnan(value) || value > 1e300)
          throw InvalidModel(
              fmt::format("{}: log_density of row {} is {}; it must be a number", likelihood_.name, first + i, value));
        out.value[static_cast<std::size_t>(i)] = value;
      }
      if (!derivatives) continue;
      differentiate(f, y, gradient, hessian);
      if (!out.first.empty()) Eigen::Map<Vector>(out.first.data() + i * width(), width()) = gradient;
      if (!out.second.empty())
        Eigen::Map<Matrix>(out.second.data() + i * width() * width(), width(), width()) = hessian;
    }
  }

  void curvature_slope(Index first, ConstSpan eta, ConstSpan covariance, Span out) const override {
    const Index c = width();
    Vector gradient(c);
    Matrix hessian(c, c);
    Vector f(c);
    for (Index i = 0; i < count(eta); ++i) {
      const Eigen::Map<const Matrix> v(covariance.data() + i * c * c, c, c);
      const Eigen::Map<const Vector> centre(eta.data() + i * c, c);
      for (Index k = 0; k < c; ++k) {
        const double step = difference_step * (1.0 + std::abs(centre(k)));
        double sides = 0.0;
        for (const double sign : {1.0, -1.0}) {
          f = centre;
          f(k) += sign * step;
          differentiate(view(std::as_const(f)), response_of(first + i), gradient, hessian);
          sides += sign * v.cwiseProduct(hessian).sum();
        }
        out[static_cast<std::size_t>(i * c + k)] = sides / (2.0 * step);
      }
    }
  }

  void expectation(Index, ConstSpan, ConstSpan, const ExpectationOut&) const override { refuse_integrals(); }
  void tilted(Index, ConstSpan, ConstSpan, double, const TiltedOut&) const override { refuse_integrals(); }

 private:
  [[nodiscard]] Index count(ConstSpan eta) const { return static_cast<Index>(eta.size()) / width(); }
  [[nodiscard]] ConstSpan latents_of(ConstSpan eta, Index i) const {
    return eta.subspan(static_cast<std::size_t>(i * width()), static_cast<std::size_t>(width()));
  }

  void differentiate(ConstSpan eta, double y, Vector& gradient, Matrix& hessian) const {
    likelihood_.derivatives(eta, y, view(gradient), {hessian.data(), static_cast<std::size_t>(hessian.size())});
    hessian = 0.5 * (hessian + hessian.transpose()).eval();
  }

  [[noreturn]] void refuse_integrals() const {
    throw InvalidOption(
        fmt::format("{}: integrals over several latents are not known; only the laplace method and "
                    "latent moments are",
                    likelihood_.name));
  }

  CustomJointLikelihood likelihood_;
};

}  // namespace

Sites observe(CustomJointLikelihood likelihood, const Vector& responses) {
  return std::make_shared<const CustomJointBlock>(std::move(likelihood), responses);
}

}  // namespace gaussmith
