#pragma once
// The truth about small posteriors: particles carried from the prior to the posterior in many small steps of the
// likelihood's power, moved by elliptical slice sampling, two independent runs that tell the error. Up to two weights a
// grid as well. Nothing here knows how the library finds Gaussians or draws around them.

#include <gaussmith/infer.hpp>

#include <cstdint>

namespace reproduce {

namespace gs = gaussmith;

struct PosteriorTruth {
  double log_evidence = 0.0, log_evidence_error = 0.0;
  gs::Vector latent_mean, latent_sd, weights_mean, weights_sd;
  double mean_error = 0.0;  ///< Of the worst mean, in sds.
  double sd_error = 0.0;    ///< Of the worst sd, relative.
};

/// Models with an isotropic or a process prior.
[[nodiscard]] PosteriorTruth posterior_truth(const gs::Model& model, int particles, std::uint64_t seed);

}  // namespace reproduce
