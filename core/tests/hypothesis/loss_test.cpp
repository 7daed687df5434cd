#include "hypothesis/loss.hpp"

#include <cmath>
#include <initializer_list>

#include "tests/harness.hpp"

using budgetron::Loss;
using budgetron::Spec;

namespace {

// `width` is the tau of the smooth hinge, or the epsilon of the regression losses.
Loss made(const std::string& kind, double width = 0.5) {
  Spec spec;
  spec.set("kind", kind);
  if (kind == "smooth-hinge") spec.set("tau", width);
  if (kind == "squared" || kind == "epsilon-insensitive") spec.set("epsilon", width);
  return Loss(spec);
}

// The formulas of the header, for numerical differentiation.
double value(const std::string& kind, double tau, double m) {
  if (kind == "hinge") return std::fmax(0.0, 1.0 - m);
  if (kind == "logistic") return std::log1p(std::exp(-m));
  if (m >= 1.0) return 0.0;
  return m < 1.0 - tau ? 1.0 - m - tau / 2.0 : (1.0 - m) * (1.0 - m) / (2.0 * tau);
}

// The same as functions of the error.
double value_of_error(const std::string& kind, double epsilon, double e) {
  if (kind == "absolute") return std::abs(e);
  if (kind == "squared") return std::fmax(0.0, e * e - epsilon * epsilon) / 2.0;
  return std::fmax(0.0, std::abs(e) - epsilon);
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

// The step adds -slope sign(e) to f, so that this is -d loss/d f = d loss/d e.
TEST(losses_of_regression_slope_is_the_derivative) {
  const double h = 1e-6;
  for (const char* kind : {"squared", "absolute", "epsilon-insensitive"}) {
    for (const double epsilon : {0.0, 0.1, 0.5}) {
      const Loss loss = made(kind, epsilon);
      for (double e = -4.0; e < 4.0; e += 0.0137) {
        if (std::abs(e) < 2.0 * h || std::abs(std::abs(e) - epsilon) < 2.0 * h) continue;
        const double slope =
            (value_of_error(kind, epsilon, e + h) - value_of_error(kind, epsilon, e - h)) /
            (2.0 * h);
        const double sign = e < 0.0 ? -1.0 : 1.0;
        CHECK(std::abs(-loss.slope(-std::abs(e)) * sign - slope) < 1e-8);
      }
    }
  }
}

TEST(losses_of_regression_are_flat_up_to_epsilon) {
  for (const char* kind : {"squared", "epsilon-insensitive"}) {
    CHECK_EQ(made(kind, 0.5).slope(-0.5), 0.0);
    CHECK_EQ(made(kind, 0.0).slope(-0.0), 0.0);
  }
  const double beyond = std::nextafter(-0.5, -1.0);
  CHECK_EQ(made("squared", 0.5).slope(beyond), beyond);
  CHECK_EQ(made("epsilon-insensitive", 0.5).slope(beyond), -1.0);
  CHECK_EQ(made("absolute").slope(-0.0), 0.0);
  CHECK_EQ(made("absolute").slope(-1e-300), -1.0);
}

TEST(losses_extreme_margins) {
  CHECK_EQ(made("logistic").slope(-1000.0), -1.0);
  CHECK_EQ(made("logistic").slope(1000.0), 0.0);
  CHECK(made("logistic").slope(700.0) < 0.0);
  CHECK_THROWS(made("cubed"), std::invalid_argument);
}
