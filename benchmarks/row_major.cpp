// See row_major.hpp. Compiled once per instruction set with BUDGETRON_ISA set.
#include "row_major.hpp"

#include <math.h>  // not <cmath>: the linker must share nothing here between instruction sets

namespace {

float libm_exp(float x) { return expf(x); }
double libm_exp(double x) { return exp(x); }

template <class Real>
Real distance(const Real* x, const Real* z, std::size_t width) {
  Real s = 0;
  for (std::size_t j = 0; j < width; ++j) {
    const Real difference = x[j] - z[j];
    s += difference * difference;
  }
  return s;
}

template <class Real>
Real distance_reordered(const Real* x, const Real* z, std::size_t width) {
  Real s = 0;
#pragma omp simd reduction(+ : s)
  for (std::size_t j = 0; j < width; ++j) {
    const Real difference = x[j] - z[j];
    s += difference * difference;
  }
  return s;
}

template <class Real>
void plain(const RowMajorTask<Real>& task) {
  for (std::size_t i = 0; i < task.count; ++i) {
    const Real s = distance(task.x, task.examples + i * task.width, task.width);
    task.row[i] = libm_exp(-task.gamma * s);
  }
}

template <class Real>
void vectorised(const RowMajorTask<Real>& task) {
  for (std::size_t i = 0; i < task.count; ++i) {
    const Real s = distance_reordered(task.x, task.examples + i * task.width, task.width);
    task.row[i] = libm_exp(-task.gamma * s);
  }
}

}  // namespace

#define BUDGETRON_CONCAT_(a, b) a##b
#define BUDGETRON_CONCAT(a, b) BUDGETRON_CONCAT_(a, b)

extern const RowMajorLoops<float> BUDGETRON_CONCAT(row_major_float_, BUDGETRON_ISA);
extern const RowMajorLoops<double> BUDGETRON_CONCAT(row_major_double_, BUDGETRON_ISA);
const RowMajorLoops<float> BUDGETRON_CONCAT(row_major_float_, BUDGETRON_ISA) = {plain<float>,
                                                                                vectorised<float>};
const RowMajorLoops<double> BUDGETRON_CONCAT(row_major_double_, BUDGETRON_ISA) = {
    plain<double>, vectorised<double>};
