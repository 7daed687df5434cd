// The values of the stored examples as a matrix: a row is a slot, the values of one feature in all
// examples; column i is example i.
//
// Values are stored as Real. As long as all are 0 or 1 (one-hot and binary features) they are
// stored as bytes, which take a quarter or an eighth of the memory and of the time to read it. Sums
// of a binary row over them are counts, exact in either type, so the form changes no bit. The first
// other value makes all values Real for good.
//
// Slots are `stride` numbers apart, for bytes a multiple of 64, so that vectors need no tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"

namespace budgetron {

template <class Real>
class ValueColumns {
 public:
  // `bytes`: as such, as long as that is possible.
  explicit ValueColumns(bool bytes) : bytes_(bytes) {}

  [[nodiscard]] bool bytes() const { return bytes_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }  // of what is kept
  [[nodiscard]] const Real* reals() const { return reals_.data(); }
  [[nodiscard]] const std::uint8_t* ones() const { return ones_.data(); }

  [[nodiscard]] Real at(std::size_t slot, std::size_t i) const {
    return bytes_ ? static_cast<Real>(ones_[slot * stride_ + i]) : reals_[slot * stride_ + i];
  }
  // Precondition: bytes hold it, if they are bytes.
  void set(std::size_t slot, std::size_t i, Real value) {
    if (bytes_) {
      ones_[slot * stride_ + i] = value != Real(0);
    } else {
      reals_[slot * stride_ + i] = value;
    }
  }
  [[nodiscard]] static bool bytes_hold(const Real* values, std::size_t count) {
    bool hold = true;
    for (std::size_t k = 0; k < count; ++k) {
      hold &= (values[k] == Real(0)) | (values[k] == Real(1));
    }
    return hold;
  }

  // Calls visit(column, stride): the numbers of example i, slot s at column[s * stride].
  template <class Visit>
  auto of_example(std::size_t i, Visit visit) {
    return bytes_ ? visit(ones_.data() + i, stride_) : visit(reals_.data() + i, stride_);
  }

  // Asks for its memory.
  void prefetch(std::size_t slot, std::size_t i) const {
    if (bytes_) {
      __builtin_prefetch(&ones_[slot * stride_ + i], 1);
    } else {
      __builtin_prefetch(&reals_[slot * stride_ + i], 1);
    }
  }

  // From now on any value.
  void widen() {
    if (!bytes_) return;
    AlignedVector<Real> reals(slots_ * columns_, Real(0));
    for (std::size_t s = 0; s < slots_; ++s) {
      std::copy_n(ones_.data() + s * stride_, columns_, reals.data() + s * columns_);
    }
    reals_.swap(reals);
    ones_ = {};
    bytes_ = false;
    stride_ = columns_;
  }

  // So many columns in every slot, of which the first `kept` stay as they are.
  void set_columns(std::size_t columns, std::size_t kept) {
    const std::size_t stride = bytes_ ? (columns + 63) / 64 * 64 : columns;
    if (bytes_) {
      restride(ones_, stride, kept);
    } else {
      restride(reals_, stride, kept);
    }
    columns_ = columns;
    stride_ = stride;
  }
  void reserve_slots(std::size_t slots) {
    if (bytes_) {
      ones_.reserve(slots * stride_);
    } else {
      reals_.reserve(slots * stride_);
    }
  }
  void add_slot() {  // of zeros
    ++slots_;
    if (bytes_) {
      ones_.resize(slots_ * stride_, 0);
    } else {
      reals_.resize(slots_ * stride_, Real(0));
    }
  }
  [[nodiscard]] std::size_t nonzeros() const {
    const auto not_zero = [](auto value) { return value != 0; };
    return static_cast<std::size_t>(std::count_if(ones_.begin(), ones_.end(), not_zero) +
                                    std::count_if(reals_.begin(), reals_.end(), not_zero));
  }
  void scratch(StateVisitor& visitor) {
    visitor.scratch(reals_);
    visitor.scratch(ones_);
  }

 private:
  template <class Number>
  void restride(AlignedVector<Number>& numbers, std::size_t stride, std::size_t kept) {
    AlignedVector<Number> moved(slots_ * stride, Number(0));
    for (std::size_t s = 0; s < slots_; ++s) {
      std::copy_n(numbers.data() + s * stride_, kept, moved.data() + s * stride);
    }
    numbers.swap(moved);
  }

  bool bytes_;
  std::size_t slots_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
  AlignedVector<Real> reals_;
  AlignedVector<std::uint8_t> ones_;
};

}  // namespace budgetron
