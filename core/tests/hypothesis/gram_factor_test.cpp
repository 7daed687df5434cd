// The factor that is kept up to date against one made afresh, and the expansion it mirrors.
#include "hypothesis/gram_factor.hpp"

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "learners/budgets/merge.hpp"
#include "tests/harness.hpp"
#include "tests/reference_lapack.hpp"

namespace budgetron {
namespace {

using Point = std::vector<double>;

Point draw(Random& random, std::size_t width) {
  Point x(width);
  for (double& value : x) value = 2.0 * random.uniform() - 1.0;
  return x;
}

double gaussian(const Point& x, const Point& z) {
  double square = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) square += (x[k] - z[k]) * (x[k] - z[k]);
  return std::exp(-square);
}

// Points and the Projection of their Gaussian Gram matrix, changed together.
struct Stored {
  std::vector<Point> points;
  GramFactor gram_factor;

  double project(const Point& x) {
    std::vector<double> row;
    for (const Point& point : points) row.push_back(gaussian(point, x));
    return gram_factor.project(row.data(), 1.0);
  }
  void append(const Point& x) {
    project(x);
    gram_factor.append();
    points.push_back(x);
  }
  void remove(std::size_t i) {
    gram_factor.remove(i);
    points[i] = points.back();
    points.pop_back();
  }
  // (K + jitter I)^-1 k, from scratch.
  std::vector<double> fresh(const Point& x) const {
    const std::size_t n = points.size();
    std::vector<double> factor(n * n), d(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) factor[j * n + i] = gaussian(points[i], points[j]);
      factor[j * n + j] += gram_factor.jitter();
      d[j] = gaussian(points[j], x);
    }
    CHECK(lapack::cholesky(n, factor.data()));
    int size = static_cast<int>(n), one = 1, info = 0;
    reference::dpotrs("L", &size, &one, factor.data(), &size, d.data(), &size, &info);
    return d;
  }
  double worst_difference(const Point& x) {
    const double distance = project(x);
    const std::vector<double> d = fresh(x);
    double worst = 0.0, reach = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      worst = std::max(worst, std::abs(d[i] - gram_factor.weights()[i]));
      reach += d[i] * gaussian(points[i], x);
    }
    worst = std::max(worst, std::abs(reach - gram_factor.reach()));
    return std::max(worst, std::abs(std::max(0.0, 1.0 - reach) - distance));
  }
};

TEST(a_factor_kept_up_to_date_equals_a_fresh_one) {
  reference::install_lapack();
  for (const double jitter : {0.0, 0.01}) {
    Random random(7);
    Stored stored{{}, GramFactor(12, jitter)};
    for (int round = 0; round < 600; ++round) {
      const std::size_t n = stored.points.size();
      if (n == 12 || (n > 0 && random.uniform() < 0.4)) {
        stored.remove(random.below(n));
      } else {
        stored.append(draw(random, 4));
      }
      CHECK_EQ(stored.gram_factor.size(), stored.points.size());
      CHECK(stored.worst_difference(draw(random, 4)) < 1e-9);
    }
  }
}

TEST(a_duplicate_lies_in_the_span_and_is_its_own_projection) {
  reference::install_lapack();
  Random random(3);
  Stored stored{{}, GramFactor(0)};
  for (int i = 0; i < 20; ++i) stored.append(draw(random, 6));
  CHECK(stored.project(stored.points[5]) <= kInSpan<double>);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(std::abs(stored.gram_factor.weights()[i] - (i == 5 ? 1.0 : 0.0)) < 1e-9);
  }
}

TEST(jitter_admits_duplicates) {
  reference::install_lapack();
  Random random(3);
  Stored stored{{}, GramFactor(8, 1e-10)};
  const Point x = draw(random, 3);
  for (int i = 0; i < 6; ++i) stored.append(x);
  stored.remove(0);
  stored.append(draw(random, 3));
  stored.project(x);
  double sum = 0.0;
  for (std::size_t i = 0; i < 5; ++i) sum += stored.gram_factor.weights()[i];
  CHECK(std::abs(sum - 1.0) < 1e-6);
}

TEST(projecting_keeps_the_norm_of_an_expansion) {
  reference::install_lapack();
  Kernel kernel;
  kernel.kind = KernelKind::poly;
  kernel.gamma = 0.5;
  kernel.coef0 = 1.0;
  for (const double jitter : {0.0, 0.05}) {
    Random random(11);
    Expansion<double> f(kernel, 2, 6);
    f.keep_norm();
    GramFactor gram_factor(6, jitter);
    Row<double> row;
    for (std::int64_t round = 0; round < 40; ++round) {
      const Point x = draw(random, 5);
      const Sample<double> sample{x.data(), nullptr, x.size()};
      f.row(sample, row);
      gram_factor.project(row.values.data(), row.self);
      const std::vector<double> coefs{random.uniform(), -random.uniform()};
      if (f.size() < 6) {
        f.add(sample, row, coefs, round);
        gram_factor.append();
      } else {
        f.shift(gram_factor.weights(), gram_factor.values(), coefs);
        if (round % 3 == 0) {
          gram_factor.remove(2);
          f.remove(2, row);
        }
      }
      f.check_invariants();
      gram_factor.check_invariants(f);
    }
  }
}

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

// What lets Merge look at near candidates alone.
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

TEST(a_blend_of_sparse_and_dense_points_has_the_features_of_either) {
  const double dense[] = {1.0, 2.0, 0.0, 4.0};
  const double values[] = {8.0, 6.0};
  const std::int32_t indices[] = {1, 7};
  const Sample<double> x{dense, nullptr, 4};
  const Sample<double> z{values, indices, 2};
  OwnedSample<double> out;
  blend(x, z, 0.25, out);
  CHECK_EQ(out.dense, false);
  CHECK(out.indices == std::vector<std::int32_t>{0, 1, 2, 3, 7});
  CHECK(out.values == std::vector<double>{0.25, 6.5, 0.0, 1.0, 4.5});
  blend(x, x, 0.25, out);
  CHECK_EQ(out.dense, true);
  CHECK(out.values == std::vector<double>{1.0, 2.0, 0.0, 4.0});
}

}  // namespace
}  // namespace budgetron
