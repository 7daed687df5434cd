// Posting lists: for each feature that few examples have, its (example, value) pairs, in any order.
//
// All lists lie in one array, each in a piece whose capacity is a power of two:
//
//   [count, capacity] [example, value] [example, value] ... [unused]
//
// The capacity doubles when a list is full and halves when it is a quarter full. Free pieces are
// kept in one free list per capacity (a buddy allocator without merging); a piece smaller than a
// cache line is half of a larger one. A list's handle is kListFlag | its start, or kNoList if it is
// empty.
//
// Cost: push O(1) amortised, pop O(values of the list).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "simd/hash_probe.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

// Set in the word of a feature that has no slot: the other bits are the start of its list.
inline constexpr std::uint32_t kListFlag = 0x80000000u;
// The handle of an empty list, and the end of a free list. The word of a feature that says "no
// list" also says "no slot".
inline constexpr std::uint32_t kNoList = kNoSlot;

template <class Real>
class PostingLists {
 public:
  PostingLists() { free_.fill(kNoList); }

  [[nodiscard]] std::span<const Posting<Real>> operator[](std::uint32_t list) const {
    const Posting<Real>* head = &all_[list & ~kListFlag];
    return {head + 1, head->example};
  }
  [[nodiscard]] std::size_t count(std::uint32_t list) const { return at(list).example; }

  void push(std::uint32_t& list, std::uint32_t example, Real value) {
    if (list == kNoList) {
      list = take(2);
    } else if (at(list).example + 1 == capacity(list)) {
      resize(list, 2 * capacity(list));
    }
    Posting<Real>* head = &at(list);
    head[++head->example] = {example, value};
  }
  // Removes the value of this example. Precondition: it is in the list.
  void pop(std::uint32_t& list, std::uint32_t example) {
    Posting<Real>* head = &at(list);
    const std::uint32_t last = head->example;
    *find(list, example) = head[last];
    head->example = last - 1;
    if (last == 1) {
      release(list);
    } else if (4 * last <= capacity(list)) {
      resize(list, capacity(list) / 2);
    }
  }
  // The value of this example. Precondition: it is in the list.
  [[nodiscard]] Posting<Real>* find(std::uint32_t list, std::uint32_t example) {
    Posting<Real>* posting = &at(list) + 1;
    while (posting->example != example) ++posting;
    return posting;
  }
  void release(std::uint32_t& list) {
    std::uint32_t& first = free_[chain(capacity(list))];
    at(list).example = std::exchange(first, list);
    list = kNoList;
  }

  // The capacity of one list, of all free pieces, and of the whole array.
  [[nodiscard]] std::size_t capacity(std::uint32_t list) const {
    return static_cast<std::size_t>(at(list).value);
  }
  [[nodiscard]] std::size_t unused() const {
    std::size_t found = 0;
    for (std::uint32_t list : free_) {
      for (; list != kNoList; list = at(list).example) found += capacity(list);
    }
    return found;
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  void scratch(StateVisitor& visitor) const { visitor.scratch(all_); }

 private:
  [[nodiscard]] Posting<Real>& at(std::uint32_t list) { return all_[list & ~kListFlag]; }
  [[nodiscard]] const Posting<Real>& at(std::uint32_t list) const {
    return all_[list & ~kListFlag];
  }
  [[nodiscard]] static std::size_t chain(std::size_t capacity) {
    return static_cast<std::size_t>(std::bit_width(capacity));
  }
  // Takes a piece for an empty list.
  [[nodiscard]] std::uint32_t take(std::size_t capacity) {
    std::uint32_t& first = free_[chain(capacity)];
    std::uint32_t list = first;
    if (list != kNoList) {
      first = at(list).example;
    } else if (capacity < kWhole) {  // half of a larger piece
      list = take(2 * capacity);
      std::uint32_t other = list + static_cast<std::uint32_t>(capacity);
      at(other).value = static_cast<Real>(capacity);
      release(other);
    } else {
      list = kListFlag | static_cast<std::uint32_t>(all_.size());
      all_.resize(all_.size() + capacity);
    }
    at(list).value = static_cast<Real>(capacity);
    at(list).example = 0;
    return list;
  }
  void resize(std::uint32_t& list, std::size_t capacity) {
    const std::uint32_t wider = take(capacity);
    const std::uint32_t count = at(list).example;
    const Posting<Real>* from = &at(list);
    Posting<Real>* to = &at(wider);
    to->example = count;
    for (std::uint32_t k = 1; k <= count; ++k) to[k] = from[k];
    release(list);
    list = wider;
  }

  static constexpr std::size_t kWhole = 64 / sizeof(Posting<Real>);  // postings per cache line

  AlignedVector<Posting<Real>> all_;
  std::array<std::uint32_t, 33> free_;  // first free piece, by the bit width of its capacity
};

}  // namespace budgetron
