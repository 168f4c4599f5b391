#include "learn/row_subset.hpp"

#include "base/random_choice.hpp"

#include <typeinfo>
#include <vector>

namespace gaussmith {

namespace {

/// The chosen rows of a catalogued block; null for another kind, whose functions may know their rows.
Sites rows_of(const SiteBlock& block, const std::vector<Index>& rows) {
  if (find_likelihood(block.traits().name) == nullptr) return nullptr;
  SiteArguments arguments;
  for (const SiteParameter& p : block.parameters())
    arguments[p.name] = p.values.size() > 1 ? Vector(p.values(rows)) : p.values;
  Sites made = observe(block.traits().name, block.responses()(rows), arguments);
  const SiteBlock& found = *made;
  return typeid(found) == typeid(block) ? made : nullptr;
}

/// The chosen rows of an additive design and, of the process's values, those that they see.
std::optional<Design> additive_part(const Design& design, const std::vector<Index>& rows, Index beside,
                                    std::vector<Index>& values) {
  const Design chosen = design.select(rows).in_double();
  const auto sparse = chosen.entries().sparse;
  if (!sparse) return {};
  std::vector<Index> place(static_cast<std::size_t>(design.cols() - beside), -1);
  std::vector<Eigen::Triplet<double>> entries;
  for (Index outer = 0; outer < sparse->outerSize(); ++outer)
    for (SparseMatrix::InnerIterator it(*sparse, outer); it; ++it) {
      Index column = it.col();
      if (column >= beside) {
        Index& at = place[static_cast<std::size_t>(column - beside)];
        if (at < 0) {
          at = static_cast<Index>(values.size());
          values.push_back(column - beside);
        }
        column = beside + at;
      }
      entries.emplace_back(static_cast<int>(it.row()), static_cast<int>(column), it.value());
    }
  SparseMatrix out(static_cast<Index>(rows.size()), beside + static_cast<Index>(values.size()));
  out.setFromTriplets(entries.begin(), entries.end());
  return Design(std::move(out));
}

}  // namespace

std::optional<Model> row_subset(const Model& model, Index count) {
  const auto* process = std::get_if<GaussianProcess>(&model.prior);
  const auto* additive = std::get_if<Additive>(&model.prior);
  const bool plain = process != nullptr && model.design.is_identity();
  if (plain && process->inducing && !process->inducing->sites.empty()) return {};  // They are rows of the whole.
  if (!(plain || (additive != nullptr && additive->process)) || model.sites.size() != 1) return {};
  const std::vector<Index> rows = random_subset(model.rows(), count, 0);
  Model part = model;
  const Sites sites = rows_of(*model.sites.front(), rows);
  if (!sites) return {};
  part.sites = {sites};
  if (plain) {
    std::get<GaussianProcess>(part.prior).inputs = Matrix((*process->inputs)(rows, Eigen::all));
  } else {
    std::vector<Index> values;
    auto design = additive_part(model.design, rows, additive->weights(), values);
    if (!design) return {};
    part.design = std::move(*design);
    std::get<Additive>(part.prior).process->inputs = Matrix((*additive->process->inputs)(values, Eigen::all));
  }
  if (model.offset.size() > 0) part.offset = Vector(model.offset(rows));
  if (model.weights.size() > 0) part.weights = Vector(model.weights(rows));
  return part;
}

}  // namespace gaussmith
