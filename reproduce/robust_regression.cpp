// Robust regression: Student-t noise under EP and Laplace beside Gaussian noise under exact inference, on Neal's curve,
// Friedman's function and Boston housing. The protocol and the published figures are those of E. Challis and D. Barber,
// Gaussian Kullback-Leibler approximate inference, JMLR 14 (2013), section 6.1; docs/reproduce/robust_regression.md
// discusses the result.
//   reproduce_robust_regression [--sets N] [--seed N] [--restarts N] [--start L] [--scale S] [--threads N]
//     [--only NAME] [--data FOLDER]
#include <gaussmith/gaussmith.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gs = gaussmith;

namespace {

struct Options {
  int sets = 10;
  std::uint64_t seed = 1;
  int restarts = 1;
  double start = 0.0;  ///< First length-scale, in standard deviations of the input; 0 takes √(number of inputs).
  /// Candidates for the scale of the noise, in standard deviations of the training responses.
  std::vector<double> scales = {0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4};
  int threads = 1;
  std::string only = {};
  std::filesystem::path data = "data";
};

constexpr gs::Index training_rows = 100;
constexpr gs::Index validation_rows = 100;
constexpr gs::Index synthetic_test_rows = 100;
constexpr double degrees_of_freedom = 3.0;

/// Inputs, responses and, where it is known, the function without noise.
struct Part {
  gs::Matrix x;
  gs::Vector y;
  gs::Vector f = {};
};

struct Split {
  Part train, validation, test;
};

// ---- Data

/// x ~ N(0, 1), f = 0.3 + 0.4 x + 0.5 sin(2.7 x) + 1.1 / (1 + x^2); noise of sd 0.1, of sd 1 with probability 0.05.
Part neal_part(gs::Index rows, gs::Random& random) {
  Part part{.x = gs::Matrix(rows, 1), .y = gs::Vector(rows), .f = gs::Vector(rows)};
  for (gs::Index n = 0; n < rows; ++n) {
    const double x = random.normal();
    part.x(n, 0) = x;
    part.f(n) = 0.3 + 0.4 * x + 0.5 * std::sin(2.7 * x) + 1.1 / (1.0 + x * x);
    const double noise_sd = random.uniform() < 0.05 ? 1.0 : 0.1;
    part.y(n) = part.f(n) + noise_sd * random.normal();
  }
  return part;
}

/// Ten uniform inputs of which five matter, unit noise.
Part friedman_part(gs::Index rows, gs::Random& random) {
  constexpr gs::Index columns = 10;
  Part part{.x = gs::Matrix(rows, columns), .y = gs::Vector(rows), .f = gs::Vector(rows)};
  for (gs::Index n = 0; n < rows; ++n) {
    for (gs::Index d = 0; d < columns; ++d) part.x(n, d) = random.uniform();
    const auto x = part.x.row(n);
    part.f(n) =
        10.0 * std::sin(std::numbers::pi * x(0) * x(1)) + 20.0 * (x(2) - 0.5) * (x(2) - 0.5) + 10.0 * x(3) + 5.0 * x(4);
    part.y(n) = part.f(n) + random.normal();
  }
  return part;
}

/// A random order of 0 .. count - 1 (Fisher-Yates).
std::vector<gs::Index> shuffled(gs::Index count, gs::Random& random) {
  std::vector<gs::Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), gs::Index{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  return order;
}

Split neal(gs::Random& random) {
  Split split;
  split.train = neal_part(training_rows, random);
  split.validation = neal_part(validation_rows, random);
  split.test = neal_part(synthetic_test_rows, random);
  return split;
}

/// Ten training responses are replaced by draws from N(15, 9); validation and test rows are clean.
Split friedman(gs::Random& random) {
  Split split;
  split.train = friedman_part(training_rows, random);
  split.validation = friedman_part(validation_rows, random);
  split.test = friedman_part(synthetic_test_rows, random);
  const std::vector<gs::Index> order = shuffled(training_rows, random);
  for (std::size_t n = 0; n < 10; ++n) split.train.y(order[n]) = 15.0 + 3.0 * random.normal();
  return split;
}

/// 100 rows to train, 100 to validate, the other 306 to test.
Split boston(const gs::Table& table, gs::Random& random) {
  gs::FeatureOptions features;
  features.reserved = {"medv"};
  const gs::Matrix x = gs::make_feature_coding(table, features).encode_dense(table);
  const gs::Vector y = table.column("medv").numbers;
  const std::vector<gs::Index> order = shuffled(x.rows(), random);
  const auto cut = [&](gs::Index from, gs::Index to) {
    const std::vector<gs::Index> rows(order.begin() + from, order.begin() + to);
    return Part{.x = x(rows, Eigen::all), .y = y(rows)};
  };
  Split split;
  split.train = cut(0, training_rows);
  split.validation = cut(training_rows, training_rows + validation_rows);
  split.test = cut(training_rows + validation_rows, x.rows());
  return split;
}

double population_sd(const gs::Vector& v) { return std::sqrt((v.array() - v.mean()).square().mean()); }

/// All parts in units of the training part: mean 0 and standard deviation 1 there, inputs and responses.
void normalise(Split& split) {
  const gs::Index columns = split.train.x.cols();
  for (gs::Index d = 0; d <= columns; ++d) {
    const gs::Vector reference = d < columns ? gs::Vector(split.train.x.col(d)) : split.train.y;
    const double mean = reference.mean();
    const double sd = std::max(population_sd(reference), 1e-12);
    for (Part* part : {&split.train, &split.validation, &split.test}) {
      if (d < columns) {
        part->x.col(d) = ((part->x.col(d).array() - mean) / sd).matrix();
      } else {
        part->y = ((part->y.array() - mean) / sd).matrix();
        part->f = ((part->f.array() - mean) / sd).matrix();
      }
    }
  }
}

// ---- Fitting

/// How well test values are predicted.
struct Score {
  double log_density = NAN;    ///< Mean log predictive density.
  double squared_error = NAN;  ///< Mean.
};

/// What one method did on one set.
struct Outcome {
  double log_evidence = 0.0;
  Score responses;  ///< Of the test responses as they are.
  Score function;   ///< With the function without noise in their place; NaN if that is not known.
  Score rival;      ///< Of the test responses, by the other Student-t method at this method's parameters.
  double scale = 0.0;
};

/// How inference and learning fared over all fits of a method.
struct Conduct {
  int fits = 0;
  int evaluations = 0;
  int failed_evaluations = 0;
  int learning_not_converged = 0;
  int cold_not_converged = 0;
  int escalated = 0;       ///< Cold starts that needed more than parallel sweeps.
  int lowered_power = 0;   ///< Cold starts that ended with a lower power.
  int another_answer = 0;  ///< Cold starts whose log evidence differs by more than 1e-4 from that of learning.
  int negative = 0;        ///< Fits with negative site precisions.
  std::vector<int> sweeps;
  double seconds = 0.0;
  std::map<std::string, int> last_notes;  ///< The last switch of a cold start that was more than parallel.
  std::map<std::string, int> troubles;    ///< What learning or a cold start said that did not converge.
};

gs::KernelHandle squared_exponential(const Part& train, double start) {
  const auto columns = static_cast<std::size_t>(train.x.cols());
  const double lengthscale = start > 0.0 ? start : std::sqrt(static_cast<double>(columns));
  return gs::make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", std::vector<double>(columns, lengthscale)}});
}

/// A length-scale for every input, plus white noise in the latent function.
gs::Model student_model(const Part& train, double scale, double start) {
  const auto kernel = gs::sum({squared_exponential(train, start), gs::make_kernel("white", {{"signal_sd", {0.1}}})});
  return {
      .prior = gs::GaussianProcess{.inputs = train.x, .kernel = kernel},
      .sites = {gs::observe("student-t", train.y, {{"nu", gs::one(degrees_of_freedom)}, {"scale", gs::one(scale)}})}};
}

/// The same process without the white noise, which Gaussian observation noise would only double.
gs::Model gaussian_model(const Part& train, double start) {
  return {.prior = gs::GaussianProcess{.inputs = train.x, .kernel = squared_exponential(train, start)},
          .sites = {gs::observe("gaussian", train.y, {{"variance", gs::one(0.1)}})}};
}

void keep_conduct(const gs::Learned& learned, const gs::Report& cold, double cold_evidence, Conduct& conduct) {
  ++conduct.fits;
  conduct.evaluations += learned.report.evaluations;
  conduct.failed_evaluations += learned.report.failed_evaluations;
  if (learned.report.status != gs::Status::converged) {
    ++conduct.learning_not_converged;
    ++conduct.troubles["learning " + std::string(gs::to_string(learned.report.status))];
  }
  if (!cold.converged()) {
    ++conduct.cold_not_converged;
    ++conduct.troubles["cold run " + std::string(gs::to_string(cold.status)) + ", " + cold.message];
  }
  if (!cold.notes.empty()) {
    ++conduct.escalated;
    const std::string& note = cold.notes.back();
    const std::size_t from = note.find(": ");
    const std::size_t to = note.find(" (mismatch");
    ++conduct.last_notes[from == std::string::npos ? note : note.substr(from + 2, to - from - 2)];
  }
  for (const std::string& warning : cold.warnings)
    if (warning.find("power was lowered") != std::string::npos) ++conduct.lowered_power;
  if (std::abs(cold_evidence - learned.posterior.log_evidence().value) > 1e-4) ++conduct.another_answer;
  if (cold.negative_precisions > 0) ++conduct.negative;
  conduct.sweeps.push_back(cold.iterations);
}

gs::Learned learn(const gs::Model& model, const gs::Method& method, const Options& options, Conduct& conduct) {
  gs::LearnOptions learning;
  for (const gs::Parameter& parameter : model.parameters())
    if (parameter.name == "sites[0].nu" || parameter.name == "sites[0].scale") learning.fixed.insert(parameter.name);
  learning.default_bounds = {.lower = 1e-3, .upper = 1e3};
  learning.restarts = options.restarts;
  learning.tolerance = 1e-3;
  const gs::Run run{.threads = options.threads, .seed = options.seed};
  const auto start = std::chrono::steady_clock::now();
  gs::Learned learned = gs::learn(model, method, learning, run);
  conduct.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const gs::Posterior cold = gs::infer(learned.posterior.model(), method, run);
  keep_conduct(learned, cold.report(), cold.log_evidence().value, conduct);
  return learned;
}

double mean_log_density(const gs::Posterior& posterior, const Part& part) {
  return posterior.predict(part.x).log_density(part.y).mean();
}

Outcome judge(const gs::Posterior& posterior, const Part& test, double scale) {
  const gs::Prediction prediction = posterior.predict(test.x);
  const auto score = [&](const gs::Vector& y) {
    return Score{prediction.log_density(y).mean(), (prediction.latent_mean() - y).cwiseAbs2().mean()};
  };
  return {.log_evidence = posterior.log_evidence().value,
          .responses = score(test.y),
          .function = test.f.size() > 0 ? score(test.f) : Score{},
          .rival = {},
          .scale = scale};
}

/// The covariance is learned by evidence at every candidate scale; the validation part chooses among them.
Outcome fit_student(const Split& split, const gs::Method& method, const gs::Method& rival, const Options& options,
                    Conduct& conduct) {
  double best = -INFINITY;
  Outcome outcome;
  for (const double scale : options.scales) {
    const gs::Learned learned = learn(student_model(split.train, scale, options.start), method, options, conduct);
    const double score = mean_log_density(learned.posterior, split.validation);
    if (score > best) {
      best = score;
      outcome = judge(learned.posterior, split.test, scale);
      const gs::Run run{.threads = options.threads};
      outcome.rival = judge(gs::infer(learned.posterior.model(), rival, run), split.test, scale).responses;
    }
  }
  return outcome;
}

Outcome fit_gaussian(const Split& split, const gs::Method& method, const Options& options, Conduct& conduct) {
  const gs::Learned learned = learn(gaussian_model(split.train, options.start), method, options, conduct);
  return judge(learned.posterior, split.test, NAN);
}

// ---- Tables

struct Figure {
  double mean = NAN;
  double standard_error = NAN;
};

Figure average(const std::vector<double>& values) {
  const gs::Vector v = Eigen::Map<const gs::Vector>(values.data(), static_cast<gs::Index>(values.size()));
  const auto n = static_cast<double>(v.size());
  return {v.mean(), n > 1 ? std::sqrt((v.array() - v.mean()).square().sum() / (n - 1.0) / n) : NAN};
}

template <class Field>
Figure average(const std::vector<Outcome>& outcomes, Field field) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(field(outcome));
  return average(values);
}

std::string print(const Figure& figure, int digits) {
  if (!std::isfinite(figure.mean)) return "–";
  char text[64];
  if (std::isfinite(figure.standard_error)) {
    std::snprintf(text, sizeof text, "%.*f ± %.*f", digits, figure.mean, digits, figure.standard_error);
  } else {
    std::snprintf(text, sizeof text, "%.*f", digits, figure.mean);
  }
  return text;
}

/// Table 1 of Challis and Barber (2013): log density (TLP), squared error (MSE) and log evidence (LML).
struct Published {
  Figure log_density, squared_error, log_evidence;
};

using PublishedTable = std::map<std::pair<std::string_view, std::string_view>, Published>;

const PublishedTable& published() {
  static const PublishedTable table = {
      {{"Neal", "laplace"}, {{0.67, 0.08}, {0.9, 0.5}, {-21, 15}}},
      {{"Neal", "exact"}, {{0.22, 0.12}, {1.7, 0.6}, {39, 10}}},
      {{"Friedman", "laplace"}, {{-0.65, 0.06}, {13, 1}, {-97, 4}}},
      {{"Friedman", "exact"}, {{-0.26, 0.09}, {10, 3}, {70, 6}}},
      {{"Boston", "laplace"}, {{-0.44, 0.03}, {23, 2}, {-53, 3}}},
      {{"Boston", "exact"}, {{-0.74, 0.07}, {26, 1}, {51, 3}}},
  };
  return table;
}

struct Study {
  std::string name;
  std::string_view method;
  std::vector<Outcome> outcomes;
  Conduct conduct;
};

void print_row(const Study& study, const std::string& targets, Score Outcome::*score) {
  const auto found = published().find({study.name, study.method});
  const Published there = found == published().end() ? Published{} : found->second;
  const auto density = [&](const Outcome& outcome) { return (outcome.*score).log_density; };
  const auto error = [&](const Outcome& outcome) { return 100.0 * (outcome.*score).squared_error; };
  const auto evidence = [](const Outcome& outcome) { return outcome.log_evidence; };
  const auto scale = [](const Outcome& outcome) { return outcome.scale; };
  std::printf("| %s, %s | %s, %s | %s | %s | %s | %s | %s | %s | %s |\n", study.name.c_str(), targets.c_str(),
              study.method == "exact" ? "Gaussian" : "Student-t", std::string(study.method).c_str(),
              print(average(study.outcomes, density), 3).c_str(), print(there.log_density, 2).c_str(),
              print(average(study.outcomes, error), 2).c_str(), print(there.squared_error, 1).c_str(),
              print(average(study.outcomes, evidence), 1).c_str(), print(there.log_evidence, 0).c_str(),
              print(average(study.outcomes, scale), 2).c_str());
}

void print_results(const std::vector<Study>& studies) {
  std::printf(
      "| data, test values | noise, method | MLPD | published | MSE x 100 | published | log evidence | published | "
      "scale |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Study& study : studies) print_row(study, "responses", &Outcome::responses);
  for (const Study& study : studies)
    if (study.name != "Boston") print_row(study, "noise-free", &Outcome::function);
}

/// EP minus Laplace on the same sets: what the sets themselves differ in drops out.
template <class EpScore, class LaplaceScore>
void print_pair(const Study& ep, const Study& laplace, const std::string& what, EpScore of_ep,
                LaplaceScore of_laplace) {
  std::vector<double> density, error;
  for (std::size_t s = 0; s < ep.outcomes.size(); ++s) {
    const Score a = of_ep(ep.outcomes[s], laplace.outcomes[s]);
    const Score b = of_laplace(ep.outcomes[s], laplace.outcomes[s]);
    density.push_back(a.log_density - b.log_density);
    error.push_back(100.0 * (a.squared_error - b.squared_error));
  }
  const auto denser = std::count_if(density.begin(), density.end(), [](double d) { return d > 0.0; });
  const auto closer = std::count_if(error.begin(), error.end(), [](double d) { return d < 0.0; });
  std::printf("| %s, %s | %s | %d of %zu | %s | %d of %zu |\n", ep.name.c_str(), what.c_str(),
              print(average(density), 3).c_str(), static_cast<int>(denser), density.size(),
              print(average(error), 2).c_str(), static_cast<int>(closer), error.size());
}

void print_pairs(const std::vector<Study>& studies) {
  std::printf(
      "\n| data, test values | MLPD, EP − Laplace | sets with higher MLPD | MSE x 100, EP − Laplace | sets with lower "
      "MSE |\n| --- | --- | --- | --- | --- |\n");
  const auto ep_own = [](const Outcome& ep, const Outcome&) { return ep.responses; };
  const auto ep_function = [](const Outcome& ep, const Outcome&) { return ep.function; };
  const auto ep_at_laplace = [](const Outcome&, const Outcome& laplace) { return laplace.rival; };
  const auto laplace_own = [](const Outcome&, const Outcome& laplace) { return laplace.responses; };
  const auto laplace_function = [](const Outcome&, const Outcome& laplace) { return laplace.function; };
  const auto laplace_at_ep = [](const Outcome& ep, const Outcome&) { return ep.rival; };
  for (const Study& ep : studies) {
    if (ep.method != "ep") continue;
    const auto laplace = std::find_if(studies.begin(), studies.end(), [&](const Study& other) {
      return other.name == ep.name && other.method == "laplace";
    });
    print_pair(ep, *laplace, "responses", ep_own, laplace_own);
    print_pair(ep, *laplace, "responses, both at EP's parameters", ep_own, laplace_at_ep);
    print_pair(ep, *laplace, "responses, both at Laplace's parameters", ep_at_laplace, laplace_own);
    if (ep.name != "Boston") print_pair(ep, *laplace, "noise-free", ep_function, laplace_function);
  }
}

void print_conduct(const std::vector<Study>& studies) {
  std::printf(
      "\n| data | method | fits | evaluations | failed | learning not converged | cold runs not converged | sweeps or "
      "steps: median, 90 %%, most | more than parallel sweeps | lower power | other answer than learning's | fits with "
      "negative precisions | seconds learning |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Study& study : studies) {
    const Conduct& c = study.conduct;
    std::vector<int> sweeps = c.sweeps;
    std::sort(sweeps.begin(), sweeps.end());
    const std::size_t last = sweeps.size() - 1;
    std::printf("| %s | %s | %d | %d | %d | %d | %d | %d, %d, %d | %d | %d | %d | %d | %.1f |\n", study.name.c_str(),
                std::string(study.method).c_str(), c.fits, c.evaluations, c.failed_evaluations,
                c.learning_not_converged, c.cold_not_converged, sweeps[last / 2], sweeps[last * 9 / 10], sweeps[last],
                c.escalated, c.lowered_power, c.another_answer, c.negative, c.seconds);
  }
  for (const Study& study : studies) {
    for (const auto& [note, count] : study.conduct.last_notes)
      std::printf("\n- %s, %s, last switch of %d cold runs: %s", study.name.c_str(), std::string(study.method).c_str(),
                  count, note.c_str());
    for (const auto& [trouble, count] : study.conduct.troubles)
      std::printf("\n- %s, %s, %d times: %s", study.name.c_str(), std::string(study.method).c_str(), count,
                  trouble.c_str());
  }
  std::printf("\n");
}

// ---- The study

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::pair<std::string_view, gs::Method>> methods = {
      {"ep", gs::Ep{}}, {"laplace", gs::Laplace{}}, {"exact", gs::Exact{}}};
  gs::Table table;
  if (options.only.empty() || options.only == "Boston") table = gs::read_table(options.data / "boston_housing.csv");
  std::vector<Study> studies;
  for (const std::string name : {"Neal", "Friedman", "Boston"}) {
    if (!options.only.empty() && options.only != name) continue;
    const std::size_t first = studies.size();
    for (const auto& [method, unused] : methods)
      studies.push_back({.name = name, .method = method, .outcomes = {}, .conduct = {}});
    for (int set = 0; set < options.sets; ++set) {
      // One seed a set, so that more sets leave the earlier ones as they are.
      gs::Random random(1000 * options.seed + static_cast<std::uint64_t>(set));
      Split split = name == "Neal" ? neal(random) : name == "Friedman" ? friedman(random) : boston(table, random);
      normalise(split);
      for (std::size_t m = 0; m < methods.size(); ++m) {
        Study& study = studies[first + m];
        const auto& method = methods[m].second;
        const gs::Method rival = study.method == "ep" ? gs::Method(gs::Laplace{}) : gs::Method(gs::Ep{});
        study.outcomes.push_back(study.method == "exact" ? fit_gaussian(split, method, options, study.conduct)
                                                         : fit_student(split, method, rival, options, study.conduct));
        const Outcome& o = study.outcomes.back();
        std::fprintf(stderr, "%-8s set %2d %-8s log density %7.3f, squared error %6.4f, scale %.2f, %6.1f s so far\n",
                     name.c_str(), set, std::string(study.method).c_str(), o.responses.log_density,
                     o.responses.squared_error, o.scale, study.conduct.seconds);
      }
    }
  }
  print_results(studies);
  print_pairs(studies);
  print_conduct(studies);
  std::printf("\n%.0f seconds in all\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " wants a value");
    const std::string value = argv[i + 1];
    if (name == "--sets") {
      options.sets = std::max(1, std::stoi(value));
    } else if (name == "--seed") {
      options.seed = std::stoull(value);
    } else if (name == "--restarts") {
      options.restarts = std::stoi(value);
    } else if (name == "--start") {
      options.start = std::stod(value);
    } else if (name == "--scale") {
      options.scales = {std::stod(value)};
    } else if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--data") {
      options.data = value;
    } else {
      throw std::invalid_argument("unknown option " + name +
                                  "; there are --sets --seed --restarts --start --scale --threads --only --data");
    }
  }
  if (!options.only.empty() && options.only != "Neal" && options.only != "Friedman" && options.only != "Boston")
    throw std::invalid_argument("--only takes Neal, Friedman or Boston");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "robust_regression: %s\n", error.what());
    return 1;
  }
}
