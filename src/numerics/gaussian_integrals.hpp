#pragma once
// Gaussian expectations and tilted moments of functions given only as callables. Derivative-free routes take anything,
// with hints where the function varies; the unimodal route takes a log-concave site with derivatives and is fast.
// The callables are passed on by reference without a copy, so that the algorithms are compiled once.

#include <memory>
#include <span>
#include <type_traits>

namespace gaussmith {

/// A hint: the function varies near `centre` on the scale `width` > 0. Needed only for features that a search on the
/// scale of the Gaussian could miss.
struct Feature {
  double centre, width;
};

/// E[f], dE[f]/dm, dE[f]/dv. `converged` is false if an error estimate stayed above its goal.
struct GaussianExpectation {
  double value = 0.0, d_mean = 0.0, d_variance = 0.0;
  bool converged = true;
};

/// log of the normaliser, mean and variance of N(x | m, v) exp(power * log_site(x)).
struct TiltedMoments {
  double log_normaliser = 0.0, mean = 0.0, variance = 0.0;
  bool converged = true;
};

/// log t(x) and two derivatives at one x.
struct SiteDerivatives {
  double value, first, second;
};

/// Callables that want to know which points are asked for next: a call for each costs them more than its numbers.
template <class F>
concept LooksAhead = requires(F& f, std::span<const double> points) {
  f.ahead(points);
};

/// A non-owning reference to a function or callable double -> R; valid while the callable lives.
template <class R>
class FunctionOf {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionOf> && std::is_invocable_r_v<R, F&, double>)
      FunctionOf(F&& f) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    using Callable = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Callable>) {
      target_.function = reinterpret_cast<void (*)()>(&f);
      call_ = [](Target target, double x) -> R { return reinterpret_cast<Callable*>(target.function)(x); };
    } else {
      target_.object = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
      call_ = [](Target target, double x) -> R { return (*static_cast<Callable*>(target.object))(x); };
      if constexpr (LooksAhead<Callable>)
        ahead_ = [](Target target, std::span<const double> points) {
          static_cast<Callable*>(target.object)->ahead(points);
        };
    }
  }

  R operator()(double x) const { return call_(target_, x); }

  [[nodiscard]] bool looks_ahead() const { return ahead_ != nullptr; }
  /// These points are asked for next, in this order.
  void ahead(std::span<const double> points) const {
    if (ahead_ != nullptr) ahead_(target_, points);
  }

 private:
  union Target {
    void* object;
    void (*function)();
  };
  Target target_;
  R (*call_)(Target, double);
  void (*ahead_)(Target, std::span<const double>) = nullptr;
};
using ScalarFunction = FunctionOf<double>;
using DerivativeFunction = FunctionOf<SiteDerivatives>;

/// E[f(x)] under N(m, v) and its derivatives in m and v, from values of f alone.
/// f is finite everywhere; it may have kinks or jumps (listed in `kinks`, or found by bisection). v >= 0; at v = 0 the
/// derivatives are those of a polynomial through nearby values. Accurate to 1e-10 (1 + |value|) for smooth f.
[[nodiscard]] GaussianExpectation expectation_by_quadrature(ScalarFunction f, double m, double v,
                                                            std::span<const Feature> features = {},
                                                            std::span<const double> kinks = {});

/// Moments of N(x | m, v) exp(power * log_site(x)), v > 0, for any site, several modes included.
/// log_site may be -inf (but not everywhere). Accurate to 1e-10 (1 + |value|); the variance also relatively.
[[nodiscard]] TiltedMoments tilted_moments(ScalarFunction log_site, double m, double v, double power,
                                           std::span<const Feature> features = {}, std::span<const double> kinks = {});

/// E[h(x)] under the normalised tilted density N(x | m, v) exp(power * log_site(x)) / Z.
[[nodiscard]] double tilted_expectation(ScalarFunction h, ScalarFunction log_site, double m, double v, double power,
                                        std::span<const Feature> features = {}, std::span<const double> kinks = {});

/// tilted_moments for a smooth log-concave site with derivatives. Newton to the mode, a window from the actual decay,
/// and the trapezoidal rule doubled until two levels agree to 1e-11 (typically 50 evaluations in the end); a site that
/// bends on a scale far below the window goes to adaptive panels instead.
[[nodiscard]] TiltedMoments tilted_moments_unimodal(DerivativeFunction derivatives, double m, double v, double power);

/// tilted_expectation for a smooth log-concave site; h smooth.
[[nodiscard]] double tilted_expectation_unimodal(ScalarFunction h, DerivativeFunction derivatives, double m, double v,
                                                 double power);

}  // namespace gaussmith
