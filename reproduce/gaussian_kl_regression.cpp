// Table 1 of E. Challis and D. Barber, Gaussian Kullback-Leibler approximate inference, JMLR 14 (2013): regression with
// Gaussian, Student-t and Laplace noise on Concrete Slump Test, Friedman, Neal and Boston. Prints our figures beside
// the published ones; docs/reproduce/gaussian_kl_regression.md discusses them.
//   reproduce_gaussian_kl_regression [--sets N] [--seed N] [--restarts N] [--start L] [--scale S] [--threads N]
//     [--only NAME] [--data FOLDER]
// Threads share out the partitions; the figures do not depend on their number.
#include "robust_data.hpp"
#include "robust_options.hpp"
#include "robust_protocol.hpp"
#include "robust_tables.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace reproduce;

/// A column of the table.
struct Column {
  std::string noise_name;
  std::string method_name;
  Noise noise;
  gs::Method method;
};

const std::vector<Column>& columns() {
  static const std::vector<Column> list = {{"gaussian", "exact", Noise::gaussian, gs::Exact{}},
                                           {"student-t", "kl", Noise::student_t, gs::Kl{}},
                                           {"laplace", "kl", Noise::laplace, gs::Kl{}},
                                           {"student-t", "laplace", Noise::student_t, gs::Laplace{}},
                                           {"laplace", "ep", Noise::laplace, gs::Ep{}}};
  return list;
}

/// One column on one partition.
struct Outcome {
  double log_evidence = NAN;
  double without_constants = NAN;  ///< The same without the normalising constants of the likelihood.
  double ep_evidence = NAN;        ///< What EP gives at the same parameters.
  double scale = NAN;
  double white_sd = NAN;
  double response_sd = 1.0;
  Score responses;  ///< Of the test responses.
  Score function;   ///< With the function without noise in their place; NaN if it is not known.
};

/// log p(y | y), the density of the noise at its peak.
double peak_log_density(Noise noise, double scale) {
  using std::numbers::pi;
  constexpr double nu = degrees_of_freedom;
  switch (noise) {
    case Noise::gaussian:
      return -0.5 * std::log(2.0 * pi * scale * scale);
    case Noise::student_t:
      return std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * pi * scale * scale);
    case Noise::laplace:
      break;
  }
  return -std::log(2.0 * scale);
}

double parameter(const gs::Model& model, std::string_view name) {
  for (const gs::Parameter& p : model.parameters())
    if (p.name.ends_with(name)) return p.value;
  return NAN;
}

Outcome judge(const gs::Posterior& posterior, const Split& split) {
  const gs::Prediction prediction = posterior.predict(split.test.x);
  Outcome outcome;
  outcome.log_evidence = posterior.log_evidence().value;
  outcome.response_sd = split.response_sd;
  outcome.responses = score(prediction, split.test.y);
  if (split.test.f.size() > 0) outcome.function = score(prediction, split.test.f);
  return outcome;
}

Outcome fit(const Column& column, const Split& split, const Protocol& protocol, Conduct& conduct) {
  const Chosen chosen = choose_scale(split, column.noise, column.method, protocol, conduct);
  Outcome outcome = judge(chosen.posterior, split);
  outcome.scale = chosen.scale;
  outcome.without_constants =
      outcome.log_evidence - static_cast<double>(split.train.y.size()) * peak_log_density(column.noise, chosen.scale);
  const gs::Posterior ep = gs::infer(chosen.posterior.model(), gs::Ep{}, {.threads = 1});
  if (ep.report().converged()) outcome.ep_evidence = ep.log_evidence().value;
  outcome.white_sd = parameter(chosen.posterior.model(), "kernel.terms[1].signal_sd");
  return outcome;
}

/// All columns on all partitions of one data set.
struct Study {
  std::string name;
  std::vector<std::vector<Outcome>> outcomes;  ///< By column, then by partition.
  std::vector<std::vector<Conduct>> conducts;
  std::vector<Outcome> gaussian_by_evidence;
};

Study run_study(const std::string& name, const Options& options) {
  const DataSet data = make_data_set(name, options.data);
  const auto sets = static_cast<std::size_t>(options.sets);
  Study study{.name = name,
              .outcomes = {columns().size(), std::vector<Outcome>(sets)},
              .conducts = {columns().size(), std::vector<Conduct>(sets)},
              .gaussian_by_evidence = std::vector<Outcome>(sets)};
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int set = next++; set < options.sets; set = next++) {
      const auto s = static_cast<std::size_t>(set);
      const Split split = draw_split(data, options.protocol.seed, set);
      for (std::size_t c = 0; c < columns().size(); ++c)
        study.outcomes[c][s] = fit(columns()[c], split, options.protocol, study.conducts[c][s]);
      Conduct unused;
      study.gaussian_by_evidence[s] = judge(learn(gaussian_by_evidence(split.train, options.protocol.start),
                                                  gs::Exact{}, Learn::everything, options.protocol, unused)
                                                .posterior,
                                            split);
      std::fprintf(stderr, "%s, partition %d done\n", name.c_str(), set);
    }
  };
  std::vector<std::jthread> workers;
  for (int t = 1; t < std::min(options.threads, options.sets); ++t) workers.emplace_back(work);
  work();
  workers.clear();
  return study;
}

// ---- Tables

const std::string& noise_title(const Column& column) {
  static const std::string gauss = "Gauss", student = "Student's t", laplace = "Laplace";
  return column.noise == Noise::gaussian ? gauss : column.noise == Noise::student_t ? student : laplace;
}

std::string title(const Column& column) {
  const std::string& m = column.method_name;
  return noise_title(column) + (m == "exact" ? " exact" : m == "kl" ? " G-KL" : m == "laplace" ? " Lap" : " G-EP");
}

void print_header(const std::string& first, const std::vector<std::string>& titles) {
  std::string line = "| " + first + " |", rule = "| --- |";
  for (const std::string& each : titles) {
    line += " " + each + " |";
    rule += " --- |";
  }
  std::printf("\n%s\n%s\n", line.c_str(), rule.c_str());
}

std::vector<std::string> column_titles() {
  std::vector<std::string> titles;
  for (const Column& column : columns()) {
    titles.push_back(title(column));
    titles.emplace_back("published");
  }
  return titles;
}

/// One row: ours and the published figure of every column.
template <class Field>
void print_row(const Study& study, const std::string& what, Field field, Figure Published::*there, int digits,
               int published_digits) {
  std::printf("| %s, %s |", study.name.c_str(), what.c_str());
  for (std::size_t c = 0; c < columns().size(); ++c) {
    const Published figures = published(study.name, columns()[c].noise_name, columns()[c].method_name);
    std::printf(" %s | %s |", print(average(study.outcomes[c], field), digits).c_str(),
                print(figures.*there, published_digits).c_str());
  }
  std::printf("\n");
}

void print_table(const std::vector<Study>& studies) {
  print_header("responses", column_titles());
  for (const Study& study : studies) {
    print_row(
        study, "LML", [](const Outcome& o) { return o.log_evidence; }, &Published::log_evidence, 1, 0);
    print_row(
        study, "MSE x 100", [](const Outcome& o) { return 100.0 * o.responses.squared_error; },
        &Published::squared_error, 2, 2);
    print_row(
        study, "TLP", [](const Outcome& o) { return o.responses.log_density; }, &Published::log_density, 2, 2);
  }
}

void print_noise_free(const std::vector<Study>& studies) {
  print_header("function without noise", column_titles());
  for (const Study& study : studies) {
    if (!std::isfinite(study.outcomes[0][0].function.squared_error)) continue;
    print_row(
        study, "MSE x 100", [](const Outcome& o) { return 100.0 * o.function.squared_error; },
        &Published::squared_error, 2, 2);
    print_row(
        study, "TLP", [](const Outcome& o) { return o.function.log_density; }, &Published::log_density, 2, 2);
  }
}

/// Other readings of LML and MSE.
void print_readings(const std::vector<Study>& studies) {
  print_header("other readings", column_titles());
  for (const Study& study : studies) {
    print_row(
        study, "LML without constants", [](const Outcome& o) { return o.without_constants; }, &Published::log_evidence,
        1, 0);
    print_row(
        study, "evidence by EP, same parameters", [](const Outcome& o) { return o.ep_evidence; },
        &Published::log_evidence, 1, 0);
    print_row(
        study, "MSE in the units of y",
        [](const Outcome& o) { return o.response_sd * o.response_sd * o.responses.squared_error; },
        &Published::squared_error, 3, 2);
  }
}

void print_gaussian(const std::vector<Study>& studies) {
  print_header("Gauss, all noise by evidence", {"LML", "MSE x 100", "TLP", "MSE x 100, no noise", "TLP, no noise"});
  for (const Study& study : studies) {
    const std::vector<Outcome>& all = study.gaussian_by_evidence;
    std::printf("| %s | %s | %s | %s | %s | %s |\n", study.name.c_str(),
                print(average(all, [](const Outcome& o) { return o.log_evidence; }), 1).c_str(),
                print(average(all, [](const Outcome& o) { return 100.0 * o.responses.squared_error; }), 2).c_str(),
                print(average(all, [](const Outcome& o) { return o.responses.log_density; }), 2).c_str(),
                print(average(all, [](const Outcome& o) { return 100.0 * o.function.squared_error; }), 2).c_str(),
                print(average(all, [](const Outcome& o) { return o.function.log_density; }), 2).c_str());
  }
}

void print_conduct(const std::vector<Study>& studies) {
  print_header("data", {"column", "fits", "evaluations", "failed", "learning not converged", "cold runs not converged",
                        "other answer than learning's", "scale", "white noise sd", "seconds learning"});
  for (const Study& study : studies) {
    for (std::size_t c = 0; c < columns().size(); ++c) {
      Conduct sum;
      for (const Conduct& each : study.conducts[c]) {
        sum.fits += each.fits;
        sum.evaluations += each.evaluations;
        sum.failed_evaluations += each.failed_evaluations;
        sum.learning_not_converged += each.learning_not_converged;
        sum.cold_not_converged += each.cold_not_converged;
        sum.another_answer += each.another_answer;
        sum.seconds += each.seconds;
        for (const auto& [trouble, count] : each.troubles) sum.troubles[trouble] += count;
      }
      std::printf("| %s | %s | %d | %d | %d | %d | %d | %d | %s | %s | %.1f |\n", study.name.c_str(),
                  title(columns()[c]).c_str(), sum.fits, sum.evaluations, sum.failed_evaluations,
                  sum.learning_not_converged, sum.cold_not_converged, sum.another_answer,
                  print(average(study.outcomes[c], [](const Outcome& o) { return o.scale; }), 2).c_str(),
                  print(average(study.outcomes[c], [](const Outcome& o) { return o.white_sd; }), 2).c_str(),
                  sum.seconds);
      for (const auto& [trouble, count] : sum.troubles)
        std::fprintf(stderr, "%s, %s, %d times: %s\n", study.name.c_str(), title(columns()[c]).c_str(), count,
                     trouble.c_str());
    }
  }
}

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> names = {"Concrete", "Friedman", "Neal", "Boston"};
  if (!options.only.empty()) names = {options.only};
  std::vector<Study> studies;
  for (const std::string& name : names) studies.push_back(run_study(name, options));
  print_table(studies);
  print_noise_free(studies);
  print_readings(studies);
  print_gaussian(studies);
  print_conduct(studies);
  std::printf("\n%.0f seconds in all\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options defaults;
    defaults.threads = 2;
    defaults.protocol.scales = {0.0125, 0.018, 0.025, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8};
    run(parse_options(argc, argv, defaults,
                      {"Concrete", "Friedman", "Neal", "Boston", "Concrete-slump", "Concrete-flow", "Concrete-7"}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gaussian_kl_regression: %s\n", error.what());
    return 1;
  }
}
