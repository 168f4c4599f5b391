// All site parameters of a fit as one vector, for accelerated sweeps.

#include "network/network_fit.hpp"

#include <utility>

namespace gaussmith {

namespace {

/// Visits all factors of a fit in one order, each with the variances of what they are factors of.
template <class Fit, class Visit>
void visit_factors(Fit& fit, Visit visit) {
  for (auto& unit : fit.units()) {
    visit(unit.activations, [&] { return unit.law.activations().variance; });
    visit(unit.weights, [&] { return Vector(unit.law.variance().head(unit.weights.shift.size())); });
    visit(unit.log_scales, [&] {
      Vector variance(unit.log_scales.shift.size());
      for (std::size_t j = 0; j < unit.scale.size(); ++j)
        variance(static_cast<Index>(j)) = fit.log_scales()[static_cast<std::size_t>(unit.scale[j])].variance;
      return variance;
    });
  }
  visit(fit.output_sites, [&] { return fit.output_site_variances(); });
  visit(fit.output_prior, [&] { return Vector(fit.output_covariance().diagonal()); });
  visit(fit.noise_sites, [&] { return Vector(Vector::Constant(fit.noise_sites.shift.size(), fit.noise().variance)); });
}

Index count(const NetworkFit& fit) {
  Index total = 0;
  visit_factors(fit,
                [&](const GaussianFactors& factors, const auto& /*variances*/) { total += 2 * factors.shift.size(); });
  return total;
}

}  // namespace

Vector NetworkFit::packed() const {
  Vector out(count(*this));
  Index at = 0;
  visit_factors(*this, [&](const GaussianFactors& factors, const auto& /*variances*/) {
    for (const Vector* v : {&factors.precision, &factors.shift}) {
      out.segment(at, v->size()) = *v;
      at += v->size();
    }
  });
  return out;
}

Vector NetworkFit::packed_weights() const {
  Vector out(count(*this));
  Index at = 0;
  visit_factors(*this, [&](const GaussianFactors& factors, const auto& variances) {
    const Index size = factors.shift.size();
    if (size == 0) return;
    const Vector variance = variances();
    out.segment(at, size) = variance;
    out.segment(at + size, size) = variance.cwiseSqrt();
    at += 2 * size;
  });
  return out;
}

void NetworkFit::unpack(const Vector& packed) {
  Index at = 0;
  visit_factors(*this, [&](GaussianFactors& factors, const auto& /*variances*/) {
    for (Vector* v : {&factors.precision, &factors.shift}) {
      *v = packed.segment(at, v->size());
      at += v->size();
    }
  });
}

Vector NetworkFit::output_site_variances() const {
  if (hidden() == 0) return Vector::Zero(problem_->row_count());
  return direction_.cwiseProduct(reach_).rowwise().sum();
}

}  // namespace gaussmith
