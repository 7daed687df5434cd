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
// A feature that few examples have has postings instead of a slot (posting_table.hpp). If x has it
// too, each posting is a hit: one multiply-add for one example, in the order of the features.
//
// Binary examples, all zeros and ones, are stored as bytes (value_columns.hpp). The terms of a
// binary row are then counted, 16 to 64 examples per instruction; any other row converts the bytes
// to numbers.
//
// kernel_row.cpp is compiled once per instruction set, like all SIMD files; dispatch.cpp picks one
// set at run time.
//
// Cost: padded(n) * count multiply-adds, plus one vectorised exp per stored example.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/slot.hpp"

namespace budgetron {

inline constexpr std::size_t kGaussianTableBytes = 256;

// One multiply-add: the example's value of a feature times the value of x.
template <class Real>
struct Hit {
  std::uint32_t term;  // how many terms come before it
  std::uint32_t example;
  Real stored;
  Real value;
};

enum class KernelKind { rbf, laplacian, poly, linear, sigmoid };

// All inputs of a row as plain pointers. No standard-library code may be compiled into the SIMD
// objects: the linker could pick its AVX-512 copy for the whole program.
template <class Real>
struct RowTask {
  const Real* support;         // feature-major, 64-byte aligned; null if the support is in ...
  const std::uint8_t* ones;    // ... bytes, in the same order
  std::size_t stride;          // elements between two slots, a multiple of kLanes
  std::size_t examples;        // padded(number of stored examples)
  const Real* values;          // the terms of x: the value ...
  const std::uint32_t* slots;  // ... and the slot of each feature that has one
  std::size_t count;
  bool binary;  // all of x's values in terms and hits are 1, and there are at most 255
  const std::uint8_t* table;  // Gaussians of integer distances (gaussian_table.hpp); null: none
  double farthest;            // an upper bound of the squared distances from x, if all values are 1
  const Hit<Real>* hits;      // beside the terms
  std::size_t hit_count;
  const Real* norms;  // per stored example: ||x_i||^2, laplacian: ||x_i||_1
  Real norm;          // the norm of x
  KernelKind kind;
  Real gamma;
  Real coef0;
  int degree;
  Real* row;        // output: `examples` kernel values; the padding holds finite junk
  Real* distances;  // output, if not null (rbf only): squared Euclidean distances
};

// ||x||^2 or ||x||_1, by the same operations as the sums of a row.
template <class Real>
struct NormFunctions {
  Real (*of)(const Real* values, std::size_t count);
  // The norm and the terms of a dense row: its values that are not 0 and whose feature has a slot,
  // and those slots; slots[k] is the slot of feature k or kNoSlot. Returns the number of terms.
  std::size_t (*gather)(const Real* values, const std::uint32_t* slots, std::size_t count,
                        Real* term_values, std::uint32_t* term_slots, Real* norm);
};

template <class Real>
struct RowFunctions {
  void (*row)(const RowTask<Real>& task);
  NormFunctions<Real> squared_norm;
  NormFunctions<Real> absolute_norm;
  // Fills a table of kGaussianTableBytes for this task's gamma; float only.
  void (*tabulate)(const RowTask<Real>& task, std::uint8_t* table);
  // k(x, x) from the norm, as if x were one more example. Uses task.kind, gamma, coef0, degree and
  // norm.
  Real (*self)(const RowTask<Real>& task);
  // sum_i row[i] coefs[i] in float64, kLanes fixed lanes; n a multiple of kLanes.
  double (*dot)(const Real* row, const double* coefs, std::size_t n);
  // The least of n numbers, n > 0, none of them NaN.
  double (*least)(const double* numbers, std::size_t n);
  // The places of the numbers that are at most `bound`, in their order; returns how many there are.
  // `places` has space for n.
  std::size_t (*at_most)(const double* numbers, std::size_t n, double bound, std::uint32_t* places);
  // The place of the least of n numbers, n > 0, none of them NaN; the first if several are equal.
  std::size_t (*first_least)(const Real* numbers, std::size_t n);
};

template <class Real>
const RowFunctions<Real>& row_functions();

// The name of the dispatched instruction set: "baseline", "avx2" or "avx512".
const char* instruction_set();

}  // namespace budgetron
