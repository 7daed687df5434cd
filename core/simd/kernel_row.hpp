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
// A feature that few examples have is a list of their values instead of a slot (example_store.hpp).
// What x has in common with it are hits, multiply-adds for one example each, done in the feature's
// turn.
//
// A support of zeros and ones is bytes (value_columns.hpp). Of a row of ones its terms are then
// counted, 16 to 64 examples an instruction; any other row reads them as the numbers they are.
//
// kernel_row.cpp, kernel_block.cpp, coef_ops.cpp, fourier.cpp and packed_triangle.cpp are the SIMD
// files, compiled once per instruction set; `row_functions` picks the best one the machine has when
// the library is loaded. BUDGETRON_ISA=baseline|avx2|avx512 in the environment picks a lesser one.
//
// Cost: padded(n) * count multiply-adds, plus one vectorised exp per stored example.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFFu;

// Set in a feature's word that is no slot: the other bits are where its list is
// (posting_lists.hpp).
inline constexpr std::uint32_t kThin = 0x80000000u;

// One value of a feature that few examples have, and whose it is (posting_lists.hpp).
template <class Real>
struct Posting {
  std::uint32_t example;
  Real value;
};

// One multiply-add: what an example has of a feature times what x has of it.
template <class Real>
struct Hit {
  std::uint32_t example;
  Real stored;
  Real value;
};

// A cache line of features with large numbers (bucket_table.hpp).
struct alignas(64) Bucket {
  static constexpr std::uint32_t kPlaces = 14;
  static constexpr std::uint32_t kPitch = 16;  // place j of bucket b is number b * kPitch + j
  static constexpr std::uint32_t kFull = (1u << kPlaces) - 1;

  std::uint32_t words[kPitch];  // the features, then:

  // Places that hold a feature, as bits; and from bit 16 on those whose feature one example has.
  [[nodiscard]] std::uint32_t& marks() { return words[kPlaces]; }
  [[nodiscard]] const std::uint32_t& marks() const { return words[kPlaces]; }
  // Features that found no place here and are further on.
  [[nodiscard]] std::uint32_t& passed() { return words[kPlaces + 1]; }
  [[nodiscard]] const std::uint32_t& passed() const { return words[kPlaces + 1]; }
};
static_assert(sizeof(Bucket) == 64);

// Some features of a row or example, and the buckets to look for them in.
template <class Real>
struct BucketTask {
  static constexpr std::size_t kMost = 128;  // features

  Bucket* buckets;
  std::uint32_t buckets_count;
  const std::int32_t* features;
  std::size_t count;
  const Real* values;  // null for none
  Real norm;           // in and out: their squares are added as squared_norm does
  // Out, for at most `count` of them: which, and their places, kNoSlot if they are not there.
  std::uint32_t* which;
  std::uint32_t* places;
};

// The bucket a feature belongs in, of a power of two from 2 on. Fibonacci hashing: the high bits of
// a product with 2^32/phi.
[[gnu::always_inline]] inline std::uint32_t bucket_of(std::int32_t feature, std::uint32_t count) {
  return static_cast<std::uint32_t>(feature) * 0x9E3779B1u >> (__builtin_clz(count) + 1);
}

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
  bool all_ones;  // all of x's values in terms and hits are 1, and there are at most 255
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
  // k(x, x) from the norm: x as one more column. Uses task.kind, gamma, coef0, degree and norm.
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
  // Of features in buckets; each returns how many it wrote of. `find`: of those that are there.
  std::size_t (*find)(BucketTask<Real>& task);
  // Makes new ones those of one example, with its values in `entries`; writes of all others.
  std::size_t (*insert)(BucketTask<Real>& task, std::uint32_t example, Posting<Real>* entries);
  // Takes out those of one example, all features being there; writes of all others.
  std::size_t (*erase)(BucketTask<Real>& task);
};

template <class Real>
const RowFunctions<Real>& row_functions();

// "baseline", "avx2" or "avx512": what row_functions picked.
const char* instruction_set();

}  // namespace budgetron
