// Looking up many features at once in the buckets of a hash table, in SIMD: see hash_probe.hpp.
// Compiled once per instruction set with BUDGETRON_ISA set.
//
// The loops do the common case for every feature without a branch and note the features that need
// more. The norm is a chain of additions; the lookups run while it waits.
#include "simd/hash_probe.hpp"

#include "simd/vec.hpp"

namespace budgetron {
namespace {

// The words of a bucket that equal this feature, as bits. Unused words may match too.
inline std::uint32_t matches(const Bucket& bucket, std::int32_t feature) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(_mm512_load_si512(&bucket), _mm512_set1_epi32(feature));
#elif defined(__AVX2__)
  const auto* halves = reinterpret_cast<const __m256i*>(&bucket);
  const __m256i wanted = _mm256_set1_epi32(feature);
  const auto lanes = [&](int half) {
    const __m256i same = _mm256_cmpeq_epi32(_mm256_load_si256(halves + half), wanted);
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  };
  return lanes(0) | lanes(1) << 8;
#elif defined(__x86_64__)
  const auto* quarters = reinterpret_cast<const __m128i*>(&bucket);
  const __m128i wanted = _mm_set1_epi32(feature);
  const auto same = [&](int quarter) {
    return _mm_cmpeq_epi32(_mm_load_si128(quarters + quarter), wanted);
  };
  const __m128i bytes =
      _mm_packs_epi16(_mm_packs_epi32(same(0), same(1)), _mm_packs_epi32(same(2), same(3)));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
  std::uint32_t found = 0;
  for (std::size_t j = 0; j < Bucket::kPlaces; ++j) {
    found |= static_cast<std::uint32_t>(bucket.words[j] == static_cast<std::uint32_t>(feature))
             << j;
  }
  return found;
#endif
}

// Whether any word matches.
inline bool any_match(const Bucket& bucket, std::int32_t feature) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const auto* halves = reinterpret_cast<const __m256i*>(&bucket);
  const __m256i wanted = _mm256_set1_epi32(feature);
  const __m256i same = _mm256_or_si256(_mm256_cmpeq_epi32(_mm256_load_si256(halves), wanted),
                                       _mm256_cmpeq_epi32(_mm256_load_si256(halves + 1), wanted));
  return _mm256_movemask_ps(_mm256_castsi256_ps(same)) != 0;
#else
  return matches(bucket, feature) != 0;
#endif
}

// The home buckets of the features; prefetches them.
template <class Real>
inline void hash(const BucketTask<Real>& task, std::uint32_t (&homes)[BucketTask<Real>::kMost]) {
  const std::size_t count = task.count;
  const std::uint32_t buckets = task.buckets_count;
  const std::int32_t* const features = task.features;
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; ++k) homes[k] = bucket_of(features[k], buckets);
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; ++k) __builtin_prefetch(task.buckets + homes[k]);
}

// The place of a feature whose home bucket is `at`.
template <class Real>
inline std::uint32_t place_of(const BucketTask<Real>& task, std::uint32_t at,
                              std::int32_t feature) {
  while (true) {
    const Bucket& bucket = task.buckets[at];
    const std::uint32_t found = matches(bucket, feature) & bucket.marks() & Bucket::kFull;
    if (found != 0) return at * Bucket::kPitch + static_cast<std::uint32_t>(__builtin_ctz(found));
    if (bucket.passed() == 0) return kNoPlace;
    at = (at + 1) & (task.buckets_count - 1);
  }
}

// The places of the features noted in task.which.
template <class Real>
inline void add_places(const BucketTask<Real>& task, const std::uint32_t* homes,
                       std::size_t noted) {
  for (std::size_t c = 0; c < noted; ++c) {
    const std::uint32_t k = task.which[c];
    task.places[c] = place_of(task, homes[k], task.features[k]);
  }
}

template <class Real, bool valued>
std::size_t find_some(BucketTask<Real>& task) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  Vector<Real> norm = all<Real>(task.norm);
  const Bucket* const buckets = task.buckets;
  const std::int32_t* const features = task.features;
  const Real* const values = task.values;
  std::uint32_t* const which = task.which;
  const std::size_t count = task.count;
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Bucket& bucket = buckets[homes[k]];
    which[noted] = static_cast<std::uint32_t>(k);
    noted += static_cast<std::size_t>(any_match(bucket, features[k])) |
             static_cast<std::size_t>(bucket.passed() != 0);
    if constexpr (valued) {
      const Vector<Real> v = all<Real>(values[k]);
      norm = multiply_add(v, v, norm);
    }
  }
  task.norm = norm[0];
  std::size_t found = 0;
  for (std::size_t c = 0; c < noted; ++c) {
    const std::uint32_t k = which[c];
    which[found] = k;
    task.places[found] = place_of(task, homes[k], features[k]);
    found += task.places[found] != kNoPlace;
  }
  return found;
}

template <class Real>
std::size_t find(BucketTask<Real>& task) {
  return task.values != nullptr ? find_some<Real, true>(task) : find_some<Real, false>(task);
}

template <class Real>
std::size_t insert(BucketTask<Real>& task, std::uint32_t example, Posting<Real>* entries) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  Vector<Real> norm = all<Real>(task.norm);
  Bucket* const buckets = task.buckets;
  const std::int32_t* const features = task.features;
  const Real* const values = task.values;
  std::uint32_t* const which = task.which;
  const std::size_t count = task.count;
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t at = homes[k];
    Bucket& bucket = buckets[at];
    const auto feature = static_cast<std::uint32_t>(features[k]);
    const std::uint32_t marks = bucket.marks();
    const auto free = static_cast<std::uint32_t>(__builtin_ctz(~marks));
    const Vector<Real> v = all<Real>(values[k]);
    norm = multiply_add(v, v, norm);
    which[noted] = static_cast<std::uint32_t>(k);
    if ((free == Bucket::kPlaces) | (bucket.passed() != 0)) [[unlikely]] {
      ++noted;
      continue;
    }
    const auto other = static_cast<std::uint32_t>(any_match(bucket, features[k]));
    // An unused word may be overwritten.
    bucket.words[free] = feature;
    bucket.marks() = marks | (0x10001u & (other - 1)) << free;
    entries[at * Bucket::kPitch + free] = {example, values[k]};
    noted += other;
  }
  task.norm = norm[0];
  add_places(task, homes, noted);
  return noted;
}

template <class Real>
std::size_t erase(BucketTask<Real>& task) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  Bucket* const buckets = task.buckets;
  const std::int32_t* const features = task.features;
  std::uint32_t* const which = task.which;
  const std::size_t count = task.count;
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Bucket& bucket = buckets[homes[k]];
    const std::uint32_t marks = bucket.marks();
    const std::uint32_t single = matches(bucket, features[k]) & marks & marks >> 16;
    bucket.marks() = marks & ~(single * 0x10001u);
    which[noted] = static_cast<std::uint32_t>(k);
    noted += single == 0;
  }
  add_places(task, homes, noted);
  return noted;
}

}  // namespace

extern const HashFunctions<float> BUDGETRON_CONCAT(hash_functions_float_, BUDGETRON_ISA);
extern const HashFunctions<double> BUDGETRON_CONCAT(hash_functions_double_, BUDGETRON_ISA);
const HashFunctions<float> BUDGETRON_CONCAT(hash_functions_float_, BUDGETRON_ISA) = {
    find<float>, insert<float>, erase<float>};
const HashFunctions<double> BUDGETRON_CONCAT(hash_functions_double_, BUDGETRON_ISA) = {
    find<double>, insert<double>, erase<double>};

}  // namespace budgetron
