// Table 1 of E. Challis and D. Barber, Gaussian Kullback-Leibler approximate inference, JMLR 14 (2013): regression with
// Gaussian, Student-t and Laplace noise on Concrete Slump Test, Friedman, Neal and Boston. Prints our figures beside
// the published ones; docs/reproduce/gaussian_kl_regression.md discusses them.
//   reproduce_gaussian_kl_regression [--sets N] [--seed N] [--restarts N] [--start L] [--scale S] [--threads N]
//     [--only NAME] [--data FOLDER]
#include "kl_regression_study.hpp"
#include "robust_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace reproduce;

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

/// LML, MSE and TLP of a column as one may read them.
struct Reading {
  Figure log_evidence, squared_error, log_density;
};

/// With the function without noise where it is known.
Reading read(const std::vector<Outcome>& all, double Outcome::*evidence, double sign) {
  const bool known = std::isfinite(all[0].function.log_density);
  const Score Outcome::*scores = known ? &Outcome::function : &Outcome::responses;
  return {average(all, [&](const Outcome& o) { return sign * (o.*evidence); }),
          average(all, [&](const Outcome& o) { return 100.0 * (o.*scores).squared_error; }),
          average(all, [&](const Outcome& o) { return (o.*scores).log_density; })};
}

/// How far two figures lie apart, in standard errors of their difference.
double distance(const Figure& a, const Figure& b) {
  return std::abs(a.mean - b.mean) / std::hypot(a.standard_error, b.standard_error);
}

void print_scales(const std::vector<Study>& studies) {
  for (std::size_t c = 0; c < columns().size(); ++c) {
    print_header(title(columns()[c]) + ", scale", {"LML", "without constants", "MSE x 100", "TLP"});
    for (const Study& study : studies) {
      for (const std::vector<Outcome>& all : study.by_scale[c]) {
        const Reading ours = read(all, &Outcome::log_evidence, 1.0);
        std::printf("| %s, %g | %s | %s | %s | %s |\n", study.name.c_str(), all[0].scale,
                    print(ours.log_evidence, 1).c_str(),
                    print(read(all, &Outcome::without_constants, 1.0).log_evidence, 1).c_str(),
                    print(ours.squared_error, 2).c_str(), print(ours.log_density, 2).c_str());
      }
    }
  }
}

/// Whether one scale gives all three published figures: the scale whose largest distance from them is least.
void print_nearest(const std::vector<Study>& studies) {
  struct Kind {
    std::string title;
    double Outcome::*evidence;
    double sign;
  };
  print_header("data", {"column", "LML read as", "scale", "LML", "published", "MSE x 100", "published", "TLP",
                        "published", "largest distance"});
  for (const Study& study : studies) {
    for (std::size_t c = 0; c < columns().size(); ++c) {
      const Column& column = columns()[c];
      const Published there = published(study.name, column.noise_name, column.method_name);
      if (!std::isfinite(there.log_evidence.mean)) continue;
      std::vector<Kind> kinds = {{"as it stands", &Outcome::log_evidence, 1.0}};
      if (column.noise == Noise::gaussian) kinds.push_back({"sign reversed", &Outcome::log_evidence, -1.0});
      if (column.noise != Noise::gaussian) kinds.push_back({"without constants", &Outcome::without_constants, 1.0});
      for (const Kind& kind : kinds) {
        double nearest = INFINITY;
        Reading ours;
        double scale = NAN;
        for (const std::vector<Outcome>& all : study.by_scale[c]) {
          const Reading candidate = read(all, kind.evidence, kind.sign);
          const double farthest = std::max({distance(candidate.log_evidence, there.log_evidence),
                                            distance(candidate.squared_error, there.squared_error),
                                            distance(candidate.log_density, there.log_density)});
          if (farthest >= nearest) continue;
          nearest = farthest;
          ours = candidate;
          scale = all[0].scale;
        }
        std::printf("| %s | %s | %s | %g | %s | %s | %s | %s | %s | %s | %.1f |\n", study.name.c_str(),
                    title(column).c_str(), kind.title.c_str(), scale, print(ours.log_evidence, 1).c_str(),
                    print(there.log_evidence, 0).c_str(), print(ours.squared_error, 2).c_str(),
                    print(there.squared_error, 2).c_str(), print(ours.log_density, 2).c_str(),
                    print(there.log_density, 2).c_str(), nearest);
      }
    }
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
  std::vector<std::string> names = {"Concrete", "Friedman", "Neal", "Boston"};
  if (!options.only.empty()) names = {options.only};
  std::vector<Study> studies;
  for (const std::string& name : names) studies.push_back(run_study(name, options));
  print_table(studies);
  print_noise_free(studies);
  print_readings(studies);
  print_gaussian(studies);
  print_nearest(studies);
  print_scales(studies);
  print_conduct(studies);
}

}  // namespace

int main(int argc, char** argv) {
  Options defaults;
  defaults.threads = 2;
  defaults.protocol.scales = {0.0125, 0.018, 0.025, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8};
  return run_program("gaussian_kl_regression", argc, argv, defaults,
                     {{"Concrete", "Friedman", "Neal", "Boston", "Concrete-slump", "Concrete-flow", "Concrete-7"}},
                     run);
}
