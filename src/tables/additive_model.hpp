#pragma once
// The parts of an additive model that come from a table: codings of its terms, and priors on the scale of the data.

#include "gaussmith/table_model.hpp"
#include "tables/formula.hpp"
#include "tables/settings.hpp"

namespace gaussmith {

/// Latent values under priors by the spread of each column, in sds of the response or units of a link, that are too
/// wide: from there on sparse features share a prior.
inline constexpr double widest_latent_sd = 50.0;

/// Codes the columns of fixed effects. Formulas follow the rule of R: in a term, a column of levels leaves its first
/// one out if the model has the term without that column (the intercept, for a column alone); else it keeps all.
/// Without a formula every column leaves it out where there is an intercept.
[[nodiscard]] std::vector<FixedTerm> code_fixed(const ModelTerms& terms, bool intercept, bool by_formula,
                                                const Table& table, std::vector<std::string>& warnings);

/// Codes groups; `option` stands for the option in messages. Throws InvalidFile for a group with one level only and for
/// slopes that are no numbers.
[[nodiscard]] std::vector<GroupCoding> code_groups(const std::vector<GroupTerm>& groups, const std::string& option,
                                                   const Table& table);

/// The means of the columns of fixed effects, weighted where rows are; empty without an intercept.
[[nodiscard]] Vector column_centres(const TableCoding& coding, const Table& table, const Vector& weights);

/// What priors are made from; all of it is lent.
struct AdditiveParts {
  const TableModelOptions& options;
  const TableCoding& coding;
  const Table& table;
  const Sites& sites;
  const Vector& offset;
  const Vector& weights;  ///< Of rows; may be empty.
  double response_scale;  ///< The sd of responses on the scale of eta, else 1.
};

/// Coefficients N(0, (prior.scale response_scale / sd of the column)^2), prior.scale 2.5; the intercept at the means of
/// the columns N(best constant, (10 response_scale)^2); what coefficient_priors say instead. Where that would let rows
/// of many sparse features have nearly any latent value, and nothing sets prior.scale, the root mean square length of
/// rows stands for the sd of every column, and a note says so.
[[nodiscard]] FixedEffects fixed_effects(const AdditiveParts& parts, Settings& settings,
                                         std::vector<std::string>& notes);

/// Effects of the groups with the sds of the settings, else 1, or half the scale of the data where they will be
/// learned; `defaults` says which took the default.
[[nodiscard]] std::vector<RandomEffects> random_effects(const AdditiveParts& parts, Settings& settings,
                                                        std::string& defaults);

/// Codes the columns of Markov fields: `graphs` are those of the options. Throws InvalidFile for a column that names no
/// nodes, InvalidOption for a graph that is missing or not needed.
[[nodiscard]] std::vector<FieldCoding> code_fields(const std::vector<FieldTerm>& fields,
                                                   const TableModelOptions& options, const Table& table,
                                                   std::vector<std::string>& notes);

/// The fields themselves, scaled, with the precisions of the settings, else 1, or that of half the scale of the data
/// where they will be learned; `defaults` says which took the default.
[[nodiscard]] std::vector<MarkovField> markov_fields(const std::vector<FieldTerm>& fields, const AdditiveParts& parts,
                                                     Settings& settings, std::vector<std::string>& defaults);

/// The constant eta at which the sites are largest, given the offset; the middle of the responses for sites that are
/// not log-concave.
[[nodiscard]] double best_constant(const Sites& sites, const Vector& offset, const Vector& weights);

}  // namespace gaussmith
