// Looking up, inserting and erasing many features at once in the buckets of a hash table
// (bucket_table.hpp).
//
// hash_probe.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

inline constexpr std::uint32_t kNoPlace = 0xFFFFFFFFu;  // of a feature that is not in the table

// One value of a feature that few examples have, and whose it is (posting_lists.hpp).
template <class Real>
struct Posting {
  std::uint32_t example;
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
  // Out, for at most `count` of them: which, and their places, kNoPlace if they are not there.
  std::uint32_t* which;
  std::uint32_t* places;
};

// The bucket a feature belongs in, of a power of two from 2 on. Fibonacci hashing: the high bits of
// a product with 2^32/phi.
[[gnu::always_inline]] inline std::uint32_t bucket_of(std::int32_t feature, std::uint32_t count) {
  return static_cast<std::uint32_t>(feature) * 0x9E3779B1u >> (__builtin_clz(count) + 1);
}

template <class Real>
struct HashFunctions {
  // Of features in buckets; each returns how many it wrote of. `find`: of those that are there.
  std::size_t (*find)(BucketTask<Real>& task);
  // Makes new ones those of one example, with its values in `entries`; writes of all others.
  std::size_t (*insert)(BucketTask<Real>& task, std::uint32_t example, Posting<Real>* entries);
  // Takes out those of one example, all features being there; writes of all others.
  std::size_t (*erase)(BucketTask<Real>& task);
};

// Of the instruction set that row_functions picked.
template <class Real>
const HashFunctions<Real>& hash_functions();

}  // namespace budgetron
