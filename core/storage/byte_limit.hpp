// How much a model may ever hold, for models that live in a given number of bytes.
//
// A model with a byte limit takes all its memory when it is made: for `capacity` examples of rows
// of this width with at most `slots` different features at a time. This is its peak
// (`Model::memory_bytes`); nothing is allocated later. A row whose features find no slot is treated
// as if the budget were full. Dense rows need slots == width, and then every row fits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/aligned_vector.hpp"

namespace budgetron {

struct ByteLimit {
  std::size_t width = 0;     // of every row
  std::size_t slots = 0;     // features stored at a time; 0: no limit is set, memory follows need
  bool changes = false;      // units may change (hypothesis/unit_change.hpp), which takes memory
  bool finds_gamma = false;  // and then gamma too, which takes more
  std::size_t bytes = 0;     // what the whole model may take; 0: what it takes when it is made

  [[nodiscard]] bool given() const { return slots > 0; }
  [[nodiscard]] bool all() const { return slots >= width; }  // every feature has its slot
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
