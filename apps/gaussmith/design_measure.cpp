// gaussmith design measure: where to measure a sparse signal next.

#include "command.hpp"
#include "design_shared.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/measurement.hpp"
#include "gaussmith/pictures.hpp"
#include "prepared_model.hpp"
#include "run_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

/// A posterior that only has to say where to measure next need not be exact to many digits; several starts are for the
/// first fit of a model that is looked at once.
const std::map<std::string, std::string> design_defaults{{"kl.tolerance", "1e-3"},
                                                         {"kl.starts", "1"},
                                                         {"vb.tolerance", "1e-3"},
                                                         {"vb.starts", "1"},
                                                         {"ep.tolerance", "1e-3"}};

struct MeasureArguments {
  std::string problem, state, ask, tell, truth, curve, pictures, groups, mean;
  std::string propose = "greedy:1";
  std::string method = "kl";
  std::vector<std::string> set;
  double noise_variance = 0.0;
  bool repeats = false;
  Index refit = 1;
  std::optional<Index> initial, steps, per_step;
  Index picture_every = 300;
};

/// What --propose says: a rule with its number of rows a step, or candidates.
struct Proposing {
  DesignRule rule = DesignRule::greedy;
  std::optional<std::string> candidates;
  Index per_step = 1;
};

Index positive_count(const std::string& text, const char* what) {
  Index value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1 || value > (Index{1} << 30)) {
    throw InvalidOption(fmt::format("{} is \"{}\"; a whole number from 1 is accepted", what, text));
  }
  return value;
}

Proposing read_proposing(const MeasureArguments& arguments) {
  Proposing out;
  const std::string& text = arguments.propose;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::optional<std::string> rest =
      colon == std::string::npos ? std::nullopt : std::optional(text.substr(colon + 1));
  if (name == "candidates") {
    if (!rest || rest->empty()) {
      throw InvalidOption("--propose candidates needs a file of rows: candidates:FILE");
    }
    out.candidates = *rest;
  } else {
    const std::vector<std::string> names{"eigen", "greedy", "random", "candidates"};
    if (name != "eigen" && name != "greedy" && name != "random") {
      throw InvalidOption(fmt::format(
          "--propose \"{}\"{} is not known; eigen:K, greedy:K, random, random:K and candidates:FILE are accepted", text,
          suggestion(name, names)));
    }
    out.rule = design_rule(name);
    if (rest) {
      out.per_step = positive_count(*rest, fmt::format("the number of rows in --propose {}", name).c_str());
    }
  }
  if (arguments.per_step) {
    if (!out.candidates && text.find(':') != std::string::npos) {
      throw InvalidOption(fmt::format("--propose {} says the rows a step already; leave --per-step out", text));
    }
    out.per_step = *arguments.per_step;
  }
  return out;
}

/// Rows with the same label, one a line, are a group, in the order of their first rows.
std::vector<std::vector<Index>> read_groups(const std::string& file, Index rows) {
  const Matrix labels = read_number_rows(file);
  if (labels.cols() != 1 || labels.rows() != rows) {
    throw InvalidFile(
        fmt::format("{}: {} lines of {} numbers; one number for each of the {} candidate rows is accepted", file,
                    labels.rows(), labels.cols(), rows));
  }
  std::map<double, std::size_t> place;
  std::vector<std::vector<Index>> out;
  for (Index row = 0; row < rows; ++row) {
    const auto [found, fresh] = place.try_emplace(labels(row, 0), out.size());
    if (fresh) {
      out.emplace_back();
    }
    out[found->second].push_back(row);
  }
  return out;
}

DesignOptions chosen_options(const MeasureArguments& arguments, const Proposing& proposing) {
  DesignOptions out{arguments.noise_variance, proposing.rule, {}, arguments.refit};
  if (!proposing.candidates) {
    if (!arguments.groups.empty() || arguments.repeats) {
      throw InvalidOption("--groups and --repeats are for --propose candidates:FILE");
    }
    return out;
  }
  CandidateRows candidates{read_number_rows(*proposing.candidates), {}, arguments.repeats};
  if (!arguments.groups.empty()) {
    candidates.groups = read_groups(arguments.groups, candidates.rows.rows());
  }
  out.candidates = std::move(candidates);
  return out;
}

/// A signal that is known, and its shape where it is a picture.
struct Truth {
  Vector signal;
  Index height = 0;
  Index width = 0;

  [[nodiscard]] bool is_picture() const { return height > 0; }
};

Truth read_truth(const std::string& file, Index dimension) {
  const std::string suffix = std::filesystem::path(file).extension().string();
  Truth out;
  if (suffix == ".pgm" || suffix == ".PGM") {
    const Matrix grey = read_pgm(file);
    out.height = grey.rows();
    out.width = grey.cols();
    const Matrix by_rows = 2.0 * grey.transpose().array() - 1.0;
    out.signal = by_rows.reshaped();
    if (out.signal.size() != dimension) {
      throw InvalidFile(
          fmt::format("{}: {} x {} pixels, but the problem has {} weights; a picture with one pixel a weight "
                      "is accepted",
                      file, out.height, out.width, dimension));
    }
    return out;
  }
  const Matrix numbers = read_number_rows(file);
  if (numbers.size() != dimension) {
    throw InvalidFile(fmt::format("{}: {}, but the problem has {}; one a weight is accepted", file,
                                  plural(numbers.size(), "number"), plural(dimension, "weight")));
  }
  const Matrix by_rows = numbers.transpose();
  out.signal = by_rows.reshaped();
  return out;
}

std::string picture_of(const Vector& signal, const Truth& truth) {
  const Matrix by_columns = Eigen::Map<const Matrix>(signal.data(), truth.width, truth.height).transpose();
  return format_png(0.5 * (by_columns.array() + 1.0));
}

std::string mean_text(const DesignBelief& belief) {
  std::string out = "mean,sd\n";
  for (Index j = 0; j < belief.mean.size(); ++j) {
    out += fmt::format("{},{}\n", belief.mean(j), std::sqrt(std::max(0.0, belief.variance(j))));
  }
  return out;
}

std::string point_text(const MeasurementPoint& p, char separator) {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6:.3f}\n", separator, p.measurements, p.error, p.gain,
                     p.log_evidence, p.iterations, p.seconds);
}

void check_noise_variance(double value) {
  if (!(value >= smallest_noise_variance && value <= largest_noise_variance)) {
    throw InvalidOption(fmt::format("--noise-variance is {}; a number from {:g} to {:g} is accepted", value,
                                    smallest_noise_variance, largest_noise_variance));
  }
}

/// Everything that either use starts from, read and checked.
struct Measuring {
  Model model;
  Method method;
  DesignOptions options;
  Proposing proposing;
};

Measuring read_measuring(const MeasureArguments& arguments) {
  Measuring out;
  out.proposing = read_proposing(arguments);
  out.method = design_method(arguments.method, arguments.set, design_defaults,
                             "the model's parameters stand in the problem file");
  Problem problem = read_problem(arguments.problem);
  refuse_network(arguments.problem, problem);
  out.model = std::move(problem.model);
  out.options = chosen_options(arguments, out.proposing);
  return out;
}

MeasurementState known_state(const MeasureArguments& arguments, const MeasurementIdentity& identity, Outcome& outcome) {
  if (arguments.state.empty() || !std::filesystem::exists(arguments.state)) {
    return {};
  }
  MeasurementState state = load_measurement_state(arguments.state, identity);
  outcome.notes.push_back(
      fmt::format("{}: goes on from {}", arguments.state, plural(state.measurements(), "measurement")));
  return state;
}

void tell_unconverged(Index fits, Outcome& outcome) {
  if (fits > 0) {
    outcome.code = exit_not_converged;
    outcome.warnings.push_back(fmt::format("{} did not converge", plural(fits, "fit")));
  }
}

// --- A signal that is known

/// Writes curve, pictures and state after every step.
class StepFiles {
 public:
  StepFiles(const MeasureArguments& arguments, const Truth& truth, MeasurementIdentity identity)
      : arguments_(&arguments),
        truth_(&truth),
        identity_(std::move(identity)),
        separator_(separator_of(arguments.curve)),
        curve_(arguments.curve,
               fmt::format("measurements{0}error{0}gain{0}log_evidence{0}iterations{0}seconds\n", separator_)) {}

  void write(const MeasurementState& state, const Vector& mean) {
    std::string lines;
    for (; points_ < state.curve.size(); ++points_) {
      lines += point_text(state.curve[points_], separator_);
    }
    curve_.append(lines);
    if (!arguments_->pictures.empty()) {
      write_picture(state, mean);
    }
    if (!arguments_->state.empty()) {
      save_measurement_state(arguments_->state, state, identity_);
      keep_state();
    }
  }

 private:
  /// The first step at or beyond initial + k picture_every measurements has a picture.
  void write_picture(const MeasurementState& state, const Vector& mean) {
    const std::size_t points = state.curve.size();
    const Index begin = state.curve.front().measurements;
    const Index now = state.measurements();
    const Index before = points > 1 ? state.curve[points - 2].measurements : begin - 1;
    const auto column = [&](Index count) { return count < begin ? -1 : (count - begin) / arguments_->picture_every; };
    if (column(now) > column(before)) {
      write_file(std::filesystem::path(arguments_->pictures) / fmt::format("{:06}.png", now),
                 picture_of(mean, *truth_));
    }
  }

  const MeasureArguments* arguments_;
  const Truth* truth_;
  MeasurementIdentity identity_;
  char separator_;
  GrowingTable curve_;
  std::size_t points_ = 0;
};

std::string simulation_output(const MeasureArguments& arguments, const MeasurementState& state, bool json) {
  const MeasurementPoint& last = state.curve.back();
  if (!json) {
    return fmt::format("{:<14}{}\n{:<14}{:.6g}\n{:<14}{:.6g}\n{:<14}{}\n{:<14}{:.1f}\n", "Measurements",
                       last.measurements, "Error", last.error, "Log evidence", last.log_evidence, "Iterations",
                       state.iterations, "Seconds", state.seconds);
  }
  Json out;
  out["format"] = "gaussmith-measurement-result/1";
  out["method"] = arguments.method;
  out["propose"] = arguments.propose;
  out["measurements"] = last.measurements;
  out["error"] = last.error;
  out["gain"] = last.gain;
  out["log_evidence"] = last.log_evidence;
  out["iterations"] = state.iterations;
  out["unconverged"] = state.unconverged;
  if (!state.taken.empty()) {
    out["chosen"] = state.taken;
  }
  out["seconds"] = state.seconds;
  return out.dump() + "\n";
}

Outcome run_simulation(const MeasureArguments& arguments, const Measuring& measuring, const CommonOptions& common) {
  const Truth truth = read_truth(arguments.truth, measuring.model.dimension());
  if (!arguments.pictures.empty()) {
    if (!truth.is_picture()) {
      throw InvalidOption(fmt::format("--pictures needs a truth that is one: {} is no .pgm", arguments.truth));
    }
    if (!std::filesystem::is_directory(arguments.pictures)) {
      throw InvalidOption(fmt::format("--pictures {}: there is no such folder; make it first", arguments.pictures));
    }
  }
  const Index initial = arguments.initial.value_or(std::min<Index>(100, truth.signal.size()));
  const MeasurementSimulation simulation{truth.signal, initial, arguments.steps.value_or(200),
                                         measuring.proposing.per_step};
  const MeasurementIdentity identity =
      measurement_identity(measuring.model, measuring.method, measuring.options, common.seed, &simulation);
  Outcome outcome;
  MeasurementState state = known_state(arguments, identity, outcome);
  RunControl control(common, "fit");
  DesignSession session(measuring.model, measuring.method, measuring.options, control.run(), std::move(state));
  StepFiles files(arguments, truth, identity);
  if (!arguments.pictures.empty()) {
    write_file(std::filesystem::path(arguments.pictures) / "truth.png", picture_of(truth.signal, truth));
  }
  simulate_design(session, simulation, common.seed, [&](const MeasurementState& at) {
    stop_if_interrupted();
    files.write(at, session.belief().mean);
    return Next::proceed;
  });
  const MeasurementState& end = session.state();
  if (end.curve.empty()) {
    throw InvalidOption("--initial 0 and --steps 0 measure nothing");
  }
  files.write(end, session.belief().mean);
  if (!arguments.mean.empty()) {
    write_file(arguments.mean, mean_text(session.belief()));
  }
  tell_unconverged(end.unconverged, outcome);
  outcome.output = simulation_output(arguments, end, common.json);
  return outcome;
}

// --- A real instrument

Vector read_told(const std::string& file, const MeasurementState& state) {
  const Index asked = state.pending.rows.rows();
  if (asked == 0) {
    throw InvalidOption(fmt::format("--tell {}: nothing was asked that this could answer; --ask comes first", file));
  }
  const Matrix told = read_number_rows(file);
  if (told.cols() != 1 || told.rows() != asked) {
    throw InvalidFile(fmt::format("{}: {} of {}; one number for each of the {} asked is accepted", file,
                                  plural(told.rows(), "line"), plural(told.cols(), "number"), plural(asked, "row")));
  }
  return told.col(0);
}

/// What is told would be lost with the call that cannot ask.
void check_candidates_left(const Measuring& measuring, const MeasurementState& known, bool told, Index wanted) {
  if (!measuring.options.candidates || measuring.options.candidates->repeats) {
    return;
  }
  std::vector<Index> taken = known.taken;
  if (told) {
    taken.insert(taken.end(), known.pending.chosen.begin(), known.pending.chosen.end());
  }
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  const Index left = measuring.options.candidates->count() - static_cast<Index>(taken.size());
  if (wanted > left) {
    throw InvalidOption(fmt::format("--ask wants {}, but {} left{}{}", plural(wanted, "candidate"),
                                    left == 1 ? "1 is" : fmt::format("{} are", left),
                                    told ? "; give --tell without --ask" : "",
                                    left > 0 ? fmt::format("; {} or fewer are accepted", left) : ""));
  }
}

std::string exchange_output(const MeasurementState& state, Index told, const std::optional<DesignBelief>& belief,
                            bool json) {
  const MeasurementProposal& pending = state.pending;
  if (json) {
    Json out;
    out["format"] = "gaussmith-measurement-result/1";
    out["measurements"] = state.measurements();
    out["told"] = told;
    out["asked"] = pending.rows.rows();
    if (pending.rows.rows() > 0) {
      out["gain"] = pending.gain;
    }
    if (!pending.chosen.empty()) {
      out["chosen"] = pending.chosen;
    }
    if (belief) {
      out["log_evidence"] = belief->log_evidence.value;
      out["converged"] = belief->converged;
    }
    out["unconverged"] = state.unconverged;
    return out.dump() + "\n";
  }
  std::string out = fmt::format("{:<14}{}\n", "Measurements", state.measurements());
  if (pending.rows.rows() > 0) {
    out += fmt::format("{:<14}{}, gain {:.6g} nats\n", "Asked", plural(pending.rows.rows(), "row"), pending.gain);
  }
  if (belief) {
    out += fmt::format("{:<14}{:.6g}\n", "Log evidence", belief->log_evidence.value);
  }
  return out;
}

Outcome run_exchange(const MeasureArguments& arguments, const Measuring& measuring, const CommonOptions& common) {
  const MeasurementIdentity identity =
      measurement_identity(measuring.model, measuring.method, measuring.options, common.seed);
  Outcome outcome;
  MeasurementState known = known_state(arguments, identity, outcome);
  const std::optional<Vector> told =
      arguments.tell.empty() ? std::nullopt : std::optional(read_told(arguments.tell, known));
  const bool first = known.measurements() == 0 && !told && arguments.initial.value_or(0) > 0;
  if (!arguments.ask.empty()) {
    check_candidates_left(measuring, known, told.has_value(),
                          first ? *arguments.initial : measuring.proposing.per_step);
  }
  const Index unconverged = known.unconverged;
  RunControl control(common, "fit");
  DesignSession session(measuring.model, measuring.method, measuring.options, control.run(), std::move(known));
  if (told) {
    session.observe(*told);
  }
  if (!arguments.ask.empty()) {
    if (first) {
      session.propose_at_random(*arguments.initial);
    } else {
      session.propose(measuring.proposing.per_step);
    }
  }
  std::optional<DesignBelief> belief;
  if (!arguments.mean.empty() || (!arguments.ask.empty() && !first)) {
    belief = session.belief();
  }
  stop_if_interrupted();
  // The state comes last: after a kill before it the same command is right again, and asks for the same rows.
  if (!arguments.ask.empty()) {
    write_file(arguments.ask, format_number_rows(session.state().pending.rows));
  }
  if (!arguments.mean.empty()) {
    write_file(arguments.mean, mean_text(*belief));
  }
  save_measurement_state(arguments.state, session.state(), identity);
  keep_state();
  tell_unconverged(session.state().unconverged - unconverged, outcome);
  outcome.output = exchange_output(session.state(), told ? told->size() : 0, belief, common.json);
  return outcome;
}

/// No file that is written stands where another is read or written, or where no file can be.
void check_files(const MeasureArguments& arguments) {
  const std::size_t colon = arguments.propose.find(':');
  const std::string candidates =
      arguments.propose.starts_with("candidates:") ? arguments.propose.substr(colon + 1) : "";
  struct File {
    const char* option;
    const std::string* name;
    bool written;
  };
  const std::array<File, 9> files{{{"--problem", &arguments.problem, false},
                                   {"--truth", &arguments.truth, false},
                                   {"--propose candidates", &candidates, false},
                                   {"--groups", &arguments.groups, false},
                                   {"--tell", &arguments.tell, false},
                                   {"--state", &arguments.state, true},
                                   {"--ask", &arguments.ask, true},
                                   {"--curve", &arguments.curve, true},
                                   {"--mean", &arguments.mean, true}}};
  std::vector<std::pair<const File*, std::filesystem::path>> seen;
  seen.reserve(files.size());
  for (const File& file : files) {
    if (file.name->empty()) {
      continue;
    }
    std::error_code ignored;
    const std::filesystem::path absolute = std::filesystem::absolute(*file.name, ignored);
    std::filesystem::path path = std::filesystem::weakly_canonical(absolute, ignored);
    if (path.empty()) {
      path = absolute;
    }
    const std::filesystem::file_status status = std::filesystem::status(absolute, ignored);
    if (std::filesystem::is_other(status)) {
      if (file.written) {
        throw InvalidOption(fmt::format("{} {}: it exists and is not a regular file; the name of a file is accepted",
                                        file.option, *file.name));
      }
      continue;  // A pipe to read from.
    }
    if (file.written && !std::filesystem::is_directory(path.parent_path(), ignored)) {
      throw InvalidOption(fmt::format("{} {}: there is no folder {}; make it first", file.option, *file.name,
                                      path.parent_path().string()));
    }
    if (file.written && std::filesystem::is_directory(path, ignored)) {
      throw InvalidOption(fmt::format("{} {}: a folder; the name of a file is accepted", file.option, *file.name));
    }
    for (const auto& [other, before] : seen) {
      if (path == before && (file.written || other->written)) {
        throw InvalidOption(fmt::format("{} and {} are the same file, {}; files of their own are accepted",
                                        other->option, file.option, *file.name));
      }
    }
    seen.emplace_back(&file, path);
  }
}

Outcome run_measure(const MeasureArguments& arguments, const CommonOptions& common) {
  const bool exchange = !arguments.ask.empty() || !arguments.tell.empty();
  if (exchange == !arguments.truth.empty()) {
    throw InvalidOption(
        exchange ? "--truth is for simulation, --ask and --tell are for an instrument; give one of the two"
                 : "nothing to do: give --ask and later --tell for an instrument, or --truth to simulate one");
  }
  check_noise_variance(arguments.noise_variance);
  if (exchange && arguments.state.empty()) {
    throw InvalidOption("--ask and --tell need --state FILE, which holds what was measured from one call to the next");
  }
  if (exchange && (!arguments.curve.empty() || !arguments.pictures.empty() || arguments.steps)) {
    throw InvalidOption("--curve, --pictures and --steps are for simulation, with --truth");
  }
  check_files(arguments);
  const Measuring measuring = read_measuring(arguments);
  return exchange ? run_exchange(arguments, measuring, common) : run_simulation(arguments, measuring, common);
}

void add_measure_options(CLI::App& app, MeasureArguments& arguments) {
  const auto file = [&app](const std::string& name, std::string& value, const std::string& help) {
    return app.add_option(name, value, help)->type_name("FILE");
  };
  const auto count = [&app](const std::string& name, auto& value, Index lowest, const std::string& help) {
    app.add_option(name, value, help)->check(CLI::Range(lowest, Index{1} << 30))->type_name("COUNT");
  };
  file("--problem", arguments.problem, "Problem file: its design and sites are the signal's sparsity prior")
      ->required();
  app.add_option("--noise-variance", arguments.noise_variance, "Of a measurement")->required()->type_name("NUMBER");
  app.add_option("--propose", arguments.propose,
                 "eigen:K, greedy:K (default: greedy:1), random:K or candidates:FILE, rows of D numbers")
      ->type_name("RULE");
  count("--per-step", arguments.per_step, 1, "Candidates, or random rows, a step (default: 1)");
  file("--groups", arguments.groups, "A number for each candidate row: rows with the same one are measured together");
  app.add_flag("--repeats", arguments.repeats, "Candidates may be measured again");
  app.add_option("--method", arguments.method, "kl (default), vb or ep; any that ends in a Gaussian")
      ->type_name("NAME");
  app.add_option("--set", arguments.set, "An option of the method, NAME=VALUE; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  count("--refit", arguments.refit, 1, "Steps from one fit to the next (default: 1)");
  file("--state", arguments.state, "State of the run, written after every step; resumed when it exists");
  file("--ask", arguments.ask, "Writes the rows to measure next, one a line");
  file("--tell", arguments.tell, "Reads what the rows last asked for measured, one number a line");
  file("--truth", arguments.truth, "A signal to simulate: numbers, or a picture (.pgm) mapped to [-1, 1]");
  count("--initial", arguments.initial, 0,
        "Random rows, or candidates, to begin with (default: 100, or as many as weights; 0 with --ask)");
  count("--steps", arguments.steps, 0, "Steps of the simulation after these (default: 200)");
  file("--curve", arguments.curve, "measurements,error,gain,log_evidence,iterations,seconds: a line a step");
  app.add_option("--pictures", arguments.pictures, "Folder for reconstructions of a .pgm truth, as PNG")
      ->type_name("DIR");
  count("--picture-every", arguments.picture_every, 1, "Measurements from one picture to the next (default: 300)");
  file("--mean", arguments.mean, "Mean and standard deviation of every weight in the end: mean,sd");
}

}  // namespace

Command add_design_measure(CLI::App& root, CommonOptions& common) {
  CLI::App* app =
      design_group(root)->add_subcommand("measure", "Sequential design: choose where to measure a signal next");
  auto arguments = std::make_shared<MeasureArguments>();
  add_measure_options(*app, *arguments);
  add_common(*app, common, true);
  app->footer(
      "A run that was killed goes on from its state file and chooses what it would have chosen.\n\n"
      "Examples:\n"
      "  gaussmith design measure --problem model.json --noise-variance 0.005 --propose greedy:3 --state run.state \\\n"
      "                           --ask rows.csv          (measure these rows into y.csv, then)\n"
      "  gaussmith design measure ... --state run.state --tell y.csv --ask rows.csv\n"
      "  gaussmith design measure --problem model.json --noise-variance 0.005 --propose greedy:3 --truth image.pgm \\\n"
      "                           --initial 100 --steps 200 --curve curve.csv --state run.state");
  return {app, [arguments, &common] { return run_measure(*arguments, common); }};
}

}  // namespace gaussmith::app
