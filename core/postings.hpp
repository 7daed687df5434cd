// Features that few examples have, as chains of postings (example, value), and where features with
// large numbers are found, thin or not.
//
// A link is where a chain goes on: kThin | posting, or kNoSlot at its end. A feature with a small
// number has a chain of its own, which begins in the table of slots (slots.hpp). One with a large
// number, as hashed text has, shares a bucket's chain with whatever else hashes there. A bucket
// also has 32 marks, of which every feature in it sets one, so that nearly all features nobody
// stored are known by the bucket alone. There a feature with a slot is a posting too, whose
// `example` is kThin | slot.
//
// Cost: what is found in a chain, about one posting. Memory: a posting a value of thin features,
// and 8 to 16 bytes for each that is in a bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "row.hpp"
#include "state.hpp"

namespace budgetron {

struct Bucket {
  std::uint32_t first = kNoSlot;  // link
  std::uint32_t marks = 0;        // of all features in the chain
};

template <class Real>
class Postings {
 public:
  [[nodiscard]] Posting<Real>& operator[](std::uint32_t link) { return all_[link & ~kThin]; }
  [[nodiscard]] const Posting<Real>& operator[](std::uint32_t link) const {
    return all_[link & ~kThin];
  }
  [[nodiscard]] const Posting<Real>* data() const { return all_.data(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }  // with those not in use

  // The first posting of a feature from a link on, or kNoSlot.
  [[nodiscard]] std::uint32_t seek(std::uint32_t link, std::int32_t feature) const {
    while (link != kNoSlot && (*this)[link].feature != feature) link = (*this)[link].next;
    return link;
  }
  // Its slot, kThin | its first posting, or kNoSlot; of a feature in a bucket.
  [[nodiscard]] std::uint32_t find(std::int32_t feature) const {
    if (buckets_.empty()) return kNoSlot;
    const Bucket& found = bucket(feature);
    return (found.marks & mark(feature)) == 0 ? kNoSlot : slot_or_link(seek(found.first, feature));
  }
  [[nodiscard]] std::uint32_t slot_or_link(std::uint32_t link) const {
    if (link == kNoSlot || ((*this)[link].example & kThin) == 0) return link;
    return (*this)[link].example & ~kThin;
  }
  // How many postings its feature has from this one on.
  [[nodiscard]] std::size_t count(std::uint32_t link) const {
    const std::int32_t feature = (*this)[link].feature;
    std::size_t found = 0;
    for (; link != kNoSlot; link = seek((*this)[link].next, feature)) ++found;
    return found;
  }

  // A new posting at the front of the chain that begins at `link`.
  void push(std::uint32_t& link, std::int32_t feature, std::uint32_t example, Real value) {
    if (free_ == kNoSlot) [[unlikely]] {
      make_one();
    }
    Posting<Real>& posting = (*this)[free_];
    const std::uint32_t next = std::exchange(link, free_);
    free_ = posting.next;
    posting = {example, next, feature, value};
  }
  // The posting `link` leads to leaves.
  void pop(std::uint32_t& link) {
    const std::uint32_t gone = std::exchange(link, (*this)[link].next);
    (*this)[gone].next = free_;
    free_ = gone;
  }

  // ---- buckets --------------------------------------------------------------------------------
  [[nodiscard]] bool none_in_buckets() const { return buckets_.empty(); }
  [[nodiscard]] Bucket& bucket(std::int32_t feature) { return buckets_[place(feature)]; }
  [[nodiscard]] const Bucket& bucket(std::int32_t feature) const {
    return buckets_[place(feature)];
  }
  // Without it in a bucket's marks the feature is not there.
  [[nodiscard]] static std::uint32_t mark(std::int32_t feature) {
    return 1u << (product(feature) >> 59);
  }
  [[nodiscard]] bool surely_new(std::int32_t feature) const {
    return buckets_.empty() || (bucket(feature).marks & mark(feature)) == 0;
  }
  void push_in_bucket(std::int32_t feature, std::uint32_t example, Real value) {
    if (in_buckets_ == buckets_.size()) [[unlikely]] {
      rehash();
    }
    Bucket& home = bucket(feature);
    push(home.first, feature, example, value);
    home.marks |= mark(feature);
    ++in_buckets_;
  }
  // The posting `link` leads to leaves, one of this feature.
  void pop_from_bucket(std::uint32_t& link, std::int32_t feature) {
    pop(link);
    Bucket& home = bucket(feature);
    std::uint32_t marks = 0;
    for (std::uint32_t at = home.first; at != kNoSlot; at = (*this)[at].next) {
      marks |= mark((*this)[at].feature);
    }
    home.marks = marks;
    --in_buckets_;
  }
  // Takes from these features, all in buckets, what example has of them; one with a slot leaves if
  // `give_up(slot)` says so. Returns how many were thin.
  template <class GiveUp>
  std::size_t pop_all(std::span<const std::int32_t> features, std::uint32_t example,
                      GiveUp give_up) {
    // Asks for the memory step by step: no feature waits for another's, nor guesses what is there.
    for (const std::int32_t feature : features) __builtin_prefetch(&bucket(feature), 1);
    for (const std::int32_t feature : features) {
      __builtin_prefetch(&or_any(bucket(feature).first), 1);
    }
    for (const std::int32_t feature : features) {
      __builtin_prefetch(&or_any(or_any(bucket(feature).first).next), 1);
    }
    std::size_t thin = 0;
    for (const std::int32_t feature : features) {
      std::uint32_t& link = link_to(bucket(feature).first, feature, example);
      const std::uint32_t whose = (*this)[link].example;
      if ((whose & kThin) == 0) {
        ++thin;
      } else if (!give_up(whose & ~kThin)) {
        continue;
      }
      pop_from_bucket(link, feature);
    }
    return thin;
  }
  // The link that leads to what example i has of a feature, or to the feature's slot.
  std::uint32_t& link_to(std::uint32_t& begin, std::int32_t feature, std::uint32_t example) {
    std::uint32_t* link = &begin;
    while (true) {
      Posting<Real>& posting = (*this)[*link];
      const bool same = posting.feature == feature;
      if (same & ((posting.example == example) | ((posting.example & kThin) != 0))) return *link;
      link = &posting.next;
    }
  }

  // Thin features that are in buckets.
  [[nodiscard]] std::size_t thin_in_buckets() const {
    std::size_t features = 0;
    for (const auto& [first, marks] : buckets_) {
      for (std::uint32_t link = first; link != kNoSlot; link = (*this)[link].next) {
        const Posting<Real>& posting = (*this)[link];
        features += (posting.example & kThin) == 0 && seek(first, posting.feature) == link;
      }
    }
    return features;
  }
  [[nodiscard]] std::size_t unused() const {
    std::size_t count = 0;
    for (std::uint32_t link = free_; link != kNoSlot; link = (*this)[link].next) ++count;
    return count;
  }
  void scratch(StateVisitor& visitor) {
    visitor.scratch(all_);
    visitor.scratch(buckets_);
  }

 private:
  // For prefetching: any where there is none.
  [[nodiscard]] const Posting<Real>& or_any(std::uint32_t link) const {
    return (*this)[link == kNoSlot ? kThin : link];
  }
  // Fibonacci hashing: the high bits of a product with 2^64/phi.
  [[nodiscard]] static std::uint64_t product(std::int32_t feature) {
    return static_cast<std::uint64_t>(feature) * 0x9E3779B97F4A7C15u;
  }
  [[nodiscard]] std::size_t place(std::int32_t feature) const {
    return static_cast<std::size_t>(product(feature) >> 32) & (buckets_.size() - 1);
  }
  [[gnu::noinline]] void make_one() {
    free_ = kThin | static_cast<std::uint32_t>(all_.size());
    all_.push_back({0, kNoSlot, 0, Real(0)});
  }
  [[gnu::noinline]] void rehash() {
    std::vector<Bucket> old(buckets_.empty() ? 64 : 2 * buckets_.size());
    old.swap(buckets_);
    for (const Bucket& from : old) {
      for (std::uint32_t link = from.first; link != kNoSlot;) {
        Posting<Real>& posting = (*this)[link];
        Bucket& home = bucket(posting.feature);
        home.marks |= mark(posting.feature);
        const std::uint32_t next = std::exchange(posting.next, home.first);
        home.first = std::exchange(link, next);
      }
    }
  }

  std::vector<Posting<Real>> all_;
  std::uint32_t free_ = kNoSlot;  // the first of those not in use
  std::vector<Bucket> buckets_;   // a power of two
  std::size_t in_buckets_ = 0;
};

}  // namespace budgetron
