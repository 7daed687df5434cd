// Looking up, inserting and erasing the values of many features at once in the buckets of a hash
// table (posting_table.hpp).
//
// hash_probe.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// Some entries of the table (posting_table.hpp), in cache lines: their features, then the example
// or slot of each, then the values.
template <class Real>
struct alignas(64) Bucket {
  static constexpr std::uint32_t kPlaces = 14;
  static constexpr std::uint32_t kPitch = 16;  // words per cache line
  static constexpr std::uint32_t kFull = (1u << kPlaces) - 1;
  // Added to the number of a slot, which distinguishes it from the number of an example.
  static constexpr std::uint32_t kSlot = 1u << 31;

  std::int32_t features[kPlaces];
  std::uint32_t used;    // one bit per place that holds an entry
  std::uint32_t passed;  // how many entries did not fit here and are in a later bucket
  std::uint32_t owners[kPitch];
  Real values[kPitch];
};

// Some features of a row or example, and the buckets to search.
template <class Real>
struct BucketTask {
  static constexpr std::size_t kMost = 128;  // features per task

  Bucket<Real>* buckets;
  std::uint32_t buckets_count;
  std::size_t count;
  std::int32_t features[kMost];
  std::uint32_t numbers[kMost];  // the place of each feature's value in `values`
  const Real* values;            // of all features of the batch; `erase` needs none
  std::size_t values_count;
  Real norm = 0;  // `find` adds the values to it, as the norms of kernel_row.hpp do
  // Output, at most `count` of each: places in `features`, and the places of their home buckets
  // that hold them, as bits.
  std::uint32_t which[kMost];
  std::uint32_t matches[kMost];
};

// Fibonacci hashing: the high bits of a product with 2^32/phi are the home bucket of a feature. The
// number of buckets is a power of two, at least 2.
[[gnu::always_inline]] inline std::uint32_t hash_of(std::int32_t feature) {
  return static_cast<std::uint32_t>(feature) * 0x9E3779B1u;
}
[[gnu::always_inline]] inline std::uint32_t bucket_of(std::int32_t feature, std::uint32_t count) {
  return hash_of(feature) >> (__builtin_clz(count) + 1);
}

template <class Real>
struct HashFunctions {
  // Each function returns the number of features that it wrote to the output. `find` writes those
  // that have entries or whose home bucket was passed; find[0] for ||x||^2, find[1] for ||x||_1.
  std::size_t (*find[2])(BucketTask<Real>& task);
  // Inserts a posting of `example` for each feature that has fewer than `most` postings and no
  // slot; writes all others and those whose home bucket is full or was passed.
  std::size_t (*insert)(BucketTask<Real>& task, std::uint32_t example, std::uint32_t most);
  // Erases the postings of `example`; writes the features that have none in their home bucket.
  std::size_t (*erase)(BucketTask<Real>& task, std::uint32_t example);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const HashFunctions<Real>& hash_functions();

}  // namespace budgetron
