// Arena, table and heap under random operations, and fleets that are short of memory: what they
// keep beside the models is recomputed after every step, and memory never exceeds its limit.
#include "fleet/fleet.hpp"

#include <cmath>
#include <map>
#include <random>

#include "tests/harness.hpp"

namespace budgetron {
namespace {

Spec spec_of(const std::string& kind, std::int64_t budget = 5) {
  Spec spec;
  spec.set("kind", kind);
  spec.set("budget", budget);
  spec.set("gamma", 0.5);
  spec.set("regression", false);
  if (kind == "bogd") {
    spec.set("step", 0.2);
    spec.set("regularization", 1e-3);
    spec.set("clip", 0.2);
    auto loss = std::make_shared<Spec>();
    loss->set("kind", std::string("hinge"));
    spec.set("loss", loss);
  }
  if (kind == "budgetron") {
    spec.set("r", 0.1);
    spec.set("jitter", 0.01);
    spec.set("floor", 0.003);
    spec.set("straight", true);
  }
  return spec;
}

struct Rows {
  Rows(std::size_t count, std::size_t width, std::size_t classes, std::uint32_t keys,
       std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back({random() % keys, 7});
      targets.push_back(static_cast<double>(random() % classes));
      for (std::size_t j = 0; j < width; ++j) values.push_back(normal(random));
    }
    batch.count = count;
    batch.width = width;
    batch.values = values.data();
    batch.targets = targets.data();
  }
  [[nodiscard]] Batch<float> from(std::size_t row) const {
    Batch<float> rest = batch;
    rest.count -= row;
    rest.values += row * batch.width;
    rest.targets += row;
    return rest;
  }
  std::vector<KeyId> ids;
  std::vector<float> values;
  std::vector<double> targets;
  Batch<float> batch;
};

TEST(a_table_finds_what_was_added_and_nothing_else) {
  const BlockLayout layout(2, 1, 0, false);
  BlockArena arena(layout, 3, 8192);
  KeyTable table(4);
  std::mt19937 random(1);
  std::map<std::uint64_t, BlockHandle> known;
  for (int step = 0; step < 6000; ++step) {
    const KeyId key{random() % 700, 0};
    const auto found = known.find(key.low);
    const BlockHandle handle = table.find(key, arena);
    CHECK_EQ(handle, found == known.end() ? kNoBlock : found->second);
    if (handle == kNoBlock) {
      const BlockHandle added = arena.take(random() % 4);
      arena[added].head() = {};
      arena[added].head().key = key;
      table.add(key, added);
      known[key.low] = added;
    } else if (random() % 3 > 0) {
      table.remove(key, handle);
      arena.give_back(handle);
      known.erase(key.low);
    }
    arena.tidy([&](BlockHandle from, BlockHandle to) {
      table.move(arena[to].head().key, from, to);
      known[arena[to].head().key.low] = to;
    });
    CHECK_EQ(table.size(), known.size());
  }
  arena.check_invariants();
  std::size_t charged = 0;
  for (const auto& [key, handle] : known) charged += arena.charge(arena[handle].size());
  CHECK(arena.bytes() <= charged + 2 * 4 * arena.slab_size() + 65536);
  CHECK(table.bytes() <= KeyTable::least_bytes(4) + 700 * KeyTable::kBytesAKey);
}

TEST(a_heap_gives_the_least_whatever_was_filed) {
  const BlockLayout layout(2, 1, 0, false);
  BlockArena arena(layout, 1, 8192);
  PriceHeap heap;
  std::mt19937 random(2);
  std::vector<BlockHandle> all;
  std::map<std::uint64_t, float> prices;  // by key
  const auto price_of = [&](BlockHandle handle) { return prices[arena[handle].head().key.low]; };
  const auto now = [&](const Block& block) { return prices[block.head().key.low]; };
  for (std::uint64_t step = 0; step < 4000; ++step) {
    if (all.size() < 5 || random() % 3 > 0) {
      const BlockHandle handle = arena.take(1);
      arena[handle].head() = {};
      arena[handle].head().key = {step, 0};
      prices[step] = static_cast<float>(random() % 50);
      heap.add(handle, prices[step], arena);
      all.push_back(handle);
    } else {
      const BlockHandle other = all[random() % all.size()];
      const float price = static_cast<float>(random() % 50);
      prices[arena[other].head().key.low] = price;
      heap.lower(other, price, arena);  // raised: the heap may ignore it
      const BlockHandle least = heap.least(arena, now);
      for (const BlockHandle handle : all) {
        const float a = price_of(least);
        const float b = price_of(handle);
        CHECK(a < b || (a == b && !(arena[handle].head().key < arena[least].head().key)));
      }
      heap.check_invariants(arena);
      heap.remove(arena[least].head().heap_at, arena);
      arena.give_back(least);
      all.erase(std::find(all.begin(), all.end(), least));
    }
  }
  heap.check_invariants(arena);
}

TEST(fleets_stay_within_their_memory) {
  for (const char* kind : {"rbp", "forgetron", "bogd", "budgetron"}) {
    for (const std::size_t classes : {2, 3}) {
      const std::size_t memory = 140'000;
      Fleet<float> fleet(nullptr, spec_of(kind), classes, 3, 0, {.memory = memory});
      for (std::uint32_t round = 0; round < 12; ++round) {
        const Rows rows(400, 3, classes, round % 2 == 0 ? 60 : 3000, round);
        fleet.learn(rows.ids, rows.batch, nullptr);
        fleet.check_invariants();
        CHECK(fleet.bytes() <= memory);
      }
      CHECK(fleet.counts().leavers > 0);
    }
  }
}

TEST(a_fleet_goes_on_from_its_bytes) {
  for (const char* kind : {"rbp", "forgetron", "bogd", "budgetron"}) {
    Fleet<float> first(nullptr, spec_of(kind), 2, 3, 0, {.memory = 160'000});
    const Rows rows(3000, 3, 2, 2000, 5);
    first.learn(rows.ids, rows.batch, nullptr);
    Fleet<float> second(nullptr, spec_of(kind), 2, 3, 0, {.memory = 160'000});
    second.load(first.save());
    second.unpack(first.pack(0, 1));
    second.check_invariants();
    std::vector<double> a(rows.batch.count);
    std::vector<double> b(rows.batch.count);
    first.learn(rows.ids, rows.batch, a.data());
    second.learn(rows.ids, rows.batch, b.data());
    CHECK(a == b);
    CHECK(first.pack(0, 1).bytes == second.pack(0, 1).bytes);
  }
}

TEST(keys_that_left_for_a_file_come_back) {
  const FleetRules tight{.memory = 260'000, .has_file = true};
  Fleet<float> small(nullptr, spec_of("forgetron"), 2, 3, 0, tight);
  Fleet<float> large(nullptr, spec_of("forgetron"), 2, 3, 0, {.memory = 4'000'000});
  std::map<std::uint64_t, std::pair<KeyId, ModelBytes>> file;
  for (std::uint32_t round = 0; round < 40; ++round) {
    const Rows rows(150, 3, 2, 900, round);
    PackedModels back;
    for (const KeyId& key : rows.ids) {
      const auto kept = file.find(key.low);
      if (kept == file.end() || small.knows(key)) continue;
      back.keys.push_back(key);
      back.bytes.insert(back.bytes.end(), kept->second.second.begin(), kept->second.second.end());
    }
    small.bring(back);
    std::vector<double> a(150);
    std::vector<double> b(150);
    large.learn(rows.ids, rows.batch, b.data());
    // Learning stops when the models that must leave fill their part of the memory.
    for (std::size_t done = 0; done < 150;) {
      const Batch<float> rest = rows.from(done);
      const std::size_t more = small.learn(std::span(rows.ids).subspan(done), rest, &a[done]);
      CHECK(more > 0);
      CHECK(small.bytes() <= tight.memory);
      done += more;
      std::map<std::uint64_t, std::pair<KeyId, ModelBytes>> out;
      for (const KeyId& key : small.take_out([&](const KeyId& key, auto bytes) {
             out[key.low] = {key, {bytes.begin(), bytes.end()}};
           })) {
        file.erase(key.low);
      }
      for (auto& [low, model] : out) {
        file[low] = model;
        // Later rows have not been brought, but may belong to a key that left only now.
        for (std::size_t i = done; i < 150; ++i) {
          if (!(rows.ids[i] == model.first)) continue;
          small.bring({{model.first}, model.second, {}});
          break;
        }
      }
    }
    CHECK(a == b);
    small.forget_brought();
    small.check_invariants();
  }
  CHECK(small.counts().moved > 0);
  CHECK(small.counts().returned > 0);
}

TEST(damaged_models_are_refused) {
  Fleet<float> fleet(nullptr, spec_of("budgetron"), 2, 3, 0, {.memory = 500'000});
  const Rows rows(500, 3, 2, 30, 5);
  fleet.learn(rows.ids, rows.batch, nullptr);
  const PackedModels whole = fleet.pack(0, 1);
  std::mt19937 random(3);
  for (int step = 0; step < 300; ++step) {
    PackedModels broken = whole;
    broken.bytes[random() % broken.bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    try {
      fleet.unpack(broken);
    } catch (const std::invalid_argument&) {
    }
    fleet.check_invariants();
    for (const double output : fleet.predict(rows.ids, rows.batch, Answer::outputs)) {
      CHECK(std::isfinite(output));
    }
  }
  PackedModels cut = whole;
  cut.bytes.resize(cut.bytes.size() - 8);
  CHECK_THROWS(fleet.unpack(cut), std::invalid_argument);
  CHECK_THROWS(Fleet<float>(nullptr, spec_of("rbp"), 2, 3, 0, {.memory = 1000}),
               std::invalid_argument);
  CHECK_THROWS(make_small_learner(spec_of("pegasos"), 2, 1), std::invalid_argument);
  CHECK_THROWS(make_small_learner(spec_of("rbp", 0), 2, 1), std::invalid_argument);
}

}  // namespace
}  // namespace budgetron
