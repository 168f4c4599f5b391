#pragma once
// One partition of the experiments of K. M. A. Chai, Variational multinomial logit Gaussian process, JMLR 13 (2012),
// section 9: every function makes the figures of one line of the ledger.

#include "class_data.hpp"
#include "ledger.hpp"

#include <string>
#include <vector>

namespace reproduce {

/// One partition and how hard to sample.
struct Trial {
  const ClassData& data;
  ClassSplit split;
  int set = 0;
  int draws = 10000;           ///< Of importance sampling around the approximation.
  int student_draws = 100000;  ///< Of the published proposal.
};

/// MF-MNP: length-scales by the mean field of Girolami and Rogers (ell0, ell1, ...), its bound as they report it and as
/// it is, test errors and log density.
[[nodiscard]] Figures mean_field(const Trial& trial);

/// MC-MNP: the multinomial probit sampled around EP at these length-scales.
[[nodiscard]] Figures sampled_probit(const Trial& trial, const gs::Vector& lengthscale);

/// KL-MNL and MC-MNL at these length-scales.
[[nodiscard]] Figures softmax_bound(const Trial& trial, const gs::Vector& lengthscale);

/// Length-scales learned by the bound, from √d for all inputs and from `other_start`; the better one.
[[nodiscard]] Figures learned_lengthscales(const Trial& trial, const gs::Vector& other_start);

/// The bounds and log Z when the prior variance grows at these length-scales.
[[nodiscard]] Figures bounds_at_variance(const Trial& trial, const gs::Vector& lengthscale, double variance);

/// M1 to M5 in the order of the paper.
struct ClassCovariance {
  const char* name;
  gs::LatentModel model;
};
[[nodiscard]] const std::vector<ClassCovariance>& class_covariances();

/// sqexpiso with independent functions, both parameters learned: M1.
[[nodiscard]] Figures independent_functions(const Trial& trial);

/// K^c learned at the kernel of M1. `start` is K^c of the model that it contains; empty: the identity.
[[nodiscard]] Figures related_functions(const Trial& trial, gs::LatentModel model, double signal_sd, double lengthscale,
                                        const gs::Matrix& start);

/// K^c among the figures of a fit.
[[nodiscard]] gs::Matrix class_covariance(const Ledger& ledger, const std::string& study, int set, gs::Index classes);
/// ell0, ell1, ... among the figures of a fit.
[[nodiscard]] gs::Vector lengthscales(const Ledger& ledger, const std::string& study, int set, gs::Index inputs);

}  // namespace reproduce
