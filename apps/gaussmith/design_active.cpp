// gaussmith design active: which rows of a table to label next.

#include "command.hpp"
#include "design_shared.hpp"
#include "gaussmith/active.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "run_control.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace gaussmith::app {

namespace {

using Json = nlohmann::ordered_json;

struct DesignArguments {
  std::string train, test, state, curve, selected;
  std::string score = "uncertainty";
  std::string prior = "gaussian";
  double variance = 1.0;
  double scale = 1.0;
  std::string method = "vb";
  std::vector<std::string> set;
  ActiveOptions options;
  bool reference = false;
  bool single = false;
};

/// Pool and test with labels -1 and 1.
struct DesignTables {
  Table pool, test;
  TargetCoding coding;
  Vector pool_labels;
};

DesignTables read_tables(const DesignArguments& arguments) {
  DesignTables out;
  out.pool = read_table(arguments.train, {.format = TableFormat::svmlight, .single = arguments.single});
  out.coding = make_target_coding(out.pool, "", ResponseKind::sign);
  out.pool_labels = out.coding.encode(out.pool);
  out.test = read_table(arguments.test, {.format = TableFormat::svmlight,
                                         .features = out.pool.features.cols(),
                                         .ignore_larger_indices = true,
                                         .single = arguments.single});
  return out;
}

ActiveOptions chosen_options(const DesignArguments& arguments) {
  ActiveOptions out = arguments.options;
  out.score = active_score(arguments.score);
  out.method = design_method(arguments.method, arguments.set, {{"vb.tolerance", "1e-4"}},
                             "the prior has --prior-variance and --prior-scale");
  if (arguments.prior == "laplace") {
    out.prior = LaplaceWeights{arguments.scale};
  } else if (arguments.prior == "gaussian") {
    out.prior = GaussianWeights{arguments.variance};
  } else {
    throw InvalidOption(fmt::format("unknown prior \"{}\"{}; gaussian and laplace are accepted", arguments.prior,
                                    suggestion(arguments.prior, std::vector<std::string>{"gaussian", "laplace"})));
  }
  return out;
}

/// Points of the curve from `first` on, one a line.
std::string curve_text(const std::vector<ActivePoint>& curve, std::size_t first, char separator) {
  std::string out;
  for (std::size_t k = first; k < curve.size(); ++k) {
    out += fmt::format("{1}{0}{2}{0}{3}{0}{4:.3f}\n", separator, curve[k].labels, curve[k].test_error,
                       curve[k].test_log_loss, curve[k].seconds);
  }
  return out;
}

/// Line of the table for each label, in the order in which they were asked for.
std::string selected_text(const DesignTables& tables, const ActiveState& state, char separator) {
  std::string out = fmt::format("order{0}line{0}label\n", separator);
  for (std::size_t k = 0; k < state.selected.size(); ++k) {
    out += fmt::format("{1}{0}{2}{0}{3}\n", separator, k + 1,
                       tables.pool.lines[static_cast<std::size_t>(state.selected[k])],
                       csv_text(tables.coding.label(state.labels[k]), separator));
  }
  return out;
}

std::string to_json(const DesignArguments& arguments, const ActiveState& state, const ActivePoint* reference) {
  Json out;
  out["format"] = "gaussmith-active-result/1";
  out["score"] = arguments.score;
  out["labels"] = state.selected.size();
  out["selected"] = state.selected;
  const ActivePoint& last = state.curve.back();
  out["test_error"] = last.test_error;
  out["test_log_loss"] = last.test_log_loss;
  out["seconds"] = {{"total", state.seconds}, {"fits", state.fit_seconds}, {"scores", state.score_seconds}};
  out["unconverged"] = state.unconverged;
  if (reference != nullptr) {
    out["reference"] = {{"labels", reference->labels},
                        {"test_error", reference->test_error},
                        {"test_log_loss", reference->test_log_loss}};
  }
  return out.dump() + "\n";
}

std::string score_words(const ActivePoint& point) {
  return fmt::format("error {:.2f} %, log loss {:.4f}", 100.0 * point.test_error, point.test_log_loss);
}

std::string to_text(const DesignArguments& arguments, const DesignTables& tables, const ActiveState& state,
                    const ActivePoint* reference) {
  std::string out;
  out += fmt::format("{:<12}{}: {}, {}\n", "Pool", arguments.train, plural(tables.pool.rows(), "row"),
                     plural(tables.pool.features.cols(), "feature"));
  out += fmt::format("{:<12}{}, score {}\n", "Labels",
                     plural(static_cast<std::int64_t>(state.selected.size()), "label"), arguments.score);
  out += fmt::format("{:<12}{} ({})\n", "Test", score_words(state.curve.back()), plural(tables.test.rows(), "row"));
  if (reference != nullptr) {
    out += fmt::format("{:<12}{} with {}\n", "Reference", score_words(*reference), plural(reference->labels, "label"));
  }
  out += fmt::format("{:<12}{:.1f}, of these fits {:.1f}, scores {:.1f}\n", "Seconds", state.seconds, state.fit_seconds,
                     state.score_seconds);
  return out;
}

/// Writes curve and state while the run goes on. The curve grows by whole lines; the state replaces the last one, which
/// takes as long as the disk needs, so not more often than `pause`: a run that goes on from an earlier one chooses the
/// same rows.
class ProgressFiles {
 public:
  ProgressFiles(const DesignArguments& arguments, ActiveIdentity identity)
      : arguments_(&arguments),
        identity_(std::move(identity)),
        separator_(separator_of(arguments.curve)),
        curve_(arguments.curve, fmt::format("labels{0}test_error{0}test_log_loss{0}seconds\n", separator_)) {}

  void write(const ActiveState& state, bool last) {
    const auto time = std::chrono::steady_clock::now();
    grow_curve(state);
    if (!arguments_->state.empty() && (last || !written_ || time - *written_ >= pause)) {
      write_file(arguments_->state, format_active_state(state, identity_));
      keep_state();
      written_ = std::chrono::steady_clock::now();
    }
  }

 private:
  static constexpr std::chrono::milliseconds pause{500};

  void grow_curve(const ActiveState& state) {
    curve_.append(curve_text(state.curve, points_, separator_));
    points_ = state.curve.size();
  }

  const DesignArguments* arguments_;
  ActiveIdentity identity_;
  char separator_;
  GrowingTable curve_;
  std::size_t points_ = 0;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

Outcome run_design(const DesignArguments& arguments, const CommonOptions& common) {
  const ActiveOptions options = chosen_options(arguments);
  const DesignTables tables = read_tables(arguments);
  const ActivePool pool{tables.pool.features, [&](Index row) { return tables.pool_labels(row); }};
  const ActiveTest test{tables.test.features, tables.coding.encode(tables.test)};
  const ActiveIdentity identity = active_identity(options, common.seed, tables.pool, &tables.test);
  Outcome outcome;
  if (!tables.coding.note.empty()) {
    outcome.notes.push_back(tables.coding.note);
  }
  if (tables.test.ignored_entries > 0) {
    outcome.notes.push_back(fmt::format("{}: {} of features that the pool does not have left out", arguments.test,
                                        plural(tables.test.ignored_entries, "entry")));
  }

  ActiveState state;
  if (!arguments.state.empty() && std::filesystem::exists(arguments.state)) {
    state = load_active_state(arguments.state, identity);
    outcome.notes.push_back(fmt::format("{}: goes on from {}", arguments.state,
                                        plural(static_cast<std::int64_t>(state.selected.size()), "label")));
  }
  RunControl control(common, "fit");
  const Run run = control.run();
  ProgressFiles files(arguments, identity);
  const auto write = [&](const ActiveState& at) {
    stop_if_interrupted();
    files.write(at, false);
    return Next::proceed;
  };
  state = learn_actively(pool, test, options, run, std::move(state), write);
  stop_if_interrupted();
  files.write(state, true);
  if (!arguments.selected.empty()) {
    write_file(arguments.selected, selected_text(tables, state, separator_of(arguments.selected)));
  }
  std::optional<ActivePoint> reference;
  if (arguments.reference) {
    reference = learn_from_all(pool, test, options, run);
  }
  if (state.unconverged > 0) {
    outcome.code = exit_not_converged;
    outcome.warnings.push_back(fmt::format("{} did not converge", plural(state.unconverged, "fit")));
  }
  const ActivePoint* const all = reference ? &*reference : nullptr;
  outcome.output = common.json ? to_json(arguments, state, all) : to_text(arguments, tables, state, all);
  return outcome;
}

void add_options(CLI::App& app, DesignArguments& arguments) {
  const auto file = [&app](const std::string& name, std::string& value, const std::string& help) {
    return app.add_option(name, value, help)->type_name("FILE");
  };
  const auto count = [&app](const std::string& name, Index& value, const std::string& help) {
    app.add_option(name, value, help)->check(CLI::Range(Index{1}, Index{1} << 30))->type_name("COUNT");
  };
  file("--train", arguments.train, "LIBSVM table of the rows that can be labelled; a label counts once it is chosen")
      ->required();
  file("--test", arguments.test, "LIBSVM table that judges the classifier")->required();
  app.add_option("--score", arguments.score, "uncertainty (default), information-gain or random")->type_name("NAME");
  count("--initial", arguments.options.initial, "Rows drawn at random to begin with (default: 100)");
  count("--block", arguments.options.block, "Labels from one fit to the next (default: 3)");
  count("--labels", arguments.options.labels, "Labels at the end (default: 1000)");
  count("--every", arguments.options.every, "Labels between points of the curve (default: a point for each fit)");
  file("--state", arguments.state, "State of the run, written as it goes; resumed when it exists");
  file("--curve", arguments.curve, "Learning curve: labels,test_error,test_log_loss,seconds");
  file("--selected", arguments.selected, "Lines of the table in the order of their labels: order,line,label");
  app.add_option("--prior", arguments.prior, "Prior of the weights: gaussian (default) or laplace")->type_name("NAME");
  app.add_option("--prior-variance", arguments.variance, "Variance of gaussian weights (default: 1)")
      ->type_name("NUMBER");
  app.add_option("--prior-scale", arguments.scale, "Scale of laplace weights (default: 1)")->type_name("NUMBER");
  app.add_option("--method", arguments.method, "vb (default, to 1e-4), kl, laplace or ep")->type_name("NAME");
  app.add_option("--set", arguments.set, "An option of the method, NAME=VALUE; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  app.add_option("--lanczos", arguments.options.lanczos,
                 "Variances of the pool from that many steps of Lanczos' recursion (default: 0, exact ones)")
      ->check(CLI::Range(0, 100000))
      ->type_name("STEPS");
  app.add_flag("--single", arguments.single,
               "Keep the values of both tables in single precision: 8 bytes each, not 12");
  app.add_flag("--reference", arguments.reference, "Also fit all rows of the pool, and show what they lead to");
}

}  // namespace

Command add_design_active(CLI::App& root, CommonOptions& common) {
  CLI::App* app = design_group(root)->add_subcommand("active", "Active learning: choose the rows of a pool to label");
  auto arguments = std::make_shared<DesignArguments>();
  add_options(*app, *arguments);
  add_common(*app, common, true);
  app->footer(
      "A run that was killed goes on from its state file and chooses what it would have chosen.\n\n"
      "Example:\n"
      "  gaussmith design active --train pool.svm --test test.svm --score uncertainty --initial 100 --block 3 \\\n"
      "                          --labels 5000 --state run.state --curve curve.csv");
  return {app, [arguments, &common] { return run_design(*arguments, common); }};
}

}  // namespace gaussmith::app
