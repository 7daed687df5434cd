// See limits.hpp. Compiled once per instruction set with BUDGETRON_ISA set.
#include "limits.hpp"

#include "simd/vec.hpp"

namespace {

using namespace budgetron;

// Two units with a latency of four to five cycles are kept busy by ten sums; registers hold twelve.
constexpr std::size_t kSums = 12;
constexpr std::size_t kLoads = 8;

double total(const Floats* sums, std::size_t count) {
  double total = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < kWidth<float>; ++j) total += static_cast<double>(sums[i][j]);
  }
  return total;
}

double multiply_adds(std::size_t count) {
  const Floats factor = all<float>(0.999f);
  Floats sums[kSums];  // all different, or the compiler would compute only one of them
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = all<float>(static_cast<float>(i));
  for (std::size_t done = 0; done < count; done += kSums * kWidth<float>) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kSums; ++i) sums[i] = multiply_add(sums[i], factor, factor);
  }
  return total(sums, kSums);
}

double read(const float* values, std::size_t count, std::size_t times) {
  Floats sums[kLoads] = {};
  for (std::size_t time = 0; time < times; ++time) {
    for (std::size_t at = 0; at < count; at += kLoads * kWidth<float>) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kLoads; ++i) {
        sums[i] += load<float>(values + at + i * kWidth<float>);
      }
    }
  }
  return total(sums, kLoads);
}

}  // namespace

#define BUDGETRON_CONCAT_(a, b) a##b
#define BUDGETRON_CONCAT(a, b) BUDGETRON_CONCAT_(a, b)

extern const Limits BUDGETRON_CONCAT(limits_, BUDGETRON_ISA);
const Limits BUDGETRON_CONCAT(limits_, BUDGETRON_ISA) = {multiply_adds, read};
