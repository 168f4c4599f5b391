// Sequential design of measurements of sparse signals and images: E. Challis and D. Barber, "Gaussian Kullback-Leibler
// approximate inference", JMLR 14 (2013), section 6.3, and lines of k-space in the manner of M. W. Seeger, H. Nickisch,
// R. Pohmann and B. Schoelkopf, "Optimization of k-space trajectories for compressed sensing by Bayesian experimental
// design" (2010). Prints Markdown tables of |estimate - truth| and of paired differences.
//
//   reproduce_measurements signals [--runs 25] [--source laplace|student-t] [--curves FILE] [--threads 2]
//   reproduce_measurements images FOLDER [--side 32] [--images 4 | cat,clock,...] [--from 25] [--to 175] [--refit 1]
//                                        [--variances lanczos:80] [--only vb,kl,kl refit 5,...] [--curves FILE]
//   reproduce_measurements lines FOLDER [--side 32] [--lines 16] [--repeats 5] [--refit 1]
//
// `signals` is the published size. Images of 64 x 64 with --to 700 are the published ones as far as the claims go, with
// --to 2048 to the end; lines of 64 x 64 the whole of the third. --curves gets every error as it comes.
// --only names columns of the table of `images`; --refit is for those that do not say theirs. Random rows are refitted
// where they are compared.

#include "measured_modes.hpp"
#include "pictures.hpp"

#include <fmt/format.h>
#include <gaussmith/gaussmith.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace reproduce {
namespace {

using Curve = std::map<gs::Index, double>;  // Errors by the number of measurements.
using Estimator = std::function<gs::Vector(const Measured&)>;

constexpr double noise_variance = 0.005;

struct Options {
  std::string what, folder, source, variances = "lanczos:80";
  int runs = 25, images = 4, threads = 2, lines = 16, repeats = 5;
  gs::Index side = 32, to = 175, first = 0, refit = 1;
  std::vector<std::string> only, names;
  std::string curves;  // A file for every error.
};

gs::Method method_named(const std::string& name) {
  const double tolerance = 1e-3;
  if (name == "vb") return gs::Vb{.tolerance = tolerance, .starts = 1};
  if (name == "ep") return gs::Ep{.power = 0.9, .tolerance = tolerance};
  return gs::Kl{.tolerance = tolerance, .starts = 1};
}

// --- Averages over runs

struct Mean {
  double value = 0.0, se = 0.0;
};

Mean mean_of(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double square = 0.0;
  for (const double v : x) square += (v - mean) * (v - mean);
  return {mean, n > 1.0 ? std::sqrt(square / (n - 1.0) / n) : 0.0};
}

/// Curves of every run under a name.
using Curves = std::map<std::string, std::vector<Curve>>;

void print_curves(const Curves& curves, const std::vector<std::string>& names, const std::vector<gs::Index>& at,
                  const char* unit) {
  fmt::print("| {} |", unit);
  for (const std::string& name : names) fmt::print(" {} |", name);
  fmt::print("\n|");
  for (std::size_t k = 0; k <= names.size(); ++k) fmt::print(" --- |");
  fmt::print("\n");
  for (const gs::Index n : at) {
    fmt::print("| {} |", n);
    for (const std::string& name : names) {
      std::vector<double> x;
      for (const Curve& run : curves.at(name)) x.push_back(run.at(n));
      const Mean mean = mean_of(x);
      fmt::print(" {:.3f} ± {:.3f} |", mean.value, mean.se);
    }
    fmt::print("\n");
  }
  fmt::print("\n");
}

/// Over the measurements that both have, or at the last of them.
void print_difference(const Curves& curves, const std::string& a, const std::string& b, bool at_the_end = false) {
  if (curves.count(a) == 0 || curves.count(b) == 0) return;
  std::vector<double> difference;
  for (std::size_t run = 0; run < curves.at(a).size(); ++run) {
    const Curve& other = curves.at(b)[run];
    std::vector<double> gaps;
    for (const auto& [measurements, error] : curves.at(a)[run])
      if (const auto same = other.find(measurements); same != other.end()) gaps.push_back(error - same->second);
    difference.push_back(at_the_end ? gaps.back() : mean_of(gaps).value);
  }
  const Mean mean = mean_of(difference);
  fmt::print("| {} − {} | {:+.4f} | {:.4f} |\n", a, b, mean.value, mean.se);
}

/// Every error as it comes, a line each: run, column, measurements, error.
class CurveLog {
 public:
  /// Nothing is written where the name is empty.
  explicit CurveLog(const std::string& file) {
    if (!file.empty()) out_.open(file);
    if (!out_) throw std::invalid_argument("--curves " + file + " cannot be written");
  }
  void add(const std::string& run, const std::string& column, const Curve& curve) {
    if (!out_.is_open()) return;
    for (const auto& [measurements, error] : curve)
      out_ << fmt::format("{},{},{},{}\n", run, column, measurements, error);
    out_ << std::flush;
  }

 private:
  std::ofstream out_;
};

// --- One run

struct Design {
  gs::Model model;
  gs::Vector truth;
  gs::Index initial = 0, steps = 0, per_step = 1;
  std::uint64_t seed = 0;
};

/// Errors of the method's mean, and where an estimator is given those of it on the same rows, after as many
/// measurements as `at` says.
struct RunResult {
  Curve own, other;
  gs::Index iterations = 0;
  gs::Index unconverged = 0;
};

RunResult run_design(const Design& design, const gs::Method& method, gs::DesignRule rule, gs::Index refit,
                     const std::vector<gs::Index>& at, int threads, const Estimator& estimator = {}) {
  RunResult out;
  gs::DesignSession session(design.model, method, {.noise_variance = noise_variance, .rule = rule, .refit = refit},
                            {.threads = threads, .seed = design.seed});
  gs::simulate_design(session, {design.truth, design.initial, design.steps, design.per_step}, design.seed,
                      [&](const gs::MeasurementState& state) {
                        const gs::Index n = state.measurements();
                        if (std::find(at.begin(), at.end(), n) == at.end()) return gs::Next::proceed;
                        out.own[n] = state.curve.back().error;
                        if (estimator) {
                          const Measured measured{state.rows.transpose(), state.values, noise_variance};
                          out.other[n] = (estimator(measured) - design.truth).norm();
                        }
                        return gs::Next::proceed;
                      });
  out.iterations = session.state().iterations;
  out.unconverged = session.state().unconverged;
  return out;
}

std::vector<gs::Index> every(gs::Index first, gs::Index last, gs::Index step) {
  std::vector<gs::Index> out;
  for (gs::Index n = first; n <= last; n += step) out.push_back(n);
  return out;
}

// --- Figure 8

constexpr gs::Index signal_size = 512;
constexpr double laplace_scale = 0.2;
constexpr double student_nu = 3.0;
constexpr double student_variance = 0.08 / 3.0;  // Both sources then have a variance of 0.08.

gs::Vector drawn_signal(bool heavy, std::uint64_t seed) {
  gs::Random random(1000 + seed);
  gs::Vector out(signal_size);
  for (double& x : out) {
    const double z = random.normal();
    if (heavy)
      x = z * std::sqrt(student_variance * 0.5 * student_nu / random.gamma(0.5 * student_nu));
    else
      x = std::copysign(laplace_scale * random.exponential(), z);
  }
  return out;
}

void signals(const Options& options) {
  const std::vector<gs::Index> at = every(40, 110, 10);
  CurveLog log(options.curves);
  for (const bool heavy : {false, true}) {
    if (!options.source.empty() && options.source != (heavy ? "student-t" : "laplace")) continue;
    const gs::Vector zero = gs::Vector::Zero(signal_size);
    const gs::Model model{
        .prior = gs::NoGaussian{signal_size},
        .design = gs::Identity{},
        .sites = {heavy ? gs::observe("student-t", zero,
                                      {{"nu", gs::one(student_nu)}, {"scale", gs::one(std::sqrt(student_variance))}})
                        : gs::observe("laplace", zero, {{"scale", gs::one(laplace_scale)}})}};
    const gs::Design identity = gs::Design(gs::Identity{}).sized(signal_size);
    const gs::Matrix gram = gs::Matrix::Identity(signal_size, signal_size);
    const Estimator mode = [&](const Measured& measured) {
      return heavy ? student_mode(measured, student_nu, std::sqrt(student_variance))
                   : laplace_mode(measured, identity, gram, gs::Vector::Constant(signal_size, laplace_scale));
    };
    std::vector<std::string> methods = {"vb", "kl"};
    if (!heavy) methods.emplace_back("ep");
    Curves curves;
    gs::Index unconverged = 0;
    for (int run = 0; run < options.runs; ++run) {
      const auto seed = static_cast<std::uint64_t>(run);
      const Design design{model, drawn_signal(heavy, seed), 40, 70, 1, seed};
      for (const std::string& name : methods) {
        const RunResult designed =
            run_design(design, method_named(name), gs::DesignRule::greedy, 1, at, options.threads);
        const RunResult random = run_design(design, method_named(name), gs::DesignRule::random, 1, at, options.threads,
                                            name == "vb" ? mode : Estimator());
        curves[name].push_back(designed.own);
        curves[name + " random"].push_back(random.own);
        if (name == "vb") curves["MAP random"].push_back(random.other);
        unconverged += designed.unconverged + random.unconverged;
        const std::string label = fmt::format("{} {}", heavy ? "student-t" : "laplace", run);
        log.add(label, name, designed.own);
        log.add(label, name + " random", random.own);
        log.add(label, "MAP random", random.other);
      }
    }
    fmt::print("{} sources, {} runs; {} fits did not converge\n\n", heavy ? "Student-t" : "Laplace", options.runs,
               unconverged);
    std::vector<std::string> names = methods;
    for (const std::string& name : methods) names.push_back(name + " random");
    names.emplace_back("MAP random");
    print_curves(curves, names, at, "rows");
    fmt::print("| mean over the curve | difference | standard error |\n| --- | --- | --- |\n");
    print_difference(curves, "kl", "vb");
    if (!heavy) print_difference(curves, "ep", "kl");
    for (const std::string& name : methods) {
      print_difference(curves, name, "MAP random");
      print_difference(curves, name, name + " random");
      print_difference(curves, name + " random", "MAP random");
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

// --- Figures 9 and 10

constexpr double difference_scale = 0.1;
constexpr double wavelet_scale = 0.14;

/// Levels of wavelets: down to 4 x 4.
int levels_of(gs::Index side) {
  int levels = 0;
  for (gs::Index n = side; n > 4; n /= 2) ++levels;
  return levels;
}

struct ImagePrior {
  gs::Design design;
  gs::Vector scale;
  gs::Matrix gram;  ///< B'B.
  gs::Model model;
};

ImagePrior image_prior(gs::Index side) {
  const gs::Grid grid{.height = side, .width = side};
  const gs::OperatorHandle differences = gs::finite_differences(grid);
  const gs::Index first = differences->rows();
  ImagePrior out;
  out.design = gs::stacked({differences, gs::wavelets(grid, levels_of(side))});
  out.scale = gs::Vector::Constant(first + grid.size(), wavelet_scale);
  out.scale.head(first).setConstant(difference_scale);
  out.gram = out.design.gram(gs::Vector::Ones(out.design.rows())).selfadjointView<Eigen::Lower>();
  out.model = {.prior = gs::NoGaussian{grid.size()},
               .design = out.design,
               .sites = {gs::observe("laplace", gs::Vector::Zero(out.scale.size()), {{"scale", out.scale}})}};
  return out;
}

/// Means of squares of pixels, from -1 to 1.
gs::Vector smaller(const Picture& picture, gs::Index side) {
  const gs::Index step = picture.grid.height / side;
  if (step < 1 || picture.grid.height != picture.grid.width || step * side != picture.grid.height)
    throw std::invalid_argument("--side wants a divisor of the pictures' own");
  gs::Vector out = gs::Vector::Zero(side * side);
  for (gs::Index i = 0; i < step * side; ++i)
    for (gs::Index j = 0; j < step * side; ++j)
      out((i / step) * side + j / step) +=
          picture.pixels(i * picture.grid.width + j) / static_cast<double>(step * step);
  return 2.0 * out.array() - 1.0;
}

/// A way to choose and to estimate.
struct ImageColumn {
  std::string name;
  gs::Method method;
  gs::DesignRule rule;
  gs::Index refit;
  bool with_mode;  ///< The mode on its rows is compared too.
};

/// Those of --only, or all.
std::vector<ImageColumn> image_columns(const Options& options, gs::Index spacing) {
  const auto eigen = gs::DesignRule::eigen;
  const auto random = gs::DesignRule::random;
  std::vector<ImageColumn> out = {{"vb", method_named("vb"), eigen, options.refit, false},
                                  {"kl", method_named("kl"), eigen, options.refit, false},
                                  {"kl greedy", method_named("kl"), gs::DesignRule::greedy, options.refit, false},
                                  {"kl refit 5", method_named("kl"), eigen, 5, false},
                                  {"vb random", method_named("vb"), random, spacing, false},
                                  {"kl random", method_named("kl"), random, spacing, true}};
  if (options.variances != "exact")
    out.push_back({"vb " + options.variances, gs::Vb{.variances = options.variances, .tolerance = 1e-3, .starts = 1},
                   eigen, options.refit, false});
  if (options.only.empty()) return out;
  for (const std::string& name : options.only)
    if (std::none_of(out.begin(), out.end(), [&](const ImageColumn& column) { return column.name == name; })) {
      std::string known;
      for (const ImageColumn& column : out) known += (known.empty() ? "" : ", ") + column.name;
      throw std::invalid_argument("--only " + name + " is not known; accepted: " + known);
    }
  std::erase_if(out, [&](const ImageColumn& column) {
    return std::find(options.only.begin(), options.only.end(), column.name) == options.only.end();
  });
  return out;
}

void images(const Options& options) {
  const std::vector<std::string> left_out = {"brick", "grass", "gravel", "tissue", "retina"};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder))
    if (entry.path().extension() == ".pgm" &&
        std::find(left_out.begin(), left_out.end(), entry.path().stem().string()) == left_out.end())
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  if (!options.names.empty())
    names = options.names;
  else
    names.resize(std::min(names.size(), static_cast<std::size_t>(options.images)));
  const ImagePrior prior = image_prior(options.side);
  // The published proportions: 100 of 4096.
  const gs::Index initial = options.first > 0 ? options.first : 100 * options.side * options.side / 4096;
  const gs::Index steps = (options.to - initial) / 3;
  if (steps < 1) throw std::invalid_argument("--to wants at least three rows beyond the first");
  const gs::Index spacing = std::max<gs::Index>(1, steps / 10);
  const std::vector<gs::Index> shown_at = every(initial, initial + 3 * steps, 3 * spacing);
  const std::vector<gs::Index> every_step = every(initial, initial + 3 * steps, 3);
  const Estimator mode = [&](const Measured& measured) {
    return laplace_mode(measured, prior.design, prior.gram, prior.scale);
  };
  const std::vector<ImageColumn> columns = image_columns(options, spacing);
  Curves curves;
  std::map<std::string, gs::Index> sweeps;
  std::map<std::string, gs::Index> unconverged;
  CurveLog log(options.curves);
  for (const std::string& name : names) {
    const Design design{
        prior.model, smaller(read_picture(options.folder + "/" + name + ".pgm"), options.side), initial, steps, 3, 0};
    for (const ImageColumn& column : columns) {
      const bool random = column.rule == gs::DesignRule::random;
      const RunResult found =
          run_design(design, column.method, column.rule, column.refit, random ? shown_at : every_step, options.threads,
                     column.with_mode ? mode : Estimator());
      curves[column.name].push_back(found.own);
      if (column.with_mode) curves["MAP random"].push_back(found.other);
      sweeps[column.name] += found.iterations;
      unconverged[column.name] += found.unconverged;
      log.add(name, column.name, found.own);
      log.add(name, "MAP random", found.other);
    }
    std::fprintf(stderr, "%s\n", name.c_str());
  }
  std::vector<std::string> shown;
  for (const ImageColumn& column : columns) shown.push_back(column.name);
  if (curves.count("MAP random") > 0) shown.emplace_back("MAP random");
  fmt::print("{} images of {} x {}, {} rows and 3 a step\n\n", names.size(), options.side, options.side, initial);
  print_curves(curves, shown, shown_at, "rows");
  for (const auto& [what, counts] : {std::pair{"factorisations", &sweeps}, {"unconverged fits", &unconverged}}) {
    fmt::print("{}:", what);
    for (const ImageColumn& column : columns) fmt::print(" {} {};", column.name, counts->at(column.name));
    fmt::print("\n");
  }
  for (const bool at_the_end : {false, true}) {
    fmt::print("\n| {} | difference | standard error |\n| --- | --- | --- |\n",
               at_the_end ? "at the end" : "mean over the curve");
    for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{{"kl", "vb"},
                                                                               {"kl greedy", "kl"},
                                                                               {"kl refit 5", "kl"},
                                                                               {"vb", "vb random"},
                                                                               {"kl", "kl random"},
                                                                               {"vb", "MAP random"},
                                                                               {"kl", "MAP random"},
                                                                               {"vb " + options.variances, "vb"}})
      print_difference(curves, a, b, at_the_end);
  }
}

// --- Lines of k-space

/// How far a line is from the middle.
gs::Index frequency(gs::Index line, gs::Index side) { return std::min(line, side - line); }

std::vector<gs::Index> by_frequency(gs::Index side) {
  std::vector<gs::Index> out(static_cast<std::size_t>(side));
  std::iota(out.begin(), out.end(), gs::Index{0});
  std::stable_sort(out.begin(), out.end(),
                   [&](gs::Index a, gs::Index b) { return frequency(a, side) < frequency(b, side); });
  return out;
}

/// Lines drawn one after the other with chances (1 + |u|)^-power; the middle one first.
std::vector<gs::Index> drawn_lines(gs::Index side, double power, std::uint64_t seed) {
  gs::Random random(seed);
  std::vector<gs::Index> left(static_cast<std::size_t>(side - 1));
  std::iota(left.begin(), left.end(), gs::Index{1});
  std::vector<gs::Index> out{0};
  while (!left.empty()) {
    std::vector<double> chance;
    for (const gs::Index u : left) chance.push_back(std::pow(1.0 + static_cast<double>(frequency(u, side)), -power));
    double place = random.uniform() * std::accumulate(chance.begin(), chance.end(), 0.0);
    std::size_t k = 0;
    while (k + 1 < left.size() && (place -= chance[k]) > 0.0) ++k;
    out.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return out;
}

/// The picture in the middle of a square, made smaller.
gs::Vector scanned(const std::string& folder, gs::Index side) {
  const Picture whole = read_picture(folder + "/utrue.pgm");
  const gs::Index full = std::max(whole.grid.height, whole.grid.width);
  Picture square{.grid = {.height = full, .width = full}, .pixels = gs::Vector::Zero(full * full)};
  for (gs::Index i = 0; i < whole.grid.height; ++i)
    square.pixels.segment((i + (full - whole.grid.height) / 2) * full + (full - whole.grid.width) / 2,
                          whole.grid.width) = whole.pixels.segment(i * whole.grid.width, whole.grid.width);
  return smaller(square, side);
}

void lines(const Options& options) {
  const gs::Index side = options.side;
  const gs::Grid grid{.height = side, .width = side};
  const ImagePrior prior = image_prior(side);
  const gs::Vector truth = scanned(options.folder, side);
  const gs::Design whole = gs::subsampled_fourier(grid, gs::FrequencyMask::Constant(side, side, true));
  const gs::Matrix rows = whole.with_entries().columns(0, grid.size());
  // Every order begins with the middle line; the others are the candidates.
  gs::FrequencyMask others = gs::FrequencyMask::Constant(side, side, true);
  others.row(0).setConstant(false);
  gs::CandidateRows candidates{gs::subsampled_fourier(grid, others)};
  candidates.groups.resize(static_cast<std::size_t>(side - 1));
  std::vector<std::vector<gs::Index>> rows_of(static_cast<std::size_t>(side));
  for (gs::Index u = 0; u < side; ++u)
    for (const gs::Index part : {gs::Index{0}, gs::Index{1}})
      for (gs::Index v = 0; v < side; ++v) {
        rows_of[static_cast<std::size_t>(u)].push_back(part * grid.size() + u * side + v);
        if (u > 0) candidates.groups[static_cast<std::size_t>(u - 1)].push_back((part * (side - 1) + u - 1) * side + v);
      }
  // Noise of a coefficient is its own whichever line order it comes in.
  gs::Random random(77);
  gs::Vector seen = rows * truth;
  for (double& y : seen) y += std::sqrt(noise_variance) * random.normal();
  const std::vector<gs::Index> at = every(2, options.lines, 2);
  const auto follow = [&](const std::vector<gs::Index>* order) {
    gs::DesignSession session(prior.model, method_named("vb"),
                              {.noise_variance = noise_variance, .candidates = candidates, .refit = options.refit},
                              {.threads = options.threads});
    Curve curve;
    std::string chosen;
    for (int step = 0; step < options.lines; ++step) {
      const gs::Index line = order != nullptr ? (*order)[static_cast<std::size_t>(step)]
                             : step == 0      ? gs::Index{0}
                                              : session.propose(1).chosen.front() + 1;
      const std::vector<gs::Index>& group = rows_of[static_cast<std::size_t>(line)];
      if (order != nullptr || step == 0)
        session.observe(rows(group, Eigen::all), seen(group));
      else
        session.observe(gs::Vector(seen(group)));
      chosen += fmt::format("{}{}", step > 0 ? " " : "", line <= side / 2 ? line : line - side);
      if (std::find(at.begin(), at.end(), step + 1) != at.end())
        curve[step + 1] = (session.belief().mean - truth).norm();
    }
    if (order == nullptr) fmt::print("Designed lines: {}\n\n", chosen);
    return curve;
  };
  Curves curves;
  curves["designed"].push_back(follow(nullptr));
  const std::vector<gs::Index> low = by_frequency(side);
  curves["low first"].push_back(follow(&low));
  for (int k = 0; k < options.repeats; ++k) {
    const std::vector<gs::Index> even = drawn_lines(side, 0.0, static_cast<std::uint64_t>(k));
    const std::vector<gs::Index> dense = drawn_lines(side, 2.0, static_cast<std::uint64_t>(k));
    curves["random"].push_back(follow(&even));
    curves["variable density"].push_back(follow(&dense));
  }
  fmt::print("{} x {}, up to {} of {} lines\n\n", side, side, options.lines, side);
  print_curves(curves, {"designed", "low first", "variable density", "random"}, at, "lines");
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

Options parse_options(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("signals, images or lines is wanted");
  Options options;
  options.what = argv[1];
  int next = 2;
  if (options.what == "images" || options.what == "lines") {
    if (argc < 3) throw std::invalid_argument("the folder of the pictures is wanted");
    options.folder = argv[2];
    next = 3;
  } else if (options.what != "signals") {
    throw std::invalid_argument("signals, images or lines is wanted, not " + options.what);
  }
  const std::map<std::string, std::function<void(const std::string&)>> known = {
      {"--runs", [&](const std::string& v) { options.runs = std::stoi(v); }},
      {"--source",
       [&](const std::string& v) {
         if (v != "laplace" && v != "student-t")
           throw std::invalid_argument("--source is laplace or student-t, not " + v);
         options.source = v;
       }},
      {"--images",
       [&](const std::string& v) {
         if (v.find_first_not_of("0123456789") == std::string::npos)
           options.images = std::stoi(v);
         else
           options.names = split_at_commas(v);
       }},
      {"--curves", [&](const std::string& v) { options.curves = v; }},
      {"--threads", [&](const std::string& v) { options.threads = std::stoi(v); }},
      {"--lines", [&](const std::string& v) { options.lines = std::stoi(v); }},
      {"--repeats", [&](const std::string& v) { options.repeats = std::stoi(v); }},
      {"--side", [&](const std::string& v) { options.side = std::stol(v); }},
      {"--from", [&](const std::string& v) { options.first = std::stol(v); }},
      {"--to", [&](const std::string& v) { options.to = std::stol(v); }},
      {"--refit", [&](const std::string& v) { options.refit = std::stol(v); }},
      {"--only", [&](const std::string& v) { options.only = split_at_commas(v); }},
      {"--variances", [&](const std::string& v) { options.variances = v; }}};
  for (; next < argc; next += 2) {
    const auto found = known.find(argv[next]);
    if (found == known.end() || next + 1 == argc)
      throw std::invalid_argument(std::string(argv[next]) + ": unknown, or without a value");
    found->second(argv[next + 1]);
  }
  return options;
}

}  // namespace
}  // namespace reproduce

int main(int argc, char** argv) {
  try {
    const reproduce::Options options = reproduce::parse_options(argc, argv);
    if (options.what == "signals") reproduce::signals(options);
    if (options.what == "images") reproduce::images(options);
    if (options.what == "lines") reproduce::lines(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reproduce_measurements: %s\n", error.what());
    return 1;
  }
}
