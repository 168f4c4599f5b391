#include "verdict_models.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <utility>

namespace reproduce {

namespace {

using gs::Index;
using gs::Matrix;
using gs::Random;
using gs::Vector;

Matrix normal_matrix(Index rows, Index cols, Random& random) {
  Matrix m(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) m(i, j) = random.normal();
  return m;
}

Vector normal_vector(Index size, Random& random) { return normal_matrix(size, 1, random); }

/// A number of 0, ..., count - 1.
Index below(Index count, Random& random) {
  return std::min(count - 1, static_cast<Index>(random.uniform() * static_cast<double>(count)));
}

gs::Sites drawn(const std::string& likelihood, const Vector& eta, const gs::SiteArguments& arguments, Random& random) {
  const gs::ResponseKind kind = gs::likelihood_info(likelihood).traits.response;
  const gs::Sites prototype =
      gs::observe(likelihood, Vector::Constant(eta.size(), gs::placeholder_response(kind)), arguments);
  Vector y(eta.size());
  prototype->response_sample(0, {eta.data(), static_cast<std::size_t>(eta.size())}, random,
                             {y.data(), static_cast<std::size_t>(y.size())});
  return prototype->with(y, {});
}

gs::Model linear(Index dimension, double variance, Matrix rows, std::vector<gs::Sites> sites) {
  return {.prior = gs::Isotropic{Vector::Zero(dimension), variance},
          .design = std::move(rows),
          .offset = {},
          .sites = std::move(sites)};
}

/// An intercept and columns.
Matrix with_intercept(Index rows, Index dimension, Random& random) {
  Matrix x = normal_matrix(rows, dimension, random);
  x.col(0).setOnes();
  return x;
}

VerdictModel easy(int number, Random& random) {
  const Index d = 1 + number % 6;
  const Index n = 15 * d + 20 + below(40, random);
  const Matrix x = with_intercept(n, d, random);
  const Vector w = 0.6 * normal_vector(d, random);
  const Vector eta = x * w;
  const char* names[] = {"bernoulli-logit", "bernoulli-probit", "poisson", "exponential", "binomial-logit"};
  const std::string name = names[number % 5];
  gs::SiteArguments arguments;
  if (name == "binomial-logit") arguments["trials"] = gs::one(5.0);
  const Vector shifted = name == "poisson" ? Vector(eta.array() + 0.7) : eta;
  return {ModelKind::easy, name, linear(d, 1.0, x, {drawn(name, shifted, arguments, random)})};
}

VerdictModel skewed(int number, Random& random) {
  const Index d = 1 + below(6, random);
  const int sort = number % 5;
  if (sort == 0) {  // Rare events.
    const Index n = 10 + below(30, random);
    const Matrix x = with_intercept(n, d, random);
    Vector w = normal_vector(d, random);
    w(0) = -3.0;
    return {ModelKind::skewed, "rare events", linear(d, 9.0, x, {drawn("bernoulli-logit", x * w, {}, random)})};
  }
  if (sort == 1) {  // Few counts.
    const Index n = d + 1 + below(8, random);
    const Matrix x = with_intercept(n, d, random);
    Vector w = 0.5 * normal_vector(d, random);
    w(0) = -1.2;
    return {ModelKind::skewed, "few counts", linear(d, 4.0, x, {drawn("poisson", x * w, {}, random)})};
  }
  if (sort == 2) {  // A wide prior.
    const Index n = d + 1 + below(6, random);
    const Matrix x = normal_matrix(n, d, random);
    return {ModelKind::skewed, "wide prior",
            linear(d, 25.0, x, {drawn("bernoulli-probit", x * normal_vector(d, random), {}, random)})};
  }
  if (sort == 3) {  // A short process.
    const Index n = 2 + below(5, random);
    gs::GaussianProcess process{normal_matrix(n, 1, random),
                                gs::make_kernel("se", {{"signal_sd", {3.0}}, {"lengthscale", {1.0}}}), 0.0};
    const Vector eta = 2.0 * normal_vector(n, random);
    return {ModelKind::skewed,
            "short process",
            {.prior = std::move(process),
             .design = gs::Identity{},
             .offset = {},
             .sites = {drawn(number % 2 == 0 ? "bernoulli-probit" : "poisson", Vector(0.4 * eta), {}, random)}}};
  }
  // Sparsity: exponential priors on weights as sites beside a Gaussian response.
  const Index n = 2 + below(4, random);
  Matrix x(n + d, d);
  x << normal_matrix(n, d, random), Matrix::Identity(d, d);
  Vector w = normal_vector(d, random);
  const Vector y = x.topRows(n) * w + 0.5 * normal_vector(n, random);
  return {ModelKind::skewed, "sparsity",
          linear(d, 25.0, x,
                 {gs::observe("gaussian", y, {{"variance", gs::one(0.25)}}),
                  gs::observe("laplace", Vector::Zero(d), {{"scale", gs::one(0.5)}})})};
}

VerdictModel conflicting(int number, Random& random) {
  const Index d = 1 + below(number % 4 == 3 ? 3 : 6, random);
  const int sort = number % 4;
  if (sort == 0) {  // Outliers.
    const Index n = 3 * d + 3 + below(10, random);
    const Matrix x = with_intercept(n, d, random);
    Vector y = x * normal_vector(d, random) + 0.3 * normal_vector(n, random);
    for (Index i = 0; i < n; i += 5) y(i) += 6.0 * random.normal();
    return {ModelKind::conflicting, "outliers",
            linear(d, 4.0, x, {gs::observe("student-t", y, {{"nu", gs::one(4.0)}, {"scale", gs::one(0.3)}})})};
  }
  if (sort == 1) {  // Two groups that disagree.
    const Index n = d + 1 + below(4, random);
    const Matrix one = normal_matrix(n, d, random);
    const Matrix two = normal_matrix(n, d, random);
    Vector y(2 * n);
    y << one * (2.0 * normal_vector(d, random)), two * (2.0 * normal_vector(d, random));
    Matrix x(2 * n, d);
    x << one, two;
    y += 0.2 * normal_vector(2 * n, random);
    return {ModelKind::conflicting, "two groups",
            linear(d, 4.0, x, {gs::observe("student-t", y, {{"nu", gs::one(2.0)}, {"scale", gs::one(0.3)}})})};
  }
  if (sort == 2) {  // Cauchy noise.
    const Index n = 2 * d + 2 + below(6, random);
    const Matrix x = with_intercept(n, d, random);
    Vector y = x * normal_vector(d, random);
    for (Index i = 0; i < n; ++i) y(i) += 0.4 * random.normal() / random.normal();
    return {ModelKind::conflicting, "cauchy", linear(d, 4.0, x, {gs::observe("cauchy", y, {{"scale", gs::one(0.4)}})})};
  }
  // Student-t sparsity beside a Gaussian response.
  const Index n = 1 + below(3, random);
  Matrix x(n + d, d);
  x << normal_matrix(n, d, random), Matrix::Identity(d, d);
  const Vector y = x.topRows(n) * (1.5 * normal_vector(d, random)) + 0.3 * normal_vector(n, random);
  return {ModelKind::conflicting, "t sparsity",
          linear(d, 9.0, x,
                 {gs::observe("gaussian", y, {{"variance", gs::one(0.1)}}),
                  gs::observe("student-t", Vector::Zero(d), {{"nu", gs::one(2.0)}, {"scale", gs::one(0.2)}})})};
}

}  // namespace

std::vector<VerdictModel> verdict_models(int count, std::uint64_t seed) {
  std::vector<VerdictModel> all;
  for (int i = 0; i < count / 3; ++i) {
    Random random(1000 * seed + static_cast<std::uint64_t>(i));
    all.push_back(easy(i, random));
    all.push_back(skewed(i, random));
    all.push_back(conflicting(i, random));
  }
  return all;
}

PlantedModes planted_modes(gs::Index dimension, gs::Index rows, std::uint64_t seed) {
  Random random(seed);
  PlantedModes out{{}, normal_matrix(dimension, 2, random)};
  const Matrix x = normal_matrix(2 * rows, dimension, random);
  Vector y(2 * rows);
  y.head(rows) = x.topRows(rows) * out.weights.col(0);
  y.tail(rows) = x.bottomRows(rows) * out.weights.col(1);
  y += 0.1 * normal_vector(2 * rows, random);
  out.model = linear(dimension, 1.0, x, {gs::observe("student-t", y, {{"nu", gs::one(2.0)}, {"scale", gs::one(0.1)}})});
  return out;
}

gs::Model verdict_process(gs::Index rows, const std::string& likelihood, std::uint64_t seed) {
  Random random(seed);
  const Matrix inputs = normal_matrix(rows, 2, random);
  const gs::KernelHandle kernel = gs::make_kernel("se", {{"signal_sd", {1.5}}, {"lengthscale", {1.0}}});
  Matrix k;
  kernel->gram(inputs, k);
  k.diagonal().array() += 1e-8;
  const Vector eta = Eigen::LLT<Matrix>(k).matrixL() * normal_vector(rows, random);
  return {.prior = gs::GaussianProcess{inputs, kernel, 0.0},
          .design = gs::Identity{},
          .offset = {},
          .sites = {drawn(likelihood, eta, {}, random)}};
}

}  // namespace reproduce
