// Where features with large numbers are found, as hashed text has them.
//
// A bucket is one cache line: up to 14 features, which of its places are in use, and how many
// features went on to the next bucket because this one was full (`passed`), so that a search ends
// with the first bucket that nothing passed. All its features are compared at once (`find` of
// row.hpp). Nothing ever moves but when the table grows, so places that were found stay.
//
// Beside each place is an entry: the value of the one example that has the feature (`single`), or
// else a word of the caller's in `example`: its slot or its list (lists.hpp).
//
// Cost: one line to see that a feature is not there, or to take it out. Memory: 64 bytes a bucket
// and 16 entries, for 4 to 10 features.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "row.hpp"
#include "state.hpp"

namespace budgetron {

template <class Real>
class Buckets {
 public:
  static constexpr std::size_t kLoad = 10;  // features a bucket, at most, on average

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }  // features

  // Where they are, kNoSlot for those that are not.
  void find(std::span<const std::int32_t> features, std::uint32_t* places) const {
    row_functions<Real>().find(table(), features.data(), features.size(), places);
  }
  [[nodiscard]] std::uint32_t find(std::int32_t feature) const {
    std::uint32_t place = kNoSlot;
    find({&feature, 1}, &place);
    return place;
  }
  [[nodiscard]] BucketTable table() const {
    static constexpr Bucket none{};
    return buckets_.empty() ? BucketTable{&none, 1} : BucketTable{buckets_.data(), buckets_.size()};
  }

  [[nodiscard]] Posting<Real>& operator[](std::uint32_t place) { return entries_[place]; }
  [[nodiscard]] const Posting<Real>& operator[](std::uint32_t place) const {
    return entries_[place];
  }
  [[nodiscard]] bool single(std::uint32_t place) const {
    return (buckets_[place / kPitch].single & bit(place)) != 0;
  }
  void set_single(std::uint32_t place, bool single) {
    std::uint16_t& marks = buckets_[place / kPitch].single;
    marks = static_cast<std::uint16_t>(single ? marks | bit(place) : marks & ~bit(place));
  }

  // For so many features more: none of them then moves what is found.
  void make_room(std::size_t more) {
    if (size_ + more > kLoad * buckets_.size()) [[unlikely]] {
      grow(size_ + more);
    }
  }
  void prefetch(std::int32_t feature) const {
    const std::size_t at = home(feature);
    __builtin_prefetch(&entries_[at * kPitch + static_cast<unsigned>(std::countr_one(buckets_[at].used))], 1);
  }
  // A feature that is not there; make_room came before.
  std::uint32_t insert(std::int32_t feature, bool single, Posting<Real> entry) {
    std::size_t at = home(feature);
    while (buckets_[at].used == kFull) {
      ++buckets_[at].passed;
      at = next(at);
    }
    Bucket& bucket = buckets_[at];
    const unsigned free = static_cast<unsigned>(std::countr_one(bucket.used));
    const auto place = static_cast<std::uint32_t>(at * kPitch + free);
    bucket.features[free] = feature;
    bucket.used = static_cast<std::uint16_t>(bucket.used | (1u << free));
    set_single(place, single);
    entries_[place] = entry;
    ++size_;
    return place;
  }
  void erase(std::uint32_t place, std::int32_t feature) {
    const std::size_t at = place / kPitch;
    buckets_[at].used = static_cast<std::uint16_t>(buckets_[at].used & ~bit(place));
    for (std::size_t over = home(feature); over != at; over = next(over)) --buckets_[over].passed;
    --size_;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t at = 0; at < buckets_.size(); ++at) {
      for (std::uint32_t used = buckets_[at].used; used != 0; used &= used - 1) {
        const unsigned j = static_cast<unsigned>(std::countr_zero(used));
        visit(buckets_[at].features[j], static_cast<std::uint32_t>(at * kPitch + j));
      }
    }
  }
  // Whether all that is kept up to date is as it would be counted.
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
      found = found && buckets_[at].passed == passed[at];
    }
    return found && count == size_;
  }
  void scratch(StateVisitor& visitor) {
    visitor.scratch(buckets_);
    visitor.scratch(entries_);
  }

 private:
  static constexpr std::size_t kPitch = Bucket::kPitch;
  static constexpr std::uint16_t kFull = (1u << Bucket::kPlaces) - 1;

  [[nodiscard]] static unsigned bit(std::uint32_t place) { return 1u << (place % kPitch); }
  [[nodiscard]] std::size_t home(std::int32_t feature) const {
    return bucket_of(feature, buckets_.size());
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (buckets_.size() - 1); }
  [[gnu::noinline]] void grow(std::size_t features) {
    Buckets wider;
    const std::size_t count = std::bit_ceil((features + kLoad - 1) / kLoad);
    wider.buckets_.resize(count, Bucket{});
    wider.entries_.resize(count * kPitch, Posting<Real>{});
    for_each([&](std::int32_t feature, std::uint32_t place) {
      wider.insert(feature, single(place), entries_[place]);
    });
    *this = std::move(wider);
  }

  AlignedVector<Bucket> buckets_;  // a power of two
  AlignedVector<Posting<Real>> entries_;  // kPitch a bucket
  std::size_t size_ = 0;
};

}  // namespace budgetron
