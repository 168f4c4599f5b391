#include "gaussian/joint_core.hpp"

#include "gaussian/joint_law.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gaussmith {

JointCore::JointCore(std::shared_ptr<const JointPrior> prior, const Vector& offset)
    : GaussianCore(prior->geometry(), offset.size() > 0 ? Vector(prior->mean() + offset) : prior->mean(),
                   prior->functions()),
      prior_(std::move(prior)) {}

bool JointCore::factorise(const SiteApproximation& sites) {
  // A factor that a law shares, or one for sites of another structure, is not overwritten.
  const bool other =
      factor_ == nullptr || factor_.use_count() > 1 || (sites.star.size() > 0) != (this->sites().star.size() > 0);
  if (other) factor_ = make_joint_factor(prior_, sites);
  return factor_->factorise(sites);
}

void JointCore::find_variances(Vector& variance, Vector& share) {
  covariances_ = factor_->covariances();
  variance = diagonals(covariances_, width());
  share.resize(0);
}

LatentPoint JointCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + stacked(prior_->times(by_function(coordinates, width())));
  return {std::move(coordinates), std::move(eta)};
}

Vector JointCore::dual_of(const Vector& r) const { return stacked(factor_->dual(by_function(r, width()))); }

LatentPoint JointCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  return point(dual_of(shift - precision_times(sites(), prior_mean_)));
}

Vector JointCore::covariance_times(const Vector& x) const {
  return stacked(prior_->times(factor_->dual(by_function(x, width()))));
}

LatentPoint JointCore::centre() const { return {Vector::Zero(prior_mean_.size()), prior_mean_}; }

double JointCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return a.coordinates.dot(b.eta - prior_mean_);
}

double JointCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  return (site_gradient - from.coordinates).dot(to.eta - from.eta);
}

RoundingError JointCore::rounding_error(const LatentPoint& at) {
  // As in the covariance form with one latent (docs/numerics.md): an error dK of the size of its rounding moves log Z
  // by 1/2 a'dK a - 1/2 tr(Z dK) and V by P dK P', P = (I + K T)^-1 = I - V T.
  const RowMarginals q = marginals(at);
  const Eigen::ArrayXd prior = prior_variances().cwiseMax(0.0);
  const Eigen::ArrayXd v = q.variance.array().max(rounding_unit * prior);
  const Eigen::ArrayXd strength = diagonals(sites().precision, width()).cwiseAbs();
  const double dual = (at.coordinates.array().square() * prior).sum();
  // Z = T - T V T is at most T.
  const double trace = (strength * prior).sum();
  const double spread = (prior * strength.square() * v).sum();

  RoundingError out;
  out.log_evidence = 0.5 * rounding_unit * (dual + trace);
  out.gradient = 2.0 * out.log_evidence;
  const double blur = rounding_unit * std::sqrt(dual);
  for (Index i = 0; i < prior.size(); ++i) {
    if (!(v(i) > 0.0)) continue;
    const double carried = std::min(trace * std::max(0.0, prior(i) - v(i)), spread * v(i));
    const double felt = std::max(v(i), 2.0 * std::max(prior(i), v(i)) + 2.0 * carried);
    out.variance = std::max(out.variance, rounding_unit * felt / v(i));
    out.mean = std::max(out.mean, blur * (std::sqrt(felt) + std::sqrt(prior(i))) / std::sqrt(v(i)));
  }
  out.mean += largest_ratio(rounding_unit * at.eta.cwiseAbs(), v.sqrt().matrix());
  return out;
}

Matrix JointCore::covariance_weights(const LatentPoint& /*at*/, const Vector& /*implicit*/) const {
  throw std::logic_error("several latents have gradients of their own");
}

ParameterGradient JointCore::prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                            const Vector& implicit) const {
  // 1/2 (a a' - Z + g a' + a g') = 1/2 (a b' + b a' - Z) with b = a / 2 + g, contracted with dK.
  ParameterGradient gradient;
  const Index c_count = width();
  const Matrix a = by_function(at.coordinates, c_count);
  Matrix b = 0.5 * a;
  if (implicit.size() > 0) b += by_function(implicit, c_count);
  const Latents& latents = prior_->latents();
  const Prior& prior = geometry_->prior();

  const auto kernel_weights = [&](Index c, const Matrix& left, const Matrix& right) {
    Matrix m = factor_->kernel_precision(c);
    m *= -0.5;
    m.triangularView<Eigen::Lower>() += 0.5 * (left * right.transpose() + right * left.transpose());
    return m;
  };
  const auto pulled = [&](const PriorGeometry& geometry, Matrix m) {
    if (geometry.design().is_identity()) return m;
    mirror_lower(m);
    return geometry.pull_back(m);
  };
  if (prior_->has_own_kernels()) {
    for (Index c = 0; c < c_count; ++c) {
      const PriorGeometry& geometry = *prior_->geometry(c);
      ParameterGradient own;
      add_entry_gradient(geometry.prior(), pulled(geometry, kernel_weights(c, a.col(c), b.col(c))), geometry.threads(),
                         own);
      for (const auto& [name, value] : own)
        gradient["kernels[" + std::to_string(c) + "]." + name.substr(name.find('.') + 1)] = value;
    }
    return gradient;
  }
  if (has_entry_parameters(prior)) {
    const Matrix mixed = a * prior_->latent_covariance();
    add_entry_gradient(prior, pulled(*geometry_, kernel_weights(0, mixed, b)), geometry_->threads(), gradient);
  }
  if (const ScaleParameter scale = scale_parameter(prior); !scale.name.empty()) {
    // dK = K: tr(Z K) = sum_n tr(T_n V_n).
    double slope = 0.5 * inner(at, at) - 0.5 * sites().precision.dot(rows.covariance);
    if (implicit.size() > 0) slope += implicit.dot(rows.mean - prior_mean_);
    gradient[scale.name] = scale.power * slope;
  }
  if (latents.model != LatentModel::identity && latents.model != LatentModel::given) {
    // d log Z = tr(G dK^c), G = 1/2 (a'K^x b + b'K^x a - tr K^x Z^cc').
    const Matrix kb = prior_->has_root() ? times(prior_->root(), transposed_times(prior_->root(), b))
                                         : symmetric_times(prior_->kernel(), b);
    const Matrix half = transposed_times(a, kb);
    add_latent_gradient(latents, 0.5 * (half + half.transpose() - factor_->latent_traces()), gradient);
  }
  return gradient;
}

std::unique_ptr<PosteriorLaw> JointCore::law(const LatentPoint& at) const {
  return std::make_unique<JointLaw>(prior_, factor_, sites(), at.coordinates);
}

}  // namespace gaussmith
