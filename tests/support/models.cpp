#include "support/models.hpp"

#include <cmath>
#include <stdexcept>

namespace gaussmith::testing {

Vector random_vector(Index size, std::uint64_t seed) {
  Random random(seed);
  Vector v(size);
  for (Index i = 0; i < size; ++i) v(i) = random.normal();
  return v;
}

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed);
  Matrix m(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) m(i, j) = random.normal();
  return m;
}

Matrix with_row(Matrix m, Index row, const Vector& values) {
  m.row(row) = values.transpose();
  return m;
}

Matrix random_covariance(Index dimension, Index rank, std::uint64_t seed) {
  const Matrix r = random_matrix(dimension, rank, seed);
  return r * r.transpose() / static_cast<double>(rank);
}

Sites random_sites(const std::string& likelihood, Index n, std::uint64_t seed) {
  SiteArguments arguments;
  if (likelihood == "gaussian") arguments = {{"variance", one(0.3)}};
  if (likelihood == "binomial-logit") arguments = {{"trials", Vector::LinSpaced(n, 1, 9).array().round().matrix()}};
  if (likelihood == "poisson") arguments = {{"exposure", Vector::LinSpaced(n, 0.5, 4)}};
  if (likelihood == "negative-binomial") arguments = {{"shape", one(1.7)}, {"exposure", Vector::LinSpaced(n, 0.5, 4)}};
  if (likelihood == "student-t") arguments = {{"nu", one(3.5)}, {"scale", one(0.4)}};
  if (likelihood == "laplace") arguments = {{"scale", one(0.6)}};
  if (likelihood == "cauchy") arguments = {{"scale", one(0.5)}};
  if (likelihood == "gamma") arguments = {{"shape", one(2.2)}};
  if (likelihood == "weibull" || likelihood == "exponential") {
    Vector censored = Vector::Zero(n);
    for (Index i = 0; i < n; i += 3) censored(i) = 1.0;
    arguments = {{"censored", censored}};
    if (likelihood == "weibull") arguments["shape"] = one(1.4);
  }
  const ResponseKind kind = likelihood_info(likelihood).traits.response;
  const Sites prototype = observe(likelihood, Vector::Constant(n, placeholder_response(kind)), arguments);
  Random random(seed);
  Vector eta(n);
  for (Index i = 0; i < n; ++i) eta(i) = 0.7 * random.normal();
  Vector y(n);
  prototype->response_sample(0, view(eta), random, view(y));
  return prototype->with(y, {});
}

std::vector<std::string> all_likelihoods() {
  std::vector<std::string> names;
  for (const LikelihoodInfo& info : likelihood_catalogue())
    if (info.traits.methods.empty()) names.push_back(info.traits.name);
  return names;
}

std::vector<std::string> smooth_likelihoods() {
  std::vector<std::string> names;
  for (const LikelihoodInfo& info : likelihood_catalogue())
    if (info.traits.smooth && info.traits.methods.empty()) names.push_back(info.traits.name);
  return names;
}

Model process_model(const std::string& likelihood, Index n, std::uint64_t seed) {
  GaussianProcess process{random_matrix(n, 2, seed),
                          make_kernel("se", {{"signal_sd", {1.2}}, {"lengthscale", {0.8, 1.5}}}), 0.2};
  return Model{.prior = std::move(process),
               .design = Identity{},
               .offset = {},
               .sites = {random_sites(likelihood, n, seed + 1)}};
}

Model linear_model(const std::string& likelihood, Index rows, Index dimension, std::uint64_t seed) {
  return Model{.prior = Isotropic{0.1 * random_vector(dimension, seed), 0.6},
               .design = Matrix(random_matrix(rows, dimension, seed + 1) / std::sqrt(static_cast<double>(dimension))),
               .offset = 0.2 * random_vector(rows, seed + 2),
               .sites = {random_sites(likelihood, rows, seed + 3)}};
}

}  // namespace gaussmith::testing
