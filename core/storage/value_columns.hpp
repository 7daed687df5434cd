// The values of the stored examples as a matrix: a row is a slot, the values of one feature in all
// examples; column i is example i.
//
// Values are stored as Real. As long as all are 0 or 1 (one-hot and binary features) they are
// stored as bytes, which need a quarter or an eighth of the memory and of the time to read it. Sums
// over them in a binary row are counts, exact in both types, so the form changes no bit. The first
// other value converts all values to Real for good.
//
// Slots are `stride` numbers apart, for bytes a multiple of 64, so that vectors need no tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/aligned_vector.hpp"
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

  // Calls use(values) with the vector that is in use.
  template <class Use>
  auto with_values(Use use) {
    return bytes_ ? use(ones_) : use(reals_);
  }
  template <class Use>
  auto with_values(Use use) const {
    return bytes_ ? use(ones_) : use(reals_);
  }
  [[nodiscard]] Real at(std::size_t slot, std::size_t i) const {
    return with_values(
        [&](const auto& values) { return static_cast<Real>(values[slot * stride_ + i]); });
  }
  // Precondition: if values are bytes, a byte can hold this one.
  void set(std::size_t slot, std::size_t i, Real value) {
    with_values([&](auto& values) {
      values[slot * stride_ + i] =
          static_cast<typename std::remove_reference_t<decltype(values)>::value_type>(value);
    });
  }
  [[nodiscard]] static bool bytes_hold(const Real* values, std::size_t count) {
    bool hold = true;
    for (std::size_t k = 0; k < count; ++k) {
      hold &= (values[k] == Real(0)) | (values[k] == Real(1));
    }
    return hold;
  }

  // Converts to Real, so that any value can be stored.
  void widen() {
    AlignedVector<Real> reals(slots_ * columns_, Real(0));
    for (std::size_t s = 0; s < slots_; ++s) {
      std::copy_n(ones_.data() + s * stride_, columns_, reals.data() + s * columns_);
    }
    reals_.swap(reals);
    ones_ = {};
    bytes_ = false;
    stride_ = columns_;
  }
  // Sets the number of columns of every slot; the first `kept` keep their values.
  void set_columns(std::size_t columns, std::size_t kept) {
    const std::size_t stride = bytes_ ? (columns + 63) / 64 * 64 : columns;
    with_values([&](auto& values) {
      std::remove_reference_t<decltype(values)> moved(slots_ * stride, 0);
      for (std::size_t s = 0; s < slots_; ++s) {
        std::copy_n(values.data() + s * stride_, kept, moved.data() + s * stride);
      }
      values.swap(moved);
    });
    columns_ = columns;
    stride_ = stride;
  }
  void reserve_slots(std::size_t slots) {
    with_values([&](auto& values) { values.reserve(slots * stride_); });
  }
  // Adds a slot of zeros. Memory grows by a quarter: std::vector would double it.
  void add_slot() {
    ++slots_;
    with_values([&](auto& values) {
      const std::size_t count = slots_ * stride_;
      if (count > values.capacity()) values.reserve(count + count / 4);
      values.resize(count, 0);
    });
  }
  [[nodiscard]] std::size_t nonzeros() const {
    return with_values([](const auto& values) {
      return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0));
    });
  }
  void scratch(StateVisitor& visitor) const {
    visitor.scratch(reals_);
    visitor.scratch(ones_);
  }

 private:
  bool bytes_;
  std::size_t slots_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
  AlignedVector<Real> reals_;
  AlignedVector<std::uint8_t> ones_;
};

}  // namespace budgetron
