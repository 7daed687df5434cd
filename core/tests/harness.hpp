// A minimal test harness: a TEST registers itself, CHECKs count and print.
//
//   TEST(adds_up) { CHECK_EQ(1 + 1, 2); }
//
// A failed CHECK does not end its test. `core_tests WORD` runs the tests whose name contains WORD.
#pragma once

#include <iostream>
#include <string>
#include <vector>

namespace harness {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failed_checks() {
  static int count = 0;
  return count;
}

inline bool enlist(const char* name, void (*body)()) {
  tests().push_back({name, body});
  return true;
}

inline std::ostream& failure(const char* file, int line) {
  ++failed_checks();
  return std::cerr << file << ':' << line << ": ";
}

template <class A, class B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostream& out = failure(file, line) << text << " is false";
  if constexpr (requires { out << a << b; }) out << " (" << a << " and " << b << ")";
  out << '\n';
}

}  // namespace harness

#define TEST(name)                                                                          \
  static void test_##name();                                                                \
  [[maybe_unused]] static const bool enlisted_##name = harness::enlist(#name, test_##name); \
  static void test_##name()

#define CHECK(...)                                                                             \
  do {                                                                                         \
    if (!(__VA_ARGS__)) harness::failure(__FILE__, __LINE__) << #__VA_ARGS__ << " is false\n"; \
  } while (false)

#define CHECK_EQ(a, b) harness::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)

#define CHECK_THROWS(expression, Exception)                                                  \
  do {                                                                                       \
    bool thrown = false;                                                                     \
    try {                                                                                    \
      static_cast<void>(expression);                                                         \
    } catch (const Exception&) {                                                             \
      thrown = true;                                                                         \
    }                                                                                        \
    if (!thrown)                                                                             \
      harness::failure(__FILE__, __LINE__) << #expression " did not throw " #Exception "\n"; \
  } while (false)
