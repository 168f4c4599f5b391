#pragma once
// From the formulas of one likelihood to a SiteBlock: loops over rows, closed forms where the likelihood or its atom
// has them, quadrature otherwise. Concepts decide, so that a new likelihood writes only what it knows.

#include "gaussmith/errors.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "numerics/taylor3.hpp"
#include "sites/entry.hpp"
#include "sites/likelihood.hpp"
#include "sites/quantile.hpp"
#include "sites/recentre.hpp"
#include "sites/ridge.hpp"
#include "sites/validate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace gaussmith {

/// The atom of a Ridge; void for any other shape.
template <class Shape>
struct AtomOf {
  using type = void;
};
template <class Atom, class Scalar>
struct AtomOf<Ridge<Atom, Scalar>> {
  using type = Atom;
};

template <Likelihood L>
class LikelihoodBlock final : public SiteBlock {
  using Shape = decltype(L::shape(0.0, std::declval<const Arguments<L>&>()));
  using Atom = typename AtomOf<Shape>::type;
  static constexpr std::size_t argument_count = L::argument_count;

 public:
  LikelihoodBlock(Vector responses, const SiteArguments& arguments) : responses_(std::move(responses)) {
    const LikelihoodInfo info = L::info();
    traits_ = info.traits;
    check_responses(info, responses_);
    parameters_ = complete_arguments(info, responses_.size(), arguments);
    if constexpr (HasResponseCheck<L>) {
      for (Index row = 0; row < size(); ++row) {
        const std::string expected = L::response_problem(responses_[row], at(row));
        if (!expected.empty()) refuse_response(traits_.name, row, responses_[row], expected);
      }
    }
    constants_.resize(size());
    for (Index row = 0; row < size(); ++row) constants_[row] = L::constant(responses_[row], at(row));
  }

  const SiteTraits& traits() const override { return traits_; }
  const Vector& responses() const override { return responses_; }
  const std::vector<SiteParameter>& parameters() const override { return parameters_; }

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    SiteArguments merged = arguments;
    for (const SiteParameter& parameter : parameters_) merged.try_emplace(parameter.name, parameter.values);
    return std::make_shared<const LikelihoodBlock>(responses, merged);
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    const bool derivatives = !out.first.empty() || !out.second.empty() || !out.third.empty();
    for (std::size_t i = 0; i < eta.size(); ++i) {
      const Index row = first + static_cast<Index>(i);
      const Shape shape = shape_at(row);
      if (!derivatives) {
        if (!out.value.empty()) out.value[i] = constants_[row] + shape(eta[i]);
        continue;
      }
      const Taylor3 f = shape(Taylor3::variable(eta[i]));
      put(out.value, i, constants_[row] + f.value);
      put(out.first, i, f.first);
      put(out.second, i, f.second);
      put(out.third, i, f.third);
    }
  }

  void expectation(Index first, ConstSpan mean, ConstSpan variance, const ExpectationOut& out) const override {
    if constexpr (HasExpectation<Atom>) {
      for (std::size_t begin = 0; begin < mean.size(); begin += chunk) {
        const std::size_t count = std::min(chunk, mean.size() - begin);
        closed_expectation(first, mean, variance, begin, count, out);
      }
    } else {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const GaussianExpectation e = expectation_by_default(shape_at(row), mean[i], variance[i]);
        put(out.value, i, constants_[row] + e.value);
        put(out.d_mean, i, e.d_mean);
        put(out.d_variance, i, e.d_variance);
      }
    }
  }

  // F(m, s) = -constant - slope m + A(scale (m - centre), |scale| s), so that
  //   F*(a, r) = constant + (a + slope) centre + A*((a + slope)/scale, r/|scale|).
  void conjugate(Index first, ConstSpan slope, ConstSpan growth, ConstSpan mean, ConstSpan deviation,
                 const ConjugateOut& out) const override {
    if constexpr (HasConjugate<Atom>) {
      for (std::size_t i = 0; i < slope.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const Shape r = shape_at(row);
        const double left = slope[i] + r.slope;
        const AtomConjugate x = Atom::conjugate(left / r.scale, growth[i] / std::abs(r.scale), -r.weight);
        put(out.value, i, constants_[row] + left * r.centre + x.value);
        put(out.mean, i, r.centre + x.mean / r.scale);
        put(out.deviation, i, x.deviation / std::abs(r.scale));
      }
    } else {
      SiteBlock::conjugate(first, slope, growth, mean, deviation, out);
    }
  }

  void conjugate_limit(Index first, ConstSpan slope, Span out) const override {
    if constexpr (HasConjugateLimit<Atom>) {
      for (std::size_t i = 0; i < slope.size(); ++i) {
        const Shape r = shape_at(first + static_cast<Index>(i));
        out[i] = std::abs(r.scale) * Atom::conjugate_limit((slope[i] + r.slope) / r.scale, -r.weight);
      }
    } else {
      SiteBlock::conjugate_limit(first, slope, out);
    }
  }

  void tilted(Index first, ConstSpan mean, ConstSpan variance, double power, const TiltedOut& out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const Index row = first + static_cast<Index>(i);
      const TiltedMoments t = tilted_at(shape_at(row), mean[i], variance[i], power);
      if (!t.converged && out.inaccurate != nullptr) ++*out.inaccurate;
      put(out.log_normaliser, i, power * constants_[row] + t.log_normaliser);
      put(out.mean, i, t.mean);
      put(out.variance, i, t.variance);
    }
  }

  void bound(Index first, ConstSpan x, const BoundOut& out) const override {
    if constexpr (HasEvenPart<Atom>) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const Shape r = shape_at(row);
        const double squared_scale = r.scale * r.scale;
        const EvenPart even = Atom::even(squared_scale * x[i]);
        put(out.value, i, constants_[row] + r.slope * r.centre + r.weight * even.value);
        put(out.first, i, r.weight * squared_scale * even.first);
        put(out.second, i, r.weight * squared_scale * squared_scale * even.second);
      }
    } else {
      refuse_bound();
    }
  }

  void bound_shape(Index first, Span slope, Span centre) const override {
    if constexpr (HasEvenPart<Atom>) {
      for (std::size_t i = 0; i < std::max(slope.size(), centre.size()); ++i) {
        const Shape r = shape_at(first + static_cast<Index>(i));
        put(slope, i, r.slope + r.weight * r.scale * Atom::odd_slope);
        put(centre, i, r.centre);
      }
    } else {
      refuse_bound();
    }
  }

  void parameter_derivatives(Index first, int parameter, ConstSpan eta, const ParameterOut& out) const override {
    check_learnable(*this, parameter);
    if constexpr (argument_count > 0) {
      for (std::size_t i = 0; i < eta.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const auto p = dual_at(row, parameter);
        const Taylor<Dual> f = L::shape(responses_[row], p)(Taylor<Dual>::variable(eta[i]));
        put(out.value, i, L::constant(responses_[row], p).derivative + f.value.derivative);
        put(out.first, i, f.first.derivative);
        put(out.second, i, f.second.derivative);
      }
    }
  }

  void parameter_expectation(Index first, int parameter, ConstSpan mean, ConstSpan variance, Span out) const override {
    check_learnable(*this, parameter);
    if constexpr (argument_count > 0) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const auto p = dual_at(row, parameter);
        const auto shape = L::shape(responses_[row], p);
        const double constant = L::constant(responses_[row], p).derivative;
        if constexpr (HasExpectation<Atom>) {
          out[i] = constant + closed_parameter_expectation(shape, mean[i], variance[i]);
        } else {
          const auto h = [&](double eta) { return shape(Dual(eta)).derivative; };
          const std::array<Feature, 1> features{shape.feature()};
          const auto kinks = shape.kinks();
          out[i] = constant + expectation_by_quadrature(h, mean[i], variance[i], features, kinks).value;
        }
      }
    }
  }

  void parameter_tilted(Index first, int parameter, ConstSpan mean, ConstSpan variance, double power,
                        Span out) const override {
    check_learnable(*this, parameter);
    if constexpr (argument_count > 0) {
      TiltedNodes nodes;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const Index row = first + static_cast<Index>(i);
        const auto p = dual_at(row, parameter);
        out[i] = L::constant(responses_[row], p).derivative +
                 tilted_parameter_at(shape_at(row), L::shape(responses_[row], p), mean[i], variance[i], power, nodes);
      }
    }
  }

  void response(Index first, ConstSpan mean, ConstSpan variance, const ResponseOut& out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const auto p = at(first + static_cast<Index>(i));
      if constexpr (HasProbability<L>) {
        const double probability = L::probability(mean[i], variance[i], p);
        put(out.mean, i, 2.0 * probability - 1.0);
        put(out.variance, i, 4.0 * probability * (1.0 - probability));
        put(out.probability, i, probability);
      } else {
        const ResponseMoments moments = L::response(mean[i], variance[i], p);
        put(out.mean, i, moments.mean);
        put(out.variance, i, moments.variance);
        put(out.probability, i, not_a_number);
      }
    }
  }

  void response_cdf(Index first, ConstSpan mean, ConstSpan variance, ConstSpan y, Span out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      out[i] = marginal_cdf(at(first + static_cast<Index>(i)), mean[i], variance[i], y[i]);
    }
  }

  void response_quantile(Index first, ConstSpan mean, ConstSpan variance, double level, Span out) const override {
    check_level(level);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const auto p = at(first + static_cast<Index>(i));
      const auto cdf = [&](double y) { return marginal_cdf(p, mean[i], variance[i], y); };
      out[i] = response_quantile_of(traits_.response, cdf, level, mean[i], 0.1 + std::sqrt(variance[i]));
    }
  }

  void response_sample(Index first, ConstSpan eta, Random& random, Span out) const override {
    for (std::size_t i = 0; i < eta.size(); ++i) {
      out[i] = L::sample(eta[i], at(first + static_cast<Index>(i)), random);
    }
  }

 private:
  static constexpr std::size_t chunk = 128;

  static void put(Span out, std::size_t i, double value) {
    if (!out.empty()) out[i] = value;
  }

  [[noreturn]] void refuse_bound() const {
    throw InvalidOption(traits_.name + " has no super-Gaussian form; local bounds need one");
  }

  Arguments<L> at(Index row) const {
    Arguments<L> values{};
    for (std::size_t j = 0; j < argument_count; ++j) {
      const Vector& v = parameters_[j].values;
      values[j] = v[v.size() == 1 ? 0 : row];
    }
    return values;
  }

  Arguments<L, Dual> dual_at(Index row, int parameter) const {
    const Arguments<L> values = at(row);
    Arguments<L, Dual> duals{};
    for (std::size_t j = 0; j < argument_count; ++j) {
      duals[j] = static_cast<int>(j) == parameter ? Dual::parameter(values[j]) : Dual(values[j]);
    }
    return duals;
  }

  Shape shape_at(Index row) const { return L::shape(responses_[row], at(row)); }

  // x = scale (eta - centre) is normal too; the atom's expectation at its mean and variance, then the chain rule.
  void closed_expectation(Index first, ConstSpan mean, ConstSpan variance, std::size_t begin, std::size_t count,
                          const ExpectationOut& out) const {
    std::array<double, chunk> x_mean, x_variance, value, slope, half_curvature;
    for (std::size_t i = 0; i < count; ++i) {
      const Shape r = shape_at(first + static_cast<Index>(begin + i));
      x_mean[i] = r.scale * (mean[begin + i] - r.centre);
      x_variance[i] = r.scale * r.scale * variance[begin + i];
    }
    const auto wanted = [count](Span span, std::array<double, chunk>& buffer) {
      return span.empty() ? Span() : Span(buffer.data(), count);
    };
    Atom::expectation({x_mean.data(), count}, {x_variance.data(), count},
                      {wanted(out.value, value), wanted(out.d_mean, slope), wanted(out.d_variance, half_curvature)});
    for (std::size_t i = 0; i < count; ++i) {
      const Index row = first + static_cast<Index>(begin + i);
      const Shape r = shape_at(row);
      if (!out.value.empty()) out.value[begin + i] = constants_[row] + r.slope * mean[begin + i] + r.weight * value[i];
      if (!out.d_mean.empty()) out.d_mean[begin + i] = r.slope + r.weight * r.scale * slope[i];
      if (!out.d_variance.empty()) out.d_variance[begin + i] = r.weight * r.scale * r.scale * half_curvature[i];
    }
  }

  // The four numbers are duals; E[f(x)] depends on them through the mean and variance of x and the weight.
  template <class DualShape>
  static double closed_parameter_expectation(const DualShape& r, double m, double v) {
    const Dual x_mean = r.scale * (m - r.centre);
    const Dual x_variance = r.scale * r.scale * v;
    double value = 0.0, slope = 0.0, half_curvature = 0.0;
    Atom::expectation({&x_mean.value, 1}, {&x_variance.value, 1}, {{&value, 1}, {&slope, 1}, {&half_curvature, 1}});
    const Dual f(value, slope * x_mean.derivative + half_curvature * x_variance.derivative);
    return (r.slope * m + r.weight * f).derivative;
  }

  GaussianExpectation expectation_by_default(const Shape& shape, double m, double v) const {
    if (v == 0.0) {
      const Taylor3 f = shape(Taylor3::variable(m));
      return {f.value, f.first, 0.5 * f.second, true};
    }
    const std::array<Feature, 1> features{shape.feature()};
    const auto kinks = shape.kinks();
    return expectation_by_quadrature([&](double eta) { return shape(eta); }, m, v, features, kinks);
  }

  // log t + slope (eta - mean) and its derivatives.
  static auto recentred_site(const Shape& shape, const Recentred& to) {
    return [&shape, to](double eta) -> SiteDerivatives {
      const Taylor3 f = shape(Taylor3::variable(eta));
      return {f.value + to.slope * (eta - to.mean), f.first + to.slope, f.second};
    };
  }

  // The tilted density of x = scale (eta - centre); slope eta = slope centre + (slope/scale) x.
  static TiltedRow tilted_row(const Shape& shape, double m, double v, double power) {
    return {shape.scale * (m - shape.centre), shape.scale * shape.scale * v, power * shape.slope / shape.scale,
            power * shape.weight};
  }

  TiltedMoments tilted_at(const Shape& shape, double m, double v, double power) const {
    if constexpr (HasTilted<Atom>) {
      if (plain(shape.slope) == 0.0 && Atom::can_tilt(power * shape.weight)) {
        const AtomTilted x =
            Atom::tilted(shape.scale * (m - shape.centre), shape.scale * shape.scale * v, power * shape.weight);
        return {x.log_normaliser, shape.centre + x.mean / shape.scale, x.variance / (shape.scale * shape.scale), true};
      }
    }
    if constexpr (HasTiltedRule<Atom>) {
      TiltedMoments x;
      if (Atom::tilted_rule(tilted_row(shape, m, v, power), x, nullptr)) {
        return {x.log_normaliser + power * shape.slope * shape.centre, shape.centre + x.mean / shape.scale,
                x.variance / (shape.scale * shape.scale), true};
      }
    }
    if (traits_.log_concave && traits_.smooth) {
      const Recentred to = recentre(recentred_site(shape, {m, 0.0, 0.0}), m, v, power);
      TiltedMoments t = tilted_moments_unimodal(recentred_site(shape, to), to.mean, v, power);
      t.log_normaliser += to.shift;
      if (t.converged) return t;
    }
    const std::array<Feature, 1> features{shape.feature()};
    const auto kinks = shape.kinks();
    return tilted_moments([&](double eta) { return shape(eta); }, m, v, power, features, kinks);
  }

  template <class DualShape>
  double tilted_parameter_at(const Shape& shape, const DualShape& dual, double m, double v, double power,
                             TiltedNodes& nodes) const {
    if constexpr (HasTilted<Atom> && Homogeneous<Atom>) {
      // d/d log(parameter) of weight f(scale (eta - y)) is a multiple of f itself.
      const AtomTilted x =
          Atom::tilted(shape.scale * (m - shape.centre), shape.scale * shape.scale * v, power * shape.weight);
      return (dual.weight.derivative + dual.weight.value * Atom::degree * dual.scale.derivative / dual.scale.value) *
             x.expected;
    } else {
      const auto h = [&](double eta) { return dual(Dual(eta)).derivative; };
      if constexpr (HasTiltedRule<Atom>) {
        TiltedMoments x;
        if (Atom::tilted_rule(tilted_row(shape, m, v, power), x, &nodes)) {
          double sum = 0.0;
          for (std::size_t j = 0; j < nodes.x.size(); ++j) {
            // Where the density vanishes h may be huge.
            if (nodes.weight[j] > 1e-25) sum += nodes.weight[j] * h(shape.centre + nodes.x[j] / shape.scale);
          }
          return sum;
        }
      }
      if (traits_.log_concave && traits_.smooth) {
        const Recentred to = recentre(recentred_site(shape, {m, 0.0, 0.0}), m, v, power);
        return tilted_expectation_unimodal(h, recentred_site(shape, to), to.mean, v, power);
      }
      const std::array<Feature, 1> features{shape.feature()};
      const auto kinks = shape.kinks();
      return tilted_expectation(
          h, [&](double eta) { return shape(eta); }, m, v, power, features, kinks);
    }
  }

  double marginal_cdf(const Arguments<L>& p, double m, double v, double y) const {
    if (traits_.response == ResponseKind::positive && y <= 0.0) return 0.0;
    if (traits_.response == ResponseKind::count) {
      if (y < 0.0) return 0.0;
      y = std::floor(y);
    }
    if constexpr (HasProbability<L>) {
      return y < -1.0 ? 0.0 : y < 1.0 ? 1.0 - L::probability(m, v, p) : 1.0;
    } else if constexpr (HasMarginalCdf<L>) {
      return L::marginal_cdf(y, m, v, p);
    } else {
      if (v == 0.0) return L::cdf(y, m, p);
      const std::array<Feature, 1> features{L::cdf_feature(y, p)};
      const std::array<double, 1> kinks{features[0].centre};
      const auto conditional = [&](double eta) { return L::cdf(y, eta, p); };
      const double mixed =
          expectation_by_quadrature(conditional, m, v, features, traits_.smooth ? std::span<const double>() : kinks)
              .value;
      return std::clamp(mixed, 0.0, 1.0);
    }
  }

  SiteTraits traits_;
  Vector responses_;
  std::vector<SiteParameter> parameters_;
  Vector constants_;
};

/// The catalogue's entry for a likelihood. Called in the likelihood's own .cpp alone, which is where its block is
/// compiled.
template <Likelihood L>
const LikelihoodEntry& entry_of() {
  static const LikelihoodEntry entry{L::info(), [](const Vector& responses, const SiteArguments& arguments) -> Sites {
                                       return std::make_shared<const LikelihoodBlock<L>>(responses, arguments);
                                     }};
  return entry;
}

}  // namespace gaussmith
