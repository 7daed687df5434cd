// Features that many examples have, then few, then none.
#include "storage/example_store.hpp"

#include <vector>

#include "tests/harness.hpp"

using namespace budgetron;

namespace {

constexpr std::size_t kExamples = 128;  // a slot from the 5th on; hashed, thin again with 1

// Example i has its own feature and, if it is among the first `common`, the shared one.
struct Example {
  std::vector<std::int32_t> indices;
  std::vector<float> values;

  Example(std::int32_t shared, std::size_t i, bool has_shared) {
    if (has_shared) indices.push_back(shared);
    indices.push_back(shared + 1 + static_cast<std::int32_t>(i));
    for (std::size_t k = 0; k < indices.size(); ++k) {
      values.push_back(static_cast<float>(i + 1) + 0.25f * static_cast<float>(k));
    }
  }
  [[nodiscard]] Sample<float> view() const {
    return {values.data(), indices.data(), indices.size()};
  }
};

void fatten_and_thin_down(std::int32_t shared, bool hashed) {
  ExampleStore<float> support(false);
  support.reserve(kExamples);
  const auto has_slot = [&] { return support.stored(shared).slot != kNoSlot; };
  for (std::size_t i = 0; i < kExamples; ++i) {
    support.append(Example(shared, i, i < 20).view());
    support.check_invariants();
    if (i < 4) CHECK_EQ(support.stored(shared).few.size(), i + 1);
    CHECK_EQ(has_slot(), i >= 4);
  }
  CHECK_EQ(support.listed_values(), kExamples);  // all have a feature of their own
  CHECK_EQ(support.features(), kExamples + 1);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK_EQ(has_slot(), i < 19 || !hashed);
    CHECK_EQ(support.stored(shared).anywhere(), true);
    const float expected = static_cast<float>(i + 1);
    CHECK_EQ(support.value(support.stored(shared), i), expected);
    support.replace(i, Example(shared, i, false).view());
    CHECK_EQ(support.value(support.stored(shared), i), 0.0f);
    support.check_invariants();
  }
  CHECK_EQ(support.stored(shared).anywhere(), false);
  CHECK_EQ(support.features(), kExamples);
  support.replace(3, Example(shared, 3, true).view());
  support.replace(kExamples - 1, Example(shared, 3000, true).view());
  support.remove(0);  // the last moves, with single values and one of two
  support.check_invariants();
  CHECK_EQ(support.value(support.stored(shared), 0), 3001.0f);
  CHECK_EQ(support.value(support.stored(shared), 3), 4.0f);
  while (support.size() > 0) support.remove(support.size() / 2);
  support.check_invariants();
  CHECK_EQ(support.features(), 0u);
}

}  // namespace

TEST(a_feature_has_a_slot_while_many_examples_have_it) {
  fatten_and_thin_down(7, false);
  fatten_and_thin_down(1 << 20, true);
}

// A dense example has all its features, zeros too: they keep their slots as long as it stays.
TEST(a_dense_example_keeps_slots) {
  ExampleStore<float> support(false);
  support.reserve(kExamples);
  const std::vector<float> dense = {0.0f, 2.0f, 0.0f};
  support.append({dense.data(), nullptr, dense.size()});
  for (const std::int32_t shared : {1, 1 << 20}) {
    for (std::size_t i = 1; i < 20; ++i) support.append(Example(shared, i, true).view());
    for (std::size_t i = 19; i > 0; --i) {
      CHECK(support.stored(shared).slot != kNoSlot);
      support.remove(i);
      support.check_invariants();
    }
  }
  CHECK_EQ(support.features(), 3u);
  CHECK(support.stored(1).slot != kNoSlot);
}

// Zeros in a sparse row are not stored.
TEST(zeros_of_sparse_rows_are_left_out) {
  ExampleStore<float> support(false);
  support.reserve(kExamples);
  const std::vector<std::int32_t> indices = {3, 9, 70000, 80000, 90000};
  const std::vector<float> values = {0.0f, 1.0f, 2.0f, 0.0f, 3.0f};
  support.append({values.data(), indices.data(), indices.size()});
  support.check_invariants();
  CHECK_EQ(support.features(), 3u);
  CHECK_EQ(support.stored(80000).anywhere(), false);
  OwnedSample<float> out;
  support.extract(0, out);
  CHECK(out.indices == (std::vector<std::int32_t>{9, 70000, 90000}));
}

// One free slot is enough for one new feature, and so are those that leave with an example.
TEST(a_room_has_as_many_features_as_slots) {
  using Features = std::vector<std::int32_t>;
  const std::vector<float> ones(4, 1.0f);
  const auto row = [&](const Features& features) {
    return Sample<float>{ones.data(), features.data(), features.size()};
  };
  const Features first = {10, 20}, second = {20, 30}, one = {40}, two = {40, 50};
  const Features three = {40, 50, 60}, four = {40, 50, 60, 70};
  for (const bool l1 : {false, true}) {
    ExampleStore<float> support(l1);
    support.reserve_all(4, {.width = 100, .slots = 3});
    support.append(row(first));
    CHECK(support.fits(row(second)));
    CHECK(!support.fits(row(two)));
    support.append(row(second));
    CHECK(!support.fits(row(one)));
    CHECK(support.fits_instead(0, row(one)));
    CHECK(!support.fits_instead(0, row(two)));
    CHECK(support.fits_alone(row(three)));
    CHECK(!support.fits_alone(row(four)));
  }
}
