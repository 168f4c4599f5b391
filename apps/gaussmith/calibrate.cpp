#include "gaussmith/calibrate.hpp"
#include "command.hpp"
#include "gaussmith/errors.hpp"
#include "prepared_model.hpp"
#include "run_control.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

struct CalibrateArguments {
  TableArguments table;
  std::string problem;
  std::string method = "laplace";
  std::vector<std::string> set;
  CalibrationOptions options;
  std::string plot;
};

constexpr int bins = 20;

/// How many ranks fall into equal parts of 0, ..., draws, and how many should.
struct Histogram {
  std::vector<double> seen, expected;
};

Histogram histogram(const CalibratedQuantity& quantity, int draws) {
  const int values = draws + 1;
  const int count = std::min(bins, values);
  Histogram out{std::vector<double>(static_cast<std::size_t>(count), 0.0),
                std::vector<double>(static_cast<std::size_t>(count), 0.0)};
  for (int rank = 0; rank < values; ++rank) {
    out.expected[static_cast<std::size_t>(rank * count / values)] +=
        static_cast<double>(quantity.ranks.size()) / static_cast<double>(values);
  }
  for (const int rank : quantity.ranks) {
    out.seen[static_cast<std::size_t>(rank * count / values)] += 1.0;
  }
  return out;
}

std::string bars(const Histogram& ranks) {
  static constexpr const char* heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (std::size_t b = 0; b < ranks.seen.size(); ++b) {
    const double share = ranks.expected[b] > 0.0 ? ranks.seen[b] / (2.0 * ranks.expected[b]) : 0.0;
    out += heights[static_cast<std::size_t>(std::min(8.0, std::round(8.0 * share)))];
  }
  return out;
}

/// The histograms side by side; grey: where 95 % of the bars of right inference end.
std::string picture(const Calibration& calibration) {
  const double height = 150.0;
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 340 {:.0f}' font-family='sans-serif' "
      "font-size='12'><rect width='100%' height='100%' fill='white'/>",
      height * static_cast<double>(calibration.quantities.size()));
  for (std::size_t q = 0; q < calibration.quantities.size(); ++q) {
    const CalibratedQuantity& quantity = calibration.quantities[q];
    const Histogram ranks = histogram(quantity, calibration.draws);
    const double base = height * static_cast<double>(q + 1) - 14.0;
    const double width = 300.0 / static_cast<double>(ranks.seen.size());
    double most = 1.0;
    for (std::size_t b = 0; b < ranks.seen.size(); ++b) {
      most = std::max({most, ranks.seen[b], ranks.expected[b] + 3.0 * std::sqrt(ranks.expected[b])});
    }
    const double unit = 100.0 / most;
    const double expected = ranks.expected.front();
    const double spread = 1.96 * std::sqrt(expected);
    out += fmt::format("<text x='20' y='{:.1f}'>{} (p = {:.2g})</text>", base - 112.0, quantity.name, quantity.p_value);
    out += fmt::format("<rect x='20' y='{:.2f}' width='300' height='{:.2f}' fill='#dde3e6'/>",
                       base - unit * (expected + spread), 2.0 * unit * spread);
    for (std::size_t b = 0; b < ranks.seen.size(); ++b) {
      out += fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='#1b6ca8' opacity='0.8'/>",
                         20.0 + width * static_cast<double>(b) + 1.0, base - unit * ranks.seen[b], width - 2.0,
                         unit * ranks.seen[b]);
    }
    out += fmt::format("<line x1='20' x2='320' y1='{0:.1f}' y2='{0:.1f}' stroke='#555'/>", base);
  }
  return out + "</svg>\n";
}

Outcome run_calibrate(const CalibrateArguments& arguments, const CommonOptions& common) {
  if (arguments.problem.empty() == arguments.table.data.empty()) {
    throw InvalidOption("calibrate needs --data TABLE or --problem FILE; see gaussmith calibrate --help");
  }
  const Settings settings = sort_settings(parse_assignments("--set", arguments.set), arguments.method);
  const Method method = make_method(arguments.method, settings.method_options);
  const Prepared prepared = arguments.problem.empty()
                                ? prepare_table(arguments.table, false, settings)
                                : prepare_problem(arguments.problem, read_problem(arguments.problem), settings, false);
  RunControl control(common, "calibrating, simulation");
  const Calibration calibration = calibrate(prepared.model, method, arguments.options, control.run());
  stop_if_interrupted();
  Outcome outcome;
  outcome.notes = prepared.notes;
  outcome.warnings = prepared.warnings;
  if (calibration.failed > 0) {
    outcome.warnings.push_back(
        fmt::format("{} of {} fits failed or did not converge", calibration.failed, arguments.options.simulations));
  }
  if (common.json) {
    Json out;
    out["format"] = "gaussmith-calibration/1";
    out["method"] = arguments.method;
    out["simulations"] = arguments.options.simulations;
    out["draws"] = calibration.draws;
    out["failed"] = calibration.failed;
    out["ranks"] = Json::object();
    out["p_values"] = Json::object();
    for (const CalibratedQuantity& quantity : calibration.quantities) {
      out["ranks"][quantity.name] = quantity.ranks;
      out["p_values"][quantity.name] = quantity.p_value;
    }
    outcome.output = out.dump() + "\n";
  } else {
    outcome.output = fmt::format("{:<12}{}\n{:<12}{}\n{:<12}{}, {} simulations of {} draws\n\n", "Data",
                                 prepared.summary.data_line, "Model", prepared.summary.model_line, "Method",
                                 arguments.method, arguments.options.simulations, calibration.draws);
    for (const CalibratedQuantity& quantity : calibration.quantities) {
      outcome.output += fmt::format("{:<16} |{}|  p = {:.3g}\n", quantity.name,
                                    bars(histogram(quantity, calibration.draws)), quantity.p_value);
    }
    outcome.output +=
        "\nRanks of the true value among draws of the posterior, low to high: uniform where inference is right.\n";
  }
  if (!arguments.plot.empty()) {
    const std::string plot = picture(calibration);
    begin_writing();
    write_file(arguments.plot, plot);
  }
  return outcome;
}

}  // namespace

Command add_calibrate(CLI::App& root, CommonOptions& common) {
  CLI::App* app =
      root.add_subcommand("calibrate", "Whether a method's posteriors are right on average: simulated data");
  auto arguments = std::make_shared<CalibrateArguments>();
  add_table_options(*app, arguments->table);
  app->add_option("--problem", arguments->problem, "A whole model as JSON, gaussmith-problem/1, instead of a table")
      ->type_name("FILE");
  app->add_option("--method", arguments->method, "One of `gaussmith methods` (default: laplace)")->type_name("NAME");
  app->add_option("--set", arguments->set, "NAME=VALUE: a parameter or an option of the method; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  app->add_option("--simulations", arguments->options.simulations, "Data sets that are drawn (default: 300)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("COUNT");
  app->add_option("--draws", arguments->options.draws, "Draws of every posterior (default: 99)")
      ->check(CLI::Range(1, 100000))
      ->type_name("COUNT");
  app->add_option("--ranked", arguments->options.weights, "Weights that are ranked, from 0: 0,3,7 (default: 0)")
      ->delimiter(',')
      ->type_name("NUMBERS");
  app->add_option("--plot", arguments->plot, "Write the histograms of the ranks here as SVG")->type_name("FILE");
  add_common(*app, common, true);
  app->footer(
      "Weights are drawn from the prior and responses from the model; the responses of the table are not looked at.\n"
      "Single weights are blind to much; the rank of the log likelihood sees what is wrong in all of them together.\n\n"
      "Example:\n"
      "  gaussmith calibrate --problem problem.json --method ep --simulations 500 --plot ranks.svg");
  return {app, [arguments, &common] { return run_calibrate(*arguments, common); }};
}

}  // namespace gaussmith::app
