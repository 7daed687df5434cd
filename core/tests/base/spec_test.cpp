#include "base/spec.hpp"

#include "tests/harness.hpp"

using budgetron::Spec;

TEST(spec_refuses_what_is_missing_wrong_or_unread) {
  Spec spec;
  spec.set("size", std::int64_t{3});
  spec.set("name", std::string("x"));
  CHECK_EQ(spec.count("size"), 3u);
  CHECK_EQ(spec.number("size"), 3.0);
  CHECK_THROWS(spec.number("nothing"), std::invalid_argument);
  CHECK_THROWS(spec.number("name"), std::invalid_argument);
  Spec fresh;
  fresh.set("surplus", 1.0);
  CHECK_THROWS(fresh.check_all_used(), std::invalid_argument);
  CHECK_EQ(fresh.number("surplus"), 1.0);
  fresh.check_all_used();
}
