// Scaling and warm-up: the statistics, the replay, and damaged states.
#include "model/preparation.hpp"

#include <limits>

#include "base/median.hpp"
#include "model/model.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

Spec perceptron(double gamma) {
  auto kernel = std::make_shared<Spec>();
  kernel->set("kind", std::string("rbf"));
  kernel->set("gamma", gamma);
  auto update = std::make_shared<Spec>();
  update->set("kind", std::string("perceptron"));
  auto budget = std::make_shared<Spec>();
  budget->set("kind", std::string("unlimited"));
  Spec spec;
  spec.set("kind", std::string("round"));
  spec.set("kernel", kernel);
  spec.set("update", update);
  spec.set("budget", budget);
  spec.set("radius", std::numeric_limits<double>::infinity());
  return spec;
}

constexpr std::size_t kWidth = 3;

// `rows` rows of features with deviations of about 1, 10 and 0.
std::vector<float> uneven(std::size_t rows) {
  Random random(4);
  std::vector<float> values;
  for (std::size_t i = 0; i < rows; ++i) {
    values.push_back(static_cast<float>(4.0 * random.uniform()));
    values.push_back(static_cast<float>(40.0 * random.uniform()));
    values.push_back(5.0f);
  }
  return values;
}

}  // namespace

TEST(scaler_counts_zeros_written_out_or_left_out_alike) {
  const std::vector<double> column{3.0, 0.0, 5.0, 0.0, 0.0, 4.0};  // mean 2, deviation sqrt(13/3)
  const std::int32_t zero = 0;
  Scaler dense;
  Scaler sparse;
  for (const double& value : column) {
    dense.count(Sample<double>{&value, nullptr, 1});
    sparse.count(Sample<double>{&value, &zero, value == 0.0 ? std::size_t{0} : std::size_t{1}});
  }
  const double probe = 2.0;
  OwnedSample<double> one;
  OwnedSample<double> other;
  const double scaled = dense.transform(Sample<double>{&probe, nullptr, 1}, one).values[0];
  CHECK_EQ(scaled * dense.size(0), probe);
  CHECK_EQ(dense.mean(0), 2.0);
  CHECK_EQ(sparse.mean(0), 2.0);
  CHECK(std::isinf(dense.size(1)) && dense.mean(1) == 0.0);
  CHECK_EQ(scaled, sparse.transform(Sample<double>{&probe, &zero, 1}, other).values[0]);
  CHECK(std::abs(scaled - 2.0 / std::sqrt(26.0 / 6.0)) < 1e-15);
}

TEST(scaler_maps_what_has_no_variance_to_zero) {
  Scaler scaler;
  OwnedSample<float> out;
  const float value = 0.1f;
  const std::int32_t feature = 70000;  // too large for the plain array of slots
  const Sample<float> x{&value, &feature, 1};
  CHECK_EQ(scaler.transform(x, out).count, 0u);
  for (int i = 0; i < 1000; ++i) scaler.count(x);
  CHECK_EQ(scaler.transform(x, out).count, 0u);
  CHECK_EQ(scaler.transform(Sample<float>{&value, nullptr, 1}, out).values[0], 0.0f);
}

TEST(scaler_keeps_what_it_settled_on_and_lets_no_late_feature_drown_the_rest) {
  Scaler scaler;
  const auto scaled = [&](std::int32_t feature, double value) {
    OwnedSample<double> out;
    const Sample<double> x = scaler.transform(Sample<double>{&value, &feature, 1}, out);
    return x.count == 0 ? 0.0 : x.values[0];
  };
  const auto count = [&](std::vector<double> row) {
    scaler.count(Sample<double>{row.data(), nullptr, row.size()});
  };
  count({10.0, 300.0});
  count({-10.0, 300.0});
  // The state of a model file of "auto" before format 4.
  StateVisitor saver = StateVisitor::saver();
  scaler.visit_state(saver);
  State state = saver.take();
  state["deviations"] = std::vector<double>{10.0, 0.0};
  StateVisitor loader = StateVisitor::loader(state);
  scaler.visit_state(loader);
  CHECK_EQ(scaled(0, 5.0), 0.5);
  CHECK_EQ(scaled(1, 300.0), 1.0);  // constant: divided by its root mean square
  CHECK_EQ(scaled(2, 1.0), 1.0);    // never seen
  CHECK_EQ(scaled(2, 1e30), 1e15);
  for (int i = 0; i < 2; ++i) count({1000.0, 300.0, 1.0, 80.0});
  CHECK_EQ(scaled(0, 5.0), 0.5);
  CHECK_EQ(scaled(2, 1.0), 1.0);  // a flag stays a flag
  CHECK(std::abs(scaled(3, 80.0) - std::sqrt(2.0)) < 1e-15);
}

TEST(median_of_odd_even_and_none) {
  std::vector<double> odd{3.0, 1.0, 2.0};
  std::vector<double> even{4.0, 1.0, 3.0, 2.0};
  CHECK_EQ(median(odd), 2.0);
  CHECK_EQ(median(even), 2.5);
  CHECK_EQ(median({}), 0.0);
}

TEST(distances_of_dense_and_sparse_rows_are_the_same) {
  const std::vector<float> a{1.0f, 0.0f, 2.0f, 0.0f};
  const std::vector<float> b{0.0f, 0.5f, 3.0f, 0.0f};
  const std::vector<float> values{0.5f, 3.0f};
  const std::vector<std::int32_t> indices{1, 2};
  const Sample<float> dense{a.data(), nullptr, 4};
  CHECK_EQ(squared_distance(dense, Sample<float>{b.data(), nullptr, 4}), 2.25);
  CHECK_EQ(squared_distance(dense, Sample<float>{values.data(), indices.data(), 2}), 2.25);
  CHECK_EQ(squared_distance(Sample<float>{values.data(), indices.data(), 2}, dense), 2.25);
}

// The median distance of kept rows, dense or sparse, with and without a limit of memory.
TEST(median_distance_is_that_of_all_pairs_of_shown_rows) {
  constexpr std::size_t width = 5;
  const auto twice = [](const Sample<double>& x, OwnedSample<double>& out) {
    out.values.assign(x.values, x.values + x.count);
    for (double& value : out.values) value *= 2.0;
    if (!x.dense()) out.indices.assign(x.indices, x.indices + x.count);
    out.dense = x.dense();
    return out.view();
  };
  for (const std::size_t rows : {1u, 2u, 16u, 17u, 33u, 60u}) {
    for (const bool repeats : {false, true}) {  // two rows of three are equal
      Random random(6);
      std::vector<double> values;
      for (std::size_t i = 0; i < rows * width; ++i) {
        const bool equal = repeats && i / width % 3 != 1;
        values.push_back(equal ? 0.5 : random.below(3) == 0 ? 0.0 : random.uniform());
      }
      std::vector<std::int32_t> indices;
      std::vector<double> nonzeros;
      std::vector<std::size_t> ends{0};
      for (std::size_t i = 0; i < rows * width; ++i) {
        if (values[i] != 0.0) {
          indices.push_back(static_cast<std::int32_t>(i % width));
          nonzeros.push_back(values[i]);
        }
        if (i % width == width - 1) ends.push_back(nonzeros.size());
      }
      const auto row = [&](std::size_t i, bool dense) {
        if (dense) return Sample<double>{values.data() + i * width, nullptr, width};
        return Sample<double>{nonzeros.data() + ends[i], indices.data() + ends[i],
                              ends[i + 1] - ends[i]};
      };
      std::vector<double> distances;
      for (std::size_t i = 1; i < rows; ++i) {
        if (repeats && rows > 2 && i % 3 != 1) continue;  // equal to row 0
        for (std::size_t j = 0; j < i; ++j) {
          if (repeats && rows > 2 && j > 0 && j % 3 != 1) continue;
          const double distance = 4.0 * squared_distance(row(i, true), row(j, true));
          if (distance != 0.0) distances.push_back(distance);
        }
      }
      const double expected = median(distances);
      for (const int layout : {0, 1, 2}) {  // sparse, dense, in turn
        for (const bool limited : {false, true}) {
          Warmup<double> warmup(2);
          if (limited) warmup.reserve(rows, rows * width, 0, true);
          for (std::size_t i = 0; i < rows; ++i) {
            warmup.add(row(i, layout == 2 ? i % 2 == 0 : layout == 1), 0.0, 1.0);
          }
          CHECK_EQ(warmup.median_squared_distance(twice), expected);
        }
      }
    }
  }
}

TEST(preparation_resumes_in_mid_warm_up_and_refuses_a_damaged_state) {
  const std::vector<float> values = uneven(260);
  std::vector<double> targets;
  for (std::size_t i = 0; i < 260; ++i) targets.push_back(static_cast<double>(i % 3 == 0));
  const auto rows = [&](std::size_t from, std::size_t to) {
    Batch<float> some;
    some.count = to - from;
    some.width = kWidth;
    some.targets = targets.data() + from;
    some.values = values.data() + from * kWidth;
    return some;
  };
  const PreparationRules rules{"auto", "median", kWidth};
  Model<float> whole(perceptron(1.0 / 3.0), Task::classification, 2, 0, false, rules);
  whole.learn(rows(0, 260));
  CHECK_EQ(whole.counts().seen, 260);
  CHECK_EQ(std::string(whole.preparation()->scale()), std::string("standard"));
  for (const std::size_t cut : {1u, 2u, 5u, 150u, 200u, 230u}) {
    Model<float> half(perceptron(1.0 / 3.0), Task::classification, 2, 0, false, rules);
    half.learn(rows(0, cut));
    Model<float> resumed(perceptron(1.0 / 3.0), Task::classification, 2, 7, false, rules);
    resumed.load(half.save());
    resumed.learn(rows(cut, 260));
    CHECK(whole.save() == resumed.save());
    CHECK_EQ(whole.gamma(), resumed.gamma());
    if (cut == 150) {
      State cut_short = half.save();
      cut_short["preparation/warmup/targets"] = std::vector<double>{1.0};
      CHECK_THROWS(resumed.load(cut_short), std::invalid_argument);
      State mixed = half.save();
      mixed["preparation/units/numbers"] = std::vector<double>{1.0};
      CHECK_THROWS(resumed.load(mixed), std::invalid_argument);
    }
    if (cut == 230) {
      const auto numbers = std::get<std::vector<double>>(half.save()["preparation/units/numbers"]);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        State damaged = half.save();
        auto wrong = numbers;
        wrong[i] = std::numeric_limits<double>::quiet_NaN();
        damaged["preparation/units/numbers"] = wrong;
        CHECK_THROWS(resumed.load(damaged), std::invalid_argument);
      }
      State marked = half.save();
      marked["preparation/units/marks"] = std::vector<std::int64_t>(12 * kWidth, 201);
      CHECK_THROWS(resumed.load(marked), std::invalid_argument);
    }
  }
}

TEST(preparation_refuses_rules_it_does_not_know) {
  const auto make = [](const PreparationRules& rules) {
    Model<float> model(perceptron(1.0), Task::classification, 2, 0, false, rules);
  };
  CHECK_THROWS(make({"wide", "fixed", 1}), std::invalid_argument);
  CHECK_THROWS(make({"none", "mean", 1}), std::invalid_argument);
}

namespace {

// Rows of three features; the unit of the last one changes at row `when` by a factor of 1,000.
std::vector<double> jumping(std::size_t rows, std::size_t when) {
  Random random(9);
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i) {
    values.push_back(random.uniform() - 0.5);
    values.push_back(random.uniform() - 0.5);
    values.push_back((40.0 * random.uniform() - 19.0) * (i < when ? 1.0 : 1000.0));
  }
  return values;
}

}  // namespace

TEST(units_follow_a_jump_and_stored_examples_keep_their_meaning) {
  const std::vector<double> values = jumping(2600, 2000);
  std::vector<Sample<double>> rows;
  for (std::size_t i = 0; i < 2600; ++i) rows.push_back({values.data() + 3 * i, nullptr, 3});
  Units units(true, 0, 8);
  units.start(std::span<const Sample<double>>(rows).first(200));
  CHECK(units.uneven());
  OwnedSample<double> before;
  OwnedSample<double> converted;
  for (std::size_t i = 200; i < 2600; ++i) {
    if (i == 300) units.transform(rows[i], before);
    if (!units.count(rows[i])) continue;
    if (units.changes() == 0) units.convert(before.view(), converted, true, true);
    units.commit();
  }
  CHECK(units.changes() > 0);
  if (units.changes() == 0) return;
  CHECK(std::abs(converted.values[2] - before.values[2]) < 1e-12);
  OwnedSample<double> after;
  units.transform(rows[2500], after);
  CHECK(std::abs(after.values[2]) < 3.0);
}

TEST(units_of_sparse_rows_are_those_of_dense_ones) {
  const std::vector<double> values = jumping(200, 400);
  const std::vector<std::int32_t> indices{0, 1, 2};
  Units dense(true, 0, 8);
  Units sparse(true, 0, 8);
  std::vector<Sample<double>> rows;
  std::vector<Sample<double>> thin;
  for (std::size_t i = 0; i < 200; ++i) {
    rows.push_back({values.data() + 3 * i, nullptr, 3});
    thin.push_back({values.data() + 3 * i, indices.data(), 3});
  }
  dense.start(std::span<const Sample<double>>(rows));
  sparse.start(std::span<const Sample<double>>(thin));
  const double zeros[] = {0.25, 0.25, 0.0};
  OwnedSample<double> one;
  OwnedSample<double> other;
  const Sample<double> x = dense.transform(Sample<double>{zeros, nullptr, 3}, one);
  const Sample<double> y = sparse.transform(Sample<double>{zeros, indices.data(), 2}, other);
  CHECK_EQ(y.count, 3u);  // the centre of the last feature is not 0
  for (std::size_t j = 0; j < y.count; ++j) CHECK_EQ(x.values[j], y.values[j]);
}
