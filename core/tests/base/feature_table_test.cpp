#include "base/feature_table.hpp"

#include <map>

#include "base/random.hpp"
#include "tests/harness.hpp"

using budgetron::FeatureTable;
using budgetron::kNoSlot;
using budgetron::Random;

// Random inserts and erases of small and huge feature numbers, against a map.
TEST(slots_behave_like_a_map) {
  Random random(7);
  FeatureTable slots;
  std::map<std::int32_t, std::uint32_t> expected;
  for (int round = 0; round < 20000; ++round) {
    const bool huge = random.below(2) == 0;
    const auto feature =
        static_cast<std::int32_t>(huge ? 2147483000 - random.below(300) * 4096 : random.below(300));
    if (expected.contains(feature)) {
      CHECK_EQ(slots.find(feature), expected[feature]);
      if (random.below(2) == 0) {
        slots.erase(feature);
        expected.erase(feature);
      }
    } else {
      CHECK_EQ(slots.find(feature), budgetron::kNoSlot);
      slots.insert(feature, static_cast<std::uint32_t>(round));
      expected[feature] = static_cast<std::uint32_t>(round);
    }
  }
  for (const auto& [feature, slot] : expected) CHECK_EQ(slots.find(feature), slot);
  CHECK(slots.bytes() < 100000);  // not the 2^31 that a plain vector would need
}
