#include "losses.hpp"

#include <cmath>
#include <initializer_list>

#include "harness.hpp"

using budgetron::Loss;
using budgetron::Spec;

namespace {

Loss made(const std::string& kind, double tau = 0.5) {
  Spec spec;
  spec.set("kind", kind);
  if (kind == "smooth-hinge") spec.set("tau", tau);
  return Loss(spec);
}

// The formulas of the header, to differentiate.
double value(const std::string& kind, double tau, double m) {
  if (kind == "hinge") return std::fmax(0.0, 1.0 - m);
  if (kind == "logistic") return std::log1p(std::exp(-m));
  if (m >= 1.0) return 0.0;
  return m < 1.0 - tau ? 1.0 - m - tau / 2.0 : (1.0 - m) * (1.0 - m) / (2.0 * tau);
}

}  // namespace

TEST(losses_slope_is_the_derivative) {
  const double h = 1e-6;
  for (const char* kind : {"hinge", "smooth-hinge", "logistic"}) {
    for (const double tau : {0.25, 0.5, 2.0}) {
      const Loss loss = made(kind, tau);
      for (double m = -4.0; m < 4.0; m += 0.0137) {
        if (std::abs(m - 1.0) < 2.0 * h || std::abs(m - 1.0 + tau) < 2.0 * h) continue;
        const double slope = (value(kind, tau, m + h) - value(kind, tau, m - h)) / (2.0 * h);
        CHECK(std::abs(loss.slope(m) - slope) < 1e-8);
      }
    }
  }
}

TEST(losses_kinks_take_the_flat_side) {
  CHECK_EQ(made("hinge").slope(1.0), 0.0);
  CHECK_EQ(made("hinge").slope(std::nextafter(1.0, 0.0)), -1.0);
  CHECK_EQ(made("smooth-hinge", 0.5).slope(1.0), 0.0);
  CHECK_EQ(made("smooth-hinge", 0.5).slope(0.5), -1.0);
  CHECK_EQ(made("smooth-hinge", 0.25).slope(0.875), -0.5);
  CHECK_EQ(made("logistic").slope(0.0), -0.5);
}

TEST(losses_extreme_margins) {
  CHECK_EQ(made("logistic").slope(-1000.0), -1.0);
  CHECK_EQ(made("logistic").slope(1000.0), 0.0);
  CHECK(made("logistic").slope(700.0) < 0.0);
  CHECK_THROWS(made("squared"), std::invalid_argument);
}
