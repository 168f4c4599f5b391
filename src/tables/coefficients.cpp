#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "numerics/special.hpp"
#include "tables/additive_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace gaussmith {

namespace {

/// How the weights of fixed effects become coefficients of the columns as they stand in the table: column j of the
/// design is (x_j - centre_j) / scale_j.
struct ColumnScales {
  std::vector<std::string> names;
  Vector centre, scale;
};

ColumnScales column_scales(const TableCoding& coding) {
  ColumnScales out;
  if (!coding.fixed.empty()) {
    for (const FixedTerm& term : coding.fixed)
      for (std::string& name : term.names()) out.names.push_back(std::move(name));
    const auto count = static_cast<Index>(out.names.size());
    out.centre = coding.centres.size() > 0 ? coding.centres : Vector(Vector::Zero(count));
    out.scale = Vector::Ones(count);
    return out;
  }
  const FeatureCoding& features = coding.features;
  out.names = features.names();
  const auto count = static_cast<Index>(out.names.size());
  out.centre = features.sparse_mean.size() > 0 ? features.sparse_mean : Vector(Vector::Zero(count));
  out.scale = features.sparse_sd.size() > 0 ? features.sparse_sd : Vector(Vector::Ones(count));
  Index at = 0;
  for (const FeatureColumn& column : features.columns) {
    out.centre.segment(at, column.width()).setConstant(column.mean);
    out.scale.segment(at, column.width()).setConstant(column.sd);
    at += column.width();
  }
  return out;
}

/// Mean and variance of the coefficients, the intercept first.
Marginals moments(const Posterior& posterior, const ColumnScales& columns, bool intercept) {
  const Index lead = intercept ? 1 : 0;
  const Index count = lead + columns.scale.size();
  if (!intercept || columns.centre.isZero(0.0)) {
    Marginals out = posterior.weights();
    out.mean.conservativeResize(count);
    out.variance.conservativeResize(count);
    out.mean.tail(columns.scale.size()).array() /= columns.scale.array();
    out.variance.tail(columns.scale.size()).array() /= columns.scale.array().square();
    return out;
  }
  std::vector<Eigen::Triplet<double>> entries;
  entries.emplace_back(0, 0, 1.0);
  for (int j = 0; j < static_cast<int>(columns.scale.size()); ++j) {
    entries.emplace_back(0, j + 1, -columns.centre(j) / columns.scale(j));
    entries.emplace_back(j + 1, j + 1, 1.0 / columns.scale(j));
  }
  SparseMatrix rows(count, posterior.model().dimension());
  rows.setFromTriplets(entries.begin(), entries.end());
  const Prediction predicted = posterior.predict(PredictionPoints{.design = rows});
  return {predicted.latent_mean(), predicted.latent_variance()};
}

bool has_ratio(const std::string& likelihood) {
  constexpr std::array<std::string_view, 7> known = {
      "bernoulli-logit", "binomial-logit", "poisson", "negative-binomial", "weibull", "exponential", "gamma"};
  return std::find(known.begin(), known.end(), likelihood) != known.end();
}

bool is_linear(const Posterior& posterior, const TableCoding& coding) {
  const Prior& prior = posterior.model().prior;
  return std::holds_alternative<Isotropic>(prior) ||
         (std::holds_alternative<Additive>(prior) &&
          (coding.intercept || !coding.fixed.empty() || coding.features.is_sparse));
}

}  // namespace

std::vector<Coefficient> coefficients(const Posterior& posterior, const TableCoding& coding, double level) {
  if (!(level > 0.0 && level < 1.0)) throw InvalidOption(fmt::format("level must be between 0 and 1, found {}", level));
  if (!is_linear(posterior, coding)) return {};
  ColumnScales columns = column_scales(coding);
  // Features of an additive model are inputs of its process.
  if (std::holds_alternative<Additive>(posterior.model().prior) && coding.fixed.empty() && !coding.features.is_sparse)
    columns = {};
  if (coding.intercept) columns.names.insert(columns.names.begin(), "(intercept)");
  const Marginals found = moments(posterior, columns, coding.intercept);
  const double width = normal_quantile(0.5 + 0.5 * level);
  const bool ratios = has_ratio(posterior.model().sites.front()->traits().name);
  std::vector<Coefficient> out;
  for (Index j = 0; j < found.mean.size(); ++j) {
    Coefficient one{.name = columns.names[static_cast<std::size_t>(j)],
                    .mean = found.mean(j),
                    .sd = std::sqrt(std::max(0.0, found.variance(j)))};
    one.lower = one.mean - width * one.sd;
    one.upper = one.mean + width * one.sd;
    if (ratios && (j > 0 || !coding.intercept)) one.ratio = std::exp(one.mean);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<GroupEffects> group_effects(const Posterior& posterior, const TableCoding& coding) {
  std::vector<GroupEffects> out;
  const auto* prior = std::get_if<Additive>(&posterior.model().prior);
  if (prior == nullptr || coding.groups.empty()) return out;
  const Marginals weights = posterior.weights();
  for (std::size_t t = 0; t < coding.groups.size(); ++t) {
    const GroupCoding& group = coding.groups[t];
    GroupEffects one{.term = group.term, .group = group.name(), .levels = group.levels};
    const RandomEffects& term = prior->random[t];
    for (Index e = 0; e < term.effects(); ++e) {
      GroupEffects::Effect effect{.name = e == 0 && group.intercept ? "(intercept)" : group.slope, .sd = term.sd(e)};
      const auto places = Eigen::seqN(prior->first_of(t) + e, term.levels, term.effects());
      effect.levels = {weights.mean(places), weights.variance(places)};
      one.effects.push_back(std::move(effect));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace gaussmith
