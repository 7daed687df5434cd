// Stored examples of sparse rows in fixed memory (byte_limit.hpp): so many slots, and no postings.
//
// All memory is allocated at the start. No example lists its features: they are those of the slots
// where its column is not 0. A row fits if slots are left for its features.
//
// Cost: O(features of the example) to add; O(slots) to replace, remove and extract.
#pragma once

#include "storage/sparse_store.hpp"

namespace budgetron {

template <class Real>
class LimitedStore final : public SparseStore<Real> {
 public:
  LimitedStore(bool l1, const ByteLimit& limit) : SparseStore<Real>(l1, false, limit) {
    this->most_terms_ = most_terms();
    uses_.reserve(most_slots());
    free_.reserve(most_slots());
    // Use the array or the hash table, whichever is smaller.
    const bool array = limit.width / 8 <= limit.slots;
    this->first_hashed_ = array ? limit.width : 0;
    this->array_.resize(this->first_hashed_, kNoSlot);
    this->table_.reserve_more(array ? 0 : limit.slots + 1);
  }
  [[nodiscard]] bool fits(const Sample<Real>& x) const override {
    const std::size_t left = most_slots() - (uses_.size() - free_.size());
    if (x.count <= left) return true;
    std::size_t missing = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      missing += x.values[k] != Real(0) && !this->stored(x.feature(k)).anywhere;
    }
    return missing <= left;
  }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const override {
    return this->nonzeros(x) <= this->limit_.slots;
  }
  [[nodiscard]] std::size_t most_terms() const override {
    const ByteLimit& limit = this->limit_;
    const std::size_t unknown = limit.width * this->first_slot_;  // terms of the Laplacian kernel
    return std::min(limit.width, limit.slots + 1 + unknown);
  }

 protected:
  void list_features(std::size_t i, std::vector<std::int32_t>& features) const override {
    features.clear();
    for_each_slot(i, [&](std::uint32_t slot) { features.push_back(uses_[slot].feature); });
    std::sort(features.begin(), features.end());
  }
  void erase(std::size_t i) override {
    for_each_slot(i, [&](std::uint32_t slot) { this->clear({&slot, 1}, i); });
  }
  void move(std::size_t from, std::size_t to) override {
    for_each_slot(from, [&](std::uint32_t slot) { this->move_value(slot, from, to); });
  }
  void set_columns(std::size_t) override {}
  void write(std::size_t i, const Sample<Real>& x) override {
    this->write_values(i, x, [](std::span<const std::int32_t>) {});
  }

 private:
  using SparseStore<Real>::uses_, SparseStore<Real>::free_;

  // Calls use(slot) for the slots where example i is not 0.
  template <class Use>
  void for_each_slot(std::size_t i, Use use) const {
    const Real* const column = this->columns_.reals() + i;
    for (std::uint32_t slot = this->first_slot_; slot < uses_.size(); ++slot) {
      if (column[slot * this->columns_.stride()] != Real(0)) use(slot);
    }
  }
  [[nodiscard]] std::size_t most_slots() const { return this->limit_.slots + this->first_slot_; }
};

}  // namespace budgetron
