// A hash table from features to their postings (example, value) or to their slot: an F14 multimap.
//
// A feature has one entry per example that has it, or one entry that names its slot. A bucket has
// the features of up to 14 entries in one cache line, and beside it their owners (examples or
// slots) and values. All features of a bucket are compared at once (hash_probe.hpp).
//
//   bucket:  [f0 f1 ... f13 | used | passed]  [o0 o1 ... o13 | - | -]  [v0 v1 ... v13 | - | -]
//
// Entries are in the home bucket of their feature and, if that is full, in those of its probe
// sequence (double hashing: the many entries of one feature do not fill the home of another).
// `passed` counts the entries that went on, so that a search ends with the first bucket that
// nothing passed. Only growth moves entries.
//
// Cost: one cache line for a feature that is not there, three for an entry. Memory: three cache
// lines (four with float64) for 4 to 8 entries; at 7 on average, one bucket in 100 is full.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

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
    [[nodiscard]] std::uint32_t example() const { return bucket.owners[place]; }
    [[nodiscard]] Real value() const { return bucket.values[place]; }
    void set_example(std::size_t i) const { bucket.owners[place] = static_cast<std::uint32_t>(i); }
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t postings() const { return postings_; }

  // ---- many features at once (hash_probe.hpp) ---------------------------------------------------
  std::size_t find(Task& task, std::size_t norm) const {
    return hash_functions<Real>().find[norm](in_buckets(task));
  }
  // Precondition: reserve_more was called.
  std::size_t insert(Task& task, std::size_t example, std::size_t most) {
    const std::size_t others = hash_functions<Real>().insert(
        in_buckets(task), static_cast<std::uint32_t>(example), static_cast<std::uint32_t>(most));
    size_ += task.count - others;
    postings_ += task.count - others;
    return others;
  }
  std::size_t erase(Task& task, std::size_t example) {
    const std::size_t others =
        hash_functions<Real>().erase(in_buckets(task), static_cast<std::uint32_t>(example));
    size_ -= task.count - others;
    postings_ -= task.count - others;
    return others;
  }

  // ---- one feature ------------------------------------------------------------------------------
  // Calls use(entry) for every entry of a feature; `use` may erase it. `matches` are the places of
  // the feature's home bucket that hold it, as bits.
  template <class Use>
  void visit(std::int32_t feature, std::uint32_t matches, Use use) const {
    if (buckets_.empty()) return;
    std::size_t at = home(feature);
    for (std::size_t left = buckets_.size();; matches = matches_in(buckets_[at], feature)) {
      auto& bucket = const_cast<Cells&>(buckets_[at]);
      const bool passed = bucket.passed != 0;
      for (; matches != 0; matches &= matches - 1) {
        use(Entry{bucket, static_cast<std::uint32_t>(std::countr_zero(matches))});
      }
      if (!passed || --left == 0) return;  // entries may once have passed every bucket
      at = next(at, feature);
    }
  }
  template <class Use>
  void visit(std::int32_t feature, Use use) const {
    if (!buckets_.empty()) visit(feature, matches_in(buckets_[home(feature)], feature), use);
  }
  // Allocates memory for `more` entries, so that inserting them moves no entry.
  void reserve_more(std::size_t more) {
    if (size_ + more > kLoad * buckets_.size()) grow(size_ + more);
  }
  // `owner`: an example, or kSlot + a slot. Precondition: reserve_more was called.
  void insert(std::int32_t feature, std::uint32_t owner, Real value) {
    std::size_t at = home(feature);
    for (; buckets_[at].used == Cells::kFull; at = next(at, feature)) ++buckets_[at].passed;
    Cells& bucket = buckets_[at];
    const int free = std::countr_one(bucket.used);
    bucket.features[free] = feature;
    bucket.owners[free] = owner;
    bucket.values[free] = value;
    bucket.used |= 1u << free;
    ++size_;
    postings_ += owner < Cells::kSlot;
  }
  void erase(const Entry& entry) {
    const std::int32_t feature = entry.bucket.features[entry.place];
    for (std::size_t at = home(feature); &buckets_[at] != &entry.bucket; at = next(at, feature)) {
      --buckets_[at].passed;
    }
    entry.bucket.used &= ~(1u << entry.place);
    --size_;
    postings_ -= !entry.is_slot();
  }

  // ---- all of them ------------------------------------------------------------------------------
  template <class Use>
  void for_each(Use use) const {  // use(feature, entry)
    for (const Cells& bucket : buckets_) {
      for (std::uint32_t left = bucket.used; left != 0; left &= left - 1) {
        const auto j = static_cast<std::uint32_t>(std::countr_zero(left));
        use(bucket.features[j], Entry{const_cast<Cells&>(bucket), j});
      }
    }
  }
  // Whether all counts that are kept incrementally are right: without entries they are 0.
  [[nodiscard]] bool consistent() const {
    PostingTable copy = *this;
    copy.for_each([&](std::int32_t, const Entry& entry) { copy.erase(entry); });
    const auto passed = [](const Cells& bucket) { return bucket.passed != 0; };
    return copy.size_ == 0 && copy.postings_ == 0 &&
           std::none_of(copy.buckets_.begin(), copy.buckets_.end(), passed);
  }
  void scratch(StateVisitor& visitor) const { visitor.scratch(buckets_); }

 private:
  Task& in_buckets(Task& task) const {
    static Cells none[2] = {};  // has no entry: reserve_more comes before insert
    task.buckets = buckets_.empty() ? none : const_cast<Cells*>(buckets_.data());
    task.buckets_count = static_cast<std::uint32_t>(std::max<std::size_t>(2, buckets_.size()));
    return task;
  }
  [[nodiscard]] static std::uint32_t matches_in(const Cells& bucket, std::int32_t feature) {
    std::uint32_t found = 0;
    for (std::uint32_t j = 0; j < Cells::kPlaces; ++j) {
      found |= static_cast<std::uint32_t>(bucket.features[j] == feature) << j;
    }
    return found & bucket.used;
  }
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
  std::size_t size_ = 0;          // number of entries
  std::size_t postings_ = 0;      // number of those that name no slot
};

}  // namespace budgetron
