#include "model/prior.hpp"

#include "base/overloaded.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "model/check_finite.hpp"
#include "model/inducing.hpp"
#include "model/markov_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Entries of a covariance may differ from their mirror images by this much of the largest one.
constexpr double symmetry_tolerance = 1e-8;
/// Eigenvalues of the correlation matrix may be this far below zero: rounding of a singular covariance.
constexpr double indefinite_tolerance = 1e-9;

void check_dimension(Index dimension, const char* what) {
  if (dimension <= 0)
    refuse_model(fmt::format("{}: the prior has dimension {}; at least 1 is needed", what, dimension));
}

void check(const Isotropic& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  if (!(p.variance > 0.0) || !std::isfinite(p.variance))
    refuse_model(fmt::format("prior.variance must be positive and finite, found {}", p.variance));
}

void check(const Diagonal& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  if (p.variance.size() != p.mean.size())
    refuse_model(fmt::format("prior.variance has {} entries, but prior.mean has {}", p.variance.size(), p.mean.size()));
  for (Index i = 0; i < p.variance.size(); ++i)
    if (!(p.variance(i) > 0.0) || !std::isfinite(p.variance(i)))
      refuse_model(fmt::format("prior.variance[{}] must be positive and finite, found {}", i, p.variance(i)));
}

void check(const DenseGaussian& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  const Matrix& c = *p.covariance;
  if (c.rows() != p.mean.size() || c.cols() != p.mean.size())
    refuse_model(
        fmt::format("prior.covariance is {} x {}, but prior.mean has {} entries", c.rows(), c.cols(), p.mean.size()));
  const double largest = c.cwiseAbs().maxCoeff();
  if (!std::isfinite(largest)) refuse_model("prior.covariance holds a value that is not finite");
  for (Index j = 0; j < c.cols(); ++j)
    for (Index i = j + 1; i < c.rows(); ++i)
      if (std::abs(c(i, j) - c(j, i)) > symmetry_tolerance * largest)
        refuse_model(fmt::format("prior.covariance is not symmetric: entry [{}][{}] is {} and [{}][{}] is {}", i, j,
                                 c(i, j), j, i, c(j, i)));
  for (Index i = 0; i < c.rows(); ++i)
    if (c(i, i) < 0.0)
      refuse_model(fmt::format("prior.covariance[{}][{}] is {}; a variance is not negative", i, i, c(i, i)));
  // As correlations, so that a small variance beside a large one is looked at just as closely.
  const Vector scale = c.diagonal().unaryExpr([](double v) { return v > 0.0 ? 1.0 / std::sqrt(v) : 0.0; });
  for (Index j = 0; j < c.cols(); ++j)
    for (Index i = 0; i < c.rows(); ++i)
      if (c(i, j) != 0.0 && (c(i, i) == 0.0 || c(j, j) == 0.0))
        refuse_model(fmt::format("prior.covariance[{}][{}] is {}, but one of the two variances is 0", i, j, c(i, j)));
  Matrix shifted = scale.asDiagonal() * c * scale.asDiagonal();
  shifted.diagonal().array() += indefinite_tolerance;
  if (!cholesky(shifted))
    refuse_model("prior.covariance is not positive semi-definite; a covariance has no negative eigenvalue");
}

void check(const GaussianProcess& p) {
  if (p.inputs.rows() == 0 || p.inputs.cols() == 0)
    refuse_model(fmt::format("prior.inputs is {} x {}; a process needs at least one row and one column",
                             p.inputs.rows(), p.inputs.cols()));
  for (Index j = 0; j < p.inputs.cols(); ++j)
    for (Index i = 0; i < p.inputs.rows(); ++i)
      if (!std::isfinite(p.inputs(i, j)))
        refuse_model(fmt::format("prior.inputs[{}][{}] is {}; it must be a finite number", i, j, p.inputs(i, j)));
  if (!p.kernel) refuse_model("prior.kernel is missing; a process needs a kernel");
  p.kernel->check_dimension(p.inputs.cols());
  if (!std::isfinite(p.mean)) refuse_model(fmt::format("prior.mean must be a finite number, found {}", p.mean));
}

void check(const NoGaussian& p) { check_dimension(p.dimension, "prior none"); }

void check(const SparsePrecision& p) { check_precision(p); }

void check(const IntrinsicField& p) { check_field(p); }

void check(const Additive& p) {
  const FixedEffects& fixed = p.fixed;
  check_finite(fixed.mean, "prior.fixed.mean");
  if (fixed.sd.size() != fixed.size())
    refuse_model(fmt::format("prior.fixed has {} sds for {} coefficients", fixed.sd.size(), fixed.size()));
  if (!fixed.scaled.empty() && static_cast<Index>(fixed.scaled.size()) != fixed.size())
    refuse_model(
        fmt::format("prior.fixed.scaled has {} entries for {} coefficients", fixed.scaled.size(), fixed.size()));
  if (!(fixed.scale > 0.0) || !std::isfinite(fixed.scale))
    refuse_model(fmt::format("prior.scale must be positive and finite, found {}", fixed.scale));
  for (Index j = 0; j < fixed.size(); ++j)
    if (!(fixed.variance(j) > 0.0) || !std::isfinite(fixed.variance(j)))
      refuse_model(fmt::format("prior.fixed.sd[{}] must be positive and finite, found {}", j, fixed.sd(j)));
  for (std::size_t t = 0; t < p.random.size(); ++t) {
    const RandomEffects& term = p.random[t];
    if (term.levels < 1 || term.effects() < 1 || term.effects() > 2)
      refuse_model(
          fmt::format("random[{}] has {} levels and {} effects; expected at least one level and one or two "
                      "effects",
                      t, term.levels, term.effects()));
    for (const double sd : term.sd)
      if (!(sd > 0.0) || !std::isfinite(sd * sd) || sd * sd == 0.0)
        refuse_model(fmt::format("random[{}].sd must be positive and finite, found {}", t, sd));
    if (term.correlation && (term.effects() != 2 || !(std::abs(*term.correlation) < 1.0)))
      refuse_model(fmt::format("random[{}].correlation must be between -1 and 1 and belong to two effects, found {}", t,
                               *term.correlation));
  }
  if (p.process && !p.fields.empty())
    refuse_model(
        "prior.process and prior.fields: a process has a dense covariance and a field a sparse precision; use one of "
        "them, such as rw2 in place of a smooth process of one column");
  if (p.process) check(*p.process);
  for (const MarkovField& field : p.fields) std::visit([](const auto& one) { check(one); }, field);
  check_dimension(dimension_of(Prior(p)), "prior");
}

const std::string kernel_prefix = "kernel.";
constexpr std::string_view variance_name = "prior.variance";
constexpr const char* scale_name = "prior.scale";
constexpr const char* precision_name = "prior.precision";

bool has_scale(const FixedEffects& fixed) {
  return std::find(fixed.scaled.begin(), fixed.scaled.end(), true) != fixed.scaled.end();
}

std::string random_sd_name(std::size_t term, const RandomEffects& effects, Index effect) {
  return effects.effects() == 1 ? fmt::format("random[{}].sd", term) : fmt::format("random[{}].sd[{}]", term, effect);
}

std::string field_name(std::size_t field) { return fmt::format("fields[{}].precision", field); }

Index size_of(const MarkovField& field) {
  return std::visit(Overloaded{[](const IntrinsicField& p) { return p.dimension; },
                               [](const SparsePrecision& p) { return p.mean.size(); }},
                    field);
}

void check_field_precision(double precision, const std::string& name) {
  if (!(precision > 0.0) || !std::isfinite(precision))
    refuse_model(fmt::format("{} must be positive and finite, found {}", name, precision));
}

/// Whether any part is known by its precision alone.
bool has_fields(const Prior& prior) {
  const auto* p = std::get_if<Additive>(&prior);
  return p != nullptr && !p->fields.empty();
}

std::string correlation_name(std::size_t term) { return fmt::format("random[{}].correlation[1][0]", term); }

bool has_blocks(const Additive& p) {
  return std::any_of(p.random.begin(), p.random.end(),
                     [](const RandomEffects& r) { return r.correlation.has_value(); });
}

/// The lower Cholesky factor of C.
Matrix root_of(const RandomEffects& term) {
  Matrix root = term.sd.asDiagonal();
  if (term.correlation) {
    root(1, 0) = term.sd(1) * *term.correlation;
    root(1, 1) = term.sd(1) * std::sqrt((1.0 - *term.correlation) * (1.0 + *term.correlation));
  }
  return root;
}

/// tr(M dC) for the parameters of one group, M summed over its levels.
void add_group_gradient(std::size_t term, const RandomEffects& effects, const Matrix& m, ParameterGradient& gradient) {
  // d C / d log sd_e = E_e C + C E_e.
  const Matrix mc = m * effects.covariance();
  for (Index e = 0; e < effects.effects(); ++e) gradient[random_sd_name(term, effects, e)] = 2.0 * mc(e, e);
  if (effects.correlation) {
    const double slope = (1.0 - *effects.correlation) * (1.0 + *effects.correlation);
    gradient[correlation_name(term)] = 2.0 * m(1, 0) * effects.sd(0) * effects.sd(1) * slope;
  }
}

}  // namespace

double FixedEffects::variance(Index j) const {
  const double own = sd(j) * (is_scaled(j) ? scale : 1.0);
  return own * own;
}

Matrix RandomEffects::covariance() const {
  const Matrix root = root_of(*this);
  return root * root.transpose();
}

Index Additive::first_of(std::size_t term) const {
  Index first = fixed.size();
  for (std::size_t t = 0; t < term; ++t) first += random[t].size();
  return first;
}

Index Additive::first_of_field(std::size_t field) const {
  Index first = first_of(random.size());
  for (std::size_t k = 0; k < field; ++k) first += size_of(fields[k]);
  return first;
}

Index Additive::weights() const { return first_of_field(fields.size()); }

Index dimension_of(const Prior& prior) {
  return std::visit(
      Overloaded{[](const GaussianProcess& p) { return p.inputs.rows(); },
                 [](const NoGaussian& p) { return p.dimension; }, [](const IntrinsicField& p) { return p.dimension; },
                 [](const Additive& p) { return p.weights() + (p.process ? p.process->inputs.rows() : 0); },
                 [](const auto& p) { return p.mean.size(); }},
      prior);
}

Vector mean_of(const Prior& prior) {
  return std::visit(
      Overloaded{[](const GaussianProcess& p) -> Vector { return Vector::Constant(p.inputs.rows(), p.mean); },
                 [](const NoGaussian& p) -> Vector { return Vector::Zero(p.dimension); },
                 [](const IntrinsicField& p) -> Vector { return Vector::Zero(p.dimension); },
                 [](const Additive& p) -> Vector {
                   Vector mean = Vector::Zero(dimension_of(p));
                   mean.head(p.fixed.size()) = p.fixed.mean;
                   for (std::size_t k = 0; k < p.fields.size(); ++k)
                     if (const auto* field = std::get_if<SparsePrecision>(&p.fields[k]))
                       mean.segment(p.first_of_field(k), field->mean.size()) = field->mean;
                   if (p.process) mean.tail(p.process->inputs.rows()).setConstant(p.process->mean);
                   return mean;
                 },
                 [](const auto& p) -> Vector { return p.mean; }},
      prior);
}

bool has_gaussian(const Prior& prior) { return !std::holds_alternative<NoGaussian>(prior); }

const GaussianProcess* process_of(const Prior& prior) {
  if (const auto* p = std::get_if<Additive>(&prior)) return p->process ? &*p->process : nullptr;
  return std::get_if<GaussianProcess>(&prior);
}

Index weights_beside_process(const Prior& prior) {
  const auto* p = std::get_if<Additive>(&prior);
  return p != nullptr ? p->weights() : 0;
}

std::optional<Vector> independent_variances(const Prior& prior) {
  using Variances = std::optional<Vector>;
  return std::visit(
      Overloaded{
          [](const Isotropic& p) -> Variances { return Vector::Constant(p.mean.size(), p.variance); },
          [](const Diagonal& p) -> Variances { return p.variance; },
          [](const DenseGaussian&) -> Variances { return {}; }, [](const GaussianProcess&) -> Variances { return {}; },
          [](const NoGaussian&) -> Variances { return {}; }, [](const SparsePrecision&) -> Variances { return {}; },
          [](const IntrinsicField&) -> Variances { return {}; },
          [](const Additive& p) -> Variances {
            if (p.process || has_blocks(p) || !p.fields.empty()) return {};
            Vector variances(p.weights());
            for (Index j = 0; j < p.fixed.size(); ++j) variances(j) = p.fixed.variance(j);
            for (std::size_t t = 0; t < p.random.size(); ++t) {
              const RandomEffects& term = p.random[t];
              variances.segment(p.first_of(t), term.size()) = term.sd.cwiseAbs2().replicate(term.levels, 1);
            }
            return variances;
          }},
      prior);
}

std::optional<SparseMatrix> block_root(const Prior& prior) {
  const auto* p = std::get_if<Additive>(&prior);
  if (p == nullptr || p->process || !has_blocks(*p) || !p->fields.empty()) return {};
  std::vector<Eigen::Triplet<double>> entries;
  for (Index j = 0; j < p->fixed.size(); ++j)
    entries.emplace_back(static_cast<int>(j), static_cast<int>(j), std::sqrt(p->fixed.variance(j)));
  for (std::size_t t = 0; t < p->random.size(); ++t) {
    const RandomEffects& term = p->random[t];
    const Matrix root = root_of(term);
    for (Index level = 0; level < term.levels; ++level) {
      const Index first = p->first_of(t) + level * term.effects();
      for (Index i = 0; i < root.rows(); ++i)
        for (Index j = 0; j <= i; ++j)
          if (root(i, j) != 0.0)
            entries.emplace_back(static_cast<int>(first + i), static_cast<int>(first + j), root(i, j));
    }
  }
  SparseMatrix out(p->weights(), p->weights());
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

bool has_dense_covariance(const Prior& prior) {
  return std::holds_alternative<DenseGaussian>(prior) || process_of(prior) != nullptr;
}

SharedMatrix dense_covariance(const Prior& prior, int threads) {
  if (const auto* p = std::get_if<GaussianProcess>(&prior)) {
    Matrix k;
    p->kernel->gram(p->inputs, k, threads);
    return k;
  }
  if (const auto* p = std::get_if<Additive>(&prior)) {
    const Index weights = p->weights();
    Additive beside = *p;
    beside.process.reset();
    Matrix sigma = Matrix::Zero(dimension_of(prior), dimension_of(prior));
    if (const auto variances = independent_variances(beside)) {
      sigma.diagonal().head(weights) = *variances;
    } else {
      const SparseMatrix root = *block_root(beside);
      sigma.topLeftCorner(weights, weights) = Matrix(root) * root.transpose();
    }
    if (p->process) {
      Matrix k;
      p->process->kernel->gram(p->process->inputs, k, threads);
      sigma.bottomRightCorner(k.rows(), k.cols()) = k;
    }
    return sigma;
  }
  const auto& given = std::get<DenseGaussian>(prior).covariance;
  if (*given == given->transpose()) return given;
  return Matrix(0.5 * (*given + given->transpose()));
}

double bytes_of(const Prior& prior) {
  const auto doubles = std::visit(
      Overloaded{
          [](const Isotropic& p) { return p.mean.size(); },
          [](const Diagonal& p) { return p.mean.size() + p.variance.size(); },
          [](const DenseGaussian& p) { return p.mean.size() + p.covariance.size(); },
          [](const GaussianProcess& p) { return p.inputs.size() + (p.inducing ? p.inducing->inputs.size() : 0); },
          [](const NoGaussian&) { return Index{0}; },
          [](const SparsePrecision& p) { return p.mean.size() + 2 * p.precision.nonZeros(); },
          [](const IntrinsicField& p) { return p.dimension + 2 * static_cast<Index>(p.edges.size()); },
          [](const Additive& p) { return 2 * p.fixed.size() + (p.process ? p.process->inputs.size() : 0); }},
      prior);
  if (const auto* p = std::get_if<Additive>(&prior)) {
    double fields = 0.0;
    for (const MarkovField& field : p->fields)
      fields += std::visit([](const auto& one) { return bytes_of(Prior(one)); }, field);
    return 8.0 * static_cast<double>(doubles) + fields;
  }
  return 8.0 * static_cast<double>(doubles);
}

void validate(const Prior& prior) {
  std::visit([](const auto& p) { check(p); }, prior);
}

std::vector<Parameter> parameters_of(const Prior& prior) {
  std::vector<Parameter> all;
  if (const GaussianProcess* p = process_of(prior))
    for (const KernelParameter& k : p->kernel->parameters()) all.push_back({kernel_prefix + k.name, k.value, true});
  if (const GaussianProcess* p = process_of(prior); p != nullptr && p->inducing)
    for (Parameter& input : parameters_of(*p->inducing)) all.push_back(std::move(input));
  if (const auto* p = std::get_if<Isotropic>(&prior)) all.push_back({std::string(variance_name), p->variance, true});
  if (const auto* p = std::get_if<IntrinsicField>(&prior)) all.push_back({precision_name, p->precision, true});
  if (const auto* p = std::get_if<Additive>(&prior)) {
    for (std::size_t t = 0; t < p->random.size(); ++t) {
      const RandomEffects& term = p->random[t];
      for (Index e = 0; e < term.effects(); ++e) all.push_back({random_sd_name(t, term, e), term.sd(e), true});
      if (term.correlation) all.push_back({correlation_name(t), *term.correlation, true, ParameterScale::inverse_tanh});
    }
    for (std::size_t k = 0; k < p->fields.size(); ++k)
      if (const auto* field = std::get_if<IntrinsicField>(&p->fields[k]))
        all.push_back({field_name(k), field->precision, true});
    // Learned only under a hyperprior: the evidence alone would shrink coefficients that nobody asked to shrink.
    if (has_scale(p->fixed)) all.push_back({scale_name, p->fixed.scale, false});
  }
  return all;
}

Prior with_parameters(const Prior& prior, const std::function<const double*(const std::string&)>& value) {
  Prior changed = prior;
  const auto change_kernel = [&](GaussianProcess& p) {
    std::vector<double> numbers;
    for (const KernelParameter& k : p.kernel->parameters()) {
      const double* given = value(kernel_prefix + k.name);
      numbers.push_back(given ? *given : k.value);
    }
    p.kernel = p.kernel->with_parameters(numbers);
    if (p.inducing) p.inducing = with_parameters(*p.inducing, value);
  };
  if (auto* p = std::get_if<GaussianProcess>(&changed)) change_kernel(*p);
  if (auto* p = std::get_if<Additive>(&changed)) {
    if (p->process) change_kernel(*p->process);
    if (const double* given = value(scale_name)) p->fixed.scale = *given;
    for (std::size_t t = 0; t < p->random.size(); ++t) {
      RandomEffects& term = p->random[t];
      for (Index e = 0; e < term.effects(); ++e)
        if (const double* given = value(random_sd_name(t, term, e))) term.sd(e) = *given;
      if (const double* given = value(correlation_name(t))) term.correlation = *given;
    }
    for (std::size_t k = 0; k < p->fields.size(); ++k)
      if (auto* field = std::get_if<IntrinsicField>(&p->fields[k])) {
        if (const double* given = value(field_name(k))) field->precision = *given;
        check_field_precision(field->precision, field_name(k));
      }
    // Inputs and graphs have not changed: only what the parameters are part of is looked at again.
    Additive weights{.fixed = p->fixed, .random = p->random};
    if (weights.weights() > 0) check(weights);
  }
  if (auto* p = std::get_if<Isotropic>(&changed)) {
    if (const double* given = value(std::string(variance_name))) p->variance = *given;
    check(*p);
  }
  if (auto* p = std::get_if<IntrinsicField>(&changed)) {
    if (const double* given = value(precision_name)) p->precision = *given;
    check_field_precision(p->precision, precision_name);
  }
  return changed;
}

const char* type_of(const Prior& prior) {
  struct Name {
    const char* operator()(const Isotropic& /*p*/) const { return "isotropic"; }
    const char* operator()(const Diagonal& /*p*/) const { return "diagonal"; }
    const char* operator()(const DenseGaussian& /*p*/) const { return "dense"; }
    const char* operator()(const GaussianProcess& /*p*/) const { return "gp"; }
    const char* operator()(const NoGaussian& /*p*/) const { return "none"; }
    const char* operator()(const SparsePrecision& /*p*/) const { return "precision"; }
    const char* operator()(const Additive& /*p*/) const { return "additive"; }
    const char* operator()(const IntrinsicField& p) const {
      return p.kind == FieldKind::rw1 ? "rw1" : p.kind == FieldKind::rw2 ? "rw2" : "besag";
    }
  };
  return std::visit(Name{}, prior);
}

bool has_only_precision(const Prior& prior) {
  return std::holds_alternative<SparsePrecision>(prior) || std::holds_alternative<IntrinsicField>(prior) ||
         has_fields(prior);
}

bool is_proper(const Prior& prior) {
  if (const auto* field = std::get_if<IntrinsicField>(&prior)) return !has_free_trend(*field);
  if (const auto* p = std::get_if<Additive>(&prior))
    return std::none_of(p->fields.begin(), p->fields.end(), [](const MarkovField& part) {
      const auto* field = std::get_if<IntrinsicField>(&part);
      return field != nullptr && has_free_trend(*field);
    });
  return has_gaussian(prior);
}

namespace {

/// B with B'B the precision of coefficients and effects of groups: R^-1, block by block, R lower triangular with blocks
/// of one or two.
std::vector<Eigen::Triplet<double>> inverse_root(const Additive& p) {
  std::vector<Eigen::Triplet<double>> entries;
  for (Index j = 0; j < p.fixed.size(); ++j)
    entries.emplace_back(static_cast<int>(j), static_cast<int>(j), 1.0 / std::sqrt(p.fixed.variance(j)));
  for (std::size_t t = 0; t < p.random.size(); ++t) {
    const RandomEffects& term = p.random[t];
    const Matrix root = root_of(term);
    for (Index level = 0; level < term.levels; ++level) {
      const auto first = static_cast<int>(p.first_of(t) + level * term.effects());
      for (int e = 0; e < static_cast<int>(term.effects()); ++e)
        entries.emplace_back(first + e, first + e, 1.0 / root(e, e));
      if (term.correlation) entries.emplace_back(first + 1, first, -root(1, 0) / (root(0, 0) * root(1, 1)));
    }
  }
  return entries;
}

void put_at(const SparseMatrix& block, Index row, Index column, std::vector<Eigen::Triplet<double>>& entries) {
  for (Index i = 0; i < block.rows(); ++i)
    for (SparseMatrix::InnerIterator it(block, i); it; ++it)
      entries.emplace_back(static_cast<int>(row + i), static_cast<int>(column + it.col()), it.value());
}

SparseMatrix assembled(Index rows, Index cols, const std::vector<Eigen::Triplet<double>>& entries) {
  SparseMatrix out(rows, cols);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

KnownPrecision precision_of(const MarkovField& field) {
  return std::visit([](const auto& one) { return gaussmith::precision_of(one); }, field);
}

/// Coefficients, effects of groups and fields, which are independent of one another.
KnownPrecision precision_of(const Additive& p) {
  const Index size = p.weights();
  const Index beside = p.first_of_field(0);
  std::vector<KnownPrecision> parts;
  for (const MarkovField& field : p.fields) parts.push_back(precision_of(field));
  std::vector<Eigen::Triplet<double>> root = inverse_root(p);
  const SparseMatrix own = assembled(beside, beside, root);
  std::vector<Eigen::Triplet<double>> entries;
  put_at(SparseMatrix(own.transpose()) * own, 0, 0, entries);
  Index root_rows = beside;
  Index held = 0;
  bool has_root = true;
  for (const KnownPrecision& part : parts) held += part.constraints.rows();
  KnownPrecision out;
  out.constraints = Matrix::Zero(held, size);
  out.ground_weights.resize(held);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const KnownPrecision& part = parts[k];
    const Index first = p.first_of_field(k);
    put_at(part.precision, first, first, entries);
    put_at(part.root, root_rows, first, root);
    root_rows += part.root.rows();
    has_root = has_root && part.root.rows() > 0;
    const auto row = static_cast<Index>(out.grounds.size());
    if (const Index count = part.constraints.rows(); count > 0) {
      out.constraints.block(row, first, count, part.constraints.cols()) = part.constraints;
      out.ground_weights.segment(row, count) = part.ground_weights;
    }
    for (const Index ground : part.grounds) out.grounds.push_back(first + ground);
    out.improper += part.improper;
  }
  out.precision = assembled(size, size, entries);
  if (has_root) out.root = assembled(root_rows, size, root);
  return out;
}

/// log|Q| of the same.
double log_determinant_of(const Additive& p) {
  double sum = 0.0;
  for (const auto& entry : inverse_root(p))
    if (entry.row() == entry.col()) sum += 2.0 * std::log(entry.value());
  for (const MarkovField& field : p.fields) {
    const Prior alone = std::visit([](const auto& one) { return Prior(one); }, field);
    sum += precision_log_determinant(alone, precision_of(field));
  }
  return sum;
}

}  // namespace

std::optional<KnownPrecision> prior_precision(const Prior& prior) {
  if (const auto* p = std::get_if<SparsePrecision>(&prior)) return gaussmith::precision_of(*p);
  if (const auto* p = std::get_if<IntrinsicField>(&prior)) return gaussmith::precision_of(*p);
  if (has_dense_covariance(prior)) return {};
  if (const auto* p = std::get_if<Additive>(&prior); p != nullptr && (has_blocks(*p) || !p->fields.empty())) {
    KnownPrecision out = precision_of(*p);
    // Where there is no field, nothing cancels.
    if (p->fields.empty()) out.root = SparseMatrix();
    return out;
  }
  const Index d = dimension_of(prior);
  KnownPrecision out;
  if (const auto variances = independent_variances(prior)) {
    out.precision = SparseMatrix(Vector(variances->cwiseInverse()).asDiagonal());
  } else {
    out.precision = SparseMatrix(d, d);
    out.improper = d;
  }
  return out;
}

double precision_log_determinant(const Prior& prior, const KnownPrecision& known) {
  if (std::holds_alternative<SparsePrecision>(prior)) return gaussmith::log_determinant_of(known.precision);
  if (const auto* p = std::get_if<IntrinsicField>(&prior)) return gaussmith::log_determinant_of(*p, known);
  if (!has_gaussian(prior)) return 0.0;
  if (const auto variances = independent_variances(prior)) return -variances->array().log().sum();
  return log_determinant_of(std::get<Additive>(prior));
}

ScaleParameter scale_parameter(const Prior& prior) {
  if (std::holds_alternative<Isotropic>(prior)) return {std::string(variance_name)};
  if (const auto* p = std::get_if<IntrinsicField>(&prior))
    return {precision_name, -1.0, {}, has_free_trend(*p) ? -0.5 : 0.0};
  const auto* p = std::get_if<Additive>(&prior);
  if (p == nullptr || p->process || !p->random.empty() || !p->fields.empty() || !has_scale(p->fixed)) return {};
  ScaleParameter out{scale_name, 2.0};
  for (Index j = 0; j < p->fixed.size(); ++j)
    if (!p->fixed.is_scaled(j)) out.untouched.push_back(j);
  return out;
}

bool has_entry_parameters(const Prior& prior) { return process_of(prior) != nullptr; }

bool has_block_parameters(const Prior& prior) {
  const auto* p = std::get_if<Additive>(&prior);
  return p != nullptr && !p->process && (!p->random.empty() || (!p->fields.empty() && has_scale(p->fixed)));
}

Matrix block_covariance(const Prior& prior, Index first, Index size) {
  const auto& p = std::get<Additive>(prior);
  if (first < p.fixed.size()) return Matrix::Constant(1, 1, p.fixed.variance(first));
  std::size_t t = 0;
  while (first >= p.first_of(t + 1)) ++t;
  return p.random[t].covariance().topLeftCorner(size, size);
}

std::vector<FieldPart> field_parts(const Prior& prior) {
  std::vector<FieldPart> parts;
  const auto* p = std::get_if<Additive>(&prior);
  for (std::size_t k = 0; p != nullptr && k < p->fields.size(); ++k)
    if (const auto* field = std::get_if<IntrinsicField>(&p->fields[k])) {
      const KnownPrecision known = gaussmith::precision_of(*field);
      parts.push_back({field_name(k), p->first_of_field(k), field->dimension,
                       static_cast<double>(field->dimension - known.constraints.rows() - known.improper)});
    }
  return parts;
}

void add_block_gradient(const Prior& prior, const std::function<Matrix(Index, Index)>& block,
                        ParameterGradient& gradient) {
  const auto& p = std::get<Additive>(prior);
  if (has_scale(p.fixed)) {
    double& slope = gradient[scale_name];
    slope = 0.0;
    for (Index j = 0; j < p.fixed.size(); ++j)
      if (p.fixed.is_scaled(j)) slope += 2.0 * p.fixed.variance(j) * block(j, 1)(0, 0);
  }
  for (std::size_t t = 0; t < p.random.size(); ++t) {
    const RandomEffects& term = p.random[t];
    Matrix m = Matrix::Zero(term.effects(), term.effects());
    for (Index level = 0; level < term.levels; ++level)
      m += block(p.first_of(t) + level * term.effects(), term.effects());
    add_group_gradient(t, term, m, gradient);
  }
}

void add_entry_gradient(const Prior& prior, const Matrix& weights, int threads, ParameterGradient& gradient) {
  if (std::holds_alternative<Additive>(prior)) {
    add_block_gradient(
        prior,
        [&](Index first, Index size) {
          Matrix m = weights.block(first, first, size, size).triangularView<Eigen::Lower>();
          m.triangularView<Eigen::StrictlyUpper>() = m.transpose();
          return m;
        },
        gradient);
  }
  const GaussianProcess& process = *process_of(prior);
  const Index values = process.inputs.rows();
  const Vector kernel =
      weights.rows() == values
          ? process.kernel->contract(process.inputs, weights, threads)
          : process.kernel->contract(process.inputs, weights.bottomRightCorner(values, values), threads);
  put_kernel_gradient(process, kernel, gradient);
}

void put_kernel_gradient(const GaussianProcess& process, const Vector& kernel, ParameterGradient& gradient) {
  const auto parameters = process.kernel->parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    gradient[kernel_prefix + parameters[p].name] = kernel(static_cast<Index>(p));
}

}  // namespace gaussmith
