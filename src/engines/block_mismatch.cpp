#include "engines/block_mismatch.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

double block_mismatch(const JointCore& core, const RowMarginals& q, const Vector& pull_change,
                      const Vector& wanted_precision) {
  const double of_mean = std::sqrt(std::max(0.0, pull_change.dot(core.covariance_times(pull_change))));
  return std::max(of_mean, block_mismatch(core, q, wanted_precision));
}

double block_mismatch(const JointCore& core, const RowMarginals& q, const Vector& wanted_precision) {
  const Index c = core.width();
  double largest = 0.0;
  for (Index n = 0; n < core.rows(); ++n) {
    const Eigen::Map<const Matrix> wanted(wanted_precision.data() + n * c * c, c, c);
    const Eigen::Map<const Matrix> has(core.sites().precision.data() + n * c * c, c, c);
    const Eigen::Map<const Matrix> v(q.covariance.data() + n * c * c, c, c);
    largest = std::max(largest, ((wanted - has) * v).norm());
  }
  return largest;
}

}  // namespace gaussmith
