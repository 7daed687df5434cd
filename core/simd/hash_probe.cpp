// Looking up many features at once in the buckets of a hash table, in SIMD: see hash_probe.hpp.
// Compiled once per instruction set with BUDGETRON_ISA set.
//
// The loops do the common case for every feature without a branch and note the features that need
// more. The norm is a chain of additions, which runs while buckets come from memory.
#include "simd/hash_probe.hpp"

#include "simd/vec.hpp"

namespace budgetron {
namespace {

// The places whose word equals this one, as bits.
inline std::uint32_t equal(const void* line, std::uint32_t wanted_word) {
  const auto wanted = static_cast<int>(wanted_word);
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(_mm512_load_si512(line), _mm512_set1_epi32(wanted));
#elif defined(__AVX2__)
  const auto* halves = static_cast<const __m256i*>(line);
  const auto lanes = [&](int half) {
    const __m256i same =
        _mm256_cmpeq_epi32(_mm256_load_si256(halves + half), _mm256_set1_epi32(wanted));
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  };
  return lanes(0) | lanes(1) << 8;
#elif defined(__x86_64__)
  const auto* quarters = static_cast<const __m128i*>(line);
  const auto same = [&](int quarter) {
    return _mm_cmpeq_epi32(_mm_load_si128(quarters + quarter), _mm_set1_epi32(wanted));
  };
  const __m128i bytes =
      _mm_packs_epi16(_mm_packs_epi32(same(0), same(1)), _mm_packs_epi32(same(2), same(3)));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
  std::uint32_t found = 0;
  for (std::uint32_t j = 0; j < Bucket<float>::kPlaces; ++j) {
    found |= static_cast<std::uint32_t>(static_cast<const int*>(line)[j] == wanted) << j;
  }
  return found;
#endif
}
template <class Real>
inline std::uint32_t matches(const Bucket<Real>& bucket, std::int32_t feature) {
  return equal(&bucket, static_cast<std::uint32_t>(feature)) & bucket.used;
}

// The home buckets of the features; prefetches their first cache lines.
template <class Real>
inline void hash(const BucketTask<Real>& task, std::uint32_t (&homes)[BucketTask<Real>::kMost]) {
  const std::size_t count = task.count;
  const std::uint32_t buckets = task.buckets_count;
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; ++k) homes[k] = bucket_of(task.features[k], buckets);
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; ++k) __builtin_prefetch(task.buckets + homes[k]);
}

template <class Real, bool l1>
std::size_t find(BucketTask<Real>& task) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  const std::size_t count = task.count;
  Vector<Real> norm = all<Real>(task.norm);
  const auto add = [&, values = task.values](std::size_t k) {
    const Vector<Real> v = all<Real>(values[k]);
    norm = l1 ? norm + absolute(v) : multiply_add(v, v, norm);
  };
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Bucket<Real>& bucket = task.buckets[homes[k]];
    const std::uint32_t found = matches(bucket, task.features[k]);
    task.which[noted] = static_cast<std::uint32_t>(k);
    task.matches[noted] = found;
    noted += (found | bucket.passed) != 0;
    add(k);
  }
  for (std::size_t k = count; k < task.values_count; ++k) add(k);
  task.norm = norm[0];
  return noted;
}

template <class Real>
std::size_t insert(BucketTask<Real>& task, std::uint32_t example, std::uint32_t most) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  Bucket<Real>* const buckets = task.buckets;
  const Real* const values = task.values;
  const std::size_t count = task.count;
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Bucket<Real>& bucket = buckets[homes[k]];
    const std::uint32_t found = matches(bucket, task.features[k]);
    const std::uint32_t used = bucket.used;
    const auto free = static_cast<std::uint32_t>(__builtin_ctz(~used));
    task.which[noted] = static_cast<std::uint32_t>(k);
    task.matches[noted] = found;
    if ((free == Bucket<Real>::kPlaces) | (bucket.passed != 0)) [[unlikely]] {
      ++noted;
      continue;
    }
    // An unused place may be overwritten.
    bucket.features[free] = task.features[k];
    bucket.owners[free] = example;
    bucket.values[free] = values[task.numbers[k]];
    const auto postings = static_cast<std::uint32_t>(__builtin_popcount(found));
    const std::uint32_t owner =
        bucket.owners[__builtin_ctz(found | 1u << (Bucket<Real>::kPitch - 1))];
    const auto other =
        static_cast<std::uint32_t>((postings >= most) | (owner >= Bucket<Real>::kSlot));
    bucket.used = used | (1u & (other - 1)) << free;
    noted += other;
  }
  return noted;
}

template <class Real>
std::size_t erase(BucketTask<Real>& task, std::uint32_t example) {
  std::uint32_t homes[BucketTask<Real>::kMost];
  hash(task, homes);
  Bucket<Real>* const buckets = task.buckets;
  const std::size_t count = task.count;
  std::size_t noted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Bucket<Real>& bucket = buckets[homes[k]];
    const std::uint32_t found = matches(bucket, task.features[k]);
    const std::uint32_t mine = found & equal(bucket.owners, example);
    bucket.used &= ~mine;
    task.which[noted] = static_cast<std::uint32_t>(k);
    task.matches[noted] = found;
    noted += mine == 0;
  }
  return noted;
}

}  // namespace

extern const HashFunctions<float> BUDGETRON_CONCAT(hash_functions_float_, BUDGETRON_ISA);
extern const HashFunctions<double> BUDGETRON_CONCAT(hash_functions_double_, BUDGETRON_ISA);
const HashFunctions<float> BUDGETRON_CONCAT(hash_functions_float_, BUDGETRON_ISA) = {
    {find<float, false>, find<float, true>}, insert<float>, erase<float>};
const HashFunctions<double> BUDGETRON_CONCAT(hash_functions_double_, BUDGETRON_ISA) = {
    {find<double, false>, find<double, true>}, insert<double>, erase<double>};

}  // namespace budgetron
