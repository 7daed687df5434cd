// The most that a model may ever hold, for models with a limit in bytes.
//
// A model with a byte limit allocates all its memory when it is made: for `capacity` examples of
// rows of this width with at most `slots` different features at a time. This is its peak
// (`Model::memory_bytes`); nothing is allocated later. If a row has features for which no slot is
// left, the model acts as if the budget were full. Dense rows need slots == width, and then every
// row fits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/aligned_vector.hpp"

namespace budgetron {

struct ByteLimit {
  std::size_t width = 0;     // of every row
  std::size_t slots = 0;     // features stored at a time; 0: no limit, memory grows as needed
  bool changes = false;      // units may change (hypothesis/unit_change.hpp), which needs memory
  bool finds_gamma = false;  // then gamma changes too, which needs more memory
  std::size_t bytes = 0;     // limit for the whole model; 0: what it uses when it is made

  [[nodiscard]] bool given() const { return slots > 0; }
  [[nodiscard]] bool all() const { return slots >= width; }  // every feature has a slot
};

// The number of examples to allocate next when `size` are stored and memory is full. A budget up to
// kAtOnce is allocated at once, so that memory stays constant; for a larger budget, or none (0),
// memory grows with the stored examples.
inline constexpr std::size_t kAtOnce = 4096;

inline std::size_t next_capacity(std::size_t size, std::size_t budget) {
  if (budget > 0 && budget <= kAtOnce) return budget;
  const std::size_t twice = std::max<std::size_t>(kLanes, 2 * size);
  return budget == 0 ? twice : std::min(budget, twice);
}

}  // namespace budgetron
