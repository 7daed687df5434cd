// Gaussians of integer squared distances, looked up with byte shuffles instead of computed.
//
// Squared distances between binary rows (only zeros and ones) are integers,
//
//   ||x||^2 + ||x_i||^2 - 2 count_i
//
// and the Gaussians of 0 to 63 are in a table: the first bytes of 64 floats, then the second, third
// and fourth bytes. The kernel row itself computes the table, so the bits are the same. On a9a a
// row takes a quarter less time (docs/develop/decisions/0027).
//
// The whole method is in this file, behind one branch in kernel_row_binary.hpp; Expansion owns the
// table. Only that header includes this one, and the code is in an unnamed namespace like vec.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernel_row.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kDistances = kGaussianTableBytes / 4;

#if defined(__AVX2__)

inline __m256i load_256(const std::uint8_t* p) { return _mm256_load_si256((const __m256i*)p); }

// 32 norms as bytes, or 16 norms and zeros.
inline __m256i norms_in_bytes(const float* norms, bool half) {
  const auto whole = [](const float* p) { return _mm256_cvtps_epi32(_mm256_load_ps(p)); };
  const __m256i zero{};
  const __m256i first = _mm256_packus_epi32(whole(norms), whole(norms + 8));
  const __m256i second = half ? zero : _mm256_packus_epi32(whole(norms + 16), whole(norms + 24));
  // Packing works on the halves of a register: groups of four come as 0, 2, 4, 6 and 1, 3, 5, 7.
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, second),
                                     _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Looks up 32 bytes by their numbers in a table of `sixteens` times 16 bytes.
template <int sixteens>
inline __m256i look_up_bytes(__m256i numbers, const std::uint8_t* table) {
  __m256i found{};
#pragma GCC unroll 4
  for (int t = 0; t < sixteens; ++t) {
    const __m256i part = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i*)table + t));
    // A number outside these sixteen, on either side, gets its high bit set, which makes a 0.
    const __m256i shifted = _mm256_sub_epi8(numbers, _mm256_set1_epi8((char)(16 * t)));
    const __m256i within = _mm256_adds_epu8(shifted, _mm256_set1_epi8(112));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, within));
  }
  return found;
}

// The values of the examples [first, last); all distances are below `sixteens` times 16.
template <int sixteens>
void look_up(const RowTask<float>& task, const std::uint8_t* counts, std::size_t first,
             std::size_t last) {
  const __m256i norm = _mm256_set1_epi8((char)(unsigned char)task.norm);
  for (std::size_t i = first; i < last; i += 32) {
    const __m256i count = load_256(counts + (i - first));
    const __m256i norms = _mm256_add_epi8(norms_in_bytes(task.norms + i, last - i == 16), norm);
    const __m256i distances = _mm256_sub_epi8(norms, _mm256_add_epi8(count, count));
    __m256i plane[4];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      plane[p] = look_up_bytes<sixteens>(distances, task.table + 64 * p);
    }
    // Four bytes make one float: examples 0-3, 4-7, 8-11 and 12-15 of both halves.
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

// The kernel values of the examples [first, last) from their counts. Returns false and does nothing
// if distances are not integers, are too large, or are an output themselves.
inline bool look_up_gaussians(const RowTask<float>& task, const std::uint8_t* counts,
                              std::size_t first, std::size_t last) {
  if (task.table == nullptr || task.distances != nullptr || !(task.farthest < 64.0)) return false;
  if (task.norm != static_cast<float>(static_cast<int>(task.norm))) return false;
  switch (static_cast<int>(task.farthest) / 16) {
    case 0:
      look_up<1>(task, counts, first, last);
      break;
    case 1:
      look_up<2>(task, counts, first, last);
      break;
    case 2:
      look_up<3>(task, counts, first, last);
      break;
    default:
      look_up<4>(task, counts, first, last);
  }
  return true;
}
#else
inline bool look_up_gaussians(const RowTask<float>&, const std::uint8_t*, std::size_t,
                              std::size_t) {
  return false;
}
#endif

inline bool look_up_gaussians(const RowTask<double>&, const std::uint8_t*, std::size_t,
                              std::size_t) {
  return false;
}

// Fills the table with `row`, the kernel row function: x is 0 and the examples have squared norms
// 0, 1, ..., 63.
template <class Real>
inline void tabulate(RowTask<Real> task, void (*row)(const RowTask<Real>&), std::uint8_t* table) {
  alignas(64) Real norms[kDistances];
  alignas(64) Real values[kDistances];
  for (std::size_t d = 0; d < kDistances; ++d) norms[d] = static_cast<Real>(d);
  task.support = nullptr;
  task.ones = nullptr;
  task.hits = nullptr;
  task.count = 0;
  task.examples = kDistances;
  task.norms = norms;
  task.row = values;
  row(task);
  for (std::size_t d = 0; d < kDistances; ++d) {
    for (std::size_t b = 0; b < 4; ++b) {
      table[b * kDistances + d] = reinterpret_cast<const std::uint8_t*>(values + d)[b];
    }
  }
}

}  // namespace
}  // namespace budgetron
