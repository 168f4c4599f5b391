// A Gaussian-process classifier: tables to features, learning by evidence, prediction, test error.
//   example_gp_classifier [folder with the bundled data]
#include <gaussmith/gaussmith.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>

namespace gs = gaussmith;

static void classify(const std::filesystem::path& data) {
  const gs::Table train = gs::read_table(data / "breast_cancer_train.csv");
  const gs::Table test = gs::read_table(data / "breast_cancer_test.csv");

  // How columns become numbers; both codings apply to the test table exactly as to the training table.
  gs::FeatureOptions options;
  options.reserved = {"diagnosis"};
  options.scaling = gs::Scaling::standardize;
  const gs::FeatureCoding features = gs::make_feature_coding(train, options);
  const gs::TargetCoding target = gs::make_target_coding(train, "diagnosis", gs::ResponseKind::sign);

  const gs::Model model{
      .prior = gs::GaussianProcess{.inputs = features.encode_dense(train),
                                   .kernel = gs::make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {3.0}}})},
      .sites = {gs::observe("bernoulli-probit", target.encode(train))}};

  const gs::Learned learned = gs::learn(model, gs::Laplace{});
  std::printf("log evidence %.4f, %s\n", learned.posterior.log_evidence().value,
              learned.posterior.report().brief().c_str());
  for (const gs::Parameter& p : learned.posterior.model().parameters())
    std::printf("  %-20s %.4f\n", p.name.c_str(), p.value);

  const gs::Prediction prediction = learned.posterior.predict(features.encode_dense(test));
  const gs::Vector probability = prediction.response_probability();
  const gs::Vector responses = target.encode(test);
  const auto errors = ((probability.array() > 0.5) != (responses.array() > 0.0)).count();
  std::printf("%d errors in %d test rows, mean log predictive density %.4f\n", static_cast<int>(errors),
              static_cast<int>(responses.size()), prediction.log_density(responses).mean());
}

int main(int argc, char** argv) {
  try {
    classify(argc > 1 ? argv[1] : "data");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gp_classifier: %s\n", error.what());
    return 1;
  }
}
