#include "command.hpp"
#include "fit_network.hpp"
#include "fit_options.hpp"
#include "fit_summary.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/starts.hpp"
#include "gaussmith/table_model.hpp"
#include "prepared_model.hpp"
#include "report_lines.hpp"
#include "run_control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace gaussmith::app {

namespace {

/// What inference, or learning and inference, gave.
struct Fitted {
  std::optional<Learned> learned;
  std::optional<Posterior> inferred;
  std::optional<Integrated> integrated;
  std::optional<ChosenInducing> chosen;
  std::optional<TrustCard> card;
  std::optional<MarginalContent> marginals;
  std::optional<Vector> probability_of_one;  ///< By Tierney and Kadane, at the points of a problem.
  double seconds = 0.0;

  [[nodiscard]] const Posterior& posterior() const { return learned ? learned->posterior : *inferred; }
  [[nodiscard]] const LearnReport* learning() const { return learned ? &learned->report : nullptr; }
  [[nodiscard]] const Integrated* integration() const { return integrated ? &*integrated : nullptr; }
  [[nodiscard]] bool usable() const { return posterior().report().status != Status::numerical_failure; }
  [[nodiscard]] SavedModel saved(TableCoding coding) const {
    SavedModel out = integrated ? saved_model(*learned, *integrated, std::move(coding))
                     : learned  ? saved_model(*learned, std::move(coding))
                                : saved_model(*inferred, std::move(coding));
    if (card) {
      out.trust = SavedTrust{card->verdict, card->reasons, card->advice};
    }
    return out;
  }
};

bool all_gaussian(const std::vector<Sites>& sites) {
  return std::all_of(sites.begin(), sites.end(), [](const Sites& block) { return block->traits().gaussian; });
}

bool has_inducing(const Model& model) {
  const auto* process = std::get_if<GaussianProcess>(&model.prior);
  return process != nullptr && process->inducing;
}

std::string chosen_method(const FitArguments& arguments, const std::optional<Problem>& problem) {
  if (!arguments.method.empty()) {
    return arguments.method;
  }
  const LikelihoodInfo* likelihood = find_likelihood(arguments.table.model.likelihood);
  if (!problem && arguments.table.model.prior == "laplace") {
    return likelihood == nullptr || likelihood->traits.super_gaussian ? "vb" : "ep";
  }
  if (arguments.inducing > 0 || (problem && (problem->selection || has_inducing(problem->model)))) {
    return "kl";
  }
  // Several latents: the tightest bound where there is one, else what the likelihood names first.
  const SiteTraits* traits = problem                 ? &problem->model.sites.front()->traits()
                             : likelihood != nullptr ? &likelihood->traits
                                                     : nullptr;
  if (traits != nullptr && !traits->methods.empty()) {
    const auto& methods = traits->methods;
    return std::find(methods.begin(), methods.end(), "kl") != methods.end() ? "kl" : methods.front();
  }
  const bool gaussian =
      problem ? all_gaussian(problem->model.sites) : likelihood != nullptr && likelihood->traits.gaussian;
  return gaussian ? "exact" : "laplace";
}

CoreForm core_form(const std::string& name) {
  if (name == "covariance") {
    return CoreForm::covariance;
  }
  if (name == "precision") {
    return CoreForm::precision;
  }
  if (name == "matrix-free") {
    return CoreForm::matrix_free;
  }
  return name == "sparse" ? CoreForm::sparse : CoreForm::automatic;
}

/// What integration will cost, before it begins.
void announce(const Learned& learned, int fits, const CommonOptions& common) {
  if (common.quiet) {
    return;
  }
  const auto free = std::count_if(learned.report.parameters.begin(), learned.report.parameters.end(),
                                  [](const LearnedParameter& parameter) { return !parameter.fixed; });
  fmt::print(stderr, "gaussmith: note: integrating over {}: about {} fits, {} x {:.2g} s{}\n",
             plural(free, "parameter"), fits, fits, learned.posterior.report().seconds,
             free == 3 || free == 4 ? "; a part of them if their posterior is near normal" : "");
  std::fflush(stderr);
}

Fitted run_method(const Model& model, const std::optional<InducingSelection>& selection, const Method& method,
                  const FitArguments& arguments, const Settings& settings, const CommonOptions& common) {
  Fitted fitted;
  const auto start = std::chrono::steady_clock::now();
  RunControl control(common, arguments.learn ? "learning" : std::string(name_of(method)));
  Run run = control.run();
  run.form = core_form(arguments.form);
  if (is_sampler(method)) {
    keep_draws();
  }
  if (arguments.learn) {
    IntegrateOptions options =
        integrate_options(learn_options(model, arguments.learning, settings.learning), settings.integration);
    options.leave_one_out = arguments.leave_one_out;
    const int fits = arguments.integrate ? integration_fits(model, options) : 0;
    std::vector<std::string> given;
    given.reserve(settings.parameters.size());
    for (const Assignment& set : settings.parameters) {
      given.push_back(set.name);
    }
    const bool table = arguments.problem.empty();
    const Model first = table ? started_inside(model, options.learning, given) : model;
    if (selection) {
      LearnedInducing found = learn_inducing(first, *selection, method, options.learning, run);
      fitted.learned = std::move(found.learned);
      fitted.chosen = std::move(found.chosen);
    } else {
      fitted.learned = learn(first, method, options.learning, run);
    }
    const auto& parameters = fitted.learned->report.parameters;
    const bool anything = std::any_of(parameters.begin(), parameters.end(), [](const auto& p) { return !p.fixed; });
    if (arguments.integrate && !anything) {
      fitted.learned->report.warnings.emplace_back("--integrate has no effect: no parameter is free");
    } else if (arguments.integrate && fitted.usable()) {
      announce(*fitted.learned, fits, common);
      RunControl integrating(common, "integrating, fit");
      run.progress = integrating.run().progress;
      fitted.integrated = integrate(*fitted.learned, options, run);
    }
  } else if (selection) {
    fitted.chosen = choose_inducing(model, *selection, run);
    fitted.inferred = infer(fitted.chosen->model, method, run);
  } else {
    fitted.inferred = infer(model, method, run);
  }
  fitted.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fitted;
}

/// What else is asked of a fit that there is.
struct Questions {
  std::optional<DiagnoseOptions> card;
  std::optional<MarginalRequest> marginals;
  bool tierney_kadane = false;
};

/// Takes --set predict.probability=tierney-kadane out of the settings.
bool take_tierney_kadane(const FitArguments& arguments, const Method& method, Settings& settings) {
  const auto asks = [](const Assignment& set) {
    return set.name == "predict.probability" && set.value == "tierney-kadane";
  };
  if (std::none_of(settings.prediction.begin(), settings.prediction.end(), asks)) {
    return false;
  }
  const std::string option = "--set predict.probability=tierney-kadane";
  if (!std::holds_alternative<Laplace>(method)) {
    throw InvalidOption(fmt::format("{}: it goes with --method laplace, not {}", option, name_of(method)));
  }
  if (arguments.problem.empty()) {
    throw InvalidOption(option + ": it needs the points beside the rows; give them in predict of a --problem");
  }
  std::erase_if(settings.prediction, asks);
  return true;
}

Questions take_questions(const FitArguments& arguments, const Method& method, Settings& settings) {
  Questions questions;
  if (!arguments.diagnose && !settings.diagnosis.empty()) {
    throw InvalidOption(fmt::format("--set {} has an effect only with --diagnose", settings.diagnosis.front().name));
  }
  if (arguments.marginals.empty() && !settings.marginals.empty()) {
    throw InvalidOption(fmt::format("--set {} has an effect only with --marginals", settings.marginals.front().name));
  }
  if (arguments.diagnose) {
    if (is_sampler(method)) {
      throw InvalidOption(fmt::format(
          "--diagnose: {} samples and brings diagnostics of its own; it goes with a Gaussian method", name_of(method)));
    }
    questions.card = diagnose_options(settings.diagnosis);
  }
  if (!arguments.marginals.empty()) {
    questions.marginals = marginal_request(arguments.marginals, settings.marginals);
    if (!std::holds_alternative<Laplace>(method) && !std::holds_alternative<Ep>(method) &&
        !std::holds_alternative<Exact>(method)) {
      throw InvalidOption(
          fmt::format("--marginals: {} has none beyond its Gaussian; use laplace or ep", name_of(method)));
    }
  }
  questions.tierney_kadane = take_tierney_kadane(arguments, method, settings);
  return questions;
}

/// Rows and weights that do not exist are refused before the fit.
void check_questions(const Questions& questions, const Prepared& prepared) {
  if (questions.tierney_kadane && !prepared.prediction) {
    throw InvalidOption("--set predict.probability=tierney-kadane: the problem asks for no prediction");
  }
  if (!questions.marginals) {
    return;
  }
  const Index rows = prepared.data_rows > 0 ? prepared.data_rows : prepared.model.rows();
  const auto check = [](const std::vector<Index>& places, Index count, const char* what) {
    for (const Index place : places) {
      if (place >= count) {
        throw InvalidOption(fmt::format("--marginals: there is no {} {}; there are 0 to {}", what, place, count - 1));
      }
    }
  };
  check(questions.marginals->options.rows, rows, "row");
  check(questions.marginals->options.weights, prepared.model.dimension(), "weight");
  if (questions.marginals->worst > rows) {
    throw InvalidOption(
        fmt::format("--marginals worst:{}: there are {} only", questions.marginals->worst, plural(rows, "row")));
  }
  if (questions.marginals->predictions && !prepared.prediction) {
    throw InvalidOption("--marginals predictions: there are none; they come with predict of a --problem");
  }
  if (prepared.model.latents.count > 1) {
    throw InvalidOption("--marginals: rows with several latents have none beyond the Gaussian");
  }
}

MarginalContent find_marginals(const MarginalRequest& request, const Prepared& prepared, const Posterior& posterior,
                               const Run& run) {
  MarginalContent out{request.options, {}};
  const Index rows = prepared.data_rows > 0 ? prepared.data_rows : posterior.model().rows();
  const auto add_all = [](std::vector<Index>& places, Index count) {
    places.clear();
    for (Index i = 0; i < count; ++i) {
      places.push_back(i);
    }
  };
  if (request.all_rows) {
    add_all(out.options.rows, rows);
  } else if (request.worst > 0) {
    for (const Index row : most_skewed_rows(posterior, request.worst, rows)) {
      out.options.rows.push_back(row);
    }
  }
  if (request.all_weights) {
    add_all(out.options.weights, posterior.model().dimension());
  }
  if (request.predictions) {
    out.options.points = prepared.prediction->points;
  }
  out.found = corrected_marginals(posterior, out.options, run);
  return out;
}

void answer(const Questions& questions, const Prepared& prepared, const CommonOptions& common, Fitted& fitted) {
  if (!questions.card && (!fitted.usable() || (!questions.marginals && !questions.tierney_kadane))) {
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  RunControl control(common, "diagnosing");
  const Run run = control.run();
  if (questions.card) {
    fitted.card = diagnose(fitted.posterior(), *questions.card, run);
  }
  if (questions.marginals && fitted.usable()) {
    fitted.marginals = find_marginals(*questions.marginals, prepared, fitted.posterior(), run);
  }
  if (questions.tierney_kadane && fitted.usable()) {
    fitted.probability_of_one = tierney_kadane_probability(fitted.posterior(), prepared.prediction->points, run);
  }
  fitted.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The moments of the rows of the first block of sites.
Marginals first_block(const Marginals& rows, const Sites& block) {
  const Index values = block->size() * block->width();
  return {rows.mean.head(values), rows.variance.head(values),
          rows.covariance.head(block->width() > 1 ? values * block->width() : 0)};
}

/// What the fit says of the rows of its first block of sites.
Prediction predicted_rows(const Fitted& fitted) {
  const Integrated* integrated = fitted.integration();
  if (integrated == nullptr) {
    const Sites& block = fitted.posterior().model().sites.front();
    return {first_block(fitted.posterior().latent(), block), block};
  }
  std::vector<Prediction> parts;
  Vector weights(static_cast<Index>(integrated->points.size()));
  for (const IntegrationPoint& point : integrated->points) {
    const Sites block = integrated->model.with_parameters(point.gaussian.parameters).sites.front();
    weights(static_cast<Index>(parts.size())) = point.gaussian.weight;
    parts.emplace_back(first_block(point.latent, block), block);
  }
  return Prediction::mixture(std::move(parts), std::move(weights));
}

/// Of the data alone: several blocks of a problem have no scores, those below the rows of a table are its prior.
std::optional<Scores> training_scores(const Fitted& fitted, Index data_rows, const ProbabilityGoal& goal) {
  const Posterior& posterior = fitted.posterior();
  const Model& model = posterior.model();
  if ((model.sites.size() != 1 && data_rows == 0) || posterior.report().status == Status::numerical_failure) {
    return std::nullopt;
  }
  return score(predicted_rows(fitted), model.sites.front()->responses(), goal);
}

/// Coefficients and effects of groups, where the model has them.
struct Effects {
  std::vector<Coefficient> coefficients;
  std::vector<GroupEffects> groups;
  std::vector<FieldEffects> fields;
};

Effects find_effects(const Prepared& prepared, const Fitted& fitted, const FitArguments& arguments) {
  if (!arguments.problem.empty() || !fitted.usable()) {
    return {};
  }
  if (const Integrated* integrated = fitted.integration()) {
    return {coefficients(*integrated, prepared.coding, arguments.level), group_effects(*integrated, prepared.coding),
            field_effects(*integrated, prepared.coding)};
  }
  return {coefficients(fitted.posterior(), prepared.coding, arguments.level),
          group_effects(fitted.posterior(), prepared.coding), field_effects(fitted.posterior(), prepared.coding)};
}

/// What is wrong with a default noise that the residuals contradict; empty where nothing is.
std::string noise_warning(const Posterior& posterior, const FitArguments& arguments, const Settings& settings) {
  const Model& model = posterior.model();
  const bool given = std::any_of(settings.parameters.begin(), settings.parameters.end(), [](const Assignment& set) {
    return set.name == "likelihood.variance" || set.name == "sites[0].variance";
  });
  const SiteBlock& block = *model.sites.front();
  if (arguments.learn || given || !arguments.problem.empty() || !block.traits().gaussian) {
    return {};
  }
  constexpr double factor = 3.0;
  const double assumed = std::sqrt(block.parameters().front().values[0]);
  const Vector residuals = block.responses() - posterior.latent().mean.head(block.size());
  const double seen = std::sqrt(residuals.squaredNorm() / static_cast<double>(block.size()));
  if (seen < factor * assumed && seen * factor > assumed) {
    return {};
  }
  return fmt::format(
      "residuals have a standard deviation of {:.3g}, but the noise was taken to have {:.3g} (its default): all "
      "standard "
      "deviations and the evidence rest on that; use --learn or --set likelihood.variance",
      seen, assumed);
}

/// Groups with one row a level beside a noise that is learned too: what belongs to which, the data cannot say.
std::vector<std::string> level_warnings(const Prepared& prepared, const Fitted& fitted) {
  const LearnReport* learning = fitted.learning();
  const Model& model = prepared.model;
  const bool counted_alike = model.weights.size() == 0 || (model.weights.array() == 1.0).all();
  if (learning == nullptr || prepared.coding.groups.empty() || !counted_alike) {
    return {};
  }
  const auto is_free = [&](std::string_view start) -> const LearnedParameter* {
    for (const LearnedParameter& parameter : learning->parameters) {
      if (!parameter.fixed && parameter.name.starts_with(start)) {
        return &parameter;
      }
    }
    return nullptr;
  };
  const LearnedParameter* noise = is_free("sites[0].");
  std::vector<std::string> out;
  for (std::size_t t = 0; t < prepared.coding.groups.size() && noise != nullptr; ++t) {
    const GroupCoding& group = prepared.coding.groups[t];
    const LearnedParameter* spread = is_free(fmt::format("random[{}].sd", t));
    if (spread == nullptr || !group.intercept || static_cast<Index>(group.levels.size()) != model.rows()) {
      continue;
    }
    out.push_back(
        fmt::format("every row has a level of its own in ({}): {} and likelihood.{} cannot be told apart, and how the "
                    "variance is split between them means nothing; leave the term out or --fix one of them",
                    group.term, spread->name, noise->name.substr(std::string_view("sites[0].").size())));
  }
  return out;
}

/// Exit code, notes and warnings; the output comes later.
Outcome judge(const Prepared& prepared, const Fitted& fitted) {
  const Report& report = fitted.posterior().report();
  const LearnReport* learning = fitted.learning();
  Outcome outcome;
  outcome.notes = prepared.notes;
  outcome.warnings = prepared.warnings;
  outcome.warnings.insert(outcome.warnings.end(), report.warnings.begin(), report.warnings.end());
  if (learning != nullptr) {
    outcome.warnings.insert(outcome.warnings.end(), learning->warnings.begin(), learning->warnings.end());
  }
  if (fitted.integrated) {
    const auto& said = fitted.integrated->report.warnings;
    outcome.warnings.insert(outcome.warnings.end(), said.begin(), said.end());
  }
  if (!report.converged()) {
    outcome.code = exit_not_converged;
    outcome.warnings.push_back("inference did not converge: " + report.message);
  } else if (learning != nullptr && learning->status != Status::converged) {
    outcome.code = exit_not_converged;
    outcome.warnings.push_back("learning did not converge: " + learning->message);
  }
  return outcome;
}

std::string to_json(const Prepared& prepared, const Fitted& fitted, const FitArguments& arguments,
                    const Effects& effects, const ProbabilityGoal& goal) {
  ResultContent content;
  content.coefficients = effects.coefficients;
  content.groups = effects.groups;
  content.fields = effects.fields;
  content.prediction = prepared.prediction ? &*prepared.prediction : nullptr;
  content.learning = fitted.learning();
  content.integration = fitted.integration();
  content.leave_one_out = arguments.leave_one_out;
  content.seconds = fitted.seconds;
  content.warnings = prepared.warnings;
  content.notes = prepared.notes;
  content.data_rows = prepared.data_rows;
  content.covariances = arguments.full;
  content.classes = arguments.problem.empty() ? prepared.coding.target.classes : std::vector<std::string>();
  content.probability = goal;
  content.inducing = fitted.chosen ? &*fitted.chosen : nullptr;
  content.trust = fitted.card ? &*fitted.card : nullptr;
  content.marginals = fitted.marginals ? &*fitted.marginals : nullptr;
  content.probability_of_one = fitted.probability_of_one ? &*fitted.probability_of_one : nullptr;
  const std::optional<Scores> training = training_scores(fitted, prepared.data_rows, goal);
  content.training = training ? &*training : nullptr;
  return result_json(fitted.posterior(), content);
}

std::string to_text(const Prepared& prepared, const Fitted& fitted, const FitArguments& arguments,
                    const Effects& effects, const ProbabilityGoal& goal) {
  FitSummary summary = prepared.summary;
  summary.coefficients = effects.coefficients;
  summary.groups = effects.groups;
  summary.fields = effects.fields;
  summary.level = arguments.level;
  summary.posterior = &fitted.posterior();
  summary.learning = fitted.learning();
  summary.integration = fitted.integration();
  summary.data_rows = prepared.data_rows;
  summary.one_likelihood = prepared.data_rows > 0 || fitted.posterior().model().sites.size() == 1;
  summary.training = training_scores(fitted, prepared.data_rows, goal);
  summary.seconds = fitted.seconds;
  if (arguments.leave_one_out && fitted.usable()) {
    const Integrated* integrated = fitted.integration();
    summary.leave_one_out = integrated != nullptr && integrated->left_out
                                ? integrated->left_out->log_density
                                : fitted.posterior().leave_one_out().log_density;
    if (prepared.data_rows > 0) {
      summary.leave_one_out->conservativeResize(prepared.data_rows);
    }
  }
  summary.card = fitted.card ? &*fitted.card : nullptr;
  summary.marginals = fitted.marginals ? &*fitted.marginals : nullptr;
  summary.saved = fitted.usable() ? arguments.save : std::string();
  return summarise(summary);
}

/// The prior of a table as sites: options of learning call the parameters by what they are in the model, and those that
/// are data stay.
void name_prior_sites(const Prepared& prepared, FitArguments& arguments, Settings& settings) {
  if (!std::holds_alternative<NoGaussian>(prepared.model.prior) || prepared.data_rows == 0) {
    return;
  }
  const auto rename = [](std::string& text) {
    constexpr std::string_view short_form = "likelihood.";
    if (text.starts_with("prior.")) {
      throw InvalidOption(
          fmt::format("{}: of a laplace prior learning sees only sites[1].scale, the scale of all coefficients where "
                      "--set prior.variance gives them one; else each has its own, which is kept",
                      text));
    }
    if (text.starts_with(short_form)) {
      text.replace(0, short_form.size(), "sites[0].");
    }
  };
  for (auto* const texts : {&arguments.learning.fixed, &arguments.learning.bounds, &arguments.learning.hyperpriors}) {
    std::for_each(texts->begin(), texts->end(), rename);
  }
  arguments.learning.fixed.insert(arguments.learning.fixed.end(), prepared.kept_parameters.begin(),
                                  prepared.kept_parameters.end());
  std::erase_if(settings.parameters, [](const Assignment& set) { return set.name == "prior.scale"; });
  for (Assignment& set : settings.parameters) {
    if (set.name == "prior.variance") {
      set.name = "sites[1].scale";
    }
    rename(set.name);
  }
}

/// --set inducing.learn=true: whether the inducing inputs are learned, too.
bool take_inducing_setting(const FitArguments& arguments, Settings& settings) {
  constexpr std::string_view name = "inducing.learn";
  bool learns = false;
  for (const Assignment& set : settings.parameters) {
    if (set.name != name) {
      continue;
    }
    if (arguments.inducing == 0 || !arguments.learn) {
      throw InvalidOption(fmt::format("--set {}: it goes with --inducing and --learn", name));
    }
    if (set.value != "true" && set.value != "false") {
      throw InvalidOption(fmt::format("--set {}={}: expected true or false", name, set.value));
    }
    learns = set.value == "true";
  }
  std::erase_if(settings.parameters, [&](const Assignment& set) { return set.name == name; });
  return learns;
}

/// Options that say something about several latents a row need a model that has them.
void check_latents(const Model& model, const FitArguments& arguments, const Settings& settings) {
  if (model.latents.count > 1) {
    return;
  }
  const std::string option = arguments.full                 ? "--full"
                             : !settings.prediction.empty() ? "--set " + settings.prediction.front().name
                                                            : "";
  if (!option.empty()) {
    throw InvalidOption(option + " has an effect only on models of several classes; this one has one latent a row");
  }
}

Outcome run_fit(FitArguments arguments, const CommonOptions& common) {
  arguments.learn = arguments.learn || arguments.integrate;
  check_usage(arguments);
  std::optional<Problem> problem;
  if (!arguments.problem.empty()) {
    problem = read_problem(arguments.problem);
  }
  if (is_network(arguments, problem)) {
    return fit_network(arguments, std::move(problem), common);
  }
  const bool problem_given = problem.has_value();
  const std::string method_name = chosen_method(arguments, problem);
  Settings settings = sort_settings(parse_assignments("--set", arguments.set), method_name);
  const bool learns_inputs = take_inducing_setting(arguments, settings);
  const Method method = make_method(method_name, settings.method_options);
  const Questions questions = take_questions(arguments, method, settings);
  if (!arguments.learn && !settings.learning.empty()) {
    throw InvalidOption(fmt::format("--set {} has an effect only with --learn", settings.learning.front().name));
  }
  if (!arguments.integrate && !settings.integration.empty()) {
    throw InvalidOption(fmt::format("--set {} has an effect only with --integrate", settings.integration.front().name));
  }
  Prepared prepared = problem
                          ? prepare_problem(arguments.problem, std::move(*problem), settings, !arguments.save.empty())
                          : prepare_table(arguments.table, arguments.learn, settings);
  name_prior_sites(prepared, arguments, settings);
  check_latents(prepared.model, arguments, settings);
  const ProbabilityGoal goal = probability_goal(settings.prediction, {.seed = common.seed, .threads = common.threads});
  check_rule(goal, prepared.model.latents.count);
  if (arguments.inducing > 0) {
    prepared.selection = InducingSelection{.count = arguments.inducing};
    if (auto* process = std::get_if<GaussianProcess>(&prepared.model.prior); process != nullptr && learns_inputs) {
      process->inducing = Inducing{.learn = true};
    }
    if (arguments.inducing_select == name_of(InducingChoice::random)) {
      prepared.selection->select = InducingChoice::random;
    }
  }
  if (prepared.selection && !std::holds_alternative<Kl>(method)) {
    throw InvalidOption(fmt::format("{}: {} knows no inducing variables; use --method kl",
                                    problem_given ? "prior.inducing.count" : "--inducing", method_name));
  }
  check_questions(questions, prepared);
  Fitted fitted = run_method(prepared.model, prepared.selection, method, arguments, settings, common);
  if (fitted.chosen) {
    prepared.notes.push_back(fitted.chosen->how);
  }

  answer(questions, prepared, common, fitted);
  if (fitted.usable()) {
    if (std::string warning = noise_warning(fitted.posterior(), arguments, settings); !warning.empty()) {
      prepared.warnings.push_back(std::move(warning));
    }
    for (std::string& warning : level_warnings(prepared, fitted)) {
      prepared.warnings.push_back(std::move(warning));
    }
  }
  Outcome outcome = judge(prepared, fitted);
  stop_if_interrupted();
  if (!arguments.save.empty() && !fitted.usable()) {
    outcome.warnings.push_back("no model was saved: there is no usable fit");
  }
  const Effects effects = find_effects(prepared, fitted, arguments);
  if (!arguments.coefficients.empty() && effects.coefficients.empty()) {
    throw InvalidOption(
        "--coefficients: the model has none; give --prior isotropic or laplace, fixed effects or --formula");
  }
  outcome.output = common.json ? to_json(prepared, fitted, arguments, effects, goal)
                               : to_text(prepared, fitted, arguments, effects, goal);
  if (!arguments.coefficients.empty()) {
    const std::string table = coefficient_csv(effects.coefficients, separator_of(arguments.coefficients));
    begin_writing();
    write_file(arguments.coefficients, table);
  }
  // Last, so that whatever fails before leaves no file behind.
  if (!arguments.save.empty() && fitted.usable()) {
    const std::string saved = format_saved_model(fitted.saved(std::move(prepared.coding)));
    begin_writing();
    write_file(arguments.save, saved);
  }
  return outcome;
}

}  // namespace

Command add_fit(CLI::App& root, CommonOptions& common) {
  CLI::App* app = root.add_subcommand("fit", "Build a model from a table or a problem file, infer, report, save");
  auto arguments = std::make_shared<FitArguments>();
  add_fit_options(*app, *arguments);
  add_common(*app, common, true);
  app->footer(
      "Parameters that nothing sets: without --learn they are 1 (nu: 4), and a note says so; with --learn they start\n"
      "from the data (noise at half the sd of the responses, length-scales at the spread of the features).\n\n"
      "Examples:\n"
      "  gaussmith fit --data train.csv --target y --likelihood bernoulli-logit --prior isotropic --standardize\n"
      "  gaussmith fit --data counts.csv --target deaths --exposure expected --likelihood poisson --kernel matern32 "
      "\\\n"
      "                --learn --restarts 3 --save model.gsm\n"
      "  gaussmith fit --data noisy.csv --target y --likelihood student-t --fix likelihood.nu --learn\n"
      "  gaussmith fit --data noisy.csv --target y --likelihood student-t --method ep --learn --loo\n"
      "  gaussmith fit --data noisy.csv --target y --likelihood gaussian --integrate --save model.gsm\n"
      "  gaussmith fit --data rare.csv --target y --likelihood bernoulli-logit --prior isotropic --diagnose\n"
      "  gaussmith fit --data iris.csv --target species --likelihood multinomial-logit --kernel se-ard --learn\n"
      "  gaussmith fit --data train.csv --target y --likelihood gaussian --prior network --save model.gsm\n"
      "  gaussmith fit --data wide.csv --target y --likelihood gaussian --prior sparse-linear\n"
      "  gaussmith fit --problem problem.json --method laplace --set laplace.tolerance=1e-10 --json");
  return {app, [arguments, &common] { return run_fit(*arguments, common); }};
}

}  // namespace gaussmith::app
