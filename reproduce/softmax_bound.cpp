// The bound of kl for softmax processes beside sampling and the mean field of the multinomial probit: Table 3 and
// Figures 1 to 4 of K. M. A. Chai, Variational multinomial logit Gaussian process, JMLR 13 (2012).
// docs/reproduce/softmax_bound.md discusses the result.
//   reproduce_softmax_bound --data FOLDER [--results FILE] [--sets N] [--seed N] [--only NAME] [--part PART]
//     [--draws N]
#include "command_line.hpp"
#include "softmax_bound_study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace {

using namespace reproduce;

const std::vector<std::string> parts = {"table3", "variance", "models"};
const std::vector<std::string> data_sets = {"iris", "thyroid", "wine", "glass"};

struct Settings {
  int sets = 50;
  std::uint64_t seed = 1;
  int draws = 10000;
};

std::vector<double> variances() {
  std::vector<double> steps;
  for (int i = 0; i <= 10; ++i) steps.push_back(std::exp(0.5 * i));
  return steps;
}

std::string variance_study(const std::string& name, std::size_t step) {
  return name + "/variance" + std::to_string(step);
}

void run_table3(const Trial& trial, Ledger& ledger) {
  const std::string& name = trial.data.name;
  const gs::Index inputs = trial.data.rows.x.cols();
  once(ledger, name + "/mean-field", trial.set, [&] { return mean_field(trial); });
  const gs::Vector mean_field_scales = lengthscales(ledger, name + "/mean-field", trial.set, inputs);
  once(ledger, name + "/probit", trial.set, [&] { return sampled_probit(trial, mean_field_scales); });
  once(ledger, name + "/bound-mf", trial.set, [&] { return softmax_bound(trial, mean_field_scales); });
  once(ledger, name + "/learned", trial.set, [&] { return learned_lengthscales(trial, mean_field_scales); });
  once(ledger, name + "/bound", trial.set,
       [&] { return softmax_bound(trial, lengthscales(ledger, name + "/learned", trial.set, inputs)); });
}

void run_variance(const Trial& trial, Ledger& ledger) {
  const std::string& name = trial.data.name;
  once(ledger, name + "/mean-field", trial.set, [&] { return mean_field(trial); });
  const gs::Vector scales = lengthscales(ledger, name + "/mean-field", trial.set, trial.data.rows.x.cols());
  for (std::size_t step = 0; step < variances().size(); ++step)
    once(ledger, variance_study(name, step), trial.set,
         [&] { return bounds_at_variance(trial, scales, variances()[step]); });
}

void run_models(const Trial& trial, Ledger& ledger) {
  const std::string& name = trial.data.name;
  once(ledger, name + "/M1", trial.set, [&] { return independent_functions(trial); });
  const double signal_sd = ledger.value(name + "/M1", trial.set, "signal_sd");
  const double lengthscale = ledger.value(name + "/M1", trial.set, "lengthscale");
  for (const ClassCovariance& candidate : class_covariances()) {
    if (candidate.model == gs::LatentModel::identity) continue;
    once(ledger, name + "/" + candidate.name, trial.set, [&] {
      const gs::Matrix start = candidate.model == gs::LatentModel::full
                                   ? class_covariance(ledger, name + "/M4", trial.set, trial.data.classes)
                                   : gs::Matrix();
      return related_functions(trial, candidate.model, signal_sd, lengthscale, start);
    });
  }
}

// ---- Tables

/// A cell of Table 3 as printed.
struct Printed {
  double mean, sd;
};

struct Row {
  const char* what;
  const char* study;  ///< After the name of the data.
  const char* figure;
  std::array<Printed, 4> printed;  ///< iris, thyroid, wine, glass; NaN for none.
};

constexpr Printed none{NAN, NAN};

const std::vector<Row>& rows_of_table3() {
  static const std::vector<Row> rows = {
      {"MF-MNP, log Z as vbmp reports it",
       "mean-field",
       "reported",
       {{{-187.32, 1.71}, {-270.63, 3.60}, {-222.63, 1.91}, {-827.58, 6.46}}}},
      {"MF-MNP, log Z of the same mean field", "mean-field", "bound", {{none, none, none, none}}},
      {"MF-MNP, errors", "mean-field", "errors", {{{2.66, 1.27}, {7.84, 2.54}, {4.88, 2.74}, {33.72, 4.03}}}},
      {"MF-MNP, log p(y*)",
       "mean-field",
       "log_density",
       {{{-10.35, 1.87}, {-22.02, 4.57}, {-16.19, 3.84}, {-89.63, 6.15}}}},
      {"MC-MNP, log Z, upper limit",
       "probit",
       "mc_log_z_upper",
       {{{-27.71, 1.74}, {-41.54, 3.70}, {-36.41, 2.07}, {-150.23, 6.88}}}},
      {"MC-MNP, the same by the published proposal", "probit", "t_log_z_upper", {{none, none, none, none}}},
      {"MC-MNP, its effective draws of 100,000", "probit", "t_effective", {{none, none, none, none}}},
      {"nested EP, log Z", "probit", "ep_log_z", {{none, none, none, none}}},
      {"MC-MNP, errors", "probit", "mc_errors", {{{2.64, 1.26}, {7.86, 2.54}, {4.88, 2.88}, {36.00, 4.16}}}},
      {"MC-MNP, log p(y*)",
       "probit",
       "mc_log_density",
       {{{-10.53, 1.89}, {-22.10, 4.61}, {-16.27, 3.94}, {-95.62, 8.78}}}},
      {"KL-MNL, log Z_h", "bound-mf", "log_zh", {{{-32.63, 1.60}, {-47.15, 3.49}, {-42.56, 1.96}, {-158.16, 5.77}}}},
      {"KL-MNL, errors", "bound-mf", "errors", {{{2.66, 1.26}, {7.92, 2.75}, {4.96, 2.73}, {34.20, 4.03}}}},
      {"KL-MNL, log p(y*) by (25)",
       "bound-mf",
       "at_mean",
       {{{-11.27, 1.79}, {-23.08, 4.58}, {-17.19, 3.83}, {-92.78, 6.09}}}},
      {"KL-MNL, log p(y*) by (24)",
       "bound-mf",
       "lower",
       {{{-13.15, 1.82}, {-25.67, 4.66}, {-20.37, 3.96}, {-101.00, 5.93}}}},
      {"MC-MNL, log Z, upper limit",
       "bound-mf",
       "mc_log_z_upper",
       {{{-32.48, 1.60}, {-46.97, 3.49}, {-42.38, 1.96}, {-157.53, 5.79}}}},
      {"MC-MNL, the same by the published proposal", "bound-mf", "t_log_z_upper", {{none, none, none, none}}},
      {"MC-MNL, errors", "bound-mf", "mc_errors", {{{2.64, 1.22}, {8.00, 2.85}, {4.94, 2.75}, {34.40, 4.09}}}},
      {"MC-MNL, log p(y*)",
       "bound-mf",
       "mc_log_density",
       {{{-12.61, 1.70}, {-24.29, 4.27}, {-19.01, 3.59}, {-94.79, 5.50}}}},
      {"KL-MNL learned, log Z_h",
       "bound",
       "log_zh",
       {{{-31.46, 1.36}, {-45.13, 2.85}, {-41.18, 1.74}, {-154.74, 5.08}}}},
      {"KL-MNL learned, log Z_B", "bound", "log_zb", {{none, none, none, none}}},
      {"KL-MNL learned, errors", "bound", "errors", {{{2.28, 1.25}, {6.44, 2.92}, {3.22, 1.83}, {32.62, 4.09}}}},
      {"KL-MNL learned, log p(y*) by (25)",
       "bound",
       "at_mean",
       {{{-9.45, 1.38}, {-20.55, 4.58}, {-14.47, 2.03}, {-88.82, 5.49}}}},
      {"KL-MNL learned, log p(y*) by (24)",
       "bound",
       "lower",
       {{{-11.38, 1.48}, {-23.85, 4.64}, {-18.02, 2.28}, {-97.97, 5.58}}}},
      {"KL-MNL learned, log p(y*) averaged over q", "bound", "averaged", {{none, none, none, none}}},
      {"MC-MNL learned, log Z, upper limit",
       "bound",
       "mc_log_z_upper",
       {{{-31.32, 1.37}, {-44.95, 2.85}, {-41.01, 1.74}, {-154.08, 5.04}}}},
      {"MC-MNL learned, the same by the published proposal", "bound", "t_log_z_upper", {{none, none, none, none}}},
      {"MC-MNL learned, its effective draws of 100,000", "bound", "t_effective", {{none, none, none, none}}},
      {"MC-MNL learned, errors", "bound", "mc_errors", {{{2.28, 1.25}, {6.52, 3.03}, {3.22, 1.73}, {33.02, 4.05}}}},
      {"MC-MNL learned, log p(y*)",
       "bound",
       "mc_log_density",
       {{{-10.90, 1.35}, {-22.13, 4.19}, {-16.74, 1.98}, {-91.31, 5.00}}}},
  };
  return rows;
}

std::string print_printed(const Printed& printed) {
  if (std::isnan(printed.mean)) return "–";
  return print(Spread{.mean = printed.mean, .sd = printed.sd, .count = 50}, 2);
}

/// Theorem 10 for unit variance.
double theorem10(double rows, double classes) {
  const double root = std::sqrt(1.0 / classes + 0.25);
  return -rows * (0.5 * (classes - 1.0) * (2.0 * root - std::log(root + 0.5) - 1.0) + std::log(classes));
}

void print_table3(const Ledger& ledger, const std::vector<std::string>& names, const Settings& settings) {
  std::printf("| |");
  for (const std::string& name : names) std::printf(" %s | printed |", name.c_str());
  std::printf("\n| --- |");
  for (std::size_t i = 0; i < names.size(); ++i) std::printf(" --- | --- |");
  std::printf("\n");
  for (const Row& row : rows_of_table3()) {
    std::printf("| %s |", row.what);
    for (const std::string& name : names) {
      const auto column =
          static_cast<std::size_t>(std::find(data_sets.begin(), data_sets.end(), name) - data_sets.begin());
      const Spread ours = spread(ledger.column(name + "/" + row.study, row.figure, settings.sets));
      std::printf(" %s | %s |", print(ours, 2).c_str(), print_printed(row.printed[column]).c_str());
    }
    std::printf("\n");
  }
}

/// What holds in every partition, counted.
void print_order(const Ledger& ledger, const std::vector<std::string>& names, const Settings& settings) {
  std::printf(
      "\n| data | partitions | log Z_B - log Z_h | log Z - log Z_B | least (log Z - log Z_B) / error | "
      "mean-field bound above log Z | (24) <= MC <= (25) | not converged | other start better by > 0.01 |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : names) {
    std::vector<double> closed, gaussian;
    double least = INFINITY;
    int above = 0, between = 0, partitions = 0, unconverged = 0, gains = 0;
    for (int set = 0; set < settings.sets; ++set) {
      const auto of = [&](const char* study, const char* figure) {
        return ledger.value(name + "/" + study, set, figure);
      };
      if (!ledger.has(name + "/bound", set)) continue;
      ++partitions;
      closed.push_back(of("bound", "log_zb") - of("bound", "log_zh"));
      gaussian.push_back(of("bound", "mc_log_z") - of("bound", "log_zb"));
      least = std::min(least, gaussian.back() / of("bound", "mc_log_z_error"));
      above += of("mean-field", "bound") > of("probit", "mc_log_z_upper") ? 1 : 0;
      between += of("bound", "lower") <= of("bound", "mc_log_density") &&
                         of("bound", "mc_log_density") <= of("bound", "at_mean")
                     ? 1
                     : 0;
      for (const char* study : {"bound", "bound-mf", "mean-field", "probit"})
        unconverged += of(study, "converged") == 1.0 ? 0 : 1;
      unconverged += of("learned", "learned") == 1.0 ? 0 : 1;
      gains += of("learned", "other_start_gains") > 0.01 ? 1 : 0;
    }
    std::printf("| %s | %d | %s | %s | %.1f | %d | %d | %d | %d |\n", name.c_str(), partitions,
                print(spread(closed), 3).c_str(), print(spread(gaussian), 3).c_str(), least, above, between,
                unconverged, gains);
  }
  std::printf("\nTheorem 10 at unit variance, n and C of Table 2: iris %.2f, thyroid %.2f, wine %.2f, glass %.2f\n",
              theorem10(90, 3), theorem10(129, 3), theorem10(106, 3), theorem10(128, 7));
}

void print_variance(const Ledger& ledger, const std::string& name, const Settings& settings) {
  std::printf(
      "\n| log variance | log Z_h | log Z_B | log Z (sampled) | log Z_B - log Z_h | log Z - log Z_B | largest error of "
      "log Z |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (std::size_t step = 0; step < variances().size(); ++step) {
    const std::string study = variance_study(name, step);
    const auto column = [&](const char* figure) { return ledger.column(study, figure, settings.sets); };
    std::vector<double> closed = column("log_zb"), gaussian = column("mc_log_z");
    double error = 0.0;
    for (std::size_t i = 0; i < closed.size(); ++i) {
      gaussian[i] -= closed[i];
      closed[i] -= column("log_zh")[i];
      error = std::max(error, column("mc_log_z_error")[i]);
    }
    std::printf("| %.1f | %s | %s | %s | %s | %s | %.3f |\n", std::log(variances()[step]),
                print(spread(column("log_zh")), 2).c_str(), print(spread(column("log_zb")), 2).c_str(),
                print(spread(column("mc_log_z")), 2).c_str(), print(spread(closed), 3).c_str(),
                print(spread(gaussian), 3).c_str(), error);
  }
}

void print_models(const Ledger& ledger, const std::string& name, gs::Index classes, const Settings& settings) {
  std::printf(
      "\n| %s | log Z_h | log Z (sampled) | better than M1 | M2 | M3 | M4 | errors | log p(y*) | effective draws |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      name.c_str());
  for (const ClassCovariance& model : class_covariances()) {
    const std::string study = name + "/" + model.name;
    const std::vector<double> own = ledger.column(study, "mc_log_z", settings.sets);
    std::printf("| %s | %s | %s |", model.name, print(spread(ledger.column(study, "log_zh", settings.sets)), 2).c_str(),
                print(spread(own), 2).c_str());
    for (const char* rival : {"M1", "M2", "M3", "M4"}) {
      const std::vector<double> other = ledger.column(name + "/" + rival, "mc_log_z", settings.sets);
      int better = 0;
      for (std::size_t i = 0; i < std::min(own.size(), other.size()); ++i) better += own[i] > other[i] ? 1 : 0;
      if (std::string(rival) == model.name)
        std::printf(" |");
      else
        std::printf(" %d of %zu |", better, std::min(own.size(), other.size()));
    }
    std::printf(" %s | %s | %s |\n", print(spread(ledger.column(study, "mc_errors", settings.sets)), 2).c_str(),
                print(spread(ledger.column(study, "mc_log_density", settings.sets)), 2).c_str(),
                print(spread(ledger.column(study, "mc_effective", settings.sets)), 0).c_str());
  }
  if (classes != 3) return;
  std::printf("\n| %s, M4 | mean ± sd | least | quartiles | most |\n| --- | --- | --- | --- | --- |\n", name.c_str());
  const auto print_figure = [&](const std::string& what, auto figure) {
    std::vector<double> values;
    for (int set = 0; set < settings.sets; ++set)
      if (ledger.has(name + "/M4", set)) values.push_back(figure(class_covariance(ledger, name + "/M4", set, classes)));
    if (values.empty()) return;
    const Spread all = spread(values);
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    std::printf("| %s | %s | %.2f | %.2f, %.2f, %.2f | %.2f |\n", what.c_str(), print(all, 2).c_str(), at(0.0),
                at(0.25), at(0.5), at(0.75), at(1.0));
  };
  for (gs::Index i = 0; i < classes; ++i)
    print_figure("variance of class " + std::to_string(i), [&](const gs::Matrix& kc) { return kc(i, i); });
  for (gs::Index i = 0; i < classes; ++i)
    for (gs::Index j = i + 1; j < classes; ++j)
      print_figure("correlation of " + std::to_string(i) + " and " + std::to_string(j),
                   [&](const gs::Matrix& kc) { return kc(i, j) / std::sqrt(kc(i, i) * kc(j, j)); });
}

void run(const CommandLine& line) {
  const Settings settings{.sets = line.number("sets", 50),
                          .seed = static_cast<std::uint64_t>(line.number("seed", 1)),
                          .draws = line.number("draws", 10000)};
  const std::vector<std::string> names = line.chosen("only", data_sets);
  const std::vector<std::string> asked = line.chosen("part", parts);
  Ledger ledger(line.text("results", ""));
  for (const std::string& part : asked) {
    for (const std::string& name : names) {
      if (part == "variance" && name != "iris") continue;
      const ClassData data = read_class_data(name, line.text("data", "data"));
      for (int set = 0; set < settings.sets; ++set) {
        const Trial trial{
            .data = data, .split = draw_class_split(data, settings.seed, set), .set = set, .draws = settings.draws};
        if (part == "table3") run_table3(trial, ledger);
        if (part == "variance") run_variance(trial, ledger);
        if (part == "models") run_models(trial, ledger);
      }
      if (part == "variance") print_variance(ledger, name, settings);
      if (part == "models") print_models(ledger, name, data.classes, settings);
    }
    if (part == "table3") {
      print_table3(ledger, names, settings);
      print_order(ledger, names, settings);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return guarded("softmax_bound", [&] {
    run(CommandLine(argc, argv, {"data", "results", "sets", "seed", "only", "part", "draws"}));
  });
}
