#include "tables/additive_model.hpp"

#include "gaussmith/errors.hpp"
#include "io/column_checks.hpp"
#include "io/table.hpp"
#include "io/text.hpp"
#include "model/site_rows.hpp"
#include "tables/additive_rows.hpp"
#include "tables/column_sizes.hpp"
#include "tables/weighted_moments.hpp"
#include "tables/wide_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace gaussmith {

namespace {

constexpr double default_scale = 2.5;
constexpr double intercept_width = 10.0;
/// The share of entries that rows of mostly zeros may have.
constexpr double mostly_zero = 0.1;

/// Standard deviations of the columns of a sparse design; 1 for constant ones.
Vector column_spreads(const Design& design, const Vector& weights) {
  const Vector ones = weights.size() > 0 ? weights : Vector(Vector::Ones(design.rows()));
  const double rows = ones.sum();
  const Vector mean = design.transposed_times(ones) / rows;
  const Vector square = design.column_squares(ones) / rows;
  Vector sd = (square.array() - mean.array().square()).max(0.0).sqrt();
  for (Index j = 0; j < sd.size(); ++j)
    if (!(sd(j) > 1e-7 * std::sqrt(square(j)))) sd(j) = 1.0;
  return sd;
}

/// The root mean square length of rows; 0 without rows.
double row_length(const Design& design, const Vector& weights) {
  const Vector lengths = design.row_squares(Vector::Ones(design.cols()));
  const Vector ones = weights.size() > 0 ? weights : Vector(Vector::Ones(design.rows()));
  return std::sqrt(lengths.dot(ones) / ones.sum());
}

/// Fixed effects by name, in the order of the weights after the intercept.
std::vector<std::string> fixed_names(const TableCoding& coding) {
  if (coding.features.is_sparse) return coding.features.names();
  std::vector<std::string> names;
  for (const FixedTerm& term : coding.fixed)
    for (std::string& name : term.names()) names.push_back(std::move(name));
  return names;
}

/// The numbers of a table whose rows are mostly zero, and their places among all columns; no rows for other tables.
struct MostlyZeros {
  Design rows;
  std::vector<Index> columns;
};

MostlyZeros mostly_zeros(const AdditiveParts& parts) {
  MostlyZeros out;
  if (parts.table.is_sparse) {
    out.rows = parts.coding.features.encode_sparse(parts.table);
    out.columns.resize(static_cast<std::size_t>(out.rows.cols()));
    std::iota(out.columns.begin(), out.columns.end(), Index{0});
    return out;
  }
  // Levels of categories have priors of their own: what is shared among them is (1|column).
  TableCoding numbers = parts.coding;
  numbers.intercept = false;
  numbers.fixed.clear();
  Index first = 0;
  for (const FixedTerm& term : parts.coding.fixed) {
    const auto is_number = [](const FeatureColumn& column) { return column.type == ColumnType::numeric; };
    if (std::all_of(term.columns.begin(), term.columns.end(), is_number)) {
      numbers.fixed.push_back(term);
      out.columns.push_back(first);
    }
    first += term.width();
  }
  if (is_wide(numbers)) out.rows = wide_rows(numbers, parts.table);
  return out;
}

/// Where priors by the spread of each column would leave rows of mostly zeros far too free, all of them get one.
void share_prior_of_zeros(const AdditiveParts& parts, double scale, Vector& spreads, std::vector<std::string>& notes) {
  const auto [rows, columns] = mostly_zeros(parts);
  if (rows.rows() == 0) return;
  const double cells = static_cast<double>(rows.rows()) * static_cast<double>(rows.cols());
  const Vector own = spreads(columns);
  // The sd of eta in an average row, in units of the responses'.
  const double wide = scale * std::sqrt(rows.row_squares(own.cwiseAbs2().cwiseInverse()).mean());
  const double length = row_length(rows, parts.weights);
  if (!(wide > widest_latent_sd) || !(rows.nonzeros() < mostly_zero * cells) || !(length > 0.0)) return;
  notes.push_back(fmt::format(
      "{} features, most of them zero in a row: their coefficients have one prior, N(0, {:.3g}^2), with which an "
      "average row has a latent value of sd {:.3g}; with one by the spread of each feature ({}) it would have "
      "{:.2g}",
      columns.size(), scale * parts.response_scale / length, scale * parts.response_scale,
      setting_name(fmt::format("prior.scale={}", default_scale), parts.options.spelling), wide * parts.response_scale));
  for (const Index j : columns) spreads(j) = length;
}

void apply_own_priors(const AdditiveParts& parts, FixedEffects& fixed) {
  std::vector<std::string> names = fixed_names(parts.coding);
  if (parts.coding.intercept) names.insert(names.begin(), "(intercept)");
  for (const CoefficientPrior& own : parts.options.coefficient_priors) {
    const auto found = std::find(names.begin(), names.end(), own.name);
    const std::string option = option_name("coefficient_prior", parts.options.spelling);
    if (found == names.end())
      throw InvalidOption(
          fmt::format("{}: there is no coefficient {}; the model has {}", option, in_quotes(own.name), listed(names)));
    if (!(own.sd > 0.0) || !std::isfinite(own.sd) || !std::isfinite(own.mean))
      throw InvalidOption(
          fmt::format("{} {}={},{}: expected a finite mean and a positive sd", option, own.name, own.mean, own.sd));
    const Index j = found - names.begin();
    fixed.mean(j) = own.mean;
    fixed.sd(j) = own.sd;
    fixed.scaled[static_cast<std::size_t>(j)] = false;
  }
}

bool is_constant(const Table& table, const std::string& name) {
  const Column& column = table.column(name);
  if (column.type == ColumnType::text)
    return column.rows() > 0 &&
           std::count(column.texts.begin(), column.texts.end(), column.texts.front()) == column.rows();
  return column.rows() > 0 && (column.numbers.array() == column.numbers(0)).all();
}

/// The slope of the sum of log sites at a constant eta, and its curvature.
struct Slope {
  double first, second;
};

Slope slope_at(const SiteRows& rows, double eta, const Vector& offset, double pull) {
  Vector at = Vector::Constant(rows.rows(), eta);
  if (offset.size() > 0) at += offset;
  Vector value;
  Vector first;
  Vector second;
  rows.log_density(at, &value, &first, &second);
  return {first.sum() - pull * eta, second.sum() - pull};
}

/// The value that half of the weight lies below.
double weighted_median(const Vector& values, const Vector& weights) {
  std::vector<std::pair<double, double>> sorted;
  for (Index i = 0; i < values.size(); ++i) sorted.emplace_back(values(i), weights.size() > 0 ? weights(i) : 1.0);
  std::sort(sorted.begin(), sorted.end());
  double total = 0.0;
  for (const auto& entry : sorted) total += entry.second;
  double below = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    below += sorted[i].second;
    if (below > 0.5 * total) return sorted[i].first;
    if (below == 0.5 * total && i + 1 < sorted.size()) return 0.5 * (sorted[i].first + sorted[i + 1].first);
  }
  return sorted.back().first;
}

}  // namespace

std::vector<FixedTerm> code_fixed(const ModelTerms& terms, bool intercept, bool by_formula, const Table& table,
                                  std::vector<std::string>& warnings) {
  std::set<std::set<std::string>> present;
  if (intercept) present.insert(std::set<std::string>());
  for (const auto& columns : terms.fixed) present.insert(std::set<std::string>(columns.begin(), columns.end()));
  std::vector<FixedTerm> coded;
  for (const auto& columns : terms.fixed) {
    FixedTerm term;
    for (const std::string& name : columns) {
      std::set<std::string> others(columns.begin(), columns.end());
      others.erase(name);
      FeatureOptions options;
      options.features = {name};
      const bool text = table.column(name).type == ColumnType::text;
      const bool constant = intercept && columns.size() == 1 && is_constant(table, name);
      options.drop_first_level = !constant && (by_formula ? present.contains(others) : intercept);
      // A column of two levels or more in a model without an intercept spans the constant for those that follow.
      if (by_formula && others.empty() && text && !intercept) present.insert(std::set<std::string>());
      FeatureCoding one = make_feature_coding(table, options);
      warnings.insert(warnings.end(), one.warnings.begin(), one.warnings.end());
      term.columns.push_back(std::move(one.columns.front()));
    }
    // Beside an intercept a constant column has nothing to say, and would only blur it.
    if (intercept && columns.size() == 1 && is_constant(table, columns.front())) {
      warnings.back() += "; it is left out";
      continue;
    }
    coded.push_back(std::move(term));
  }
  return coded;
}

std::vector<GroupCoding> code_groups(const std::vector<GroupTerm>& groups, const std::string& option,
                                     const Table& table) {
  std::vector<GroupCoding> coded;
  for (const GroupTerm& group : groups) {
    for (const std::string& name : group.group) check_whole_names(table, table.column(name));
    GroupCoding coding{.term = group.text,
                       .group = group.group,
                       .intercept = group.intercept,
                       .slope = group.slope,
                       .correlated = group.correlated,
                       .levels = group_levels(table, group.group)};
    if (coding.levels.size() < 2)
      throw InvalidFile(fmt::format("{} {}: {} has one level only ({}) in {}; a group needs at least two", option,
                                    group.text, in_quotes(coding.name()),
                                    coding.levels.empty() ? "" : in_quotes(coding.levels.front()),
                                    table.name_in_messages()));
    if (!coding.slope.empty()) check_numeric(table, table.column(coding.slope));
    coded.push_back(std::move(coding));
  }
  return coded;
}

Vector column_centres(const TableCoding& coding, const Table& table, const Vector& weights) {
  if (!coding.intercept || coding.fixed.empty() || is_wide(coding)) return {};
  TableCoding plain = coding;
  plain.centres.resize(0);
  const Matrix rows = fixed_rows(plain, table);
  Vector centres(rows.cols() - 1);
  for (Index j = 0; j < centres.size(); ++j) centres(j) = weighted_mean(rows.col(j + 1), weights);
  return centres;
}

FixedEffects fixed_effects(const AdditiveParts& parts, Settings& settings, std::vector<std::string>& notes) {
  const TableCoding& coding = parts.coding;
  const Index lead = coding.intercept ? 1 : 0;
  Vector spreads;
  if (parts.table.is_sparse) {
    spreads = column_spreads(coding.features.encode_sparse(parts.table), parts.weights);
  } else if (is_wide(coding)) {
    TableCoding columns = coding;
    columns.intercept = false;
    const SparseMatrix rows = wide_rows(columns, parts.table);
    check_sizes(rows, fixed_names(coding), parts.table);
    spreads = column_spreads(rows, parts.weights);
  } else {
    const Matrix rows = fixed_rows(coding, parts.table);
    check_sizes(rows.rightCols(rows.cols() - lead), fixed_names(coding), parts.table);
    spreads.resize(rows.cols() - lead);
    for (Index j = 0; j < spreads.size(); ++j) spreads(j) = weighted_sd(rows.col(lead + j), parts.weights);
  }
  FixedEffects fixed;
  fixed.mean = Vector::Zero(lead + spreads.size());
  fixed.sd.resize(fixed.size());
  fixed.scaled.assign(static_cast<std::size_t>(fixed.size()), true);
  const std::optional<double> scale = settings.number("prior.scale");
  fixed.scale = scale.value_or(default_scale);
  if (!scale) share_prior_of_zeros(parts, fixed.scale, spreads, notes);
  fixed.sd.tail(spreads.size()) = parts.response_scale * spreads.cwiseInverse();
  if (lead == 1) {
    // Classes have an intercept each, and none of them is before the others.
    if (parts.sites->width() == 1) fixed.mean(0) = best_constant(parts.sites, parts.offset, parts.weights);
    fixed.sd(0) = intercept_width * parts.response_scale;
    fixed.scaled.front() = false;
  }
  apply_own_priors(parts, fixed);
  return fixed;
}

std::vector<RandomEffects> random_effects(const AdditiveParts& parts, Settings& settings, std::string& defaults) {
  std::vector<RandomEffects> random;
  std::vector<std::string> taken;
  for (std::size_t t = 0; t < parts.coding.groups.size(); ++t) {
    const GroupCoding& group = parts.coding.groups[t];
    RandomEffects term{.levels = static_cast<Index>(group.levels.size()), .sd = Vector::Ones(group.effects())};
    const Matrix multipliers = group.multipliers(parts.table);
    if (!group.slope.empty()) check_sizes(multipliers.rightCols(1), {group.slope}, parts.table);
    for (Index e = 0; e < group.effects(); ++e) {
      const std::string name =
          group.effects() == 1 ? fmt::format("random[{}].sd", t) : fmt::format("random[{}].sd[{}]", t, e);
      // Half of the spread of the responses, as far as the effect can make it.
      const double size = std::sqrt(multipliers.col(e).squaredNorm() / static_cast<double>(multipliers.rows()));
      const double start = parts.options.learning ? 0.5 * parts.response_scale / (size > 0.0 ? size : 1.0) : 1.0;
      const auto given = settings.number(name);
      term.sd(e) = given.value_or(start);
      if (!given) taken.push_back(fmt::format("{} = {}", name, term.sd(e)));
    }
    if (group.correlated)
      term.correlation = settings.number(fmt::format("random[{}].correlation[1][0]", t)).value_or(0.0);
    random.push_back(std::move(term));
  }
  defaults = fmt::format("{}", fmt::join(taken, ", "));
  return random;
}

double best_constant(const Sites& sites, const Vector& offset, const Vector& weights) {
  const Vector& y = sites->responses();
  if (sites->traits().response == ResponseKind::real) {
    const Vector middle = offset.size() > 0 ? Vector(y - offset) : y;
    return sites->traits().gaussian ? weighted_mean(middle, weights) : weighted_median(middle, weights);
  }
  // Log-concave: Newton steps for the zero of the slope inside a bracket.
  constexpr double widest = 30.0;
  Model all;
  all.sites = {sites};
  all.weights = weights;
  const SiteRows rows(all, 1);
  const auto search = [&](double pull) {
    double lower = -widest;
    double upper = widest;
    double eta = 0.0;
    for (int step = 0; step < 100; ++step) {
      const Slope slope = slope_at(rows, eta, offset, pull);
      if (!std::isfinite(slope.first)) break;
      (slope.first > 0.0 ? lower : upper) = eta;
      const double newton = eta - slope.first / slope.second;
      const double next = slope.second < 0.0 && newton > lower && newton < upper ? newton : 0.5 * (lower + upper);
      if (std::abs(next - eta) < 1e-12 * (1.0 + std::abs(eta))) return next;
      eta = next;
    }
    return eta;
  };
  const double best = search(0.0);
  // Counts that are all zero, or no event at all, have no best constant: then the one that a wide prior leaves.
  constexpr double far = 15.0;
  return std::abs(best) < far ? best : search(1.0 / (intercept_width * intercept_width));
}

}  // namespace gaussmith
