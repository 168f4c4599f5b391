#include "engines/prediction_points.hpp"

#include "base/overloaded.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussmith {

namespace {

bool all_finite(const std::variant<Matrix, SparseMatrix>& design) {
  return std::visit(Overloaded{[](const Matrix& m) { return m.allFinite(); },
                               [](const SparseMatrix& m) {
                                 for (Index k = 0; k < m.outerSize(); ++k)
                                   for (SparseMatrix::InnerIterator it(m, k); it; ++it)
                                     if (!std::isfinite(it.value())) return false;
                                 return true;
                               }},
                    design);
}

}  // namespace

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

Prediction predict_points(const PredictionPoints& points, const Prior& prior, Index dimension, Index train_rows,
                          const std::vector<Sites>& prototypes,
                          const std::vector<std::vector<std::string>>& row_arguments,
                          const std::function<void(const NewPoints&, Index, Index, Vector&, Vector&)>& predict_block) {
  const auto* process = std::get_if<GaussianProcess>(&prior);
  const bool by_inputs = points.inputs.size() > 0;
  const Index design_columns = std::visit([](const auto& m) { return m.cols(); }, points.design);
  const Index design_rows = std::visit([](const auto& m) { return m.rows(); }, points.design);
  Design rows;
  NewPoints where;
  if (by_inputs) {
    if (process == nullptr) throw InvalidModel("predict: inputs are for a gp prior; give design rows for this one");
    if (points.inputs.cols() != process->inputs.cols())
      throw InvalidModel(fmt::format("predict: inputs have {} columns, but the process was trained on {}",
                                     points.inputs.cols(), process->inputs.cols()));
    if (!points.inputs.allFinite()) throw InvalidModel("predict: inputs hold a value that is not a finite number");
    where = NewInputs{&points.inputs};
  } else {
    if (design_rows > 0 && design_columns != dimension)
      throw InvalidModel(
          fmt::format("predict: design has {} columns, but the model has {} weights", design_columns, dimension));
    if (!all_finite(points.design)) throw InvalidModel("predict: design holds a value that is not a finite number");
    rows = std::visit([](const auto& m) -> Design { return m; }, points.design);
    where = NewRows{&rows};
  }
  const Index count = by_inputs ? points.inputs.rows() : design_rows;
  if (points.offset.size() != 0 && points.offset.size() != count)
    throw InvalidModel(
        fmt::format("predict: offset has {} entries, but there are {} points", points.offset.size(), count));
  if (!points.offset.allFinite()) throw InvalidModel("predict: offset holds a value that is not a finite number");
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

  Marginals latent = predict_in_blocks(count, train_rows, [&](Index begin, Index end, Vector& mean, Vector& variance) {
    predict_block(where, begin, end, mean, variance);
  });
  if (points.offset.size() > 0) latent.mean += points.offset;
  return {std::move(latent), std::move(likelihood), std::move(missing)};
}

}  // namespace gaussmith
