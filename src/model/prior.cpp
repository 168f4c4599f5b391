#include "model/prior.hpp"

#include "base/overloaded.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "model/check_finite.hpp"

#include <fmt/format.h>

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

void check(const SparsePrecision&) {
  refuse_model("prior: a sparse precision is not available yet; use isotropic, diagonal, dense, gp or none");
}

const std::string kernel_prefix = "kernel.";
constexpr std::string_view variance_name = "prior.variance";

}  // namespace

Index dimension_of(const Prior& prior) {
  return std::visit(
      Overloaded{[](const GaussianProcess& p) { return p.inputs.rows(); },
                 [](const NoGaussian& p) { return p.dimension; }, [](const auto& p) { return p.mean.size(); }},
      prior);
}

Vector mean_of(const Prior& prior) {
  return std::visit(
      Overloaded{[](const GaussianProcess& p) -> Vector { return Vector::Constant(p.inputs.rows(), p.mean); },
                 [](const NoGaussian& p) -> Vector { return Vector::Zero(p.dimension); },
                 [](const auto& p) -> Vector { return p.mean; }},
      prior);
}

bool has_gaussian(const Prior& prior) { return !std::holds_alternative<NoGaussian>(prior); }

const GaussianProcess* process_of(const Prior& prior) { return std::get_if<GaussianProcess>(&prior); }

std::optional<Vector> independent_variances(const Prior& prior) {
  using Variances = std::optional<Vector>;
  return std::visit(
      Overloaded{
          [](const Isotropic& p) -> Variances { return Vector::Constant(p.mean.size(), p.variance); },
          [](const Diagonal& p) -> Variances { return p.variance; },
          [](const DenseGaussian&) -> Variances { return {}; }, [](const GaussianProcess&) -> Variances { return {}; },
          [](const NoGaussian&) -> Variances { return {}; }, [](const SparsePrecision&) -> Variances { return {}; }},
      prior);
}

bool has_dense_covariance(const Prior& prior) {
  return std::holds_alternative<DenseGaussian>(prior) || std::holds_alternative<GaussianProcess>(prior);
}

SharedMatrix dense_covariance(const Prior& prior, int threads) {
  if (const auto* p = std::get_if<GaussianProcess>(&prior)) {
    Matrix k;
    p->kernel->gram(p->inputs, k, threads);
    return k;
  }
  const auto& given = std::get<DenseGaussian>(prior).covariance;
  if (*given == given->transpose()) return given;
  return Matrix(0.5 * (*given + given->transpose()));
}

double bytes_of(const Prior& prior) {
  const auto doubles = std::visit(
      Overloaded{[](const Isotropic& p) { return p.mean.size(); },
                 [](const Diagonal& p) { return p.mean.size() + p.variance.size(); },
                 [](const DenseGaussian& p) { return p.mean.size() + p.covariance.size(); },
                 [](const GaussianProcess& p) { return p.inputs.size(); }, [](const NoGaussian&) { return Index{0}; },
                 [](const SparsePrecision& p) { return p.mean.size() + 2 * p.precision.nonZeros(); }},
      prior);
  return 8.0 * static_cast<double>(doubles);
}

void validate(const Prior& prior) {
  std::visit([](const auto& p) { check(p); }, prior);
}

std::vector<Parameter> parameters_of(const Prior& prior) {
  std::vector<Parameter> all;
  if (const GaussianProcess* p = process_of(prior))
    for (const KernelParameter& k : p->kernel->parameters()) all.push_back({kernel_prefix + k.name, k.value, true});
  if (const auto* p = std::get_if<Isotropic>(&prior)) all.push_back({std::string(variance_name), p->variance, true});
  return all;
}

Prior with_parameters(const Prior& prior, const std::function<const double*(const std::string&)>& value) {
  Prior changed = prior;
  if (auto* p = std::get_if<GaussianProcess>(&changed)) {
    std::vector<double> numbers;
    for (const KernelParameter& k : p->kernel->parameters()) {
      const double* given = value(kernel_prefix + k.name);
      numbers.push_back(given ? *given : k.value);
    }
    p->kernel = p->kernel->with_parameters(numbers);
  }
  if (auto* p = std::get_if<Isotropic>(&changed)) {
    if (const double* given = value(std::string(variance_name))) p->variance = *given;
    check(*p);
  }
  return changed;
}

std::string_view scale_parameter(const Prior& prior) {
  return std::holds_alternative<Isotropic>(prior) ? variance_name : std::string_view();
}

bool has_entry_parameters(const Prior& prior) { return process_of(prior) != nullptr; }

void add_entry_gradient(const Prior& prior, const Matrix& weights, int threads, ParameterGradient& gradient) {
  const auto& process = std::get<GaussianProcess>(prior);
  const Vector kernel = process.kernel->contract(process.inputs, weights, threads);
  const auto parameters = process.kernel->parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    gradient[kernel_prefix + parameters[p].name] = kernel(static_cast<Index>(p));
}

}  // namespace gaussmith
