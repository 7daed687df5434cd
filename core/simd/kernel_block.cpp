// A block of rows in SIMD: see kernel_block.hpp. Compiled once per instruction set with
// BUDGETRON_ISA set.
#include "simd/kernel_block.hpp"

#include "simd/kernel_values.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

// So many examples are summed before their kernel values are computed: exp is fastest on many.
constexpr std::size_t kTile = 128;
// Slots are far apart in memory, each in another page: too far for the hardware prefetcher. The
// code prefetches this many slots ahead.
constexpr std::size_t kFetchAhead = 16;

// The sums of the last `wanted` rows for `vectors` vectors of examples, starting at example i.
template <class Real, KernelKind kind, std::size_t wanted, std::size_t vectors>
inline void sum_block(const BlockTask<Real>& task, std::size_t i) {
  constexpr std::size_t skipped = kBlockRows - wanted;
  const Real* const support = task.rows[0].support + i;
  const Real* values = task.values + skipped;
  Vector<Real> sums[wanted][vectors] = {};
  for (std::size_t k = 0; k < task.count; ++k, values += kBlockRows) {
    const Real* const slot = support + task.offsets[k];
    if (k + kFetchAhead < task.count) {
      __builtin_prefetch(support + task.offsets[k + kFetchAhead]);
    }
    Vector<Real> s[vectors];
#pragma GCC unroll 2
    for (std::size_t b = 0; b < vectors; ++b) s[b] = load<Real>(slot + b * kWidth<Real>);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < wanted; ++r) {
      const Vector<Real> v = all<Real>(values[r]);
#pragma GCC unroll 2
      for (std::size_t b = 0; b < vectors; ++b) {
        sums[r][b] = accumulate<Real, kind>(v, s[b], sums[r][b]);
      }
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < wanted; ++r) {
    Real* const row = task.rows[skipped + r].row + i;
#pragma GCC unroll 2
    for (std::size_t b = 0; b < vectors; ++b) store<Real>(row + b * kWidth<Real>, sums[r][b]);
  }
}

template <class Real, KernelKind kind, std::size_t wanted>
void values_by_kind(const BlockTask<Real>& task, std::size_t first, std::size_t last) {
  constexpr std::size_t vectors = kDotLanes / kWidth<Real> < 2 ? 1 : 2;
  for (std::size_t begin = first; begin < last; begin += kTile) {
    const std::size_t end = last - begin < kTile ? last : begin + kTile;
    for (std::size_t i = begin; i < end; i += vectors * kWidth<Real>) {
      sum_block<Real, kind, wanted, vectors>(task, i);
    }
    for (std::size_t r = kBlockRows - wanted; r < kBlockRows; ++r) {
      finish_values<Real, kind>(task.rows[r], task.rows[r].row + begin, begin, end);
    }
  }
}

// To compute a few rows too many is cheaper than another copy of the loop for every number of rows;
// the extra rows get the values they had.
template <class Real, KernelKind kind>
void values_by_kind(const BlockTask<Real>& task, std::size_t first, std::size_t last) {
  const std::size_t wanted = kBlockRows - task.from;
  if (wanted <= 2) return values_by_kind<Real, kind, 2>(task, first, last);
  if (wanted <= 4) return values_by_kind<Real, kind, 4>(task, first, last);
  return values_by_kind<Real, kind, kBlockRows>(task, first, last);
}

template <class Real>
void kernel_values(const BlockTask<Real>& task, std::size_t first, std::size_t last) {
  with_kind(task.rows[0].kind,
            [&]<KernelKind kind>() { values_by_kind<Real, kind>(task, first, last); });
}

template <class Real, KernelKind kind>
void values_of_one_by_kind(const BlockTask<Real>& task, std::size_t i, std::size_t row) {
  constexpr std::size_t lanes = kWidth<Real> < 8 ? 8 : kWidth<Real>;
  static_assert(kBlockRows <= lanes && lanes <= kBlockPadding);
  constexpr int vectors = static_cast<int>(lanes / kWidth<Real>);
  Vector<Real> sums[vectors] = {};
  const Real* values = task.values;
  for (std::size_t k = 0; k < task.count; ++k, values += kBlockRows) {
    const Vector<Real> s = all<Real>(values[row]);
#pragma GCC unroll 4
    for (int b = 0; b < vectors; ++b) {
      const Vector<Real> v = load_loose<Real>(values + static_cast<std::size_t>(b) * kWidth<Real>);
      sums[b] = accumulate<Real, kind>(v, s, sums[b]);
    }
  }
  // Swap roles: the example is the row, the rows are the examples. The Laplacian starts with its
  // own norm.
  RowTask<Real> turned = task.rows[row];
  alignas(kBytes) Real norms[lanes] = {};
  alignas(kBytes) Real distances[lanes] = {};
  alignas(kBytes) Real found[lanes];
  turned.norm = turned.norms[i];
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    norms[r] = kind == KernelKind::laplacian ? turned.norm : task.rows[r].norm;
  }
  finish<Real, kind>(turned, norms, sums, turned.distances == nullptr ? nullptr : distances);
#pragma GCC unroll 4
  for (int b = 0; b < vectors; ++b) {
    store<Real>(found + static_cast<std::size_t>(b) * kWidth<Real>, sums[b]);
  }
  for (std::size_t r = task.from; r < kBlockRows; ++r) task.rows[r].row[i] = found[r];
  if (turned.distances == nullptr) return;
  for (std::size_t r = task.from; r < kBlockRows; ++r) task.rows[r].distances[i] = distances[r];
}

template <class Real>
void kernel_values_of_one(const BlockTask<Real>& task, std::size_t i, std::size_t row) {
  with_kind(task.rows[0].kind,
            [&]<KernelKind kind>() { values_of_one_by_kind<Real, kind>(task, i, row); });
}

// Transposes rows into columns and computes their norms, in six independent chains of additions.
template <class Real, bool l1>
std::size_t pack_as(PackTask<Real>& task) {
  using Words = typename Traits<Real>::Words;
  Vector<Real> norms[kBlockRows] = {};
  Words nonzeros{};
  std::size_t count = 0;
  for (std::size_t k = 0; k < task.width; ++k) {
    Real* const out = task.values + count * kBlockRows;
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kBlockRows; ++r) {
      const Real value = task.rows[r * task.width + k];
      const Vector<Real> v = all<Real>(value);
      norms[r] = l1 ? norms[r] + absolute(v) : multiply_add(v, v, norms[r]);
      nonzeros -= (Words)(v != Vector<Real>{});
      out[r] = value;
    }
    // The Laplacian also sums over features that no example has: they use slot 0, which is all
    // zeros.
    const bool stored = task.slots[k] != kNoSlot;
    task.offsets[count] = stored ? task.slots[k] * task.stride : 0;
    count += stored || l1;
  }
  for (std::size_t r = 0; r < kBlockRows; ++r) task.norms[r] = norms[r][0];
  task.nonzeros = nonzeros[0];
  return count;
}

template <class Real>
std::size_t pack(PackTask<Real>& task) {
  return task.l1 ? pack_as<Real, true>(task) : pack_as<Real, false>(task);
}

}  // namespace

extern const BlockFunctions<float> BUDGETRON_CONCAT(block_functions_float_, BUDGETRON_ISA);
extern const BlockFunctions<double> BUDGETRON_CONCAT(block_functions_double_, BUDGETRON_ISA);
const BlockFunctions<float> BUDGETRON_CONCAT(block_functions_float_, BUDGETRON_ISA) = {
    pack<float>, kernel_values<float>, kernel_values_of_one<float>};
const BlockFunctions<double> BUDGETRON_CONCAT(block_functions_double_, BUDGETRON_ISA) = {
    pack<double>, kernel_values<double>, kernel_values_of_one<double>};

}  // namespace budgetron
