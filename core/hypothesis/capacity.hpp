// How many examples to allocate memory for.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/aligned_vector.hpp"

namespace budgetron {

// A budget up to this one is allocated at once, so that memory stays constant; for a larger budget,
// or none (0), memory grows with the stored examples.
inline constexpr std::size_t kAtOnce = 4096;

// The number of examples to allocate next when `size` are stored and memory is full.
inline std::size_t next_capacity(std::size_t size, std::size_t budget) {
  if (budget > 0 && budget <= kAtOnce) return budget;
  const std::size_t twice = std::max<std::size_t>(kLanes, 2 * size);
  return budget == 0 ? twice : std::min(budget, twice);
}

}  // namespace budgetron
