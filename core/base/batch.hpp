// The rows of one call, seen through pointers: dense (row-major) or CSR with sorted indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sample.hpp"

namespace budgetron {

template <class Real>
struct Batch {
  std::size_t count = 0;
  const Real* values = nullptr;
  std::size_t width = 0;                  // dense
  const std::int64_t* ends = nullptr;     // CSR: indptr, count + 1 numbers
  const std::int32_t* indices = nullptr;  // CSR

  [[nodiscard]] bool dense() const { return ends == nullptr; }
  [[nodiscard]] Sample<Real> operator[](std::size_t i) const {
    if (dense()) return {values + i * width, nullptr, width};
    const auto begin = static_cast<std::size_t>(ends[i]);
    const auto end = static_cast<std::size_t>(ends[i + 1]);
    return {values + begin, indices + begin, end - begin};
  }
  [[nodiscard]] Batch first(std::size_t rows) const {
    Batch some = *this;
    some.count = rows;
    return some;
  }
};

}  // namespace budgetron
