// The only SIMD file: see row.hpp. Compiled once per instruction set with BUDGETRON_ISA set.
//
// GCC/Clang vector types of the machine's full width; the accumulators of a block are local arrays
// with constant bounds, which the compiler keeps in registers. The multiply-add is written out per
// instruction set instead of left to contraction, so the bits are those of this source.
#include "row.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace budgetron {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
constexpr int kBlock = 8;  // accumulators a block: 8 of 32 registers
#elif defined(__AVX2__)
constexpr std::size_t kBytes = 32;
constexpr int kBlock = 8;  // 8 of 16: with the loads, enough to hide a multiply-add's latency
#else
constexpr std::size_t kBytes = 16;
constexpr int kBlock = 8;
#endif
constexpr std::size_t kDotLanes = 16;  // = kLanes of aligned.hpp

typedef float Floats __attribute__((vector_size(kBytes), may_alias));
typedef double Doubles __attribute__((vector_size(kBytes), may_alias));
typedef std::uint32_t Words32 __attribute__((vector_size(kBytes)));
typedef std::uint64_t Words64 __attribute__((vector_size(kBytes)));
// As many floats as there are doubles in a vector: what one conversion takes.
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

template <class Real>
inline Vector<Real> load(const Real* p) {
  return *reinterpret_cast<const Vector<Real>*>(p);
}
template <class Real>
inline void store(Real* p, Vector<Real> v) {
  *reinterpret_cast<Vector<Real>*>(p) = v;
}
template <class Real>
inline Vector<Real> all(Real x) {
  return Vector<Real>{} + x;
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

template <class Real>
inline Vector<Real> absolute(Vector<Real> v) {
  using Words = typename Traits<Real>::Words;
  return (Vector<Real>)((Words)v & ~(Words{} + Traits<Real>::sign));
}

// exp(x) for x <= highest: x = n ln2 + r, |r| <= ln2/2, exp(x) = 2^n p(r). exp(0) = 1 exactly;
// below `lowest` it is 0 instead of a subnormal. No branch, no table.
template <class Real>
inline Vector<Real> exponential(Vector<Real> x) {
  using T = Traits<Real>;
  using Words = typename T::Words;
  const Vector<Real> magic = all<Real>(T::magic);
  const Vector<Real> clamped = x > all<Real>(T::lowest) ? x : all<Real>(T::lowest);
  const Vector<Real> t =
      multiply_add(clamped, all<Real>(Real(1.4426950408889634)), magic);  // n in the low bits
  const Vector<Real> n = t - magic;
  Vector<Real> r = multiply_add(n, all<Real>(-T::ln2_high), clamped);
  r = multiply_add(n, all<Real>(-T::ln2_low), r);
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
                                          1.0 / 6227020800};
  Vector<Real> p = all<Real>(Real(inverse_factorial[T::degree]));
#pragma GCC unroll 16
  for (int k = T::degree - 1; k >= 0; --k) {
    p = multiply_add(p, r, all<Real>(Real(inverse_factorial[k])));
  }
  const Words scaled = (Words)p + ((Words)t << T::shift);
  return x < all<Real>(T::lowest) ? Vector<Real>{} : (Vector<Real>)scaled;
}

// tanh(z) = sign(z) (1 - e) / (1 + e), e = exp(-2|z|): never overflows.
template <class Real>
inline Vector<Real> tangent(Vector<Real> z) {
  const Vector<Real> e = exponential<Real>(absolute<Real>(z) * all<Real>(Real(-2)));
  const Vector<Real> t = (all<Real>(Real(1)) - e) / (all<Real>(Real(1)) + e);
  return z < Vector<Real>{} ? -t : t;
}

template <class Real>
inline Vector<Real> power(Vector<Real> base, int degree) {
  Vector<Real> result = all<Real>(Real(1));
  for (; degree > 0; degree >>= 1, base = base * base) {
    if (degree & 1) result = result * base;
  }
  return result;
}

// What one term adds to the accumulators.
template <class Real, KernelKind kind>
inline Vector<Real> accumulate(Vector<Real> v, Vector<Real> s, Vector<Real> sum) {
  if constexpr (kind == KernelKind::laplacian) {
    return sum + (absolute<Real>(v - s) - absolute<Real>(s));
  } else {
    return multiply_add(v, s, sum);
  }
}

// From the accumulated sum to the kernel value.
template <class Real, KernelKind kind>
inline Vector<Real> finish(const RowTask<Real>& task, Vector<Real> sum, Vector<Real> norms,
                           Vector<Real>* distances) {
  const Vector<Real> zero{};
  if constexpr (kind == KernelKind::rbf) {
    Vector<Real> d = (norms + task.norm) - (sum + sum);
    d = d > zero ? d : zero;
    *distances = d;
    return exponential<Real>(d * all<Real>(-task.gamma));
  } else if constexpr (kind == KernelKind::laplacian) {
    Vector<Real> d = norms + sum;
    d = d > zero ? d : zero;
    return exponential<Real>(d * all<Real>(-task.gamma));
  } else if constexpr (kind == KernelKind::linear) {
    return sum;
  } else {
    const Vector<Real> z = multiply_add(sum, all<Real>(task.gamma), all<Real>(task.coef0));
    return kind == KernelKind::poly ? power<Real>(z, task.degree) : tangent<Real>(z);
  }
}

// `vectors` vectors of stored examples from `first` on.
template <class Real, KernelKind kind, int vectors>
inline void block(const RowTask<Real>& task, std::size_t first) {
  Vector<Real> sums[vectors] = {};
  const Real* column = task.support + first;
  for (std::size_t k = 0; k < task.count; ++k) {
    const Vector<Real> v = all<Real>(task.values[k]);
    const Real* s = column + task.slots[k] * task.stride;
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      sums[b] = accumulate<Real, kind>(
          v, load<Real>(s + static_cast<std::size_t>(b) * kWidth<Real>), sums[b]);
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    const std::size_t at = first + static_cast<std::size_t>(b) * kWidth<Real>;
    Vector<Real> d{};
    store<Real>(task.row + at, finish<Real, kind>(task, sums[b], load<Real>(task.norms + at), &d));
    if constexpr (kind == KernelKind::rbf) {
      if (task.distances != nullptr) store<Real>(task.distances + at, d);
    }
  }
}

template <class Real, KernelKind kind>
void row_of(const RowTask<Real>& task) {
  std::size_t first = 0;
  std::size_t left = task.examples / kWidth<Real>;
  for (; left >= kBlock; left -= kBlock, first += kBlock * kWidth<Real>) {
    block<Real, kind, kBlock>(task, first);
  }
  if (left >= 4) {
    block<Real, kind, 4>(task, first);
    left -= 4;
    first += 4 * kWidth<Real>;
  }
  if (left >= 2) {
    block<Real, kind, 2>(task, first);
    left -= 2;
    first += 2 * kWidth<Real>;
  }
  if (left >= 1) block<Real, kind, 1>(task, first);
}

template <class Real>
void row(const RowTask<Real>& task) {
  switch (task.kind) {
    case KernelKind::rbf:
      return row_of<Real, KernelKind::rbf>(task);
    case KernelKind::laplacian:
      return row_of<Real, KernelKind::laplacian>(task);
    case KernelKind::poly:
      return row_of<Real, KernelKind::poly>(task);
    case KernelKind::linear:
      return row_of<Real, KernelKind::linear>(task);
    case KernelKind::sigmoid:
      return row_of<Real, KernelKind::sigmoid>(task);
  }
}

template <class Real>
Real squared_norm(const Real* values, std::size_t count) {
  Vector<Real> sum{};
  for (std::size_t k = 0; k < count; ++k) {
    const Vector<Real> v = all<Real>(values[k]);
    sum = multiply_add(v, v, sum);
  }
  return sum[0];
}

template <class Real>
Real absolute_norm(const Real* values, std::size_t count) {
  Vector<Real> sum{};
  for (std::size_t k = 0; k < count; ++k) {
    const Vector<Real> v = all<Real>(values[k]);
    sum = sum + absolute<Real>(v);
  }
  return sum[0];
}

template <class Real>
Real self(const RowTask<Real>& task) {
  Vector<Real> d{};
  const Vector<Real> norm = all<Real>(task.norm);
  switch (task.kind) {
    case KernelKind::rbf:
    case KernelKind::laplacian:
      return Real(1);
    case KernelKind::poly:
      return finish<Real, KernelKind::poly>(task, norm, norm, &d)[0];
    case KernelKind::linear:
      return task.norm;
    case KernelKind::sigmoid:
      return finish<Real, KernelKind::sigmoid>(task, norm, norm, &d)[0];
  }
  return Real(0);
}

inline Doubles load_doubles(const double* p) { return load<double>(p); }
inline Doubles load_doubles(const float* p) {
  return __builtin_convertvector(*reinterpret_cast<const HalfFloats*>(p), Doubles);
}

template <class Real>
double dot(const Real* values, const double* coefs, std::size_t n) {
  constexpr std::size_t width = kWidth<double>;
  constexpr int vectors = static_cast<int>(kDotLanes / width);
  Doubles sums[vectors] = {};
  for (std::size_t i = 0; i < n; i += kDotLanes) {
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      const std::size_t at = i + static_cast<std::size_t>(b) * width;
      sums[b] = multiply_add(load_doubles(values + at), load<double>(coefs + at), sums[b]);
    }
  }
  double lanes[kDotLanes];
  for (int b = 0; b < vectors; ++b) {
    for (std::size_t j = 0; j < width; ++j) {
      lanes[static_cast<std::size_t>(b) * width + j] = sums[b][static_cast<int>(j)];
    }
  }
  for (std::size_t half = kDotLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

}  // namespace

#define BUDGETRON_CONCAT_(a, b) a##b
#define BUDGETRON_CONCAT(a, b) BUDGETRON_CONCAT_(a, b)

extern const RowFunctions<float> BUDGETRON_CONCAT(row_functions_float_, BUDGETRON_ISA);
extern const RowFunctions<double> BUDGETRON_CONCAT(row_functions_double_, BUDGETRON_ISA);
const RowFunctions<float> BUDGETRON_CONCAT(row_functions_float_, BUDGETRON_ISA) = {
    row<float>, squared_norm<float>, absolute_norm<float>, self<float>, dot<float>};
const RowFunctions<double> BUDGETRON_CONCAT(row_functions_double_, BUDGETRON_ISA) = {
    row<double>, squared_norm<double>, absolute_norm<double>, self<double>, dot<double>};

}  // namespace budgetron
