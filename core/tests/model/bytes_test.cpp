// Compares memory_bytes with the allocator: this program's operator new counts all requests.
//
// Every learner, dense and sparse. Without a byte limit the two agree at every comparison. With a
// byte limit (byte_limit.hpp) the allocator also never sees more than the model reported when it
// was made, not even for a moment, and the model holds what it reports.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "storage/example_store.hpp"

#include "tests/harness.hpp"
#include "tests/learners.hpp"
#include "tests/reference_lapack.hpp"

namespace {

std::size_t live = 0;  // bytes allocated and not freed
std::size_t peak = 0;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
std::size_t allowed = kAll;  // allocations before one that fails

constexpr std::size_t kHeader = 64;  // before each block: its size; blocks stay aligned

void* take(std::size_t bytes) {
  if (allowed != kAll && allowed-- == 0) {
    allowed = kAll;
    throw std::bad_alloc();
  }
  void* block = std::aligned_alloc(kHeader, (bytes + 2 * kHeader - 1) / kHeader * kHeader);
  if (block == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(block) = bytes;
  live += bytes;
  peak = std::max(peak, live);
  return static_cast<char*>(block) + kHeader;
}

void give_back(void* pointer) {
  if (pointer == nullptr) return;
  char* block = static_cast<char*>(pointer) - kHeader;
  live -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void* operator new(std::size_t bytes, std::align_val_t) { return take(bytes); }
void operator delete(void* pointer) noexcept { give_back(pointer); }
void operator delete[](void* pointer) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { give_back(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { give_back(pointer); }

using namespace budgetron;
using namespace learners;

namespace {

#ifndef NDEBUG
const bool counts_the_learners_alone = [] { return checks_every_change = false; }();
#endif

constexpr std::size_t kTolerance = 64;  // bytes by which the two may differ
// The LAPACK of these tests allocates two matrices of its own; SciPy's allocates none.
constexpr std::size_t kStandIn = 2 * 20 * 20 * sizeof(double);

// Sparse rows, about six of 40 features, in both layouts.
template <class Real>
struct Wide {
  static constexpr std::size_t width = 40;
  std::vector<Real> dense;
  std::vector<Real> values;
  std::vector<std::int64_t> ends{0};
  std::vector<std::int32_t> indices;
  std::vector<double> targets;

  // `offset` is added to the nonzero values.
  Wide(std::size_t count, std::size_t classes, double offset) {
    Random random(23);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t one_in = 1 + random.below(12);  // sometimes a full row
      for (std::size_t j = 0; j < width; ++j) {
        const bool zero = random.below(one_in) != 0;
        dense.push_back(zero ? Real(0) : static_cast<Real>(offset + random.uniform() * 2 - 1));
        if (zero) continue;
        values.push_back(dense.back());
        indices.push_back(static_cast<std::int32_t>(j));
      }
      ends.push_back(static_cast<std::int64_t>(values.size()));
      targets.push_back(static_cast<double>(random.below(classes)));
    }
  }
  [[nodiscard]] Batch<Real> row(bool sparse, std::size_t i) const {
    Batch<Real> one{1, dense.data() + i * width, width};
    if (sparse) one = {1, values.data(), 0, ends.data() + i, indices.data()};
    one.targets = targets.data() + i;
    return one;
  }
};

struct Setting {
  Task task;
  std::size_t classes;
  bool sparse;
  ByteLimit limit;
  PreparationRules rules = {};
  std::string average = "last";
  double offset = 0.0;
};

template <class Real>
void compare(const Spec& spec, const Setting& setting) {
  const std::size_t count = 260;
  const Wide<Real> data(count, setting.task == Task::regression ? 5 : setting.classes,
                        setting.offset);
  const auto fresh = [&] {
    return std::make_unique<Model<Real>>(spec, setting.task, setting.classes, 5, false,
                                         setting.rules, setting.average, setting.limit);
  };
  fresh();  // the spec records which names are read, in memory of its own
  const std::size_t before = live;
  peak = live;
  const auto model = fresh();
  const std::size_t said = model->memory_bytes();
  // A preparation counts its spec, whose parts it shares with this test, and in advance the copies
  // from which a learner may be rebuilt.
  const std::size_t shared = setting.rules.any() ? 4 * spec.bytes() : 0;
  const auto agrees = [&](std::size_t bytes) {
    const std::size_t held = live - before;
    return held <= bytes + kTolerance && bytes <= held + kTolerance + shared;
  };
  CHECK(agrees(said));
  for (std::size_t i = 0; i < count; ++i) {
    const bool sparse = setting.sparse != (i % 50 == 49);  // sometimes the other layout
    model->learn(data.row(sparse, i));
    const std::size_t holds = model->memory_bytes();
    CHECK(agrees(holds));
    if (setting.limit.given()) CHECK(holds <= said);
  }
  if (setting.limit.given()) CHECK(peak - before <= said + kTolerance + kStandIn);
  CHECK(model->counts().updates > 0);
}

bool budgeted(const Spec& spec) {
  return !spec.has("budget") || spec.text("kind") != "round" ||
         spec.part("budget").text("kind") != "unlimited";
}

template <class Visit>
void every_setting(Visit visit) {
  for (const auto& spec : every_learner()) {
    for (const std::size_t classes : {std::size_t{2}, std::size_t{3}}) {
      for (const bool sparse : {false, true}) {
        visit(*spec, Setting{Task::classification, classes, sparse, {}});
      }
    }
  }
  for (const auto& spec : every_regressor()) {
    visit(*spec, Setting{Task::regression, 1, false, {}});
    visit(*spec, Setting{Task::regression, 1, true, {}});
  }
}

}  // namespace

TEST(memory_bytes_is_what_the_allocator_counts) {
  reference::install_lapack();
  every_setting([](const Spec& spec, Setting setting) {
    compare<float>(spec, setting);
    setting.average = "suffix";
    compare<double>(spec, setting);
  });
}

TEST(with_a_room_nothing_is_allocated_later) {
  reference::install_lapack();
  every_setting([](const Spec& spec, Setting setting) {
    if (!budgeted(spec)) return;
    setting.limit = {Wide<float>::width, Wide<float>::width};
    compare<float>(spec, setting);
    setting.limit.slots = 22;  // fewer than there are features: some rows find no slot
    compare<float>(spec, setting);
    setting.average = "mean";
    compare<double>(spec, setting);
  });
}

TEST(nor_where_distances_come_from_differences) {
  reference::install_lapack();
  every_setting([](const Spec& spec, Setting setting) {
    if (!budgeted(spec)) return;
    setting.offset = 1e5;
    for (const ByteLimit& limit :
         {ByteLimit{Wide<float>::width, 22}, ByteLimit{1000, 22}}) {  // slots in a hash table
      setting.limit = limit;
      compare<float>(spec, setting);
    }
  });
}

TEST(a_warm_up_stays_in_its_room) {
  reference::install_lapack();
  every_setting([](const Spec& spec, Setting setting) {
    if (!budgeted(spec)) return;
    const std::size_t width = Wide<float>::width;
    setting.limit = {width, width};
    for (const std::size_t values : {std::size_t{100 * width}, std::size_t{30 * width}}) {
      setting.rules = {"auto", "median", width, 100, values};
      compare<float>(spec, setting);
    }
    setting.rules = {"standard", "fixed", width, 100, 100 * width};
    compare<double>(spec, setting);
  });
}

// Contenders use the memory that the warm-up has freed, and a winner replaces the model's learner.
TEST(a_race_stays_in_its_room) {
  const auto spec = part("budgetron", {{"kernel", rbf()},
                                       {"budget", whole(100)},
                                       {"r", 0.1},
                                       {"jitter", 0.01},
                                       {"replace", text("auto")},
                                       {"admission", text("mistake")},
                                       {"straight", text("auto")},
                                       {"floor", 0.003},
                                       {"reflex", true},
                                       {"relevance", true}});
  PreparationRules rules{"auto", "median", 2, 0, 200, 400};
  rules.metric = rules.race = true;
  const std::size_t count = 3000;
  std::vector<double> rows;
  std::vector<double> targets;
  Random random(3);
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(random.uniform());
    rows.push_back(random.uniform());
    const double fields = std::floor(4 * rows[2 * i]) + std::floor(4 * rows[2 * i + 1]);
    targets.push_back(std::fmod(fields, 2.0));
  }
  ByteLimit limit{2, 2};
  const auto fresh = [&] {
    return std::make_unique<Model<double>>(*spec, Task::classification, 2, 5, false, rules, "last",
                                           limit);
  };
  limit.bytes = fresh()->memory_bytes();
  const std::size_t before = live;
  peak = live;
  const auto model = fresh();
  double first = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    Batch<double> one{1, rows.data() + 2 * i, 2};
    one.targets = targets.data() + i;
    model->learn(one);
    CHECK(model->memory_bytes() <= limit.bytes);
    if (i == 250) first = model->gamma();
  }
  CHECK(model->gamma() > 3 * first);
  CHECK(peak - before <= limit.bytes + kTolerance + 4 * spec->bytes());
}

// Each allocation fails once while a store gets columns, or a dense store features. It then has
// what it had, and can be used.
TEST(a_store_that_got_no_memory_is_as_before) {
  const std::vector<double> values(40, 0.5);
  for (const bool dense : {true, false}) {
    for (const bool widens : {true, false}) {
      for (std::size_t before = 0, failures = 1; failures > 0; ++before) {
        failures = 0;
        const auto store = make_store<double>(dense, false);
        for (std::size_t i = 0; i < kLanes; ++i) store->append({values.data(), nullptr, 3});
        if (widens) store->reserve(4 * kLanes);
        const std::size_t stride = store->stride();
        allowed = before;
        try {
          if (widens && dense) store->append({values.data(), nullptr, values.size()});
          if (!widens) store->reserve(4 * kLanes);
        } catch (const std::bad_alloc&) {
          ++failures;
          CHECK_EQ(store->stride(), stride);
        }
        allowed = kAll;
        store->check_invariants();
        for (std::size_t i = 0; i < 2 * kLanes; ++i) {
          store->append({values.data(), nullptr, values.size()});
        }
        store->check_invariants();
      }
    }
  }
}
