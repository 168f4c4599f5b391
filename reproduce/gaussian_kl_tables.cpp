// Synthetic Bayesian logistic regression with constrained covariances: Challis and Barber, "Gaussian Kullback-Leibler
// Approximate Inference" (JMLR 2013), Tables 2 (D = 500), 3 (D = 250) and 4 (D = 1000);
// docs/reproduce/gaussian_kl_tables.md discusses the result.
//   reproduce_gaussian_kl_tables [D] [data sets] [threads] [columns|rows] [seed] [all|vb]
// For N = D/2, D, 5D and K = 0.05 D, 0.1 D our time, normalised bound B / N, distance |m - w| / D and test log
// probability, each with the published figure in brackets, as a Markdown table; the full covariance, the limit of all
// families; and local variational bounds with K Lanczos vectors, which are no bounds then, and with exact variances.
// `vb` leaves the constrained covariances out.

#include "families/fit_family.hpp"
#include "gaussian/root_law.hpp"
#include "gaussmith/infer.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace gaussmith {
namespace {

struct Published {
  double seconds, bound, bound_error, log_probability;
};

/// [family][2 * N + K], families in the order chevron, banded, subspace, factor.
using Table = std::array<std::array<Published, 6>, 4>;

const Table table_d250 = {{{{{0.14, -1.08, 0.02, -0.57},
                             {0.16, -1.05, 0.02, -0.56},
                             {0.32, -0.89, 0.01, -0.47},
                             {0.34, -0.87, 0.01, -0.47},
                             {3.31, -0.41, 0.00, -0.19},
                             {3.38, -0.40, 0.00, -0.19}}},
                           {{{0.21, -1.05, 0.02, -0.56},
                             {0.28, -1.00, 0.01, -0.56},
                             {0.41, -0.88, 0.01, -0.47},
                             {0.53, -0.85, 0.01, -0.46},
                             {4.05, -0.41, 0.00, -0.19},
                             {4.64, -0.40, 0.00, -0.19}}},
                           {{{0.42, -2.93, 0.01, -0.67},
                             {0.46, -2.11, 0.02, -0.63},
                             {0.69, -1.83, 0.01, -0.57},
                             {0.81, -1.43, 0.01, -0.54},
                             {4.24, -0.60, 0.00, -0.21},
                             {5.17, -0.52, 0.00, -0.20}}},
                           {{{0.75, -1.08, 0.02, -0.57},
                             {0.74, -1.06, 0.02, -0.57},
                             {0.94, -0.89, 0.01, -0.48},
                             {1.12, -0.87, 0.01, -0.47},
                             {6.18, -0.40, 0.00, -0.19},
                             {5.49, -0.39, 0.00, -0.19}}}}};
const Table table_d500 = {{{{{0.49, -1.19, 0.01, -0.58},
                             {0.69, -1.15, 0.01, -0.58},
                             {1.25, -0.93, 0.01, -0.50},
                             {1.36, -0.91, 0.01, -0.49},
                             {16.50, -0.42, 0.00, -0.18},
                             {17.31, -0.41, 0.00, -0.18}}},
                           {{{0.96, -1.15, 0.01, -0.58},
                             {1.37, -1.09, 0.01, -0.57},
                             {2.25, -0.92, 0.01, -0.50},
                             {4.06, -0.88, 0.01, -0.49},
                             {24.31, -0.42, 0.00, -0.18},
                             {29.60, -0.41, 0.00, -0.18}}},
                           {{{0.73, -3.08, 0.02, -0.72},
                             {0.93, -2.20, 0.01, -0.65},
                             {1.41, -1.90, 0.01, -0.63},
                             {1.93, -1.46, 0.01, -0.59},
                             {11.89, -0.62, 0.00, -0.20},
                             {15.26, -0.54, 0.00, -0.20}}},
                           {{{2.05, -1.19, 0.01, -0.58},
                             {2.29, -1.17, 0.01, -0.58},
                             {2.92, -0.93, 0.01, -0.51},
                             {3.47, -0.91, 0.01, -0.50},
                             {20.06, -0.41, 0.00, -0.18},
                             {22.69, -0.40, 0.00, -0.18}}}}};
const Table table_d1000 = {{{{{2.68, -1.28, 0.01, -0.62},
                              {3.37, -1.24, 0.01, -0.61},
                              {6.41, -0.99, 0.00, -0.51},
                              {7.28, -0.96, 0.00, -0.49},
                              {75.23, -0.42, 0.00, -0.18},
                              {78.38, -0.41, 0.00, -0.18}}},
                            {{{6.66, -1.24, 0.01, -0.61},
                              {8.97, -1.17, 0.01, -0.59},
                              {12.81, -0.98, 0.00, -0.50},
                              {20.59, -0.94, 0.00, -0.49},
                              {127.69, -0.42, 0.00, -0.18},
                              {190.65, -0.42, 0.00, -0.18}}},
                            {{{1.59, -5.40, 0.23, -0.62},
                              {2.58, -4.54, 0.25, -0.61},
                              {3.24, -7.56, 0.00, -0.69},
                              {7.71, -1.52, 0.00, -0.61},
                              {56.67, -0.62, 0.00, -0.21},
                              {75.35, -0.54, 0.00, -0.21}}},
                            {{{9.94, -1.29, 0.01, -0.62},
                              {12.24, -1.26, 0.01, -0.61},
                              {16.21, -1.00, 0.00, -0.52},
                              {18.64, -0.97, 0.00, -0.51},
                              {70.87, -0.42, 0.00, -0.18},
                              {82.13, -0.41, 0.00, -0.18}}}}};

/// Local variational bounds, in the same order; their bound is not printed.
struct PublishedLocal {
  double seconds, log_probability;
};
using LocalTable = std::array<PublishedLocal, 6>;

const LocalTable local_d250 = {
    {{0.27, -0.68}, {0.28, -0.68}, {0.29, -0.57}, {0.31, -0.56}, {0.46, -0.21}, {0.45, -0.21}}};
const LocalTable local_d500 = {
    {{0.37, -0.75}, {0.47, -0.77}, {0.46, -0.63}, {0.52, -0.64}, {1.56, -0.20}, {1.85, -0.20}}};
const LocalTable local_d1000 = {
    {{1.78, -0.88}, {2.65, -0.95}, {4.12, -0.68}, {6.17, -0.70}, {21.88, -0.21}, {33.87, -0.21}}};

struct Data {
  Model model;
  Matrix test_rows;
  Vector test_labels, weights;
};

/// A = I + (one standard normal entry a row) times the vectors, A z, as the text has it: each variable receives one
/// other. A program with the data in rows may well have used Z A, by which each variable is spread to one other.
enum class Side { columns, rows };

/// A z or z'A with z standard normal, scaled to unit variance; labels from the model itself.
Data draw(Index n, Index tests, Index d, Side side, std::uint64_t seed) {
  Random random(seed);
  Data data;
  data.weights.resize(d);
  for (Index j = 0; j < d; ++j) data.weights(j) = random.normal();
  Matrix z(n + tests, d);
  for (Index j = 0; j < d; ++j)
    for (Index i = 0; i < z.rows(); ++i) z(i, j) = random.normal();
  Matrix rows = z;
  for (Index i = 0; i < d; ++i) {
    const auto other = static_cast<Index>(random.uniform() * static_cast<double>(d));
    const double entry = random.normal();
    if (side == Side::rows)
      rows.col(other) += entry * z.col(i);
    else
      rows.col(i) += entry * z.col(other);
  }
  for (Index j = 0; j < d; ++j) rows.col(j) /= std::sqrt(rows.col(j).squaredNorm() / static_cast<double>(rows.rows()));
  const Vector eta = rows * data.weights;
  Vector labels(eta.size());
  for (Index i = 0; i < eta.size(); ++i) labels(i) = random.uniform() < 1.0 / (1.0 + std::exp(-eta(i))) ? 1.0 : -1.0;
  data.model = Model{.prior = Isotropic{Vector::Zero(d), 1.0},
                     .design = Matrix(rows.topRows(n)),
                     .offset = {},
                     .sites = {observe("bernoulli-logit", labels.head(n))}};
  data.test_rows = rows.bottomRows(tests);
  data.test_labels = labels.tail(tests);
  return data;
}

struct Result {
  double seconds = 0.0, bound = 0.0;
  Vector mean;
  Marginals tests;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One family to the published stopping rule: the largest gradient in (m, C) below 1e-3. One start for factors.
Result fit_constrained(const Data& data, const std::string& family, int threads) {
  FamilyOptions options;
  options.tolerance = 1e-12;
  options.largest_gradient = 1e-3;
  options.starts = 1;
  const auto start = std::chrono::steady_clock::now();
  const FamilyFit fit = fit_family(data.model, parse_family(family), options, threads);
  Result result{.seconds = seconds_since(start), .bound = fit.bound, .mean = fit.weight_mean, .tests = {}};
  const RootLaw law(std::make_shared<PriorGeometry>(data.model.prior, data.model.design, 1), fit.covariance,
                    fit.coordinates);
  result.tests = law.predict(NewRows{data.test_rows});
  return result;
}

/// A posterior of the public interface.
Result fit(const Data& data, const Method& method, int threads) {
  const auto start = std::chrono::steady_clock::now();
  const Posterior q = infer(data.model, method, {.threads = threads});
  Result result{
      .seconds = seconds_since(start), .bound = q.log_evidence().value, .mean = q.weights().mean, .tests = {}};
  PredictionPoints points;
  points.design = data.test_rows;
  const Prediction prediction = q.predict(points);
  result.tests = {prediction.latent_mean(), prediction.latent_variance()};
  return result;
}

class Average {
 public:
  void add(double x) {
    ++count_;
    sum_ += x;
    squares_ += x * x;
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] double mean() const { return sum_ / count_; }
  [[nodiscard]] double error() const {
    return count_ > 1 ? std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean()) / (count_ - 1)) : 0.0;
  }

 private:
  int count_ = 0;
  double sum_ = 0.0, squares_ = 0.0;
};

struct Cell {
  Average seconds, bound, distance, log_probability;

  void add(const Data& data, const Result& result) {
    seconds.add(result.seconds);
    bound.add(result.bound / static_cast<double>(model_rows(data.model)));
    distance.add((result.mean - data.weights).norm() / static_cast<double>(data.weights.size()));
    const Sites sites = observe("bernoulli-logit", Vector::Ones(data.test_rows.rows()));
    log_probability.add(Prediction(result.tests, sites).log_density(data.test_labels).mean());
  }

  static Index model_rows(const Model& model) { return model.design.entries().dense->rows(); }
};

/// With fewer a standard error says little.
constexpr int fewest_sets_for_verdict = 5;

/// Beyond two standard errors of the difference and the rounding of print.
const char* verdict(const Cell& ours, const Published& theirs) {
  if (ours.bound.count() < fewest_sets_for_verdict) return "";
  const double allowance = 0.005 + 2.0 * std::hypot(ours.bound.error(), theirs.bound_error);
  const double difference = ours.bound.mean() - theirs.bound;
  return difference > allowance ? "above" : difference < -allowance ? "BELOW" : "equal";
}

void print_row(Index n, std::string_view family, const Cell& ours, const std::optional<Published>& theirs) {
  if (theirs)
    fmt::print(
        "| {} | {} | {:.2f} [{:.2f}] | {:.3f} ± {:.3f} [{:.2f} ± {:.2f}] | {} | {:.4f} | {:.3f} ± {:.3f} [{:.2f}] |\n",
        n, family, ours.seconds.mean(), theirs->seconds, ours.bound.mean(), ours.bound.error(), theirs->bound,
        theirs->bound_error, verdict(ours, *theirs), ours.distance.mean(), ours.log_probability.mean(),
        ours.log_probability.error(), theirs->log_probability);
  else
    fmt::print("| {} | {} | {:.2f} | {:.3f} ± {:.3f} | | {:.4f} | {:.3f} ± {:.3f} |\n", n, family, ours.seconds.mean(),
               ours.bound.mean(), ours.bound.error(), ours.distance.mean(), ours.log_probability.mean(),
               ours.log_probability.error());
  std::fflush(stdout);
}

/// Of variances from Lanczos' recursion, which make no bound.
void print_local_row(Index n, std::string_view name, const Cell& ours, const PublishedLocal& theirs) {
  fmt::print("| {} | {} | {:.2f} [{:.2f}] | | | {:.4f} | {:.3f} ± {:.3f} [{:.2f}] |\n", n, name, ours.seconds.mean(),
             theirs.seconds, ours.distance.mean(), ours.log_probability.mean(), ours.log_probability.error(),
             theirs.log_probability);
  std::fflush(stdout);
}

enum class Rows { all, local };

void run(Index d, int sets, int threads, Side side, std::uint64_t seed, Rows wanted) {
  const BlasThreads blas(threads);
  const Table& published = d == 250 ? table_d250 : d == 500 ? table_d500 : table_d1000;
  const LocalTable& published_local = d == 250 ? local_d250 : d == 500 ? local_d500 : local_d1000;
  const std::array<const char*, 4> names = {"chevron", "banded", "subspace", "factor"};
  fmt::print("D = {}, {} data sets from seed {}, {} threads, covariates {}. Published figures in brackets.\n\n", d,
             sets, seed, threads, side == Side::columns ? "A z" : "z'A");
  fmt::print("| N | family | seconds | bound / N | | \\|m − w\\| / D | test log p |\n|---|---|---|---|---|---|---|\n");
  const Index tests = d == 250 ? 2500 : 5000;
  const std::array<Index, 3> rows = {d / 2, d, 5 * d};
  for (std::size_t n = 0; n < rows.size(); ++n) {
    std::array<std::array<Cell, 4>, 2> cells;
    std::array<Cell, 2> lanczos;
    Cell full, local;
    const auto with_size = [&](std::string_view name, std::size_t k) {
      const auto size = static_cast<Index>(std::ceil((k == 0 ? 0.05 : 0.1) * static_cast<double>(d)));
      return fmt::format("{}:{}", name, size);
    };
    for (int s = 0; s < sets; ++s) {
      const Data data = draw(rows[n], tests, d, side, 1000 * seed + 10 * static_cast<std::uint64_t>(s) + n);
      for (std::size_t k = 0; k < 2; ++k) {
        for (std::size_t f = 0; f < names.size() && wanted == Rows::all; ++f)
          cells[k][f].add(data, fit_constrained(data, with_size(names[f], k), threads));
        lanczos[k].add(data, fit(data, Vb{.variances = with_size("lanczos", k)}, threads));
      }
      full.add(data, fit(data, Kl{.covariance = "full", .tolerance = 1e-6}, threads));
      local.add(data, fit(data, Vb{.variances = "exact", .tolerance = 1e-6}, threads));
    }
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t f = 0; f < names.size() && wanted == Rows::all; ++f)
        print_row(rows[n], with_size(names[f], k), cells[k][f], published[f][2 * n + k]);
    print_row(rows[n], "full", full, std::nullopt);
    for (std::size_t k = 0; k < 2; ++k)
      print_local_row(rows[n], with_size("vb, lanczos", k), lanczos[k], published_local[2 * n + k]);
    print_row(rows[n], "vb, exact", local, std::nullopt);
  }
}

}  // namespace
}  // namespace gaussmith

int main(int argc, char** argv) {
  const long d = argc > 1 ? std::atol(argv[1]) : 250;
  const int sets = argc > 2 ? std::atoi(argv[2]) : 10;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  const std::string_view side = argc > 4 ? argv[4] : "columns";
  const long seed = argc > 5 ? std::atol(argv[5]) : 1;
  const std::string_view rows = argc > 6 ? argv[6] : "all";
  if ((d != 250 && d != 500 && d != 1000) || sets < 1 || sets > 100 || threads < 1 || seed < 0 ||
      (side != "rows" && side != "columns") || (rows != "all" && rows != "vb")) {
    fmt::print(
        stderr,
        "use: reproduce_gaussian_kl_tables [250|500|1000] [data sets, up to 100] [threads] [columns|rows] [seed] "
        "[all|vb]\n");
    return 1;
  }
  gaussmith::run(d, sets, threads, side == "rows" ? gaussmith::Side::rows : gaussmith::Side::columns,
                 static_cast<std::uint64_t>(seed), rows == "vb" ? gaussmith::Rows::local : gaussmith::Rows::all);
  return 0;
}
