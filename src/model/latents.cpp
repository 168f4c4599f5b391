#include "model/latents.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "model/check_finite.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

namespace {

constexpr double symmetry_tolerance = 1e-8;
constexpr double indefinite_tolerance = 1e-9;

std::string weight_name(Index c) { return fmt::format("prior.latent_covariance.weight[{}]", c); }
std::string factor_name(Index i, Index j) { return fmt::format("prior.latent_covariance.factor[{}][{}]", i, j); }
std::string kernel_name(std::size_t c, std::string_view parameter) {
  return fmt::format("kernels[{}].{}", c, parameter);
}

bool has_weight(LatentModel model) { return model == LatentModel::diagonal || model == LatentModel::centred_diagonal; }
bool has_factor(LatentModel model) { return model == LatentModel::centred || model == LatentModel::full; }
bool is_centred(LatentModel model) { return model == LatentModel::centred || model == LatentModel::centred_diagonal; }

Vector weight_of(const Latents& latents) {
  return latents.weight.size() > 0 ? latents.weight : Vector::Ones(latents.count);
}

Matrix factor_of(const Latents& latents) {
  if (latents.factor.size() == 0) return Matrix::Identity(latents.count, latents.count);
  return latents.factor.triangularView<Eigen::Lower>();
}

/// M: what the models are made of.
Matrix inner_matrix(const Latents& latents) {
  if (has_weight(latents.model)) return weight_of(latents).asDiagonal();
  const Matrix factor = factor_of(latents);
  return factor * factor.transpose();
}

/// Before scaling: M, or M - M11'M / 1'M1 + I.
Matrix unscaled(const Latents& latents, const Matrix& m) {
  if (!is_centred(latents.model)) return m;
  const Vector u = m.rowwise().sum();
  return m - u * u.transpose() / u.sum() + Matrix::Identity(m.rows(), m.cols());
}

void check_given(const Matrix& k, Index count) {
  if (k.rows() != count || k.cols() != count)
    refuse_model(fmt::format("prior.latent_covariance is {} x {}; {} latents need {} x {}", k.rows(), k.cols(), count,
                             count, count));
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < count; ++j)
      if (!std::isfinite(k(i, j)))
        refuse_model(fmt::format("prior.latent_covariance[{}][{}] is {}; it must be a finite number", i, j, k(i, j)));
  const double largest = k.cwiseAbs().maxCoeff();
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < i; ++j)
      if (std::abs(k(i, j) - k(j, i)) > symmetry_tolerance * largest)
        refuse_model(fmt::format("prior.latent_covariance is not symmetric: entry [{}][{}] is {} and [{}][{}] is {}", i,
                                 j, k(i, j), j, i, k(j, i)));
  Matrix shifted = k;
  shifted.diagonal().array() += indefinite_tolerance * largest;
  if (!(largest > 0.0) || !cholesky(shifted))
    refuse_model(
        "prior.latent_covariance is not positive semi-definite; a covariance has no negative eigenvalue and is not "
        "zero");
}

void check_factor(const Latents& latents) {
  const Matrix& f = latents.factor;
  if (f.size() == 0) return;
  if (f.rows() != latents.count || f.cols() != latents.count)
    refuse_model(fmt::format("prior.latent_covariance.factor is {} x {}; {} latents need {} rows of as many numbers",
                             f.rows(), f.cols(), latents.count, latents.count));
  for (Index i = 0; i < f.rows(); ++i)
    for (Index j = 0; j <= i; ++j)
      if (!std::isfinite(f(i, j)) || (i == j && !(f(i, j) > 0.0)))
        refuse_model(fmt::format("prior.latent_covariance.factor[{}][{}] is {}; expected {}", i, j, f(i, j),
                                 i == j ? "a positive number" : "a finite number"));
}

void check_weight(const Latents& latents) {
  if (latents.weight.size() == 0) return;
  if (latents.weight.size() != latents.count)
    refuse_model(fmt::format("prior.latent_covariance.weight has {} entries; {} latents need as many",
                             latents.weight.size(), latents.count));
  for (Index c = 0; c < latents.count; ++c)
    if (!(latents.weight(c) > 0.0) || !std::isfinite(latents.weight(c)))
      refuse_model(
          fmt::format("prior.latent_covariance.weight[{}] is {}; expected a positive number", c, latents.weight(c)));
}

}  // namespace

const char* name_of(LatentModel model) {
  switch (model) {
    case LatentModel::identity:
      return "identity";
    case LatentModel::given:
      return "given";
    case LatentModel::diagonal:
      return "diagonal";
    case LatentModel::centred_diagonal:
      return "centred-diagonal";
    case LatentModel::centred:
      return "centred";
    case LatentModel::full:
      return "full";
  }
  return "";
}

Matrix Latents::covariance() const {
  if (model == LatentModel::identity) return Matrix::Identity(count, count);
  if (model == LatentModel::given) return 0.5 * (factor + factor.transpose());
  const Matrix a = unscaled(*this, inner_matrix(*this));
  return static_cast<double>(count) / a.trace() * a;
}

void validate(const Latents& latents, const Prior& prior) {
  if (latents.count < 1)
    refuse_model(fmt::format("prior.latents is {}; expected the number of latent functions, 2 or more", latents.count));
  if (latents.count == 1) {
    if (!latents.kernels.empty()) refuse_model("prior.kernels: one kernel for each of several latents; give latents");
    return;
  }
  const auto* process = std::get_if<GaussianProcess>(&prior);
  if (process == nullptr && !std::holds_alternative<Isotropic>(prior) && !std::holds_alternative<Diagonal>(prior))
    refuse_model(
        fmt::format("prior.latents: a prior of type {} has one latent function; several go with gp, isotropic "
                    "and diagonal",
                    type_of(prior)));
  if (latents.mean.size() != 0 && latents.mean.size() != latents.count)
    refuse_model(
        fmt::format("prior.mean has {} entries; expected one number or {}", latents.mean.size(), latents.count));
  check_finite(latents.mean, "prior.mean");
  if (!latents.kernels.empty()) {
    if (process == nullptr) refuse_model("prior.kernels: only a prior of type gp has kernels");
    if (static_cast<Index>(latents.kernels.size()) != latents.count)
      refuse_model(fmt::format("prior.kernels has {} kernels; expected one for each of the {} latents",
                               latents.kernels.size(), latents.count));
    if (latents.model != LatentModel::identity)
      refuse_model("prior.kernels: functions with kernels of their own are independent; leave latent_covariance out");
    for (const KernelHandle& kernel : latents.kernels) {
      if (!kernel) refuse_model("prior.kernels: a kernel is missing");
      kernel->check_dimension(process->inputs.cols());
    }
  }
  if (latents.model == LatentModel::given) check_given(latents.factor, latents.count);
  if (has_weight(latents.model)) check_weight(latents);
  if (has_factor(latents.model)) check_factor(latents);
}

std::vector<Parameter> parameters_of(const Latents& latents) {
  std::vector<Parameter> all;
  for (std::size_t c = 0; c < latents.kernels.size(); ++c)
    for (const KernelParameter& parameter : latents.kernels[c]->parameters())
      all.push_back({kernel_name(c, parameter.name), parameter.value, true});
  if (has_weight(latents.model)) {
    const Vector weight = weight_of(latents);
    for (Index c = 0; c < latents.count; ++c) all.push_back({weight_name(c), weight(c), true});
  }
  if (has_factor(latents.model)) {
    const Matrix factor = factor_of(latents);
    for (Index i = 0; i < latents.count; ++i)
      for (Index j = 0; j <= i; ++j)
        all.push_back(
            {factor_name(i, j), factor(i, j), true, i == j ? ParameterScale::logarithm : ParameterScale::itself});
  }
  return all;
}

Latents with_parameters(const Latents& latents, const std::function<const double*(const std::string&)>& find) {
  Latents changed = latents;
  for (std::size_t c = 0; c < latents.kernels.size(); ++c) {
    std::vector<double> values;
    for (const KernelParameter& parameter : latents.kernels[c]->parameters()) {
      const double* value = find(kernel_name(c, parameter.name));
      values.push_back(value != nullptr ? *value : parameter.value);
    }
    changed.kernels[c] = latents.kernels[c]->with_parameters(values);
  }
  if (has_weight(latents.model)) {
    changed.weight = weight_of(latents);
    for (Index c = 0; c < latents.count; ++c)
      if (const double* value = find(weight_name(c))) changed.weight(c) = *value;
    check_weight(changed);
  }
  if (has_factor(latents.model)) {
    changed.factor = factor_of(latents);
    for (Index i = 0; i < latents.count; ++i)
      for (Index j = 0; j <= i; ++j)
        if (const double* value = find(factor_name(i, j))) changed.factor(i, j) = *value;
    check_factor(changed);
  }
  return changed;
}

void add_latent_gradient(const Latents& latents, const Matrix& weights, ParameterGradient& gradient) {
  if (!has_weight(latents.model) && !has_factor(latents.model)) return;
  const auto count = static_cast<double>(latents.count);
  const Matrix m = inner_matrix(latents);
  const Matrix a = unscaled(latents, m);
  // K^c = C A / tr A.
  Matrix slope = weights;
  slope.diagonal().array() -= weights.cwiseProduct(a).sum() / a.trace();
  slope *= count / a.trace();
  if (is_centred(latents.model)) {
    // dA = P'dM P with P = I - 1u'/1'u, u = M1.
    const Vector u = m.rowwise().sum();
    Matrix p = Matrix::Identity(m.rows(), m.cols());
    p.rowwise() -= u.transpose() / u.sum();
    slope = Matrix(p * slope * p.transpose());
  }
  if (has_weight(latents.model)) {
    const Vector weight = weight_of(latents);
    for (Index c = 0; c < latents.count; ++c) gradient[weight_name(c)] = weight(c) * slope(c, c);
    return;
  }
  const Matrix factor = factor_of(latents);
  const Matrix of_factor = 2.0 * slope * factor;
  for (Index i = 0; i < latents.count; ++i)
    for (Index j = 0; j <= i; ++j) gradient[factor_name(i, j)] = of_factor(i, j) * (i == j ? factor(i, i) : 1.0);
}

double latent_anchor(const Latents& latents, bool scale_is_free, ParameterGradient& gradient) {
  if (latents.count < 2 || (!has_factor(latents.model) && latents.model != LatentModel::diagonal)) return 0.0;
  const Index c = latents.count;
  const auto count = static_cast<double>(c);
  const Matrix m = inner_matrix(latents);
  const double trace = m.trace();
  if (latents.model == LatentModel::diagonal) {
    const double g = std::log(trace / count);
    for (Index i = 0; i < c; ++i) gradient[weight_name(i)] -= g * m(i, i) / trace;
    return -0.5 * g * g;
  }
  const Matrix q = contrasts(c);
  const Vector ones = Vector::Ones(c);
  const double level = m.sum() / count;  // 1'M1/C.
  const Vector tilt = q.transpose() * (m * ones) / std::sqrt(count);
  const Matrix mean = Matrix::Constant(c, c, 1.0 / count);
  // C Q'M1/sqrt(C)/tr M.
  const double scale = count / trace;
  const Vector pull = q * tilt * (scale * scale / std::sqrt(count));
  Matrix slope = -0.5 * (pull * ones.transpose() + ones * pull.transpose());
  slope.diagonal().array() += scale * scale * tilt.squaredNorm() / trace;
  double value = -0.5 * scale * scale * tilt.squaredNorm();
  if (latents.model == LatentModel::centred || scale_is_free) {
    const double rest = trace - level;
    const double g = std::log(level * (count - 1.0) / rest);
    slope -= g * (mean / level - (Matrix::Identity(c, c) - mean) / rest);
    value -= 0.5 * g * g;
  }
  if (latents.model == LatentModel::full) {
    const double g = std::log(trace / count);
    slope.diagonal().array() -= g / trace;
    value -= 0.5 * g * g;
  }
  const Matrix factor = factor_of(latents);
  const Matrix of_factor = 2.0 * slope * factor;
  for (Index i = 0; i < c; ++i)
    for (Index j = 0; j <= i; ++j) gradient[factor_name(i, j)] += of_factor(i, j) * (i == j ? factor(i, i) : 1.0);
  return value;
}

Matrix contrasts(Index count) {
  // Column k compares function k + 1 with the mean of those before it.
  Matrix q = Matrix::Zero(count, count - 1);
  for (Index k = 0; k + 1 < count; ++k) {
    const auto before = static_cast<double>(k + 1);
    const double scale = 1.0 / std::sqrt(before * (before + 1.0));
    q.col(k).head(k + 1).setConstant(-scale);
    q(k + 1, k) = before * scale;
  }
  return q;
}

}  // namespace gaussmith
