// Passes over coefs in SIMD: see coefs.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
//
// What happens to an example is written once, for a vector of them and for one alone: the last few
// that fill no vector.
#include "coefs.hpp"

#include "vectors.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kWide = kWidth<double>;

template <class Numbers>
inline Numbers read(const double* from) {
  return *reinterpret_cast<const Loose*>(from);
}
template <>
inline double read<double>(const double* from) {
  return *from;
}
inline void write(double* to, Doubles numbers) { *reinterpret_cast<Loose*>(to) = numbers; }
inline void write(double* to, double number) { *to = number; }

// Of a kernel row, at a multiple of kWide if it is a vector.
template <class Numbers, class Real>
inline Numbers read_row(const Real* from) {
  if constexpr (sizeof(Numbers) == sizeof(double)) {
    return static_cast<double>(*from);
  } else {
    return load_doubles(from);
  }
}

inline double smaller(double a, double b) { return a < b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }

inline double root(double x) { return __builtin_sqrt(x); }
inline Doubles root(Doubles x) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_sqrt_pd(0xFF, (__m512d)x);
#elif defined(__AVX2__)
  return (Doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (Doubles)_mm_sqrt_pd((__m128d)x);
#else
  for (std::size_t j = 0; j < kWide; ++j) {
    x[static_cast<int>(j)] = __builtin_sqrt(x[static_cast<int>(j)]);
  }
  return x;
#endif
}

// Calls `step(i, kind)` for every i that begins a vector, and then for each that is left alone;
// `kind` is of the type of the numbers to use.
template <class Step>
inline void for_each(std::size_t n, Step step) {
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + kWide <= n; i += kWide) step(i, Doubles{});
  for (; i < n; ++i) step(i, double{});
}

void sizes(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
           std::size_t n, double* sizes) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    if (outputs == 1) {
      const Numbers coef = factor * read<Numbers>(coefs + i);
      write(sizes + i, larger(coef, -coef));
      return;
    }
    Numbers sum{};
    for (std::size_t k = 0; k < outputs; ++k) {
      const Numbers coef = factor * read<Numbers>(coefs + k * stride + i);
      sum = sum + coef * coef;
    }
    write(sizes + i, root(2.0 * sum));
  });
}

// The minimum runs in `together` chains, which need not wait for each other.
template <class Real>
double losses(const double* sizes, const Real* row, double factor, std::size_t n, double* losses) {
  constexpr std::size_t together = 4;
  const auto lost = [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers size = factor * read<Numbers>(sizes + i);
    const Numbers shared = read_row<Numbers>(row + i);
    const Numbers loss = size * size * (1.0 - shared * shared);
    write(losses + i, loss);
    return loss;
  };
  double least = __builtin_inf();
  Doubles chains[together];
  for (Doubles& chain : chains) chain = all<double>(least);
  std::size_t i = 0;
  for (; i + together * kWide <= n; i += together * kWide) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < together; ++c) {
      chains[c] = smaller(chains[c], lost(i + c * kWide, Doubles{}));
    }
  }
  for (; i + kWide <= n; i += kWide) chains[0] = smaller(chains[0], lost(i, Doubles{}));
  for (; i < n; ++i) least = smaller(least, lost(i, double{}));
  const Doubles both = smaller(smaller(chains[0], chains[1]), smaller(chains[2], chains[3]));
  for (std::size_t j = 0; j < kWide; ++j) least = smaller(least, both[static_cast<int>(j)]);
  return least;
}

// Most of the time it is in none of a group: one look for all of them.
std::size_t find(const double* numbers, std::size_t from, std::size_t n, double number) {
  constexpr std::size_t together = 4;
  const Doubles wanted = all<double>(number);
  std::size_t i = from;
  for (; i + together * kWide <= n; i += together * kWide) {
    const auto same = [&](std::size_t v) {
      return read<Doubles>(numbers + i + v * kWide) == wanted;
    };
    if (!any((same(0) | same(1)) | (same(2) | same(3)))) continue;
    std::uint32_t places = 0;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < together; ++v) places |= lanes(same(v)) << (v * kWide);
    return i + static_cast<std::size_t>(__builtin_ctz(places));
  }
  while (i < n && numbers[i] != number) ++i;
  return i;
}

// Four numbers on every instruction set: the order of a block's sums.
typedef double Four __attribute__((vector_size(32)));
typedef double LooseFour __attribute__((vector_size(32), aligned(8), may_alias));

// Sums in blocks of what `number(i, kind)` says, four of them if `kind` is Four.
template <class Number>
inline double sum_blocks(std::size_t n, double* sums, Number number) {
  constexpr std::size_t block = CoefFunctions<double>::kBlock;
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += block, ++sums) {
    const std::size_t end = n - begin < block ? n : begin + block;
    Four four{};
    std::size_t i = begin;
    for (; i + 4 <= end; i += 4) four = four + number(i, Four{});
    for (; i < end; ++i) four[0] += number(i, double{});
    *sums = (four[0] + four[1]) + (four[2] + four[3]);
    total += *sums;
  }
  return total;
}

double sum(const double* numbers, std::size_t n, double* sums) {
  return sum_blocks(n, sums, [=](std::size_t i, auto kind) {
    if constexpr (sizeof(kind) == sizeof(Four)) {
      return static_cast<Four>(*reinterpret_cast<const LooseFour*>(numbers + i));
    } else {
      return numbers[i];
    }
  });
}

double chances(const double* weights, double share, std::size_t n, double* chances, double* sums) {
  return sum_blocks(n, sums, [=](std::size_t i, auto kind) {
    if constexpr (sizeof(kind) == sizeof(Four)) {
      const Four weight = *reinterpret_cast<const LooseFour*>(weights + i);
      const Four chance = 1.0 - share * weight;
      const Four positive = chance > 0.0 ? chance : Four{};
      *reinterpret_cast<LooseFour*>(chances + i) = positive;
      return positive;
    } else {
      const double chance = 1.0 - share * weights[i];
      return chances[i] = chance > 0.0 ? chance : 0.0;
    }
  });
}

void grow(double* coefs, double growth, double limit, std::size_t n) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers most = limit - Numbers{};
    const Numbers grown = growth * read<Numbers>(coefs + i);
    write(coefs + i, smaller(larger(grown, -most), most));
  });
}

inline bool everywhere(bool holds) { return holds; }
template <class Mask>
inline bool everywhere(Mask holds) {
  return !any(~holds);
}

// Most of the time all of a vector are at the clip, and need no division.
void grow_by_chances(double* coefs, const double* sizes, const double* chances, double total,
                     double clip, double limit, std::size_t n) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers most = limit - Numbers{};
    const Numbers coef = read<Numbers>(coefs + i);
    const Numbers rest = total - read<Numbers>(chances + i);
    const auto clipped = read<Numbers>(sizes + i) * total > clip * rest;
    const Numbers clip_of = coef < 0.0 ? -most : most;
    if (everywhere(clipped)) {
      write(coefs + i, clip_of);
    } else {
      write(coefs + i, clipped ? clip_of : coef * (total / rest));
    }
  });
}

}  // namespace

extern const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA);
extern const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA);
const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA) = {
    sizes, losses<float>, find, sum, chances, grow, grow_by_chances};
const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA) = {
    sizes, losses<double>, find, sum, chances, grow, grow_by_chances};

}  // namespace budgetron
