// When a drift is called, and how long its log may grow.
#include "learners/drift.hpp"

#include <cstdint>
#include <vector>

#include "tests/harness.hpp"

namespace budgetron {
namespace {

TEST(a_drift_is_called_once_a_window_and_the_log_is_bounded) {
  Drift drift(1);
  std::int64_t calls = 0;
  for (std::int64_t round = 0; round < 800'000; ++round) {
    // In every other 2500 rounds half the rows are mistakes.
    const bool bad = round / 2500 % 2 == 1;
    const bool called = drift.count(bad ? round % 2 == 0 : round % 20 == 0, round);
    if (called) CHECK(drift.open());
    if (called) CHECK_EQ(drift.log().back(), round);
    calls += called;
  }
  CHECK(calls > 150);
  CHECK_EQ(drift.log().size(), 100u);
}

TEST(rows_of_a_class_that_comes_late_are_not_counted_at_first) {
  Drift drift(3);
  for (std::int64_t round = 0; round < 499; ++round) {
    CHECK(drift.counts(0));
    drift.count(false, round);
  }
  CHECK(drift.counts(1));  // its first row is within the first 500 rounds
  drift.count(true, 499);
  drift.rearrange({3, 4, {0, -1, 1, 2}});  // class 1 is class 2 now
  CHECK(drift.counts(2));
  for (const std::size_t late : {std::size_t{1}, std::size_t{3}}) {
    for (int row = 0; row < 100; ++row) CHECK(!drift.counts(late));
    CHECK(drift.counts(late));
  }
}

TEST(a_class_that_was_alone_stays_grown) {
  for (const int place : {0, 1}) {
    Drift drift(1);
    CHECK(drift.counts(1));  // a single class is the second of two
    for (std::int64_t round = 0; round < 500; ++round) drift.count(false, round);
    const std::vector<int> order = place == 0 ? std::vector<int>{0, -1} : std::vector<int>{-1, 0};
    drift.rearrange({1, 2, order});
    CHECK(drift.counts(place == 0 ? 0 : 1));
    CHECK(!drift.counts(place == 0 ? 1 : 0));
  }
}

}  // namespace
}  // namespace budgetron
