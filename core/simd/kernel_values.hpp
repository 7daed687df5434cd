// From sums to kernel values, in SIMD: what a row (kernel_row.cpp) and a block of rows
// (kernel_block.cpp) end with.
//
// Included by those files alone, and in an unnamed namespace, as vec.hpp is.
#pragma once

#include <cstddef>

#include "simd/kernel_row.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kDotLanes = 16;  // = kLanes of aligned_vector.hpp
constexpr int kStep = 4;               // vectors that go through exp in step
// Sums of this many bytes stay in L1 between the passes over them: 32 kB is the smallest L1 met.
constexpr std::size_t kTileBytes = 16384;

template <class Real>
inline Vector<Real> absolute(Vector<Real> v) {
  using Words = typename Traits<Real>::Words;
  return (Vector<Real>)((Words)v & ~(Words{} + Traits<Real>::sign));
}

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
// below `lowest` it is 0 instead of a subnormal. No branch, no table. Several vectors go through it
// in step: one alone is a chain of 20 operations that each wait for the one before.
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
  for (int b = 0; b < vectors; ++b) e[b] = absolute<Real>(z[b]) * all<Real>(Real(-2));
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

// Calls use<kind>() with the kernel's kind, to be known when its loops are compiled.
template <class Use>
inline void with_kind(KernelKind kind, Use use) {
  switch (kind) {
    case KernelKind::rbf:
      return use.template operator()<KernelKind::rbf>();
    case KernelKind::laplacian:
      return use.template operator()<KernelKind::laplacian>();
    case KernelKind::poly:
      return use.template operator()<KernelKind::poly>();
    case KernelKind::linear:
      return use.template operator()<KernelKind::linear>();
    case KernelKind::sigmoid:
      return use.template operator()<KernelKind::sigmoid>();
  }
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

// From the accumulated sums to the kernel values, in place. rbf: `distances` on the way.
template <class Real, KernelKind kind, int vectors>
inline void finish(const RowTask<Real>& task, const Real* norms, Vector<Real> (&sums)[vectors],
                   Real* distances) {
  const Vector<Real> zero{};
  if constexpr (kind == KernelKind::rbf || kind == KernelKind::laplacian) {
    const Vector<Real> norm = all<Real>(task.norm);
    const Vector<Real> scale = all<Real>(-task.gamma);
    const Vector<Real> minus_two = all<Real>(Real(-2));  // twice a sum is exact
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      const Vector<Real> n = load<Real>(norms + static_cast<std::size_t>(b) * kWidth<Real>);
      const Vector<Real> d =
          kind == KernelKind::rbf ? multiply_add(sums[b], minus_two, n + norm) : n + sums[b];
      sums[b] = larger(d, zero);
    }
    if (kind == KernelKind::rbf && distances != nullptr) {
#pragma GCC unroll 8
      for (int b = 0; b < vectors; ++b) {
        store<Real>(distances + static_cast<std::size_t>(b) * kWidth<Real>, sums[b]);
      }
    }
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) sums[b] = sums[b] * scale;
    exponential<Real>(sums);
  } else if constexpr (kind != KernelKind::linear) {
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      sums[b] = multiply_add(sums[b], all<Real>(task.gamma), all<Real>(task.coef0));
    }
    if constexpr (kind == KernelKind::poly) {
#pragma GCC unroll 8
      for (int b = 0; b < vectors; ++b) sums[b] = power<Real>(sums[b], task.degree);
    } else {
      tangent<Real>(sums);
    }
  }
}

// From sums to kernel values, `vectors` vectors of the row from `first` on. `sums`, their first on,
// are in the row itself or counts.
template <class Real, KernelKind kind, int vectors, class Sum>
inline void finish_vectors(const RowTask<Real>& task, const Sum* sums, std::size_t first) {
  Vector<Real> v[vectors];
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    v[b] = load_stored<Real>(sums + static_cast<std::size_t>(b) * kWidth<Real>);
  }
  finish<Real, kind>(task, task.norms + first, v,
                     task.distances == nullptr ? nullptr : task.distances + first);
#pragma GCC unroll 8
  for (int b = 0; b < vectors; ++b) {
    store<Real>(task.row + first + static_cast<std::size_t>(b) * kWidth<Real>, v[b]);
  }
}

// The same of the examples [first, last).
template <class Real, KernelKind kind, class Sum>
inline void finish_columns(const RowTask<Real>& task, const Sum* sums, std::size_t first,
                           std::size_t last) {
  constexpr std::size_t step = static_cast<std::size_t>(kStep) * kWidth<Real>;
  std::size_t i = first;
  for (; i + step <= last; i += step, sums += step) {
    finish_vectors<Real, kind, kStep>(task, sums, i);
  }
  for (; i < last; i += kDotLanes, sums += kDotLanes) {
    finish_vectors<Real, kind, static_cast<int>(kDotLanes / kWidth<Real>)>(task, sums, i);
  }
}

}  // namespace
}  // namespace budgetron
