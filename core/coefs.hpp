// Passes over the coefs of all stored examples: what budgets choose by, and how those that stay
// grow.
//
// coefs.cpp is compiled once per instruction set like row.cpp. No two examples meet in an operation
// but in a minimum and in sums of a fixed order, and nothing is contracted, so all instruction sets
// give the bits of a plain loop. Arrays of coefs and kernel rows are 64-byte aligned, other numbers
// need not be.
#pragma once

#include <cstddef>

namespace budgetron {

template <class Real>
struct CoefFunctions {
  static constexpr std::size_t kBlock = 16;

  // |a_i| of n examples (expansion.hpp), whose coef of output k is factor * coefs[k * stride + i].
  void (*sizes)(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
                std::size_t n, double* sizes);
  // losses[i] = (factor sizes[i])^2 (1 - row[i]^2), n > 0; returns the least of them. `sizes` may
  // be aligned coefs or the losses themselves.
  double (*losses)(const double* sizes, const Real* row, double factor, std::size_t n,
                   double* losses);
  // Where `number` first is among numbers[from], ..., numbers[n - 1]; n if it is not.
  std::size_t (*find)(const double* numbers, std::size_t from, std::size_t n, double number);
  // The sums of kBlock numbers each, and of these. Within a block four sums need not wait for each
  // other.
  double (*sum)(const double* numbers, std::size_t n, double* sums);
  // chances[i] = 1 - share weights[i], none below 0, and their sums as above.
  double (*chances)(const double* weights, double share, std::size_t n, double* chances,
                    double* sums);
  // a_i <- growth a_i, or +-limit where that would be passed.
  void (*grow)(double* coefs, double growth, double limit, std::size_t n);
  // The same with growth total / (total - chances[i]), where |factor a_i| = sizes[i] may not pass
  // `clip`, that is |a_i| not `limit`.
  void (*grow_by_chances)(double* coefs, const double* sizes, const double* chances, double total,
                          double clip, double limit, std::size_t n);
};

// Of the instruction set that row_functions picked.
template <class Real>
const CoefFunctions<Real>& coef_functions();

}  // namespace budgetron
