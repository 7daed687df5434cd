// The random Fourier feature map: cosines and sines of a row's angles, and FOGD's operations on
// them.
//
//   angle_i = start_i + sum_k values[k] * frequencies[slots[k] * stride + i]
//   cosines, sines of all n angles
//
// Angles are summed in registers, in the order of the terms; cosine and sine are computed there
// too.
//
// fourier.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

template <class Real>
struct FourierTask {
  const Real* frequencies;     // slots x stride, 64-byte aligned
  std::size_t stride;          // number of angles, a multiple of kLanes
  const Real* values;          // the terms of x: the value ...
  const std::uint32_t* slots;  // ... and the slot of each feature that has one
  std::size_t count;
  const Real* start;  // the initial value of each of the `stride` angles; null: all 0
  Real* cosines;      // output, `stride` numbers each
  Real* sines;
};

template <class Real>
struct FourierFunctions {
  // The absolute error of cosine and sine, without the error of the angle itself, is below 3e-16 up
  // to |angle| = 1e6 in float64, and below 1.5e-7 up to |angle| = 1e4 in float32. Beyond that it is
  // no worse than the rounding of the angle. (cosine, sine) is always on the unit circle.
  void (*map)(const FourierTask<Real>& task);
  // weights += by * features, for n numbers, a multiple of kLanes.
  void (*add_scaled)(double* weights, const Real* features, double by, std::size_t n);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const FourierFunctions<Real>& fourier_functions();

}  // namespace budgetron
