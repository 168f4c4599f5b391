#include "gaussian/core.hpp"

#include "gaussian/covariance_core.hpp"
#include "gaussian/precision_core.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

GaussianCore::GaussianCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : PosteriorGaussian(std::move(geometry)), prior_mean_(geometry_->row_mean()) {
  if (offset.size() > 0) prior_mean_ += offset;
}

std::string why_not_factorised(const GaussianCore& core) {
  if (!core.geometry().has_gaussian()) return std::string(undetermined_weights);
  return "prior and sites differ so much in scale that they cannot be factorised in double precision; rescale the "
         "responses, the design or the prior";
}

FormChoice choose_form(const Model& model, CoreForm wanted) {
  const Index n = model.rows();
  const Index d = model.dimension();
  if (std::holds_alternative<NoGaussian>(model.prior)) {
    if (wanted == CoreForm::covariance)
      throw InvalidOption("form: a model without a Gaussian factor has no covariance form; use precision or auto");
    return {CoreForm::precision, fmt::format("precision form, D = {}: no Gaussian factor", d)};
  }
  if (wanted == CoreForm::root)
    throw InvalidOption("form: root is what constrained covariances end in; use covariance, precision or auto");
  if (wanted == CoreForm::covariance) return {wanted, fmt::format("covariance form, N = {}: asked for", n)};
  if (wanted == CoreForm::precision) return {wanted, fmt::format("precision form, D = {}: asked for", d)};
  if (n <= d) return {CoreForm::covariance, fmt::format("covariance form: N = {} rows, D = {} weights, N <= D", n, d)};
  return {CoreForm::precision, fmt::format("precision form: N = {} rows, D = {} weights, D < N", n, d)};
}

double model_memory(const Model& model) {
  double doubles = 4.0 * static_cast<double>(model.rows() + model.dimension());
  if (const auto* dense = std::get_if<Matrix>(&model.design)) doubles += static_cast<double>(dense->size());
  // An index takes half of a double.
  if (const auto* sparse = std::get_if<SparseMatrix>(&model.design))
    doubles += 1.5 * static_cast<double>(sparse->nonZeros());
  if (const auto* prior = std::get_if<DenseGaussian>(&model.prior))
    doubles += static_cast<double>(prior->covariance.size());
  if (const auto* prior = std::get_if<GaussianProcess>(&model.prior))
    doubles += static_cast<double>(prior->inputs.size());
  return 8 * doubles;
}

double core_memory(const Model& model, CoreForm form) {
  const auto n = static_cast<double>(model.rows());
  const auto d = static_cast<double>(model.dimension());
  const bool dense_prior =
      std::holds_alternative<DenseGaussian>(model.prior) || std::holds_alternative<GaussianProcess>(model.prior);
  const bool identity = std::holds_alternative<Identity>(model.design);
  const auto* sparse = std::get_if<SparseMatrix>(&model.design);
  double doubles = 60 * (n + d);
  if (form == CoreForm::covariance) {
    doubles += 3.5 * n * n;  // K, the factor, its inverse, and what is being made of them.
    const bool concave = std::all_of(model.sites.begin(), model.sites.end(),
                                     [](const Sites& block) { return block->traits().log_concave; });
    if (!concave) doubles += 1.5 * n * n;  // The rows with negative precisions.
    if (dense_prior && !identity) doubles += d * d + 2 * n * d;
    if (!dense_prior && !identity && sparse == nullptr) doubles += n * d;
  } else {
    constexpr double block = 2048;
    doubles += 3 * d * d + block * d;  // The precision, its factor, and what is being made of them.
    if (dense_prior) doubles += 2 * d * d + n * d;
    if (!dense_prior)
      doubles += sparse != nullptr ? 1.5 * static_cast<double>(sparse->nonZeros()) : n * (identity ? 1 : d);
  }
  return 8 * doubles;
}

std::unique_ptr<GaussianCore> make_core(const Model& model, CoreForm form, int threads) {
  auto geometry = std::make_shared<PriorGeometry>(model.prior, model.design, threads);
  if (form == CoreForm::precision) return std::make_unique<PrecisionCore>(std::move(geometry), model.offset);
  return std::make_unique<CovarianceCore>(std::move(geometry), model.offset);
}

Marginals predict_in_blocks(Index count, Index train_rows,
                            const std::function<void(Index, Index, Vector&, Vector&)>& block) {
  // About 64 MB of cross-covariances at a time, but enough columns to keep DTRSM busy.
  constexpr Index entries = Index{1} << 23;
  const Index columns = std::clamp<Index>(entries / std::max<Index>(1, train_rows), 64, 4096);
  Marginals out{Vector(count), Vector(count)};
  Vector mean;
  Vector variance;
  for (Index begin = 0; begin < count; begin += columns) {
    const Index end = std::min(count, begin + columns);
    block(begin, end, mean, variance);
    out.mean.segment(begin, end - begin) = mean;
    out.variance.segment(begin, end - begin) = variance;
  }
  return out;
}

}  // namespace gaussmith
