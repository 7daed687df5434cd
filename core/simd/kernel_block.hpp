// Kernel values of a block of rows: each stored value is loaded once for kBlockRows rows.
//
//   sum_ri = sum_k values[k kBlockRows + r] * support[offsets[k] + i]
//
// in registers, kBlockRows x kLanes sums at a time, k running in the order of the features. Each
// sum uses the same operations as kernel_row.hpp in the same order (a feature that is 0 adds 0 * s,
// which changes no bit), so a row of a block equals the row computed alone, to the bit.
//
// A single row reads the whole support and waits for the cache; in a block the multiply-adds take
// the time. It pays for dense rows: a block does not skip zeros (docs/develop/decisions/0022).
//
// kernel_block.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernel_row.hpp"

namespace budgetron {

// Six rows by two AVX2 vectors are the most sums that its sixteen registers can hold.
inline constexpr std::size_t kBlockRows = 6;
// Vector loads may read this many values beyond the last value of a block.
inline constexpr std::size_t kBlockPadding = 16;

template <class Real>
struct BlockTask {
  const RowTask<Real>* rows;   // kBlockRows tasks; their values, slots and count are not read
  std::size_t from;            // rows before this one are not wanted and not written
  const Real* values;          // features x kBlockRows
  const std::size_t* offsets;  // the start of each feature's slot in the support
  std::size_t count;           // number of features that have a slot
};

template <class Real>
struct PackTask {
  const Real* rows;            // dense, contiguous, `width` values each
  const std::uint32_t* slots;  // the slot of each feature, or kNoSlot
  std::size_t width;
  std::size_t stride;  // elements between two slots
  bool l1;             // Laplacian: norms are ||x||_1, otherwise ||x||^2
  // Output: see BlockTask. `values` and `offsets` have space for all features.
  Real* values;
  std::size_t* offsets;
  Real* norms;           // of every row, computed as in kernel_row.hpp
  std::size_t nonzeros;  // in all rows together
};

template <class Real>
struct BlockFunctions {
  std::size_t (*pack)(PackTask<Real>& task);  // returns the number of features that have a slot
  // Kernel values of the examples [first, last), both multiples of kLanes, for every wanted row.
  void (*values)(const BlockTask<Real>& task, std::size_t first, std::size_t last);
  // The same for example i alone, which is a row of this block: the other rows fill the vectors, so
  // that the example stored a moment ago need not be read back.
  void (*values_of_one)(const BlockTask<Real>& task, std::size_t i, std::size_t row);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const BlockFunctions<Real>& block_functions();

}  // namespace budgetron
