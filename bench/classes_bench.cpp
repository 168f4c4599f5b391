// Methods for several classes against the DPOTRF calls that they stand on, and against dense code of order N C that
// follows the papers.

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "linalg/serial_blas.hpp"
#include "model/site_rows.hpp"
#include "paired.hpp"
#include "problems.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>
#include <limits>

namespace gaussmith::bench {
namespace {

Matrix spread_diagonal(Index order) {
  Matrix a = Matrix::Constant(order, order, 0.5);
  a.diagonal().setConstant(1.0 + static_cast<double>(order));
  return a;
}

/// A fit in units of `count` calls of DPOTRF of this order, one thread each.
void fit_against_cholesky(benchmark::State& state, const Model& model, const Method& method, Index order,
                          double count) {
  const int threads = static_cast<int>(state.range(2));
  const BlasThreads blas(threads);
  const Matrix start = spread_diagonal(order);
  Matrix work;
  int iterations = 0;
  double residual = 0.0;
  paired(
      state,
      [&] {
        const Posterior q = infer(model, method, {.threads = threads});
        iterations = q.report().iterations;
        residual = q.report().residual;
      },
      [&] { work = start; }, [&] { benchmark::DoNotOptimize(serial::cholesky(work)); });
  state.counters["ratio"] = state.counters["ratio"] / count;
  state.counters["steps"] = iterations;
  state.counters["residual"] = residual;
}

/// Arguments: N, C, threads. In units of C + 1 DPOTRF(N).
void classes_laplace(benchmark::State& state) {
  fit_against_cholesky(state, classes(state.range(0), state.range(1), "multinomial-logit"), Laplace{}, state.range(0),
                       static_cast<double>(state.range(1) + 1));
}
void classes_nested_ep(benchmark::State& state) {
  fit_against_cholesky(state, classes(state.range(0), state.range(1), "multinomial-probit"), Ep{}, state.range(0),
                       static_cast<double>(state.range(1) + 1));
}
void classes_structured_kl(benchmark::State& state) {
  fit_against_cholesky(state, classes(state.range(0), state.range(1), "multinomial-logit"),
                       Kl{.covariance = "structured"}, state.range(0), static_cast<double>(state.range(1) + 1));
}
/// In units of DPOTRF(N (C - 1)).
void classes_full_kl(benchmark::State& state) {
  fit_against_cholesky(state, classes(state.range(0), state.range(1), "multinomial-logit"), Kl{.covariance = "full"},
                       state.range(0) * (state.range(1) - 1), 1.0);
}

/// Softmax Laplace as it is usually written: Newton's method with matrices of order N C.
double dense_laplace(const Model& model) {
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Index n = model.rows();
  const Index c = model.latents.count;
  Matrix gram;
  process.kernel->gram(process.inputs, gram);
  // Stacked by function, as in the papers: K is block diagonal.
  Matrix k = Matrix::Zero(n * c, n * c);
  for (Index a = 0; a < c; ++a) k.block(a * n, a * n, n, n) = gram;
  const Vector& y = model.sites[0]->responses();
  Vector f = Vector::Zero(n * c);
  Vector dual = f;
  Matrix b;
  double log_joint = 0.0;
  for (int step = 0; step < 50; ++step) {
    Matrix p = Eigen::Map<const Matrix>(f.data(), n, c);
    p.colwise() -= p.rowwise().maxCoeff().eval();
    p = p.array().exp();
    p.array().colwise() /= p.rowwise().sum().eval().array();
    Vector gradient = -p.reshaped();
    log_joint = -0.5 * dual.dot(f);
    for (Index i = 0; i < n; ++i) {
      gradient(static_cast<Index>(y(i)) * n + i) += 1.0;
      log_joint += std::log(p(i, static_cast<Index>(y(i))));
    }
    // B = I + R'K R with W = R R', R = D^1/2 (I - q q'), q = p^1/2.
    Matrix root = Matrix::Zero(n * c, n * c);
    for (Index i = 0; i < n; ++i) {
      const Vector q = p.row(i).cwiseSqrt();
      for (Index a = 0; a < c; ++a)
        for (Index d = 0; d < c; ++d) root(a * n + i, d * n + i) = q(a) * ((a == d ? 1.0 : 0.0) - q(a) * q(d));
    }
    b = transposed_times(root, times(k, root));
    b.diagonal().array() += 1.0;
    if (!cholesky(b)) break;
    const Vector right = root * (root.transpose() * f) + gradient;
    Vector inner = root.transpose() * (k * right);
    solve_lower(b, inner);
    solve_lower_transposed(b, inner);
    const Vector next = right - root * inner;
    const double moved = (next - dual).norm();
    dual = next;
    f = k * dual;
    if (moved < 1e-8 * (1.0 + dual.norm())) break;
  }
  return log_joint - half_log_determinant(b);
}

/// How many times faster than dense code.
void classes_laplace_against_dense(benchmark::State& state) {
  const Model model = classes(state.range(0), state.range(1), "multinomial-logit");
  const int threads = static_cast<int>(state.range(2));
  const BlasThreads blas(threads);
  double dense = 0.0;
  double ours = 0.0;
  paired(
      state, [&] { ours = infer(model, Laplace{}, {.threads = threads}).log_evidence().value; }, [] {},
      [&] { dense = dense_laplace(model); });
  state.counters["times_faster"] = 1.0 / state.counters["ratio"];
  state.counters["difference"] = ours - dense;
}

/// Roots of the C x C blocks of T on the diagonal of a matrix of order N C.
Matrix dense_root(const Vector& precision, Index rows, Index c) {
  Matrix root = Matrix::Zero(rows * c, rows * c);
  for (Index n = 0; n < rows; ++n) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
        Eigen::Map<const Matrix>(precision.data() + n * c * c, c, c).eval());
    root.block(n * c, n * c, c, c) = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
  }
  return root;
}

/// The bound of kl as it is usually written: the covariance from matrices of order N C, then Newton's method for the
/// mean under it, in turn, until the bound rests.
double dense_kl(const Model& model) {
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Index n = model.rows();
  const Index c = model.latents.count;
  const Index order = n * c;
  Matrix gram;
  process.kernel->gram(process.inputs, gram);
  Matrix k = Matrix::Zero(order, order);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) k.block(i * c, j * c, c, c).diagonal().setConstant(gram(i, j));
  const SiteRows sites(model.sites, 1);
  const auto blocks = [&](const Matrix& v) {
    Vector out(order * c);
    for (Index i = 0; i < n; ++i) Eigen::Map<Matrix>(out.data() + i * c * c, c, c) = v.block(i * c, i * c, c, c);
    return out;
  };
  Vector dual = Vector::Zero(order);
  Vector each, slope, bend;
  sites.expectation(dual, blocks(k), &each, &slope, &bend);
  Vector precision = -2.0 * bend;
  double bound = -std::numeric_limits<double>::infinity();
  double share = 1.0;
  Matrix b, half, v;
  for (int step = 0; step < 100; ++step) {
    const Matrix root = dense_root(precision, n, c);
    half = transposed_times(root, k);
    b = times(half, root);
    b.diagonal().array() += 1.0;
    if (!cholesky(b)) break;
    solve_lower(b, half);
    v = k;
    add_gram(-1.0, half, 1.0, v);
    mirror_lower(v);
    const Vector covariance = blocks(v);
    double now = 0.0;
    for (int climb = 0; climb < 50; ++climb) {
      const Vector mean = k * dual;
      sites.expectation(mean, covariance, &each, &slope, &bend);
      now = each.sum() - 0.5 * dual.dot(mean);
      const Vector force = slope - dual;
      Vector inner = root.transpose() * (k * force);
      solve_lower(b, inner);
      solve_lower_transposed(b, inner);
      const Vector pull = force - root * inner;
      if (force.dot(k * pull) < 1e-16) break;
      dual += pull;
    }
    now += 0.5 * precision.dot(covariance) - half_log_determinant(b);
    if (now < bound) share = 0.5;
    const bool rests = std::abs(now - bound) < 1e-9 * (1.0 + std::abs(now));
    bound = now;
    if (rests) break;
    precision += share * (-2.0 * bend - precision);
  }
  return bound;
}

/// How many times faster than that.
void classes_kl_against_dense(benchmark::State& state) {
  const Model model = classes(state.range(0), state.range(1), "multinomial-logit");
  const int threads = static_cast<int>(state.range(2));
  const BlasThreads blas(threads);
  double dense = 0.0;
  double ours = 0.0;
  paired(
      state, [&] { ours = infer(model, Kl{.covariance = "full"}, {.threads = threads}).log_evidence().value; }, [] {},
      [&] { dense = dense_kl(model); });
  state.counters["times_faster"] = 1.0 / state.counters["ratio"];
  state.counters["difference"] = ours - dense;
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"N", "C", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
}
BENCHMARK(classes_laplace)
    ->Args({500, 10, 2})
    ->Args({500, 5, 2})
    ->Args({500, 20, 2})
    ->Args({1000, 10, 2})
    ->Args({300, 4, 2})
    ->Args({300, 32, 2})
    ->Args({1000, 4, 2})
    ->Apply(sizes);
BENCHMARK(classes_nested_ep)
    ->Args({500, 10, 2})
    ->Args({500, 5, 2})
    ->Args({140, 3, 2})
    ->Args({300, 4, 2})
    ->Args({300, 32, 2})
    ->Args({1000, 4, 2})
    ->Apply(sizes);
BENCHMARK(classes_structured_kl)
    ->Args({500, 10, 2})
    ->Args({500, 5, 2})
    ->Args({300, 4, 2})
    ->Args({300, 32, 2})
    ->Args({1000, 4, 2})
    ->Apply(sizes);
BENCHMARK(classes_full_kl)->Args({500, 5, 2})->Args({500, 10, 2})->Apply(sizes);
BENCHMARK(classes_laplace_against_dense)->Args({200, 10, 2})->Apply(sizes);
BENCHMARK(classes_kl_against_dense)->Args({100, 5, 2})->Args({100, 10, 2})->Apply(sizes);

}  // namespace
}  // namespace gaussmith::bench
