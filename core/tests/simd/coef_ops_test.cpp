// Passes over coefs equal plain loops, to the bit, at every length: on this machine's instruction
// set and on the baseline.
#include "simd/coef_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/random.hpp"
#include "hypothesis/expansion.hpp"
#include "tests/harness.hpp"

namespace budgetron {

extern const CoefFunctions<float> coef_functions_float_baseline;
extern const CoefFunctions<double> coef_functions_double_baseline;

namespace {

constexpr std::size_t kMost = 70;
constexpr double kBeyond = 77.0;  // value behind the last number; it must not change

template <class Check>
void in_each_set(Check check) {
  check(coef_functions<float>(), float{});
  check(coef_functions<double>(), double{});
  check(coef_functions_float_baseline, float{});
  check(coef_functions_double_baseline, double{});
}

// n numbers in -1..1, and kBeyond.
AlignedVector<double> coefs_of(std::size_t n, Random& random) {
  AlignedVector<double> coefs(n + 1, kBeyond);
  for (std::size_t i = 0; i < n; ++i) coefs[i] = 2.0 * random.uniform() - 1.0;
  return coefs;
}

TEST(sizes_of_coefs) {
  Random random(1);
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 0; n < kMost; ++n) {
      for (const std::size_t outputs : {1u, 2u, 3u}) {
        const std::size_t stride = padded(n);
        const AlignedVector<double> coefs = coefs_of(outputs * stride, random);
        std::vector<double> sizes(n + 1, kBeyond);
        functions.sizes(coefs.data(), stride, outputs, 0.3, n, sizes.data());
        for (std::size_t i = 0; i < n; ++i) {
          double sum = 0.0;
          for (std::size_t k = 0; k < outputs; ++k) {
            const double coef = 0.3 * coefs[k * stride + i];
            sum += coef * coef;
          }
          CHECK_EQ(sizes[i], outputs == 1 ? std::abs(0.3 * coefs[i]) : std::sqrt(2.0 * sum));
        }
        CHECK_EQ(sizes[n], kBeyond);
      }
    }
  });
}

TEST(losses_and_the_least_of_them) {
  Random random(2);
  in_each_set([&](const auto& functions, auto real) {
    using Real = decltype(real);
    for (std::size_t n = 1; n < kMost; ++n) {
      const AlignedVector<double> coefs = coefs_of(n, random);
      AlignedVector<Real> row(padded(n), Real(1));  // the padding would have the least loss
      for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<Real>(0.9 * random.uniform());
      std::vector<double> losses(n + 1, kBeyond);
      const double least = functions.losses(coefs.data(), row.data(), 0.3, n, losses.data());
      std::vector<double> expected;
      for (std::size_t i = 0; i < n; ++i) {
        const double size = 0.3 * coefs[i];
        const double shared = static_cast<double>(row[i]);
        expected.push_back(size * size * (1.0 - shared * shared));
      }
      CHECK_EQ(least, *std::min_element(expected.begin(), expected.end()));
      expected.push_back(kBeyond);
      CHECK(losses == expected);
      // The same in place.
      std::vector<double> sizes(coefs.begin(), coefs.end());
      CHECK_EQ(functions.losses(sizes.data(), row.data(), 0.3, n, sizes.data()), least);
      CHECK(sizes == expected);
    }
  });
}

TEST(powers_of_a_row_are_summed_in_eight_parts) {
  Random random(8);
  in_each_set([&](const auto& functions, auto real) {
    using Real = decltype(real);
    for (std::size_t n = 0; n < kMost; ++n) {
      const AlignedVector<double> coefs = coefs_of(n, random);
      AlignedVector<Real> row(padded(n) + 1, std::numeric_limits<Real>::quiet_NaN());
      // Some are above 1 after scaling, some have powers that are not normal numbers, some are 0.
      for (std::size_t i = 0; i < n; ++i) {
        row[i] = static_cast<Real>(i % 5 == 0 ? 0.0 : std::exp(-10.0 * random.uniform()));
      }
      PowerSums expected;
      for (std::size_t j = 0; j < PowerSums::kSums; ++j) expected.parts[j][j] = 0.25;
      PowerSums sums = expected;  // it adds to what is there
      functions.add_powers(coefs.data(), row.data(), 1.5, n, sums);
      for (std::size_t i = 0; i < n; ++i) {
        double power = std::min(1.0, 1.5 * static_cast<double>(row[i]));
        const std::size_t part = i % PowerSums::kChains;
        expected.parts[0][part] += coefs[i] * std::sqrt(std::sqrt(power));
        for (int squared = 1; squared <= 7; ++squared) {
          power *= power;
          if (squared % 3 == 1) expected.parts[1 + squared / 3][part] += coefs[i] * power;
        }
        expected.parts[4][part] += coefs[i];
      }
      for (std::size_t j = 0; j < PowerSums::kSums; ++j) {
        for (std::size_t k = 0; k < PowerSums::kChains; ++k) {
          CHECK_EQ(sums.parts[j][k], expected.parts[j][k]);
        }
      }
    }
  });
}

TEST(finds_the_first_from_anywhere) {
  Random random(3);
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 0; n < kMost; ++n) {
      std::vector<double> numbers(n + 1, 1.0);  // one more beyond the end
      for (std::size_t i = 0; i < n; ++i) numbers[i] = random.below(11) == 0 ? 1.0 : 0.5;
      for (std::size_t from = 0; from <= n; ++from) {
        const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(n);
        const auto found = std::find(numbers.begin() + static_cast<std::ptrdiff_t>(from), end, 1.0);
        CHECK_EQ(functions.find(numbers.data(), from, n, 1.0),
                 static_cast<std::size_t>(found - numbers.begin()));
      }
    }
  });
}

TEST(coefs_grow_up_to_the_limit_on_either_side) {
  Random random(4);
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 0; n < kMost; ++n) {
      for (const double limit : {0.4, std::numeric_limits<double>::infinity()}) {
        AlignedVector<double> coefs = coefs_of(n, random);
        AlignedVector<double> expected = coefs;
        for (std::size_t i = 0; i < n; ++i) {
          expected[i] = std::clamp(1.25 * expected[i], -limit, limit);
        }
        functions.grow(coefs.data(), 1.25, limit, n);
        CHECK(coefs == expected);
      }
    }
  });
}

double chance_of(double share, double weight) { return std::max(0.0, 1.0 - share * weight); }

TEST(coefs_grow_by_their_chances_up_to_the_clip) {
  Random random(7);
  constexpr double factor = 0.5;
  constexpr double share = 1.9;
  constexpr double total = 3.0;
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 1; n < kMost; ++n) {
      for (const double clip : {0.01, 0.3, 9.0}) {  // all, some, none
        for (const bool own : {false, true}) {      // weights
          for (const bool alike : {false, true}) {
            AlignedVector<double> coefs = coefs_of(n, random);
            AlignedVector<double> other = coefs_of(n, random);
            for (std::size_t i = 0; i < n; ++i) {
              if (alike) coefs[i] = std::copysign(0.6, coefs[i]);
              if (alike) other[i] = 0.3;
              coefs[i] += coefs[i] < 0.0 ? -0.02 : 0.02;
            }
            const double* const weights = own ? coefs.data() : other.data();
            const Chances chances{weights, factor, share, alike};
            AlignedVector<double> expected = coefs;
            for (std::size_t i = 0; i < n; ++i) {
              const double rest = total - chance_of(share, std::abs(factor * weights[i]));
              const bool clipped = std::abs(factor * coefs[i]) * total > clip * rest;
              expected[i] = clipped ? std::copysign(2.0 * clip, coefs[i]) : total / rest * coefs[i];
            }
            functions.grow_by_chances(coefs.data(), factor, chances, total, clip, 2.0 * clip, n);
            CHECK(coefs == expected);
          }
        }
      }
    }
  });
}

TEST(where_the_oldest_is) {
  Random random(8);
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 1; n < kMost; ++n) {
      for (const std::size_t most : {3u, 1000u}) {  // many equal numbers, and few
        std::vector<std::int64_t> ids(n + 1, -1);
        for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(random.below(most));
        const auto expected = std::min_element(ids.begin(), ids.end() - 1) - ids.begin();
        CHECK_EQ(functions.oldest(ids.data(), n), static_cast<std::size_t>(expected));
      }
    }
  });
}

TEST(whether_coefs_are_alike) {
  in_each_set([&](const auto& functions, auto) {
    for (std::size_t n = 1; n < kMost; ++n) {
      std::vector<double> numbers(n + 1, kBeyond);
      for (std::size_t i = 0; i < n; ++i) numbers[i] = i % 3 == 1 ? -0.4 : 0.4;
      CHECK(functions.alike(numbers.data(), n));
      for (std::size_t i = 0; i < n && n > 1; ++i) {
        const double kept = std::exchange(numbers[i], std::nextafter(numbers[i], 1.0));
        CHECK(!functions.alike(numbers.data(), n));
        numbers[i] = kept;
      }
    }
  });
}

TEST(running_sums_of_weights_and_chances) {
  Random random(5);
  in_each_set([&](const auto& functions, auto) {
    constexpr std::size_t block = CoefFunctions<double>::kBlock;
    for (std::size_t n = 1; n < kMost; ++n) {
      for (const bool alike : {false, true}) {
        AlignedVector<double> coefs = coefs_of(n, random);
        if (alike) std::fill_n(coefs.begin(), n, -0.7);
        const Chances chances{coefs.data(), 0.3, 5.7, alike};
        std::vector<double> sums((n + block - 1) / block + 1, kBeyond);
        const auto check_sums = [&](const std::vector<double>& numbers, double total) {
          double all = 0.0;
          for (std::size_t begin = 0; begin < n; begin += block) {
            const std::size_t end = std::min(n, begin + block);
            const std::size_t fours = begin + (end - begin) / 4 * 4;
            double four[4] = {};
            for (std::size_t i = begin; i < end; ++i) four[i < fours ? i % 4 : 0] += numbers[i];
            all += (four[0] + four[1]) + (four[2] + four[3]);
            CHECK_EQ(sums[begin / block], all);
          }
          CHECK_EQ(total, all);
          CHECK_EQ(sums.back(), kBeyond);
        };
        std::vector<double> expected;
        for (std::size_t i = 0; i < n; ++i) expected.push_back(std::abs(0.3 * coefs[i]));
        check_sums(expected, functions.sum_weights(chances, n, sums.data()));
        for (std::size_t i = 0; i < n; ++i) {
          expected[i] = chance_of(5.7, expected[i]);
          CHECK_EQ(chances[i], expected[i]);
        }
        check_sums(expected, functions.sum_chances(chances, n, sums.data()));
      }
    }
  });
}

TEST(the_oldest_of_tied_scores) {
  Random random(6);
  Expansion<double> f(Kernel{KernelKind::linear}, 1, 0);
  Row<double> row;
  for (std::size_t n = 1; n < kMost; ++n) {
    const double value = static_cast<double>(n);
    const Sample<double> x{&value, nullptr, 1};
    f.row(x, row);
    f.add(x, row, std::vector<double>{1.0}, static_cast<std::int64_t>(random.below(1000)));
    std::vector<double> scores(n);
    for (double& score : scores) score = static_cast<double>(random.below(3));
    const double least = *std::min_element(scores.begin(), scores.end());
    const std::size_t expected = f.least([&](std::size_t i) { return scores[i]; });
    CHECK_EQ(f.least_of(scores, least), expected);
  }
}

}  // namespace
}  // namespace budgetron
