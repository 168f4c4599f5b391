#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "posterior/prediction_mixture.hpp"
#include "tables/additive_rows.hpp"
#include "tables/mixture_quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

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

/// The coefficients as rows of the weights, the intercept first; empty where they are weights, or multiples of them.
std::optional<SparseMatrix> coefficient_rows(const ColumnScales& columns, bool intercept, Index dimension) {
  if (!intercept || columns.centre.isZero(0.0)) return {};
  std::vector<Eigen::Triplet<double>> entries;
  entries.emplace_back(0, 0, 1.0);
  for (int j = 0; j < static_cast<int>(columns.scale.size()); ++j) {
    entries.emplace_back(0, j + 1, -columns.centre(j) / columns.scale(j));
    entries.emplace_back(j + 1, j + 1, 1.0 / columns.scale(j));
  }
  SparseMatrix rows(columns.scale.size() + 1, dimension);
  rows.setFromTriplets(entries.begin(), entries.end());
  return rows;
}

/// Mean and variance of the coefficients; `predict` gives those of rows of the weights, the identity for the weights.
Marginals moments(const ColumnScales& columns, bool intercept, Index dimension,
                  const std::function<Marginals(const Design&)>& predict) {
  if (const auto rows = coefficient_rows(columns, intercept, dimension)) return predict(*rows);
  const Index count = columns.scale.size() + (intercept ? 1 : 0);
  Marginals out = predict(Identity{});
  out.mean.conservativeResize(count);
  out.variance.conservativeResize(count);
  out.mean.tail(columns.scale.size()).array() /= columns.scale.array();
  out.variance.tail(columns.scale.size()).array() /= columns.scale.array().square();
  return out;
}

bool has_ratio(const std::string& likelihood) {
  constexpr std::array<std::string_view, 7> known = {
      "bernoulli-logit", "binomial-logit", "poisson", "negative-binomial", "weibull", "exponential", "gamma"};
  return std::find(known.begin(), known.end(), likelihood) != known.end();
}

bool is_linear(const Prior& prior, const TableCoding& coding) {
  if (std::holds_alternative<Isotropic>(prior) || std::holds_alternative<NoGaussian>(prior) ||
      std::holds_alternative<Diagonal>(prior))
    return true;
  return std::holds_alternative<Additive>(prior) &&
         (coding.intercept || !coding.fixed.empty() || coding.features.is_sparse);
}

/// The names and scales of a model's coefficients.
ColumnScales columns_of(const Prior& prior, const TableCoding& coding) {
  // Features of an additive model are inputs of its process.
  const bool inputs = std::holds_alternative<Additive>(prior) && coding.fixed.empty() && !coding.features.is_sparse;
  ColumnScales columns = inputs ? ColumnScales() : column_scales(coding);
  if (coding.intercept) columns.names.insert(columns.names.begin(), "(intercept)");
  return columns;
}

std::vector<Coefficient> summarise(const ColumnScales& columns, const std::vector<Marginals>& parts,
                                   const Vector& weights, const SiteBlock& sites, bool intercept, double level) {
  const bool ratios = has_ratio(sites.traits().name);
  std::vector<const Marginals*> lent;
  lent.reserve(parts.size());
  for (const Marginals& part : parts) lent.push_back(&part);
  const Marginals total = total_moments(lent, weights);
  std::vector<Coefficient> out;
  for (Index j = 0; j < static_cast<Index>(columns.names.size()); ++j) {
    Coefficient one{.name = columns.names[static_cast<std::size_t>(j)],
                    .mean = total.mean(j),
                    .sd = std::sqrt(std::max(0.0, total.variance(j)))};
    one.lower = mixture_quantile(parts, weights, j, 0.5 - 0.5 * level);
    one.upper = mixture_quantile(parts, weights, j, 0.5 + 0.5 * level);
    if (ratios && (j > 0 || !intercept)) one.ratio = std::exp(one.mean);
    out.push_back(std::move(one));
  }
  return out;
}

void check_level(double level) {
  if (!(level > 0.0 && level < 1.0)) throw InvalidOption(fmt::format("level must be between 0 and 1, found {}", level));
}

std::vector<GroupEffects> group_effects(const Model& model, const Marginals& weights, const TableCoding& coding) {
  std::vector<GroupEffects> out;
  const auto& prior = std::get<Additive>(model.prior);
  for (std::size_t t = 0; t < coding.groups.size(); ++t) {
    const GroupCoding& group = coding.groups[t];
    GroupEffects one{.term = group.term, .group = group.name(), .levels = group.levels};
    const RandomEffects& term = prior.random[t];
    for (Index e = 0; e < term.effects(); ++e) {
      GroupEffects::Effect effect{.name = e == 0 && group.intercept ? "(intercept)" : group.slope, .sd = term.sd(e)};
      const auto places = Eigen::seqN(prior.first_of(t) + e, term.levels, term.effects());
      effect.levels = {weights.mean(places), weights.variance(places)};
      one.effects.push_back(std::move(effect));
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<FieldEffects> field_effects(const Model& model, const Marginals& weights, const TableCoding& coding) {
  std::vector<FieldEffects> out;
  const auto& prior = std::get<Additive>(model.prior);
  for (std::size_t k = 0; k < coding.fields.size(); ++k) {
    const FieldCoding& field = coding.fields[k];
    FieldEffects one{.term = field.term,
                     .column = field.column,
                     .nodes = field.names(),
                     .precision = std::get<IntrinsicField>(prior.fields[k]).precision};
    const auto places = Eigen::seqN(prior.first_of_field(k), field.size());
    one.values = {weights.mean(places), weights.variance(places)};
    out.push_back(std::move(one));
  }
  return out;
}

Marginals latent_of(const Prediction& predicted) { return {predicted.latent_mean(), predicted.latent_variance()}; }

/// Mean and variance of rows of the weights.
using RowMoments = std::function<Marginals(const Design&)>;

/// The coefficients of a model; those of several latents one class after the other.
std::vector<Coefficient> every_class(const Model& model, const TableCoding& coding,
                                     const std::vector<RowMoments>& predictions, const Vector& weights, double level) {
  const ColumnScales columns = columns_of(model.prior, coding);
  const Index classes = model.latents.count;
  std::vector<Coefficient> out;
  for (Index c = 0; c < classes; ++c) {
    std::vector<Marginals> parts;
    for (const RowMoments& predict : predictions) {
      const auto of_class = [&](const Design& rows) {
        const Marginals all = predict(rows);
        const auto places = Eigen::seqN(c, all.mean.size() / classes, classes);
        return Marginals{all.mean(places), all.variance(places)};
      };
      parts.push_back(moments(columns, coding.intercept, model.dimension(), of_class));
    }
    for (Coefficient& coefficient : summarise(columns, parts, weights, *model.sites.front(), coding.intercept, level)) {
      if (classes > 1) coefficient.name += fmt::format(" [{}]", coding.target.classes[static_cast<std::size_t>(c)]);
      out.push_back(std::move(coefficient));
    }
  }
  return out;
}

/// V a for the covariance V of the weights of a unit.
Vector covariance_times(const UnitWeights& unit, const Vector& a) {
  if (unit.covariance.size() > 0) return unit.covariance * a;
  return unit.diagonal.cwiseProduct(a) - unit.basis * unit.sign.cwiseProduct(unit.basis.transpose() * a);
}

Vector variances(const UnitWeights& unit) {
  if (unit.covariance.size() > 0) return unit.covariance.diagonal();
  return unit.diagonal - unit.basis.cwiseAbs2() * unit.sign;
}

}  // namespace

std::vector<Coefficient> coefficients(const NetworkPosterior& posterior, double level) {
  check_level(level);
  const NetworkModel& model = posterior.model();
  if (model.prior.units > 0) return {};
  // f = centre + scale (w'(x - c) / s + w_0), the constant last.
  const FittedNetwork& fitted = posterior.fitted();
  const UnitWeights& linear = fitted.starts.front().linear;
  const Index count = fitted.input_scale.size();
  const Vector slope = fitted.response_scale * fitted.input_scale.cwiseInverse();
  Vector level_row(count + 1);
  level_row << -slope.cwiseProduct(fitted.input_centre), fitted.response_scale;
  ColumnScales columns;
  columns.names.emplace_back("(intercept)");
  Marginals all{Vector(count + 1), Vector(count + 1)};
  all.mean << fitted.response_centre + level_row.dot(linear.mean), slope.cwiseProduct(linear.mean.head(count));
  all.variance << level_row.dot(covariance_times(linear, level_row)),
      slope.cwiseAbs2().cwiseProduct(variances(linear).head(count));
  for (const Index j : fitted.inputs)
    columns.names.push_back(model.input_names.empty() ? fmt::format("x{}", j + 1)
                                                      : model.input_names[static_cast<std::size_t>(j)]);
  return summarise(columns, {all}, one(1.0), *model.sites, true, level);
}

std::vector<Coefficient> coefficients(const Posterior& posterior, const TableCoding& coding, double level) {
  check_level(level);
  const Model& model = posterior.model();
  if (!is_linear(model.prior, coding)) return {};
  const auto predict = [&](const Design& rows) {
    return rows.is_identity() ? posterior.weights() : latent_of(posterior.predict(PredictionPoints{.design = rows}));
  };
  return every_class(model, coding, {predict}, one(1.0), level);
}

std::vector<Coefficient> coefficients(const Integrated& integrated, const TableCoding& coding, double level) {
  check_level(level);
  const Model& model = integrated.model;
  if (!is_linear(model.prior, coding)) return {};
  std::vector<RowMoments> parts;
  Vector weights(static_cast<Index>(integrated.points.size()));
  for (const IntegrationPoint& point : integrated.points) {
    weights(static_cast<Index>(parts.size())) = point.gaussian.weight;
    parts.emplace_back([predictor = Predictor(point.gaussian.fitted)](const Design& rows) {
      return latent_of(predictor.predict(PredictionPoints{.design = rows}));
    });
  }
  return every_class(model, coding, parts, weights, level);
}

std::vector<FieldEffects> field_effects(const Posterior& posterior, const TableCoding& coding) {
  if (coding.fields.empty()) return {};
  return field_effects(posterior.model(), posterior.weights(), coding);
}

std::vector<FieldEffects> field_effects(const Integrated& integrated, const TableCoding& coding) {
  if (coding.fields.empty()) return {};
  return field_effects(integrated.model, integrated.weights, coding);
}

std::vector<GroupEffects> group_effects(const Posterior& posterior, const TableCoding& coding) {
  if (coding.groups.empty()) return {};
  return group_effects(posterior.model(), posterior.weights(), coding);
}

std::vector<GroupEffects> group_effects(const Integrated& integrated, const TableCoding& coding) {
  if (coding.groups.empty()) return {};
  return group_effects(integrated.model, integrated.weights, coding);
}

}  // namespace gaussmith
