#include "gaussmith/errors.hpp"
#include "io/column_checks.hpp"
#include "io/levels.hpp"
#include "io/table.hpp"
#include "io/text.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace gaussmith {
namespace {

struct Moments {
  double mean;
  double sd;
};

// Mean and population standard deviation of `nonzero` and of rows - |nonzero| zeros. Divided by the largest magnitude
// first, so that neither sums nor squares overflow.
Moments moments(ConstSpan nonzero, Index rows) {
  double largest = 0.0;
  for (const double x : nonzero) largest = std::max(largest, std::abs(x));
  if (largest == 0.0) return {0.0, 0.0};
  const auto n = static_cast<double>(rows);
  const double zeros = n - static_cast<double>(nonzero.size());
  double sum = 0.0;
  for (const double x : nonzero) sum += x / largest;
  const double mean = sum / n;
  double squares = zeros * mean * mean;
  for (const double x : nonzero) squares += (x / largest - mean) * (x / largest - mean);
  return {mean * largest, std::sqrt(squares / n) * largest};
}

// The same for rows that count as often as their weights say.
Moments weighted_moments(const Vector& values, const Vector& weights) {
  const double largest = values.cwiseAbs().maxCoeff();
  if (largest == 0.0) return {0.0, 0.0};
  const double total = weights.sum();
  const double mean = weights.dot(values / largest) / total;
  const double variance = weights.dot((values.array() / largest - mean).square().matrix()) / total;
  return {mean * largest, std::sqrt(variance) * largest};
}

bool is_constant(ConstSpan values) {
  return std::all_of(values.begin(), values.end(), [&](double x) { return x == values.front(); });
}

FeatureColumn code_numeric(const Column& column, const FeatureOptions& options, std::vector<std::string>& warnings) {
  FeatureColumn coded;
  coded.name = column.name;
  coded.filled = (column.numbers.array() != 0.0).cast<double>().mean();
  const bool constant = is_constant(view(column.numbers));
  if (constant) {
    warnings.push_back(
        fmt::format("column {} is constant ({})", in_quotes(column.name), number_text(column.numbers[0])));
  }
  if (options.scaling == Scaling::none) return coded;
  const Moments found = options.weights.size() > 0 ? weighted_moments(column.numbers, options.weights)
                                                   : moments(view(column.numbers), column.rows());
  // A constant column has only rounding noise for a deviation; dividing by it would blow new values up.
  if (!constant && found.sd > 0.0) coded.sd = found.sd;
  if (options.scaling == Scaling::standardize) coded.mean = constant ? column.numbers[0] : found.mean;
  return coded;
}

FeatureColumn code_text(const Column& column, bool drop_first_level, std::vector<std::string>& warnings) {
  FeatureColumn coded;
  coded.name = column.name;
  coded.type = ColumnType::text;
  coded.levels = distinct_cells(column);
  coded.drop_first_level = drop_first_level;
  const auto levels = static_cast<Index>(coded.levels.size());
  if (levels == 1) {
    warnings.push_back(fmt::format("column {} is constant ({})", in_quotes(column.name), in_quotes(coded.levels[0])));
  } else if (levels == column.rows() && levels > 2) {
    warnings.push_back(
        fmt::format("column {} has a different text in each of the {} rows; is it an identifier rather than a feature "
                    "(then keep it: --keep, or leave it out)?",
                    in_quotes(column.name), levels));
  }
  return coded;
}

// Moments of every feature as moments() has them, in passes over the rows: no copy by features is made.
struct SparseMoments {
  Vector mean, sd;
  std::vector<bool> constant;

  explicit SparseMoments(const Design& features) {
    const Index columns = features.cols();
    const auto rows = static_cast<double>(features.rows());
    Vector largest = Vector::Zero(columns), first = Vector::Zero(columns), count = Vector::Zero(columns);
    constant.assign(static_cast<std::size_t>(columns), true);
    for_entries(features, [&](Index j, double x) {
      if (count(j) == 0.0) first(j) = x;
      if (x != first(j)) constant[static_cast<std::size_t>(j)] = false;
      count(j) += 1.0;
      largest(j) = std::max(largest(j), std::abs(x));
    });
    mean = Vector::Zero(columns);
    for_entries(features, [&](Index j, double x) { mean(j) += x / largest(j); });
    mean /= rows;
    Vector squares = (rows - count.array()) * mean.array().square();
    for_entries(features,
                [&](Index j, double x) { squares(j) += (x / largest(j) - mean(j)) * (x / largest(j) - mean(j)); });
    sd = (squares / rows).cwiseSqrt().cwiseProduct(largest);
    mean = mean.cwiseProduct(largest);
    for (Index j = 0; j < columns; ++j) {
      const auto at = static_cast<std::size_t>(j);
      constant[at] = constant[at] && (count(j) == 0.0 || count(j) == rows);
      if (constant[at]) mean(j) = first(j);
    }
  }

 private:
  template <class Each>
  static void for_entries(const Design& features, const Each& each) {
    visit_sparse(features.entries(), [&]<class Rows>(const Rows& rows) {
      for (Index n = 0; n < rows.outerSize(); ++n)
        for (typename Rows::InnerIterator it(rows, n); it; ++it) each(it.col(), static_cast<double>(it.value()));
    });
  }
};

void code_sparse_scaling(const Table& table, Scaling scaling, FeatureCoding& coding) {
  if (scaling == Scaling::none) return;
  const SparseMoments found(table.features);
  const Index features = table.features.cols();
  coding.sparse_sd = Vector::Ones(features);
  Index constants = 0;
  for (Index j = 0; j < features; ++j) {
    const bool constant = found.constant[static_cast<std::size_t>(j)];
    if (!constant && found.sd(j) > 0.0) coding.sparse_sd[j] = found.sd(j);
    if (constant) ++constants;
  }
  if (scaling == Scaling::standardize) coding.sparse_mean = found.mean;
  if (constants > 0) {
    coding.warnings.push_back(
        fmt::format("{} of {} features are constant; they are not rescaled", constants, features));
  }
}

std::string level_name(const FeatureColumn& column, std::size_t level) {
  return fmt::format("{}={}", column.name, column.levels[level]);
}

// Calls put(row, column, value) for every entry that may be nonzero, rows ascending within each column of the table.
template <class Put>
void encode_column(const Table& table, const Column& column, const FeatureColumn& coded, Index first, const Put& put) {
  if (coded.type == ColumnType::numeric) {
    check_numeric(table, column);
    for (Index row = 0; row < column.rows(); ++row) {
      const double value = (column.numbers[row] - coded.mean) / coded.sd;
      if (!std::isfinite(value)) {
        fail_cell(table, column, row,
                  fmt::format("{} is too large to be standardised with mean {} and sd {}",
                              number_text(column.numbers[row]), number_text(coded.mean), number_text(coded.sd)));
      }
      put(row, first, value);
    }
    return;
  }
  check_no_missing(table, column);
  const LevelLookup lookup(coded.levels);
  for (Index row = 0; row < column.rows(); ++row) {
    const auto level = lookup.find(column, row);
    if (!level) {
      fail_cell(table, column, row,
                fmt::format("level {} was not in the training table; its levels are {}",
                            in_quotes(cell_text(column, row)), listed(coded.levels)));
    }
    const Index place = static_cast<Index>(*level) - (coded.drop_first_level ? 1 : 0);
    if (place >= 0) put(row, first + place, 1.0);
  }
}

template <class Put>
void encode_columns(const FeatureCoding& coding, const Table& table, const Put& put) {
  Index first = 0;
  const ColumnIndex index(table);
  for (const FeatureColumn& column : coding.columns) {
    encode_column(table, index.column(column.name), column, first, put);
    first += column.width();
  }
}

void check_kind(const FeatureCoding& coding, const Table& table) {
  check_shape(table);
  if (coding.is_sparse == table.is_sparse) return;
  const std::string source = table.name_in_messages();
  if (coding.is_sparse) {
    throw InvalidFile(fmt::format("{} has named columns, but the model was trained on {} LIBSVM features", source,
                                  coding.sparse_features));
  }
  std::vector<std::string> names;
  for (const FeatureColumn& column : coding.columns) names.push_back(column.name);
  throw InvalidFile(
      fmt::format("{} is LIBSVM text, but the model was trained on the columns {}", source, listed(names)));
}

void check_features(const FeatureCoding& coding, const Table& table) {
  if (table.features.cols() <= coding.sparse_features) return;
  visit_sparse(table.features.entries(), [&]<class Rows>(const Rows& rows) {
    for (Index row = 0; row < rows.outerSize(); ++row) {
      for (typename Rows::InnerIterator entry(rows, row); entry; ++entry) {
        if (entry.col() >= coding.sparse_features) {
          throw InvalidFile(fmt::format("{}: feature index {}, but the model was trained on {} features",
                                        table.where(row), entry.col() + 1, coding.sparse_features));
        }
      }
    }
  });
}

[[noreturn]] void fail_entry(const Table& table, Index row, Index feature, double value) {
  throw InvalidFile(
      fmt::format("{}: feature {}: {} is too large to be rescaled", table.where(row), feature + 1, number_text(value)));
}

// The features of a LIBSVM table, divided by their standard deviations where these are given.
Design code_sparse(const FeatureCoding& coding, const Table& table) {
  check_features(coding, table);
  const bool scales = coding.sparse_sd.size() > 0;
  if (!scales && table.features.cols() == coding.sparse_features) return table.features;
  return visit_sparse(table.features.entries(), [&]<class Rows>(const Rows& rows) -> Design {
    Rows out(rows.rows(), coding.sparse_features);
    out.resizeNonZeros(rows.nonZeros());
    std::copy_n(rows.outerIndexPtr(), rows.rows() + 1, out.outerIndexPtr());
    std::copy_n(rows.innerIndexPtr(), rows.nonZeros(), out.innerIndexPtr());
    std::copy_n(rows.valuePtr(), rows.nonZeros(), out.valuePtr());
    if (!scales) return out;
    using Value = typename Rows::Scalar;
    for (Index row = 0; row < out.outerSize(); ++row) {
      for (typename Rows::InnerIterator entry(out, row); entry; ++entry) {
        const auto scaled = static_cast<Value>(entry.value() / coding.sparse_sd[entry.col()]);
        if (!std::isfinite(scaled)) fail_entry(table, row, entry.col(), entry.value());
        entry.valueRef() = scaled;
      }
    }
    return out;
  });
}

void check_cells(const FeatureCoding& coding, const Table& table) {
  const Index dimension = coding.dimension();
  if (dimension == 0 || table.rows() <= max_table_cells / dimension) return;
  std::string cause;
  const auto widest = std::max_element(coding.columns.begin(), coding.columns.end(),
                                       [](const auto& a, const auto& b) { return a.width() < b.width(); });
  if (widest != coding.columns.end() && widest->width() > 1) {
    cause =
        fmt::format("; column {} alone has {} levels, leave it out", in_quotes(widest->name), widest->levels.size());
  }
  throw InvalidFile(fmt::format("{}: {} rows of {} features are more than {} cells, the most that is accepted{}",
                                table.name_in_messages(), table.rows(), dimension, max_table_cells, cause));
}

}  // namespace

Index FeatureColumn::width() const {
  if (type == ColumnType::numeric) return 1;
  return std::max<Index>(0, static_cast<Index>(levels.size()) - (drop_first_level ? 1 : 0));
}

std::string FeatureColumn::report() const {
  // A quoted header may hold anything; the report stays one line.
  std::string shown = name;
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (type == ColumnType::numeric) {
    if (mean == 0.0 && sd == 1.0) return fmt::format("{}: numeric", shown);
    if (mean == 0.0) return fmt::format("{}: numeric, divided by {:.6g}", shown, sd);
    return fmt::format("{}: numeric, standardised (mean {:.6g}, sd {:.6g})", shown, mean, sd);
  }
  const std::size_t first = drop_first_level ? 1 : 0;
  std::vector<std::string> names;
  for (std::size_t i = first; i < levels.size(); ++i) names.push_back(level_name(*this, i));
  std::string line = fmt::format("{}: categories -> ", shown);
  line += names.empty() ? std::string("no column") : fmt::format("0/1 columns {}", listed(names));
  if (first == 1) line += fmt::format(" (reference level {}: all 0)", in_quotes(levels[0]));
  return line;
}

Index FeatureCoding::dimension() const {
  if (is_sparse) return sparse_features;
  Index sum = 0;
  for (const FeatureColumn& column : columns) sum += column.width();
  return sum;
}

std::vector<std::string> FeatureCoding::names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(dimension()));
  for (Index j = 0; is_sparse && j < sparse_features; ++j) names.push_back(fmt::format("feature[{}]", j + 1));
  for (const FeatureColumn& column : columns) {
    if (column.type == ColumnType::numeric) {
      names.push_back(column.name);
      continue;
    }
    for (std::size_t i = column.drop_first_level ? 1 : 0; i < column.levels.size(); ++i) {
      names.push_back(level_name(column, i));
    }
  }
  return names;
}

std::string FeatureCoding::report() const {
  std::string text;
  if (is_sparse) {
    text = fmt::format("{} LIBSVM features", sparse_features);
    if (sparse_mean.size() > 0) {
      text += ", standardised";
    } else if (sparse_sd.size() > 0) {
      text += ", divided by their standard deviations";
    }
    text += '\n';
  }
  for (const FeatureColumn& column : columns) text += column.report() + '\n';
  return text;
}

Matrix FeatureCoding::encode_dense(const Table& table) const {
  check_kind(*this, table);
  check_cells(*this, table);
  Matrix out = Matrix::Zero(table.rows(), dimension());
  if (!is_sparse) {
    encode_columns(*this, table, [&](Index row, Index column, double value) { out(row, column) = value; });
    return out;
  }
  check_features(*this, table);
  constexpr Index rows_at_once = 1024;
  for (Index begin = 0; begin < table.rows(); begin += rows_at_once) {
    const Index end = std::min(table.rows(), begin + rows_at_once);
    out.block(begin, 0, end - begin, table.features.cols()) = table.features.transposed_rows(begin, end).transpose();
  }
  if (sparse_mean.size() > 0) out.rowwise() -= sparse_mean.transpose();
  if (sparse_sd.size() > 0) out.array().rowwise() /= sparse_sd.transpose().array();
  for (Index j = 0; j < out.cols(); ++j) {
    for (Index row = 0; row < out.rows(); ++row) {
      if (!std::isfinite(out(row, j))) fail_entry(table, row, j, table.features.transposed_rows(row, row + 1)(j, 0));
    }
  }
  return out;
}

Design FeatureCoding::encode_sparse(const Table& table) const {
  check_kind(*this, table);
  const bool centred = (sparse_mean.size() > 0 && !sparse_mean.isZero(0.0)) ||
                       std::any_of(columns.begin(), columns.end(), [](const auto& c) { return c.mean != 0.0; });
  if (centred) {
    throw InvalidOption(
        "standardised features are not sparse: subtracting the mean fills in the zeros; use the "
        "scaling that divides by the standard deviation only, or dense features");
  }
  if (is_sparse) return code_sparse(*this, table);
  std::vector<Eigen::Triplet<double>> entries;
  const auto put = [&](Index row, Index column, double value) {
    if (value == 0.0) return;
    if (entries.size() == static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw InvalidFile(fmt::format("{}: too many nonzero features", table.source));
    }
    entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
  };
  encode_columns(*this, table, put);
  SparseMatrix out(table.rows(), dimension());
  out.setFromTriplets(entries.begin(), entries.end());
  return {std::move(out)};
}

std::vector<std::string> choose_features(const Table& table, const FeatureOptions& options) {
  if (table.is_sparse) {
    if (!options.features.empty()) {
      throw InvalidOption(
          fmt::format("features {}: {} is LIBSVM text, which has no column names; all its features are "
                      "used",
                      listed(options.features), table.source));
    }
    return {};
  }
  const std::set<std::string, std::less<>> reserved(options.reserved.begin(), options.reserved.end());
  std::vector<std::string> chosen;
  if (options.features.empty()) {
    for (const Column& column : table.columns) {
      if (!reserved.contains(column.name)) chosen.push_back(column.name);
    }
    if (chosen.empty()) {
      throw InvalidFile(fmt::format("{} has no feature column: all its columns have another role ({})", table.source,
                                    listed(options.reserved)));
    }
    return chosen;
  }
  std::set<std::string, std::less<>> seen;
  const ColumnIndex index(table);
  for (const std::string& name : options.features) {
    static_cast<void>(index.column(name));
    if (reserved.contains(name)) {
      throw InvalidOption(fmt::format("column {} cannot be a feature: it already has another role, such as the target",
                                      in_quotes(name)));
    }
    if (!seen.insert(name).second) throw InvalidOption(fmt::format("feature {} is listed twice", in_quotes(name)));
    chosen.push_back(name);
  }
  return chosen;
}

FeatureCoding make_feature_coding(const Table& table, const FeatureOptions& options) {
  check_shape(table);
  FeatureCoding coding;
  const std::vector<std::string> chosen = choose_features(table, options);
  if (table.is_sparse) {
    coding.is_sparse = true;
    coding.sparse_features = table.features.cols();
    code_sparse_scaling(table, options.scaling, coding);
    return coding;
  }
  const ColumnIndex index(table);
  for (const std::string& name : chosen) {
    const Column& column = index.column(name);
    if (column.type == ColumnType::numeric) {
      check_numeric(table, column);
      coding.columns.push_back(code_numeric(column, options, coding.warnings));
    } else {
      check_no_missing(table, column);
      check_not_mostly_numbers(table, column);
      coding.columns.push_back(code_text(column, options.drop_first_level, coding.warnings));
    }
  }
  if (coding.dimension() == 0) {
    throw InvalidFile(fmt::format("{}: no feature is left; every column ({}) is text with one level",
                                  table.name_in_messages(), listed(chosen)));
  }
  return coding;
}

}  // namespace gaussmith
