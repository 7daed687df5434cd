// The kernel row of a binary x (all its terms are 1) and binary examples stored as bytes
// (value_columns.hpp): dot products are counts, in bytes.
//
// Only kernel_row.cpp includes this file. The code is in an unnamed namespace like vec.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/gaussian_table.hpp"
#include "simd/kernel_row.hpp"
#include "simd/kernel_values.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kLine = 64;  // bytes: slots of bytes are whole cache lines

// Counts the terms that each example of `lines` cache lines has, from example i on, without hits.
template <class Real, std::size_t lines>
inline void count_lines(const RowTask<Real>& task, std::size_t i, std::uint8_t* counts) {
  constexpr std::size_t vectors = lines * kLine / kBytes;
  Bytes sums[vectors] = {};
  for (std::size_t k = 0; k < task.count; ++k) {
    const std::uint8_t* const s = task.ones + task.slots[k] * task.stride + i;
#pragma GCC unroll 20
    for (std::size_t b = 0; b < vectors; ++b) sums[b] += load_vector(s + b * kBytes);
  }
#pragma GCC unroll 20
  for (std::size_t b = 0; b < vectors; ++b) {
    *reinterpret_cast<Bytes*>(counts + b * kBytes) = sums[b];
  }
}

// The counts of the examples [first, last), in groups that fit into registers; the count of example
// i is counts[i - first].
template <class Real>
void count(const RowTask<Real>& task, std::size_t first, std::size_t last, std::uint8_t* counts) {
  constexpr std::size_t most = 5;  // cache lines
  for (std::size_t i = first; i < last; i += most * kLine, counts += most * kLine) {
    switch ((last - i + kLine - 1) / kLine) {
      case 1:
        count_lines<Real, 1>(task, i, counts);
        break;
      case 2:
        count_lines<Real, 2>(task, i, counts);
        break;
      case 3:
        count_lines<Real, 3>(task, i, counts);
        break;
      case 4:
        count_lines<Real, 4>(task, i, counts);
        break;
      default:
        count_lines<Real, most>(task, i, counts);
    }
  }
}

// The kernel values of the examples [first, last).
template <class Real, KernelKind kind>
void binary_row(const RowTask<Real>& task, std::size_t first, std::size_t last) {
  alignas(kLine) std::uint8_t counts[kTileBytes / sizeof(Real) + kLine];
  count<Real>(task, first, last, counts);
  for (const Hit<Real>* hit = task.hits; hit != task.hits + task.hit_count; ++hit) {
    if (hit->example >= first && hit->example < last) ++counts[hit->example - first];
  }
  if (kind == KernelKind::rbf && look_up_gaussians(task, counts, first, last)) return;
  finish_values<Real, kind>(task, counts, first, last);
}

}  // namespace
}  // namespace budgetron
