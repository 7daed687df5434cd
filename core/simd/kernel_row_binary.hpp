// The kernel row of a binary x (all its terms are 1) against binary examples kept as bytes
// (value_columns.hpp): dot products are counts, in bytes.
//
// Squared distances are then whole numbers,
//
//   ||x||^2 + ||x_i||^2 - 2 count_i
//
// and up to 63 their Gaussians are looked up in a table by byte shuffles instead of computed. The
// table was computed by the very operations of kernel_values.hpp, so the bits are the same.
//
// Included by kernel_row.cpp alone, and in an unnamed namespace, as vec.hpp is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernel_row.hpp"
#include "simd/kernel_values.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kLine = 64;  // bytes: slots of bytes are whole lines

// How many of the terms the examples of so many lines have, from i on, not counting hits.
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

// The counts of the examples [first, last), as many at a time as there are registers to count in;
// example i's at counts[i - first].
template <class Real>
void count(const RowTask<Real>& task, std::size_t first, std::size_t last, std::uint8_t* counts) {
  constexpr std::size_t most = 5;  // lines
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

#if defined(__AVX2__)

inline __m256i load_256(const std::uint8_t* p) { return _mm256_load_si256((const __m256i*)p); }

// 32 bytes by their numbers from `sixteens` times 16.
template <int sixteens>
inline __m256i look_up_bytes(__m256i numbers, const std::uint8_t* table) {
  __m256i found{};
#pragma GCC unroll 4
  for (int t = 0; t < sixteens; ++t) {
    const __m256i part = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i*)table + t));
    // Beyond this sixteen, either way, the high bit is set, which makes a 0.
    const __m256i shifted = _mm256_sub_epi8(numbers, _mm256_set1_epi8((char)(16 * t)));
    const __m256i within = _mm256_adds_epu8(shifted, _mm256_set1_epi8(112));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, within));
  }
  return found;
}

// The values of the examples [first, last), of fewer distances than `sixteens` times 16.
template <int sixteens>
void look_up(const RowTask<float>& task, const std::uint8_t* counts, std::size_t first,
             std::size_t last) {
  const __m256i norm = _mm256_set1_epi8((char)(unsigned char)task.norm);
  for (std::size_t i = first; i < last; i += 32) {
    const __m256i count = load_256(counts + (i - first));
    const __m256i norms = _mm256_add_epi8(load_256(task.byte_norms + i), norm);
    const __m256i distances = _mm256_sub_epi8(norms, _mm256_add_epi8(count, count));
    __m256i plane[4];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      plane[p] = look_up_bytes<sixteens>(distances, task.table + 64 * p);
    }
    // Four bytes each make a float: examples 0-3, 4-7, 8-11 and 12-15 of both halves.
    const __m256i low01 = _mm256_unpacklo_epi8(plane[0], plane[1]);
    const __m256i high01 = _mm256_unpackhi_epi8(plane[0], plane[1]);
    const __m256i low23 = _mm256_unpacklo_epi8(plane[2], plane[3]);
    const __m256i high23 = _mm256_unpackhi_epi8(plane[2], plane[3]);
    const __m256i quads[4] = {
        _mm256_unpacklo_epi16(low01, low23), _mm256_unpackhi_epi16(low01, low23),
        _mm256_unpacklo_epi16(high01, high23), _mm256_unpackhi_epi16(high01, high23)};
    float* const row = task.row + i;
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      _mm_store_si128((__m128i*)(row + 4 * q), _mm256_castsi256_si128(quads[q]));
    }
    if (last - i == 16) break;
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      _mm_store_si128((__m128i*)(row + 16 + 4 * q), _mm256_extracti128_si256(quads[q], 1));
    }
  }
}

inline void look_up(const RowTask<float>& task, const std::uint8_t* counts, std::size_t first,
                    std::size_t last) {
  switch (task.farthest / 16) {
    case 0:
      return look_up<1>(task, counts, first, last);
    case 1:
      return look_up<2>(task, counts, first, last);
    case 2:
      return look_up<3>(task, counts, first, last);
    default:
      return look_up<4>(task, counts, first, last);
  }
}
#endif

// The values of the examples [first, last).
template <class Real, KernelKind kind>
void binary_row(const RowTask<Real>& task, std::size_t first, std::size_t last) {
  alignas(kLine) std::uint8_t counts[kTileBytes / sizeof(Real) + kLine];
  count<Real>(task, first, last, counts);
  if (task.hits != nullptr) {
    const std::size_t hits = task.hits_before[task.count];
    for (const Hit<Real>* hit = task.hits; hit != task.hits + hits; ++hit) {
      if (hit->example >= first && hit->example < last) ++counts[hit->example - first];
    }
  }
#if defined(__AVX2__)
  if constexpr (sizeof(Real) == 4 && kind == KernelKind::rbf) {
    if (task.table != nullptr && task.distances == nullptr)
      return look_up(task, counts, first, last);
  }
#endif
  finish_values<Real, kind>(task, counts, first, last);
}

}  // namespace
}  // namespace budgetron
