// One row of a stream, seen through pointers. Every learner gets rows in this form.
//
// Dense: `indices` is null and value j belongs to feature j, 0 <= j < count.
// Sparse: value k belongs to feature indices[k]; indices strictly increasing.
// A sparse row is the dense row without its zeros: every routine gives the same bits for both,
// because adding 0 * s to a sum changes no bit of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace budgetron {

// The indices of a sparse row without values. Its own pointer may be null, which would mean dense.
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
  // All features are below this number.
  [[nodiscard]] std::size_t reach() const {
    return count == 0 ? 0 : static_cast<std::size_t>(feature(count - 1)) + 1;
  }
};

// ||a - b||^2 in float64, terms in the order of the features.
template <class Real>
double squared_distance(const Sample<Real>& a, const Sample<Real>& b) {
  double sum = 0.0;
  std::size_t i = 0;
  std::size_t j = 0;
  if (a.dense() && b.dense()) {
    for (const std::size_t both = std::min(a.count, b.count); i < both; ++i) {
      const double difference = static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]);
      sum += difference * difference;
    }
    j = i;
  }
  while (i < a.count || j < b.count) {
    const bool take_a = j == b.count || (i < a.count && a.feature(i) <= b.feature(j));
    const bool take_b = i == a.count || (j < b.count && b.feature(j) <= a.feature(i));
    double difference = 0.0;
    if (take_a) difference += static_cast<double>(a.values[i++]);
    if (take_b) difference -= static_cast<double>(b.values[j++]);
    sum += difference * difference;
  }
  return sum;
}

// A sample that owns its numbers: a copy of a stored example, or a point made by merging.
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
