#include "posterior/prediction_points.hpp"

#include "gaussmith/errors.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gaussmith {

namespace {

void check_rows(const Design& rows) {
  if (rows.first_not_finite().first >= 0)
    throw InvalidModel("predict: design holds a value that is not a finite number");
}

}  // namespace

NewPoints where(const PredictionPoints& points, const PriorGeometry& geometry) {
  if (points.inputs.size() > 0) {
    const GaussianProcess* process = process_of(geometry.prior());
    if (process == nullptr) throw InvalidModel("predict: inputs are for a gp prior; give design rows for this one");
    if (points.inputs.cols() != process->inputs.cols())
      throw InvalidModel(fmt::format("predict: inputs have {} columns, but the process was trained on {}",
                                     points.inputs.cols(), process->inputs.cols()));
    if (!points.inputs.allFinite()) throw InvalidModel("predict: inputs hold a value that is not a finite number");
    const Index beside = weights_beside_process(geometry.prior());
    if (beside == 0) return NewInputs{&points.inputs};
    if (!points.design || points.design->is_identity() || points.design->cols() != beside ||
        points.design->rows() != points.inputs.rows())
      throw InvalidModel(fmt::format(
          "predict: the model has {} weights beside its process; give as many rows of a design for them as inputs",
          beside));
    check_rows(*points.design);
    return NewInputs{&points.inputs, points.design};
  }
  const Design rows = points.design ? *points.design : Design(Matrix(0, geometry.dimension()));
  if (!rows.is_identity() && rows.rows() > 0 && rows.cols() != geometry.dimension())
    throw InvalidModel(
        fmt::format("predict: design has {} columns, but the model has {} weights", rows.cols(), geometry.dimension()));
  check_rows(rows);
  return NewRows{rows};
}

std::pair<std::vector<Sites>, std::vector<std::vector<std::string>>> response_prototypes(
    const std::vector<Sites>& blocks) {
  std::pair<std::vector<Sites>, std::vector<std::vector<std::string>>> out;
  for (const Sites& block : blocks) {
    SiteArguments arguments;
    std::vector<std::string> by_row;
    for (const SiteParameter& p : block->parameters()) {
      if (p.values.size() == 1) continue;
      const SiteArgumentInfo* info = find_argument(*block, p.name);
      if (info != nullptr && !info->required) {
        arguments[p.name] = one(info->default_value);
      } else {
        arguments[p.name] = one(p.values(0));
        by_row.push_back(p.name);
      }
    }
    out.first.push_back(block->with(one(placeholder_response(block->traits().response)), arguments));
    out.second.push_back(std::move(by_row));
  }
  return out;
}

Prediction predict_points(const PredictionPoints& points, const PosteriorLaw& law, const std::vector<Sites>& prototypes,
                          const std::vector<std::vector<std::string>>& row_arguments) {
  const NewPoints at = where(points, law.geometry());
  const Index count = law.geometry().count(at);
  if (points.offset.size() != 0 && points.offset.size() != count * law.width())
    throw InvalidModel(fmt::format("predict: offset has {} entries, but there are {} points{}", points.offset.size(),
                                   count, law.width() > 1 ? fmt::format(" of {} latents", law.width()) : ""));
  if (!points.offset.allFinite()) throw InvalidModel("predict: offset holds a value that is not a finite number");
  if (points.variance.size() != 0 &&
      (points.variance.size() != count || !(points.variance.array() >= 0.0).all() || !points.variance.allFinite()))
    throw InvalidModel(fmt::format("predict: variance needs {} finite numbers that are not negative", count));
  if (points.block < 0 || points.block >= static_cast<int>(prototypes.size()))
    throw InvalidModel(fmt::format("predict: there is no block {}; the model has {}", points.block, prototypes.size()));

  const auto block = static_cast<std::size_t>(points.block);
  Sites likelihood;
  std::string missing;
  std::vector<std::string> absent;
  for (const std::string& name : row_arguments[block])
    if (!points.arguments.contains(name)) absent.push_back(name);
  if (absent.empty())
    likelihood = prototypes[block]->with(
        Vector::Constant(count, placeholder_response(prototypes[block]->traits().response)), points.arguments);
  else
    missing = fmt::format("predict: the response needs {} for every point", fmt::join(absent, ", "));

  if (points.variance.size() > 0 && law.width() > 1) throw InvalidModel("predict: variance goes with one latent a row");
  const auto completed = [&](Marginals latent) -> Prediction {
    if (points.offset.size() > 0) latent.mean += points.offset;
    if (points.variance.size() > 0) latent.variance += points.variance;
    return {std::move(latent), likelihood, missing};
  };
  std::vector<Prediction> parts;
  for (Marginals& part : law.by_draw(at)) parts.push_back(completed(std::move(part)));
  if (parts.empty()) return completed(law.predict(at));
  const Vector equal = Vector::Ones(static_cast<Index>(parts.size()));
  return Prediction::mixture(std::move(parts), equal);
}

}  // namespace gaussmith
