// Units of targets: which are in force after which rows, the rescaled hypothesis, damaged states.
#include "model/target_units.hpp"

#include <cmath>

#include "base/random.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

double count(TargetUnits& units, double centre, double spread, std::size_t rows, double f = 0.0) {
  Random random(7);
  double product = 1.0;
  for (std::size_t i = 0; i < rows; ++i) {
    product *= units.count(centre + spread * (random.uniform() - 0.5), f);
  }
  return product;
}

State saved(TargetUnits& units) {
  StateVisitor visitor = StateVisitor::saver();
  units.visit_state(visitor);
  return visitor.take();
}

void load(const State& state) {
  TargetUnits units;
  StateVisitor visitor = StateVisitor::loader(state);
  units.visit_state(visitor);
}

}  // namespace

TEST(target_units_are_known_from_the_fourth_target_on) {
  TargetUnits units;
  for (const double target : {1.0, 3.0, 5.0}) {
    CHECK_EQ(units.count(target, 0.0), 1.0);
    CHECK(!units.learns());
  }
  CHECK_EQ(units.centre(), 3.0);
  units.count(7.0, 0.0);
  CHECK(units.learns());
  CHECK_EQ(units.centre(), 4.0);
  CHECK_EQ(units.scale(), 1.4826 * 2.0);
  CHECK_EQ(units.answer(1.0), 4.0 + 1.4826 * 2.0);
}

TEST(target_units_of_equal_targets_wait_for_another) {
  TargetUnits units;
  for (int i = 0; i < 1000; ++i) units.count(7.0, 0.0);
  CHECK(!units.learns());
  CHECK_EQ(units.centre(), 7.0);
  CHECK_EQ(units.scaled(7.0), 0.0);
  for (const double target : {1.0, 2.0, 3.0, 4.0}) units.count(target, 0.0);
  CHECK(units.learns());
  CHECK_EQ(units.centre(), 2.5);  // the equal ones are forgotten
}

TEST(target_units_change_by_what_f_is_multiplied_with) {
  TargetUnits units;
  count(units, 0.0, 1.0, 1000);
  const double before = units.scale();
  const double factor = count(units, 0.0, 30.0, 3000);
  CHECK(units.scale() > 20.0 * before);
  CHECK(std::abs(factor * units.scale() - before) < 1e-12 * before);
  CHECK(units.changes() < 12);
}

TEST(target_units_fall_without_f_running_away) {
  TargetUnits units;
  count(units, 0.0, 1000.0, 1000);
  Random random(8);
  double f = 0.5;
  for (int i = 0; i < 3000; ++i) {
    f *= units.count(random.uniform() - 0.5, f);
    CHECK(f <= 20.0);
  }
  CHECK(units.scale() < 1.0);
}

TEST(target_units_that_fall_at_once_bring_f_to_1) {
  TargetUnits units;
  count(units, 0.0, 1000.0, 1000);
  Random random(8);
  bool fell = false;
  for (int i = 0; i < 3000; ++i) {
    const double before = units.scale();
    const double factor = units.count(random.uniform() - 0.5, 3.0);
    if (units.scale() > before / 4.0) continue;
    fell = true;
    CHECK_EQ(3.0 * factor, 1.0);
  }
  CHECK(fell);
}

TEST(target_units_follow_a_jump_within_twenty_rows) {
  TargetUnits units;
  count(units, 0.0, 1.0, 3000);
  count(units, 1e6, 1.0, 1);
  CHECK(units.learns());
  count(units, 1e6, 1.0, 1);
  CHECK(!units.learns());
  count(units, 1e6, 1.0, 18);
  CHECK(std::abs(units.centre() - 1e6) < 1.0);
  CHECK(units.scale() < 2.0);
}

TEST(target_units_hardly_mind_an_outlier) {
  TargetUnits units;
  count(units, 0.0, 1.0, 3000);
  const double scale = units.scale();
  units.count(-1e300, 0.0);
  count(units, 0.0, 1.0, 200);
  CHECK_EQ(units.scale(), scale);
  CHECK(std::abs(units.centre()) < 0.1);
  CHECK_EQ(units.scaled(1e300), 20.0);
}

TEST(target_units_that_are_damaged_are_refused) {
  TargetUnits units;
  count(units, 2.0, 1.0, 300);
  const State state = saved(units);
  load(state);
  const auto damaged = [&state](const std::string& field, StateArray value) {
    State other = state;
    other[field] = std::move(value);
    return other;
  };
  const std::vector<double> few(3, 1.0);
  std::vector<double> infinite(200, 1.0);
  infinite[7] = INFINITY;
  CHECK_THROWS(load(damaged("window", few)), std::invalid_argument);
  CHECK_THROWS(load(damaged("window", infinite)), std::invalid_argument);
  for (const double bad : std::vector<double>{0.0, -1.0, INFINITY, NAN}) {
    CHECK_THROWS(load(damaged("scale", std::vector<double>{bad})), std::invalid_argument);
  }
  CHECK_THROWS(load(damaged("centre", std::vector<double>{NAN})), std::invalid_argument);
  CHECK_THROWS(load(damaged("largest", std::vector<double>{NAN})), std::invalid_argument);
  CHECK_THROWS(load(damaged("far", std::vector<std::int64_t>{8})), std::invalid_argument);
}
