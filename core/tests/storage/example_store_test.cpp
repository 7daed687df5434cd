// Stored examples in both layouts: features that many examples have, then few, then none; rows of
// the other layout; byte limits.
#include "storage/example_store.hpp"

#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "hypothesis/saved_examples.hpp"
#include "storage/dense_store.hpp"
#include "storage/limited_store.hpp"

#include "tests/harness.hpp"

using namespace budgetron;

namespace {

constexpr std::size_t kSmall = 1u << 16;  // larger feature numbers are hashed
constexpr std::size_t kExamples = 240;    // a slot from the 5th on

// Example i has its own feature and, if i is below `common`, the shared one.
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

// How many features at least one example has.
template <class Real>
std::size_t features_of(const ExampleStore<Real>& store) {
  std::set<std::int32_t> features;
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < store.size(); ++i) {
    store.extract(i, sample);
    for (std::size_t k = 0; k < sample.values.size(); ++k) {
      if (sample.values[k] != Real(0)) features.insert(sample.view().feature(k));
    }
  }
  return features.size();
}

void give_to_many_and_take_away(std::int32_t shared) {
  SparseStore<float> support(false);
  support.reserve(kExamples);
  const auto has_slot = [&] { return support.stored(shared).slot != kNoSlot; };
  for (std::size_t i = 0; i < kExamples; ++i) {
    support.append(Example(shared, i, i < 20).view());
    support.check_invariants();
    CHECK_EQ(has_slot(), i >= 4);
    // Every example has a feature of its own.
    CHECK_EQ(support.postings(), i + 1 + (i < 4 ? i + 1 : 0));
  }
  CHECK_EQ(features_of(support), kExamples + 1);
  // The slot stays until no example has the feature.
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK_EQ(has_slot(), true);
    CHECK_EQ(support.stored(shared).anywhere, true);
    const float expected = static_cast<float>(i + 1);
    CHECK_EQ(support.value(support.stored(shared), i), expected);
    support.replace(i, Example(shared, i, false).view());
    CHECK_EQ(support.value(support.stored(shared), i), 0.0f);
    support.check_invariants();
  }
  CHECK_EQ(support.stored(shared).anywhere, false);
  CHECK_EQ(features_of(support), kExamples);
  support.replace(3, Example(shared, 3, true).view());
  support.replace(kExamples - 1, Example(shared, 3000, true).view());
  support.remove(0);  // the last example moves, with a posting of its own and one of two
  support.check_invariants();
  CHECK_EQ(support.value(support.stored(shared), 0), 3001.0f);
  CHECK_EQ(support.value(support.stored(shared), 3), 4.0f);
  while (support.size() > 0) support.remove(support.size() / 2);
  support.check_invariants();
  CHECK_EQ(features_of(support), 0u);
}

}  // namespace

TEST(a_feature_has_a_slot_while_many_examples_have_it) {
  give_to_many_and_take_away(7);
  give_to_many_and_take_away(1 << 20);
}

// The last example moves when another leaves: its features get no slots.
TEST(a_moved_example_keeps_its_postings) {
  SparseStore<float> support(false);
  support.reserve(48);  // a slot from the second example on
  for (std::size_t i = 0; i < 48; ++i) support.append(Example(100000, 2 * i, false).view());
  for (std::size_t i = 48; i < 200; ++i) {
    support.remove(i % 48);
    support.check_invariants();
    support.append(Example(100000, 2 * i, false).view());
  }
  CHECK_EQ(support.postings(), 48u);
  CHECK_EQ(support.columns().slots(), 0u);
}

// Examples with more features than are looked up at once: they get slots, leave, and come again.
TEST(slots_are_used_again_by_other_features) {
  constexpr std::size_t features = 420, examples = 12;
  for (const std::int32_t first : {3, 70000}) {
    SparseStore<float> support(false);
    support.reserve(kExamples);
    OwnedSample<float> out;
    std::size_t slots = 0;
    for (const std::int32_t move : {0, 1, 500}) {
      std::vector<std::int32_t> indices(features);
      for (std::size_t k = 0; k < features; ++k)
        indices[k] = first + move + 31 * static_cast<int>(k);
      std::vector<std::vector<float>> rows;
      for (std::size_t i = 0; i < examples; ++i) {
        rows.emplace_back(features);
        for (std::size_t k = 0; k < features; ++k) {
          rows[i][k] = static_cast<float>(1 + k + 1000 * i) + 0.5f * static_cast<float>(move);
        }
        support.append({rows[i].data(), indices.data(), features});
        CHECK_EQ(support.postings(), i < 4 ? (i + 1) * features : 0u);
        support.check_invariants();
      }
      for (std::size_t i = 0; i < examples; ++i) {
        support.extract(i, out);
        CHECK(out.indices == indices);
        CHECK(out.values == rows[i]);
      }
      if (slots == 0) slots = support.columns().slots();
      CHECK_EQ(support.columns().slots(), slots);
      while (support.size() > 0) {
        support.remove(0);
        support.check_invariants();
      }
    }
  }
}

// What a row and each example have in common, added in the order of the features: x s, or with the
// Laplacian kernel |x - s| - |s|.
template <class Real>
std::vector<Real> common(const ExampleStore<Real>& store, const RowTerms<Real>& row, bool l1) {
  std::vector<Real> sums(store.size(), Real(0));
  const auto add = [&](std::size_t i, Real x, Real s) {
    sums[i] += l1 ? std::abs(x - s) - std::abs(s) : x * s;
  };
  std::size_t h = 0;
  for (std::size_t t = 0; t <= row.terms; ++t) {
    for (; h < row.hit_count && row.hits[h].term == t; ++h) {
      add(row.hits[h].example, row.hits[h].value, row.hits[h].stored);
    }
    for (std::size_t i = 0; i < store.size() && t < row.terms; ++i) {
      add(i, row.term_values[t], store.columns().at(row.term_slots[t], i));
    }
  }
  return sums;
}

// Rows of both layouts enter both stores, and each example and row has the same bits in both. The
// last features are hashed.
template <class Real>
void compare_layouts(bool l1) {
  constexpr std::size_t width = kSmall + 3;
  const std::vector<std::int32_t> features = {0, 1, 5, 9, kSmall, kSmall + 2};
  const std::unique_ptr<ExampleStore<Real>> stores[] = {make_store<Real>(true, l1),
                                                        make_store<Real>(false, l1)};
  CHECK(stores[0]->dense());
  CHECK(!stores[1]->dense());
  Random random(9);
  OwnedSample<Real> out;
  RowTerms<Real> rows[2];
  std::vector<std::int32_t> listed;
  for (std::size_t round = 0; round < 30; ++round) {
    std::vector<Real> dense(width, Real(0));
    std::vector<std::int32_t> indices;
    std::vector<Real> values;
    for (const std::int32_t feature : features) {
      if (random.below(3) == 0) continue;
      indices.push_back(feature);
      values.push_back(static_cast<Real>(random.uniform() - 0.5));
      dense[static_cast<std::size_t>(feature)] = values.back();
    }
    const Sample<Real> whole{dense.data(), nullptr, width};
    const Sample<Real> thin{values.data(), indices.data(), indices.size()};
    const std::size_t i = random.below(20);
    for (std::size_t s = 0; s < 2; ++s) {
      ExampleStore<Real>& store = *stores[s];
      const Sample<Real>& x = (round + s) % 3 == 0 ? whole : thin;
      if (i < store.size() && round % 7 == 0) {
        store.remove(i);
      } else if (i < store.size()) {
        store.replace(i, x);
      } else {
        store.append(x);
      }
      store.check_invariants();
      store.gather(round % 2 == 0 ? whole : thin, rows[s]);
    }
    CHECK_EQ(stores[0]->size(), stores[1]->size());
    CHECK_EQ(features_of(*stores[0]), features_of(*stores[1]));
    CHECK_EQ(rows[0].norm, rows[1].norm);
    CHECK(common(*stores[0], rows[0], l1) == common(*stores[1], rows[1], l1));
    for (std::size_t e = 0; e < stores[0]->size(); ++e) {
      CHECK_EQ(stores[0]->norms()[e], stores[1]->norms()[e]);
    }
    for (std::size_t e = 0; e < stores[0]->size(); ++e) {
      stores[1]->extract(e, out);
      for (std::size_t k = 0; k < out.values.size(); ++k) {
        const auto there = stores[0]->stored(out.indices[k]);
        CHECK_EQ(stores[0]->value(there, e), out.values[k]);
      }
    }
    for (const bool squared : {true, false}) {
      Real sums[2][64];
      for (std::size_t s = 0; s < 2; ++s) {
        stores[s]->add_differences(s == 0 ? thin : whole, squared, 0, 32, sums[s], listed);
      }
      for (std::size_t e = 0; e < stores[0]->size(); ++e) CHECK_EQ(sums[0][e], sums[1][e]);
    }
  }
}

TEST(layouts_store_the_same) {
  compare_layouts<float>(false);
  compare_layouts<double>(true);
}

// Each store can load what the other saves.
TEST(a_saved_layout_is_no_promise) {
  SparseStore<double> sparse(false);
  for (std::size_t i = 0; i < 5; ++i) {
    const Example example(3, i, i < 2);
    const std::vector<double> values(example.values.begin(), example.values.end());
    sparse.append({values.data(), example.indices.data(), values.size()});
  }
  DenseStore<double> dense(false);
  using Saved = SavedExamples<double>;
  Saved(sparse).load_into(dense);
  dense.check_invariants();
  CHECK(Saved(dense).dense());
  SparseStore<double> again(false);
  Saved(dense).load_into(again);
  again.check_invariants();
  CHECK(Saved(again).indices == Saved(sparse).indices);
  CHECK(Saved(again).values == Saved(sparse).values);
}

// A sparse row that has as many values as the matrix has features need not have the same ones.
TEST(a_matrix_keeps_nothing_of_a_replaced_example) {
  DenseStore<float> support(false);
  const std::vector<float> values = {2.0f, 3.0f};
  const std::vector<std::int32_t> indices = {1, 5};
  support.append({values.data(), nullptr, 2});
  support.replace(0, {values.data(), indices.data(), 2});
  support.check_invariants();
  CHECK_EQ(support.value(support.stored(0), 0), 0.0f);
  CHECK_EQ(support.value(support.stored(1), 0), 2.0f);
  CHECK_EQ(support.value(support.stored(5), 0), 3.0f);
}

// Zeros in a sparse row are not stored.
TEST(zeros_of_sparse_rows_are_left_out) {
  SparseStore<float> support(false);
  support.reserve(kExamples);
  const std::vector<std::int32_t> indices = {3, 9, 70000, 80000, 90000};
  const std::vector<float> values = {0.0f, 1.0f, 2.0f, 0.0f, 3.0f};
  support.append({values.data(), indices.data(), indices.size()});
  support.check_invariants();
  CHECK_EQ(features_of(support), 3u);
  CHECK_EQ(support.stored(80000).anywhere, false);
  OwnedSample<float> out;
  support.extract(0, out);
  CHECK(out.indices == (std::vector<std::int32_t>{9, 70000, 90000}));
}

// One free slot is enough for one new feature, and so are the slots that an example frees.
TEST(a_byte_limit_has_as_many_features_as_slots) {
  using Features = std::vector<std::int32_t>;
  const std::vector<float> ones(4, 1.0f);
  const auto row = [&](const Features& features) {
    return Sample<float>{ones.data(), features.data(), features.size()};
  };
  const Features first = {10, 20}, second = {20, 30}, one = {40}, two = {40, 50};
  const Features three = {40, 50, 60}, four = {40, 50, 60, 70};
  for (const bool l1 : {false, true}) {
    LimitedStore<float> support(l1, {.width = 100, .slots = 3});
    support.reserve(4);
    support.append(row(first));
    CHECK(support.fits(row(second)));
    CHECK(!support.fits(row(two)));
    support.append(row(second));
    CHECK(!support.fits(row(one)));
    support.remove(0);
    CHECK(support.fits(row(one)));
    CHECK(!support.fits(row(two)));
    CHECK(support.fits_alone(row(three)));
    CHECK(!support.fits_alone(row(four)));
  }
}
