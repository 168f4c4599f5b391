#include "sampling/centred_sites.hpp"

namespace gaussmith {

CentredSites centred(const SiteApproximation& sites, const Vector& origin) {
  CentredSites out{origin, Vector(origin.size()), Vector(origin.size()), sites.precision};
  out.slope = sites.shift - sites.precision.cwiseProduct(origin);
  out.constant = origin.cwiseProduct(sites.shift - 0.5 * sites.precision.cwiseProduct(origin));
  return out;
}

}  // namespace gaussmith
