// One row of a stream, seen through pointers: what every learner is shown.
//
// Dense: `indices` is null and value j belongs to feature j, 0 <= j < count.
// Sparse: value k belongs to feature indices[k]; indices strictly increasing.
// A sparse row is the dense row without its zeros: every routine gives the same bits for both,
// because adding 0 * s to a sum changes no bit of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace budgetron {

// The indices of a sparse row without values, whose own may be null: that would make it dense.
inline constexpr std::int32_t kNoIndices = 0;

template <class Real>
struct Sample {
  const Real* values = nullptr;
  const std::int32_t* indices = nullptr;
  std::size_t count = 0;

  [[nodiscard]] bool dense() const { return indices == nullptr; }
  [[nodiscard]] std::int32_t feature(std::size_t k) const {
    return indices != nullptr ? indices[k] : static_cast<std::int32_t>(k);
  }
};

// A sample that owns its numbers: a stored example taken out, or a point made by merging.
template <class Real>
struct OwnedSample {
  std::vector<Real> values;
  std::vector<std::int32_t> indices;
  bool dense = false;

  void reserve(std::size_t count) {
    values.reserve(count);
    indices.reserve(count);
  }
  [[nodiscard]] Sample<Real> view() const {
    const std::int32_t* features = indices.empty() ? &kNoIndices : indices.data();
    return {values.data(), dense ? nullptr : features, values.size()};
  }
};

}  // namespace budgetron
