// The Fourier map in SIMD: see fourier.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
#include "simd/fourier.hpp"

#include "simd/math.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

template <class Real, std::size_t vectors>
inline void map_vectors(const FourierTask<Real>& task, std::size_t i) {
  Vector<Real> angles[vectors] = {};
  if (task.start != nullptr) {
#pragma GCC unroll 8
    for (std::size_t b = 0; b < vectors; ++b) {
      angles[b] = load<Real>(task.start + i + b * kWidth<Real>);
    }
  }
  for (std::size_t k = 0; k < task.count; ++k) {
    const Vector<Real> v = all<Real>(task.values[k]);
    const Real* const slot = task.frequencies + task.slots[k] * task.stride + i;
#pragma GCC unroll 8
    for (std::size_t b = 0; b < vectors; ++b) {
      angles[b] = multiply_add(v, load<Real>(slot + b * kWidth<Real>), angles[b]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t b = 0; b < vectors; ++b) {
    Vector<Real> c, s;
    circle<Real>(angles[b], &c, &s);
    store<Real>(task.cosines + i + b * kWidth<Real>, c);
    store<Real>(task.sines + i + b * kWidth<Real>, s);
  }
}

// Eight vectors are enough independent sums to hide latency, and leave registers for the rest.
template <class Real>
void map(const FourierTask<Real>& task) {
  std::size_t i = 0;
  for (; i + 8 * kWidth<Real> <= task.stride; i += 8 * kWidth<Real>) map_vectors<Real, 8>(task, i);
  for (; i + 4 * kWidth<Real> <= task.stride; i += 4 * kWidth<Real>) map_vectors<Real, 4>(task, i);
  for (; i < task.stride; i += kDotLanes) map_vectors<Real, kDotLanes / kWidth<Real>>(task, i);
}

template <class Real>
void add_scaled(double* weights, const Real* features, double by, std::size_t n) {
  const Doubles factor = all<double>(by);
  for (std::size_t i = 0; i < n; i += kDotLanes) {
#pragma GCC unroll 8
    for (std::size_t at = i; at < i + kDotLanes; at += kWidth<double>) {
      const Doubles feature = load_doubles(features + at);
      store<double>(weights + at, multiply_add(factor, feature, load<double>(weights + at)));
    }
  }
}

}  // namespace

extern const FourierFunctions<float> BUDGETRON_CONCAT(fourier_functions_float_, BUDGETRON_ISA);
extern const FourierFunctions<double> BUDGETRON_CONCAT(fourier_functions_double_, BUDGETRON_ISA);
const FourierFunctions<float> BUDGETRON_CONCAT(fourier_functions_float_, BUDGETRON_ISA) = {
    map<float>, add_scaled<float>};
const FourierFunctions<double> BUDGETRON_CONCAT(fourier_functions_double_, BUDGETRON_ISA) = {
    map<double>, add_scaled<double>};

}  // namespace budgetron
