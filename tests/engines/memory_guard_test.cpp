// A fit that cannot fit into the machine is refused before any work, by every engine.

#include "base/memory.hpp"
#include "gaussian/joint_factor.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

/// Half of an N x N matrix of this size would fill the machine.
Index too_many() { return static_cast<Index>(std::sqrt(machine_memory() / 4.0)); }

Model large_process() {
  const Index n = too_many();
  return {.prior = GaussianProcess{Vector::LinSpaced(n, 0.0, 1.0), make_kernel("se"), 0.0},
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", Vector::Zero(n), {{"variance", one(1.0)}})}};
}

/// More rows than weights, so that the precision form is taken.
Model many_weights() {
  const Index d = too_many();
  SparseMatrix rows(d + 1, d);
  rows.reserve(Eigen::VectorXi::Ones(d + 1));
  for (Index n = 0; n <= d; ++n) rows.insert(n, n % d) = 1.0;
  // One row that joins many weights leaves nothing for the sparse form.
  for (Index j = 1; j < std::min<Index>(d, 30000); ++j) rows.coeffRef(d, j) = 1.0;
  return {.prior = Isotropic{Vector::Zero(d), 1.0},
          .design = rows,
          .offset = {},
          .sites = {observe("gaussian", Vector::Zero(d + 1), {{"variance", one(1.0)}})}};
}

TEST(MemoryGuard, EveryEngineRefusesWhatDoesNotFit) {
  for (const Model& model : {large_process(), many_weights()})
    for (const Method& method : {Method(Exact{}), Method(Laplace{}), Method(Kl{.covariance = "full"}), Method(Ep{})}) {
      // Weights that are independent and many on both sides have a form that multiplies.
      if (std::holds_alternative<Laplace>(method) && std::holds_alternative<Isotropic>(model.prior)) continue;
      SCOPED_TRACE(std::string(name_of(method)));
      try {
        (void)infer(model, method);
        FAIL();
      } catch (const InvalidOption& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("needs about"), std::string::npos) << text;
        EXPECT_NE(text.find("GB of this machine; "), std::string::npos) << text;
      }
    }
}

TEST(MemoryGuard, ClassesAreRefusedByWhatTheirStructureTakes) {
  // Stars of eight functions take ten matrices of order N, their contrasts two of order 7 N.
  const auto n = static_cast<Index>(std::sqrt(machine_memory() / 8.0 / 20.0));
  constexpr Index classes = 8;
  const auto model = [&](const char* likelihood) {
    return Model{.prior = GaussianProcess{Vector::LinSpaced(n, 0.0, 1.0), make_kernel("se"), 0.0},
                 .sites = {observe(likelihood, Vector::Zero(n), {{"classes", one(static_cast<double>(classes))}})},
                 .latents = {.count = classes}};
  };
  const Model softmax = model("multinomial-logit");
  Model related = softmax;
  related.latents.model = LatentModel::full;
  related.latents.factor = Matrix::Identity(classes, classes);
  related.latents.factor(1, 0) = 0.5;
  EXPECT_THROW((void)infer(softmax, Kl{.covariance = "full"}), InvalidOption);
  EXPECT_THROW((void)infer(related, Kl{}), InvalidOption);
  EXPECT_THROW((void)infer(related, Laplace{}), InvalidOption);
  EXPECT_THROW((void)infer(model("multinomial-probit"), Vmf{}), InvalidOption);
  EXPECT_LT(joint_factor_memory(softmax, SitesSee::stars), machine_memory());
}

/// Two rows, but vectors over the weights alone fill the machine; what a form would take of them is not looked at.
TEST(MemoryGuard, SoManyWeightsAreRefusedAtOnce) {
  const auto d = static_cast<Index>(machine_memory() / 400.0);
  if (d > std::numeric_limits<int>::max()) GTEST_SKIP() << "more memory than columns can be numbered";
  SparseMatrix rows(2, d);
  rows.insert(0, 0) = 1.0;
  rows.insert(1, d - 1) = 1.0;
  const Model model{.prior = NoGaussian{d},
                    .design = rows,
                    .offset = {},
                    .sites = {observe("laplace", Vector::Zero(2), {{"scale", one(1.0)}})}};
  try {
    (void)infer(model, Vb{});
    FAIL();
  } catch (const InvalidOption& error) {
    EXPECT_NE(std::string(error.what()).find("needs at least"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gaussmith
