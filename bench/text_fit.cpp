// Means and variances of logistic regression on synthetic documents (text_rows.hpp) beside the point estimate alone.
//   gaussmith_text_fit [entries] [variances] [single]
// about as many entries (4.96e7, those of rcv1, if not given), vb.variances (lanczos:100), values in single precision.
// The baseline is the most probable weight vector by the same Newton steps and conjugate gradients, to a hundredth of a
// posterior standard deviation in all directions together.

#include "text_rows.hpp"

#include "engines/mean_ascent.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/gaussmith.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

namespace gs = gaussmith;

namespace {

constexpr int threads = 2;

double peak_gigabytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kilobytes = 0.0;
  while (file >> word)
    if (word == "VmHWM:") file >> kilobytes;
  return kilobytes / 1048576.0;
}

struct Times {
  double seconds;
  double processor;  ///< Of all threads, which a busy machine disturbs least.
};

template <class Work>
Times times_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t busy = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - busy) / CLOCKS_PER_SEC};
}

template <class Value>
gs::Model documents(double entries) {
  auto [rows, labels] = gs::bench::text_matrix<Value>(gs::bench::text_shape_of(entries));
  std::printf("%ld rows, %ld columns, %ld entries\n", static_cast<long>(rows.rows()), static_cast<long>(rows.cols()),
              static_cast<long>(rows.nonZeros()));
  gs::Model model;
  model.prior = gs::Isotropic{gs::Vector::Zero(rows.cols()), 1.0};
  model.design = gs::Design(std::move(rows));
  model.sites = {gs::observe("bernoulli-logit", labels)};
  return model;
}

/// The mode: where tangents at variances of nothing have their mean.
void find_mode(const gs::Model& model) {
  const auto core = gs::make_core(model, gs::CoreForm::matrix_free, threads, {gs::SampledVariances{}, 1});
  const gs::SiteRows sites(model, threads, gs::Smoothing::tangent);
  const gs::Vector variance = gs::Vector::Constant(model.rows(), 1e-12);
  const gs::Vector precision = gs::Vector::Constant(model.rows(), 0.25);
  if (!core->set({precision, gs::Vector::Zero(model.rows())})) std::abort();
  gs::SmoothedPoint point = gs::smoothed_point(*core, sites, variance, core->centre());
  gs::climb_mean(*core, sites, precision, variance, {0.01, 50, 1e-12, true}, point);
  std::printf("mode: log joint %.4f, residual %.2g\n", point.objective, point.residual);
}

}  // namespace

int main(int count, char** arguments) {
  const double entries = count > 1 ? std::atof(arguments[1]) : 4.96e7;
  const std::string variances = count > 2 ? arguments[2] : "lanczos:100";
  const bool single = count > 3 && std::string(arguments[3]) == "single";
  const gs::Model model = single ? documents<float>(entries) : documents<double>(entries);
  std::printf("made, peak %.2f GB\n", peak_gigabytes());
  const Times mode = times_of([&] { find_mode(model); });
  std::printf("mode alone: %.1f s, %.1f of the processor\n", mode.seconds, mode.processor);
  std::fflush(stdout);
  const Times whole = times_of([&] {
    const gs::Posterior posterior = gs::infer(model, gs::Vb{.variances = variances}, {.threads = threads});
    const gs::Report& report = posterior.report();
    std::printf("%s\n%s: evidence %.2f, standard error %.2g, errors of variances %.2g (rows), %.2g (weights)\n",
                report.brief().c_str(), report.core.c_str(), posterior.log_evidence().value,
                posterior.log_evidence().standard_error.value_or(0.0), report.latent_estimate_error,
                report.weights_estimate_error);
  });
  std::printf(
      "means, variances and evidence (%s): %.1f s, %.1f times the mode; %.1f s of the processor, %.1f times; peak %.2f "
      "GB\n",
      variances.c_str(), whole.seconds, whole.seconds / mode.seconds, whole.processor, whole.processor / mode.processor,
      peak_gigabytes());
  return 0;
}
