#include "tables/additive_rows.hpp"

#include "io/levels.hpp"
#include "tables/wide_rows.hpp"

#include <vector>

namespace gaussmith {

Index weight_count(const TableCoding& coding) {
  Index count = coding.intercept ? 1 : 0;
  for (const FixedTerm& term : coding.fixed) count += term.width();
  for (const GroupCoding& group : coding.groups) count += static_cast<Index>(group.levels.size()) * group.effects();
  for (const FieldCoding& field : coding.fields) count += field.size();
  return count;
}

Matrix fixed_rows(const TableCoding& coding, const Table& table) {
  Index columns = coding.intercept ? 1 : 0;
  for (const FixedTerm& term : coding.fixed) columns += term.width();
  Matrix rows(table.rows(), columns);
  Index at = 0;
  if (coding.intercept) rows.col(at++).setOnes();
  for (const FixedTerm& term : coding.fixed) {
    rows.middleCols(at, term.width()) = term.encode(table);
    at += term.width();
  }
  if (coding.centres.size() > 0) rows.rightCols(coding.centres.size()).rowwise() -= coding.centres.transpose();
  return rows;
}

Design additive_rows(const TableCoding& coding, const Table& table, Groups groups, Index extra) {
  const bool wide = is_wide(coding);
  if (coding.groups.empty() && coding.fields.empty() && extra == 0)
    return wide ? Design(wide_rows(coding, table)) : Design(fixed_rows(coding, table));
  std::vector<Eigen::Triplet<double>> entries;
  const auto put = [&](Index row, Index column, double value) {
    if (value != 0.0) entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
  };
  Index first = 0;
  if (wide) {
    const SparseMatrix fixed = wide_rows(coding, table);
    for (Index i = 0; i < fixed.rows(); ++i)
      for (SparseMatrix::InnerIterator entry(fixed, i); entry; ++entry) put(i, entry.col(), entry.value());
    first = fixed.cols();
  } else {
    const Matrix fixed = fixed_rows(coding, table);
    for (Index j = 0; j < fixed.cols(); ++j)
      for (Index i = 0; i < fixed.rows(); ++i) put(i, j, fixed(i, j));
    first = fixed.cols();
  }
  for (const GroupCoding& group : coding.groups) {
    const Index effects = group.effects();
    if (groups == Groups::known) {
      const std::vector<Index> levels = group.rows(table);
      const Matrix multipliers = group.multipliers(table);
      for (Index i = 0; i < table.rows(); ++i)
        if (const Index level = levels[static_cast<std::size_t>(i)]; level >= 0)
          for (Index e = 0; e < effects; ++e) put(i, first + level * effects + e, multipliers(i, e));
    }
    first += static_cast<Index>(group.levels.size()) * effects;
  }
  for (const FieldCoding& field : coding.fields) {
    if (groups == Groups::known) {
      const std::vector<Index> nodes = field.rows(table);
      for (Index i = 0; i < table.rows(); ++i) put(i, first + nodes[static_cast<std::size_t>(i)], 1.0);
    }
    first += field.size();
  }
  for (Index i = 0; i < extra; ++i) put(i, first + i, 1.0);
  SparseMatrix rows(table.rows(), first + extra);
  rows.setFromTriplets(entries.begin(), entries.end());
  return rows;
}

UnseenLevels unseen_levels(const TableCoding& coding, const Additive& prior, const Table& table) {
  UnseenLevels out{.variance = Vector::Zero(table.rows())};
  std::vector<bool> unseen(static_cast<std::size_t>(table.rows()), false);
  for (std::size_t t = 0; t < coding.groups.size(); ++t) {
    const GroupCoding& group = coding.groups[t];
    const std::vector<Index> levels = group.rows(table);
    const Matrix multipliers = group.multipliers(table);
    const Matrix covariance = prior.random[t].covariance();
    for (Index i = 0; i < table.rows(); ++i) {
      if (levels[static_cast<std::size_t>(i)] >= 0) continue;
      const Vector effects = multipliers.row(i);
      out.variance(i) += effects.dot(covariance * effects);
      unseen[static_cast<std::size_t>(i)] = true;
      if (out.first_row < 0 || i < out.first_row) {
        out.first_row = i;
        out.first_group = group.name();
        out.first_level.clear();
        for (const std::string& name : group.group) {
          const Column& column = table.column(name);
          if (!out.first_level.empty()) out.first_level += ':';
          out.first_level += column.is_missing(i) ? std::string("(missing)") : cell_text(column, i);
        }
      }
    }
  }
  for (const bool is : unseen) out.rows += is ? 1 : 0;
  return out;
}

}  // namespace gaussmith
