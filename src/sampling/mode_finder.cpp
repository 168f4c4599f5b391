#include "sampling/mode_finder.hpp"

#include "base/random_choice.hpp"
#include "linalg/blas_threads.hpp"
#include "model/site_rows.hpp"
#include "sampling/rooted_mode.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gaussmith {

namespace {

constexpr int prior_starts = 16;
constexpr int row_starts = 8;
constexpr int outvoted_rounds = 3;
constexpr std::size_t most_modes = 8;
/// How far the log mass of a mode may lie below the largest to be drawn around.
constexpr double negligible_mass = 12.0;

/// Flops of a step of the search.
double step_of(const SamplingSpace& space) {
  const auto k = static_cast<double>(space.rank());
  return 2.0 * static_cast<double>(space.latents()) * k * k;
}

/// Where a site alone would have its row, and how firmly.
struct Peaks {
  Vector place, precision;
};

/// The largest log t of every row within `reach` of the prior mean: a scan, then golden sections around its best node.
Peaks find_peaks(const SiteRows& sites, const Vector& centre, const Vector& reach) {
  constexpr int nodes = 201;
  constexpr int sections = 60;
  const Index n = sites.rows();
  Vector best = Vector::Constant(n, -std::numeric_limits<double>::infinity());
  Vector place = centre;
  Vector value;
  for (int k = 0; k < nodes; ++k) {
    const double share = 2.0 * k / (nodes - 1) - 1.0;
    const Vector eta = centre + share * reach;
    sites.log_density(eta, &value);
    for (Index i = 0; i < n; ++i)
      if (value(i) > best(i)) {
        best(i) = value(i);
        place(i) = eta(i);
      }
  }
  Vector low = place - 2.0 / (nodes - 1) * reach;
  Vector high = place + 2.0 / (nodes - 1) * reach;
  const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
  Vector other;
  for (int section = 0; section < sections; ++section) {
    const Vector left = high - golden * (high - low);
    const Vector right = low + golden * (high - low);
    sites.log_density(left, &value);
    sites.log_density(right, &other);
    for (Index i = 0; i < n; ++i) (value(i) < other(i) ? low : high)(i) = value(i) < other(i) ? left(i) : right(i);
  }
  Peaks peaks{0.5 * (low + high), Vector(n)};
  Vector second;
  sites.log_density(peaks.place, nullptr, nullptr, &second);
  for (Index i = 0; i < n; ++i) peaks.precision(i) = std::isfinite(second(i)) ? std::max(0.0, -second(i)) : 0.0;
  return peaks;
}

class Finder {
 public:
  Finder(const Model& model, const SamplingSpace& space, std::uint64_t seed, int threads, const Progress& progress,
         double dear_step)
      : sites_(model, threads),
        space_(space),
        random_(seed),
        search_(sites_, none_, space.rows()),
        progress_(progress) {
    const Index n = sites_.rows();
    none_ = {Vector::Zero(n), Vector::Zero(n), Vector::Zero(n), Vector::Zero(n)};
    const Vector sd = space.rows().rowwise().norm();
    peaks_ = find_peaks(sites_, space.latent_mean(), 6.0 * sd);
    const bool dear = step_of(space) > dear_step;
    priors_ = dear ? prior_starts / 4 : prior_starts;
    fits_ = dear ? row_starts / 4 : row_starts;
  }

  ModeSearchResult run(const Vector& mean) {
    result_.searched = true;
    const Vector all = Vector::Ones(sites_.rows());
    climb(fit(all, mean, Vector::Ones(sites_.rows())));
    if (space_.prior_precision().minCoeff() > 0.0)
      for (int i = 0; i < priors_; ++i) {
        Vector v(space_.rank());
        for (Index j = 0; j < v.size(); ++j) v(j) = random_.normal();
        climb(std::move(v));
      }
    for (int i = 0; i < fits_; ++i) climb(fit(random_rows(), peaks_.place, peaks_.precision));
    // What the largest modes outvote, and what that outvotes in its turn.
    for (int round = 0; round < outvoted_rounds; ++round) {
      const std::vector<FoundMode> before = result_.modes;
      for (std::size_t m = 0; m < std::min<std::size_t>(before.size(), 3); ++m) follow_outvoted(before[m].outvoted);
    }
    std::stable_sort(result_.modes.begin(), result_.modes.end(),
                     [](const FoundMode& a, const FoundMode& b) { return a.log_mass > b.log_mass; });
    return std::move(result_);
  }

 private:
  /// The v whose rows are nearest to these places, with these precisions times `share`.
  [[nodiscard]] Vector fit(const Vector& share, const Vector& place, const Vector& precision) const {
    const Vector weight = share.cwiseProduct(precision);
    Matrix a = transposed_times(space_.rows(), Matrix(weight.asDiagonal() * space_.rows()));
    const double trace = a.diagonal().maxCoeff();
    a.diagonal() += space_.prior_precision();
    a.diagonal().array() += 1e-10 * (1.0 + trace);
    Vector v = space_.rows().transpose() * weight.cwiseProduct(place - space_.latent_mean());
    if (!cholesky(a)) return Vector::Zero(space_.rank());
    solve_lower(a, v);
    solve_lower_transposed(a, v);
    return v;
  }

  [[nodiscard]] Vector random_rows() {
    const Index n = sites_.rows();
    const Index count = std::min(space_.rank(), std::max<Index>(1, n / 2));
    std::vector<Index> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), Index{0});
    Vector share = Vector::Zero(n);
    for (Index i = 0; i < count; ++i) {
      const auto pick = i + random_below(n - i, random_);
      std::swap(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(pick)]);
      share(rows[static_cast<std::size_t>(i)]) = 1.0;
    }
    return share;
  }

  [[nodiscard]] std::vector<bool> outvoted_at(const Vector& eta, const std::vector<bool>* among = nullptr) const {
    Vector second;
    sites_.log_density(eta, nullptr, nullptr, &second);
    std::vector<bool> out(static_cast<std::size_t>(second.size()));
    for (Index n = 0; n < second.size(); ++n)
      out[static_cast<std::size_t>(n)] = second(n) > 0.0 && (among == nullptr || (*among)[static_cast<std::size_t>(n)]);
    return out;
  }

  /// Fits a group of rows alone, then those of it that its fit outvotes, and climbs from both with all rows.
  void follow_outvoted(std::vector<bool> group) {
    for (int round = 0; round < outvoted_rounds; ++round) {
      Vector share = Vector::Zero(sites_.rows());
      for (Index n = 0; n < share.size(); ++n) share(n) = group[static_cast<std::size_t>(n)] ? 1.0 : 0.0;
      if (stopped_ || share.sum() == 0.0 || std::find(tried_.begin(), tried_.end(), group) != tried_.end()) return;
      tried_.push_back(group);
      search_.start(fit(share, peaks_.place, peaks_.precision));
      (void)search_.climb(space_.latent_mean(), {.prior = &space_.prior_precision(), .share = &share});
      const Vector alone = search_.at();
      group = outvoted_at(space_.latent_mean() + space_.rows() * alone, &group);
      climb(alone);
    }
  }

  void climb(Vector start) {
    if (stopped_) return;
    ++result_.starts;
    search_.start(std::move(start));
    const RootedMode mode = search_.climb(space_.latent_mean(), {.prior = &space_.prior_precision()});
    stopped_ = progress_.tell({result_.starts, mode.log_integral, 0.0, "search for modes"}) != Next::proceed;
    if (!mode.settled) return;
    FoundMode found{space_.latent_mean() + space_.rows() * search_.at(), search_.at(), mode.log_integral, {}};
    const double size = 1.0 + found.eta.lpNorm<Eigen::Infinity>();
    for (const FoundMode& other : result_.modes)
      if ((other.eta - found.eta).lpNorm<Eigen::Infinity>() < same_mode * size) return;
    found.outvoted = outvoted_at(found.eta);
    result_.modes.push_back(std::move(found));
  }

  static constexpr double same_mode = 1e-4;

  SiteRows sites_;
  const SamplingSpace& space_;
  Random random_;
  CentredSites none_;  // The search knows the sites alone.
  RootedSearch search_;
  const Progress& progress_;
  bool stopped_ = false;
  Peaks peaks_;
  int priors_ = prior_starts, fits_ = row_starts;
  std::vector<std::vector<bool>> tried_;
  ModeSearchResult result_;
};

/// Why a model that may have several modes cannot be searched; else empty.
std::string why_not(const SiteRows& sites, const SamplingSpace& space, double dearest_step) {
  if (space.width() > 1) return "rows have several latents";
  if (!sites.all(&SiteTraits::smooth)) return "sites have kinks or jumps";
  if (step_of(space) > dearest_step) return "a search through so many rows and coordinates would take too long";
  return {};
}

}  // namespace

ModeSearchResult find_modes(const Model& model, const SamplingSpace& space, const Vector& mean, std::uint64_t seed,
                            int threads, const Progress& progress, const ModeSearchCost& cost) {
  const SiteRows sites(model, threads);
  ModeSearchResult result;
  if (sites.all(&SiteTraits::log_concave)) {
    result.searched = true;
  } else if (result.why = why_not(sites, space, cost.dearest); result.why.empty()) {
    const BlasThreads blas(threads);
    result = Finder(model, space, seed, threads, progress, cost.dear).run(mean);
  }
  return result;
}

std::size_t modes_with_mass(const std::vector<FoundMode>& modes) {
  std::size_t count = 0;
  while (count < std::min(modes.size(), most_modes) &&
         modes[count].log_mass >= modes.front().log_mass - negligible_mass)
    ++count;
  return count;
}

std::vector<ReferenceGaussian> gaussians_at(const std::vector<FoundMode>& modes,
                                            const std::shared_ptr<const SamplingSpace>& space, const Model& model) {
  const std::size_t count = modes_with_mass(modes);
  std::vector<ReferenceGaussian> out;
  out.reserve(count);
  for (std::size_t m = 0; m < count; ++m)
    if (auto gaussian = ReferenceGaussian::at(space, model, modes[m].eta)) out.push_back(std::move(*gaussian));
  return out;
}

}  // namespace gaussmith
