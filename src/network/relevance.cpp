#include "network/relevance.hpp"

#include "network/input_names.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Weights all closer to zero than this many standard deviations are not told from it.
constexpr double distinguishable = 2.0;

void add_unit(const NetworkUnit& unit, double factor, InputMoments& out) {
  const Index d = unit.weights.shift.size();
  if (d == 0) return;
  const auto mean = unit.law.mean().head(d).array();
  const auto variance = unit.law.variance().head(d).array();
  out.square.array() += factor * (mean.square() + variance);
  out.largest_ratio = out.largest_ratio.cwiseMax((mean.abs() / variance.sqrt()).matrix());
}

void set_scales(const NetworkFit& fit, const NetworkUnit& unit, Vector& mean, Vector& sd) {
  const auto d = static_cast<Index>(unit.scale.size());
  mean.resize(d);
  sd.resize(d);
  for (Index j = 0; j < d; ++j) {
    const Normal& phi = fit.log_scales()[static_cast<std::size_t>(unit.scale[static_cast<std::size_t>(j)])];
    mean(j) = phi.mean;
    sd(j) = std::sqrt(phi.variance);
  }
}

/// Mean and deviation of a mixture.
LogVariance averaged(const std::string& name, const std::vector<InputMoments>& starts, const Vector& weights,
                     Vector InputMoments::*mean, Vector InputMoments::*sd, Index j) {
  LogVariance out{name};
  double square = 0.0;
  for (std::size_t r = 0; r < starts.size(); ++r) {
    const double m = (starts[r].*mean)(j), s = (starts[r].*sd)(j), w = weights(static_cast<Index>(r));
    out.mean += w * m;
    square += w * (m * m + s * s);
  }
  out.sd = std::sqrt(std::max(0.0, square - out.mean * out.mean));
  return out;
}

}  // namespace

InputMoments input_moments(const NetworkFit& fit) {
  const Index d = fit.problem().input_count();
  InputMoments out{Vector::Zero(d), Vector::Zero(d), {}, {}, {}, {}};
  const WeightPrior rule = fit.problem().prior.weights;
  for (Index k = 0; k <= fit.hidden(); ++k) {
    const double factor =
        k == 0 ? 1.0 : fit.output_mean()(k - 1) * fit.output_mean()(k - 1) + fit.output_covariance()(k - 1, k - 1);
    add_unit(fit.units()[static_cast<std::size_t>(k)], factor, out);
  }
  if (rule != WeightPrior::ard && rule != WeightPrior::laplace_ard) return out;
  if (fit.problem().prior.linear) set_scales(fit, fit.units().front(), out.linear_mean, out.linear_sd);
  if (fit.hidden() > 0) set_scales(fit, fit.units().back(), out.hidden_mean, out.hidden_sd);
  return out;
}

std::vector<InputRelevance> relevance_of(const NetworkModel& model, const NetworkProblem& problem,
                                         const std::vector<InputMoments>& starts, const Vector& weights) {
  const Index d = problem.input_count();
  Vector share = Vector::Zero(d), ratio = Vector::Zero(d);
  bool hidden = true, linear = true;
  for (std::size_t r = 0; r < starts.size(); ++r) {
    // Without a linear part nothing is left of a network that has lost all units.
    if (const double total = starts[r].square.sum(); total > 0.0)
      share += weights(static_cast<Index>(r)) * starts[r].square / total;
    if (weights(static_cast<Index>(r)) > 0.0) ratio = ratio.cwiseMax(starts[r].largest_ratio);
    hidden = hidden && starts[r].hidden_mean.size() > 0;
    linear = linear && starts[r].linear_mean.size() > 0;
  }
  std::vector<InputRelevance> out;
  for (Index input = 0; input < model.inputs.cols(); ++input) {
    InputRelevance here{.input = input, .name = input_name(model, input), .irrelevant = true};
    const auto place = std::find(problem.inputs.begin(), problem.inputs.end(), input);
    if (place != problem.inputs.end()) {
      const auto j = static_cast<Index>(place - problem.inputs.begin());
      here.share = share(j);
      here.irrelevant = ratio(j) < distinguishable;
      if (hidden)
        here.hidden_scale =
            averaged(here.name, starts, weights, &InputMoments::hidden_mean, &InputMoments::hidden_sd, j);
      if (linear)
        here.linear_scale =
            averaged(here.name, starts, weights, &InputMoments::linear_mean, &InputMoments::linear_sd, j);
    }
    out.push_back(std::move(here));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const InputRelevance& a, const InputRelevance& b) { return a.share > b.share; });
  return out;
}

}  // namespace gaussmith
