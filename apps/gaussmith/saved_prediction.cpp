#include "saved_prediction.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gaussmith::app {

void add_saved_options(CLI::App& app, SavedArguments& arguments) {
  app.add_flag("--population", arguments.population, "Leave the effects of groups and fields out for all rows");
  app.add_option("--new-levels", arguments.new_levels,
                 "Rows of a group that was never seen: population (effect 0 with its variance; default) or error")
      ->check(CLI::IsMember({"population", "error"}))
      ->type_name("NAME");
  app.add_option("--set", arguments.set,
                 "NAME=VALUE, of several classes: predict.probability (auto, quadrature, qmc), predict.tolerance; may "
                 "be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
}

SavedPrediction predict_saved(const SavedArguments& arguments, bool observed, const CommonOptions& common) {
  const ProbabilityGoal goal =
      probability_goal(parse_assignments("--set", arguments.set), {.seed = common.seed, .threads = common.threads});
  SavedModel model = load_model(arguments.model);
  if (!arguments.set.empty() && !arguments.compared && model.fitted.latents.count == 1) {
    throw InvalidOption(fmt::format("--set {} has an effect only on models of several classes; {} has one latent a row",
                                    arguments.set.front(), arguments.model));
  }
  if (arguments.population && !arguments.compared && model.coding.groups.empty() && model.coding.fields.empty()) {
    throw InvalidOption(
        fmt::format("--population: {} has no effects of groups or fields that could be left out", arguments.model));
  }
  check_rule(goal, model.fitted.latents.count);
  Table table = read_table(arguments.data, reading_options(model.coding, arguments.keep));
  try {
    TablePrediction predicted = predict_table(model, std::move(table),
                                              {.observed = observed,
                                               .drop_missing = arguments.drop_missing,
                                               .population = arguments.population,
                                               .refuse_new_levels = arguments.new_levels == "error",
                                               .keep = arguments.keep,
                                               .threads = common.threads});
    if (!model.converged) {
      predicted.warnings.insert(predicted.warnings.begin(),
                                fmt::format("{} was saved from a fit that had not converged", arguments.model));
    }
    if (model.trust && model.trust->verdict != Verdict::trust) {
      predicted.notes.push_back(fmt::format("the card of {} says {}: {}{}", arguments.model,
                                            to_string(model.trust->verdict), fmt::join(model.trust->reasons, "; "),
                                            model.trust->advice.empty() ? "" : "; " + model.trust->advice));
    }
    return {std::move(model), std::move(predicted), goal};
  } catch (const InvalidModel& error) {
    throw InvalidFile(fmt::format("{}: {}", arguments.model, error.what()));
  }
}

}  // namespace gaussmith::app
