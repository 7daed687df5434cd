// A map from feature numbers to slots; kNoSlot if a feature is not in the map.
//
// Small feature numbers (all of a dense array, most LIBSVM files) are looked up in a plain array;
// numbers from kDirect on are in a hash table with open addressing. If memory is allocated in
// advance (`reserve`), all features are in the array or all are in the table, whichever is smaller.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/slot.hpp"

namespace budgetron {

class FeatureTable {
 public:
  static constexpr std::size_t kDirect = 1u << 16;

  [[nodiscard, gnu::always_inline]] std::uint32_t find(std::int32_t feature) const {
    const auto at = static_cast<std::size_t>(feature);
    if (at < direct_limit_) return at < direct_.size() ? direct_[at] : kNoSlot;
    if (table_.empty()) return kNoSlot;
    for (std::size_t i = home(feature);; i = (i + 1) & (table_.size() - 1)) {
      if (table_[i].slot == kNoSlot || table_[i].feature == feature) return table_[i].slot;
    }
  }

  // Precondition: `feature` has no slot.
  void insert(std::int32_t feature, std::uint32_t slot) {
    const auto at = static_cast<std::size_t>(feature);
    if (at < direct_limit_) {
      if (at >= direct_.size()) direct_.resize(at + 1, kNoSlot);
      direct_[at] = slot;
      return;
    }
    if (2 * (used_ + 1) > table_.size()) rehash();
    insert_entry({feature, slot});
    ++used_;
  }

  // Precondition: `feature` has a slot.
  void erase(std::int32_t feature) {
    const auto at = static_cast<std::size_t>(feature);
    if (at < direct_limit_) {
      direct_[at] = kNoSlot;
      return;
    }
    const std::size_t mask = table_.size() - 1;
    std::size_t hole = home(feature);
    while (table_[hole].feature != feature || table_[hole].slot == kNoSlot)
      hole = (hole + 1) & mask;
    // Close the gap: move back every entry whose home is not between the hole and itself.
    for (std::size_t i = (hole + 1) & mask; table_[i].slot != kNoSlot; i = (i + 1) & mask) {
      if (((i - home(table_[i].feature)) & mask) >= ((i - hole) & mask)) {
        table_[hole] = table_[i];
        hole = i;
      }
    }
    table_[hole].slot = kNoSlot;
    --used_;
  }

  void clear() {
    direct_.clear();
    table_.assign(table_.size(), Entry{});
    used_ = 0;
  }

  // Allocates memory for at most `count` features at a time out of `width`. Precondition: no
  // feature has a slot.
  void reserve(std::size_t width, std::size_t count) {
    const std::size_t entries = std::bit_ceil(2 * count);
    const bool direct = width * sizeof(std::uint32_t) <= entries * sizeof(Entry);
    direct_limit_ = direct ? width : 0;
    if (direct) {
      direct_.reserve(width);
    } else {
      table_.assign(entries, Entry{});
    }
  }

  [[nodiscard]] std::size_t bytes() const {
    return direct_.capacity() * sizeof(std::uint32_t) + table_.capacity() * sizeof(Entry);
  }

 private:
  struct Entry {
    std::int32_t feature = 0;
    std::uint32_t slot = kNoSlot;
  };

  [[nodiscard]] std::size_t home(std::int32_t feature) const {
    // Fibonacci hashing: the high bits of a product with 2^64/phi.
    const auto word = static_cast<std::uint64_t>(feature) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(word >> 32) & (table_.size() - 1);
  }
  void insert_entry(Entry entry) {
    std::size_t i = home(entry.feature);
    while (table_[i].slot != kNoSlot) i = (i + 1) & (table_.size() - 1);
    table_[i] = entry;
  }
  void rehash() {
    std::vector<Entry> old(table_.empty() ? 64 : 2 * table_.size());
    old.swap(table_);
    for (const Entry& entry : old) {
      if (entry.slot != kNoSlot) insert_entry(entry);
    }
  }

  std::size_t direct_limit_ = kDirect;  // features below this number are in direct_
  std::vector<std::uint32_t> direct_;
  std::vector<Entry> table_;
  std::size_t used_ = 0;
};

}  // namespace budgetron
