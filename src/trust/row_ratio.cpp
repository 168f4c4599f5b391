#include "trust/row_ratio.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

RatioRow ratio_row(const CentredSites& sites, Index n, double mean, double variance, double share) {
  const double away = mean - sites.origin(n);
  const double precision = share * sites.precision(n);
  const double slope = share * sites.slope(n) - precision * away;
  const double constant = share * (sites.constant(n) + sites.slope(n) * away) - 0.5 * precision * away * away;
  const double left = 1.0 - variance * precision;
  if (!(left > 0.0)) return {mean, -1.0, 0.0};
  const double wide = variance / left;
  return {mean - wide * slope, wide, 0.5 * (slope * slope * wide - std::log(left)) - constant};
}

double log_ratio(const SiteRows& sites, const CentredSites& approximation, const Vector& mean, const Vector& variance,
                 const Vector& smallest, double power, RatioMoments* moments) {
  const Index n = sites.rows();
  Vector cavity_mean = mean;
  Vector cavity_variance = Vector::Ones(n);
  Vector log_scale = Vector::Zero(n);
  std::vector<Index> points;
  for (Index i = 0; i < n; ++i) {
    if (variance(i) <= smallest(i)) {
      points.push_back(i);
      continue;
    }
    const RatioRow row = ratio_row(approximation, i, mean(i), variance(i), power / sites.copies(i));
    if (!(row.variance > 0.0) || !std::isfinite(row.variance)) return std::numeric_limits<double>::quiet_NaN();
    cavity_mean(i) = row.mean;
    cavity_variance(i) = row.variance;
    log_scale(i) = row.log_scale;
  }
  Vector log_normaliser;
  Vector tilted_mean;
  Vector tilted_variance;
  sites.tilted(cavity_mean, cavity_variance, power, log_normaliser, tilted_mean, tilted_variance);
  if (!points.empty()) {
    Vector value;
    sites.log_density(mean, &value);
    for (const Index i : points) {
      const double away = mean(i) - approximation.origin(i);
      const double site =
          approximation.constant(i) + away * (approximation.slope(i) - 0.5 * approximation.precision(i) * away);
      log_normaliser(i) = (value(i) - site) * power / sites.copies(i);
      cavity_variance(i) = 0.0;
    }
  }
  double total = 0.0;
  for (Index i = 0; i < n; ++i) total += sites.copies(i) / power * (log_scale(i) + log_normaliser(i));
  if (moments != nullptr)
    *moments = {std::move(tilted_mean), std::move(tilted_variance), std::move(cavity_variance), std::move(cavity_mean)};
  return total;
}

}  // namespace gaussmith
