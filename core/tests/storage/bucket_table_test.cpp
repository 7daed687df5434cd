#include "storage/bucket_table.hpp"

#include <map>
#include <vector>

#include "base/random.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

// Features whose home is the first of up to 4096 buckets, or next to it: they overflow.
std::vector<std::int32_t> neighbours(std::size_t count) {
  std::uint32_t inverse = 1;  // of the hash's factor: product -> feature
  for (int i = 0; i < 5; ++i) inverse *= 2 - 0x9E3779B1u * inverse;
  std::vector<std::int32_t> features;
  for (std::uint32_t product = 1; features.size() < count; ++product) {
    const std::uint32_t feature = product * inverse;
    if (feature < 0x80000000u) features.push_back(static_cast<std::int32_t>(feature));
  }
  return features;
}

struct Word {
  std::uint32_t word;
  float value;
  bool single;
};

template <class Real>
void compare(const BucketTable<Real>& buckets, const std::map<std::int32_t, Word>& expected,
             const std::vector<std::int32_t>& features) {
  CHECK(buckets.consistent());
  CHECK_EQ(buckets.size(), expected.size());
  for (const std::int32_t feature : features) {
    const std::uint32_t place = buckets.find(feature);
    const auto there = expected.find(feature);
    CHECK_EQ(place == kNoPlace, there == expected.end());
    if (place == kNoPlace) continue;
    CHECK_EQ(buckets[place].example, there->second.word);
    CHECK_EQ(static_cast<float>(buckets[place].value), there->second.value);
    CHECK_EQ(buckets.single(place), there->second.single);
  }
}

// Features enter one by one or together, become words of several examples, and leave in both ways.
template <class Real>
void exercise(const std::vector<std::int32_t>& features) {
  Random random(3);
  BucketTable<Real> buckets;
  std::map<std::int32_t, Word> expected;
  std::uint32_t which[BucketTask<Real>::kMost];
  std::uint32_t places[BucketTask<Real>::kMost];
  std::size_t others_seen = 0;
  for (std::uint32_t round = 0; round < 400; ++round) {
    std::vector<std::int32_t> some;  // unknown and known features
    std::vector<Real> values;
    for (const std::int32_t feature : features) {
      if (some.size() == BucketTask<Real>::kMost || random.below(6) != 0) continue;
      some.push_back(feature);
      values.push_back(static_cast<Real>(round + 1));
    }
    buckets.reserve_more(some.size());
    BucketTask<Real> work = buckets.task(some, values.data(), which, places);
    const std::size_t others = buckets.insert(work, round);
    std::vector<bool> other(some.size(), false);
    for (std::size_t c = 0; c < others; ++c) {
      other[which[c]] = true;
      const std::int32_t feature = some[which[c]];
      CHECK_EQ(places[c] == kNoPlace, !expected.contains(feature));
      if (places[c] == kNoPlace) {
        buckets.insert(feature, true, {round, values[which[c]]});
        expected[feature] = {round, static_cast<float>(values[which[c]]), true};
      } else {
        buckets[places[c]].example = round;
        buckets.set_single(places[c], false);
        expected[feature].word = round;
        expected[feature].single = false;
      }
    }
    others_seen += others;
    for (std::size_t k = 0; k < some.size(); ++k) {
      if (other[k]) continue;
      CHECK(!expected.contains(some[k]));
      expected[some[k]] = {round, static_cast<float>(values[k]), true};
    }
    compare(buckets, expected, features);
    some.clear();
    for (const auto& [feature, word] : expected) {
      if (some.size() < BucketTask<Real>::kMost && random.below(3) == 0) some.push_back(feature);
    }
    work = buckets.task(some, nullptr, which, places);
    const std::size_t left = buckets.erase(work);
    std::size_t singles = 0;
    for (std::size_t c = 0; c < left; ++c) {
      const auto there = expected.find(some[which[c]]);
      singles += there->second.single;  // behind its home bucket
      CHECK_EQ(buckets[places[c]].example, there->second.word);
      buckets.erase(places[c], there->first);
    }
    for (const std::int32_t feature : some) expected.erase(feature);
    compare(buckets, expected, features);
    others_seen += singles;
  }
  CHECK(others_seen > 400);
}

}  // namespace

TEST(buckets_behave_like_a_map) {
  Random random(5);
  std::vector<std::int32_t> features(300);
  for (std::int32_t& feature : features) {
    feature = static_cast<std::int32_t>(random.below(1u << 30));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  exercise<float>(features);
  exercise<double>(features);
}

TEST(buckets_that_are_full_pass_features_on) {
  exercise<float>(neighbours(150));
  exercise<double>(neighbours(90));
}

TEST(buckets_find_only_what_is_there) {
  const std::vector<std::int32_t> features = neighbours(40);
  BucketTable<float> buckets;
  CHECK_EQ(buckets.find(features[0]), kNoPlace);
  buckets.reserve_more(features.size());
  for (std::size_t k = 0; k < 30; ++k) buckets.insert(features[k], false, {7, 0.0f});
  std::uint32_t which[40];
  std::uint32_t places[40];
  const std::vector<float> values(40, 2.0f);
  BucketTask<float> work = buckets.task(features, values.data(), which, places);
  work.norm = 1.0f;
  CHECK_EQ(buckets.find(work), 30u);
  CHECK_EQ(work.norm, 161.0f);
  for (std::uint32_t c = 0; c < 30; ++c) {
    CHECK_EQ(which[c], c);
    CHECK_EQ(places[c], buckets.find(features[c]));
  }
  // A feature that has left is not found again, although its word is still there.
  buckets.erase(places[3], features[3]);
  CHECK_EQ(buckets.find(features[3]), kNoPlace);
  CHECK(buckets.find(features[29]) != kNoPlace);
  CHECK(buckets.consistent());
}
