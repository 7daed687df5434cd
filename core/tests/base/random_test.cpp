#include "base/random.hpp"

#include "tests/harness.hpp"

using budgetron::Random;
using budgetron::StateVisitor;

// First outputs from the state {1, 2, 3, 4}, as the authors' reference program prints them.
TEST(generator_is_xoshiro256_plus_plus) {
  Random random;
  budgetron::State state;
  state["words"] = std::vector<std::uint64_t>{1, 2, 3, 4};
  StateVisitor loader = StateVisitor::loader(state);
  random.visit_state(loader);
  CHECK_EQ(random.next(), 41943041u);
  CHECK_EQ(random.next(), 58720359u);
  CHECK_EQ(random.next(), 3588806011781223u);
  CHECK_EQ(random.next(), 3591011842654386u);
}

TEST(generator_resumes_where_it_was_saved) {
  Random random(3);
  for (int i = 0; i < 10; ++i) random.next();
  StateVisitor saver = StateVisitor::saver();
  random.visit_state(saver);
  const budgetron::State state = saver.take();
  Random other(99);
  StateVisitor loader = StateVisitor::loader(state);
  other.visit_state(loader);
  for (int i = 0; i < 10; ++i) CHECK_EQ(random.next(), other.next());
}

TEST(uniform_numbers_are_in_range_and_spread) {
  Random random(1);
  int low = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = random.uniform();
    CHECK(u >= 0.0 && u < 1.0);
    low += u < 0.25;
    CHECK(random.below(3) < 3);
  }
  CHECK(low > 2300 && low < 2700);
}
