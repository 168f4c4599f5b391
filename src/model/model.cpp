#include "gaussmith/model.hpp"

#include "base/overloaded.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace gaussmith {

namespace {

/// Entries of a covariance may differ from their mirror images by this much of the largest one.
constexpr double symmetry_tolerance = 1e-8;
/// Eigenvalues of the correlation matrix may be this far below zero: rounding of a singular covariance.
constexpr double indefinite_tolerance = 1e-9;

[[noreturn]] void fail(const std::string& message) { throw InvalidModel(message); }

void check_finite(const Vector& values, const char* what) {
  for (Index i = 0; i < values.size(); ++i)
    if (!std::isfinite(values(i))) fail(fmt::format("{}[{}] is {}; it must be a finite number", what, i, values(i)));
}

void check_dimension(Index dimension, const char* what) {
  if (dimension <= 0) fail(fmt::format("{}: the prior has dimension {}; at least 1 is needed", what, dimension));
}

void check(const Isotropic& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  if (!(p.variance > 0.0) || !std::isfinite(p.variance))
    fail(fmt::format("prior.variance must be positive and finite, found {}", p.variance));
}

void check(const Diagonal& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  if (p.variance.size() != p.mean.size())
    fail(fmt::format("prior.variance has {} entries, but prior.mean has {}", p.variance.size(), p.mean.size()));
  for (Index i = 0; i < p.variance.size(); ++i)
    if (!(p.variance(i) > 0.0) || !std::isfinite(p.variance(i)))
      fail(fmt::format("prior.variance[{}] must be positive and finite, found {}", i, p.variance(i)));
}

void check(const DenseGaussian& p) {
  check_dimension(p.mean.size(), "prior");
  check_finite(p.mean, "prior.mean");
  const Matrix& c = p.covariance;
  if (c.rows() != p.mean.size() || c.cols() != p.mean.size())
    fail(fmt::format("prior.covariance is {} x {}, but prior.mean has {} entries", c.rows(), c.cols(), p.mean.size()));
  const double largest = c.cwiseAbs().maxCoeff();
  if (!std::isfinite(largest)) fail("prior.covariance holds a value that is not finite");
  for (Index j = 0; j < c.cols(); ++j)
    for (Index i = j + 1; i < c.rows(); ++i)
      if (std::abs(c(i, j) - c(j, i)) > symmetry_tolerance * largest)
        fail(fmt::format("prior.covariance is not symmetric: entry [{}][{}] is {} and [{}][{}] is {}", i, j, c(i, j), j,
                         i, c(j, i)));
  for (Index i = 0; i < c.rows(); ++i)
    if (c(i, i) < 0.0) fail(fmt::format("prior.covariance[{}][{}] is {}; a variance is not negative", i, i, c(i, i)));
  // As correlations, so that a small variance beside a large one is looked at just as closely.
  const Vector scale = c.diagonal().unaryExpr([](double v) { return v > 0.0 ? 1.0 / std::sqrt(v) : 0.0; });
  for (Index j = 0; j < c.cols(); ++j)
    for (Index i = 0; i < c.rows(); ++i)
      if (c(i, j) != 0.0 && (c(i, i) == 0.0 || c(j, j) == 0.0))
        fail(fmt::format("prior.covariance[{}][{}] is {}, but one of the two variances is 0", i, j, c(i, j)));
  Matrix shifted = scale.asDiagonal() * c * scale.asDiagonal();
  shifted.diagonal().array() += indefinite_tolerance;
  if (!cholesky(shifted))
    fail("prior.covariance is not positive semi-definite; a covariance has no negative eigenvalue");
}

void check(const GaussianProcess& p) {
  if (p.inputs.rows() == 0 || p.inputs.cols() == 0)
    fail(fmt::format("prior.inputs is {} x {}; a process needs at least one row and one column", p.inputs.rows(),
                     p.inputs.cols()));
  for (Index j = 0; j < p.inputs.cols(); ++j)
    for (Index i = 0; i < p.inputs.rows(); ++i)
      if (!std::isfinite(p.inputs(i, j)))
        fail(fmt::format("prior.inputs[{}][{}] is {}; it must be a finite number", i, j, p.inputs(i, j)));
  if (!p.kernel) fail("prior.kernel is missing; a process needs a kernel");
  p.kernel->check_dimension(p.inputs.cols());
  if (!std::isfinite(p.mean)) fail(fmt::format("prior.mean must be a finite number, found {}", p.mean));
}

void check(const NoGaussian& p) { check_dimension(p.dimension, "prior none"); }

void check(const SparsePrecision&) {
  fail("prior: a sparse precision is not available yet; use isotropic, diagonal, dense, gp or none");
}

void check_design(const Design& design, Index dimension) {
  std::visit(
      Overloaded{[](const Identity&) {},
                 [&](const Matrix& h) {
                   if (h.cols() != dimension)
                     fail(fmt::format("design has {} columns, but the prior has dimension {}", h.cols(), dimension));
                   for (Index j = 0; j < h.cols(); ++j)
                     for (Index i = 0; i < h.rows(); ++i)
                       if (!std::isfinite(h(i, j)))
                         fail(fmt::format("design[{}][{}] is {}; it must be a finite number", i, j, h(i, j)));
                 },
                 [&](const SparseMatrix& h) {
                   if (h.cols() != dimension)
                     fail(fmt::format("design has {} columns, but the prior has dimension {}", h.cols(), dimension));
                   for (Index i = 0; i < h.outerSize(); ++i)
                     for (SparseMatrix::InnerIterator it(h, i); it; ++it)
                       if (!std::isfinite(it.value()))
                         fail(fmt::format("design[{}][{}] is {}; it must be a finite number", it.row(), it.col(),
                                          it.value()));
                 },
                 [](const std::shared_ptr<const LinearOperator>&) {
                   fail("design: linear operators are not available yet; use identity, dense or sparse");
                 }},
      design);
}

std::string site_name(std::size_t block, std::string_view parameter) {
  return fmt::format("sites[{}].{}", block, parameter);
}

}  // namespace

Index Model::dimension() const {
  return std::visit(
      Overloaded{[](const Isotropic& p) { return p.mean.size(); }, [](const Diagonal& p) { return p.mean.size(); },
                 [](const DenseGaussian& p) { return p.mean.size(); },
                 [](const GaussianProcess& p) { return p.inputs.rows(); },
                 [](const NoGaussian& p) { return p.dimension; },
                 [](const SparsePrecision& p) { return p.mean.size(); }},
      prior);
}

Index Model::rows() const {
  return std::visit(Overloaded{[&](const Identity&) { return dimension(); }, [](const Matrix& h) { return h.rows(); },
                               [](const SparseMatrix& h) { return h.rows(); },
                               [](const std::shared_ptr<const LinearOperator>& h) { return h->rows(); }},
                    design);
}

void Model::validate() const {
  std::visit([](const auto& p) { check(p); }, prior);
  check_design(design, dimension());
  const Index n = rows();
  if (n == 0) fail("design has no rows; a model needs at least one site");
  if (offset.size() != 0 && offset.size() != n)
    fail(fmt::format("offset has {} entries, but the model has {} rows", offset.size(), n));
  check_finite(offset, "offset");
  if (sites.empty()) fail("sites: the model has none; it needs one for every row");
  Index covered = 0;
  for (std::size_t b = 0; b < sites.size(); ++b) {
    if (!sites[b]) fail(fmt::format("sites[{}] is empty", b));
    covered += sites[b]->size();
  }
  if (covered != n) fail(fmt::format("sites cover {} rows, but the model has {}", covered, n));
}

std::vector<Parameter> Model::parameters() const {
  std::vector<Parameter> all;
  if (const auto* p = std::get_if<GaussianProcess>(&prior))
    for (const KernelParameter& k : p->kernel->parameters()) all.push_back({"kernel." + k.name, k.value, true});
  if (const auto* p = std::get_if<Isotropic>(&prior)) all.push_back({"prior.variance", p->variance, true});
  for (std::size_t b = 0; b < sites.size(); ++b)
    for (const SiteParameter& s : sites[b]->parameters())
      if (s.values.size() == 1) all.push_back({site_name(b, s.name), s.values(0), s.learnable});
  return all;
}

std::string Model::resolve_parameter(std::string_view name) const {
  std::string full(name);
  constexpr std::string_view short_form = "likelihood.";
  if (sites.size() == 1 && name.starts_with(short_form)) full = site_name(0, name.substr(short_form.size()));
  std::vector<std::string> known;
  for (const Parameter& p : parameters()) {
    if (p.name == full) return full;
    known.push_back(p.name);
  }
  throw InvalidOption(known.empty()
                          ? fmt::format("there is no parameter {}: the model has none", name)
                          : fmt::format("there is no parameter {}; the model has {}", name, fmt::join(known, ", ")));
}

Model Model::with_parameters(const std::map<std::string, double, std::less<>>& values) const {
  std::map<std::string, double, std::less<>> full;
  for (const auto& [name, value] : values) full[resolve_parameter(name)] = value;
  Model changed = *this;
  const auto find = [&](const std::string& name) -> const double* {
    const auto it = full.find(name);
    return it == full.end() ? nullptr : &it->second;
  };
  if (auto* p = std::get_if<GaussianProcess>(&changed.prior)) {
    std::vector<double> numbers;
    for (const KernelParameter& k : p->kernel->parameters()) {
      const double* value = find("kernel." + k.name);
      numbers.push_back(value ? *value : k.value);
    }
    p->kernel = p->kernel->with_parameters(numbers);
  }
  if (auto* p = std::get_if<Isotropic>(&changed.prior)) {
    if (const double* value = find("prior.variance")) p->variance = *value;
    check(*p);
  }
  for (std::size_t b = 0; b < sites.size(); ++b) {
    SiteArguments arguments;
    for (const SiteParameter& s : sites[b]->parameters())
      if (const double* value = find(site_name(b, s.name))) arguments[s.name] = one(*value);
    if (!arguments.empty()) changed.sites[b] = sites[b]->with(sites[b]->responses(), arguments);
  }
  return changed;
}

}  // namespace gaussmith
