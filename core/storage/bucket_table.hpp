// A hash table of features with large numbers, as hashed text has them: F14 with inline values.
//
// A bucket is one cache line: up to 14 features, which of its places are in use, and how many
// features overflowed to the next bucket because this one was full (`passed`), so that a search
// ends with the first bucket that nothing passed. All features of a bucket are compared at once
// (`find` of hash_probe.hpp). Only growth moves entries, so places that were found stay valid.
//
//   bucket:   [f0 f1 ... f13 | marks: places in use, single values | passed]     64 bytes
//   entries:  [e0 e1 ... e13 | - | -]                                            beside it
//
// The entry of a place is the value of the one example that has the feature (`single`), or else a
// word of the caller's in `example`: its slot or its posting list (example_store.hpp).
//
// Cost: one cache line to see that a feature is not there, or to erase it. Memory: 64 bytes and 16
// entries per bucket, for 4 to 8 features: at 7 on average, one bucket in 100 is full.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "simd/hash_probe.hpp"

namespace budgetron {

template <class Real>
class BucketTable {
 public:
  static constexpr std::size_t kLoad = 8;  // features per bucket, at most, on average

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }  // number of features

  [[nodiscard]] std::uint32_t find(std::int32_t feature) const {
    std::uint32_t which = 0;
    std::uint32_t place = kNoPlace;
    BucketTask<Real> work = task({&feature, 1}, nullptr, &which, &place);
    return hash_functions<Real>().find(work) == 1 ? place : kNoPlace;
  }
  // These work on many features at once (hash_probe.hpp). Call reserve_more before `insert`.
  std::size_t find(BucketTask<Real>& work) const { return hash_functions<Real>().find(work); }
  std::size_t insert(BucketTask<Real>& work, std::uint32_t example) {
    const std::size_t others = hash_functions<Real>().insert(work, example, entries_.data());
    size_ += work.count - others;
    return others;
  }
  std::size_t erase(BucketTask<Real>& work) {
    const std::size_t others = hash_functions<Real>().erase(work);
    size_ -= work.count - others;
    return others;
  }
  [[nodiscard]] BucketTask<Real> task(std::span<const std::int32_t> features, const Real* values,
                                      std::uint32_t* which, std::uint32_t* places) const {
    static Bucket none[2] = {};  // never written: reserve_more comes before insert
    const bool any = !buckets_.empty();
    return {any ? const_cast<Bucket*>(buckets_.data()) : none,
            any ? count() : 2,
            features.data(),
            features.size(),
            values,
            Real(0),
            which,
            places};
  }

  [[nodiscard]] Posting<Real>& operator[](std::uint32_t place) { return entries_[place]; }
  [[nodiscard]] const Posting<Real>& operator[](std::uint32_t place) const {
    return entries_[place];
  }
  [[nodiscard]] bool single(std::uint32_t place) const {
    return (buckets_[place / kPitch].marks() & bit(place) << 16) != 0;
  }
  void set_single(std::uint32_t place, bool single) {
    std::uint32_t& marks = buckets_[place / kPitch].marks();
    marks = single ? marks | bit(place) << 16 : marks & ~(bit(place) << 16);
  }

  // Allocates memory for `more` features, so that inserting them moves no entry.
  void reserve_more(std::size_t more) {
    if (size_ + more > kLoad * buckets_.size()) [[unlikely]] {
      grow(size_ + more);
    }
  }
  // Precondition: the feature is not in the table, and reserve_more was called.
  std::uint32_t insert(std::int32_t feature, bool single, Posting<Real> entry) {
    std::size_t at = home(feature);
    while (used(at) == Bucket::kFull) {
      ++buckets_[at].passed();
      at = next(at);
    }
    const auto free = static_cast<std::uint32_t>(std::countr_one(used(at)));
    const auto place = static_cast<std::uint32_t>(at) * kPitch + free;
    buckets_[at].words[free] = static_cast<std::uint32_t>(feature);
    buckets_[at].marks() |= 1u << free;
    set_single(place, single);
    entries_[place] = entry;
    ++size_;
    return place;
  }
  void erase(std::uint32_t place, std::int32_t feature) {
    const std::size_t at = place / kPitch;
    buckets_[at].marks() &= ~(bit(place) | bit(place) << 16);
    for (std::size_t over = home(feature); over != at; over = next(over)) {
      --buckets_[over].passed();
    }
    --size_;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t at = 0; at < buckets_.size(); ++at) {
      for (std::uint32_t left = used(at); left != 0; left &= left - 1) {
        const auto j = static_cast<std::uint32_t>(std::countr_zero(left));
        visit(static_cast<std::int32_t>(buckets_[at].words[j]),
              static_cast<std::uint32_t>(at) * kPitch + j);
      }
    }
  }
  // Whether all counts that are kept incrementally are right.
  [[nodiscard]] bool consistent() const {
    std::vector<std::uint32_t> passed(buckets_.size(), 0);
    std::size_t count = 0;
    bool found = true;
    for_each([&](std::int32_t feature, std::uint32_t place) {
      ++count;
      found = found && find(feature) == place;
      for (std::size_t at = home(feature); at != place / kPitch; at = next(at)) ++passed[at];
    });
    for (std::size_t at = 0; at < buckets_.size(); ++at) {
      found = found && buckets_[at].passed() == passed[at] &&
              (buckets_[at].marks() >> 16 & ~used(at)) == 0;
    }
    return found && count == size_;
  }
  void scratch(StateVisitor& visitor) const {
    visitor.scratch(buckets_);
    visitor.scratch(entries_);
  }

 private:
  static constexpr std::uint32_t kPitch = Bucket::kPitch;

  [[nodiscard]] std::uint32_t used(std::size_t at) const {
    return buckets_[at].marks() & Bucket::kFull;
  }
  [[nodiscard]] static unsigned bit(std::uint32_t place) { return 1u << (place % kPitch); }
  [[nodiscard]] std::size_t home(std::int32_t feature) const { return bucket_of(feature, count()); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(buckets_.size()); }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (buckets_.size() - 1); }
  [[gnu::noinline]] void grow(std::size_t features) {
    BucketTable wider;
    const std::size_t buckets =
        std::bit_ceil(std::max<std::size_t>(2, (features + kLoad - 1) / kLoad));
    wider.buckets_.resize(buckets, Bucket{});
    wider.entries_.resize(buckets * kPitch, Posting<Real>{});
    for_each([&](std::int32_t feature, std::uint32_t place) {
      wider.insert(feature, single(place), entries_[place]);
    });
    *this = std::move(wider);
  }

  AlignedVector<Bucket> buckets_;         // a power of two of them, or none
  AlignedVector<Posting<Real>> entries_;  // kPitch per bucket
  std::size_t size_ = 0;
};

}  // namespace budgetron
