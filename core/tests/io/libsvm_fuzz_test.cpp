// Runs the parser's fuzzer briefly, with the same inputs every time; `make fuzz` runs it for
// longer.
#include "fuzz/io/libsvm_fuzz.hpp"

#include "tests/harness.hpp"

TEST(libsvm_fuzz_for_a_moment) {
  fuzz::Mutator mutator(1);
  for (int i = 0; i < 8'000; ++i) fuzz::step(mutator);
  CHECK(mutator.found() > 10);
}
