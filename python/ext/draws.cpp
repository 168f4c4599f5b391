// Draws of weights carried on to what they say about the rows of a model: eta, log t, new responses.

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/model.hpp"
#include "gaussmith/random.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace gaussmith::python {

namespace {

Matrix checked(nb::handle values, const std::string& name, Index rows) {
  Matrix given = to_matrix(values, name);
  if (given.rows() != rows)
    throw InvalidOption(fmt::format("{}: expected {} rows, found {}", name, rows, given.rows()));
  return given;
}

/// eta = H w + o for every draw; the latents of a row, and of a weight, stand together.
Matrix latent_of(const Model& model, const Matrix& weights) {
  const Index latents = model.latents.count;
  const Index draws = weights.cols();
  const Design design = model.design.sized(model.dimension());
  Matrix eta(model.rows() * latents, draws);
  for (Index c = 0; c < latents; ++c) {
    const Matrix own = weights(Eigen::seqN(c, model.dimension(), latents), Eigen::all);
    eta(Eigen::seqN(c, model.rows(), latents), Eigen::all) = design.times(own);
  }
  if (model.offset.size() > 0) eta.colwise() += model.offset;
  return eta;
}

/// body(block, eta of the block, out of the block) for every block and draw.
template <class Body>
Matrix by_block(const Model& model, const Matrix& eta, Body&& body) {
  const Index latents = model.latents.count;
  Matrix out(model.rows(), eta.cols());
  for (Index draw = 0; draw < eta.cols(); ++draw) {
    Index row = 0;
    for (const Sites& block : model.sites) {
      const auto size = static_cast<std::size_t>(block->size());
      const ConstSpan at(eta.col(draw).data() + row * latents, size * static_cast<std::size_t>(latents));
      body(*block, at, Span(out.col(draw).data() + row, size));
      row += block->size();
    }
  }
  return out;
}

/// What a function of the draws gives for them, computed without the interpreter's lock.
template <class Function>
Array unlocked_array(nb::handle values, const std::string& name, Index rows, Function&& function) {
  const Matrix drawn = checked(values, name, rows);
  Matrix made;
  {
    const Unlocked released;
    made = function(drawn);
  }
  return to_array(std::move(made));
}

}  // namespace

void bind_draws(nb::module_& m) {
  m.def(
      "latent_draws",
      [](const Model& model, nb::handle weights) {
        return unlocked_array(weights, "weights", model.dimension() * model.latents.count,
                              [&](const Matrix& drawn) { return latent_of(model, drawn); });
      },
      "model"_a, "weights"_a, nb::sig("def latent_draws(model: Model, weights: ArrayLike) -> FloatArray"),
      "eta of draws of w: N C x draws.");
  m.def(
      "log_density_draws",
      [](const Model& model, nb::handle eta) {
        return unlocked_array(eta, "eta", model.rows() * model.latents.count, [&](const Matrix& drawn) {
          Matrix value = by_block(model, drawn, [](const SiteBlock& block, ConstSpan at, Span out) {
            block.log_density(0, at, {.value = out, .first = {}, .second = {}, .third = {}});
          });
          if (model.weights.size() > 0) value.array().colwise() *= model.weights.array();
          return value;
        });
      },
      "model"_a, "eta"_a, nb::sig("def log_density_draws(model: Model, eta: ArrayLike) -> FloatArray"),
      "weight log t of every row at draws of eta: N x draws.");
  m.def(
      "response_draws",
      [](const Model& model, nb::handle eta, std::uint64_t seed) {
        return unlocked_array(eta, "eta", model.rows() * model.latents.count, [&](const Matrix& drawn) {
          Random random(seed);
          return by_block(model, drawn, [&](const SiteBlock& block, ConstSpan at, Span out) {
            block.response_sample(0, at, random, out);
          });
        });
      },
      "model"_a, "eta"_a, "seed"_a,
      nb::sig("def response_draws(model: Model, eta: ArrayLike, seed: int) -> FloatArray"),
      "A new response of every row at every draw of eta: N x draws.");
}

}  // namespace gaussmith::python
