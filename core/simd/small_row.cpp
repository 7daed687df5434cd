// The kernel row of a small model in SIMD: see small_row.hpp. Compiled once per instruction set
// with BUDGETRON_ISA set.
#include "simd/small_row.hpp"

#include "simd/math.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

// The kernel values of `vectors` vectors of examples from `first` on.
template <int vectors>
inline void row_from(const SmallRowTask& task, std::size_t first) {
  Floats sums[vectors] = {};
  const float* values = task.values + first;
  for (std::size_t j = 0; j < task.width; ++j, values += task.examples) {
    const Floats x = all<float>(task.x[j]);
    const Floats weight = all<float>(task.weights[j]);
#pragma GCC unroll 4
    for (int b = 0; b < vectors; ++b) {
      const Floats apart =
          x - load_loose<float>(values + static_cast<std::size_t>(b) * kWidth<float>);
      sums[b] = multiply_add(weight * apart, apart, sums[b]);
    }
  }
#pragma GCC unroll 4
  for (int b = 0; b < vectors; ++b) sums[b] = -sums[b];
  exponential<float>(sums);
#pragma GCC unroll 4
  for (int b = 0; b < vectors; ++b) {
    __builtin_memcpy(task.row + first + static_cast<std::size_t>(b) * kWidth<float>, &sums[b],
                     sizeof(Floats));
  }
}

void row(const SmallRowTask& task) {
  constexpr std::size_t pair = 2 * kWidth<float>;
  std::size_t i = 0;
  for (; i + kWidth<float> < task.examples; i += pair) row_from<2>(task, i);
  if (i < task.examples) row_from<1>(task, i);
}

}  // namespace

extern const SmallRowFunctions BUDGETRON_CONCAT(small_row_functions_, BUDGETRON_ISA);
const SmallRowFunctions BUDGETRON_CONCAT(small_row_functions_, BUDGETRON_ISA) = {row};

}  // namespace budgetron
