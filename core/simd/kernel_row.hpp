// The kernel row: k(x_i, x) for every stored example, the one hot loop of the library.
//
// The support is feature-major: value j of stored example i at support[slot(j) * stride + i]. A row
// is then `count` multiply-adds over contiguous memory, with one accumulator per stored example, in
// the order of x's features, and no horizontal sum:
//
//   dot_i  = sum_k values[k] * support[slots[k] * stride + i]
//   rbf    : exp(-gamma max(0, ||x||^2 + ||x_i||^2 - 2 dot_i))       1 exactly for a duplicate
//   laplacian : exp(-gamma max(0, ||x_i||_1 + sum_k (|v_k - s_ki| - |s_ki|)))   likewise
//   poly   : (gamma dot_i + coef0)^degree      linear : dot_i      sigmoid : tanh(gamma dot_i +
//   coef0)
//
// A feature that few examples have is in a posting list instead of a slot (example_store.hpp). What
// x has in common with it are hits, one multiply-add for one example each, done in the feature's
// turn.
//
// Binary examples, all zeros and ones, are kept as bytes (value_columns.hpp). The terms of a binary
// row are then counted, 16 to 64 examples per instruction; any other row reads bytes as numbers.
//
// kernel_row.cpp is compiled once per instruction set, as all SIMD files; dispatch.cpp picks one
// when the library is loaded.
//
// Cost: padded(n) * count multiply-adds, plus one vectorised exp per stored example.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFFu;  // of a feature that no example has

// One multiply-add: what an example has of a feature times what x has of it.
template <class Real>
struct Hit {
  std::uint32_t example;
  Real stored;
  Real value;
};

enum class KernelKind { rbf, laplacian, poly, linear, sigmoid };

// All a row needs, as plain pointers: no standard-library code is compiled into the SIMD objects,
// where the linker could pick its AVX-512 copy for everyone.
template <class Real>
struct RowTask {
  const Real* support;         // feature-major, 64-byte aligned; or null, and
  const std::uint8_t* ones;    // bytes instead, the same
  std::size_t stride;          // elements between two slots, a multiple of kLanes
  std::size_t examples;        // padded(number of stored examples)
  const Real* values;          // the terms of x: value ...
  const std::uint32_t* slots;  // ... and slot of each feature that has one
  std::size_t count;
  bool binary;  // all of x's values in terms and hits are 1, and there are at most 255
  // Of an x of ones, ones and few enough, with `ones`, and else null: the Gaussian of every squared
  // distance up to `farthest` < 64 (kernel_row_binary.hpp), and the stored examples' squared norms.
  const std::uint8_t* table;  // first bytes, second bytes, ... of 64 floats each
  const std::uint8_t* byte_norms;
  std::size_t farthest;
  const Hit<Real>* hits;             // beside the terms; null if there are none
  const std::uint32_t* hits_before;  // so many come before each term, and in all
  const Real* norms;                 // per stored example: ||x_i||^2, laplacian: ||x_i||_1
  Real norm;                         // the same of x
  KernelKind kind;
  Real gamma;
  Real coef0;
  int degree;
  Real* row;        // out: `examples` kernel values; the padding holds finite junk
  Real* distances;  // out, if not null (rbf only): squared Euclidean distances
};

template <class Real>
struct RowFunctions {
  void (*row)(const RowTask<Real>& task);
  // ||x||^2 and ||x||_1 by the very operations a row's sums are made of.
  Real (*squared_norm)(const Real* values, std::size_t count);
  Real (*absolute_norm)(const Real* values, std::size_t count);
  // The terms of a dense row: the values that are not 0 and whose feature has a slot, and that
  // slot; slots[k] is feature k's, or kNoSlot. Returns how many; *norm is ||x||^2 as above.
  std::size_t (*gather)(const Real* values, const std::uint32_t* slots, std::size_t count,
                        Real* term_values, std::uint32_t* term_slots, Real* norm);
  // k(x, x) from the norm: x as one more example. Uses task.kind, gamma, coef0, degree and norm.
  Real (*self)(const RowTask<Real>& task);
  // sum_i row[i] coefs[i] in float64, kLanes fixed lanes; n a multiple of kLanes.
  double (*dot)(const Real* row, const double* coefs, std::size_t n);
  // The least of n numbers, n > 0, none of them NaN.
  double (*least)(const double* numbers, std::size_t n);
  // The places of those of n numbers that are at most `bound`, in their order; returns how many.
  // `places` has room for all.
  std::size_t (*at_most)(const double* numbers, std::size_t n, double bound, std::uint32_t* places);
  // Where the least of n numbers is, n > 0, none of them NaN; the first of the tied.
  std::size_t (*first_least)(const Real* numbers, std::size_t n);
};

template <class Real>
const RowFunctions<Real>& row_functions();

// "baseline", "avx2" or "avx512": what row_functions picked.
const char* instruction_set();

}  // namespace budgetron
