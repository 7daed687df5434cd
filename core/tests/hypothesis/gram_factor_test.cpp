// The factor updated incrementally equals one computed anew, and matches its expansion.
#include "hypothesis/gram_factor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
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

// Points and the GramFactor of their Gaussian Gram matrix, changed together.
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
  // (K + jitter I)^-1 k, computed from scratch.
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

}  // namespace
}  // namespace budgetron
