#include "trust/left_out.hpp"

#include "gaussmith/errors.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// P(Y <= y | others) of one row, with half the probability of y itself where that has one. Censored rows and
/// likelihoods that only know their density have none.
double transform(const SiteBlock& block, Index i, double mean, double variance, double log_density, bool censored) {
  const ResponseKind kind = block.traits().response;
  if (kind == ResponseKind::label || censored || !std::isfinite(mean) || !(variance >= 0.0)) return nothing;
  const double y = block.responses()(i);
  double below = nothing;
  try {
    block.response_cdf(i, ConstSpan(&mean, 1), ConstSpan(&variance, 1), ConstSpan(&y, 1), Span(&below, 1));
  } catch (const InvalidModel&) {
    return nothing;
  }
  const bool discrete = kind == ResponseKind::count || kind == ResponseKind::sign;
  return discrete ? below - 0.5 * std::exp(log_density) : below;
}

}  // namespace

Vector left_out_transforms(const Model& model, const LeaveOneOut& left_out) {
  Vector out = Vector::Constant(model.rows(), nothing);
  if (model.latents.count > 1) return out;
  Index row = 0;
  for (const Sites& block : model.sites) {
    const Vector censored = censored_rows(*block);
    for (Index i = 0; i < block->size(); ++i) {
      const Index n = row + i;
      out(n) = transform(*block, i, left_out.latent.mean(n), left_out.latent.variance(n), left_out.log_density(n),
                         censored.size() > 0 && censored(i) != 0.0);
    }
    row += block->size();
  }
  return out;
}

void put_left_out(const Posterior& posterior, TrustCard& card) {
  const LeaveOneOut left_out = posterior.leave_one_out();
  card.loo_log_density = left_out.log_density;
  card.loo_pit = left_out_transforms(posterior.model(), left_out);
}

}  // namespace gaussmith
