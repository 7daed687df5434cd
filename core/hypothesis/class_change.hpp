// How the outputs of f change when classes join. Coefs and weights are matrices with one row per
// output; these rows move. Up to two classes share one output, f = f_1 - f_0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/aligned_vector.hpp"

namespace budgetron {

// How output rows move when classes join: row k of the new order was row order[k], or is new (-1).
struct ClassChange {
  std::size_t before = 0;       // classes before
  std::size_t after = 0;        // classes after
  std::vector<int> order = {};  // length `after`

  static std::size_t outputs(std::size_t classes) { return classes <= 2 ? 1 : classes; }

  // The place of the first new class.
  [[nodiscard]] std::size_t first_new() const {
    return static_cast<std::size_t>(std::find(order.begin(), order.end(), -1) - order.begin());
  }
  // Whether there is only one new class and the others keep their order.
  [[nodiscard]] bool one_joins() const {
    if (after != before + 1) return false;
    const auto new_at = static_cast<int>(first_new());
    for (int k = 0; k < static_cast<int>(after); ++k) {
      if (order[static_cast<std::size_t>(k)] != (k < new_at ? k : k == new_at ? -1 : k - 1)) {
        return false;
      }
    }
    return true;
  }
};

// Applies a ClassChange to an output-major matrix (outputs x stride).
void rearrange_outputs(AlignedVector<double>& matrix, std::size_t stride,
                       const ClassChange& change);

}  // namespace budgetron
