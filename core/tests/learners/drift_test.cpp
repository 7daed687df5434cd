// When a drift is called, and how long its log may grow.
#include "learners/drift.hpp"

#include <cstdint>

#include "tests/harness.hpp"

namespace budgetron {
namespace {

TEST(a_drift_is_called_once_a_window_and_the_log_is_bounded) {
  Drift drift;
  std::int64_t calls = 0;
  for (std::int64_t round = 0; round < 800'000; ++round) {
    const bool bad = round / 2500 % 2 == 1;  // every other 2500 rounds half the rows are mistakes
    const bool called = drift.count(bad ? round % 2 == 0 : round % 20 == 0, round);
    if (called) CHECK(drift.open());
    if (called) CHECK_EQ(drift.log().back(), round);
    calls += called;
  }
  CHECK(calls > 150);
  CHECK_EQ(drift.log().size(), 100u);
}

}  // namespace
}  // namespace budgetron
