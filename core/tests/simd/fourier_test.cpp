// The vectorised cosine and sine of fourier.cpp against those of the C library, and the map against
// its formula.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned_vector.hpp"
#include "base/random.hpp"
#include "simd/fourier.hpp"
#include "tests/harness.hpp"

namespace budgetron {
namespace {

template <class Real>
struct Circle {
  AlignedVector<Real> angles, cosines, sines;

  explicit Circle(std::vector<double> from) {
    from.resize(padded(from.size()), 0.0);
    for (const double angle : from) angles.push_back(static_cast<Real>(angle));
    cosines.resize(from.size());
    sines.resize(from.size());
    // A map without terms starts with the angles.
    fourier_functions<Real>().map(
        {nullptr, angles.size(), nullptr, nullptr, 0, angles.data(), cosines.data(), sines.data()});
  }

  // The largest difference from the C library.
  [[nodiscard]] double error() const {
    double worst = 0.0;
    for (std::size_t i = 0; i < angles.size(); ++i) {
      const double angle = static_cast<double>(angles[i]);
      worst = std::max(worst, std::abs(static_cast<double>(cosines[i]) - std::cos(angle)));
      worst = std::max(worst, std::abs(static_cast<double>(sines[i]) - std::sin(angle)));
    }
    return worst;
  }
  // The largest difference of cos^2 + sin^2 from 1.
  [[nodiscard]] double off_circle() const {
    double worst = 0.0;
    for (std::size_t i = 0; i < angles.size(); ++i) {
      const auto c = static_cast<double>(cosines[i]);
      const auto s = static_cast<double>(sines[i]);
      worst = std::max(worst, std::abs(c * c + s * s - 1.0));
    }
    return worst;
  }
};

// Angles of every size up to `largest`, of both signs.
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
  CHECK(Circle<float>(angles_up_to(10.0)).error() < 1.2e-7);
  CHECK(Circle<float>(angles_up_to(1e4)).error() < 1.2e-7);
}

TEST(cos_sin_loses_no_more_than_a_large_angle_has_lost_itself) {
  CHECK(Circle<double>(angles_up_to(1e9)).error() < 1e9 * std::numeric_limits<double>::epsilon());
  CHECK(Circle<double>(angles_up_to(1e12)).error() < 1e12 * std::numeric_limits<double>::epsilon());
  CHECK(Circle<float>(angles_up_to(1e6)).error() < 1e6 * std::numeric_limits<float>::epsilon());
}

TEST(cos_sin_near_and_at_multiples_of_a_quarter_turn) {
  std::vector<double> angles;
  for (int n = -1000; n <= 1000; ++n) {
    for (const double nudge : {0.0, 1e-9, -1e-9, 1e-16}) angles.push_back(n * M_PI / 4 + nudge);
  }
  CHECK(Circle<double>(angles).error() < 3e-16);
  CHECK(Circle<float>(angles).error() < 1.2e-7);
}

TEST(cos_sin_of_zero_is_exact) {
  const Circle<double> circle({0.0});
  CHECK_EQ(circle.cosines[0], 1.0);
  CHECK_EQ(circle.sines[0], 0.0);
  const Circle<float> coarser({0.0});
  CHECK_EQ(coarser.cosines[0], 1.0f);
  CHECK_EQ(coarser.sines[0], 0.0f);
}

TEST(cos_sin_stays_on_the_circle_whatever_the_angle) {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(Circle<double>(angles_up_to(1e300)).off_circle() < 1e-15);
  CHECK(Circle<double>({1e16, -1e18, infinity, -infinity, std::nan("")}).off_circle() < 1e-15);
  CHECK(Circle<float>({1e16, -1e38, infinity}).off_circle() < 3e-7);
}

// Every number of angles uses another mixture of tiles.
template <class Real>
double map_error() {
  Random random(11);
  double worst = 0.0;
  for (const std::size_t n : {16u, 48u, 64u, 112u, 160u, 176u}) {
    AlignedVector<Real> frequencies(5 * n), start(n), cosines(n), sines(n);
    for (Real& each : frequencies) each = static_cast<Real>(random.uniform() - 0.5);
    for (Real& each : start) each = static_cast<Real>(random.uniform());
    const std::vector<Real> values{Real(1), Real(-2), Real(0.5)};
    const std::vector<std::uint32_t> slots{4, 0, 2};
    fourier_functions<Real>().map({frequencies.data(), n, values.data(), slots.data(), 3,
                                   start.data(), cosines.data(), sines.data()});
    for (std::size_t i = 0; i < n; ++i) {
      auto angle = static_cast<double>(start[i]);
      for (std::size_t k = 0; k < 3; ++k) {
        angle +=
            static_cast<double>(values[k]) * static_cast<double>(frequencies[slots[k] * n + i]);
      }
      worst = std::max(worst, std::abs(static_cast<double>(cosines[i]) - std::cos(angle)));
      worst = std::max(worst, std::abs(static_cast<double>(sines[i]) - std::sin(angle)));
    }
  }
  return worst;
}

TEST(the_map_is_its_formula) {
  CHECK(map_error<double>() < 1e-15);
  CHECK(map_error<float>() < 1e-6);
}

TEST(weights_move_by_their_features) {
  AlignedVector<double> weights(16, 1.0);
  AlignedVector<float> features(16);
  for (std::size_t i = 0; i < 16; ++i) features[i] = static_cast<float>(i);
  fourier_functions<float>().add_scaled(weights.data(), features.data(), -0.5, 16);
  for (std::size_t i = 0; i < 16; ++i) CHECK_EQ(weights[i], 1.0 - 0.5 * static_cast<double>(i));
}

}  // namespace
}  // namespace budgetron
