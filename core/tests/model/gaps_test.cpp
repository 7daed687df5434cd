// Missing values: counts, saved states, damaged states, memory allocated in advance.
#include "model/gaps.hpp"

#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "model/model.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

State saved(GapCounts& gaps) {
  StateVisitor visitor = StateVisitor::saver();
  visitor.part_if(gaps.total() > 0, "gaps", gaps);
  return visitor.take();
}

GapCounts loaded(const State& state) {
  GapCounts gaps;
  StateVisitor visitor = StateVisitor::loader(state);
  visitor.part_if(false, "gaps", gaps);
  visitor.check_all_read();
  return gaps;
}

}  // namespace

TEST(gaps_are_found_and_told_from_infinity) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0.0, 1.0, kGap, inf};
  CHECK(!has_gaps(Sample<double>{values.data(), nullptr, 2}));
  CHECK(has_gaps(Sample<double>{values.data(), nullptr, 3}));
  CHECK(!has_infinity(Sample<double>{values.data(), nullptr, 3}));
  CHECK(has_infinity(Sample<double>{values.data(), nullptr, 4}));
  CHECK(!has_gaps(Sample<double>{}));
}

TEST(a_gap_anywhere_in_a_batch_is_found) {
  const auto found = []<class Real>(std::vector<Real> values) {
    const Sample<Real> rows{values.data(), nullptr, values.size()};
    CHECK(!any_gaps(rows));
    for (Real& value : values) {
      const Real before = value;
      value = std::numeric_limits<Real>::quiet_NaN();
      CHECK(any_gaps(rows));
      value = before;
    }
    CHECK(!any_gaps(rows));
  };
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<float> values(count, 1.0f);
    for (std::size_t k = 0; k < count; k += 5) {
      values[k] = k % 2 == 0 ? 0.0f : std::numeric_limits<float>::infinity();
    }
    found(values);
    found(std::vector<double>(values.begin(), values.end()));
  }
}

TEST(gaps_are_counted_by_feature_up_to_a_number_of_features) {
  GapCounts gaps;
  CHECK(saved(gaps).empty());
  CHECK_EQ(loaded({}).total(), 0);
  const std::vector<double> dense{kGap, 1.0, kGap, 0.0};
  const std::vector<std::int32_t> features{1, 7};
  gaps.count(Sample<double>{dense.data(), nullptr, 4}, 3);
  gaps.count(Sample<double>{dense.data() + 2, features.data(), 2}, 3);
  gaps.count(Sample<double>{dense.data() + 2, features.data() + 1, 1}, 3);
  CHECK_EQ(gaps.total(), 4);
  CHECK(gaps.features() == (std::vector<std::int32_t>{0, 1, 2}));
  CHECK(gaps.counts() == (std::vector<std::int64_t>{1, 1, 1}));
  const GapCounts again = loaded(saved(gaps));
  CHECK_EQ(again.total(), 4);
  CHECK(again.features() == gaps.features());
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{1, 1}, {0, 1, 1}, {3, 1, 1}}) {
    State damaged = saved(gaps);
    damaged["gaps/counts"] = wrong;
    CHECK_THROWS(loaded(damaged), std::invalid_argument);
  }
  State unsorted = saved(gaps);
  unsorted["gaps/features"] = std::vector<std::int32_t>{0, 2, 1};
  CHECK_THROWS(loaded(unsorted), std::invalid_argument);
}

// Features missing during the whole warm-up, one of them then 0, then known: dense equals sparse.
TEST(units_know_zeros_from_gaps) {
  for (const std::int32_t flags : {0, 1 << 30}) {
    Units dense(true, 0, sizeof(double));
    Units sparse(true, 0, sizeof(double));
    dense.set_flags(flags);
    sparse.set_flags(flags);
    Random random(5);
    std::vector<std::vector<double>> rows;
    for (std::size_t t = 0; t < 460; ++t) {
      const double last = t < 230 ? kGap : t < 260 ? 0.0 : 40.0 + random.uniform();
      const double late = t < 240 ? kGap : 7.0 + random.uniform();
      rows.push_back({random.uniform(), 1000.0 * random.uniform(), late, t % 7 == 0 ? kGap : last});
    }
    std::vector<OwnedSample<double>> kept(rows.size());
    std::vector<Sample<double>> whole;
    std::vector<Sample<double>> thin;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      for (std::int32_t j = 0; j < 4; ++j) {
        const double value = rows[t][static_cast<std::size_t>(j)];
        if (value == 0.0) continue;
        kept[t].values.push_back(value);
        kept[t].indices.push_back(j);
      }
      whole.push_back({rows[t].data(), nullptr, 4});
      thin.push_back(kept[t].view());
    }
    dense.start(std::span<const Sample<double>>(whole.data(), 200));
    sparse.start(std::span<const Sample<double>>(thin.data(), 200));
    OwnedSample<double> one;
    OwnedSample<double> other;
    for (std::size_t t = 200; t < rows.size(); ++t) {
      const bool gaps = has_gaps(whole[t]);
      const Sample<double> a = gaps ? dense.transform_gaps(whole[t], one) : whole[t];
      const Sample<double> b = gaps ? sparse.transform_gaps(thin[t], other) : thin[t];
      CHECK_EQ(squared_distance(a, b), 0.0);
      CHECK(!has_gaps(a));
      if (gaps && flags > 0) CHECK(b.feature(b.count - 1) >= flags + 2);
      CHECK_EQ(dense.count(whole[t], gaps), sparse.count(thin[t], gaps));
    }
    StateVisitor first = StateVisitor::saver();
    StateVisitor second = StateVisitor::saver();
    dense.visit_state(first);
    sparse.visit_state(second);
    const State state = first.take();
    CHECK(state == second.take());
    // Never 0: its share is 1, although it was missing at first.
    const auto& numbers = std::get<std::vector<double>>(state.at("numbers"));
    CHECK_EQ(numbers[2 * numbers.size() / 4], std::get<std::vector<double>>(state.at("total"))[0]);
  }
}
