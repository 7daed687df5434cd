// The most that a model may ever hold, for models with a limit in bytes.
//
// A model with a byte limit allocates all its memory when it is made: for `capacity` examples of
// rows of this width with at most `slots` different features at a time. This is its peak
// (`Model::memory_bytes`); nothing is allocated later. If a row has features for which no slot is
// left, the model acts as if the budget were full. Dense rows need slots == width, and then every
// row fits.
#pragma once

#include <cstddef>

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

}  // namespace budgetron
