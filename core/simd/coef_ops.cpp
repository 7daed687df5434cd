// Passes over coefs in SIMD: see coef_ops.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
//
// Each operation on an example is written once, for a vector of examples and for a single one (the
// last few examples do not fill a vector).
#include "simd/coef_ops.hpp"

#include <cstdint>

#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kWide = kWidth<double>;

// ---- choosing what leaves -----------------------------------------------------------------------

void sizes(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
           std::size_t n, double* sizes) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    if (outputs == 1) {
      write(sizes + i, absolute(factor * read<Numbers>(coefs + i)));
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

// The minimum is computed in `together` independent chains, so that no chain waits for another.
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

// Most groups do not hold the number, so one test covers a whole group.
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

// ---- probabilities of leaving, and the growth of coefs that stay --------------------------------

// A vector of four numbers on every instruction set: it fixes the order of a block's sums.
typedef double Four __attribute__((vector_size(32)));

// {a0 + a1, b0 + b1, a2 + a3, b2 + b3}. GCC has the other builtin only since version 12.
inline Four pairs(Four a, Four b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
#else
  typedef std::int64_t Places __attribute__((vector_size(32)));
  return __builtin_shuffle(a, b, Places{0, 4, 2, 6}) + __builtin_shuffle(a, b, Places{1, 5, 3, 7});
#endif
}

// Running sums of `number(i, kind)` at the ends of blocks; `number` returns four numbers if `kind`
// is Four. Two blocks at a time are summed in the same vectors.
template <class Number>
inline double sum_blocks(std::size_t n, double* sums, Number number) {
  constexpr std::size_t block = CoefFunctions<double>::kBlock;
  const auto sum_fours = [=](std::size_t i) {
    Four four{};
#pragma GCC unroll 4
    for (std::size_t v = 0; v < block; v += 4) four = four + number(i + v, Four{});
    return four;
  };
  double total = 0.0;
  std::size_t i = 0;
  for (; i + 2 * block <= n; i += 2 * block) {
    const Four first = sum_fours(i);
    const Four second = sum_fours(i + block);
    const Four halves = pairs(first, second);
    *sums++ = total += halves[0] + halves[2];
    *sums++ = total += halves[1] + halves[3];
  }
  while (i < n) {
    const std::size_t end = n - i < block ? n : i + block;
    Four four{};
    for (; i + 4 <= end; i += 4) four = four + number(i, Four{});
    for (; i < end; ++i) four[0] += number(i, double{});
    *sums++ = total += (four[0] + four[1]) + (four[2] + four[3]);
  }
  return total;
}

template <class Numbers>
inline Numbers weight_of(const Chances& chances, std::size_t i) {
  return absolute(chances.factor * read<Numbers>(chances.weights + i));
}
template <class Numbers>
inline Numbers chance_of(const Chances& chances, Numbers weight) {
  const Numbers chance = 1.0 - chances.share * weight;
  if constexpr (sizeof(Numbers) == kBytes) {
    return (Numbers)larger((Doubles)chance, Doubles{});
  } else {
    return chance > 0.0 ? chance : Numbers{};
  }
}

bool alike(const double* numbers, std::size_t n) {
  constexpr std::size_t together = 4;
  const double first = absolute(numbers[0]);
  std::size_t i = 0;
  for (; i + together * kWide <= n; i += together * kWide) {
    const auto other = [&](std::size_t v) {
      return absolute(read<Doubles>(numbers + i + v * kWide)) != all<double>(first);
    };
    if (any((other(0) | other(1)) | (other(2) | other(3)))) return false;
  }
  while (i < n && absolute(numbers[i]) == first) ++i;
  return i == n;
}

// The sum of `of(w)` over all weights. If all weights are equal, `of` is computed once.
template <class Of>
double sum_of_weights(const Chances& chances, std::size_t n, double* sums, Of of) {
  if (chances.alike) {
    const double number = of(weight_of<double>(chances, 0));
    return sum_blocks(n, sums, [=](std::size_t, auto kind) { return number - decltype(kind){}; });
  }
  return sum_blocks(
      n, sums, [=](std::size_t i, auto kind) { return of(weight_of<decltype(kind)>(chances, i)); });
}
double sum_weights(const Chances& chances, std::size_t n, double* sums) {
  return sum_of_weights(chances, n, sums, [](auto weight) { return weight; });
}
double sum_chances(const Chances& chances, std::size_t n, double* sums) {
  return sum_of_weights(chances, n, sums, [=](auto weight) { return chance_of(chances, weight); });
}

void grow(double* coefs, double growth, double limit, std::size_t n) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers most = limit - Numbers{};
    const Numbers grown = growth * read<Numbers>(coefs + i);
    write(coefs + i, smaller(larger(grown, -most), most));
  });
}

// All coefs have the same size: one computation serves them all.
void grow_alike(double* coefs, const Chances& chances, double total, double clip, double limit,
                std::size_t n) {
  const double rest = total - chances[0];
  if (weight_of<double>(chances, 0) * total > clip * rest) {
    for_each(n, [=](std::size_t i, auto kind) {
      using Numbers = decltype(kind);
      write(coefs + i, with_sign_of(read<Numbers>(coefs + i), limit - Numbers{}));
    });
  } else {
    grow(coefs, total / rest, __builtin_inf(), n);
  }
}

// Often all coefs of a vector are at the clip, and need no division.
void grow_by_chances(double* coefs, double factor, const Chances& chances, double total,
                     double clip, double limit, std::size_t n) {
  if (chances.alike && chances.weights == coefs && chances.factor == factor) {
    return grow_alike(coefs, chances, total, clip, limit, n);
  }
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers coef = read<Numbers>(coefs + i);
    const Numbers rest = total - chance_of(chances, weight_of<Numbers>(chances, i));
    const auto clipped = absolute(factor * coef) * total > clip * rest;
    const Numbers at_clip = with_sign_of(coef, limit - Numbers{});
    if (everywhere(clipped)) {
      write(coefs + i, at_clip);
    } else {
      write(coefs + i, clipped ? at_clip : coef * (total / rest));
    }
  });
}

// ---- powers of a kernel row ---------------------------------------------------------------------

template <class Real>
void add_powers(const double* coefs, const Real* row, double scale, std::size_t n,
                PowerSums& sums) {
  constexpr std::size_t chains = PowerSums::kChains;
  constexpr std::size_t vectors = chains / kWide;
  const auto add = [=](std::size_t i, auto kind, auto... sum) {
    using Numbers = decltype(kind);
    const Numbers coef = read<Numbers>(coefs + i);
    const Numbers r = smaller(read_row<Numbers>(row + i) * scale, 1.0 - Numbers{});
    const Numbers r2 = r * r;
    const Numbers r4 = r2 * r2;
    const Numbers r8 = r4 * r4;
    const Numbers r16 = r8 * r8;
    const Numbers r32 = r16 * r16;
    const Numbers r64 = r32 * r32;
    const Numbers powers[] = {root(root(r)), r2, r16, r64 * r64};
    Numbers* const to[] = {sum...};
    for (std::size_t j = 0; j < 4; ++j) *to[j] = *to[j] + coef * powers[j];
    *to[4] = *to[4] + coef;
  };
  Doubles parts[PowerSums::kSums][vectors];
  __builtin_memcpy(parts, sums.parts, sizeof parts);
  std::size_t i = 0;
  for (; i + chains <= n; i += chains) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      add(i + v * kWide, Doubles{}, &parts[0][v], &parts[1][v], &parts[2][v], &parts[3][v],
          &parts[4][v]);
    }
  }
  __builtin_memcpy(sums.parts, parts, sizeof parts);
  for (std::size_t c = 0; i < n; ++i, ++c) {
    auto& p = sums.parts;
    add(i, double{}, &p[0][c], &p[1][c], &p[2][c], &p[3][c], &p[4][c]);
  }
}

}  // namespace

extern const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA);
extern const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA);
const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA) = {
    sizes,       losses<float>, find, first_least<std::int64_t>, alike,
    sum_weights, sum_chances,   grow, grow_by_chances,           add_powers<float>};
const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA) = {
    sizes,       losses<double>, find, first_least<std::int64_t>, alike,
    sum_weights, sum_chances,    grow, grow_by_chances,           add_powers<double>};

}  // namespace budgetron
