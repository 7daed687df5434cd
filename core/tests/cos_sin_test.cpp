// The vectorised cosine and sine of row.cpp against the C library's.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aligned.hpp"
#include "harness.hpp"
#include "random.hpp"
#include "row.hpp"

namespace budgetron {
namespace {

template <class Real>
struct Circle {
  AlignedVector<Real> angles;
  AlignedVector<double> cosines, sines;

  explicit Circle(std::vector<double> from) {
    from.resize(padded(from.size()), 0.0);
    for (const double angle : from) angles.push_back(static_cast<Real>(angle));
    cosines.resize(from.size());
    sines.resize(from.size());
    row_functions<Real>().cos_sin(angles.data(), cosines.data(), sines.data(), angles.size());
  }

  // The largest difference to the C library.
  [[nodiscard]] double error() const {
    double worst = 0.0;
    for (std::size_t i = 0; i < angles.size(); ++i) {
      const double angle = static_cast<double>(angles[i]);
      worst = std::max(worst, std::abs(cosines[i] - std::cos(angle)));
      worst = std::max(worst, std::abs(sines[i] - std::sin(angle)));
    }
    return worst;
  }
  // The largest difference of cos^2 + sin^2 to 1.
  [[nodiscard]] double off_circle() const {
    double worst = 0.0;
    for (std::size_t i = 0; i < angles.size(); ++i) {
      worst = std::max(worst, std::abs(cosines[i] * cosines[i] + sines[i] * sines[i] - 1.0));
    }
    return worst;
  }
};

// Angles of every size up to `largest`, both signs.
std::vector<double> angles_up_to(double largest) {
  Random random(7);
  std::vector<double> angles;
  for (int i = 0; i < 100'000; ++i) {
    const double size = largest * std::pow(random.uniform(), 8);
    angles.push_back(random.uniform() < 0.5 ? size : -size);
  }
  return angles;
}

TEST(cos_sin_is_right_to_the_last_digit) {
  CHECK(Circle<double>(angles_up_to(10.0)).error() < 3e-16);
  CHECK(Circle<double>(angles_up_to(1e6)).error() < 3e-16);
  CHECK(Circle<float>(angles_up_to(1e6)).error() < 3e-16);
}

TEST(cos_sin_loses_no_more_than_a_large_angle_has_lost_itself) {
  CHECK(Circle<double>(angles_up_to(1e9)).error() < 1e9 * std::numeric_limits<double>::epsilon());
  CHECK(Circle<double>(angles_up_to(1e12)).error() < 1e12 * std::numeric_limits<double>::epsilon());
}

TEST(cos_sin_near_and_at_multiples_of_a_quarter_turn) {
  std::vector<double> angles;
  for (int n = -1000; n <= 1000; ++n) {
    for (const double nudge : {0.0, 1e-9, -1e-9, 1e-16}) angles.push_back(n * M_PI / 4 + nudge);
  }
  CHECK(Circle<double>(angles).error() < 3e-16);
}

TEST(cos_sin_of_zero_is_exact) {
  const Circle<double> circle({0.0});
  CHECK_EQ(circle.cosines[0], 1.0);
  CHECK_EQ(circle.sines[0], 0.0);
}

TEST(cos_sin_stays_on_the_circle_whatever_the_angle) {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(Circle<double>(angles_up_to(1e300)).off_circle() < 1e-15);
  CHECK(Circle<double>({1e16, -1e18, infinity, -infinity, std::nan("")}).off_circle() < 1e-15);
  CHECK(Circle<float>({1e16, -1e38, infinity}).off_circle() < 1e-15);
}

}  // namespace
}  // namespace budgetron
