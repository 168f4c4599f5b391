#include "engines/duality_gap.hpp"

#include "model/site_conjugates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace gaussmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// A row whose conjugate is attained within this part of a standard deviation has the term 1/2 d'(f'')^-1 d, good to
/// about this share of itself and free of cancellation.
constexpr double near_by = 1e-4;
/// Of the diagonal of f''; below it f is a cone there as far as differences can tell.
constexpr double least_determinant = 1e-9;
/// Above this share of the diagonal differences to one side tell a determinant well enough.
constexpr double wanted_determinant = 0.03;
/// How much wider V may become, at most, and how attempts to make lambda smaller grow.
constexpr double most_shrinking = 0.5;
constexpr double first_shrinking = 1e-12;
constexpr double growth_of_shrinking = 30.0;
constexpr std::size_t most_rows = 5;
/// What second derivatives foretell may be too much by this where rows are far from the optimum.
constexpr double far_beyond = 10.0;

/// sum over rows of f + f* - alpha m - lambda s^2 at one point.
class Terms {
 public:
  Terms(const GaussianCore& core, const SiteRows& sites, const KlPoint& point, Vector alpha)
      : sites_(sites),
        point_(point),
        alpha_(std::move(alpha)),
        leftover_(core.leftover()),
        own_(leftover_.size() > 0 ? Vector((point.variance - leftover_).cwiseMax(0.0)) : point.variance),
        deviation_(own_.cwiseSqrt()) {
    by_mean_ = -point.mean.d_mean;
    by_deviation_ = -2.0 * deviation_.cwiseProduct(point.mean.d_variance);
    bend_mean_ = -2.0 * point.mean.d_variance;
    const Slopes longer = slopes((1.0 + deviation_step) * deviation_);
    Vector step = longer.deviation - deviation_;
    bend_mixed_ = (longer.by_mean - by_mean_).cwiseQuotient(step);
    bend_deviation_ = (longer.by_deviation - by_deviation_).cwiseQuotient(step);
    if (!nearly_singular()) return;
    const Slopes shorter = slopes((1.0 - deviation_step) * deviation_);
    step = longer.deviation - shorter.deviation;
    bend_mixed_ = (longer.by_mean - shorter.by_mean).cwiseQuotient(step);
    bend_deviation_ = (longer.by_deviation - shorter.by_deviation).cwiseQuotient(step);
  }

  /// The certificate with lambda as it is or, where that is too much for some rows, smaller in these:
  /// lambda' = (1 - e_n) lambda, e_n = o_n + t/2 + t^2 with o_n what is too much, 0 in rows that only V' makes fail. As
  /// V^½ L V^½ <= 1, V' <= V/(1 - t) for t/2 + t^2 + S <= t, S = min(sum o lambda v, max o), so that s' <= s/sqrt(1 -
  /// t). f* rises with the growth, and ½ log|I + K L| + ½ sum lambda v by less than v for every unit of lambda.
  [[nodiscard]] Vector rows() {
    Vector excess = Vector::Zero(alpha_.size());
    std::vector<char> shrunk(static_cast<std::size_t>(alpha_.size()), 0);
    for (double attempt = first_shrinking; attempt < most_shrinking; attempt *= growth_of_shrinking) {
      const double wider = widening(excess);
      if (!(wider < most_shrinking)) break;
      Vector terms = at(excess, shrunk, wider);
      bool finite = true;
      for (Index n = 0; n < terms.size(); ++n) {
        if (terms(n) < infinity) continue;
        finite = false;
        if (limits()(n) < 0.0) return terms;
        // Where the limit alone does not help, f* is attained far away, or its domain is not known.
        const double room = 1.0 - limits()(n) / (point_.precision(n) * deviation_(n));
        char& known = shrunk[static_cast<std::size_t>(n)];
        if (room > excess(n))
          excess(n) = room + attempt;
        else if (known != 0 || wider == 0.0)
          excess(n) += attempt;
        known = 1;
      }
      if (finite) return terms;
    }
    return Vector::Constant(alpha_.size(), infinity);
  }

  /// About what the terms add up to, without a search: where the gap is small this is what it is.
  [[nodiscard]] double foretold() const {
    double sum = 0.0;
    for (Index n = 0; n < alpha_.size(); ++n) sum += quadratic(n, point_.precision(n) * deviation_(n)).term;
    return sum;
  }

 private:
  struct Slopes {
    Vector deviation, by_mean, by_deviation;
  };
  /// The first derivatives of f at the means and these deviations.
  [[nodiscard]] Slopes slopes(const Vector& deviation) const {
    Vector variance = deviation.cwiseAbs2();
    if (leftover_.size() > 0) variance += leftover_;
    Vector d_mean;
    Vector d_variance;
    sites_.expectation(point_.mean.at.eta, variance, nullptr, &d_mean, &d_variance);
    return {deviation, -d_mean, -2.0 * deviation.cwiseProduct(d_variance)};
  }

  /// Whether the determinant of some f'' needs more digits than differences to one side have.
  [[nodiscard]] bool nearly_singular() const {
    const auto whole = bend_mean_.array() * bend_deviation_.array();
    return (whole - bend_mixed_.array().square() < wanted_determinant * whole).any();
  }

  [[nodiscard]] double widening(const Vector& excess) const {
    const double shared = excess.cwiseProduct(point_.precision).dot(own_);
    const double least = std::min(shared, excess.maxCoeff());
    return 2.0 * least + 16.0 * least * least;
  }

  [[nodiscard]] Vector at(const Vector& excess, const std::vector<char>& shrunk, double wider) {
    const Index rows = alpha_.size();
    Vector share(rows);
    for (Index n = 0; n < rows; ++n)
      share(n) = shrunk[static_cast<std::size_t>(n)] != 0 ? excess(n) + 0.5 * wider + wider * wider : 0.0;
    const Vector growth =
        point_.precision.array() * deviation_.array() * (1.0 - share.array()) / std::sqrt(1.0 - wider);
    Vector terms(rows);
    std::vector<char> far(static_cast<std::size_t>(rows), 0);
    bool any = false;
    for (Index n = 0; n < rows; ++n) {
      const Quadratic here = quadratic(n, growth(n));
      if (here.distance <= near_by) {
        terms(n) = here.term;
        continue;
      }
      // Beyond its domain f* is infinite, which a search would take long to say.
      if (growth(n) > limits()(n)) {
        terms(n) = infinity;
        continue;
      }
      far[static_cast<std::size_t>(n)] = 1;
      any = true;
    }
    if (any) add_far(far, growth, terms);
    // From growth' s to lambda' s^2, and what the smaller lambda may have changed.
    if (wider > 0.0)
      terms.array() +=
          growth.array() * deviation_.array() -
          point_.precision.array() * own_.array() * (1.0 - share.array() - share.array() * wider / (1.0 - wider));
    return terms;
  }

  [[nodiscard]] const Vector& limits() {
    if (limits_.size() == 0) limits_ = conjugate_limits(sites_, alpha_);
    return limits_;
  }

  /// Half the squared mismatch (alpha - f_m, growth - f_s) in the metric of f'', and how many deviations away the
  /// conjugate is attained by it; infinitely many where f'' is singular.
  struct Quadratic {
    double term = 0.0, distance = infinity;
  };
  [[nodiscard]] Quadratic quadratic(Index n, double growth) const {
    const double x = alpha_(n) - by_mean_(n);
    const double y = growth - by_deviation_(n);
    if (x == 0.0 && y == 0.0) return {0.0, 0.0};
    const double a = bend_mean_(n);
    const double b = bend_mixed_(n);
    const double c = bend_deviation_(n);
    const double det = a * c - b * b;
    if (!(a > 0.0 && c > 0.0 && det > least_determinant * a * c)) return {};
    const double dm = (c * x - b * y) / det;
    const double ds = (a * y - b * x) / det;
    return {std::max(0.0, 0.5 * (x * dm + y * ds)), std::max(std::abs(dm), std::abs(ds)) / deviation_(n)};
  }

  void add_far(const std::vector<char>& far, const Vector& growth, Vector& terms) {
    const Vector& eta = point_.mean.at.eta;
    if (value_.size() == 0) sites_.expectation(eta, point_.variance, &value_);
    Conjugates best{Vector::Zero(alpha_.size()), eta, deviation_};
    find_conjugates(sites_, far, alpha_, growth, leftover_, best);
    for (Index n = 0; n < alpha_.size(); ++n) {
      if (far[static_cast<std::size_t>(n)] == 0) continue;
      const double term = best.value(n) - value_(n) - alpha_(n) * eta(n) - growth(n) * deviation_(n);
      terms(n) = std::isnan(term) ? infinity : std::max(0.0, term);
    }
  }

  const SiteRows& sites_;
  const KlPoint& point_;
  Vector alpha_, leftover_, own_, deviation_;
  Vector by_mean_, by_deviation_, bend_mean_, bend_mixed_, bend_deviation_;
  Vector value_, limits_;
};

}  // namespace

DualityGap duality_gap(const GaussianCore& core, const SiteRows& sites, const KlPoint& point, double most) {
  if (!(point.precision.array() >= 0.0).all() || !std::isfinite(point.bound)) return {};
  // The dual of Newton's next mean, d + T (eta - eta'), is that of a mean whatever T the core is at. So the term of the
  // mean is small where its residual is, and without a Gaussian factor H'alpha = 0 holds by itself.
  const LatentPoint& now = point.mean.at;
  const Vector& precision = core.sites().precision;
  const LatentPoint next = core.mean(point.mean.d_mean + precision.cwiseProduct(now.eta));
  const Vector alpha = -point.mean.d_mean - precision.cwiseProduct(now.eta - next.eta);
  const LatentPoint arrow{next.coordinates - now.coordinates, next.eta - now.eta + core.prior_mean()};
  const double moved = 0.5 * std::max(0.0, core.inner(arrow, arrow));
  DualityGap out;
  Terms terms(core, sites, point, alpha);
  if (terms.foretold() + moved > far_beyond * most) return out;
  out.rows = terms.rows();
  out.value = out.rows.sum() + moved;
  if (!std::isfinite(out.value)) out.value = infinity;
  return out;
}

std::vector<RowGap> worst_rows(const Vector& rows) {
  std::vector<Index> order(static_cast<std::size_t>(rows.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const std::size_t count = std::min(most_rows, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](Index a, Index b) { return rows(a) != rows(b) ? rows(a) > rows(b) : a < b; });
  std::vector<RowGap> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back({order[k], rows(order[k])});
  return out;
}

std::string why_no_gap(const Model& model) {
  if (model.latents.count > 1) return "no duality gap: it is known for one latent a row";
  for (std::size_t b = 0; b < model.sites.size(); ++b)
    if (!model.sites[b]->traits().log_concave)
      return fmt::format("no duality gap: sites[{}] ({}) is not log-concave, so nothing bounds its optimum from above",
                         b, model.sites[b]->traits().name);
  return {};
}

}  // namespace gaussmith
