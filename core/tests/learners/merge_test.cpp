// The best merge of two examples: where the point is, the lower bound of its cost, its values.
#include "learners/budgets/merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/harness.hpp"

namespace budgetron {
namespace {

TEST(the_best_merge_is_a_maximum_and_the_table_is_near_it) {
  for (double w = 0.01; w <= 0.5; w += 0.013) {
    for (double kappa = 0.001; kappa <= 1.0; kappa += 0.0137) {
      const auto gain = [&](double h) {
        return w * std::pow(kappa, (1.0 - h) * (1.0 - h)) + (1.0 - w) * std::pow(kappa, h * h);
      };
      const double h = best_merge(w, kappa);
      for (double other = 0.0; other <= 0.5; other += 0.01) CHECK(gain(other) <= gain(h) + 1e-15);
      CHECK(gain(h) - gain(MergeTable::shared()(w, kappa)) < 1e-4);
    }
  }
  CHECK_EQ(best_merge(0.3, 0.0), 0.0);
  CHECK(std::abs(best_merge(0.3, 1.0) - 0.3) < 1e-12);
}

// The bound that lets Merge consider only near candidates.
TEST(a_merger_costs_at_least_what_equal_coefs_would) {
  for (double b = 1.0; b < 40.0; b *= 1.07) {
    for (double kappa = 0.001; kappa <= 1.0; kappa += 0.0037) {
      const double w = 1.0 / (1.0 + b);
      const double h = best_merge(w, kappa);
      const double merged = std::pow(kappa, (1.0 - h) * (1.0 - h)) + b * std::pow(kappa, h * h);
      const double cost = 1.0 + b * b + 2.0 * b * kappa - merged * merged;
      const double root = 1.0 - std::sqrt(std::max(kappa, std::exp(-2.0)));
      CHECK(cost > 2.0 * root * root - 1e-12 * b * b);
    }
  }
}

// Zeros are left out.
TEST(a_blend_of_sparse_and_dense_points_has_the_features_of_either) {
  const double dense[] = {1.0, 2.0, 0.0, 4.0};
  const double values[] = {8.0, 6.0};
  const std::int32_t indices[] = {1, 7};
  const Sample<double> x{dense, nullptr, 4};
  const Sample<double> z{values, indices, 2};
  OwnedSample<double> out;
  blend(x, z, 0.25, out);
  CHECK_EQ(out.dense, false);
  CHECK(out.indices == std::vector<std::int32_t>{0, 1, 3, 7});
  CHECK(out.values == std::vector<double>{0.25, 6.5, 1.0, 4.5});
  blend(x, x, 0.25, out);
  CHECK_EQ(out.dense, true);
  CHECK(out.values == std::vector<double>{1.0, 2.0, 0.0, 4.0});
}

}  // namespace
}  // namespace budgetron
