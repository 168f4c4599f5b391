#include "engines/proposals.hpp"

#include "sampling/mode_finder.hpp"

#include <fmt/format.h>

namespace gaussmith {

Proposals::Proposals(const Model& model, const SamplingFit& fit, double share_of_prior, const Run& run, int threads)
    : words_(fmt::format("the {} fit", fit.method)) {
  if (fit.log_concave) {
    parts_ = {{&fit.reference, 1.0}};
    return;
  }
  const Progress progress(run.progress, nullptr);
  const ModeSearchResult found =
      find_modes(model, *fit.space, fit.reference.latent_mean(), run.seed, threads, progress, before_draws);
  why_not_searched_ = found.why;
  modes_ = gaussians_at(found.modes, fit.space, model);
  prior_ = ReferenceGaussian::prior(fit.space);
  const double rest = prior_ ? 1.0 - share_of_prior : 1.0;
  parts_.reserve(modes_.size() + 2);
  parts_.push_back({&fit.reference, modes_.empty() ? rest : 0.5 * rest});
  if (prior_) parts_.push_back({&*prior_, share_of_prior});
  for (const ReferenceGaussian& mode : modes_)
    parts_.push_back({&mode, 0.5 * rest / static_cast<double>(modes_.size())});
  if (!modes_.empty()) words_ += fmt::format(" and {} mode{}", modes_.size(), modes_.size() == 1 ? "" : "s");
}

}  // namespace gaussmith
