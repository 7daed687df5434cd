// The vector types of the instruction set that a SIMD file is compiled for (dispatch.cpp lists
// them).
//
// Only those files include this one, and the code is in an unnamed namespace: each instruction set
// has its own copy, which the linker must not merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The name of a table of functions, one per instruction set.
#define BUDGETRON_CONCAT_(a, b) a##b
#define BUDGETRON_CONCAT(a, b) BUDGETRON_CONCAT_(a, b)

namespace budgetron {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kBytes = 32;
#else
constexpr std::size_t kBytes = 16;
#endif

typedef float Floats __attribute__((vector_size(kBytes), may_alias));
typedef double Doubles __attribute__((vector_size(kBytes), may_alias));
typedef std::uint32_t Words32 __attribute__((vector_size(kBytes)));
typedef std::uint64_t Words64 __attribute__((vector_size(kBytes)));
// As many floats as a vector has doubles: the input of one conversion.
typedef float HalfFloats __attribute__((vector_size(kBytes / 2), may_alias));

template <class Real>
struct Traits;
template <>
struct Traits<float> {
  using Vector = Floats;
  using Words = Words32;
  static constexpr int shift = 23;
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693359375f;
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr float lowest = -87.3f;  // exp stays a normal number above this
  static constexpr float highest = 88.0f;
  static constexpr int degree = 7;  // Taylor on |r| <= ln2/2: relative error below 1e-8
  static constexpr std::uint32_t sign = 0x80000000u;
};
template <>
struct Traits<double> {
  using Vector = Doubles;
  using Words = Words64;
  static constexpr int shift = 52;
  static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr double lowest = -708.3;
  static constexpr double highest = 709.0;
  static constexpr int degree = 13;  // relative error below 1e-17
  static constexpr std::uint64_t sign = 0x8000000000000000u;
};

template <class Real>
using Vector = typename Traits<Real>::Vector;
template <class Real>
constexpr std::size_t kWidth = kBytes / sizeof(Real);

// Lanes of every sum over stored examples, on every instruction set: kLanes of aligned_vector.hpp.
constexpr std::size_t kDotLanes = 16;

template <class Real>
inline Vector<Real> load(const Real* p) {
  return *reinterpret_cast<const Vector<Real>*>(p);
}
// Unaligned load.
template <class Real>
inline Vector<Real> load_loose(const Real* p) {
  typedef Real Anywhere __attribute__((vector_size(kBytes), aligned(sizeof(Real)), may_alias));
  return *reinterpret_cast<const Anywhere*>(p);
}
template <class Real>
inline void store(Real* p, Vector<Real> v) {
  *reinterpret_cast<Vector<Real>*>(p) = v;
}
template <class Real>
inline Vector<Real> all(Real x) {
  return x - Vector<Real>{};
}

inline Floats multiply_add(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline Doubles multiply_add(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (Doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

inline Doubles load_doubles(const double* p) { return load<double>(p); }
// Written out: GCC 12 makes four instructions of __builtin_convertvector.
inline Doubles load_doubles(const float* p) {
#if defined(__AVX512F__)
  // maskz, all lanes: the plain form draws GCC's false "uninitialized" warning.
  return (Doubles)_mm512_maskz_cvtps_pd(0xFF, _mm256_load_ps(p));
#elif defined(__AVX2__)
  return (Doubles)_mm256_cvtps_pd(_mm_load_ps(p));
#else
  return __builtin_convertvector(*reinterpret_cast<const HalfFloats*>(p), Doubles);
#endif
}

typedef std::uint8_t Bytes __attribute__((vector_size(kBytes), may_alias));

// Numbers stored as bytes, as many as a vector of Real has.
template <class Real>
inline Vector<Real> load_bytes(const std::uint8_t* p) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4) {
    const __m512i words = _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128((const __m128i*)p));
    return (Vector<Real>)_mm512_maskz_cvtepi32_ps(0xFFFF, words);
  } else {
    const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
    return (Vector<Real>)_mm512_maskz_cvtepi32_pd(0xFF, words);
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4) {
    const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
    return (Vector<Real>)_mm256_cvtepi32_ps(words);
  } else {
    return (Vector<Real>)_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_loadu_si32(p)));
  }
#else
  Vector<Real> numbers{};
  for (std::size_t j = 0; j < kWidth<Real>; ++j) {
    numbers[static_cast<int>(j)] = static_cast<Real>(p[j]);
  }
  return numbers;
#endif
}
inline Bytes load_vector(const std::uint8_t* p) { return *reinterpret_cast<const Bytes*>(p); }
template <class Real>
inline Vector<Real> load_stored(const Real* p) {
  return load<Real>(p);
}
template <class Real>
inline Vector<Real> load_stored(const std::uint8_t* p) {
  return load_bytes<Real>(p);
}

// Whether a comparison is true in any lane.
template <class Mask>
inline bool any(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#elif defined(__x86_64__)
  return _mm_movemask_pd((__m128d)mask) != 0;
#else
  bool found = false;
  for (std::size_t j = 0; j < sizeof(Mask) / sizeof(mask[0]); ++j) {
    found |= mask[static_cast<int>(j)] != 0;
  }
  return found;
#endif
}

// The lanes in which a comparison of doubles is true, as bits.
template <class Mask>
inline std::uint32_t lanes(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_pd((__m256d)mask));
#elif defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_pd((__m128d)mask));
#else
  std::uint32_t bits = 0;
  for (std::size_t j = 0; j < kWidth<double>; ++j) {
    bits |= static_cast<std::uint32_t>(mask[static_cast<int>(j)] != 0) << j;
  }
  return bits;
#endif
}

// a > b ? a : b; b if either is NaN. One instruction, where GCC makes two.
inline Floats larger(Floats a, Floats b) {
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_max_ps(0xFFFF, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (Floats)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}
inline Doubles larger(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_max_pd(0xFF, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (Doubles)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
  return a > b ? a : b;
#endif
}

// a < b ? a : b; b if either is NaN.
inline Doubles smaller(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_min_pd(0xFF, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (Doubles)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
  return a < b ? a : b;
#endif
}

// |x| of vectors, and of one double.
template <class Numbers>
inline Numbers absolute(Numbers x) {
  if constexpr (sizeof(Numbers) == sizeof(double)) {
    return __builtin_fabs(x);
  } else {
    using Words = decltype(x < x);
    using Word = decltype(Words{}[0] + 0);
    return (Numbers)((Words)x & (Words{} + std::numeric_limits<Word>::max()));
  }
}

// The place of the least of n numbers, n > 0, none of them NaN; the first if several are equal.
// Each lane remembers the least number it has seen and its place, in two independent chains.
template <class Number>
std::size_t first_least(const Number* numbers, std::size_t n) {
  typedef Number Lanes __attribute__((vector_size(kBytes)));
  using Places = decltype(Lanes{} < Lanes{});
  using Place = decltype(Places{}[0] + 0);
  constexpr std::size_t width = kBytes / sizeof(Number);
  constexpr std::size_t together = 2;
  Lanes least[together];
  Places where[together];
  Places at{};
  for (std::size_t j = 0; j < width; ++j) at[static_cast<int>(j)] = static_cast<Place>(j);
  for (std::size_t c = 0; c < together; ++c) {
    least[c] = numbers[0] - Lanes{};
    where[c] = Places{};
  }
  std::size_t i = 0;
  for (; i + together * width <= n; i += together * width) {
#pragma GCC unroll 2
    for (std::size_t c = 0; c < together; ++c) {
      Lanes next;
      __builtin_memcpy(&next, numbers + i + c * width, sizeof next);
      const Places less = next < least[c];
      least[c] = less ? next : least[c];
      where[c] = less ? at : where[c];
      at = at + static_cast<Place>(width);
    }
  }
  std::size_t found = 0;
  const auto meet = [&](std::size_t place) {
    const Number number = numbers[place];
    if (number < numbers[found] || (number == numbers[found] && place < found)) found = place;
  };
  for (const Places& places : where) {
    for (std::size_t j = 0; j < width; ++j) {
      meet(static_cast<std::size_t>(places[static_cast<int>(j)]));
    }
  }
  for (; i < n; ++i) meet(i);
  return found;
}

// ---- one float64 or a vector of them ------------------------------------------------------------
// Passes over coefs are written once for both: the last few numbers do not fill a vector.

// Loads one number or a vector, aligned or not.
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

// Loads from a kernel row; a vector must begin at a multiple of kWidth<double>.
template <class Numbers, class Real>
inline Numbers read_row(const Real* from) {
  if constexpr (sizeof(Numbers) == sizeof(double)) {
    return static_cast<double>(*from);
  } else {
    return load_doubles(from);
  }
}

// `size` with the sign of x; `size` is not negative.
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
  for (std::size_t j = 0; j < kWidth<double>; ++j) {
    x[static_cast<int>(j)] = __builtin_sqrt(x[static_cast<int>(j)]);
  }
  return x;
#endif
}

// Calls `step(i, kind)` for every i that begins a whole vector, then for each remaining i; `kind`
// has the type of the numbers to use.
template <class Step>
inline void for_each(std::size_t n, Step step) {
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + kWidth<double> <= n; i += kWidth<double>) step(i, Doubles{});
  for (; i < n; ++i) step(i, double{});
}

inline bool everywhere(bool holds) { return holds; }
template <class Mask>
inline bool everywhere(Mask holds) {
  return lanes(holds) == (1u << kWidth<double>)-1;
}

}  // namespace
}  // namespace budgetron
