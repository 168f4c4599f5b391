// A site given by log t alone: everything else by derivative-free quadrature and central differences.

#include "sites/custom.hpp"

#include "gaussmith/batch_likelihood.hpp"
#include "gaussmith/errors.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "sites/latent_only.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

SiteTraits traits_of(const CustomLikelihood& likelihood) {
  SiteTraits traits;
  traits.name = likelihood.name;
  traits.log_concave = likelihood.log_concave;
  traits.any_thread = likelihood.any_thread;
  traits.smooth = likelihood.smooth;
  traits.super_gaussian = static_cast<bool>(likelihood.bound);
  return traits;
}

double centre_of(const CustomLikelihood& likelihood, double y) {
  return likelihood.centre ? likelihood.centre(y) : 0.0;
}

double slope_of(const CustomLikelihood& likelihood, double y) { return likelihood.slope ? likelihood.slope(y) : 0.0; }

/// log t from that for many numbers, or from its super-Gaussian form, where it is not given itself.
BatchLikelihood completed(BatchLikelihood likelihood) {
  if (likelihood.log_densities && !likelihood.log_density)
    likelihood.log_density = [all = likelihood.log_densities](double eta, double y) {
      double log_t = 0.0;
      all({&eta, 1}, {&y, 1}, {&log_t, 1});
      return log_t;
    };
  if (likelihood.bound && !likelihood.log_density)
    likelihood.log_density = [of = CustomLikelihood(likelihood)](double eta, double y) {
      const double s = eta - centre_of(of, y);
      return slope_of(of, y) * s + of.bound(s * s, y)[0];
    };
  return likelihood;
}

/// Where a super-Gaussian form is looked at, in widths from the centre, and how exactly it has to be that of log t.
constexpr std::array<double, 7> looks = {0.03, 0.2, 0.7, 1.5, 4.0, 12.0, 40.0};
constexpr double same_density = 1e-8;
/// g'' comes from a difference of g' over this share of x.
constexpr double bend_step = 1e-4;

class CustomBlock final : public LatentOnlyBlock {
 public:
  CustomBlock(BatchLikelihood likelihood, Vector responses)
      : LatentOnlyBlock(traits_of(likelihood), std::move(responses)), likelihood_(completed(std::move(likelihood))) {
    if (!likelihood_.log_density) {
      throw InvalidModel(likelihood_.name + ": log_density is empty; expected a function of eta and y");
    }
    if (!(std::isfinite(likelihood_.width) && likelihood_.width > 0.0)) {
      throw InvalidModel(
          fmt::format("{}: width is {}; expected a positive number", likelihood_.name, likelihood_.width));
    }
    if (likelihood_.bound && size() > 0) check_bound(0);
  }

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    refuse_arguments(arguments);
    return std::make_shared<const CustomBlock>(likelihood_, responses);
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    const bool derivatives = !out.first.empty() || !out.second.empty() || !out.third.empty();
    if (derivatives && !likelihood_.smooth) {
      throw InvalidOption(likelihood_.name +
                          " is not declared smooth, so it has no derivatives; set smooth = true, or " +
                          "use a method that needs none");
    }
    const Vector y = responses().segment(first, static_cast<Index>(eta.size()));
    if (!out.value.empty()) {
      evaluate(eta, view(y), out.value);
      for (std::size_t i = 0; i < eta.size(); ++i) check_finite(first + static_cast<Index>(i), eta[i], out.value[i]);
    }
    if (!derivatives) return;
    const Derivatives d = differentiate(first, eta, view(y));
    for (std::size_t i = 0; i < eta.size(); ++i) {
      put(out.first, i, d(static_cast<Index>(i), 0));
      put(out.second, i, d(static_cast<Index>(i), 1));
      put(out.third, i, d(static_cast<Index>(i), 2));
    }
  }

  void expectation(Index first, ConstSpan mean, ConstSpan variance, const ExpectationOut& out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const Index row = first + static_cast<Index>(i);
      GaussianExpectation e;
      if (variance[i] == 0.0 && likelihood_.smooth) {
        const double y = response_of(row);
        const Derivatives d = differentiate(row, {&mean[i], 1}, {&y, 1});
        e = {finite(row, mean[i]), d(0, 0), 0.5 * d(0, 1), true};
      } else {
        const Hints hints(likelihood_, response_of(row));
        RowFunction log_t(*this, row, true);
        e = expectation_by_quadrature(log_t, mean[i], variance[i], hints.features(), hints.kinks);
      }
      put(out.value, i, e.value);
      put(out.d_mean, i, e.d_mean);
      put(out.d_variance, i, e.d_variance);
    }
  }

  void tilted(Index first, ConstSpan mean, ConstSpan variance, double power, const TiltedOut& out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const Index row = first + static_cast<Index>(i);
      const Hints hints(likelihood_, response_of(row));
      RowFunction log_t(*this, row, false);
      const TiltedMoments t = tilted_moments(log_t, mean[i], variance[i], power, hints.features(), hints.kinks);
      if (!t.converged && out.inaccurate != nullptr) ++*out.inaccurate;
      put(out.log_normaliser, i, t.log_normaliser);
      put(out.mean, i, t.mean);
      put(out.variance, i, t.variance);
    }
  }

  void bound(Index first, ConstSpan x, const BoundOut& out) const override {
    if (!likelihood_.bound) return LatentOnlyBlock::bound(first, x, out);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double y = response_of(first + static_cast<Index>(i));
      const std::array<double, 2> g = likelihood_.bound(x[i], y);
      put(out.value, i, g[0]);
      put(out.first, i, g[1]);
      if (out.second.empty()) continue;
      const double step = bend_step * (x[i] + bend_step * likelihood_.width * likelihood_.width);
      put(out.second, i, (likelihood_.bound(x[i] + step, y)[1] - g[1]) / step);
    }
  }

  void bound_shape(Index first, Span slope, Span centre) const override {
    if (!likelihood_.bound) return LatentOnlyBlock::bound_shape(first, slope, centre);
    for (std::size_t i = 0; i < std::max(slope.size(), centre.size()); ++i) {
      const double y = response_of(first + static_cast<Index>(i));
      put(slope, i, slope_of(likelihood_, y));
      put(centre, i, centre_of(likelihood_, y));
    }
  }

 private:
  using Derivatives = Eigen::Matrix<double, Eigen::Dynamic, 3>;

  /// log t of one row. Where many numbers are one call, it asks for those that it was told of together.
  class RowFunction {
   public:
    /// `finite` refuses an impossible eta, too.
    RowFunction(const CustomBlock& block, Index row, bool finite) : block_(&block), row_(row), finite_(finite) {}

    [[nodiscard]] bool looks_ahead() const { return static_cast<bool>(block_->likelihood_.log_densities); }
    void ahead(ConstSpan eta) {
      const std::vector<double> y(eta.size(), block_->response_of(row_));
      points_.assign(eta.begin(), eta.end());
      values_.resize(eta.size());
      next_ = 0;
      if (!points_.empty()) block_->evaluate(points_, y, values_);
    }

    double operator()(double eta) {
      for (std::size_t k = next_; k < points_.size(); ++k) {
        if (points_[k] != eta) continue;
        next_ = k + 1;
        return checked(eta, values_[k]);
      }
      return checked(eta, block_->likelihood_.log_density(eta, block_->response_of(row_)));
    }

   private:
    [[nodiscard]] double checked(double eta, double found) const {
      return finite_ ? block_->check_finite(row_, eta, found) : block_->check_value(row_, eta, found);
    }

    const CustomBlock* block_;
    Index row_;
    bool finite_;
    std::vector<double> points_, values_;
    std::size_t next_ = 0;
  };

  void evaluate(ConstSpan eta, ConstSpan y, Span out) const {
    if (likelihood_.log_densities) {
      likelihood_.log_densities(eta, y, out);
      return;
    }
    for (std::size_t i = 0; i < eta.size(); ++i) out[i] = likelihood_.log_density(eta[i], y[i]);
  }

  /// Throws InvalidModel where g is not that of log t, not decreasing or not convex at some points.
  void check_bound(Index row) const {
    const double y = response_of(row);
    const auto refuse = [&](double x, const std::string& what) {
      throw InvalidModel(fmt::format("{}: bound of row {} at x = {}: {}", likelihood_.name, row, x, what));
    };
    double last = -std::numeric_limits<double>::infinity();
    for (const double look : looks) {
      const double s = look * likelihood_.width;
      const double x = s * s;
      const std::array<double, 2> g = likelihood_.bound(x, y);
      if (!std::isfinite(g[0]) || !std::isfinite(g[1]))
        refuse(x, fmt::format("g = {}, g' = {}; expected finite numbers", g[0], g[1]));
      if (g[1] > 0.0) refuse(x, fmt::format("g' = {}; expected a decreasing g", g[1]));
      if (g[1] < last - same_density * std::abs(last))
        refuse(x, fmt::format("g' falls from {} to {}; expected a convex g", last, g[1]));
      last = g[1];
      for (const double side : {-s, s}) {
        const double density = likelihood_.log_density(centre_of(likelihood_, y) + side, y);
        const double form = slope_of(likelihood_, y) * side + g[0];
        if (!(std::abs(density - form) <= same_density * (1.0 + std::abs(density))))
          refuse(x, fmt::format("slope s + g = {}; expected log t = {}", form, density));
      }
    }
  }

  // What the user told about where log t varies, for one row.
  struct Hints {
    Hints(const CustomLikelihood& likelihood, double y) {
      if (likelihood.kinks) kinks = likelihood.kinks(y);
      if (likelihood.centre) {
        feature = {likelihood.centre(y), likelihood.width};
        has_feature = true;
      }
    }
    [[nodiscard]] std::span<const Feature> features() const { return {&feature, has_feature ? 1u : 0u}; }

    std::vector<double> kinks;
    Feature feature{0.0, 1.0};
    bool has_feature = false;
  };

  [[noreturn]] void refuse_value(Index row, double eta, double found, std::string_view expected) const {
    throw InvalidModel(fmt::format("{}: log density of row {} at eta = {} is {}; expected {}", likelihood_.name, row,
                                   eta, found, expected));
  }

  // log t may be -inf (an impossible eta) but neither NaN nor +inf.
  double check_value(Index row, double eta, double found) const {
    if (std::isnan(found) || found == std::numeric_limits<double>::infinity()) {
      refuse_value(row, eta, found, "a finite number or -inf");
    }
    return found;
  }

  // E[log t] and derivatives do not exist where t = 0.
  double check_finite(Index row, double eta, double found) const {
    if (std::isinf(check_value(row, eta, found)))
      refuse_value(row, eta, found, "a finite number: this method needs unbounded support");
    return found;
  }

  double finite(Index row, double eta) const {
    return check_finite(row, eta, likelihood_.log_density(eta, response_of(row)));
  }

  // (log t)', (log t)'' and (log t)''' of consecutive rows.
  Derivatives differentiate(Index first, ConstSpan eta, ConstSpan y) const {
    if (!likelihood_.all_derivatives && !likelihood_.derivatives) return differences(first, eta, y);
    Derivatives out(static_cast<Index>(eta.size()), 3);
    const auto column = [&](Index k) { return Span(out.col(k).data(), eta.size()); };
    if (likelihood_.all_derivatives) {
      likelihood_.all_derivatives(eta, y, column(0), column(1), column(2));
    } else {
      for (std::size_t i = 0; i < eta.size(); ++i) {
        const std::array<double, 3> d = likelihood_.derivatives(eta[i], y[i]);
        out.row(static_cast<Index>(i)) << d[0], d[1], d[2];
      }
    }
    for (std::size_t i = 0; i < eta.size(); ++i) {
      for (const double value : out.row(static_cast<Index>(i)))
        if (!std::isfinite(value)) refuse_value(first + static_cast<Index>(i), eta[i], value, "finite derivatives");
    }
    return out;
  }

  // Central differences on eta +- h, ..., +- 4h: order 8 for the first two derivatives and 6 for the third.
  Derivatives differences(Index first, ConstSpan eta, ConstSpan y) const {
    constexpr std::size_t points = 9;  // Of a row: the centre, then right and left of it.
    std::vector<double> steps, at, responses;
    for (std::size_t i = 0; i < eta.size(); ++i) {
      // h is a power of two times the width, and not below the spacing that |eta| leaves, so that eta + k h is exact.
      const double scale = std::max(0.03 * likelihood_.width, 1e-5 * std::abs(eta[i]));
      const double h = std::exp2(std::round(std::log2(scale)));
      steps.push_back(h);
      at.push_back(eta[i]);
      for (int k = 1; k <= 4; ++k) at.insert(at.end(), {eta[i] + k * h, eta[i] - k * h});
      responses.insert(responses.end(), points, y[i]);
    }
    std::vector<double> found(at.size());
    evaluate(at, responses, found);
    Derivatives out(static_cast<Index>(eta.size()), 3);
    for (std::size_t i = 0; i < eta.size(); ++i) {
      const double* const value = found.data() + points * i;
      for (std::size_t k = 0; k < points; ++k)
        check_finite(first + static_cast<Index>(i), at[points * i + k], value[k]);
      std::array<double, 5> odd{}, even{};
      for (std::size_t k = 1; k <= 4; ++k) {
        const double right = value[2 * k - 1];
        const double left = value[2 * k];
        odd[k] = right - left;
        even[k] = (right - value[0]) + (left - value[0]);
      }
      const double h = steps[i];
      out.row(static_cast<Index>(i)) << (4.0 / 5.0 * odd[1] - 1.0 / 5.0 * odd[2] + 4.0 / 105.0 * odd[3] -
                                         1.0 / 280.0 * odd[4]) /
                                            h,
          (8.0 / 5.0 * even[1] - 1.0 / 5.0 * even[2] + 8.0 / 315.0 * even[3] - 1.0 / 560.0 * even[4]) / (h * h),
          (-61.0 / 30.0 * odd[1] + 169.0 / 120.0 * odd[2] - 3.0 / 10.0 * odd[3] + 7.0 / 240.0 * odd[4]) / (h * h * h);
    }
    return out;
  }

  BatchLikelihood likelihood_;
};

}  // namespace

bool is_custom(const SiteBlock& block) { return dynamic_cast<const CustomBlock*>(&block) != nullptr; }

Sites observe(CustomLikelihood likelihood, const Vector& responses) {
  return observe(BatchLikelihood{std::move(likelihood)}, responses);
}

Sites observe(BatchLikelihood likelihood, const Vector& responses) {
  return std::make_shared<const CustomBlock>(std::move(likelihood), responses);
}

}  // namespace gaussmith
