// The Fourier map: cosines and sines of a row's angles, and what FOGD does with them.
//
//   angle_i = start_i + sum_k values[k] * frequencies[slots[k] * stride + i]
//   cosines, sines of all n angles
//
// Angles are summed in registers, terms in their order, and go through cosine and sine there.
//
// fourier.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

template <class Real>
struct FourierTask {
  const Real* frequencies;     // slots x stride, 64-byte aligned
  std::size_t stride;          // angles there are, a multiple of kLanes
  const Real* values;          // the terms of x: value ...
  const std::uint32_t* slots;  // ... and slot of each feature that has one
  std::size_t count;
  const Real* start;  // `stride` numbers the angles begin with; null for 0
  Real* cosines;      // out, `stride` each
  Real* sines;
};

template <class Real>
struct FourierFunctions {
  // Absolute error of cosine and sine, but for the angle's: below 3e-16 up to |angle| = 1e6 in
  // float64, below 1.5e-7 up to |angle| = 1e4 in float32; beyond, no worse than the rounding of the
  // angle itself; always on the unit circle.
  void (*map)(const FourierTask<Real>& task);
  // weights += by * features, of n numbers, a multiple of kLanes.
  void (*add_scaled)(double* weights, const Real* features, double by, std::size_t n);
};

// Of the instruction set that row_functions picked.
template <class Real>
const FourierFunctions<Real>& fourier_functions();

}  // namespace budgetron
