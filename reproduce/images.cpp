// Two pictures of glm-ie (H. Nickisch, "glm-ie: generalised linear models inference and estimation toolbox", JMLR 13,
// 2012): one that is blurred and one of which a scanner measures some Fourier coefficients, under the model of Nickisch
// and Seeger (ICML 2009), p(u | y) ∝ N(y | X u, sigma^2 I) prod_i exp(-|s_i| / scale), s = B u; B are differences of
// neighbours and, where the sides allow it, wavelet coefficients. docs/reproduce/images.md discusses the result.
//   reproduce_images FOLDER [--only deblur|mri] [--size N] [--variances sampling:32] [--noise 0.005] [--scale 0.08]
//                    [--seed 1] [--threads 2] [--output .]
// FOLDER holds glmie_deblur/{image.pgm, psf.csv} and glmie_mri/{utrue.pgm, mask.csv.gz, y_mask.csv.gz}; `--size 0`
// takes whole pictures. Writes deblur.png and mri.png: the truth, what was seen, the mode, the mean of vb, and its
// standard deviations (white: the largest).

#include "pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace reproduce {
namespace {

struct Options {
  std::string folder, output = ".", only, variances = "sampling:32";
  gs::Index size = 64;
  double noise = 0.005;
  double scale = 0.08;
  std::uint64_t seed = 1;
  int threads = 2;
};

constexpr int levels = 3;  // Of wavelets.

struct Problem {
  std::string name;
  Picture truth;
  gs::OperatorHandle seen_through;
  gs::Vector seen;     ///< With noise.
  gs::Vector plainly;  ///< The picture that the data are without a model.
};

gs::Vector times(const gs::OperatorHandle& h, const gs::Vector& x) {
  gs::Matrix out(h->rows(), 1);
  h->apply(x, out);
  return out.col(0);
}

gs::Vector transposed_times(const gs::OperatorHandle& h, const gs::Vector& x) {
  gs::Matrix out(h->cols(), 1);
  h->apply_transposed(x, out);
  return out.col(0);
}

/// No larger than the picture.
gs::Grid part_of(const gs::Grid& grid, gs::Index size) {
  if (size == 0) return grid;
  return {.height = std::min(size, grid.height), .width = std::min(size, grid.width)};
}

void add_noise(Problem& problem, const Options& options) {
  gs::Random random(options.seed);
  problem.seen = times(problem.seen_through, problem.truth.pixels);
  for (double& value : problem.seen) value += options.noise * random.normal();
}

Problem deblurring(const Options& options) {
  const std::string folder = options.folder + "/glmie_deblur/";
  const Picture whole = read_picture(folder + "image.pgm");
  gs::Grid grid = part_of(whole.grid, options.size);
  constexpr gs::Index unit = gs::Index{1} << levels;  // The blur is made here, so that sides can suit wavelets.
  grid = {.height = grid.height / unit * unit, .width = grid.width / unit * unit};
  const std::vector<double> numbers = read_numbers(folder + "psf.csv");
  constexpr gs::Index side = 25;
  constexpr gs::Index dropped = 3;  // Rows of zeros that the toolbox drops.
  if (numbers.size() != side * side) throw std::runtime_error(folder + "psf.csv must have 25 x 25 numbers");
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  gs::Matrix kernel = Eigen::Map<const RowMajor>(numbers.data(), side, side).bottomRows(side - dropped);
  kernel /= kernel.sum();
  Problem problem{.name = "deblur",
                  .truth = middle(whole, grid),
                  .seen_through = gs::convolution(kernel, grid, gs::Boundary::circular),
                  .seen = {},
                  .plainly = {}};
  add_noise(problem, options);
  problem.plainly = problem.seen;
  return problem;
}

/// Place k of a line of frequencies with zero in the middle, in the order of the transform.
gs::Index unshifted(gs::Index k, gs::Index n) { return (k - n / 2 + n) % n; }

/// The mask at the size of the picture: of a smaller one the nearest frequencies.
gs::FrequencyMask frequencies(const std::vector<double>& mask, const gs::Grid& whole, const gs::Grid& grid) {
  gs::FrequencyMask chosen(grid.height, grid.width);
  for (gs::Index i = 0; i < grid.height; ++i)
    for (gs::Index j = 0; j < grid.width; ++j) {
      const gs::Index from = i * whole.height / grid.height * whole.width + j * whole.width / grid.width;
      chosen(unshifted(i, grid.height), unshifted(j, grid.width)) = mask[static_cast<std::size_t>(from)] != 0.0;
    }
  return chosen;
}

/// The largest difference of the measurements that come with the picture from ours, both without noise.
double difference_from_stored(const std::string& path, const gs::FrequencyMask& chosen, const gs::Vector& ours) {
  const std::vector<double> stored = read_numbers(path, 1);
  const gs::Index height = chosen.rows();
  const gs::Index width = chosen.cols();
  if (static_cast<gs::Index>(stored.size()) != 2 * height * width)
    throw std::runtime_error(path + " must have two numbers for every pixel");
  double largest = 0.0;
  gs::Index row = 0;
  for (gs::Index u = 0; u < height; ++u)
    for (gs::Index v = 0; v < width; ++v) {
      if (!chosen(u, v)) continue;
      const gs::Index at = (u + height / 2) % height + (v + width / 2) % width * height;
      for (gs::Index part = 0; part < 2; ++part)
        largest = std::max(
            largest, std::abs(stored[static_cast<std::size_t>(2 * at + part)] - ours(row + part * (ours.size() / 2))));
      ++row;
    }
  return largest;
}

Problem scanning(const Options& options) {
  const std::string folder = options.folder + "/glmie_mri/";
  const Picture whole = read_picture(folder + "utrue.pgm");
  const std::vector<double> mask = read_numbers(folder + "mask.csv.gz");
  if (static_cast<gs::Index>(mask.size()) != whole.grid.size())
    throw std::runtime_error(folder + "mask.csv.gz must have a number for every pixel");
  const gs::Grid grid = part_of(whole.grid, options.size);
  const gs::FrequencyMask chosen = frequencies(mask, whole.grid, grid);
  Problem problem{.name = "mri",
                  .truth = middle(whole, grid),
                  .seen_through = gs::subsampled_fourier(grid, chosen),
                  .seen = {},
                  .plainly = {}};
  if (grid.size() == whole.grid.size())
    fmt::print(
        "mri: stored measurements differ from ours by at most {:.1e}\n",
        difference_from_stored(folder + "y_mask.csv.gz", chosen, times(problem.seen_through, problem.truth.pixels)));
  add_noise(problem, options);
  problem.plainly = transposed_times(problem.seen_through, problem.seen);
  return problem;
}

/// Wavelet coefficients without those of the coarsest means, which are not sparse.
gs::OperatorHandle details(const gs::Grid& grid) {
  std::vector<Eigen::Triplet<double>> entries;
  for (gs::Index i = 0; i < grid.height; ++i)
    for (gs::Index j = 0; j < grid.width; ++j)
      if (i >= grid.height >> levels || j >= grid.width >> levels)
        entries.emplace_back(static_cast<int>(entries.size()), static_cast<int>(i * grid.width + j), 1.0);
  gs::SparseMatrix choice(static_cast<gs::Index>(entries.size()), grid.size());
  choice.setFromTriplets(entries.begin(), entries.end());
  return gs::composed(gs::from_matrix(choice), gs::wavelets(grid, levels));
}

gs::OperatorHandle sparse_features(const gs::Grid& grid) {
  const bool divisible = grid.height % (1 << levels) == 0 && grid.width % (1 << levels) == 0;
  if (!divisible) return gs::finite_differences(grid);
  return gs::stacked({gs::finite_differences(grid), details(grid)});
}

/// The mode, by reweighted least squares: |s| is taken as (s^2 + e^2)^(1/2) with e a hundredth of the scale.
/// Independent of the library but for its products.
gs::Vector mode(const Problem& problem, const gs::OperatorHandle& features, const Options& options) {
  constexpr int reweightings = 30;
  constexpr int most_steps = 500;
  const double blur = 0.01 * options.scale;
  const double precision = 1.0 / (options.noise * options.noise);
  const gs::Vector target = precision * transposed_times(problem.seen_through, problem.seen);
  gs::Vector u = problem.plainly;
  for (int round = 0; round < reweightings; ++round) {
    const gs::Vector s = times(features, u);
    const gs::Vector weight = (s.array().square() + blur * blur).sqrt().inverse() / options.scale;
    const auto product = [&](const gs::Vector& x) {
      const gs::Vector seen = times(problem.seen_through, x);
      const gs::Vector sparse = weight.cwiseProduct(times(features, x));
      return gs::Vector(precision * transposed_times(problem.seen_through, seen) + transposed_times(features, sparse));
    };
    gs::Vector residual = target - product(u);
    gs::Vector direction = residual;
    const double enough = 1e-14 * target.squaredNorm();
    double square = residual.squaredNorm();
    for (int step = 0; step < most_steps && square > enough; ++step) {
      const gs::Vector moved = product(direction);
      const double length = square / direction.dot(moved);
      u += length * direction;
      residual -= length * moved;
      const double next = residual.squaredNorm();
      direction = residual + (next / square) * direction;
      square = next;
    }
  }
  return u;
}

double correlation(const gs::Vector& a, const gs::Vector& b) {
  const gs::Vector x = a.array() - a.mean();
  const gs::Vector y = b.array() - b.mean();
  return x.dot(y) / (x.norm() * y.norm());
}

void solve(const Problem& problem, const Options& options) {
  const gs::Grid& grid = problem.truth.grid;
  const gs::OperatorHandle features = sparse_features(grid);
  const gs::Model model{
      .prior = gs::NoGaussian{grid.size()},
      .design = gs::stacked({problem.seen_through, features}),
      .offset = {},
      .sites = {gs::observe("gaussian", problem.seen, {{"variance", gs::one(options.noise * options.noise)}}),
                gs::observe("laplace", gs::Vector::Zero(features->rows()), {{"scale", gs::one(options.scale)}})}};
  const gs::Vector best = mode(problem, features, options);
  const auto start = std::chrono::steady_clock::now();
  const gs::Posterior q =
      gs::infer(model, gs::Vb{.variances = options.variances},
                {.threads = options.threads, .seed = options.seed, .form = gs::CoreForm::matrix_free});
  const gs::Marginals weights = q.weights();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const gs::Vector& truth = problem.truth.pixels;
  const gs::Vector sd = weights.variance.cwiseSqrt();
  const gs::Vector error = weights.mean - truth;
  const gs::Evidence& evidence = q.log_evidence();
  fmt::print("\n## {}, {} x {}, {} measurements, {} sparse features\n\n{}\n\n", problem.name, grid.height, grid.width,
             problem.seen.size(), features->rows(), q.report().brief());
  fmt::print("| picture | PSNR in dB |\n| --- | --- |\n| seen | {:.2f} |\n| mode | {:.2f} |\n| vb mean | {:.2f} |\n\n",
             signal_to_noise(problem.plainly, truth), signal_to_noise(best, truth),
             signal_to_noise(weights.mean, truth));
  fmt::print(
      "vb with {}: {:.1f} s; log evidence {:.0f} ± {:.1f}; errors of variances stated {:.2f} (rows), {:.2f} (pixels).\n"
      "Standard deviations {:.4f} to {:.4f}; their correlation with |error| is {:.2f}, error / sd has the "
      "root-mean-square {:.2f}.\n",
      options.variances, seconds, evidence.value, evidence.standard_error.value_or(0.0),
      q.report().latent_estimate_error, q.report().weights_estimate_error, sd.minCoeff(), sd.maxCoeff(),
      correlation(sd, error.cwiseAbs()),
      std::sqrt(error.cwiseQuotient(sd).squaredNorm() / static_cast<double>(error.size())));
  std::fflush(stdout);
  const auto picture = [&](const gs::Vector& pixels) { return Picture{grid, pixels}; };
  write_png(options.output + "/" + problem.name + ".png", {problem.truth, picture(problem.plainly), picture(best),
                                                           picture(weights.mean), picture(sd / sd.maxCoeff())});
}

Options parse_options(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("the folder of glmie_deblur and glmie_mri is wanted");
  Options options;
  options.folder = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " wants a value");
    const std::string value = argv[i + 1];
    if (name == "--only")
      options.only = value;
    else if (name == "--size")
      options.size = std::stol(value);
    else if (name == "--variances")
      options.variances = value;
    else if (name == "--noise")
      options.noise = std::stod(value);
    else if (name == "--scale")
      options.scale = std::stod(value);
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--threads")
      options.threads = std::stoi(value);
    else if (name == "--output")
      options.output = value;
    else
      throw std::invalid_argument("unknown option " + name +
                                  "; there are --only --size --variances --noise --scale --seed --threads --output");
  }
  if (!options.only.empty() && options.only != "deblur" && options.only != "mri")
    throw std::invalid_argument("--only takes deblur or mri, not " + options.only);
  if (options.size != 0 && options.size < 32) throw std::invalid_argument("--size wants 32 or more, or 0 for all");
  if (!(options.noise > 0.0) || !(options.scale > 0.0))
    throw std::invalid_argument("--noise and --scale want positive numbers");
  return options;
}

}  // namespace
}  // namespace reproduce

int main(int argc, char** argv) {
  try {
    const reproduce::Options options = reproduce::parse_options(argc, argv);
    if (options.only != "mri") reproduce::solve(reproduce::deblurring(options), options);
    if (options.only != "deblur") reproduce::solve(reproduce::scanning(options), options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reproduce_images: %s\n", error.what());
    return 1;
  }
}
