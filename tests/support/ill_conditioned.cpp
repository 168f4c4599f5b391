#include "support/ill_conditioned.hpp"

#include "gaussmith/random.hpp"

#include <boost/math/constants/constants.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace gaussmith::testing {

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  double normal() { return random_.normal(); }
  double between(double low, double high) { return low + (high - low) * random_.uniform(); }
  double power(double low, double high) { return std::pow(10.0, between(low, high)); }
  Index count(Index low, Index high) {
    return low + static_cast<Index>(between(0.0, static_cast<double>(high - low + 1)));
  }
  bool chance(double probability) { return random_.uniform() < probability; }
  Matrix matrix(Index rows, Index cols) {
    return Matrix::NullaryExpr(rows, cols, [this] { return normal(); });
  }

 private:
  Random random_;
};

/// Independent weights or a process seen through Gaussian noise.
IllConditioned observed(std::string name, Model model, Vector y, Vector noise) {
  model.sites = {observe("gaussian", y, {{"variance", noise}})};
  return {std::move(name), std::move(model), std::move(y), std::move(noise), {}};
}

Precise square(const Precise& x) { return x * x; }

/// r^2 = sum ((x_j - z_j) / lengthscale)^2.
Precise squared_distance(const Vector& x, const Vector& z, const Precise& lengthscale) {
  Precise sum = 0;
  for (Index j = 0; j < x.size(); ++j) sum += square((Precise(x(j)) - Precise(z(j))) / lengthscale);
  return sum;
}

struct KernelPair {
  KernelHandle kernel;
  PreciseKernel precise;
};

KernelPair smooth_kernel(Draws& draw, double lengthscale) {
  const double signal = draw.power(-1.0, 1.0);
  const KernelArguments scales = {{"signal_sd", {signal}}, {"lengthscale", {lengthscale}}};
  const auto stationary = [=](const std::function<Precise(const Precise& square)>& rho) -> PreciseKernel {
    return [=](const Vector& x, const Vector& z, const PreciseVector& change) {
      return square(Precise(signal) * exp(change[0])) *
             rho(squared_distance(x, z, Precise(lengthscale) * exp(change[1])));
    };
  };
  if (draw.chance(0.6)) return {make_kernel("se", scales), stationary([](const Precise& s) { return exp(-s / 2); })};
  if (draw.chance(0.5))
    return {make_kernel("matern52", scales), stationary([](const Precise& s) {
              const Precise r = sqrt(5 * s);
              return (1 + r + r * r / 3) * exp(-r);
            })};
  KernelArguments with_alpha = scales;
  with_alpha["alpha"] = {2.0};
  return {make_kernel("rq", with_alpha), [=](const Vector& x, const Vector& z, const PreciseVector& change) {
            const Precise alpha = 2 * exp(change[2]);
            const Precise s = squared_distance(x, z, Precise(lengthscale) * exp(change[1]));
            return square(Precise(signal) * exp(change[0])) * pow(1 + s / (2 * alpha), -alpha);
          }};
}

IllConditioned process(const std::string& name, Draws& draw, Matrix inputs, KernelPair kernel, bool smooth_responses,
                       double noise) {
  const Index n = inputs.rows();
  Vector y(n);
  for (Index i = 0; i < n; ++i)
    y(i) = smooth_responses ? std::sin(inputs(i, 0)) + std::sqrt(noise) * draw.normal() : draw.normal();
  IllConditioned out = observed(
      name, {.prior = GaussianProcess{std::move(inputs), kernel.kernel, draw.chance(0.3) ? 0.5 : 0.0}, .sites = {}},
      std::move(y), Vector::Constant(n, noise));
  out.kernel = std::move(kernel.precise);
  return out;
}

IllConditioned linear(const std::string& name, Draws& draw, const Matrix& rows, double variance, double noise) {
  Vector weights = draw.matrix(rows.cols(), 1);
  for (Index j = 0; j < rows.cols(); ++j) weights(j) /= 1e-300 + rows.col(j).norm();
  Vector y = rows * weights;
  for (double& value : y) value += std::sqrt(noise) * draw.normal();
  return observed(name, {.prior = Isotropic{Vector::Zero(rows.cols()), variance}, .design = rows, .sites = {}},
                  std::move(y), Vector::Constant(rows.rows(), noise));
}

Matrix collinear_columns(Draws& draw, Index n, Index d) {
  Matrix rows = draw.matrix(n, d);
  for (Index j = 0; j < d; ++j) rows.col(j) *= draw.power(-2.0, 4.0);
  const Index last = d - 1;
  rows.col(last) = draw.normal() * rows.col(0) + (d > 2 ? draw.normal() * rows.col(1) : Vector(Vector::Zero(n)));
  const double apart = draw.chance(0.4) ? 0.0 : draw.power(-12.0, -2.0);
  rows.col(last) += apart * rows.col(last).norm() * draw.matrix(n, 1);
  if (draw.chance(0.5)) rows.col(0).setOnes();
  return rows;
}

IllConditioned collinear(Draws& draw) {
  const Index d = draw.count(2, 8);
  return linear("collinear columns", draw, collinear_columns(draw, draw.count(d, 50), d), draw.power(0.0, 10.0),
                draw.power(-8.0, 2.0));
}

IllConditioned fewer_rows(Draws& draw) {
  const Index d = draw.count(4, 12);
  Matrix rows = collinear_columns(draw, draw.count(2, d), d);
  if (rows.rows() > 1 && draw.chance(0.5)) rows.row(1) = rows.row(0);
  return linear("collinear columns, fewer rows than weights", draw, rows, draw.power(0.0, 10.0), draw.power(-8.0, 2.0));
}

IllConditioned polynomial(Draws& draw) {
  const Index n = draw.count(10, 60);
  const Index degree = draw.count(2, 4);
  Matrix rows(n, degree + 1);
  const double first = draw.chance(0.5) ? 1950.0 : 0.0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= degree; ++j) rows(i, j) = std::pow(first + static_cast<double>(i), static_cast<double>(j));
  return linear("raw polynomial", draw, rows, draw.power(0.0, 8.0), draw.power(-4.0, 1.0));
}

IllConditioned scales_apart(Draws& draw) {
  const Index d = draw.count(2, 8);
  Matrix rows = draw.matrix(draw.count(d, 40), d);
  for (Index j = 0; j < d; ++j) rows.col(j) *= draw.power(-8.0, 8.0);
  return linear("columns of very different scales", draw, rows, draw.power(-2.0, 8.0), draw.power(-6.0, 2.0));
}

IllConditioned duplicates(Draws& draw) {
  const Index distinct = draw.count(1, 10);
  const Matrix places = draw.matrix(distinct, draw.count(1, 3));
  Matrix inputs(draw.count(distinct + 1, 40), places.cols());
  for (Index i = 0; i < inputs.rows(); ++i) inputs.row(i) = places.row(i < distinct ? i : draw.count(0, distinct - 1));
  return process("duplicate inputs", draw, inputs, smooth_kernel(draw, draw.power(-0.5, 0.5)), draw.chance(0.5),
                 draw.power(-14.0, -2.0));
}

IllConditioned near_duplicates(Draws& draw) {
  IllConditioned out = duplicates(draw);
  Matrix inputs = std::get<GaussianProcess>(out.model.prior).inputs;
  inputs += draw.power(-12.0, -3.0) * draw.matrix(inputs.rows(), inputs.cols());
  std::get<GaussianProcess>(out.model.prior).inputs = inputs;
  out.name = "nearly duplicate inputs";
  return out;
}

IllConditioned smooth(Draws& draw) {
  const Index n = draw.count(8, 50);
  Matrix inputs = draw.matrix(n, draw.count(1, 2));
  return process("smooth kernel, tiny noise", draw, inputs, smooth_kernel(draw, draw.power(-0.3, 1.5)),
                 draw.chance(0.7), draw.power(-16.0, -4.0));
}

}  // namespace

IllConditioned ill_conditioned(std::uint64_t seed) {
  static constexpr std::array kinds = {collinear,       duplicates, smooth,      fewer_rows,
                                       near_duplicates, polynomial, scales_apart};
  Draws draw(seed);
  return kinds[seed % kinds.size()](draw);
}

namespace {

/// Prior covariance of the weights to sixty digits.
PreciseMatrix prior_covariance(const IllConditioned& problem, const PreciseVector& change) {
  const Prior& prior = problem.model.prior;
  const Index d = problem.model.dimension();
  PreciseMatrix sigma(d, d);
  if (const auto* process = std::get_if<GaussianProcess>(&prior)) {
    for (Index i = 0; i < d; ++i)
      for (Index j = 0; j <= i; ++j)
        sigma(i, j) = sigma(j, i) = problem.kernel(process->inputs->row(i), process->inputs->row(j), change);
  } else {
    for (Index i = 0; i < d; ++i) sigma(i, i) = Precise(std::get<Isotropic>(prior).variance) * exp(change[0]);
  }
  return sigma;
}

}  // namespace

PrecisePrior precise_prior(const IllConditioned& problem, const PreciseVector& log_changes) {
  const Model& model = problem.model;
  const PreciseMatrix sigma = prior_covariance(problem, log_changes);
  const auto* process = std::get_if<GaussianProcess>(&model.prior);
  PrecisePrior out;
  out.weight_variance = diagonal(sigma);
  out.mean = process != nullptr ? process->mean : 0.0;
  if (model.design.is_identity()) {
    out.rows = out.weights_rows = sigma;
  } else {
    const PreciseMatrix h = precise(*model.design.entries().dense);
    out.weights_rows = product(sigma, transposed(h));
    out.rows = product(h, out.weights_rows);
  }
  return out;
}

namespace {

/// log N(y | mean, H Sigma H' + noise) and what it is made of.
struct Regression {
  PrecisePrior prior;
  PreciseMatrix lower;
  PreciseVector residual, dual;
  Precise log_evidence;
};

Regression regression(const IllConditioned& problem, const PreciseVector& change) {
  const Index n = problem.y.size();
  Regression r;
  r.prior = precise_prior(problem, change);
  PreciseMatrix m = r.prior.rows;
  for (Index i = 0; i < n; ++i) {
    m(i, i) += problem.noise(i);
    r.residual.push_back(Precise(problem.y(i)) - r.prior.mean);
  }
  r.lower = precise_cholesky(m);
  const PreciseVector half = solve_lower(r.lower, r.residual);
  r.dual = solve_lower_transposed(r.lower, half);
  r.log_evidence = -dot(half, half) / 2 - n * log(2 * boost::math::constants::pi<Precise>()) / 2;
  for (Index i = 0; i < n; ++i) r.log_evidence -= log(r.lower(i, i));
  return r;
}

/// Mean and variance of linear combinations whose covariance with y is `cross` (rows) and whose prior variance is
/// given.
void condition(const Regression& r, const PreciseMatrix& cross, const PreciseVector& variance, PreciseVector& mean,
               PreciseVector& posterior_variance) {
  for (Index i = 0; i < cross.rows(); ++i) {
    PreciseVector row;
    for (Index j = 0; j < cross.cols(); ++j) row.push_back(cross(i, j));
    mean.push_back(r.prior.mean + dot(row, r.dual));
    const PreciseVector half = solve_lower(r.lower, row);
    posterior_variance.push_back(variance[static_cast<std::size_t>(i)] - dot(half, half));
  }
}

}  // namespace

GaussianTruth gaussian_truth(const IllConditioned& problem) {
  std::vector<std::string> names;
  for (const Parameter& parameter : problem.model.parameters())
    if (!parameter.name.starts_with("sites")) names.push_back(parameter.name);
  PreciseVector change(names.size(), 0);
  const Regression r = regression(problem, change);
  const PrecisePrior& prior = r.prior;
  GaussianTruth truth;
  truth.log_evidence = r.log_evidence;
  condition(r, prior.rows, diagonal(prior.rows), truth.latent_mean, truth.latent_variance);
  condition(r, prior.weights_rows, prior.weight_variance, truth.weight_mean, truth.weight_variance);
  // Central differences: at sixty digits a step of 1e-18 leaves 24 of them.
  const Precise step = Precise(1e-18);
  for (std::size_t p = 0; p < names.size(); ++p) {
    PreciseVector up = change;
    PreciseVector down = change;
    up[p] += step;
    down[p] -= step;
    truth.gradient[names[p]] = static_cast<double>(
        (regression(problem, up).log_evidence - regression(problem, down).log_evidence) / (2 * step));
  }
  double largest = 1.0;
  for (Index i = 0; i < prior.rows.rows(); ++i)
    largest = std::max(largest, static_cast<double>(prior.rows(i, i)) / problem.noise(i));
  truth.log10_condition = std::log10(largest);
  return truth;
}

}  // namespace gaussmith::testing
