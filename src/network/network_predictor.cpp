#include "base/parallel_blocks.hpp"
#include "gaussmith/network.hpp"
#include "linalg/dense.hpp"
#include "model/check_finite.hpp"
#include "network/activation.hpp"
#include "network/output_moments.hpp"
#include "numerics/gauss_hermite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index point_block = 512;
/// Of theta in predictions: a mixture of so many noise variances.
constexpr Index noise_nodes = 7;

void check_unit(const UnitWeights& unit, Index weights) {
  const bool full = unit.covariance.rows() == weights && unit.covariance.cols() == weights;
  const bool reduced = unit.covariance.size() == 0 && unit.diagonal.size() == weights && unit.basis.rows() == weights &&
                       unit.sign.size() == unit.basis.cols();
  if (unit.mean.size() != weights || !(full || reduced))
    refuse_model(
        fmt::format("fitted: a unit with {} inputs needs {} means and as large a covariance", weights - 1, weights));
  if (!unit.mean.allFinite() || !unit.covariance.allFinite() || !unit.diagonal.allFinite() || !unit.basis.allFinite() ||
      !unit.sign.allFinite())
    refuse_model("fitted: a unit holds a value that is not a finite number");
}

void check_fitted(const FittedNetwork& fitted) {
  const auto d = static_cast<Index>(fitted.inputs.size());
  if (fitted.starts.empty()) refuse_model("fitted: a network needs one start at least");
  if (fitted.input_centre.size() != d || fitted.input_scale.size() != d || !fitted.input_centre.allFinite() ||
      !fitted.input_scale.allFinite() || !(fitted.input_scale.array() > 0.0).all())
    refuse_model(fmt::format("fitted: {} inputs need as many centres and positive scales", d));
  for (const Index j : fitted.inputs)
    if (j < 0 || j >= fitted.input_count)
      refuse_model(fmt::format("fitted: there is no input {}; there are {}", j, fitted.input_count));
  if (!fitted.likelihood || fitted.likelihood->width() != 1)
    refuse_model("fitted: a network needs a likelihood with one latent a row");
  if (!std::isfinite(fitted.response_centre) || !(fitted.response_scale > 0.0) || !std::isfinite(fitted.response_scale))
    refuse_model("fitted: the responses need a finite centre and a positive scale");
  for (const FittedStart& start : fitted.starts) {
    check_unit(start.linear, fitted.linear ? d + 1 : 1);
    for (const UnitWeights& unit : start.units) check_unit(unit, d + 1);
    const auto k = static_cast<Index>(start.units.size());
    if (start.output_mean.size() != k || start.output_covariance.rows() != k || start.output_covariance.cols() != k ||
        !start.output_mean.allFinite() || !start.output_covariance.allFinite())
      refuse_model(fmt::format("fitted: {} units need as many output weights with their covariance", k));
    if (!(start.weight > 0.0) || !std::isfinite(start.weight) || !std::isfinite(start.noise_mean) ||
        !(start.noise_sd >= 0.0) || !std::isfinite(start.noise_sd))
      refuse_model("fitted: a start needs a positive weight and a finite noise");
  }
}

/// Mean and variance of h = x'w.
Marginals activations(const Matrix& rows, const UnitWeights& unit) {
  Marginals out{rows * unit.mean, {}};
  if (unit.covariance.size() > 0) {
    out.variance = (rows * unit.covariance).cwiseProduct(rows).rowwise().sum();
  } else {
    const Matrix along = rows * unit.basis;
    out.variance = rows.cwiseAbs2() * unit.diagonal - along.cwiseAbs2() * unit.sign;
  }
  out.variance = out.variance.cwiseMax(0.0);
  return out;
}

/// f at standardised points with a column of ones, in the units of the fit.
Marginals outputs(const FittedNetwork& fitted, const FittedStart& start, const Matrix& rows) {
  const Marginals linear = activations(rows.rightCols(fitted.linear ? rows.cols() : 1), start.linear);
  const auto units = static_cast<Index>(start.units.size());
  ActivationMoments g{Matrix(rows.rows(), units), Matrix(rows.rows(), units)};
  for (Index k = 0; k < units; ++k) {
    const Marginals h = activations(rows, start.units[static_cast<std::size_t>(k)]);
    const auto count = static_cast<std::size_t>(rows.rows());
    activation_moments(view(h.mean), view(h.variance), Span(g.mean.col(k).data(), count),
                       Span(g.variance.col(k).data(), count));
  }
  return output_moments(g, start.output_mean, start.output_covariance, linear);
}

}  // namespace

NetworkPredictor::NetworkPredictor(FittedNetwork fitted) {
  check_fitted(fitted);
  fitted_ = std::make_shared<const FittedNetwork>(std::move(fitted));
}

Prediction NetworkPredictor::predict(const PredictionPoints& points, int threads) const {
  const FittedNetwork& fitted = *fitted_;
  const Index count = points.inputs.rows();
  if (count > 0 && points.inputs.cols() != fitted.input_count)
    refuse_model(fmt::format("predict: inputs have {} columns, but the network was trained on {}", points.inputs.cols(),
                             fitted.input_count));
  if (!points.inputs.allFinite()) refuse_model("predict: inputs hold a value that is not a finite number");
  if (points.design || points.block != 0 || points.variance.size() != 0)
    refuse_model("predict: a network takes inputs, an offset and arguments of its likelihood");
  if (points.offset.size() != 0 && points.offset.size() != count)
    refuse_model(fmt::format("predict: offset has {} entries, but there are {} points", points.offset.size(), count));
  check_finite(points.offset, "predict: offset");

  const auto d = static_cast<Index>(fitted.inputs.size());
  std::vector<Marginals> latent(fitted.starts.size(), {Vector(count), Vector(count)});
  parallel_blocks(count, point_block, resolve_threads(threads), [&](Index begin, Index end) {
    const Index here = end - begin;
    Matrix rows(here, d + 1);
    for (Index j = 0; j < d; ++j)
      rows.col(j) = (points.inputs.col(fitted.inputs[static_cast<std::size_t>(j)]).segment(begin, here).array() -
                     fitted.input_centre(j)) /
                    fitted.input_scale(j);
    rows.col(d).setOnes();
    for (std::size_t r = 0; r < fitted.starts.size(); ++r) {
      const Marginals f = outputs(fitted, fitted.starts[r], rows);
      latent[r].mean.segment(begin, here) = fitted.response_centre + fitted.response_scale * f.mean.array();
      latent[r].variance.segment(begin, here) = fitted.response_scale * fitted.response_scale * f.variance;
      if (points.offset.size() > 0) latent[r].mean.segment(begin, here) += points.offset.segment(begin, here);
    }
  });

  std::vector<std::string> absent;
  for (const std::string& name : fitted.row_arguments)
    if (!points.arguments.contains(name)) absent.push_back(name);
  const std::string missing =
      absent.empty() ? "" : fmt::format("predict: the response needs {} for every point", fmt::join(absent, ", "));
  const Vector responses = Vector::Constant(count, placeholder_response(fitted.likelihood->traits().response));
  const bool gaussian = fitted.likelihood->traits().name == "gaussian";
  const Sites given = absent.empty() && !gaussian ? fitted.likelihood->with(responses, points.arguments) : nullptr;

  std::vector<Prediction> parts;
  std::vector<double> weights;
  for (std::size_t r = 0; r < fitted.starts.size(); ++r) {
    const FittedStart& start = fitted.starts[r];
    if (!gaussian) {
      parts.emplace_back(std::move(latent[r]), given, missing);
      weights.push_back(start.weight);
      continue;
    }
    const GaussHermite rule = gauss_hermite(start.noise_sd > 0.0 ? noise_nodes : 1);
    for (Index s = 0; s < rule.node.size(); ++s) {
      const double variance =
          fitted.response_scale * fitted.response_scale * std::exp(start.noise_mean + start.noise_sd * rule.node(s));
      parts.emplace_back(latent[r], fitted.likelihood->with(responses, {{"variance", one(variance)}}), missing);
      weights.push_back(start.weight * rule.weight(s));
    }
  }
  if (parts.size() == 1) return std::move(parts.front());
  return Prediction::mixture(std::move(parts),
                             Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size())));
}

}  // namespace gaussmith
