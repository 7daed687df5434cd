// The limits of the machine, as references for the kernel row: independent multiply-adds, and
// memory that is only read.
//
// Compiled per instruction set like the row itself (limits.cpp).
#pragma once

#include <cstddef>

struct Limits {
  // Does so many multiply-adds of floats in registers, rounded up to whole steps.
  double (*multiply_adds)(std::size_t count);
  // Sums `count` floats, a multiple of 64, 64-byte aligned, sequentially, so many times.
  double (*read)(const float* values, std::size_t count, std::size_t times);
};
