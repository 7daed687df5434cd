#include "model/intervals.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "tests/harness.hpp"

using budgetron::ClassSets;
using budgetron::Intervals;
using budgetron::Random;
using budgetron::ScoreQuantiles;
using budgetron::State;
using budgetron::StateVisitor;

namespace {

State saved(Intervals& intervals) {
  StateVisitor visitor = StateVisitor::saver();
  intervals.visit_state(visitor);
  return visitor.take();
}

void load(Intervals& intervals, const State& state) {
  StateVisitor visitor = StateVisitor::loader(state);
  intervals.visit_state(visitor);
  visitor.check_all_read();
}

}  // namespace

TEST(quantiles_of_scores_hold_their_share) {
  for (const double level : {0.1, 0.5, 0.9, 0.99}) {
    ScoreQuantiles quantiles(true);
    Random random(1);
    double inside = 0.0;
    const int rows = 40000;
    for (int i = 0; i < rows; ++i) {
      const double score = -std::log1p(-random.uniform()) * (i < rows / 2 ? 1.0 : 5.0);
      inside += score <= quantiles.at(level) ? 1.0 : 0.0;
      quantiles.count(score);
    }
    CHECK(std::abs(inside / rows - level) < 0.01);
  }
}

TEST(quantiles_rise_with_the_level) {
  for (const bool factors : {true, false}) {
    ScoreQuantiles quantiles(factors);
    Random random(2);
    for (int i = 0; i < 3000; ++i)
      quantiles.count(factors ? random.uniform() : random.uniform() - 0.5);
    double before = quantiles.at(0.01);
    for (double level = 0.02; level <= 0.995; level += 0.01) {
      const double now = quantiles.at(level);
      CHECK(factors ? now >= before : now <= before);
      before = now;
    }
  }
}

TEST(intervals_have_no_ends_while_rows_are_few) {
  Intervals intervals;
  for (int i = 0; i < 8; ++i) intervals.count(1.0, 1.0, 0.0);
  CHECK(std::isinf(intervals.half(0.9, 1.0)));
  for (int i = 0; i < 2; ++i) intervals.count(1.0, 1.0, 0.0);
  CHECK(std::isfinite(intervals.half(0.9, 1.0)));
  CHECK(std::isinf(intervals.half(0.99, 1.0)));
}

TEST(intervals_that_are_damaged_do_not_load) {
  Intervals intervals;
  for (int i = 0; i < 50; ++i) intervals.count(1.0 + i % 3, 1.0, 0.1);
  const State state = saved(intervals);
  Intervals same;
  load(same, state);
  CHECK_EQ(same.half(0.8, 2.0), intervals.half(0.8, 2.0));
  State other = state;
  other["run"] = std::vector<double>{-1.0};
  CHECK_THROWS(load(same, other), std::invalid_argument);
  other = state;
  other["scores/quantiles"] = std::vector<double>{1.0};
  CHECK_THROWS(load(same, other), std::invalid_argument);
  other = state;
  other["local/ids"] = std::vector<std::int64_t>{1};
  CHECK_THROWS(load(same, other), std::invalid_argument);
}

TEST(a_set_has_the_predicted_class_always) {
  const double outputs[3] = {-0.2, 0.4, 0.1};
  double members[3];
  ClassSets::answer(outputs, 1e9, members);
  CHECK_EQ(members[0] + members[2], 0.0);
  CHECK_EQ(members[1], 1.0);
  ClassSets::answer(outputs, -0.35, members);
  CHECK_EQ(members[2], 1.0);
  CHECK_EQ(members[0], 0.0);
}
