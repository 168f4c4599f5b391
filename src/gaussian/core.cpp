#include "gaussian/core.hpp"

#include "base/overloaded.hpp"
#include "gaussian/block_weights.hpp"
#include "gaussian/covariance_core.hpp"
#include "gaussian/inducing_core.hpp"
#include "gaussian/joint_inducing_core.hpp"
#include "gaussian/matrix_free_core.hpp"
#include "gaussian/precision_core.hpp"
#include "gaussian/sparse_core.hpp"
#include "gaussian/vectors_memory.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gaussmith {

GaussianCore::GaussianCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : geometry_(std::move(geometry)), prior_mean_(geometry_->row_mean()) {
  if (offset.size() > 0) {
    prior_mean_ += offset;
    offset_size_ = offset.cwiseAbs();
  }
}

GaussianCore::GaussianCore(std::shared_ptr<PriorGeometry> geometry, Vector prior_mean, Index width)
    : geometry_(std::move(geometry)), prior_mean_(std::move(prior_mean)), width_(width) {}

const Vector& GaussianCore::row_covariances() const {
  static const Vector none;
  return none;
}

const Vector& GaussianCore::leftover() const {
  static const Vector none;
  return none;
}

double GaussianCore::half_trace(const Vector& precision, const Vector& variance) const {
  return 0.5 * (precision.dot(variance) - (leftover().size() > 0 ? precision.dot(leftover()) : 0.0));
}

const Vector& GaussianCore::mean_sizes() {
  if (!mean_sizes_) {
    const Vector& mean = geometry_->mean();
    mean_sizes_ = mean.isZero(0.0) ? Vector(Vector::Zero(rows())) : geometry_->absolute_times(mean.cwiseAbs());
    if (offset_size_.size() > 0) *mean_sizes_ += offset_size_;
  }
  return *mean_sizes_;
}

const Vector& GaussianCore::covariance_sizes() {
  if (!covariance_sizes_) {
    const bool cancels = geometry_->covariance().size() > 0 && !geometry_->design().is_identity();
    covariance_sizes_ = cancels
                            ? Vector(geometry_->absolute_times(geometry_->weight_variances().cwiseSqrt()).cwiseAbs2())
                            : prior_variances();
  }
  return *covariance_sizes_;
}

Vector GaussianCore::eta_rounding(const LatentPoint& at) { return rounding_unit * (at.eta.cwiseAbs() + mean_sizes()); }

Vector GaussianCore::shift_rounding(const LatentPoint& at) {
  return rounding_unit * sites_.shift.cwiseAbs() + sites_.precision.cwiseAbs().cwiseProduct(eta_rounding(at));
}

bool GaussianCore::set(const SiteApproximation& sites) {
  if (!factorised_ || !sites_.same_precision(sites)) {
    variances_.reset();
    factorised_ = false;  // Whatever happens on the way.
    factorised_ = sites.precision.allFinite() && factorise(sites);
  }
  sites_ = sites;
  return factorised_ && sites.shift.allFinite();
}

void GaussianCore::restore(const SiteApproximation& sites) {
  if (!set(sites)) throw std::logic_error("a factorisation could not be repeated");
}

const Vector& GaussianCore::variances() {
  if (!variances_) {
    Vector variance;
    find_variances(variance, share_);
    variances_ = std::move(variance);
  }
  return *variances_;
}

RowMarginals GaussianCore::marginals(const LatentPoint& at) {
  const Vector& variance = variances();
  return {{at.eta, variance, row_covariances()}, share_, dual(at), leftover()};
}

ParameterGradient GaussianCore::prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                               const Vector& implicit) const {
  ParameterGradient gradient;
  const Prior& prior = geometry_->prior();
  if (has_entry_parameters(prior))
    add_entry_gradient(prior, covariance_weights(at, implicit), geometry_->threads(), gradient);
  const auto pull = [&] {
    return implicit.size() > 0 ? geometry_->design().transposed_times(implicit, geometry_->threads()) : Vector();
  };
  if (has_block_parameters(prior)) add_block_gradient(prior, BlockWeights(*geometry_, *law(at), pull()), gradient);
  if (const ScaleParameter scale = scale_parameter(prior); !scale.name.empty()) {
    // dK = K: the traces need only what is at hand, tr(Z K) = sum tau v.
    double slope = 0.5 * inner(at, at) - 0.5 * sites_.precision.dot(rows.variance);
    if (implicit.size() > 0) slope += implicit.dot(rows.mean - prior_mean_);
    if (!scale.untouched.empty()) {
      const BlockWeights weights(*geometry_, *law(at), pull(), scale.untouched);
      for (const Index j : scale.untouched) slope -= weights(j, 1)(0, 0) * geometry_->weight_covariance(j, 1)(0, 0);
    }
    gradient[scale.name] = scale.power * slope + scale.beside;
  }
  return gradient;
}

std::string why_not_factorised(const GaussianCore& core) {
  if (!core.geometry().has_gaussian()) return std::string(undetermined_weights);
  return "prior and sites differ so much in scale that they cannot be factorised in double precision; rescale the "
         "responses, the design or the prior";
}

namespace {

/// From this many weights on, sparse rows are looked at for what they join.
constexpr Index many_weights = 300;
/// Pairs of weights in rows that are worth counting: where the form is asked for, and where it is one among others.
/// Rows with more, as those of text, fill the factor whatever the order, and finding that out takes longer than a fit.
constexpr double most_pairs = 4e8;
constexpr double most_pairs_of_choice = 5e7;
/// The sparse form is taken where its factorisation takes at most this share of the flops of a dense one: its flops are
/// slower, and most of them are variances.
constexpr double worthwhile = 0.05;

struct SparseShape {
  SymmetricPattern pattern;  ///< Of A = Q + H'T H.
  Index held = 0;            ///< Constraints.
};

/// For a prior and rows that are sparse; nothing where rows join more pairs of weights than this, or the pattern has
/// more entries.
std::optional<SparseShape> sparse_shape(const Model& model, double limit,
                                        double most_entries = std::numeric_limits<double>::infinity()) {
  const DesignEntries stored = model.design.entries();
  if (!stored.is_sparse() && !stored.identity) return {};
  if (has_dense_covariance(model.prior)) return {};
  double pairs = 0.0;
  if (stored.is_sparse())
    visit_sparse(stored, [&](const auto& rows) {
      for (Index n = 0; n < rows.rows(); ++n) {
        const double length = rows.outerIndexPtr()[n + 1] - rows.outerIndexPtr()[n];
        pairs += length * length;
      }
    });
  if (pairs > limit) return {};
  const auto prior = prior_precision(model.prior);
  if (!prior) return {};
  auto pattern = small_gram_pattern(prior->precision, sparse_rows(model.design).get(), most_entries);
  if (!pattern) return {};
  return SparseShape{std::move(*pattern), prior->constraints.rows()};
}

/// Whether the sparse form beats the dense ones, where the prior leaves the choice.
bool sparse_form_suits(const Model& model) {
  const auto d = static_cast<double>(model.dimension());
  const auto n = static_cast<double>(model.rows());
  if (model.dimension() < many_weights) return false;
  const auto shape = sparse_shape(model, most_pairs_of_choice, worthwhile * d * d / 2.0);
  if (!shape) return false;
  const double smaller = std::min(n, d);
  return factor_cost(shape->pattern).flops < worthwhile * smaller * smaller * smaller;
}

/// From this many rows and weights on, dense forms cost 1e11 flops and more a factorisation, 0.5 GB and more, and where
/// there is a choice, variances are estimated.
constexpr Index many_on_both_sides = 4000;

/// Whether the prior is one that products need not know more of than a diagonal.
bool has_diagonal_precision(const Model& model) {
  return !has_gaussian(model.prior) || independent_variances(model.prior).has_value();
}

bool estimates_suit(const Model& model) {
  const DesignEntries stored = model.design.entries();
  // Other sites may have negative precisions, or want several starts.
  const bool concave = std::all_of(model.sites.begin(), model.sites.end(),
                                   [](const Sites& block) { return block->traits().log_concave; });
  return concave && stored.dense == nullptr && !stored.identity && has_diagonal_precision(model) &&
         std::min(model.rows(), model.dimension()) >= many_on_both_sides;
}

}  // namespace

FormChoice choose_form(const Model& model, CoreForm wanted, Estimates estimates) {
  const Index n = model.rows();
  const Index d = model.dimension();
  if (const Inducing* inducing = inducing_of(model)) {
    if (wanted != CoreForm::automatic && wanted != CoreForm::inducing)
      throw InvalidOption("form: inducing variables have a form of their own; leave it at auto");
    return {CoreForm::inducing, fmt::format("inducing form: {} inducing variables for N = {} rows",
                                            count_of(*inducing, model.latents.count), n)};
  }
  if (wanted == CoreForm::inducing)
    throw InvalidOption("form: inducing is for a process with inducing variables; use auto");
  if (has_only_precision(model.prior)) {
    if (wanted == CoreForm::covariance)
      throw InvalidOption("form: a prior given by its precision has no covariance form; use sparse or auto");
    if (!model.design.has_entries())
      throw InvalidOption("form: a prior given by its precision needs a design with entries, not an operator");
    return {CoreForm::sparse, fmt::format("sparse form, D = {}: the prior is known by its precision", d)};
  }
  if (wanted == CoreForm::sparse) {
    if (has_dense_covariance(model.prior) || !model.design.has_entries())
      throw InvalidOption(
          "form: sparse needs independent weights or a sparse prior precision, and a design with entries");
    return {wanted, fmt::format("sparse form, D = {}: asked for", d)};
  }
  if (wanted == CoreForm::matrix_free) {
    if (!has_diagonal_precision(model))
      throw InvalidOption("form: matrix-free needs independent weights, or no Gaussian factor");
    return {wanted, fmt::format("matrix-free form, D = {}: asked for", d)};
  }
  if (wanted == CoreForm::automatic && sparse_form_suits(model))
    return {CoreForm::sparse, fmt::format("sparse form: N = {} rows join few of D = {} weights", n, d)};
  if (wanted == CoreForm::automatic && estimates == Estimates::where_needed && estimates_suit(model))
    return {CoreForm::matrix_free,
            fmt::format("matrix-free form: N = {} rows and D = {} weights, both {} or more", n, d, many_on_both_sides)};
  if (!has_gaussian(model.prior)) {
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
  return model.design.bytes() + bytes_of(model.prior) + 8.0 * 4.0 * static_cast<double>(model.rows());
}

double core_memory(const Model& model, CoreForm form, const Estimation& estimation) {
  const auto n = static_cast<double>(model.rows());
  const auto d = static_cast<double>(model.dimension());
  const bool dense_prior = has_dense_covariance(model.prior);
  const bool identity = model.design.is_identity();
  double doubles = vectors_memory(model.rows(), model.dimension()) / 8.0;
  if (form == CoreForm::inducing && model.latents.count > 1)
    return 8 * doubles + joint_inducing_memory(*process_of(model.prior), model.latents);
  if (form == CoreForm::inducing) {
    // The rows of all values, a posterior's factors and those on the way, and strips of rows on every thread.
    constexpr double strips = 16.0 * 1024.0;
    const auto m = static_cast<double>(count_of(*inducing_of(model), model.latents.count));
    return 8 * (doubles + n * m + 8 * m * m + strips * m);
  }
  if (form == CoreForm::matrix_free) {
    // The root in the estimate, in the law and on the way, and a block of solves.
    const double columns = std::visit(
        Overloaded{
            [&](const ExactVariances&) { return d; },
            [](const LanczosVariances& method) { return static_cast<double>(method.steps); },
            [](const ProbedVariances& method) { return static_cast<double>(method.control_steps); },
            [](const SampledVariances& method) { return static_cast<double>(method.draws + method.control_steps); }},
        estimation.variances);
    const auto factored = static_cast<double>(factored_rows(model.design, estimation.variances).size());
    const double block = factored > 0.0 ? std::min(64.0, columns) : 16.0;
    const auto first = static_cast<double>(most_solved_first(model.design, estimation.variances));
    return 8 * (doubles + 6.0 * columns * d + block * (8 * d + 4 * n) + factored * factored + 2.0 * first * d);
  }
  if (form == CoreForm::sparse) {
    // The factor, a copy that a posterior keeps, and the entries of the inverse in its layout.
    const auto shape = sparse_shape(model, most_pairs);
    const double entries = shape ? static_cast<double>(shape->pattern.entries()) : 0.5 * d * d;
    const double factor = shape ? factor_cost(shape->pattern).factor_entries : 0.5 * d * d;
    // C, two solves with it, the roots of what is lost and gained, and what is being made of them.
    const double held = shape ? 7 * static_cast<double>(shape->held) * d : 0.0;
    return 8 * (doubles + 3.5 * factor + 5 * entries + 3 * model.design.nonzeros() + held);
  }
  if (form == CoreForm::covariance) {
    doubles += 3.5 * n * n;  // K, the factor, its inverse, and what is being made of them.
    const bool concave = std::all_of(model.sites.begin(), model.sites.end(),
                                     [](const Sites& block) { return block->traits().log_concave; });
    if (!concave) doubles += 1.5 * n * n;  // The rows with negative precisions.
    if (dense_prior && !identity) doubles += d * d + 2 * n * d;
    constexpr double panel = 200;  // An operator's products with unit vectors; the scaled rows of the others.
    if (!dense_prior && !identity)
      doubles += model.design.has_entries() ? 1.5 * model.design.nonzeros() : panel * (n + d);
  } else {
    constexpr double block = 2048;
    doubles += 3 * d * d + block * d;  // The precision, its factor, and what is being made of them.
    if (dense_prior) doubles += 2 * d * d + n * d;
    if (!model.design.has_entries()) doubles += n * d;
  }
  return 8 * doubles;
}

std::unique_ptr<GaussianCore> make_core(const Model& model, CoreForm form, int threads, const Estimation& estimation) {
  if (form == CoreForm::inducing && model.latents.count > 1)
    return std::make_unique<JointInducingCore>(make_joint_inducing(*process_of(model.prior), model.latents, threads),
                                               model.offset);
  if (form == CoreForm::inducing) {
    auto basis = std::make_shared<const InducingBasis>(*process_of(model.prior));
    return std::make_unique<InducingCore>(std::make_shared<PriorGeometry>(std::move(basis), threads), model.offset);
  }
  auto geometry = std::make_shared<PriorGeometry>(model.prior, model.design, threads,
                                                  form == CoreForm::precision ? Copies::merged : Copies::apart);
  if (form == CoreForm::sparse) return std::make_unique<SparseCore>(std::move(geometry), model.offset);
  if (form == CoreForm::matrix_free)
    return std::make_unique<MatrixFreeCore>(std::move(geometry), model.offset, estimation);
  if (form == CoreForm::precision) return std::make_unique<PrecisionCore>(std::move(geometry), model.offset);
  return std::make_unique<CovarianceCore>(std::move(geometry), model.offset);
}

}  // namespace gaussmith
