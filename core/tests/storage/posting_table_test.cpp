#include "storage/posting_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

constexpr std::uint32_t kSlot = Bucket<float>::kSlot;

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

template <class Real>
BucketTask<Real> task_of(const std::vector<std::int32_t>& features,
                         const std::vector<Real>& values = {}) {
  BucketTask<Real> task;
  task.count = features.size();
  std::copy(features.begin(), features.end(), task.features);
  std::iota(task.numbers, task.numbers + features.size(), 0u);
  task.values = values.data();
  task.values_count = values.size();
  return task;
}

// feature -> owner (example, or slot + kSlot) -> value
using Expected = std::map<std::int32_t, std::map<std::uint32_t, float>>;

template <class Real>
void compare(const PostingTable<Real>& table, const Expected& expected,
             const std::vector<std::int32_t>& features) {
  CHECK(table.consistent());
  std::size_t entries = 0;
  std::size_t postings = 0;
  for (const std::int32_t feature : features) {
    std::map<std::uint32_t, float> found;
    table.visit(feature, [&](const auto& entry) {
      postings += !entry.is_slot();
      CHECK(found.emplace(entry.example(), static_cast<float>(entry.value())).second);
      CHECK_EQ(entry.is_slot(), entry.example() >= kSlot);
      if (entry.is_slot()) CHECK_EQ(entry.slot(), 7u);
    });
    entries += found.size();
    const auto there = expected.find(feature);
    CHECK(found == (there == expected.end() ? std::map<std::uint32_t, float>{} : there->second));
  }
  CHECK_EQ(table.size(), entries);
  CHECK_EQ(table.postings(), postings);
}

// Examples enter and leave, all their features together; a feature with `most` postings gets a
// slot, which it has for some rounds.
template <class Real>
void exercise(const std::vector<std::int32_t>& features) {
  constexpr std::uint32_t most = 5;
  Random random(3);
  PostingTable<Real> table;
  Expected expected;
  std::map<std::uint32_t, std::vector<std::int32_t>> examples;
  std::size_t overflows = 0;
  std::size_t slots = 0;
  for (std::uint32_t example = 0; example < 400; ++example) {
    std::vector<std::int32_t> some;
    std::vector<Real> values;
    for (const std::int32_t feature : features) {
      if (some.size() == BucketTask<Real>::kMost || random.below(3) != 0) continue;
      some.push_back(feature);
      values.push_back(static_cast<Real>(example + some.size()));
    }
    table.reserve_more(some.size());
    BucketTask<Real> work = task_of(some, values);
    Real norms[2] = {};  // ||x||^2 and ||x||_1
    for (const Real value : values) {
      norms[0] += value * value;
      norms[1] += value;
    }
    for (const std::size_t norm : {1, 0}) {
      work.norm = Real(0);
      table.find(work, norm);
      CHECK_EQ(work.norm, norms[norm]);
    }
    const std::size_t others = table.insert(work, example, most);
    std::vector<bool> other(some.size(), false);
    for (std::size_t c = 0; c < others; ++c) {
      const std::int32_t feature = some[work.which[c]];
      other[work.which[c]] = true;
      auto& there = expected[feature];
      if (there.size() < most && !there.contains(kSlot + 7)) {  // its home bucket is full
        table.insert(feature, example, values[work.which[c]]);
        there[example] = static_cast<float>(values[work.which[c]]);
        examples[example].push_back(feature);
        ++overflows;
      } else if (there.size() == most) {
        table.visit(feature, work.matches[c], [&](const auto& entry) { table.erase(entry); });
        table.insert(feature, kSlot + 7, Real(0));
        there = {{kSlot + 7, 0.0f}};
        ++slots;
      }
    }
    for (std::size_t k = 0; k < some.size(); ++k) {
      if (other[k]) continue;
      auto& there = expected[some[k]];
      CHECK(there.size() < most && !there.contains(kSlot + 7));
      there[example] = static_cast<float>(values[k]);
      examples[example].push_back(some[k]);
    }
    compare(table, expected, features);
    if (example < 7) continue;
    // The oldest example leaves; its features with a slot are not in the table.
    const std::uint32_t oldest = examples.begin()->first;
    work = task_of<Real>(examples[oldest]);
    const std::size_t left = table.erase(work, oldest);
    for (std::size_t c = 0; c < left; ++c) {
      table.visit(examples[oldest][work.which[c]], work.matches[c], [&](const auto& entry) {
        if (entry.example() == oldest) table.erase(entry);
      });
    }
    for (const std::int32_t feature : examples[oldest]) expected[feature].erase(oldest);
    examples.erase(oldest);
    compare(table, expected, features);
    if (example % 50 != 0) continue;
    for (auto& [feature, there] : expected) {
      if (!there.contains(kSlot + 7)) continue;
      table.visit(feature, [&](const auto& entry) { table.erase(entry); });
      there.clear();
    }
    compare(table, expected, features);
  }
  CHECK(slots > 50);
  CHECK(overflows > (features.size() < 200 ? 100u : 0u));
}

}  // namespace

TEST(postings_behave_like_a_multimap) {
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

TEST(buckets_that_are_full_pass_postings_on) {
  exercise<float>(neighbours(150));
  exercise<double>(neighbours(90));
}

TEST(buckets_find_only_what_is_there) {
  const std::vector<std::int32_t> features = neighbours(40);
  PostingTable<float> table;
  table.visit(features[0], [](const auto&) { CHECK(false); });
  table.reserve_more(features.size());
  for (std::size_t k = 0; k < 30; ++k) table.insert(features[k], 7, 1.0f);
  const std::vector<float> values(50, -2.0f);
  BucketTask<float> work = task_of(features, values);  // more values than features
  work.norm = 1.0f;
  table.find(work, 1);
  CHECK_EQ(work.norm, 101.0f);
  work.norm = 1.0f;
  const std::size_t found = table.find(work, 0);
  CHECK_EQ(work.norm, 201.0f);
  std::vector<std::int32_t> there;
  for (std::size_t c = 0; c < found; ++c) {
    const std::int32_t feature = features[work.which[c]];
    table.visit(feature, work.matches[c], [&](const auto&) { there.push_back(feature); });
  }
  CHECK(there == std::vector<std::int32_t>(features.begin(), features.begin() + 30));
  // A feature that has left is not found again, although its number is still there.
  table.visit(features[3], [&](const auto& entry) { table.erase(entry); });
  table.visit(features[3], [](const auto&) { CHECK(false); });
  CHECK(table.consistent());
}

// Entries that left may have passed every bucket: a search ends all the same.
TEST(a_search_ends_although_every_bucket_was_passed) {
  PostingTable<float> table;
  table.reserve_more(16);  // two buckets
  std::int32_t homes[2] = {};
  for (std::int32_t feature = 70000; homes[0] == 0 || homes[1] == 0; ++feature) {
    homes[bucket_of(feature, 2)] = feature;
  }
  for (std::uint32_t i = 0; i < 15; ++i) table.insert(homes[0], i, 1.0f);  // one goes on
  for (std::uint32_t i = 0; i < 13; ++i) table.insert(homes[1], i, 1.0f);
  const auto erase = [&](std::int32_t feature, std::uint32_t example) {
    table.visit(feature, [&](const auto& entry) {
      if (entry.example() == example) table.erase(entry);
    });
  };
  erase(homes[0], 0);
  table.insert(homes[1], 13, 1.0f);  // its bucket is full: it goes on too
  std::size_t found = 0;
  for (const std::int32_t feature : homes) table.visit(feature, [&](const auto&) { ++found; });
  CHECK_EQ(found, 28u);
  table.visit(5, [&](const auto&) { ++found; });
  CHECK_EQ(found, 28u);
  CHECK(table.consistent());
}

// A slot whose number is that of an example is no posting of it.
TEST(buckets_do_not_confuse_slots_and_examples) {
  PostingTable<float> table;
  table.reserve_more(1);
  const std::int32_t feature = 70000;
  table.insert(feature, kSlot + 3, 0.0f);
  CHECK_EQ(table.postings(), 0u);
  BucketTask<float> work = task_of<float>({feature});
  CHECK_EQ(table.erase(work, 3), 1u);
  std::size_t slots = 0;
  table.visit(feature, [&](const auto& entry) { slots += entry.is_slot() && entry.slot() == 3; });
  CHECK_EQ(slots, 1u);
}
