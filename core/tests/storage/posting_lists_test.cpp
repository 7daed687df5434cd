#include "storage/posting_lists.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

// Lists that grow and shrink, against maps; lists in use and free pieces are all memory there is.
TEST(lists_behave_like_maps) {
  Random random(11);
  PostingLists<double> lists;
  std::vector<std::uint32_t> known(30, kNoList);
  std::vector<std::map<std::uint32_t, double>> expected(known.size());
  std::size_t most = 0;
  for (std::uint32_t round = 0; round < 6000; ++round) {
    const std::size_t k = random.below(known.size());
    const auto example = static_cast<std::uint32_t>(random.below(round % 2000 < 1000 ? 60 : 8));
    if (expected[k].erase(example) > 0) {
      lists.pop(known[k], example);
    } else {
      lists.push(known[k], example, 0.5 * round);
      expected[k][example] = 0.5 * round;
    }
    most = std::max(most, expected[k].size());
    CHECK_EQ(known[k] == kNoList, expected[k].empty());
    if (known[k] == kNoList) continue;
    CHECK_EQ(lists.count(known[k]), expected[k].size());
    for (const auto& [of, value] : lists[known[k]]) CHECK_EQ(expected[k].at(of), value);
    CHECK_EQ(lists.find(known[k], lists[known[k]].back().example), &lists[known[k]].back());
    if (round % 100 != 0) continue;
    std::size_t capacity = lists.unused();
    for (const std::uint32_t list : known) capacity += list == kNoList ? 0 : lists.capacity(list);
    CHECK_EQ(capacity, lists.size());
  }
  CHECK(most > 30);
  CHECK(lists.size() < 4 * known.size() * most);
}
