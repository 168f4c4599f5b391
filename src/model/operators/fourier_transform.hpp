#pragma once
// Two-dimensional Fourier transforms of real images, on FFTW.

#include "gaussmith/operators.hpp"

#include <complex>
#include <memory>

namespace gaussmith {

/// Buffers that FFTW's plans were made for: all are aligned alike.
struct FreeFourierBuffer {
  void operator()(void* buffer) const;
};
using RealBuffer = std::unique_ptr<double[], FreeFourierBuffer>;  // NOLINT: of a size known at run time.
using ComplexBuffer = std::unique_ptr<std::complex<double>[], FreeFourierBuffer>;  // NOLINT

/// Transforms of images of one shape. Coefficients of real images are conjugate in pairs, so that v <= width / 2 are
/// all that is stored, at u half_width() + v. Plans are made by rule, not by trial, so that the same shape always takes
/// the same steps. May be used on any number of threads.
class FourierTransform {
 public:
  explicit FourierTransform(const Grid& grid);
  FourierTransform(const FourierTransform&) = delete;
  FourierTransform& operator=(const FourierTransform&) = delete;
  ~FourierTransform();

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] Index half_width() const { return grid_.width / 2 + 1; }
  [[nodiscard]] Index coefficients() const { return grid_.height * half_width(); }
  [[nodiscard]] RealBuffer image() const;
  [[nodiscard]] ComplexBuffer spectrum() const;

  /// F(u, v) = sum_ij x(i, j) exp(-2 pi i (u i / height + v j / width)).
  void forward(double* image, std::complex<double>* spectrum) const;
  /// x(i, j) = sum_uv F(u, v) exp(2 pi i (u i / height + v j / width)), which is size times the inverse. Overwrites the
  /// spectrum.
  void backward(std::complex<double>* spectrum, double* image) const;

 private:
  struct Plans;
  Grid grid_;
  std::unique_ptr<const Plans> plans_;
};

/// The least n >= atleast that has no prime factor above 7, for which transforms are fast.
[[nodiscard]] Index fast_length(Index atleast);

}  // namespace gaussmith
