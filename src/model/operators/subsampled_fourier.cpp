#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "model/operators/checks.hpp"
#include "model/operators/fourier_transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

class SubsampledFourier final : public LinearOperator {
 public:
  SubsampledFourier(const Grid& grid, const FrequencyMask& mask) : transform_(grid) {
    for (Index u = 0; u < grid.height; ++u)
      for (Index v = 0; v < grid.width; ++v)
        if (mask(u, v)) chosen_.push_back({place(u, v), place((grid.height - u) % grid.height, grid.width - v)});
  }
  [[nodiscard]] Index rows() const override { return 2 * count(); }
  [[nodiscard]] Index cols() const override { return transform_.grid().size(); }
  [[nodiscard]] double bytes() const override { return static_cast<double>(chosen_.size() * sizeof(Coefficient)); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    const RealBuffer image = transform_.image();
    const ComplexBuffer spectrum = transform_.spectrum();
    for (Index k = 0; k < x.cols(); ++k) {
      std::copy_n(x.col(k).data(), cols(), image.get());
      transform_.forward(image.get(), spectrum.get());
      for (Index m = 0; m < count(); ++m) {
        const Coefficient& c = chosen_[static_cast<std::size_t>(m)];
        const std::complex<double> value = c.itself >= 0 ? spectrum[c.itself] : std::conj(spectrum[c.mirrored]);
        out(m, k) = unit() * value.real();
        out(count() + m, k) = unit() * value.imag();
      }
    }
  }

  /// The real part of the inverse transform of the chosen coefficients: that of their conjugate-symmetric half.
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    const RealBuffer image = transform_.image();
    const ComplexBuffer spectrum = transform_.spectrum();
    for (Index k = 0; k < x.cols(); ++k) {
      std::fill_n(spectrum.get(), transform_.coefficients(), 0.0);
      for (Index m = 0; m < count(); ++m) {
        const Coefficient& c = chosen_[static_cast<std::size_t>(m)];
        const std::complex<double> half = 0.5 * unit() * std::complex<double>(x(m, k), x(count() + m, k));
        if (c.itself >= 0) spectrum[c.itself] += half;
        if (c.mirrored >= 0) spectrum[c.mirrored] += std::conj(half);
      }
      transform_.backward(spectrum.get(), image.get());
      std::copy_n(image.get(), cols(), out.col(k).data());
    }
  }

 private:
  /// Where (u, v) and (-u, -v) stand in the stored half of a spectrum; -1 for outside of it.
  struct Coefficient {
    Index itself;
    Index mirrored;
  };

  [[nodiscard]] Index place(Index u, Index v) const {
    v %= transform_.grid().width;
    return v < transform_.half_width() ? u * transform_.half_width() + v : -1;
  }
  [[nodiscard]] Index count() const { return static_cast<Index>(chosen_.size()); }
  [[nodiscard]] double unit() const { return 1.0 / std::sqrt(static_cast<double>(transform_.grid().size())); }

  FourierTransform transform_;
  std::vector<Coefficient> chosen_;
};

}  // namespace

FrequencyMask frequency_lines(const Grid& grid, const std::vector<Index>& lines) {
  check_grid("frequency_lines", grid);
  FrequencyMask out = FrequencyMask::Constant(grid.height, grid.width, false);
  for (const Index u : lines) {
    if (u < 0 || u >= grid.height)
      throw InvalidModel(fmt::format("frequency_lines: line {} of a grid with {} lines; lines are 0 to {}", u,
                                     grid.height, grid.height - 1));
    out.row(u).setConstant(true);
  }
  return out;
}

OperatorHandle subsampled_fourier(const Grid& grid, const FrequencyMask& chosen) {
  check_grid("subsampled_fourier", grid);
  if (chosen.rows() != grid.height || chosen.cols() != grid.width)
    throw InvalidModel(fmt::format("subsampled_fourier: the mask is {} x {} and the grid {} x {}; they must be alike",
                                   chosen.rows(), chosen.cols(), grid.height, grid.width));
  if (!chosen.any()) throw InvalidModel("subsampled_fourier: the mask chooses no coefficient; at least one is needed");
  return std::make_shared<const SubsampledFourier>(grid, chosen);
}

}  // namespace gaussmith
