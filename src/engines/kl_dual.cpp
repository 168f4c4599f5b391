// Khan, Aravkin, Friedlander and Seeger (2013): where f is convex in (m, v), one convex dual. For the sites it takes f
// depends on v through f_mm alone, so that
//   min over alpha of ½ alpha'K alpha - m0'alpha - ½ log|I + K L| + sum f*(alpha, 0),  lambda = f_mm at f_m = alpha:
// lambda as large as f* allows, and with it N variables in place of 2 N.

#include "engines/solver_record.hpp"
#include "engines/solver_steps.hpp"
#include "model/site_conjugates.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

class Dual {
 public:
  Dual(GaussianCore& core, const SiteRows& sites) : core_(core), sites_(sites) {}

  double operator()(const Vector& alpha, Vector& gradient) {
    const Index rows = core_.rows();
    Conjugates best{Vector(rows), Vector::Zero(rows), Vector::Zero(rows)};
    find_conjugates(sites_, std::vector<char>(static_cast<std::size_t>(rows), 1), alpha, Vector::Zero(rows), {}, best);
    if (!best.value.allFinite()) return std::numeric_limits<double>::infinity();
    const Vector precision = precisions(best.mean);
    if (!core_.set({precision, Vector::Zero(rows)})) return std::numeric_limits<double>::infinity();
    const LatentPoint at = core_.point(-alpha);
    gradient = best.mean - at.eta - 0.5 * core_.variances().cwiseProduct(change_);
    // ½ alpha'K alpha - m0'alpha.
    return 0.5 * core_.inner(at, at) - core_.prior_mean().dot(alpha) - core_.half_log_det().value + best.value.sum();
  }

  [[nodiscard]] const Vector& precision() const { return core_.sites().precision; }

  /// (K + L^-1)^-1 g, the inverse of the second derivative but for what the determinant has in it.
  [[nodiscard]] Vector inverse_times(const Vector& g) const {
    const Vector scaled = precision().cwiseProduct(g);
    return scaled - precision().cwiseProduct(core_.covariance_times(scaled));
  }

 private:
  /// lambda = f_mm, and d lambda / d alpha = f_mmm / f_mm.
  Vector precisions(const Vector& mean) {
    Vector second;
    Vector third;
    sites_.log_density(mean, nullptr, nullptr, &second, &third);
    change_ = third.cwiseQuotient(second);
    return -second;
  }

  GaussianCore& core_;
  const SiteRows& sites_;
  Vector change_;
};

}  // namespace

void climb_dual(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record) {
  Dual dual(core, sites);
  // Slopes of the sites where they are in fact taken, so that f* is finite there.
  Vector d_mean;
  sites.expectation(start.mean.eta, core.prior_variances().cwiseMin(widest_variance), nullptr, &d_mean);
  if (core.set({start.precision, Vector::Zero(core.rows())}))
    sites.expectation(start.mean.eta, core.variances(), nullptr, &d_mean);
  QuasiNewton search([&](const Vector& at, Vector& gradient) { return dual(at, gradient); },
                     [&](const Vector& g) { return dual.inverse_times(g); });
  climb_by(search, -d_mean, record, [&](const Vector& at, KlPoint& point) {
    Vector unused;
    (void)dual(at, unused);
    return record.look(dual.precision(), core.point(-at), point);
  });
}

}  // namespace gaussmith
