#include "model/operators/fourier_transform.hpp"

#include <fftw3.h>

#include <mutex>
#include <new>

namespace gaussmith {

namespace {

/// FFTW makes and destroys plans on one thread at a time.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

fftw_complex* as_fftw(std::complex<double>* spectrum) {
  return reinterpret_cast<fftw_complex*>(spectrum);  // NOLINT: FFTW states that the two are laid out alike.
}

}  // namespace

void FreeFourierBuffer::operator()(void* buffer) const { fftw_free(buffer); }

struct FourierTransform::Plans {
  fftw_plan forward = nullptr;
  fftw_plan backward = nullptr;

  Plans() = default;
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
  ~Plans() {
    const std::lock_guard lock(planner());
    fftw_destroy_plan(forward);
    fftw_destroy_plan(backward);
  }
};

FourierTransform::FourierTransform(const Grid& grid) : grid_(grid) {
  const RealBuffer x = image();
  const ComplexBuffer f = spectrum();
  auto plans = std::make_unique<Plans>();
  const auto height = static_cast<int>(grid.height);
  const auto width = static_cast<int>(grid.width);
  {
    const std::lock_guard lock(planner());
    plans->forward = fftw_plan_dft_r2c_2d(height, width, x.get(), as_fftw(f.get()), FFTW_ESTIMATE);
    plans->backward = fftw_plan_dft_c2r_2d(height, width, as_fftw(f.get()), x.get(), FFTW_ESTIMATE);
  }
  if (plans->forward == nullptr || plans->backward == nullptr) throw std::bad_alloc();
  plans_ = std::move(plans);
}

FourierTransform::~FourierTransform() = default;

RealBuffer FourierTransform::image() const {
  RealBuffer out(fftw_alloc_real(static_cast<std::size_t>(grid_.size())));
  if (!out) throw std::bad_alloc();
  return out;
}

ComplexBuffer FourierTransform::spectrum() const {
  ComplexBuffer out(reinterpret_cast<std::complex<double>*>(  // NOLINT: see as_fftw.
      fftw_alloc_complex(static_cast<std::size_t>(coefficients()))));
  if (!out) throw std::bad_alloc();
  return out;
}

void FourierTransform::forward(double* image, std::complex<double>* spectrum) const {
  fftw_execute_dft_r2c(plans_->forward, image, as_fftw(spectrum));
}

void FourierTransform::backward(std::complex<double>* spectrum, double* image) const {
  fftw_execute_dft_c2r(plans_->backward, as_fftw(spectrum), image);
}

Index fast_length(Index atleast) {
  for (Index n = atleast;; ++n) {
    Index rest = n;
    for (const Index factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

}  // namespace gaussmith
