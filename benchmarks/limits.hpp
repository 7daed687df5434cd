// What the machine could do at best, to hold the kernel row against: multiply-adds that wait for
// nothing, and memory that is only read.
//
// Compiled per instruction set like the row itself (limits.cpp).
#pragma once

#include <cstddef>

struct Limits {
  // So many multiply-adds of floats in registers, rounded up to whole steps.
  double (*multiply_adds)(std::size_t count);
  // Adds up `count` floats, a multiple of 64, 64-byte aligned, from end to end, so many times.
  double (*read)(const float* values, std::size_t count, std::size_t times);
};
