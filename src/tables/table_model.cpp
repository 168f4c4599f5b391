#include "gaussmith/table_model.hpp"

#include "base/spelling.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/kernel_expression.hpp"
#include "io/text.hpp"
#include "model/prior.hpp"
#include "tables/coded_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr const char* default_kernel = "se";

const LikelihoodInfo& likelihood_of(const TableModelOptions& options) {
  if (const LikelihoodInfo* found = find_likelihood(options.likelihood)) return *found;
  std::vector<std::string> names;
  for (const LikelihoodInfo& info : likelihood_catalogue()) names.push_back(info.traits.name);
  throw InvalidOption(fmt::format("{}: unknown likelihood \"{}\"; accepted: {}",
                                  option_name("likelihood", options.spelling), options.likelihood,
                                  fmt::join(names, ", ")));
}

/// The option that names the column of an argument: "--exposure" on the command line.
std::string column_option(const std::string& argument, Spelling spelling) {
  return spelling == Spelling::command_line ? option_name(argument, spelling)
                                            : fmt::format("argument_columns.{}", argument);
}

double sd_of(const Vector& values) {
  const double variance = (values.array() - values.mean()).square().mean();
  const double sd = std::sqrt(variance);
  return std::isfinite(sd) && sd > 1e-12 ? sd : 1.0;
}

/// The settings of parameters, each to be taken by the part of the model that has it.
class Settings {
 public:
  explicit Settings(const TableModelOptions& options) : spelling_(options.spelling) {
    for (const ParameterSetting& setting : options.parameters) open_.push_back(&setting);
  }

  /// Hands every open setting to `take`, which answers whether the parameter is its own.
  template <class Take>
  void offer(const Take& take) {
    std::erase_if(open_, [&](const ParameterSetting* setting) { return take(*setting); });
  }

  /// The one number set for a parameter under either of its names; nothing if none is.
  std::optional<double> number(const std::string& name, const std::string& other_name = {}) {
    std::optional<double> found;
    offer([&](const ParameterSetting& setting) {
      if (setting.name != name && setting.name != other_name) return false;
      const std::vector<double> values = numbers(setting);
      if (values.size() != 1) {
        throw InvalidOption(fmt::format("{} takes one number", setting_name(name, spelling_)));
      }
      found = values.front();
      return true;
    });
    return found;
  }

  [[nodiscard]] std::vector<double> numbers(const ParameterSetting& setting) const {
    return setting.values.empty() ? parse_numbers(setting.text, setting_name(setting.name, spelling_)) : setting.values;
  }

  /// Throws InvalidOption for the first setting that nothing took, listing what there is.
  void refuse_open(const Model& model) const {
    if (open_.empty()) return;
    constexpr std::string_view first_block = "sites[0].";
    std::vector<std::string> names;
    for (const Parameter& parameter : model.parameters()) {
      names.push_back(parameter.name.starts_with(first_block)
                          ? "likelihood." + parameter.name.substr(first_block.size())
                          : parameter.name);
    }
    for (const auto& info : method_catalogue()) {
      for (const auto& option : info.options) names.push_back(option.name);
    }
    throw InvalidOption(fmt::format("{}: there is no such parameter; accepted: {}",
                                    setting_name(open_.front()->name, spelling_), fmt::join(names, ", ")));
  }

 private:
  std::vector<const ParameterSetting*> open_;
  Spelling spelling_;
};

class Builder {
 public:
  explicit Builder(const TableModelOptions& options)
      : options_(options), likelihood_(likelihood_of(options)), settings_(options) {}

  TableModel build(Table table) {
    check_columns(table);
    choose_rows(std::move(table));
    code_features();
    observe_responses();
    if (is_process()) {
      build_process();
    } else {
      build_linear();
    }
    out_.model.offset = row_offset(out_.coding, table_);
    settings_.refuse_open(out_.model);
    out_.model.validate();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_process() const { return options_.prior == "gp"; }
  [[nodiscard]] bool has_intercept() const { return !is_process() && options_.intercept; }
  [[nodiscard]] std::string name(std::string_view field) const { return option_name(field, options_.spelling); }

  /// Columns other than features, with the option that names each: target, row-wise arguments, offset.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> named_columns() const {
    std::vector<std::pair<std::string, std::string>> named = {{name("target"), options_.target}};
    for (const ColumnArgument& known : column_arguments()) {
      if (const auto found = options_.argument_columns.find(known.info->name);
          found != options_.argument_columns.end()) {
        named.emplace_back(column_option(found->first, options_.spelling), found->second);
      }
    }
    named.emplace_back(options_.spelling == Spelling::command_line ? "--offset" : "offset_column",
                       options_.offset_column);
    std::erase_if(named, [](const auto& entry) { return entry.second.empty(); });
    return named;
  }

  void check_columns(const Table& table) const {
    if (table.is_sparse) {
      if (const auto named = named_columns(); !named.empty()) {
        throw InvalidOption(fmt::format("{} {}: a LIBSVM table has one label a row and no named columns",
                                        named.front().first, named.front().second));
      }
      if (!options_.features.empty()) {
        throw InvalidOption(
            fmt::format("{}: a LIBSVM table has no named columns; all features are used", name("features")));
      }
    } else if (options_.target.empty()) {
      std::vector<std::string> names;
      for (const Column& column : table.columns) names.push_back(column.name);
      throw InvalidOption(fmt::format("{} is missing; {} has the columns {}", name("target"), table.name_in_messages(),
                                      fmt::join(names, ", ")));
    }
  }

  void choose_rows(Table whole) {
    for (const auto& [option, column] : named_columns()) feature_options_.reserved.push_back(column);
    feature_options_.features = options_.features;
    feature_options_.drop_first_level = has_intercept();
    if (options_.standardize) {
      const bool sparse_design = whole.is_sparse && !is_process();
      feature_options_.scaling = sparse_design ? Scaling::scale : Scaling::standardize;
      if (sparse_design) {
        out_.notes.push_back(fmt::format(
            "{} divides sparse features by their sd and does not centre them, which keeps zeros", name("standardize")));
      }
    }
    std::vector<std::string> used = choose_features(whole, feature_options_);
    used.insert(used.end(), feature_options_.reserved.begin(), feature_options_.reserved.end());
    CompleteRows complete = complete_rows(std::move(whole), used, options_.drop_missing);
    table_ = std::move(complete.table);
    if (!complete.note.empty()) out_.notes.push_back(complete.note);
    out_.coding.training_rows = table_.rows();
  }

  void code_features() {
    FeatureCoding& coding = out_.coding.features;
    coding = make_feature_coding(table_, feature_options_);
    out_.warnings = coding.warnings;
    for (const FeatureColumn& column : coding.columns) {
      if (column.type == ColumnType::text) out_.notes.push_back("column " + column.report());
    }
    if (coding.dimension() == 0 && !has_intercept()) {
      throw InvalidOption(fmt::format("{} has no feature column besides the target; a gp prior needs inputs",
                                      table_.name_in_messages()));
    }
  }

  void observe_responses() {
    TargetCoding& target = out_.coding.target;
    target = make_target_coding(table_, options_.target, likelihood_.traits.response);
    if (!target.note.empty()) out_.notes.push_back(target.note);
    responses_ = target.encode(table_);
    out_.coding.argument_columns = options_.argument_columns;
    out_.coding.offset_column = options_.offset_column;
    site_arguments_ = row_arguments(out_.coding, table_, true);
    std::vector<std::string> defaults;
    for (const SiteArgumentInfo& info : likelihood_.arguments) {
      const std::string parameter = "likelihood." + info.name;
      const bool by_row = site_arguments_.contains(info.name);
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

  /// Where learning starts, half the spread of the responses is taken for noise.
  [[nodiscard]] double starting_value(const SiteArgumentInfo& info) const {
    const double noise = 0.5 * sd_of(responses_);
    if (options_.learning && info.role == ArgumentRole::noise_scale) return noise;
    if (options_.learning && info.role == ArgumentRole::noise_variance) return noise * noise;
    return info.starting_value;
  }

  void note_defaults(std::string_view what, const std::string& defaults) {
    if (options_.learning || defaults.empty()) return;
    const char* cure = options_.spelling == Spelling::command_line ? "use --set, or --learn" : "set them, or learn";
    out_.notes.push_back(fmt::format("{}not given, so set to the default: {} ({})", what, defaults, cure));
  }

  /// The constant eta at which the mean response is that of the data; 0 where no link leads back to it.
  [[nodiscard]] double level() const {
    const double mean = responses_.mean();
    if (likelihood_.link == Link::identity) return mean;
    if (likelihood_.link != Link::log || !(mean > 0.0)) return 0.0;
    double exposure = 1.0;
    for (const SiteArgumentInfo& info : likelihood_.arguments) {
      const auto found = site_arguments_.find(info.name);
      if (info.role == ArgumentRole::exposure && found != site_arguments_.end()) exposure = found->second.mean();
    }
    return std::log(mean / exposure);
  }

  void build_process() {
    GaussianProcess process;
    process.inputs = out_.coding.features.encode_dense(table_);
    const Index columns = process.inputs.cols();
    KernelExpression kernel =
        parse_kernel(options_.kernel.empty() ? default_kernel : options_.kernel, options_.spelling);
    settings_.offer([&](const ParameterSetting& setting) {
      constexpr std::string_view prefix = "kernel.";
      return setting.name.starts_with(prefix) && kernel.set(std::string_view(setting.name).substr(prefix.size()),
                                                            settings_.numbers(setting), columns, options_.spelling);
    });
    if (options_.learning) {
      kernel.start_from(process.inputs, likelihood_.traits.response == ResponseKind::real ? sd_of(responses_) : 1.0);
    }
    note_defaults("kernel parameters ", kernel.defaults());
    process.kernel = kernel.build(columns);
    process.mean = options_.mean ? *options_.mean : level();
    out_.model.prior = std::move(process);
  }

  void build_linear() {
    out_.coding.intercept = has_intercept();
    const Index dimension = out_.coding.features.dimension() + (has_intercept() ? 1 : 0);
    Isotropic prior{.mean = Vector::Zero(dimension), .variance = 1.0};
    if (const auto given = settings_.number("prior.variance")) {
      prior.variance = *given;
    } else {
      note_defaults("", "prior.variance = 1");
    }
    out_.model.prior = std::move(prior);
    put_rows(out_.coding, table_, out_.model.design);
  }

  const TableModelOptions& options_;
  const LikelihoodInfo& likelihood_;
  Settings settings_;
  FeatureOptions feature_options_;
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

void TableModelOptions::check() const {
  const auto name = [&](std::string_view field) { return option_name(field, spelling); };
  const LikelihoodInfo& info = likelihood_of(*this);
  if (prior != "gp" && prior != "isotropic") {
    throw InvalidOption(fmt::format("{}: unknown prior \"{}\"; accepted: gp, isotropic", name("prior"), prior));
  }
  if (prior == "isotropic" && !kernel.empty()) {
    throw InvalidOption(fmt::format("{} belongs to {} gp; an isotropic prior has none", name("kernel"), name("prior")));
  }
  if (prior == "gp" && !intercept) {
    throw InvalidOption(fmt::format("{} belongs to {} isotropic; a gp prior has a constant {}",
                                    spelling == Spelling::command_line ? "--no-intercept" : "intercept = false",
                                    name("prior"), name("mean")));
  }
  if (prior == "isotropic" && mean != 0.0) {
    throw InvalidOption(
        fmt::format("{} belongs to {} gp; an isotropic prior has an intercept", name("mean"), name("prior")));
  }
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
  return Builder(options).build(std::move(table));
}

TableCoding plain_coding(const Model& model, Spelling spelling) {
  const std::string save = option_name("save", spelling);
  if (model.sites.size() != 1) {
    throw InvalidOption(fmt::format("{}: the problem has {} blocks of sites; saved models have one likelihood", save,
                                    model.sites.size()));
  }
  const auto* process = process_of(model.prior);
  if (process != nullptr && !model.design.is_identity()) {
    throw InvalidOption(
        fmt::format("{}: a gp prior under a design other than the identity cannot be predicted from a table", save));
  }
  TableCoding coding;
  const Index columns = process != nullptr ? process->inputs.cols() : model.dimension();
  for (Index j = 0; j < columns; ++j) {
    FeatureColumn column;
    column.name = fmt::format("x{}", j + 1);
    coding.features.columns.push_back(column);
  }
  const SiteBlock& block = *model.sites.front();
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
  if (model.offset.size() > 0) coding.offset_column = "offset";
  coding.training_rows = model.rows();
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

SavedModel saved_model(const Learned& learned, TableCoding coding) {
  SavedModel saved = saved_model(learned.posterior, std::move(coding));
  saved.converged = saved.converged && learned.report.status == Status::converged;
  return saved;
}

}  // namespace gaussmith
