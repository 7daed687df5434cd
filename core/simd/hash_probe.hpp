// Looking up, inserting and erasing many features at once in the buckets of a hash table
// (bucket_table.hpp).
//
// hash_probe.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// the place of a feature that is not in the table
inline constexpr std::uint32_t kNoPlace = 0xFFFFFFFFu;

// One value of a feature in a posting list, and the example that has it (posting_lists.hpp).
template <class Real>
struct Posting {
  std::uint32_t example;
  Real value;
};

// One cache line of features with large numbers (bucket_table.hpp).
struct alignas(64) Bucket {
  static constexpr std::uint32_t kPlaces = 14;
  static constexpr std::uint32_t kPitch = 16;  // place j of bucket b is number b * kPitch + j
  static constexpr std::uint32_t kFull = (1u << kPlaces) - 1;

  std::uint32_t words[kPitch];  // the features, followed by two words:

  // A bit for each place that holds a feature; bits 16 and up mark features of a single example.
  [[nodiscard]] std::uint32_t& marks() { return words[kPlaces]; }
  [[nodiscard]] const std::uint32_t& marks() const { return words[kPlaces]; }
  // How many features did not fit here and are in a later bucket.
  [[nodiscard]] std::uint32_t& passed() { return words[kPlaces + 1]; }
  [[nodiscard]] const std::uint32_t& passed() const { return words[kPlaces + 1]; }
};
static_assert(sizeof(Bucket) == 64);

// Some features of a row or example, and the buckets to search.
template <class Real>
struct BucketTask {
  static constexpr std::size_t kMost = 128;  // features per task

  Bucket* buckets;
  std::uint32_t buckets_count;
  const std::int32_t* features;
  std::size_t count;
  const Real* values;  // null: no values
  Real norm;           // input and output: adds their squares as squared_norm does
  // Output, at most `count` of each: the features and their places; kNoPlace if not in the table.
  std::uint32_t* which;
  std::uint32_t* places;
};

// The home bucket of a feature; the number of buckets is a power of two, at least 2. Fibonacci
// hashing: the high bits of a product with 2^32/phi.
[[gnu::always_inline]] inline std::uint32_t bucket_of(std::int32_t feature, std::uint32_t count) {
  return static_cast<std::uint32_t>(feature) * 0x9E3779B1u >> (__builtin_clz(count) + 1);
}

template <class Real>
struct HashFunctions {
  // Each function returns the number of features that it wrote to the output. `find` writes those
  // that are in the table.
  std::size_t (*find)(BucketTask<Real>& task);
  // Inserts new features as single values of `example`, with values in `entries`; writes all
  // others.
  std::size_t (*insert)(BucketTask<Real>& task, std::uint32_t example, Posting<Real>* entries);
  // Erases the single values; all features must be in the table. Writes all others.
  std::size_t (*erase)(BucketTask<Real>& task);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const HashFunctions<Real>& hash_functions();

}  // namespace budgetron
