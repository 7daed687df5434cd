// Stored examples as a matrix: every feature has a slot, zeros are stored too.
//
// It is for dense rows, and for rows of any layout if a byte limit has room for all features. Slot
// j is feature j (with the Laplacian slot j + 1: slot 0 is all zeros). Rows usually have one width;
// a wider row adds slots, and narrower examples have 0 there.
//
// Cost: every operation is O(width).
#pragma once

#include <numeric>

#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
class DenseStore final : public ExampleStore<Real> {
 public:
  using typename ExampleStore<Real>::Stored;

  explicit DenseStore(bool l1, const ByteLimit& limit = {}) : ExampleStore<Real>(l1, false, limit) {
    widen(limit.width);
  }

  void gather(const Sample<Real>& x, RowTerms<Real>& row) const override {
    TermWriter<Real> terms(row, x.count);
    if (x.dense() && x.count <= slots_.size()) {
      terms.set_count(this->norm_functions().gather(x.values, slots_.data(), x.count,
                                                    row.term_values.data(), row.term_slots.data(),
                                                    &row.norm));
      return terms.finish();
    }
    row.norm = this->norm_of(x);
    for (std::size_t k = 0; k < x.count; ++k) {
      const std::uint32_t slot = stored(x.feature(k)).slot;
      if (x.values[k] != Real(0)) terms.add(x.values[k], slot != kNoSlot ? slot : this->unknown_);
    }
    terms.finish();
  }
  // Sums feature by feature, over all examples at once; features that no example has come last.
  void add_differences(const Sample<Real>& x, bool squared, std::size_t first, std::size_t last,
                       Real* sums, std::vector<std::int32_t>&) const override {
    std::fill(sums, sums + (last - first), Real(0));
    last = std::min(last, size_);
    const auto term = this->term(squared);
    std::size_t k = 0;
    for (std::size_t j = 0; j < slots_.size(); ++j) {
      const bool there = k < x.count && static_cast<std::size_t>(x.feature(k)) == j;
      const Real value = there ? x.values[k++] : Real(0);
      const Real* const column = columns_.reals() + slots_[j] * columns_.stride();
      for (std::size_t i = first; i < last; ++i) sums[i - first] += term(value - column[i]);
    }
    for (; k < x.count; ++k) {
      for (std::size_t i = first; i < last; ++i) sums[i - first] += term(x.values[k]);
    }
  }
  [[nodiscard]] Stored stored(std::int32_t feature) const override {
    const auto j = static_cast<std::size_t>(feature);
    return j < slots_.size() ? Stored{feature, slots_[j], true} : Stored{feature};
  }
  [[nodiscard]] bool dense() const override { return true; }
  [[nodiscard]] std::span<const std::uint32_t> slots() const override { return slots_; }
  void extract(std::size_t i, OwnedSample<Real>& out) const override {
    out.dense = true;
    out.indices.clear();
    out.values.resize(static_cast<std::size_t>(widths_[i]));
    columns_.get({slots_.data(), out.values.size()}, i, out.values.data());
  }
  void count_bytes(StateVisitor& visitor) const override {
    visitor.object(sizeof(*this));
    ExampleStore<Real>::count_bytes(visitor);
    visitor.scratch(slots_);
    visitor.scratch(widths_);
  }

 protected:
  void write(std::size_t i, const Sample<Real>& x) override {
    widen(x.reach());
    widths_[i] = static_cast<std::int32_t>(x.dense() ? x.count : slots_.size());
    for (std::size_t k = 0; k < x.count; ++k) {
      columns_.set(slots_[static_cast<std::size_t>(x.feature(k))], i, x.values[k]);
    }
  }
  [[nodiscard]] bool covers(const Sample<Real>& x) const override {
    return x.dense() && x.count >= slots_.size();
  }
  void erase(std::size_t i) override {
    columns_.set(slots_, i, [](std::uint32_t, std::size_t) { return Real(0); });
  }
  void move(std::size_t from, std::size_t to) override {
    columns_.set(slots_, to,
                 [this, from](std::uint32_t slot, std::size_t) { return columns_.at(slot, from); });
    widths_[to] = widths_[from];
    erase(from);
  }
  void set_columns(std::size_t columns) override { widths_.resize(columns, 0); }
  [[nodiscard]] std::string broken_invariant() const override {
    const std::size_t others = std::min<std::size_t>(columns_.slots(), this->first_slot_);
    return columns_.slots() == slots_.size() + others ? "" : "a slot was lost";
  }

 private:
  using ExampleStore<Real>::size_, ExampleStore<Real>::columns_;

  // Makes space for at least `width` features: exactly the memory they need, in one allocation.
  void widen(std::size_t width) {
    const std::size_t before = slots_.size();
    if (width <= before) return;
    columns_.reserve_slots(this->first_slot_ + width);  // first, as memory may run out
    slots_.resize(width);
    std::iota(slots_.begin(), slots_.end(), this->first_slot_);
    for (std::size_t j = before; j < width; ++j) columns_.add_slot();
    this->slots_moved_ = ++this->clock_;
  }

  std::vector<std::uint32_t> slots_;  // per feature
  std::vector<std::int32_t> widths_;  // per example: how many features it has
};

}  // namespace budgetron
