#include "table_model.hpp"

#include "command.hpp"
#include "gaussmith/errors.hpp"
#include "kernel_expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace gaussmith::app {

namespace {

/// Values of required likelihood arguments that nothing sets; stated in --help.
double documented_default(std::string_view argument) { return argument == "nu" ? 4.0 : 1.0; }

const LikelihoodInfo& find_likelihood(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& info : likelihood_catalogue()) {
    if (info.traits.name == name) {
      return info;
    }
    names.push_back(info.traits.name);
  }
  throw InvalidOption(
      fmt::format("--likelihood: unknown likelihood \"{}\"; accepted: {}", name, fmt::join(names, ", ")));
}

double sd_of(const Vector& values) {
  const double variance = (values.array() - values.mean()).square().mean();
  const double sd = std::sqrt(variance);
  return std::isfinite(sd) && sd > 1e-12 ? sd : 1.0;
}

class Builder {
 public:
  Builder(const TableArguments& arguments, const std::vector<Assignment>& parameters, bool learning)
      : arguments_(arguments), learning_(learning), likelihood_(find_likelihood(arguments.likelihood)) {
    for (const Assignment& assignment : parameters) {
      unused_.push_back(&assignment);
    }
  }

  TableModel build() {
    check_combination();
    read();
    code_features();
    observe_responses();
    if (arguments_.prior == "gp") {
      build_process();
    } else {
      build_linear();
    }
    if (!arguments_.offset.empty()) {
      out_.model.offset = extra_column(table_, arguments_.offset, ExtraKind::offset);
      out_.saved.offset_column = arguments_.offset;
    }
    refuse_unused();
    out_.model.validate();
    describe_data();
    return std::move(out_);
  }

 private:
  void check_combination() const {
    if (arguments_.prior == "isotropic" && !arguments_.kernel.empty()) {
      throw InvalidOption("--kernel belongs to --prior gp; an isotropic prior has none");
    }
    if (arguments_.prior == "gp" && arguments_.no_intercept) {
      throw InvalidOption("--no-intercept belongs to --prior isotropic; a gp prior has a constant --mean");
    }
    if (arguments_.prior == "isotropic" && arguments_.mean != "0") {
      throw InvalidOption("--mean belongs to --prior gp; an isotropic prior has an intercept");
    }
    for (const auto& [argument, column] : argument_columns()) {
      bool known = false;
      for (const auto& info : likelihood_.arguments) {
        known = known || info.name == argument;
      }
      if (!known) {
        throw InvalidOption(
            fmt::format("--{}: the likelihood {} has no {}", argument, likelihood_.traits.name, argument));
      }
    }
  }

  std::map<std::string, std::string, std::less<>> argument_columns() const {
    std::map<std::string, std::string, std::less<>> columns;
    for (const auto& [argument, column] : {std::pair<const char*, const std::string&>{"trials", arguments_.trials},
                                           {"exposure", arguments_.exposure},
                                           {"censored", arguments_.censored}}) {
      if (!column.empty()) {
        columns[argument] = column;
      }
    }
    return columns;
  }

  std::vector<std::string> reserved_columns() const {
    std::vector<std::string> reserved;
    for (const std::string& column :
         {arguments_.target, arguments_.trials, arguments_.exposure, arguments_.censored, arguments_.offset}) {
      if (!column.empty()) {
        reserved.push_back(column);
      }
    }
    return reserved;
  }

  void read() {
    Table whole = read_table(arguments_.data, {.text_columns = arguments_.categorical});
    if (whole.is_sparse) {
      for (const auto& [option, value] : {std::pair<const char*, const std::string&>{"--target", arguments_.target},
                                          {"--trials", arguments_.trials},
                                          {"--exposure", arguments_.exposure},
                                          {"--censored", arguments_.censored},
                                          {"--offset", arguments_.offset}}) {
        if (!value.empty()) {
          throw InvalidOption(
              fmt::format("{} {}: a LIBSVM table has one label a row and no named columns", option, value));
        }
      }
      if (!arguments_.features.empty()) {
        throw InvalidOption("--features: a LIBSVM table has no named columns; all features are used");
      }
    } else if (arguments_.target.empty()) {
      std::vector<std::string> names;
      for (const Column& column : whole.columns) {
        names.push_back(column.name);
      }
      throw InvalidOption(
          fmt::format("--target is missing; {} has the columns {}", arguments_.data, fmt::join(names, ", ")));
    }
    feature_options_.features = arguments_.features;
    feature_options_.reserved = reserved_columns();
    const bool sparse_design = whole.is_sparse && arguments_.prior == "isotropic";
    if (arguments_.standardize) {
      feature_options_.scaling = sparse_design ? Scaling::scale : Scaling::standardize;
      if (sparse_design) {
        out_.notes.push_back(
            "--standardize divides sparse features by their sd and does not centre them, which keeps zeros");
      }
    }
    feature_options_.drop_first_level = arguments_.prior == "isotropic" && !arguments_.no_intercept;
    std::vector<std::string> used = choose_features(whole, feature_options_);
    const auto reserved = reserved_columns();
    used.insert(used.end(), reserved.begin(), reserved.end());
    CompleteRows complete = complete_rows(std::move(whole), used, arguments_.drop_missing);
    table_ = std::move(complete.table);
    if (!complete.note.empty()) {
      out_.notes.push_back(complete.note);
    }
    out_.saved.training_rows = table_.rows();
  }

  void code_features() {
    FeatureCoding& coding = out_.saved.features;
    coding = make_feature_coding(table_, feature_options_);
    out_.warnings.insert(out_.warnings.end(), coding.warnings.begin(), coding.warnings.end());
    for (const FeatureColumn& column : coding.columns) {
      if (column.type == ColumnType::text) {
        FeatureCoding one_column;
        one_column.columns = {column};
        out_.notes.push_back("column " + one_line(one_column.report()));
      }
    }
    if (coding.dimension() == 0 && (arguments_.prior == "gp" || arguments_.no_intercept)) {
      throw InvalidOption(
          fmt::format("{} has no feature column besides the target; a gp prior needs inputs", arguments_.data));
    }
  }

  /// Numbers set for a likelihood argument under any of its names, as likelihood.scale or sites[0].scale.
  std::optional<std::vector<double>> take(const std::string& first, const std::string& second = {}) {
    std::optional<std::vector<double>> found;
    std::erase_if(unused_, [&](const Assignment* assignment) {
      if (assignment->name != first && assignment->name != second) {
        return false;
      }
      found = assignment->numbers();
      return true;
    });
    return found;
  }

  void observe_responses() {
    TargetCoding& target = out_.saved.target;
    target = make_target_coding(table_, arguments_.target, likelihood_.traits.response);
    if (!target.note.empty()) {
      out_.notes.push_back(target.note);
    }
    responses_ = target.encode(table_);
    out_.saved.argument_columns = argument_columns();
    site_arguments_ = row_arguments(table_, out_.saved.argument_columns);
    std::vector<std::string> defaults;
    for (const SiteArgumentInfo& info : likelihood_.arguments) {
      if (const auto given = take("likelihood." + info.name, "sites[0]." + info.name)) {
        if (site_arguments_.contains(info.name)) {
          throw InvalidOption(fmt::format("--set likelihood.{0} and --{0} both give {0}; keep one", info.name));
        }
        if (given->size() != 1) {
          throw InvalidOption(fmt::format("--set likelihood.{} takes one number", info.name));
        }
        site_arguments_[info.name] = one(given->front());
      } else if (!site_arguments_.contains(info.name) && info.required) {
        if (!info.learnable) {
          throw InvalidOption(fmt::format("the likelihood {} needs {}: give --{} COLUMN or --set likelihood.{}=VALUE",
                                          likelihood_.traits.name, info.name, info.name, info.name));
        }
        site_arguments_[info.name] = one(starting_value(info.name));
        defaults.push_back(fmt::format("likelihood.{} = {:.6g}", info.name, site_arguments_[info.name][0]));
      }
    }
    if (!defaults.empty() && !learning_) {
      out_.notes.push_back(
          fmt::format("not given, so set to the default: {} (use --set, or --learn)", fmt::join(defaults, ", ")));
    }
    out_.model.sites = {observe(likelihood_.traits.name, responses_, site_arguments_)};
  }

  /// Where learning starts; half the spread of the responses is taken for noise.
  double starting_value(const std::string& argument) const {
    const bool real = likelihood_.traits.response == ResponseKind::real;
    if (learning_ && real && argument == "scale") {
      return 0.5 * sd_of(responses_);
    }
    if (learning_ && real && argument == "variance") {
      return 0.25 * sd_of(responses_) * sd_of(responses_);
    }
    return documented_default(argument);
  }

  double process_mean() const {
    if (arguments_.mean != "auto") {
      return Assignment{"--mean", "VALUE", arguments_.mean}.numbers(1, "one number or auto").front();
    }
    double rate = 1.0;
    switch (likelihood_.traits.response) {
      case ResponseKind::real:
        return responses_.mean();
      case ResponseKind::sign:
        return 0.0;
      case ResponseKind::positive:
        return likelihood_.traits.name == "weibull" ? 0.0 : std::log(responses_.mean());
      case ResponseKind::count:
        if (likelihood_.traits.name == "binomial-logit") {
          return 0.0;
        }
        if (const auto exposure = site_arguments_.find("exposure"); exposure != site_arguments_.end()) {
          rate = exposure->second.mean();
        }
        return responses_.mean() > 0.0 ? std::log(responses_.mean() / rate) : 0.0;
    }
    return 0.0;
  }

  void build_process() {
    GaussianProcess process;
    process.inputs = out_.saved.features.encode_dense(table_);
    KernelExpression kernel = parse_kernel(arguments_.kernel.empty() ? "se" : arguments_.kernel);
    std::erase_if(unused_, [&](const Assignment* assignment) {
      constexpr std::string_view prefix = "kernel.";
      return assignment->name.starts_with(prefix) &&
             set_argument(kernel, std::string_view(assignment->name).substr(prefix.size()), assignment->numbers(),
                          process.inputs.cols());
    });
    if (learning_) {
      suggest_arguments(kernel, process.inputs,
                        likelihood_.traits.response == ResponseKind::real ? sd_of(responses_) : 1.0);
    } else if (const std::string defaults = default_arguments(kernel); !defaults.empty()) {
      out_.notes.push_back(
          fmt::format("kernel parameters not given, so set to the default: {} (use --set, or --learn)", defaults));
    }
    process.kernel = build_kernel(kernel, process.inputs.cols());
    process.mean = process_mean();
    out_.model_line = fmt::format("{} likelihood, Gaussian process with kernel {}", likelihood_.traits.name,
                                  arguments_.kernel.empty() ? "se" : arguments_.kernel);
    if (process.mean != 0.0) {
      out_.model_line += fmt::format(", mean {:.6g}", process.mean);
    }
    out_.model.prior = std::move(process);
  }

  void build_linear() {
    const bool intercept = !arguments_.no_intercept;
    out_.saved.intercept = intercept;
    const Index dimension = out_.saved.features.dimension() + (intercept ? 1 : 0);
    Isotropic prior{.mean = Vector::Zero(dimension), .variance = 1.0};
    if (const auto given = take("prior.variance")) {
      if (given->size() != 1) {
        throw InvalidOption("--set prior.variance takes one number");
      }
      prior.variance = given->front();
    } else if (!learning_) {
      out_.notes.push_back("not given, so set to the default: prior.variance = 1 (use --set, or --learn)");
    }
    out_.model.prior = std::move(prior);
    if (table_.is_sparse) {
      out_.model.design = with_intercept(out_.saved.features.encode_sparse(table_), intercept);
    } else {
      out_.model.design = with_intercept(out_.saved.features.encode_dense(table_), intercept);
    }
    out_.model_line = fmt::format("{} likelihood, linear model with {}{}", likelihood_.traits.name,
                                  plural(dimension, "weight"), intercept ? ", the first one the intercept" : "");
  }

  void refuse_unused() const {
    for (const Assignment* assignment : unused_) {
      std::vector<std::string> names;
      for (const Parameter& parameter : out_.model.parameters()) {
        names.push_back(parameter.name.starts_with("sites[0].") ? "likelihood." + parameter.name.substr(9)
                                                                : parameter.name);
      }
      for (const auto& info : method_catalogue()) {
        for (const auto& option : info.options) {
          names.push_back(option.name);
        }
      }
      throw InvalidOption(
          fmt::format("--set {}: there is no such parameter; accepted: {}", assignment->name, fmt::join(names, ", ")));
    }
  }

  void describe_data() {
    const FeatureCoding& coding = out_.saved.features;
    out_.data_line =
        fmt::format("{}: {}, {}", arguments_.data, plural(table_.rows(), "row"), plural(coding.dimension(), "feature"));
    if (!coding.is_sparse && coding.dimension() > 0) {
      const auto names = coding.names();
      constexpr std::size_t most = 8;
      const std::vector<std::string> shown(names.begin(),
                                           names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most)));
      out_.data_line += fmt::format(" ({}{})", fmt::join(shown, ", "), names.size() > most ? ", ..." : "");
    }
    if (arguments_.standardize) {
      out_.data_line += feature_options_.scaling == Scaling::scale ? ", scaled" : ", standardized";
    }
    if (!coding.is_sparse) {
      out_.data_line += fmt::format("; target {}", arguments_.target);
    }
    if (likelihood_.traits.response == ResponseKind::sign) {
      const auto positive = (responses_.array() > 0.0).count();
      out_.data_line += fmt::format(" ({} x {}, {} x {})", responses_.size() - positive, out_.saved.target.label(-1.0),
                                    positive, out_.saved.target.label(1.0));
    }
  }

  const TableArguments& arguments_;
  bool learning_;
  const LikelihoodInfo& likelihood_;
  std::vector<const Assignment*> unused_;
  FeatureOptions feature_options_;
  Table table_;
  Vector responses_;
  SiteArguments site_arguments_;
  TableModel out_;
};

}  // namespace

TableModel build_table_model(const TableArguments& arguments, const std::vector<Assignment>& parameters,
                             bool learning) {
  return Builder(arguments, parameters, learning).build();
}

SiteArguments row_arguments(const Table& table, const std::map<std::string, std::string, std::less<>>& names) {
  SiteArguments arguments;
  for (const auto& [argument, column] : names) {
    const ExtraKind kind = argument == "trials"     ? ExtraKind::trials
                           : argument == "exposure" ? ExtraKind::exposure
                                                    : ExtraKind::censored;
    arguments[argument] = extra_column(table, column, kind);
  }
  return arguments;
}

Matrix with_intercept(const Matrix& features, bool intercept) {
  if (!intercept) {
    return features;
  }
  Matrix design(features.rows(), features.cols() + 1);
  design.col(0).setOnes();
  design.rightCols(features.cols()) = features;
  return design;
}

SparseMatrix with_intercept(const SparseMatrix& features, bool intercept) {
  if (!intercept) {
    return features;
  }
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(static_cast<std::size_t>(features.nonZeros() + features.rows()));
  for (Index i = 0; i < features.rows(); ++i) {
    entries.emplace_back(static_cast<int>(i), 0, 1.0);
    for (SparseMatrix::InnerIterator it(features, i); it; ++it) {
      entries.emplace_back(static_cast<int>(i), static_cast<int>(it.col() + 1), it.value());
    }
  }
  SparseMatrix design(features.rows(), features.cols() + 1);
  design.setFromTriplets(entries.begin(), entries.end());
  return design;
}

}  // namespace gaussmith::app
