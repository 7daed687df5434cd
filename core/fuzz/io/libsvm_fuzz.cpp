// Fuzzes the LIBSVM parser for a bounded time: `libsvm_fuzz SECONDS [SEED]` (`make fuzz`).
//
// With Clang's libFuzzer (-fsanitize=fuzzer) the same target runs under its coverage-guided
// mutator; otherwise our own seeded mutator feeds it. asan and ubsan are on in both.
#include "fuzz/io/libsvm_fuzz.hpp"

#ifdef BUDGETRON_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::check<float>(input);
  fuzz::check<double>(input);
  return 0;
}

#else

#include <chrono>

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  fuzz::Mutator mutator(seed);
  long long inputs = 0;
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    for (int i = 0; i < 100; ++i, ++inputs) fuzz::step(mutator);
  }
  std::printf("libsvm_fuzz: %lld inputs in %.0f s, %zu kinds of outcome, all properties hold\n",
              inputs, seconds, mutator.found());
  return inputs > 0 ? 0 : 1;
}

#endif
