// The row functions on plain numbers, against the standard library.
#include <algorithm>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/random.hpp"
#include "simd/kernel_row.hpp"
#include "tests/harness.hpp"

namespace budgetron {
namespace {

TEST(the_first_of_the_least) {
  const auto check = [](auto real) {
    using Real = decltype(real);
    Random random(3);
    for (std::size_t n = 1; n < 70; ++n) {
      AlignedVector<Real> numbers(padded(n), Real(-1));  // numbers behind the end are not read
      for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<Real>(random.below(6));
        const auto expected =
            std::min_element(numbers.begin(), numbers.begin() + static_cast<long>(n));
        CHECK_EQ(row_functions<Real>().first_least(numbers.data(), n),
                 static_cast<std::size_t>(expected - numbers.begin()));
      }
    }
  };
  check(float{});
  check(double{});
}

TEST(least_and_at_most_of_every_length) {
  const RowFunctions<float>& functions = row_functions<float>();
  Random random(5);
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<double> numbers(n);
    for (double& each : numbers) each = static_cast<double>(random.below(9)) - 4.0;
    if (n > 0) {
      CHECK_EQ(functions.least(numbers.data(), n),
               *std::min_element(numbers.begin(), numbers.end()));
    }
    for (const double bound : {-5.0, -4.0, 0.0, 0.5, 9.0}) {
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        if (numbers[i] <= bound) expected.push_back(static_cast<std::uint32_t>(i));
      }
      std::vector<std::uint32_t> places(n);
      places.resize(functions.at_most(numbers.data(), n, bound, places.data()));
      CHECK(places == expected);
    }
  }
}

}  // namespace
}  // namespace budgetron
