// A block of rows against the support at once: each stored value is loaded once for kBlockRows
// rows.
//
//   sum_ri = sum_k values[k kBlockRows + r] * support[offsets[k] + i]
//
// in registers, kBlockRows x kLanes sums at a time, k running in the order of the features. Each
// sum is made of the very operations of kernel_row.hpp in their order (a feature that is 0 adds 0 *
// s, which changes no bit), so a row of a block is, to the bit, the row alone.
//
// A row alone has to read the whole support, and waits for the cache it lies in; here the multiply-
// adds are what takes time. Worth it for dense rows: a block does not skip zeros
// (docs/develop/decisions/0022).
//
// kernel_block.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernel_row.hpp"

namespace budgetron {

// Six rows by two vectors of AVX2 are the most sums its sixteen registers hold.
inline constexpr std::size_t kBlockRows = 6;
// Vectors of rows may reach so far beyond the last value of a block.
inline constexpr std::size_t kBlockPadding = 16;

template <class Real>
struct BlockTask {
  const RowTask<Real>* rows;   // kBlockRows of them; values, slots and count are not read
  std::size_t from;            // rows before this one are no longer wanted, and left alone
  const Real* values;          // features x kBlockRows
  const std::size_t* offsets;  // of the features' slots in the support
  std::size_t count;           // of features that have a slot
};

template <class Real>
struct PackTask {
  const Real* rows;            // dense, one after the other, `width` values each
  const std::uint32_t* slots;  // of the features, or kNoSlot
  std::size_t width;
  std::size_t stride;  // elements between two slots
  bool l1;             // the Laplacian: norms are ||x||_1, else ||x||^2
  // Out: see BlockTask. `values` and `offsets` have room for all features.
  Real* values;
  std::size_t* offsets;
  Real* norms;           // of every row, by the operations of kernel_row.hpp
  std::size_t nonzeros;  // of all rows
};

template <class Real>
struct BlockFunctions {
  std::size_t (*pack)(PackTask<Real>& task);  // returns how many features have a slot
  // The kernel values of examples [first, last), both multiples of kLanes, in every wanted row.
  void (*values)(const BlockTask<Real>& task, std::size_t first, std::size_t last);
  // The same of example i alone, which is a row of this block: the others are what goes through a
  // vector, and nothing of what was just stored is read.
  void (*values_of_one)(const BlockTask<Real>& task, std::size_t i, std::size_t row);
};

// Of the instruction set that row_functions picked.
template <class Real>
const BlockFunctions<Real>& block_functions();

}  // namespace budgetron
