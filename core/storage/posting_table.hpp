// A hash table from features to their postings (example, value) or to their slot: an F14 multimap.
//
// A feature has one entry per example that has it, or one entry that names its slot. A bucket has
// the features of up to 14 entries in one cache line, and beside it their owners (examples or
// slots) and values. All features of a bucket are compared at once (hash_probe.hpp).
//
//   bucket:  [f0 f1 ... f13 | - | passed]  [o0 o1 ... o13 | - | -]  [v0 v1 ... v13 | - | -]
//
// Entries are in the home bucket of their feature and, if that is full, in those of its probe
// sequence (double hashing: the many entries of one feature do not fill the home of another).
// `passed` counts the entries that went on, so that a search ends with the first bucket that
// nothing passed. Only growth moves entries.
//
// Cost: one cache line to find, two or three to insert or erase. Memory: 16 places per bucket, for
// 4 to 8 entries: at 7 on average, one bucket in 100 is full.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "simd/hash_probe.hpp"

namespace budgetron {

template <class Real>
class PostingTable {
 public:
  using Task = BucketTask<Real>;
  using Cells = Bucket<Real>;
  static constexpr std::size_t kLoad = 8;  // entries per bucket, at most, on average

  struct Entry {
    Cells& bucket;
    std::uint32_t place;

    [[nodiscard]] bool is_slot() const { return bucket.owners[place] >= Cells::kSlot; }
    [[nodiscard]] std::uint32_t slot() const { return bucket.owners[place] - Cells::kSlot; }
    [[nodiscard]] std::uint32_t& example() const { return bucket.owners[place]; }
    [[nodiscard]] Real value() const { return bucket.values[place]; }
  };

  [[nodiscard]] std::size_t size() const { return size_; }  // number of entries

  // ---- many features at once (hash_probe.hpp) ---------------------------------------------------
  [[nodiscard]] Task task(const std::int32_t* features, std::size_t count) const {
    static Cells none[2] = {};  // never written: reserve_more comes before insert
    Task work;
    work.buckets = buckets_.empty() ? none : const_cast<Cells*>(buckets_.data());
    work.buckets_count = buckets_.empty() ? 2 : static_cast<std::uint32_t>(buckets_.size());
    work.features = features;
    work.count = count;
    return work;
  }
  std::size_t find(Task& work) const { return hash_functions<Real>().find(work); }
  std::size_t insert(Task& work, std::size_t example, std::size_t most) {
    const std::size_t others = hash_functions<Real>().insert(
        work, static_cast<std::uint32_t>(example), static_cast<std::uint32_t>(most));
    size_ += work.count - others;
    return others;
  }
  std::size_t erase(Task& work, std::size_t example) {
    const std::size_t others =
        hash_functions<Real>().erase(work, static_cast<std::uint32_t>(example));
    size_ -= work.count - others;
    return others;
  }

  // ---- one feature
  // ------------------------------------------------------------------------------- Calls
  // visit(entry) for every entry of a feature; `matches` are the places of its home bucket that
  // hold it, as bits. `visit` may erase that entry.
  template <class Visit>
  void visit(std::int32_t feature, std::uint32_t matches, Visit visit) const {
    std::size_t at = home(feature);
    while (true) {
      auto& bucket = const_cast<Cells&>(buckets_[at]);
      const bool passed = bucket.passed != 0;
      for (; matches != 0; matches &= matches - 1) {
        visit(Entry{bucket, static_cast<std::uint32_t>(std::countr_zero(matches))});
      }
      if (!passed) [[likely]]
        return;
      at = next(at, feature);
      for (std::uint32_t j = 0; j < Cells::kPlaces; ++j) {
        matches |= static_cast<std::uint32_t>(buckets_[at].features[j] == feature) << j;
      }
      matches &= buckets_[at].used;
    }
  }
  template <class Visit>
  void visit(std::int32_t feature, Visit visit_entry) const {
    Task work = task(&feature, 1);
    if (find(work) > 0) visit(feature, work.matches[0], visit_entry);
  }
  // Allocates memory for `more` entries, so that inserting them moves no entry.
  void reserve_more(std::size_t more) {
    if (size_ + more > kLoad * buckets_.size()) [[unlikely]] {
      grow(size_ + more);
    }
  }
  // Precondition: reserve_more was called.
  void insert_slot(std::int32_t feature, std::uint32_t slot) {
    insert(feature, Cells::kSlot + slot, Real(0));
  }
  void insert(std::int32_t feature, std::uint32_t owner, Real value) {
    std::size_t at = home(feature);
    while (buckets_[at].used == Cells::kFull) {
      ++buckets_[at].passed;
      at = next(at, feature);
    }
    Cells& bucket = buckets_[at];
    const int free = std::countr_one(bucket.used);
    bucket.features[free] = feature;
    bucket.owners[free] = owner;
    bucket.values[free] = value;
    bucket.used |= 1u << free;
    ++size_;
  }
  void erase(const Entry& entry) {
    const std::int32_t feature = entry.bucket.features[entry.place];
    for (std::size_t at = home(feature); &buckets_[at] != &entry.bucket; at = next(at, feature)) {
      --buckets_[at].passed;
    }
    entry.bucket.used &= ~(1u << entry.place);
    --size_;
  }

  // ---- all of them
  // -------------------------------------------------------------------------------
  template <class Visit>
  void for_each(Visit visit) const {  // visit(feature, entry)
    for (const Cells& bucket : buckets_) {
      for (std::uint32_t left = bucket.used; left != 0; left &= left - 1) {
        const auto j = static_cast<std::uint32_t>(std::countr_zero(left));
        visit(bucket.features[j], Entry{const_cast<Cells&>(bucket), j});
      }
    }
  }
  // Whether all counts that are kept incrementally are right.
  [[nodiscard]] bool consistent() const {
    PostingTable again;
    again.buckets_.resize(buckets_.size(), Cells{});
    bool right = true;
    for_each([&](std::int32_t feature, const Entry& entry) {
      std::size_t found = 0;
      visit(feature, [&](const Entry& other) {
        found += &other.bucket == &entry.bucket && other.place == entry.place;
      });
      right = right && found == 1;
      for (std::size_t at = home(feature); &buckets_[at] != &entry.bucket; at = next(at, feature)) {
        ++again.buckets_[at].passed;
      }
      ++again.size_;
    });
    for (std::size_t at = 0; at < buckets_.size(); ++at) {
      right = right && buckets_[at].passed == again.buckets_[at].passed;
    }
    return right && again.size_ == size_;
  }
  void scratch(StateVisitor& visitor) const { visitor.scratch(buckets_); }

 private:
  [[nodiscard]] std::size_t home(std::int32_t feature) const {
    return bucket_of(feature, static_cast<std::uint32_t>(buckets_.size()));
  }
  // Steps are odd, so that they reach every bucket.
  [[nodiscard]] std::size_t next(std::size_t at, std::int32_t feature) const {
    return (at + (hash_of(feature) | 1)) & (buckets_.size() - 1);
  }
  [[gnu::noinline]] void grow(std::size_t entries) {
    PostingTable wider;
    wider.buckets_.resize(std::bit_ceil(std::max<std::size_t>(2, (entries + kLoad - 1) / kLoad)),
                          Cells{});
    for_each([&](std::int32_t feature, const Entry& entry) {
      wider.insert(feature, entry.example(), entry.value());
    });
    *this = std::move(wider);
  }

  AlignedVector<Cells> buckets_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace budgetron
