// Learning how the functions of several classes are related, where evidence sees contrasts alone.

#include "gaussmith/learn.hpp"
#include "model/latents.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

Model three_classes(LatentModel model, const Matrix& factor) {
  Random random(5);
  constexpr Index rows = 60;
  Matrix x(rows, 2);
  for (double& value : x.reshaped()) value = random.normal();
  Vector y(rows);
  for (Index n = 0; n < rows; ++n) {
    // Three sectors of different widths.
    const double angle = std::atan2(x(n, 1), x(n, 0));
    y(n) = angle < -1.2 ? 0.0 : (angle < 0.6 ? 1.0 : 2.0);
    if (random.uniform() < 0.25) y(n) = std::floor(3.0 * random.uniform());
  }
  return {.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1.5}}, {"lengthscale", {1.5}}})},
          .sites = {observe("multinomial-logit", y, {{"classes", one(3)}})},
          .latents = {.count = 3, .model = model, .factor = factor}};
}

/// What evidence sees: the contrasts of signal_sd^2 K^c.
Matrix seen(const Model& model) {
  double sd = 0.0;
  for (const Parameter& p : model.parameters())
    if (p.name == "kernel.signal_sd") sd = p.value;
  const Matrix q = contrasts(3);
  return sd * sd * q.transpose() * model.latents.covariance() * q;
}

TEST(ClassCovariance, InvisibleDirectionsAreHeldStill) {
  const Matrix elsewhere = (Matrix(3, 3) << 2.0, 0, 0, 1.5, 0.7, 0, 1.0, -0.3, 1.4).finished();
  for (const LatentModel kind : {LatentModel::full, LatentModel::centred}) {
    const LearnOptions options{.restarts = 0};
    const Learned a = learn(three_classes(kind, Matrix::Identity(3, 3)), Laplace{}, options);
    const Learned b = learn(three_classes(kind, elsewhere), Laplace{}, options);
    for (const Learned* learned : {&a, &b}) {
      EXPECT_TRUE(learned->report.status == Status::converged) << learned->report.message;
      // Of all equivalent parameters it is those at the anchor, so that they are numbers that mean something.
      ParameterGradient gradient;
      for (const Parameter& p : learned->posterior.model().parameters()) gradient[p.name] = 0.0;
      EXPECT_NEAR(latent_anchor(learned->posterior.model().latents, true, gradient), 0.0, 1e-6);
      EXPECT_NEAR(learned->report.objective, learned->posterior.log_evidence().value, 1e-6);
    }
    EXPECT_NEAR(a.posterior.log_evidence().value, b.posterior.log_evidence().value, 1e-3);
    const Matrix of_a = seen(a.posterior.model()), of_b = seen(b.posterior.model());
    EXPECT_LT((of_a - of_b).cwiseAbs().maxCoeff(), 0.05 * of_a.cwiseAbs().maxCoeff());
  }
}

TEST(ClassCovariance, AnchorsAreSmoothAndZeroAtTheStart) {
  for (const LatentModel kind : {LatentModel::full, LatentModel::centred, LatentModel::diagonal})
    for (const bool scale : {true, false}) {
      Latents latents{.count = 4, .model = kind};
      ParameterGradient gradient;
      for (const Parameter& p : parameters_of(latents)) gradient[p.name] = 0.0;
      EXPECT_NEAR(latent_anchor(latents, scale, gradient), 0.0, 1e-15);
      for (const auto& [name, value] : gradient) EXPECT_NEAR(value, 0.0, 1e-12) << name;
      if (kind == LatentModel::diagonal) {
        latents.weight = (Vector(4) << 0.5, 2.0, 3.0, 0.2).finished();
      } else {
        latents.factor =
            (Matrix(4, 4) << 1.2, 0, 0, 0, 0.4, 0.9, 0, 0, -0.7, 0.3, 1.5, 0, 0.2, 0.6, -0.5, 0.8).finished();
      }
      for (auto& [name, value] : gradient) value = 0.0;
      EXPECT_LT(latent_anchor(latents, scale, gradient), -1e-3);
      for (const Parameter& p : parameters_of(latents)) {
        constexpr double h = 1e-5;
        double difference = 0.0;
        for (const double sign : {1.0, -1.0}) {
          const double moved = value_on(p.scale, p.on_scale() + sign * h);
          const Latents there =
              with_parameters(latents, [&](const std::string& name) { return name == p.name ? &moved : nullptr; });
          ParameterGradient ignored = gradient;
          difference += sign * latent_anchor(there, scale, ignored) / (2.0 * h);
        }
        EXPECT_NEAR(gradient.at(p.name), difference, 1e-8) << p.name;
      }
    }
}

}  // namespace
}  // namespace gaussmith
