#include "gaussmith/table_model.hpp"

#include "base/memory.hpp"
#include "gaussian/vectors_memory.hpp"
#include "gaussmith/kernel_expression.hpp"
#include "io/text.hpp"
#include "model/prior.hpp"
#include "tables/additive_model.hpp"
#include "tables/additive_rows.hpp"
#include "tables/coded_rows.hpp"
#include "tables/column_sizes.hpp"
#include "tables/laplace_prior.hpp"
#include "tables/network_options.hpp"
#include "tables/settings.hpp"
#include "tables/weighted_moments.hpp"
#include "tables/wide_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace gaussmith {

namespace {

constexpr const char* default_kernel = "se";

const LikelihoodInfo& likelihood_of(const TableModelOptions& options) {
  if (const LikelihoodInfo* found = find_likelihood(options.likelihood)) return *found;
  std::vector<std::string> names;
  for (const LikelihoodInfo& info : likelihood_catalogue()) names.push_back(info.traits.name);
  throw InvalidOption(fmt::format("{}: unknown likelihood \"{}\"{}; accepted: {}",
                                  option_name("likelihood", options.spelling), options.likelihood,
                                  suggestion(options.likelihood, names), fmt::join(names, ", ")));
}

bool is_of_labels(const LikelihoodInfo& likelihood) { return likelihood.traits.response == ResponseKind::label; }

/// How the functions of classes are related, by name.
LatentModel latent_model_of(const TableModelOptions& options) {
  if (options.latent_covariance.empty()) return LatentModel::identity;
  std::vector<std::string> names;
  for (const LatentModel model : {LatentModel::identity, LatentModel::diagonal, LatentModel::centred_diagonal,
                                  LatentModel::centred, LatentModel::full}) {
    if (options.latent_covariance == name_of(model)) return model;
    names.emplace_back(name_of(model));
  }
  throw InvalidOption(fmt::format("{}: unknown model \"{}\"{}; accepted: {}",
                                  option_name("latent_covariance", options.spelling), options.latent_covariance,
                                  suggestion(options.latent_covariance, names), fmt::join(names, ", ")));
}

/// The option that names the column of an argument: "--exposure" on the command line.
std::string column_option(const std::string& argument, Spelling spelling) {
  return spelling == Spelling::command_line ? option_name(argument, spelling)
                                            : fmt::format("argument_columns.{}", argument);
}

PiecewiseBound parse_bound(const std::string& parameter, const std::string& text) {
  try {
    return PiecewiseBound::parse(text);
  } catch (const InvalidModel& error) {
    throw InvalidOption(fmt::format("{}: {}", parameter, error.what()));
  }
}

/// The argument that says which rows are censored; null for a likelihood that knows no censoring.
const SiteArgumentInfo* censoring_of(const LikelihoodInfo& likelihood) {
  for (const SiteArgumentInfo& info : likelihood.arguments)
    if (info.role == ArgumentRole::censoring && info.column) return &info;
  return nullptr;
}

/// Names that predictions always have, and columns named twice, cannot be kept.
void check_kept(const std::vector<std::string>& keep, const std::string& option) {
  constexpr std::array taken = {"row", "latent_mean", "latent_variance", "mean", "variance", "probability", "label"};
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (std::find(taken.begin(), taken.end(), keep[i]) != taken.end()) {
      throw InvalidOption(
          fmt::format("{} {}: predictions have a column of this name; rename that of the table", option, keep[i]));
    }
    if (std::find(keep.begin(), keep.begin() + static_cast<std::ptrdiff_t>(i), keep[i]) !=
        keep.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw InvalidOption(fmt::format("{}: column {} is named twice", option, keep[i]));
    }
  }
}

/// The column that most likely says which times are censored: named so, and with two values, 0 and 1 or 1 and 2.
const Column* likely_events(const Table& table) {
  constexpr std::array names = {"event", "status", "censored", "censor", "cens", "death", "died", "failed"};
  for (const Column& column : table.columns) {
    std::string lower = column.name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (column.type != ColumnType::numeric || std::find(names.begin(), names.end(), lower) == names.end()) continue;
    const double least = column.numbers.minCoeff();
    const bool two_values = (column.numbers.array() == least || column.numbers.array() == least + 1.0).all() &&
                            (least == 0.0 || least == 1.0);
    if (two_values && column.numbers.maxCoeff() > least) return &column;
  }
  return nullptr;
}

class Builder {
 public:
  explicit Builder(const TableModelOptions& options)
      : options_(options), likelihood_(likelihood_of(options)), settings_(options) {}

  TableModel build(Table table) {
    find_terms();
    check_columns(table);
    choose_rows(std::move(table));
    code_features();
    observe_responses();
    out_.model.offset = row_offset(out_.coding, table_);
    if (is_of_labels(likelihood_) && is_additive()) {
      build_linear_classes();
    } else if (is_additive()) {
      build_additive();
    } else if (terms_.kernel) {
      out_.model.prior = process();
    } else {
      build_linear();
    }
    if (is_of_labels(likelihood_)) set_latent_covariance();
    settings_.refuse_open(out_.model);
    out_.model.validate();
    return std::move(out_);
  }

  TableNetwork build_network(Table table) {
    find_terms();
    check_columns(table);
    choose_rows(std::move(table));
    code_features();
    observe_responses();
    const FeatureCoding& features = out_.coding.features;
    NetworkModel model{.inputs = features.encode_dense(table_),
                       .sites = out_.model.sites.front(),
                       .prior = network_prior(options_, features, settings_),
                       .offset = row_offset(out_.coding, table_),
                       .input_names = features.names()};
    check_sizes(*model.inputs, model.input_names, table_);
    model.validate();
    return {.model = std::move(model),
            .coding = std::move(out_.coding),
            .notes = std::move(out_.notes),
            .warnings = std::move(out_.warnings)};
  }

 private:
  [[nodiscard]] bool has_intercept() const {
    if (options_.is_network()) return false;
    const bool has_fixed = !terms_.kernel || !terms_.fixed.empty();
    return terms_.intercept && (has_fixed || !options_.formula.empty());
  }
  /// Isotropic priors have a setting of their own; everything else that has coefficients or groups is additive.
  [[nodiscard]] bool is_additive() const {
    const bool has_terms = !terms_.groups.empty() || !terms_.fixed.empty() || !terms_.fields.empty();
    return (has_terms || !terms_.kernel || has_intercept()) && !is_isotropic();
  }
  [[nodiscard]] bool is_isotropic() const {
    return !terms_.kernel && terms_.groups.empty() && terms_.fields.empty() && settings_.has("prior.variance");
  }
  [[nodiscard]] bool is_laplace() const { return options_.prior == "laplace"; }
  [[nodiscard]] std::string name(std::string_view field) const { return option_name(field, options_.spelling); }

  void require_positive(const char* parameter, double value) const {
    if (!(value > 0.0) || !std::isfinite(value))
      throw InvalidOption(
          fmt::format("{}: found {}; expected a positive number", setting_name(parameter, options_.spelling), value));
  }

  /// What the model adds up, as far as it is known without the table.
  void find_terms() {
    if (!options_.formula.empty()) {
      terms_ = parse_formula(options_.formula, options_.spelling);
    } else {
      terms_.target = options_.target;
      terms_.intercept = options_.intercept;
      for (const std::string& text : options_.random) {
        std::vector<GroupTerm> found = parse_groups(text, options_.spelling);
        terms_.groups.insert(terms_.groups.end(), found.begin(), found.end());
      }
      for (const std::string& text : options_.field) terms_.fields.push_back(parse_field(text, options_.spelling));
      if (options_.is_process())
        terms_.kernel = parse_kernel(options_.kernel.empty() ? default_kernel : options_.kernel, options_.spelling);
    }
    const bool empty =
        !terms_.intercept && terms_.fixed.empty() && terms_.groups.empty() && terms_.fields.empty() && !terms_.kernel;
    if (!options_.formula.empty() && empty)
      throw InvalidOption(
          fmt::format("{} {}: nothing stands on the right but the missing intercept; give a column, a "
                      "group or a kernel, or {} ~ 1 for the intercept alone",
                      name("formula"), options_.formula, terms_.target));
    for (std::size_t t = 0; t < terms_.groups.size(); ++t)
      for (std::size_t s = 0; s < t; ++s)
        if (terms_.groups[s].text == terms_.groups[t].text)
          throw InvalidOption(fmt::format("{} {} is given twice", name("random"), terms_.groups[t].text));
    for (std::size_t k = 0; k < terms_.fields.size(); ++k)
      for (std::size_t s = 0; s < k; ++s)
        if (terms_.fields[s].kind == terms_.fields[k].kind && terms_.fields[s].column == terms_.fields[k].column)
          throw InvalidOption(fmt::format("{} {} is given twice", name("field"), terms_.fields[k].text));
    if (!terms_.fields.empty() && terms_.kernel)
      throw InvalidOption(
          fmt::format("{} {}: a field has a sparse precision and a kernel a dense covariance, which do not go "
                      "together; use rw2 of a "
                      "column in place of a smooth kernel",
                      name("field"), terms_.fields.front().text));
    if (settings_.has("prior.variance") && !options_.coefficient_priors.empty() && !terms_.kernel)
      throw InvalidOption(fmt::format("{} {} and {} both give the prior of a coefficient; keep one, or use {}",
                                      name("coefficient_prior"), options_.coefficient_priors.front().name,
                                      setting_name("prior.variance", options_.spelling),
                                      setting_name("prior.scale", options_.spelling)));
    if (settings_.has("prior.variance") &&
        (terms_.kernel || !terms_.groups.empty() || !terms_.fields.empty() || !options_.formula.empty()))
      throw InvalidOption(fmt::format(
          "{} is the isotropic prior of a linear model alone; beside kernels, groups, fields and formulas use {}",
          setting_name("prior.variance", options_.spelling), setting_name("prior.scale", options_.spelling)));
  }

  /// Columns other than features, with the option that names each: target, row-wise arguments, offset.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> named_columns() const {
    std::vector<std::pair<std::string, std::string>> named = {
        {options_.formula.empty() ? name("target") : name("formula"), terms_.target}};
    for (const ColumnArgument& known : column_arguments()) {
      if (const auto found = options_.argument_columns.find(known.info->name);
          found != options_.argument_columns.end()) {
        named.emplace_back(column_option(found->first, options_.spelling), found->second);
      }
    }
    const auto column_name = [&](std::string_view field) {
      return name(field) + (options_.spelling == Spelling::command_line ? "" : "_column");
    };
    named.emplace_back(column_name("event"), options_.event_column);
    named.emplace_back(column_name("offset"), options_.offset_column);
    named.emplace_back(column_name("weights"), options_.weights_column);
    std::erase_if(named, [](const auto& entry) { return entry.second.empty(); });
    return named;
  }

  void check_columns(const Table& table) const {
    if (table.is_sparse) {
      for (const auto& [option, column] : named_columns()) {
        if (column != terms_.target && table.find(column) != nullptr) continue;
        throw InvalidOption(
            fmt::format("{} {}: a LIBSVM table has one label a row and no named columns", option, column));
      }
      if (!options_.keep.empty()) {
        throw InvalidOption(
            fmt::format("{} {}: a LIBSVM table has no named columns", name("keep"), options_.keep.front()));
      }
      if (!options_.features.empty()) {
        throw InvalidOption(
            fmt::format("{}: a LIBSVM table has no named columns; all features are used", name("features")));
      }
      if (!terms_.groups.empty() || !terms_.fields.empty() ||
          (terms_.kernel && !terms_.kernel->named_columns().empty())) {
        throw InvalidOption(fmt::format("{}: a LIBSVM table has no named columns; terms on columns need a CSV table",
                                        name(!terms_.groups.empty()   ? "random"
                                             : !terms_.fields.empty() ? "field"
                                                                      : "kernel")));
      }
      if (const double least = vectors_memory(table.rows(), table.features.cols());
          !terms_.kernel && least > machine_memory()) {
        throw InvalidOption(fmt::format(
            "{}: {} rows with {} features need at least {}, more than the {} of this machine; every index up "
            "to the largest is a feature",
            table.name_in_messages(), table.rows(), table.features.cols(), memory_in_words(least),
            memory_in_words(machine_memory())));
      }
    } else if (terms_.target.empty()) {
      std::vector<std::string> names;
      for (const Column& column : table.columns) names.push_back(column.name);
      throw InvalidOption(fmt::format("{} is missing; {} has the columns {}", name("target"), table.name_in_messages(),
                                      fmt::join(names, ", ")));
    }
  }

  /// Which columns are inputs of the process and which are fixed effects.
  void sort_features(const Table& whole) {
    if (whole.is_sparse) return;
    if (!options_.formula.empty()) {
      for (const auto& columns : terms_.fixed)
        for (const std::string& column : columns) require_feature(whole, column);
      if (terms_.kernel) inputs_ = terms_.kernel->named_columns();
    } else {
      FeatureOptions choice = feature_options_;
      if (options_.features.empty())
        choice.reserved.insert(choice.reserved.end(), options_.keep.begin(), options_.keep.end());
      for (const GroupTerm& group : terms_.groups)
        for (const std::string& column : group.group)
          if (std::find(options_.features.begin(), options_.features.end(), column) == options_.features.end())
            choice.reserved.push_back(column);
      for (const FieldTerm& field : terms_.fields)
        if (std::find(options_.features.begin(), options_.features.end(), field.column) == options_.features.end())
          choice.reserved.push_back(field.column);
      // A kernel that names its columns, or a group, needs no other feature.
      const bool may_be_none =
          (terms_.kernel && !terms_.kernel->sees_all()) || !terms_.groups.empty() || !terms_.fields.empty();
      const bool none = options_.features.empty() && may_be_none && all_reserved(whole, choice.reserved);
      const std::vector<std::string> features = none ? std::vector<std::string>() : choose_features(whole, choice);
      const std::vector<std::string> named =
          terms_.kernel ? terms_.kernel->named_columns() : std::vector<std::string>();
      const auto is_named = [&](const std::string& f) {
        return std::find(named.begin(), named.end(), f) != named.end();
      };
      if (options_.is_network()) {
        inputs_ = features;
      } else if (terms_.kernel && terms_.kernel->sees_all()) {
        inputs_ = features;
        if (!named.empty()) name_all(*terms_.kernel, features);
        for (const std::string& column : named)
          if (std::find(features.begin(), features.end(), column) == features.end()) inputs_.push_back(column);
      } else {
        inputs_ = named;
        for (const std::string& feature : features)
          if (!is_named(feature)) terms_.fixed.push_back({feature});
      }
    }
    for (const std::string& column : inputs_) require_feature(whole, column);
    for (const GroupTerm& group : terms_.groups) {
      for (const std::string& column : group.group) require_feature(whole, column);
      if (!group.slope.empty()) require_feature(whole, group.slope);
    }
    for (const FieldTerm& field : terms_.fields) require_feature(whole, field.column);
  }

  static bool all_reserved(const Table& table, const std::vector<std::string>& reserved) {
    return std::all_of(table.columns.begin(), table.columns.end(), [&](const Column& column) {
      return std::find(reserved.begin(), reserved.end(), column.name) != reserved.end();
    });
  }

  /// Kernels that name no columns see the features, and not what other kernels name besides.
  static void name_all(KernelExpression& kernel, const std::vector<std::string>& features) {
    if (kernel.terms.empty() && kernel.columns.empty()) kernel.columns = features;
    for (KernelExpression& term : kernel.terms) name_all(term, features);
  }

  void require_feature(const Table& table, const std::string& column) const {
    static_cast<void>(table.column(column));
    if (std::find(feature_options_.reserved.begin(), feature_options_.reserved.end(), column) !=
        feature_options_.reserved.end())
      throw InvalidOption(fmt::format(
          "column \"{}\" cannot be part of a term: it already has another role, such as the target", column));
  }

  void choose_rows(Table whole) {
    for (const std::string& kept : options_.keep) static_cast<void>(whole.column(kept));
    for (const auto& [option, column] : named_columns()) feature_options_.reserved.push_back(column);
    feature_options_.features = options_.features;
    sort_features(whole);
    feature_options_.drop_first_level = has_intercept();
    if (options_.standardize && options_.is_network()) {
      out_.notes.push_back(
          fmt::format("{} changes nothing: a network standardises its inputs itself", name("standardize")));
    } else if (options_.standardize) {
      const bool sparse_design = whole.is_sparse && !terms_.kernel;
      feature_options_.scaling = sparse_design ? Scaling::scale : Scaling::standardize;
      if (sparse_design) {
        out_.notes.push_back(fmt::format(
            "{} divides sparse features by their sd and does not centre them, which keeps zeros", name("standardize")));
      }
    }
    std::vector<std::string> used = inputs_;
    for (const auto& columns : terms_.fixed) used.insert(used.end(), columns.begin(), columns.end());
    for (const GroupTerm& group : terms_.groups) {
      used.insert(used.end(), group.group.begin(), group.group.end());
      if (!group.slope.empty()) used.push_back(group.slope);
    }
    for (const FieldTerm& field : terms_.fields) used.push_back(field.column);
    used.insert(used.end(), feature_options_.reserved.begin(), feature_options_.reserved.end());
    CompleteRows complete = complete_rows(std::move(whole), used, options_.drop_missing);
    table_ = std::move(complete.table);
    if (!complete.note.empty()) out_.notes.push_back(complete.note);
    out_.coding.training_rows = table_.rows();
    out_.coding.keep = options_.keep;
    if (!options_.weights_column.empty()) out_.model.weights = weight_column(table_, options_.weights_column);
    feature_options_.weights = out_.model.weights;
  }

  void code_features() {
    FeatureCoding& coding = out_.coding.features;
    out_.coding.intercept = has_intercept();
    if (is_additive()) {
      out_.coding.fixed = table_.is_sparse
                              ? std::vector<FixedTerm>()
                              : code_fixed(terms_, has_intercept(), !options_.formula.empty(), table_, out_.warnings);
      out_.coding.groups = code_groups(terms_.groups, name("random"), table_);
      out_.coding.fields = code_fields(terms_.fields, options_, table_, out_.notes);
      for (const FixedTerm& term : out_.coding.fixed)
        if (term.columns.size() == 1) note_text(term.columns.front());
      feature_options_.drop_first_level = false;
    }
    std::vector<std::string> columns = inputs_;
    if (is_isotropic())
      for (const auto& term : terms_.fixed) columns.push_back(term.front());
    if (columns.empty() && !table_.is_sparse) {
      if (terms_.kernel) {
        throw InvalidOption(fmt::format("{} has no feature column besides the target; a gp prior needs inputs",
                                        table_.name_in_messages()));
      }
      return;
    }
    feature_options_.features = columns;
    coding = make_feature_coding(table_, feature_options_);
    if (options_.is_network()) drop_mirrored_levels(coding);
    out_.warnings.insert(out_.warnings.end(), coding.warnings.begin(), coding.warnings.end());
    for (const FeatureColumn& column : coding.columns) note_text(column);
    if (terms_.kernel) place_columns();
  }

  /// Of two levels the second column says all: the first is its mirror image, also when standardised.
  static void drop_mirrored_levels(FeatureCoding& coding) {
    for (FeatureColumn& column : coding.columns)
      column.drop_first_level = column.type == ColumnType::text && column.levels.size() == 2;
  }

  void note_text(const FeatureColumn& column) {
    if (column.type == ColumnType::text) out_.notes.push_back("column " + column.report());
  }

  /// Where the columns that kernels name stand among the coded inputs.
  void place_columns() {
    terms_.kernel->place_columns([&](const std::string& wanted) {
      std::vector<Index> places;
      Index first = 0;
      for (const FeatureColumn& column : out_.coding.features.columns) {
        for (Index j = 0; j < column.width() && column.name == wanted; ++j) places.push_back(first + j);
        first += column.width();
      }
      return places;
    });
  }

  void observe_responses() {
    TargetCoding& target = out_.coding.target;
    target = make_target_coding(table_, terms_.target, likelihood_.traits.response, options_.classes);
    if (!target.note.empty()) out_.notes.push_back(target.note);
    responses_ = target.encode(table_);
    if (!table_.is_sparse) check_sizes(responses_, {terms_.target}, table_);
    out_.coding.argument_columns = options_.argument_columns;
    out_.coding.offset_column = options_.offset_column;
    if (const SiteArgumentInfo* censoring = censoring_of(likelihood_);
        censoring != nullptr && !options_.event_column.empty()) {
      out_.coding.argument_columns[censoring->name] = options_.event_column;
      out_.coding.inverted_arguments = {censoring->name};
    }
    warn_of_events();
    site_arguments_ = row_arguments(out_.coding, table_, true);
    if (is_of_labels(likelihood_)) {
      out_.model.latents.count = static_cast<Index>(target.classes.size());
      out_.model.latents.model = latent_model_of(options_);
      site_arguments_["classes"] = one(static_cast<double>(target.classes.size()));
    }
    std::vector<std::string> defaults;
    for (const SiteArgumentInfo& info : likelihood_.arguments) {
      const std::string parameter = "likelihood." + info.name;
      if (info.kind == ArgumentKind::bound) {
        if (const auto given = settings_.text(parameter, "sites[0]." + info.name))
          site_arguments_[info.name] = one(parse_bound(parameter, *given).code());
        continue;
      }
      const bool by_row = site_arguments_.contains(info.name);
      if (options_.is_network() && info.learnable) {
        site_arguments_[info.name] = one(info.starting_value);  // The noise variance, which a network does not know.
        continue;
      }
      if (const auto given = settings_.number(parameter, "sites[0]." + info.name)) {
        if (by_row) {
          throw InvalidOption(fmt::format("{} and {} both give {}; keep one",
                                          setting_name(parameter, options_.spelling),
                                          column_option(info.name, options_.spelling), info.name));
        }
        site_arguments_[info.name] = one(*given);
      } else if (!by_row && info.required) {
        if (!info.learnable) {
          throw InvalidOption(
              fmt::format("the likelihood {} needs {}: give {} COLUMN or {}=VALUE", likelihood_.traits.name, info.name,
                          column_option(info.name, options_.spelling), setting_name(parameter, options_.spelling)));
        }
        site_arguments_[info.name] = one(starting_value(info));
        defaults.push_back(fmt::format("{} = {:.6g}", parameter, site_arguments_[info.name][0]));
      }
    }
    note_defaults("", fmt::format("{}", fmt::join(defaults, ", ")));
    out_.model.sites = {observe(likelihood_.traits.name, responses_, site_arguments_)};
  }

  /// Every time would be taken for an event, and the column that knows better for a feature or for nothing.
  void warn_of_events() {
    const SiteArgumentInfo* censoring = censoring_of(likelihood_);
    if (censoring == nullptr || out_.coding.argument_columns.contains(censoring->name)) return;
    const Column* column = likely_events(table_);
    if (column == nullptr || column->name == terms_.target) return;
    out_.warnings.push_back(
        fmt::format("every row is taken for an event, though there is a column {}; if that says which times are "
                    "censored, give {} {} (1 for events) or {} {} (1 for censored rows)",
                    in_quotes(column->name), name("event"), column->name,
                    column_option(censoring->name, options_.spelling), column->name));
  }

  /// Where learning starts, half the spread of the responses is taken for noise.
  [[nodiscard]] double starting_value(const SiteArgumentInfo& info) const {
    const double noise = 0.5 * weighted_sd(responses_, out_.model.weights);
    if (options_.learning && info.role == ArgumentRole::noise_scale) return noise;
    if (options_.learning && info.role == ArgumentRole::noise_variance) return noise * noise;
    return info.starting_value;
  }

  void note_defaults(std::string_view what, const std::string& defaults) {
    if (options_.learning || defaults.empty()) return;
    const char* cure = options_.spelling == Spelling::command_line ? "--set gives others, fit --learn finds them"
                                                                   : "set them, or learn";
    out_.notes.push_back(fmt::format("{}not given, so set to the default: {} ({})", what, defaults, cure));
  }

  /// The constant eta at which the mean response is that of the data; 0 where no link leads back to it.
  [[nodiscard]] double level() const {
    const Vector& weights = out_.model.weights;
    const Vector& offset = out_.model.offset;
    const double mean = weighted_mean(responses_, weights);
    if (likelihood_.link == Link::identity) return offset.size() > 0 ? mean - weighted_mean(offset, weights) : mean;
    if (likelihood_.link != Link::log || !(mean > 0.0)) return 0.0;
    double exposure = 1.0;
    for (const SiteArgumentInfo& info : likelihood_.arguments) {
      const auto found = site_arguments_.find(info.name);
      if (info.role == ArgumentRole::exposure && found != site_arguments_.end())
        exposure = found->second.size() > 1 ? weighted_mean(found->second, weights) : found->second(0);
    }
    if (offset.size() > 0) exposure *= weighted_mean(offset.array().exp().matrix(), weights);
    return std::log(mean / exposure);
  }

  [[nodiscard]] double response_scale() const {
    return likelihood_.traits.response == ResponseKind::real ? weighted_sd(responses_, out_.model.weights) : 1.0;
  }

  /// About how far the latent function goes from the constant mean of the process.
  [[nodiscard]] double latent_scale(double mean) const {
    if (likelihood_.traits.response == ResponseKind::real) {
      const double size = std::sqrt((responses_.array() - mean).square().mean());
      return std::isfinite(size) && size > 1e-12 ? size : 1.0;
    }
    return likelihood_.link == Link::log ? std::hypot(1.0, level() - mean) : 1.0;
  }

  /// One length-scale for columns of very different sizes sees the largest alone.
  void note_scales(const Matrix& inputs, const KernelExpression& kernel) {
    constexpr double most_apart = 100.0;
    if (!shares_lengthscale(kernel) || inputs.cols() < 2 || !kernel.named_columns().empty()) return;
    const std::vector<std::string> names = out_.coding.features.names();
    Index smallest = -1, largest = -1;
    Vector sds(inputs.cols());
    for (Index j = 0; j < inputs.cols(); ++j) {
      sds(j) = std::sqrt((inputs.col(j).array() - inputs.col(j).mean()).square().mean());
      if (!(sds(j) > 0.0)) continue;
      if (smallest < 0 || sds(j) < sds(smallest)) smallest = j;
      if (largest < 0 || sds(j) > sds(largest)) largest = j;
    }
    if (smallest < 0 || !(sds(largest) > most_apart * sds(smallest))) return;
    out_.notes.push_back(
        fmt::format("columns differ in scale by a factor of {:.2g} ({} against {}), and one length-scale sees only the "
                    "largest: {}, or a "
                    "kernel with one a feature (se-ard)",
                    sds(largest) / sds(smallest), names[static_cast<std::size_t>(largest)],
                    names[static_cast<std::size_t>(smallest)], name("standardize")));
  }

  [[nodiscard]] static bool shares_lengthscale(const KernelExpression& kernel) {
    if (!kernel.terms.empty()) return std::any_of(kernel.terms.begin(), kernel.terms.end(), shares_lengthscale);
    const bool stationary = kernel.name == "se" || kernel.name == "rq" || kernel.name.starts_with("matern");
    const auto given = kernel.arguments.find("lengthscale");
    return stationary && !kernel.ard && (given == kernel.arguments.end() || given->second.size() < 2);
  }

  [[nodiscard]] GaussianProcess process() {
    GaussianProcess process;
    process.inputs = out_.coding.features.encode_dense(table_);
    check_sizes(process.inputs, out_.coding.features.names(), table_, fmt::format(", or {}", name("standardize")));
    const Index columns = process.inputs.cols();
    KernelExpression& kernel = *terms_.kernel;
    settings_.offer([&](const ParameterSetting& setting) {
      constexpr std::string_view prefix = "kernel.";
      return setting.name.starts_with(prefix) && kernel.set(std::string_view(setting.name).substr(prefix.size()),
                                                            settings_.numbers(setting), columns, options_.spelling);
    });
    process.mean = has_intercept() ? 0.0 : options_.mean ? *options_.mean : level();
    if (options_.learning) {
      const double scale = has_intercept() ? response_scale() : latent_scale(process.mean);
      kernel.start_from(process.inputs, scale, responses_);
      note_scales(process.inputs, kernel);
    }
    note_defaults("kernel parameters ", kernel.defaults());
    process.kernel = kernel.build(columns);
    return process;
  }

  /// A column that is nearly always zero has a small standard deviation, and its coefficient a wide prior; a row with
  /// many such columns has nearly any latent value then.
  void note_wide_prior(const FixedEffects& fixed) {
    const Index first = has_intercept() ? 1 : 0;
    Vector variance = Vector::Zero(fixed.size());
    Vector ones = Vector::Zero(fixed.size());
    for (Index j = first; j < fixed.size(); ++j) {
      variance(j) = fixed.is_scaled(j) ? fixed.variance(j) : 0.0;
      ones(j) = 1.0;
    }
    const double sd = std::sqrt(out_.model.design.row_squares(variance).mean());
    const double length = out_.model.design.row_squares(ones).mean();
    if (!(sd > widest_latent_sd * response_scale()) || !(length > 0.0)) return;
    const double usual = fixed.scale * response_scale();
    out_.notes.push_back(fmt::format(
        "coefficients of columns that are mostly zero have wide priors, so that an average row has a latent value "
        "of sd {:.2g}; one prior for all columns as they are may predict better: {}={:.2g} makes that sd {:.2g}",
        sd, setting_name("prior.variance", options_.spelling), usual * usual / length, usual));
  }

  [[nodiscard]] AdditiveParts additive_parts() const {
    return {.options = options_,
            .coding = out_.coding,
            .table = table_,
            .sites = out_.model.sites.front(),
            .offset = out_.model.offset,
            .weights = out_.model.weights,
            .response_scale = response_scale()};
  }

  /// Coefficients of one linear function a class, with the priors that one function would have.
  void build_linear_classes() {
    if (!terms_.groups.empty() || !terms_.fields.empty() || terms_.kernel)
      throw InvalidOption(
          fmt::format("{}: a model of several classes has a process or coefficients, not {}", likelihood_.traits.name,
                      !terms_.groups.empty()   ? "effects of groups"
                      : !terms_.fields.empty() ? "fields"
                      : terms_.fixed.empty()   ? "an intercept beside a process; begin the formula with 0 +"
                                               : "both"));
    out_.coding.centres = column_centres(out_.coding, table_, out_.model.weights);
    const FixedEffects fixed = fixed_effects(additive_parts(), settings_, out_.notes);
    require_positive("prior.scale", fixed.scale);
    if (table_.is_sparse) {
      put_rows(out_.coding, table_, out_.model.design);
      note_wide_prior(fixed);
    } else {
      out_.model.design = additive_rows(out_.coding, table_, Groups::known);
    }
    Diagonal prior{.mean = fixed.mean, .variance = Vector(fixed.size())};
    for (Index j = 0; j < fixed.size(); ++j) prior.variance(j) = fixed.variance(j);
    out_.model.prior = std::move(prior);
  }

  /// Parameters of the covariance of the functions that options set: one number, or one for each entry.
  void set_latent_covariance() {
    const std::vector<Parameter> all = out_.model.parameters();
    std::map<std::string, double, std::less<>> values;
    settings_.offer([&](const ParameterSetting& setting) {
      if (!setting.name.starts_with("prior.latent_covariance.")) return false;
      std::vector<std::string> names;
      for (const Parameter& parameter : all)
        if (parameter.name == setting.name ||
            (parameter.name.starts_with(setting.name) && parameter.name[setting.name.size()] == '['))
          names.push_back(parameter.name);
      if (names.empty()) return false;
      const std::vector<double> numbers = settings_.numbers(setting);
      if (numbers.size() != 1 && numbers.size() != names.size())
        throw InvalidOption(fmt::format("{}: found {} numbers for {} parameters",
                                        setting_name(setting.name, options_.spelling), numbers.size(), names.size()));
      for (std::size_t i = 0; i < names.size(); ++i) values[names[i]] = numbers[numbers.size() == 1 ? 0 : i];
      return true;
    });
    if (!values.empty()) out_.model = out_.model.with_parameters(values);
  }

  /// Coefficients with priors on the scale of the data, effects of groups, and a process where kernels ask for one.
  void build_additive() {
    // The level of the data is what the intercept has.
    if (has_intercept() && options_.mean.value_or(0.0) != 0.0)
      throw InvalidOption(fmt::format("{}: the model has an intercept", name("mean")));
    Additive prior;
    const AdditiveParts parts = additive_parts();
    out_.coding.centres = column_centres(out_.coding, table_, out_.model.weights);
    prior.fixed = fixed_effects(parts, settings_, out_.notes);
    std::string defaults;
    prior.random = random_effects(parts, settings_, defaults);
    std::vector<std::string> of_fields;
    prior.fields = markov_fields(terms_.fields, parts, settings_, of_fields);
    if (!of_fields.empty()) defaults += fmt::format("{}{}", defaults.empty() ? "" : ", ", fmt::join(of_fields, ", "));
    note_defaults("", defaults);
    if (terms_.kernel) {
      prior.process = process();
    } else if (!has_intercept()) {
      out_.coding.constant = options_.mean ? *options_.mean : level();
    }
    const Index values = prior.process ? table_.rows() : 0;
    if (table_.is_sparse) {
      put_rows(out_.coding, table_, out_.model.design);
      note_wide_prior(prior.fixed);
    } else {
      out_.model.design = additive_rows(out_.coding, table_, Groups::known, values);
      if (is_wide(out_.coding) && out_.model.design.cols() == prior.fixed.size()) note_wide_prior(prior.fixed);
    }
    if (out_.coding.constant != 0.0) {
      if (out_.model.offset.size() == 0) out_.model.offset = Vector::Zero(table_.rows());
      out_.model.offset.array() += out_.coding.constant;
    }
    if (is_laplace()) {
      require_positive("prior.scale", prior.fixed.scale);
      out_.kept_parameters = put_laplace_prior(prior.fixed, LaplaceScale::by_coefficient, out_.model);
      return;
    }
    out_.model.prior = std::move(prior);
  }

  /// w ~ N(0, prior.variance I) over the columns as they are, or Laplace priors of that variance.
  void build_linear() {
    const FeatureCoding& features = out_.coding.features;
    const std::string cure = fmt::format(", or {}", name("standardize"));
    if (is_wide(features))
      check_sizes(*features.encode_sparse(table_).entries().sparse, features.names(), table_, cure);
    else if (!table_.is_sparse)
      check_sizes(features.encode_dense(table_), features.names(), table_, cure);
    const Index dimension = out_.coding.features.dimension() + (has_intercept() ? 1 : 0);
    const double variance = settings_.number("prior.variance").value();
    put_rows(out_.coding, table_, out_.model.design);
    if (is_laplace()) {
      require_positive("prior.variance", variance);
      const FixedEffects all{.mean = Vector::Zero(dimension),
                             .sd = Vector::Ones(dimension),
                             .scaled = std::vector<bool>(static_cast<std::size_t>(dimension), true),
                             .scale = std::sqrt(variance)};
      out_.kept_parameters = put_laplace_prior(all, LaplaceScale::shared, out_.model);
      return;
    }
    out_.model.prior = Isotropic{.mean = Vector::Zero(dimension), .variance = variance};
  }

  const TableModelOptions& options_;
  const LikelihoodInfo& likelihood_;
  Settings settings_;
  FeatureOptions feature_options_;
  ModelTerms terms_;
  std::vector<std::string> inputs_;  // Columns of the process.
  Table table_;
  Vector responses_;
  SiteArguments site_arguments_;
  TableModel out_;
};

}  // namespace

std::vector<double> parse_numbers(std::string_view text, std::string_view name) {
  std::vector<double> all;
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    const Cell cell = parse_cell(rest.substr(0, comma));
    if (cell.kind != CellKind::number) {
      throw InvalidOption(fmt::format("{}={}: \"{}\" is not a number; give finite numbers separated by commas", name,
                                      text, rest.substr(0, comma)));
    }
    all.push_back(cell.value);
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

bool TableModelOptions::is_network() const { return prior == "network" || prior == "sparse-linear"; }

bool TableModelOptions::is_process() const {
  if (!prior.empty()) return prior == "gp";
  return !kernel.empty() || (random.empty() && field.empty());
}

void TableModelOptions::check() const {
  const auto name = [&](std::string_view option) { return option_name(option, spelling); };
  const LikelihoodInfo& info = likelihood_of(*this);
  if (!prior.empty() && prior != "gp" && prior != "isotropic" && prior != "linear" && prior != "laplace" &&
      !is_network()) {
    throw InvalidOption(fmt::format(
        "{}: unknown prior \"{}\"; accepted: gp, isotropic (also called linear), laplace, network, sparse-linear",
        name("prior"), prior));
  }
  if (is_network()) {
    check_network(*this, info);
  } else if (units || !weight_prior.empty()) {
    throw InvalidOption(fmt::format("{} belongs to {} network{}", name(units ? "units" : "weight_prior"), name("prior"),
                                    units ? "" : " and sparse-linear"));
  }
  const char* const this_prior = prior == "laplace" ? "a laplace prior" : "an isotropic prior";
  if (prior == "laplace" && !random.empty()) {
    throw InvalidOption(fmt::format("{} {}: {} laplace is a linear model alone, without groups; use {} linear",
                                    name("random"), random.front(), name("prior"), name("prior")));
  }
  if (prior == "laplace" && !field.empty()) {
    throw InvalidOption(fmt::format("{} {}: {} laplace is a linear model alone, without fields; use {} linear",
                                    name("field"), field.front(), name("prior"), name("prior")));
  }
  if (!formula.empty()) {
    const char* other = !target.empty()     ? "target"
                        : !features.empty() ? "features"
                        : !prior.empty()    ? "prior"
                        : !kernel.empty()   ? "kernel"
                        : !random.empty()   ? "random"
                        : !field.empty()    ? "field"
                        : !intercept        ? "no_intercept"
                                            : nullptr;
    if (other != nullptr)
      throw InvalidOption(fmt::format("{} says that already; leave {} out", name("formula"), name(other)));
    static_cast<void>(parse_formula(formula, spelling));
  }
  for (const std::string& text : random) static_cast<void>(parse_groups(text, spelling));
  for (const std::string& text : field) static_cast<void>(parse_field(text, spelling));
  const bool linear = formula.empty() && !is_process();
  if (linear && !kernel.empty()) {
    throw InvalidOption(fmt::format("{} belongs to {} gp; {} has none", name("kernel"), name("prior"), this_prior));
  }
  if (formula.empty() && is_process() && !intercept &&
      parse_kernel(kernel.empty() ? default_kernel : kernel, spelling).sees_all()) {
    throw InvalidOption(fmt::format("{} belongs to {} isotropic; a gp prior has a constant {}",
                                    spelling == Spelling::command_line ? "--no-intercept" : "intercept = false",
                                    name("prior"), name("mean")));
  }
  if (linear && intercept && !is_network() && mean != 0.0) {
    throw InvalidOption(
        fmt::format("{} belongs to {} gp; {} has an intercept", name("mean"), name("prior"), this_prior));
  }
  if (!event_column.empty()) {
    const std::string event = spelling == Spelling::command_line ? "--event" : "event_column";
    const SiteArgumentInfo* censoring = censoring_of(info);
    if (censoring == nullptr) {
      throw InvalidOption(fmt::format("{}: the likelihood {} knows no censoring", event, info.traits.name));
    }
    if (argument_columns.contains(censoring->name)) {
      throw InvalidOption(fmt::format("{} and {} both say which rows are censored; keep one", event,
                                      column_option(censoring->name, spelling)));
    }
  }
  if (is_of_labels(info)) {
    static_cast<void>(latent_model_of(*this));
    const char* const without = prior == "laplace"       ? "prior laplace"
                                : !random.empty()        ? "random"
                                : !field.empty()         ? "field"
                                : !offset_column.empty() ? "offset"
                                                         : nullptr;
    if (without != nullptr)
      throw InvalidOption(fmt::format("{}: models of several classes ({}) do not have it yet{}", name(without),
                                      info.traits.name,
                                      offset_column.empty() ? "" : "; what all classes share changes nothing"));
  } else if (!classes.empty() || !latent_covariance.empty()) {
    throw InvalidOption(fmt::format(
        "{}: the likelihood {} has one latent function a row; several classes are for multinomial-logit and "
        "multinomial-probit",
        name(classes.empty() ? "latent_covariance" : "classes"), info.traits.name));
  }
  check_kept(keep, name("keep"));
  for (const auto& [argument, column] : argument_columns) {
    const SiteArgumentInfo* found = info.find(argument);
    if (found == nullptr || !found->column) {
      throw InvalidOption(fmt::format("{}: the likelihood {} has no {}{}", column_option(argument, spelling),
                                      info.traits.name, argument, found == nullptr ? "" : " by row"));
    }
  }
}

TableModel build_table_model(Table table, const TableModelOptions& options) {
  options.check();
  if (options.is_network()) {
    throw InvalidOption(fmt::format("{} {}: {}", option_name("prior", options.spelling), options.prior,
                                    options.spelling == Spelling::command_line
                                        ? "networks go with `gaussmith fit` and its method ep alone"
                                        : "build_table_network() makes networks"));
  }
  return Builder(options).build(std::move(table));
}

TableNetwork build_table_network(Table table, const TableModelOptions& options) {
  options.check();
  if (!options.is_network()) {
    throw InvalidOption(fmt::format("{}: expected network or sparse-linear, found \"{}\"",
                                    option_name("prior", options.spelling), options.prior));
  }
  return Builder(options).build_network(std::move(table));
}

namespace {

/// Columns x1, x2, ..., the target y, row-wise arguments and the offset under their own names.
TableCoding numbered_coding(Index columns, const SiteBlock& block, bool has_offset, const std::string& save) {
  TableCoding coding;
  for (Index j = 0; j < columns; ++j) {
    FeatureColumn column;
    column.name = fmt::format("x{}", j + 1);
    coding.features.columns.push_back(column);
  }
  coding.target.column = "y";
  coding.target.kind = block.traits().response;
  if (coding.target.kind == ResponseKind::sign) {
    coding.target.negative = "-1";
    coding.target.positive = "1";
  }
  for (const SiteParameter& parameter : block.parameters()) {
    if (parameter.values.size() <= 1) continue;
    if (find_column_argument(parameter.name) == nullptr) {
      throw InvalidOption(
          fmt::format("{}: {} varies by row, which a saved model cannot ask of new tables", save, parameter.name));
    }
    coding.argument_columns[parameter.name] = parameter.name;
  }
  if (has_offset) coding.offset_column = "offset";
  coding.training_rows = block.size();
  return coding;
}

}  // namespace

TableCoding plain_coding(const NetworkModel& model, Spelling spelling) {
  return numbered_coding(model.inputs.cols(), *model.sites, model.offset.size() > 0, option_name("save", spelling));
}

TableCoding plain_coding(const Model& model, Spelling spelling) {
  const std::string save = option_name("save", spelling);
  if (model.sites.size() != 1) {
    throw InvalidOption(fmt::format("{}: the problem has {} blocks of sites; saved models have one likelihood", save,
                                    model.sites.size()));
  }
  if (std::holds_alternative<Additive>(model.prior)) {
    throw InvalidOption(fmt::format(
        "{}: an additive prior of a problem has no columns that a table could have; fit it from a table", save));
  }
  const auto* process = process_of(model.prior);
  if (process != nullptr && !model.design.is_identity()) {
    throw InvalidOption(
        fmt::format("{}: a gp prior under a design other than the identity cannot be predicted from a table", save));
  }
  if (model.latents.count > 1 && model.offset.size() > 0) {
    throw InvalidOption(
        fmt::format("{}: an offset of several latents a row, which a saved model cannot ask of new tables", save));
  }
  const SiteBlock& block = *model.sites.front();
  TableCoding coding = numbered_coding(process != nullptr ? process->inputs.cols() : model.dimension(), block,
                                       model.offset.size() > 0, save);
  for (Index c = 0; coding.target.kind == ResponseKind::label && c < block.width(); ++c)
    coding.target.classes.push_back(std::to_string(c));
  return coding;
}

SavedModel saved_model(const Posterior& posterior, TableCoding coding) {
  SavedModel saved;
  saved.fitted = posterior.fitted();
  saved.method = name_of(posterior.method());
  saved.log_evidence = posterior.log_evidence();
  saved.converged = posterior.report().converged();
  saved.coding = std::move(coding);
  return saved;
}

SavedModel saved_model(const NetworkPosterior& posterior, TableCoding coding) {
  SavedModel saved;
  saved.network = posterior.fitted();
  saved.method = "ep";
  saved.log_evidence = posterior.log_evidence();
  saved.converged = posterior.report().converged();
  saved.coding = std::move(coding);
  return saved;
}

SavedModel saved_model(const Learned& learned, TableCoding coding) {
  SavedModel saved = saved_model(learned.posterior, std::move(coding));
  saved.converged = saved.converged && learned.report.status == Status::converged;
  return saved;
}

SavedModel saved_model(const Learned& learned, const Integrated& integrated, TableCoding coding) {
  SavedModel saved = saved_model(learned, std::move(coding));
  saved.integration = integrated.mixture();
  return saved;
}

}  // namespace gaussmith
