// From sums to kernel values, in SIMD: the last step of a row (kernel_row.cpp) and of a block of
// rows (kernel_block.cpp).
//
// Only these two files include this one. The code is in an unnamed namespace like vec.hpp.
#pragma once

#include <cstddef>

#include "simd/kernel_row.hpp"
#include "simd/math.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr int kStep = 4;  // vectors per call of exp, to hide its latency
// Sums of this many bytes stay in L1 between passes: 32 kB is the smallest L1 we know of.
constexpr std::size_t kTileBytes = 16384;

// Calls use<kind>() with the kernel's kind as a compile-time constant.
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

// Adds one term to the accumulators.
template <class Real, KernelKind kind>
inline Vector<Real> accumulate(Vector<Real> v, Vector<Real> s, Vector<Real> sum) {
  if constexpr (kind == KernelKind::laplacian) {
    return sum + (absolute(v - s) - absolute(s));
  } else {
    return multiply_add(v, s, sum);
  }
}

// Turns the accumulated sums into kernel values, in place. rbf: writes `distances` too.
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

// Turns `vectors` vectors of sums into kernel values of the row from `first` on. `sums` points to
// the first of them: in the row itself, or counts.
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

// The same for the examples [first, last).
template <class Real, KernelKind kind, class Sum>
inline void finish_values(const RowTask<Real>& task, const Sum* sums, std::size_t first,
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
