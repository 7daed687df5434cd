// The Fourier map in SIMD: see fourier.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
#include "simd/fourier.hpp"

#include "simd/kernel_values.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

// pi/2 in pieces whose products with n are exact without fusing too: of 8, 12 and 24 bits, while n
// < 2^12; of 33 bits each (fdlibm's), while n < 2^20. And how far the Taylor series go.
template <class Real>
struct Quarter;
template <>
struct Quarter<float> {
  static constexpr float pieces[] = {1.5703125f, 4.8387050628662109e-04f, -4.3711388e-08f};
  static constexpr int degree = 10;  // error below 2e-10 for |r| <= pi/4
};
template <>
struct Quarter<double> {
  static constexpr double pieces[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                      2.02226624879595063154e-21};
  static constexpr int degree = 16;
};

// cos(x) and sin(x): x = n pi/2 + r, |r| <= pi/4 (Cody & Waite 1980), Taylor, then the quadrant n
// mod 4 says which is which and its sign. Far beyond, where x has no digits left after the point, r
// is clamped: (cos, sin) stays a point of the circle, and finite whatever x is.
template <class Real>
inline void circle(Vector<Real> x, Vector<Real>* cosines, Vector<Real>* sines) {
  using Words = typename Traits<Real>::Words;
  constexpr int top = 8 * sizeof(Real) - 2;
  const Vector<Real> magic = all<Real>(Traits<Real>::magic);
  const Vector<Real> widest = all<Real>(Real(0.8));  // pi/4 and room for the rounding of n
  const Vector<Real> t = multiply_add(x, all<Real>(Real(0.63661977236758134)), magic);  // 2/pi
  const Vector<Real> n = t - magic;
  Vector<Real> r = x;
#pragma GCC unroll 3
  for (const Real piece : Quarter<Real>::pieces) r = multiply_add(n, all<Real>(-piece), r);
  r = r < widest ? r : widest;  // false for NaN too
  r = r > -widest ? r : -widest;
  const Vector<Real> square = -(r * r);
  Vector<Real> c = all<Real>(Real(inverse_factorial[Quarter<Real>::degree]));
  Vector<Real> s = all<Real>(Real(inverse_factorial[Quarter<Real>::degree + 1]));
#pragma GCC unroll 8
  for (int k = Quarter<Real>::degree - 2; k >= 0; k -= 2) {
    c = multiply_add(c, square, all<Real>(Real(inverse_factorial[k])));
    s = multiply_add(s, square, all<Real>(Real(inverse_factorial[k + 1])));
  }
  s = s * r;
  const Words quadrant = (Words)t;
  const auto odd = (quadrant & 1) != 0;
  *cosines = (Vector<Real>)((Words)(odd ? s : c) ^ (((quadrant + 1) & 2) << top));
  *sines = (Vector<Real>)((Words)(odd ? c : s) ^ ((quadrant & 2) << top));
}

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

// Eight vectors are as many sums as need not wait for each other, and leave registers for the rest.
template <class Real>
void map(const FourierTask<Real>& task) {
  std::size_t i = 0;
  for (; i + 8 * kWidth<Real> <= task.stride; i += 8 * kWidth<Real>) map_vectors<Real, 8>(task, i);
  for (; i + 4 * kWidth<Real> <= task.stride; i += 4 * kWidth<Real>) map_vectors<Real, 4>(task, i);
  for (; i < task.stride; i += kDotLanes) map_vectors<Real, kDotLanes / kWidth<Real>>(task, i);
}

template <class Real>
void move(double* weights, const Real* features, double by, std::size_t n) {
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
    map<float>, move<float>};
const FourierFunctions<double> BUDGETRON_CONCAT(fourier_functions_double_, BUDGETRON_ISA) = {
    map<double>, move<double>};

}  // namespace budgetron
