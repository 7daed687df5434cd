// Runs every registered test; exit code 1 if one failed.
#include <exception>
#include <iostream>
#include <string_view>

#include "simd/kernel_row.hpp"
#include "tests/harness.hpp"

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  int passed = 0, failed = 0;
  for (const auto& test : harness::tests()) {
    if (std::string_view(test.name).find(word) == std::string_view::npos) continue;
    const int before = harness::failed_checks();
    try {
      test.body();
    } catch (const std::exception& error) {
      harness::failure(test.name, 0) << "threw " << error.what() << '\n';
    }
    const bool good = harness::failed_checks() == before;
    if (!good) std::cerr << "FAILED " << test.name << '\n';
    ++(good ? passed : failed);
  }
  std::cout << passed << " passed, " << failed << " failed (" << budgetron::instruction_set()
            << ")\n";
  return failed > 0 || passed == 0 ? 1 : 0;
}
