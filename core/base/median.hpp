// The median of a few numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace budgetron {

// The middle value, or the mean of the two middle values; 0 if there are none. Reorders the values.
inline double median(std::span<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2.0;
}

}  // namespace budgetron
