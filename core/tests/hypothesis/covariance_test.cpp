// The factored covariance equals the matrix itself, and stays positive definite where the matrix
// does not.
#include "hypothesis/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "tests/harness.hpp"

namespace budgetron {
namespace {

template <class Number>
using Numbers = AlignedVector<Number>;

// The rounding that is allowed: U has this type.
template <class Number>
constexpr double kRounding = sizeof(Number) == 8 ? 1e-9 : 2e-4;

// P as a plain n x n matrix, changed by the formulas of covariance.hpp.
struct Plain {
  std::size_t n = 0;
  std::vector<double> p;

  double& at(std::size_t i, std::size_t j) { return p[i * n + j]; }
  template <class Number>
  std::vector<double> times(const Numbers<Number>& k) {
    std::vector<double> v(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) v[i] += at(i, j) * static_cast<double>(k[j]);
    }
    return v;
  }
  void subtract(const std::vector<double>& v, double b) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) at(i, j) -= b * v[i] * v[j];
    }
  }
  template <class Number>
  void append(const Numbers<Number>& d, double delta2) {
    Plain wider{n + 1, std::vector<double>((n + 1) * (n + 1), 0.0)};
    for (std::size_t i = 0; i <= n; ++i) {
      for (std::size_t j = 0; j <= n; ++j) {
        const double a = i < n ? -static_cast<double>(d[i]) : 1.0;
        const double b = j < n ? -static_cast<double>(d[j]) : 1.0;
        wider.at(i, j) = (i < n && j < n ? at(i, j) : 0.0) + a * b / delta2;
      }
    }
    *this = wider;
  }
  void remove(std::size_t gone) {
    std::vector<double> v;
    for (std::size_t i = 0; i < n; ++i) v.push_back(at(i, gone));
    subtract(v, 1.0 / v[gone]);
    Plain left{n - 1, {}};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i != gone && j != gone) left.p.push_back(at(i, j));
      }
    }
    *this = left;
  }
};

template <class Number>
Numbers<Number> draw(Random& random, const Covariance<Number>& covariance) {
  Numbers<Number> k(covariance.length(), Number(0));
  for (std::size_t i = 0; i < covariance.size(); ++i) {
    k[i] = static_cast<Number>(2.0 * random.uniform() - 1.0);
  }
  return k;
}

template <class Number>
double difference(Covariance<Number>& covariance, Plain& plain) {
  double worst = 0.0;
  Numbers<Number> column(covariance.length() + kPanel<Number>, Number(0));
  Numbers<Number> diagonal(covariance.length() + kPanel<Number>, Number(0));
  covariance.diagonal(diagonal.data());
  for (std::size_t j = 0; j < plain.n; ++j) {
    covariance.column(j, column.data());
    worst = std::max(worst, std::abs(static_cast<double>(diagonal[j]) - plain.at(j, j)));
    for (std::size_t i = 0; i < plain.n; ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(column[i]) - plain.at(i, j)));
    }
  }
  return worst;
}

template <class Number>
void hold_a_covariance_follows_the_matrix_it_stands_for() {
  Random random(3);
  Covariance<Number> covariance(21);
  Plain plain;
  std::size_t removed = 0;
  for (int turn = 0; turn < 400; ++turn) {
    if (covariance.size() < 21 && random.uniform() < 0.3) {
      const Numbers<Number> d = draw(random, covariance);
      const double delta2 = 0.1 + random.uniform();
      covariance.append(d.data(), delta2);
      plain.append(d, delta2);
    } else if (covariance.size() > 1 && random.uniform() < 0.2) {
      const auto i =
          static_cast<std::size_t>(random.uniform() * static_cast<double>(covariance.size()));
      covariance.remove(i);
      plain.remove(i);
      ++removed;
    } else if (covariance.size() > 0) {
      const Numbers<Number> k = draw(random, covariance);
      const double r = 0.05 + random.uniform();
      const double energy = covariance.project(k.data());
      Numbers<Number> gain(covariance.length(), Number(0));
      covariance.condition(r, gain.data());
      const std::vector<double> v = plain.times(k);
      double expected = 0.0;
      for (std::size_t i = 0; i < plain.n; ++i) {
        expected += static_cast<double>(k[i]) * v[i];
        CHECK(std::abs(static_cast<double>(gain[i]) - v[i]) < kRounding<Number>);
      }
      CHECK(std::abs(energy - expected) < kRounding<Number>);
      plain.subtract(v, 1.0 / (expected + r));
    }
    covariance.check_invariants();
    CHECK_EQ(covariance.size(), plain.n);
    CHECK(difference(covariance, plain) < 10.0 * kRounding<Number>);
  }
  CHECK(removed > 20);
}

// A P A^T with A = I except for row 0 and the diagonal; and rows and columns added or removed.
template <class Number>
void hold_a_covariance_follows_inserted_coordinates_and_a_change_of_units() {
  Random random(7);
  Covariance<Number> covariance(30);
  Plain plain;
  for (int turn = 0; turn < 60; ++turn) {
    const std::size_t n = covariance.size();
    if (turn % 4 == 0 && n < 20) {
      const auto at = static_cast<std::size_t>(random.uniform() * static_cast<double>(n + 1));
      const auto count = static_cast<std::size_t>(turn % 3 + 1);
      covariance.insert(at, count, 0.25);
      Plain wider{n + count, std::vector<double>((n + count) * (n + count), 0.0)};
      for (std::size_t i = 0; i < count; ++i) wider.at(at + i, at + i) = 0.25;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          wider.at(i < at ? i : i + count, j < at ? j : j + count) = plain.at(i, j);
        }
      }
      plain = wider;
    } else if (turn % 4 == 1) {
      const std::size_t first = n - n / 3;
      std::vector<UnitStep> steps(first);
      for (std::size_t i = 1; i < first; ++i) steps[i] = {0.5 + random.uniform(), random.uniform()};
      covariance.change(steps);
      Plain left{n, std::vector<double>(n * n, 0.0)};  // A P
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
          left.at(i, j) = plain.at(i, j) * (i < first ? steps[i].ratio : 1.0);
          if (i > 0 && i < first) left.at(0, j) += steps[i].shift * plain.at(i, j);
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          plain.at(i, j) = left.at(i, j) * (j < first ? steps[j].ratio : 1.0);
        }
        for (std::size_t j = 1; j < first; ++j) plain.at(i, 0) += steps[j].shift * left.at(i, j);
      }
    } else if (n > 0) {
      const Numbers<Number> k = draw(random, covariance);
      covariance.project(k.data());
      Numbers<Number> gain(covariance.length(), Number(0));
      covariance.condition(0.5, gain.data());
      const std::vector<double> v = plain.times(k);
      double energy = 0.0;
      for (std::size_t i = 0; i < n; ++i) energy += static_cast<double>(k[i]) * v[i];
      plain.subtract(v, 1.0 / (energy + 0.5));
    }
    covariance.check_invariants();
    CHECK_EQ(covariance.size(), plain.n);
    CHECK(difference(covariance, plain) < kRounding<Number>);
  }
  // The later coordinates alone, and behind others about which nothing is known.
  const std::size_t first = 5;
  Covariance<Number> later = covariance;
  later.keep_from(first);
  later.check_invariants();
  Plain left{plain.n - first, {}};
  for (std::size_t i = first; i < plain.n; ++i) {
    for (std::size_t j = first; j < plain.n; ++j) left.p.push_back(plain.at(i, j));
  }
  CHECK(difference(later, left) < kRounding<Number>);
  covariance.copy(later, first, 0.75);
  covariance.check_invariants();
  for (std::size_t i = 0; i < plain.n; ++i) {
    for (std::size_t j = 0; j < plain.n; ++j) {
      if (i < first || j < first) plain.at(i, j) = i == j ? 0.75 : 0.0;
    }
  }
  CHECK(difference(covariance, plain) < kRounding<Number>);
}

template <class Number>
void hold_a_covariance_stays_positive_where_the_matrix_does_not() {
  // Rows with almost no noise: the variance that is left sinks below the rounding of P.
  constexpr std::size_t n = 3;
  Random random(1);
  Covariance<Number> covariance(n);
  Plain plain;
  const Numbers<Number> none(kPanel<Number>, Number(0));
  for (std::size_t i = 0; i < n; ++i) {
    covariance.append(none.data(), 1e-6);
    plain.append(none, 1e-6);
  }
  double least = 1.0;
  Numbers<Number> gain(kPanel<Number>, Number(0));
  for (int turn = 0; turn < 1000; ++turn) {
    const Numbers<Number> k = draw(random, covariance);
    CHECK(covariance.project(k.data()) > 0.0);
    covariance.condition(1e-12, gain.data());
    covariance.check_invariants();
    const std::vector<double> v = plain.times(k);
    double energy = 0.0;
    for (std::size_t i = 0; i < n; ++i) energy += static_cast<double>(k[i]) * v[i];
    least = std::min(least, energy);
    plain.subtract(v, 1.0 / (energy + 1e-12));
  }
  CHECK(least < 0.0);
}

template <class Number>
void hold_a_covariance_is_saved_packed_and_comes_back_to_the_bit() {
  Random random(5);
  Covariance<Number> covariance(13);
  for (int i = 0; i < 11; ++i) covariance.append(draw(random, covariance).data(), 0.5);
  StateVisitor saver = StateVisitor::saver();
  covariance.visit_state(saver, "belief");
  const State state = saver.take();
  CHECK_EQ(std::get<std::vector<double>>(state.at("belief")).size(), 66u);
  Covariance<Number> other(13);
  StateVisitor loader = StateVisitor::loader(state);
  other.visit_state(loader, "belief");
  other.check_invariants();
  Numbers<Number> mine(16, Number(0)), theirs(16, Number(0));
  covariance.column(4, mine.data());
  other.column(4, theirs.data());
  CHECK(mine == theirs);
  Covariance<Number> small(5);
  StateVisitor again = StateVisitor::loader(state);
  CHECK_THROWS(small.visit_state(again, "belief"), std::invalid_argument);
}

TEST(a_covariance_follows_the_matrix_it_stands_for) {
  hold_a_covariance_follows_the_matrix_it_stands_for<double>();
}
TEST(a_covariance_follows_the_matrix_it_stands_for_in_float32) {
  hold_a_covariance_follows_the_matrix_it_stands_for<float>();
}
TEST(a_covariance_follows_inserted_coordinates_and_a_change_of_units) {
  hold_a_covariance_follows_inserted_coordinates_and_a_change_of_units<double>();
}
TEST(a_covariance_follows_inserted_coordinates_and_a_change_of_units_in_float32) {
  hold_a_covariance_follows_inserted_coordinates_and_a_change_of_units<float>();
}
TEST(a_covariance_stays_positive_where_the_matrix_does_not) {
  hold_a_covariance_stays_positive_where_the_matrix_does_not<double>();
}
TEST(a_covariance_stays_positive_where_the_matrix_does_not_in_float32) {
  hold_a_covariance_stays_positive_where_the_matrix_does_not<float>();
}
TEST(a_covariance_is_saved_packed_and_comes_back_to_the_bit) {
  hold_a_covariance_is_saved_packed_and_comes_back_to_the_bit<double>();
}
TEST(a_covariance_is_saved_packed_and_comes_back_to_the_bit_in_float32) {
  hold_a_covariance_is_saved_packed_and_comes_back_to_the_bit<float>();
}

}  // namespace
}  // namespace budgetron
