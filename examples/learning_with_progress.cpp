// Learning kernel and noise by evidence, watched by a progress callback that could also stop it.
//   example_learning_with_progress [folder with the bundled data]
#include <gaussmith/gaussmith.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace gs = gaussmith;

static void learn_curve(const std::filesystem::path& data) {
  const gs::Table table = gs::read_table(data / "outliers_train.csv");
  const gs::Model model{
      .prior = gs::GaussianProcess{.inputs = table.column("x").numbers, .kernel = gs::make_kernel("se")},
      .sites = {gs::observe("gaussian", table.column("y").numbers, {{"variance", gs::one(1.0)}})}};

  gs::Run run;
  run.progress = [](const gs::Iteration& step) {
    std::printf("evaluation %2d: best log evidence %10.4f, gradient %.1e\n", step.number, step.objective,
                step.residual);
    return step.number < 100 ? gs::Next::proceed : gs::Next::accept;  // accept: stop, keep the best so far
  };
  gs::LearnOptions options;
  options.bounds["kernel.lengthscale"] = {.lower = 0.05, .upper = 20.0};

  const auto [posterior, report] = gs::learn(model, gs::Exact{}, options, run);
  std::printf("%s: log evidence %.4f, %s\n", std::string(gs::to_string(report.status)).c_str(), report.objective,
              report.message.c_str());
  for (const gs::LearnedParameter& p : report.parameters)
    std::printf("  %-20s %.4f -> %.4f%s\n", p.name.c_str(), p.initial, p.value, p.at_bound ? " (at its bound)" : "");
}

int main(int argc, char** argv) {
  try {
    learn_curve(argc > 1 ? argv[1] : "data");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "learning_with_progress: %s\n", error.what());
    return 1;
  }
}
