// The kernel row of a small model (core/fleet/): a few stored examples in one block, feature-major,
// value j of example i at values[j * examples + i], with one weight per feature:
//
//   k_i = exp(-sum_j weights[j] (x_j - s_ji)^2)
//
// kernel_row.hpp pads the support to 16 lanes, which doubles the memory of eight examples, and adds
// products of values, which lose digits if the values are far from 0. Here nothing is padded: a
// vector that ends behind the last example reads into the next feature's values and ignores them.
// So kSlack bytes behind the last value must be readable.
//
// small_row.cpp is compiled once per instruction set like kernel_row.cpp. Every example has a lane
// of its own, so AVX2 and AVX-512 give the same bits.
//
// Cost: width * examples multiply-adds in whole vectors, and one exp per vector.
#pragma once

#include <cstddef>

namespace budgetron {

struct SmallRowTask {
  const float* values;
  std::size_t examples;
  std::size_t width;
  const float* x;
  const float* weights;
  float* row;  // output: padded(examples) numbers, junk behind the last example
};

struct SmallRowFunctions {
  static constexpr std::size_t kSlack = 64;

  void (*row)(const SmallRowTask& task);
};

// The functions of the dispatched instruction set (dispatch.cpp).
const SmallRowFunctions& small_row_functions();

}  // namespace budgetron
