// The values of the stored examples as a matrix: a row is a slot, the values of one feature in all
// examples; column i is example i.
//
// Values are stored as Real. As long as all are 0 or 1 (one-hot and binary features) they are
// stored as bytes, which need a quarter or an eighth of the memory and of the time to read it. Sums
// over them in a binary row are counts, exact in both types, so the form changes no bit. The first
// other value converts all values to Real for good.
//
// Slots are `stride` numbers apart, whole cache lines, so that vectors need no tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/aligned_vector.hpp"
#include "base/slot.hpp"
#include "base/state.hpp"

namespace budgetron {

template <class Real>
class ValueColumns {
 public:
  // `bytes`: store values as bytes as long as that is possible.
  explicit ValueColumns(bool bytes) : bytes_(bytes) {}

  [[nodiscard]] bool bytes() const { return bytes_; }
  [[nodiscard]] std::size_t slots() const { return slots_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }  // in numbers of the current form
  [[nodiscard]] const Real* reals() const { return reals_.data(); }
  [[nodiscard]] const std::uint8_t* ones() const { return ones_.data(); }

  [[nodiscard]] Real at(std::size_t slot, std::size_t i) const {
    return with_values(
        *this, [&](const auto& values) { return static_cast<Real>(values[slot * stride_ + i]); });
  }
  // values[n] becomes the value of example i in slots[n]; kNoSlot is passed over.
  void get(std::span<const std::uint32_t> slots, std::size_t i, Real* values) const {
    with_values(*this, [&](const auto& stored) {
      for (std::size_t n = 0; n < slots.size(); ++n) {
        if (slots[n] != kNoSlot) values[n] = static_cast<Real>(stored[slots[n] * stride_ + i]);
      }
    });
  }
  // Example i gets value_of(slots[n], n) in slots[n]; kNoSlot is passed over. Precondition: if
  // values are bytes, a byte can hold these.
  template <class ValueOf>
  void set(std::span<const std::uint32_t> slots, std::size_t i, ValueOf value_of) {
    with_values(*this, [&, stride = stride_](auto& values) {
      auto* const column = values.data() + i;
      for (std::size_t n = 0; n < slots.size(); ++n) {
        if (slots[n] == kNoSlot) continue;
        column[slots[n] * stride] =
            static_cast<std::remove_cvref_t<decltype(*column)>>(value_of(slots[n], n));
      }
    });
  }
  void set(std::uint32_t slot, std::size_t i, Real value) {
    set({&slot, 1}, i, [=](std::uint32_t, std::size_t) { return value; });
  }
  // Converts to Real if bytes cannot hold these values.
  void hold(const Real* values, std::size_t count) {
    const auto binary = [](Real v) { return v == Real(0) || v == Real(1); };
    if (!bytes_ || std::all_of(values, values + count, binary)) return;
    copy(ones_, reals_, columns_, columns_);
    ones_ = {};
    bytes_ = false;
  }
  // Sets the number of columns of every slot; the first `kept` keep their values.
  void set_columns(std::size_t columns, std::size_t kept) {
    with_values(*this, [&](auto& values) {
      const std::size_t line = 64 / sizeof(values[0]);
      copy(values, values, (columns + line - 1) / line * line, kept);
    });
    columns_ = columns;
  }
  void reserve_slots(std::size_t slots) {
    with_values(*this, [&](auto& values) { values.reserve(slots * stride_); });
  }
  void add_slot() {  // filled with zeros
    with_values(*this, [&](auto& values) { values.resize((slots_ + 1) * stride_, 0); });
    ++slots_;
  }
  [[nodiscard]] std::size_t nonzeros() const {
    return with_values(*this, [](const auto& values) {
      return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0));
    });
  }
  void scratch(StateVisitor& visitor) const {
    visitor.scratch(reals_);
    visitor.scratch(ones_);
  }

 private:
  // Calls use(values) with the vector that is in use.
  template <class Columns, class Use>
  static auto with_values(Columns& columns, Use use) {
    return columns.bytes_ ? use(columns.ones_) : use(columns.reals_);
  }
  // `to` becomes `from` with slots that are `stride` apart and the first `kept` columns.
  template <class From, class To>
  void copy(const From& from, To& to, std::size_t stride, std::size_t kept) {
    To copied(slots_ * stride, 0);
    for (std::size_t s = 0; s < slots_; ++s) {
      std::copy_n(from.data() + s * stride_, kept, copied.data() + s * stride);
    }
    to.swap(copied);
    stride_ = stride;
  }

  bool bytes_;
  std::size_t slots_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
  AlignedVector<Real> reals_;
  AlignedVector<std::uint8_t> ones_;
};

}  // namespace budgetron
