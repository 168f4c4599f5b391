// A Gaussian-process classifier: from tables to a model, learning by evidence, prediction, test error.
//   example_gp_classifier [folder with the bundled data]
#include <gaussmith/gaussmith.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>

namespace gs = gaussmith;

static void classify(const std::filesystem::path& data) {
  gs::TableModelOptions options;
  options.likelihood = "bernoulli-probit";
  options.target = "diagnosis";
  options.standardize = true;
  options.learning = true;  // Parameters that nothing sets start from the scale of the data.
  const gs::TableModel built = gs::build_table_model(gs::read_table(data / "breast_cancer_train.csv"), options);

  const gs::Learned learned = gs::learn(built.model, gs::Laplace{});
  std::printf("log evidence %.4f, %s\n", learned.posterior.log_evidence().value,
              learned.posterior.report().brief().c_str());
  for (const gs::Parameter& p : learned.posterior.model().parameters())
    std::printf("  %-20s %.4f\n", p.name.c_str(), p.value);

  // What a program would save and load later; the coding applies to the test table exactly as to the training table.
  const gs::SavedModel saved = gs::saved_model(learned, built.coding);
  const gs::Table test = gs::read_table(data / "breast_cancer_test.csv");
  const gs::TablePrediction predicted = gs::predict_table(saved, test, {.observed = true});
  const gs::Scores scores = gs::score(predicted.prediction, predicted.responses);
  std::printf("%d errors in %d test rows, mean log predictive density %.4f\n", static_cast<int>(*scores.errors),
              static_cast<int>(scores.rows), scores.mean_log_density);
}

int main(int argc, char** argv) {
  try {
    classify(argc > 1 ? argv[1] : "data");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gp_classifier: %s\n", error.what());
    return 1;
  }
}
