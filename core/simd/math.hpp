// exp, tanh, powers, cosine and sine of vectors.
//
// Only SIMD files include this one. The code is in an unnamed namespace like vec.hpp.
#pragma once

#include <cstddef>

#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr double inverse_factorial[] = {1.0,
                                        1.0,
                                        1.0 / 2,
                                        1.0 / 6,
                                        1.0 / 24,
                                        1.0 / 120,
                                        1.0 / 720,
                                        1.0 / 5040,
                                        1.0 / 40320,
                                        1.0 / 362880,
                                        1.0 / 3628800,
                                        1.0 / 39916800,
                                        1.0 / 479001600,
                                        1.0 / 6227020800,
                                        1.0 / 87178291200,
                                        1.0 / 1307674368000,
                                        1.0 / 20922789888000,
                                        1.0 / 355687428096000};

// exp(x) for x <= highest: x = n ln2 + r, |r| <= ln2/2, exp(x) = 2^n p(r). exp(0) = 1 exactly;
// below `lowest` the result is 0 instead of a subnormal. No branch, no table. Several vectors are
// computed together: a single one is a chain of 20 dependent operations.
template <class Real, int vectors>
inline void exponential(Vector<Real> (&x)[vectors]) {
  using T = Traits<Real>;
  using Words = typename T::Words;
  const Vector<Real> magic = all<Real>(T::magic);
  const Vector<Real> lowest = all<Real>(T::lowest);
  Vector<Real> t[vectors];  // n in the low bits
  Vector<Real> r[vectors];
  Vector<Real> p[vectors];
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    r[b] = larger(x[b], lowest);
    t[b] = multiply_add(r[b], all<Real>(Real(1.4426950408889634)), magic);
  }
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    const Vector<Real> n = t[b] - magic;
    r[b] = multiply_add(n, all<Real>(-T::ln2_high), r[b]);
    r[b] = multiply_add(n, all<Real>(-T::ln2_low), r[b]);
    p[b] = all<Real>(Real(inverse_factorial[T::degree]));
  }
#pragma GCC unroll 16
  for (int k = T::degree - 1; k >= 0; --k) {
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      p[b] = multiply_add(p[b], r[b], all<Real>(Real(inverse_factorial[k])));
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    const Words scaled = (Words)p[b] + ((Words)t[b] << T::shift);
    x[b] = x[b] < lowest ? Vector<Real>{} : (Vector<Real>)scaled;
  }
}

// tanh(z) = sign(z) (1 - e) / (1 + e), e = exp(-2|z|): never overflows.
template <class Real, int vectors>
inline void tangent(Vector<Real> (&z)[vectors]) {
  Vector<Real> e[vectors];
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) e[b] = absolute(z[b]) * all<Real>(Real(-2));
  exponential<Real>(e);
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    const Vector<Real> t = (all<Real>(Real(1)) - e[b]) / (all<Real>(Real(1)) + e[b]);
    z[b] = z[b] < Vector<Real>{} ? -t : t;
  }
}

template <class Real>
inline Vector<Real> power(Vector<Real> base, int degree) {
  Vector<Real> result = all<Real>(Real(1));
  for (; degree > 0; degree >>= 1, base = base * base) {
    if (degree & 1) result = result * base;
  }
  return result;
}

// pi/2 split into pieces whose products with n are exact even without fused multiply-add: of 8, 12
// and 24 bits while n < 2^12; of 33 bits each (fdlibm's) while n < 2^20. And the degrees of the
// Taylor series.
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
// mod 4 gives their order and signs. For very large x, which has no digits after the point, r is
// clamped: (cos, sin) stays on the circle and is finite for every x.
template <class Real>
inline void circle(Vector<Real> x, Vector<Real>* cosines, Vector<Real>* sines) {
  using Words = typename Traits<Real>::Words;
  constexpr int top = 8 * sizeof(Real) - 2;
  const Vector<Real> magic = all<Real>(Traits<Real>::magic);
  const Vector<Real> widest = all<Real>(Real(0.8));  // pi/4 plus the rounding of n
  const Vector<Real> t = multiply_add(x, all<Real>(Real(0.63661977236758134)), magic);  // 2/pi
  const Vector<Real> n = t - magic;
  Vector<Real> r = x;
#pragma GCC unroll 3
  for (const Real piece : Quarter<Real>::pieces) r = multiply_add(n, all<Real>(-piece), r);
  r = r < widest ? r : widest;  // also for NaN
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

}  // namespace
}  // namespace budgetron
