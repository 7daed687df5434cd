// One float64 or a vector of them: passes over coefs are written once for both, the last few
// numbers filling no vector.
//
// Included by coef_ops.cpp alone, and in an unnamed namespace, as vec.hpp is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kWide = kWidth<double>;

// Of one number or a vector, wherever they stand.
template <class Numbers>
inline Numbers read(const double* from) {
  Numbers numbers;
  __builtin_memcpy(&numbers, from, sizeof numbers);
  return numbers;
}
template <class Numbers>
inline void write(double* to, Numbers numbers) {
  __builtin_memcpy(to, &numbers, sizeof numbers);
}

// Of a kernel row, at a multiple of kWide if it is a vector.
template <class Numbers, class Real>
inline Numbers read_row(const Real* from) {
  if constexpr (sizeof(Numbers) == sizeof(double)) {
    return static_cast<double>(*from);
  } else {
    return load_doubles(from);
  }
}

template <class Numbers>
inline Numbers absolute(Numbers x) {
  if constexpr (sizeof(Numbers) == sizeof(double)) {
    return __builtin_fabs(x);
  } else {
    using Words = decltype(x < x);
    return (Numbers)((Words)x & (Words{} + std::numeric_limits<std::int64_t>::max()));
  }
}

// `size` is not negative.
template <class Numbers>
inline Numbers with_sign_of(Numbers x, Numbers size) {
  return x < 0.0 ? -size : size;
}

inline double smaller(double a, double b) { return a < b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }

inline double root(double x) { return __builtin_sqrt(x); }
inline Doubles root(Doubles x) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_sqrt_pd(0xFF, (__m512d)x);
#elif defined(__AVX2__)
  return (Doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (Doubles)_mm_sqrt_pd((__m128d)x);
#else
  for (std::size_t j = 0; j < kWide; ++j) {
    x[static_cast<int>(j)] = __builtin_sqrt(x[static_cast<int>(j)]);
  }
  return x;
#endif
}

// Calls `step(i, kind)` for every i that begins a vector, and then for each that is left alone;
// `kind` is of the type of the numbers to use.
template <class Step>
inline void for_each(std::size_t n, Step step) {
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + kWide <= n; i += kWide) step(i, Doubles{});
  for (; i < n; ++i) step(i, double{});
}

inline bool everywhere(bool holds) { return holds; }
template <class Mask>
inline bool everywhere(Mask holds) {
  return lanes(holds) == (1u << kWide) - 1;
}

}  // namespace
}  // namespace budgetron
