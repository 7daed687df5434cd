#include "postings.hpp"

#include <map>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "random.hpp"

using namespace budgetron;

// Examples come and go with features that share buckets, some of them with a slot, against a map.
TEST(postings_in_buckets_behave_like_a_map) {
  Random random(3);
  Postings<float> postings;
  std::map<std::pair<std::int32_t, std::uint32_t>, float> expected;  // feature and example: value
  std::vector<std::vector<std::int32_t>> lists(40);
  std::vector<std::int32_t> features(400);  // far apart, so that some share a bucket
  for (std::int32_t& feature : features) {
    feature = static_cast<std::int32_t>(70000 + random.below(1u << 30));
  }
  const std::int32_t fat = 2147483000;
  postings.push_in_bucket(fat, kThin | 5u, 0.0f);
  for (std::uint32_t round = 0; round < 4000; ++round) {
    const auto example = static_cast<std::uint32_t>(random.below(lists.size()));
    std::vector<std::int32_t>& list = lists[example];
    const std::size_t thin = postings.pop_all(list, example, [](std::uint32_t) { return false; });
    CHECK_EQ(thin, list.size());
    for (const std::int32_t feature : list) expected.erase({feature, example});
    list.clear();
    for (const std::int32_t feature : features) {
      if (random.below(20) != 0) continue;
      const auto value = static_cast<float>(round);
      list.push_back(feature);
      postings.push_in_bucket(feature, example, value);
      expected[{feature, example}] = value;
    }
  }
  std::size_t stored = 0;
  for (const std::int32_t feature : features) {
    const bool any = expected.lower_bound({feature, 0}) != expected.lower_bound({feature + 1, 0});
    std::uint32_t link = postings.find(feature);
    CHECK_EQ(link == kNoSlot, !any);
    CHECK_EQ(postings.surely_new(feature) && any, false);
    for (; link != kNoSlot; link = postings.seek(postings[link].next, feature), ++stored) {
      CHECK_EQ(expected.at({feature, postings[link].example}), postings[link].value);
    }
  }
  CHECK_EQ(stored, expected.size());
  CHECK_EQ(stored + postings.unused() + 1, postings.size());
  CHECK_EQ(postings.find(fat), 5u);
  CHECK_EQ(postings.thin_in_buckets() <= stored, true);
  CHECK_EQ(postings.pop_all(std::vector{fat}, 0, [](std::uint32_t slot) { return slot == 5; }), 0u);
  CHECK_EQ(postings.find(fat), kNoSlot);
}
