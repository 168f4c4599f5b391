#include "network/network_problem.hpp"

#include "network/input_names.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

namespace {

/// Log scales of one unit's weights (or of all hidden units' together) by the rule of the prior.
class Sharing {
 public:
  Sharing(const NetworkModel& model, const std::vector<Index>& inputs) : model_(&model), inputs_(&inputs) {}

  /// Adds the scales of one part of the network, "hidden" or "linear", to the layout; by input.
  [[nodiscard]] std::vector<Index> add(const std::string& part, ScaleLayout& layout) const {
    std::vector<Index> scale;
    std::vector<Index> of_group(model_->prior.groups.size(), -1);
    const bool common = model_->prior.weights == WeightPrior::gaussian || model_->prior.weights == WeightPrior::laplace;
    for (const Index input : *inputs_) {
      const Index group = group_of(input);
      const auto place = static_cast<std::size_t>(group);
      if (common && !scale.empty()) {
        scale.push_back(scale.front());
      } else if (group >= 0 && of_group[place] >= 0) {
        scale.push_back(of_group[place]);
      } else {
        scale.push_back(static_cast<Index>(layout.names.size()));
        layout.names.push_back(
            common ? part
                   : fmt::format("{}.{}", part,
                                 group >= 0 ? model_->prior.groups[place].name : input_name(*model_, input)));
        if (group >= 0) of_group[place] = scale.back();
      }
    }
    return scale;
  }

 private:
  [[nodiscard]] Index group_of(Index input) const {
    for (std::size_t g = 0; g < model_->prior.groups.size(); ++g)
      for (const Index member : model_->prior.groups[g].inputs)
        if (member == input) return static_cast<Index>(g);
    return -1;
  }

  const NetworkModel* model_;
  const std::vector<Index>* inputs_;
};

ScaleLayout scale_layout(const NetworkModel& model, const std::vector<Index>& inputs) {
  const Sharing sharing(model, inputs);
  ScaleLayout layout;
  layout.of_unit.emplace_back();
  if (model.prior.linear) layout.of_unit.front() = sharing.add("linear", layout);
  for (int k = 1; k <= model.prior.units; ++k) {
    if (model.prior.weights == WeightPrior::independent)
      layout.of_unit.push_back(sharing.add(fmt::format("unit{}", k), layout));
    else
      layout.of_unit.push_back(k == 1 ? sharing.add("hidden", layout) : layout.of_unit.back());
  }
  return layout;
}

/// Mean and standard deviation of n numbers, by n - 1; the deviation is 0 for constant ones.
std::pair<double, double> mean_and_deviation(const Eigen::Ref<const Vector>& x) {
  if ((x.array() == x(0)).all()) return {x(0), 0.0};
  const double mean = x.mean();
  return {mean, std::sqrt((x.array() - mean).square().sum() / static_cast<double>(x.size() - 1))};
}

}  // namespace

NetworkProblem network_problem(const NetworkModel& model) {
  const Matrix& inputs = model.inputs;
  NetworkProblem problem;
  problem.prior = model.prior;
  std::vector<std::pair<double, double>> moments;
  for (Index j = 0; j < inputs.cols(); ++j) {
    const std::pair<double, double> of_column = mean_and_deviation(inputs.col(j));
    if (!(of_column.second > 0.0)) continue;
    problem.inputs.push_back(j);
    moments.push_back(model.standardize ? of_column : std::pair(0.0, 1.0));
  }
  const auto d = static_cast<Index>(problem.inputs.size());
  problem.rows.resize(inputs.rows(), d + 1);
  problem.centre.resize(d);
  problem.scale.resize(d);
  for (Index j = 0; j < d; ++j) {
    std::tie(problem.centre(j), problem.scale(j)) = moments[static_cast<std::size_t>(j)];
    problem.rows.col(j) =
        (inputs.col(problem.inputs[static_cast<std::size_t>(j)]).array() - problem.centre(j)) / problem.scale(j);
  }
  problem.rows.col(d).setOnes();

  problem.gaussian = model.sites->traits().name == "gaussian";
  problem.sites = model.sites;
  problem.offset = model.offset;
  if (problem.gaussian) {
    Vector y = model.sites->responses();
    if (model.offset.size() > 0) y -= model.offset;
    problem.offset.resize(0);
    if (model.standardize) std::tie(problem.response_centre, problem.response_scale) = mean_and_deviation(y);
    if (!(problem.response_scale > 0.0)) {
      problem.response_centre = 0.0;
      problem.response_scale = 1.0;
    }
    problem.sites = model.sites->with((y.array() - problem.response_centre) / problem.response_scale, {});
  }
  problem.scales = scale_layout(model, problem.inputs);
  return problem;
}

}  // namespace gaussmith
