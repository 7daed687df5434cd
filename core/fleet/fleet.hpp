// A fleet: one small model per key, all in one memory, plus one ordinary model of all rows.
//
//   f_key(x) = f_shared(x) + f_own(x)
//
// The shared model (core/model/) learns every row and answers for unknown keys. A key's own model
// is a block (block.hpp) that learns the difference: its learner gets the margin of the sum. It is
// made at the key's first loss, and each example that it stores enlarges it by one, up to the
// budget. Rows are learned in their order, whatever their keys are: a batch gives the same result
// as its rows one by one. Blocks of coming rows are prefetched.
//
// Units. Own models see rows in the units and the width of the shared model, and learn nothing
// during its warm-up. Stored values always stay in the units of the end of the warm-up, v_j = (x_j
// - c_j)/u_j. When the shared units or gamma change, only the weights of the features in the kernel
// change,
//
//   k(x, x_i) = exp(-sum_j g_j (v_j - v_ij)^2),  g_j = gamma (u_j/size_j)^2,
//
// so that every model is in the new units at once, and no block is touched
// (docs/develop/decisions/0072). A feature without a unit has coordinate 0; when it gets a unit,
// its c_j is the constant value that it had, so the stored zeros are right.
//
// Regression. f_own is also in units of the targets, always those of the shared model at the end of
// the warm-up: f_key(x) = f_shared(x) + s f_own(x). Beliefs are linear in the targets, so these may
// grow; only the limit of an error uses the shared unit of today.
//
// Memory. `memory` bytes are the limit for blocks, key table, heap and shared model together. Each
// model is charged its share (`charge`). If a growing model finds no room:
//   without a file  the model that loses least by it drops an example (price_heap.hpp); a model
//                   that drops its last one is deleted
//   with a file     the key that was seen the longest ago goes, whole, to the caller (`take_out`),
//                   who brings it back (`bring`) before a row of this key comes. Models on the way
//                   count as memory (flight.hpp); when their share is full, learning stops
// The charge depends on the models alone, not on where they are stored: a loaded fleet continues as
// the saved one would have, to the bit.
//
// Cost: a round of the shared model, a lookup, and a kernel row over one block.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/batch.hpp"
#include "base/model_lock.hpp"
#include "base/random.hpp"
#include "fleet/arena.hpp"
#include "fleet/flight.hpp"
#include "fleet/key_table.hpp"
#include "fleet/price_heap.hpp"
#include "fleet/small_learner.hpp"
#include "model/calibration.hpp"
#include "model/model.hpp"

namespace budgetron {

struct FleetRules {
  std::size_t memory = 0;        // bytes for everything
  std::size_t shared_bytes = 0;  // the part of it for the shared model
  double half_life = 1e6;        // rows after which the price of a key that is not seen is halved
  bool adds_shared = true;       // f_shared is part of the answer
  bool has_file = false;         // keys move to a file; otherwise examples leave
  bool regression = false;       // targets are numbers
};

struct FleetCounts {
  std::int64_t seen = 0;      // rows learned
  std::int64_t mistakes = 0;  // wrong decisions of f_key
  std::int64_t changes = 0;   // of own models
  std::int64_t growths = 0;   // examples stored while the budget had room
  std::int64_t leavers = 0;   // examples dropped to make room for another key
  std::int64_t lost = 0;      // keys that lost their last example
  std::int64_t moved = 0;     // keys moved to the file
  std::int64_t returned = 0;  // keys brought back
};

// What happened to a key, for a listener.
struct FleetEvent {
  enum class Kind { start, evict, drop, move, back };

  Kind kind;
  KeyId key;
  std::int64_t round;
  std::int64_t examples;  // now

  [[nodiscard]] const char* name() const {
    static constexpr const char* names[] = {"start", "evict", "drop", "move", "back"};
    return names[static_cast<int>(kind)];
  }
};

// Models as bytes, one after the other, as in a file.
struct PackedModels {
  std::vector<KeyId> keys;
  ModelBytes bytes;
  std::vector<std::int64_t> ends;  // the end of each; `unpack` does not need it
};

template <class Real>
class Fleet {
 public:
  // If `shared` is null, rows are used as they come, with the gamma of the spec.
  Fleet(Model<Real>* shared, const Spec& spec, std::size_t classes, std::size_t width,
        std::uint64_t seed, const FleetRules& rules)
      : shared_(shared),
        rules_(rules),
        classes_(classes),
        width_(width),
        outputs_(ClassChange::outputs(classes)),
        learner_(make_small_learner(spec, width, outputs_)),
        layout_(width, outputs_, learner_->extra_bytes(), learner_->triangular()),
        slab_bytes_(slab_for(rules.memory, layout_, learner_->budget())),
        arena_(layout_, learner_->budget(), slab_bytes_),
        table_(parts_for(rules.memory)),
        flight_(room_for(rules.memory, layout_, learner_->budget())),
        random_(seed),
        calibration_(outputs_),
        gamma_(spec.number("gamma")),
        units_(width, gamma_),
        x_(width),
        row_(learner_->budget() + 32),
        decision_(outputs_),
        direction_(outputs_) {
    spec.check_all_used();
    if (rules.regression && shared == nullptr) {
      throw std::invalid_argument("regression needs a shared model for the targets' units");
    }
    if (shared != nullptr && (shared->outputs() != outputs_ || shared->classes() != classes)) {
      throw std::invalid_argument("the shared model has " + std::to_string(shared->classes()) +
                                  " classes, the fleet " + std::to_string(classes));
    }
    reserve_slabs(arena_, rules.memory);
    const std::size_t fixed = fixed_for(rules.memory);
    if (rules.memory < fixed + 4 * charge(learner_->budget())) {
      std::size_t least = fixed;
      for (std::size_t wanted = 0; least != wanted;) {
        wanted = least;
        least = std::max(least, fixed_for(least) + 5 * charge(learner_->budget()));
      }
      throw std::invalid_argument("memory of " + std::to_string(rules.memory) +
                                  " bytes is too small for this fleet: give it at least " +
                                  std::to_string(least));
    }
    limit_ = rules.memory - fixed;
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] std::size_t keys() const { return table_.size(); }
  [[nodiscard]] const FleetCounts& counts() const { return counts_; }
  // The charge of all own models, and its limit.
  [[nodiscard]] std::size_t charged() const { return charged_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  // All memory in use now, without the shared model.
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(*this) + arena_.bytes() + table_.bytes() + heap_.bytes() +
           width_ * 16 * sizeof(double) + flight_.bytes() + file_bytes();
  }
  // The part of the memory for what the caller keeps of the file.
  [[nodiscard]] std::size_t file_bytes() const {
    return rules_.has_file ? cache_for(rules_.memory) : 0;
  }
  // The bytes of models that the caller may bring at a time, if there is more than one.
  [[nodiscard]] std::size_t room() const { return flight_.room(); }
  // The bytes of examples: values and coefs.
  [[nodiscard]] std::size_t content() const { return content_; }

  // Test, then train, row by row; writes the outputs of every row to `decisions` unless it is null.
  // Returns the number of rows learned: fewer than given if models must be taken out first.
  std::size_t learn(std::span<const KeyId> keys, const Batch<Real>& rows, double* decisions) {
    const auto inside = lock_.exclusive();
    Calibration::Counter counter(&calibration_);
    for (std::size_t i = 0; i < rows.count; ++i) {
      if (rules_.has_file && flight_.full()) return i;
      look_ahead(keys, i);
      learn_row(keys[i], rows.labelled(i), counter);
      if (decisions != nullptr) {
        std::copy(decision_.begin(), decision_.end(), decisions + i * outputs_);
      }
    }
    return rows.count;
  }

  // The outputs for every row, or the probability of every class.
  std::vector<double> predict(std::span<const KeyId> keys, const Batch<Real>& rows, Answer kind) {
    std::vector<double> outputs;
    if (shared_ != nullptr && rules_.adds_shared) outputs = shared_->predict(rows).numbers;
    const auto inside = lock_.shared();
    if (outputs.empty()) outputs.assign(rows.count * outputs_, target_centre_);
    if (settled()) {
      Units units = units_;  // a copy: those of the shared model may be newer
      find_scales(units);
      std::vector<float> x(width_);
      std::vector<float> row(row_.size());
      for (std::size_t i = 0; i < rows.count; ++i) {
        look_ahead(keys, i);
        const Block block = find_anywhere(keys[i]);
        if (!block) continue;
        show(units, rows[i].values, x.data());
        double* const answer = outputs.data() + i * outputs_;
        double own = 0.0;
        learner_->decide(block, x.data(), units.scales.data(), row.data(),
                         rules_.regression ? &own : answer);
        if (rules_.regression) answer[0] += target_scale_ * own;
      }
    }
    if (kind == Answer::outputs) return outputs;
    if (rules_.regression) throw std::invalid_argument("a regression has no probabilities");
    std::vector<double> shares(rows.count * classes_);
    for (std::size_t i = 0; i < rows.count; ++i) {
      calibration_.answer({outputs.data() + i * outputs_, outputs_},
                          {shares.data() + i * classes_, classes_});
    }
    return shares;
  }

  // ---- keys in a file ---------------------------------------------------------------------------

  // Whether a key's model is in memory.
  [[nodiscard]] bool knows(const KeyId& key) {
    const auto inside = lock_.shared();
    return table_.find(key, arena_) != kNoBlock || flight_.contains_out(key);
  }
  // Hands in models from the file that have rows in the next calls; they enter with their rows.
  void bring(const PackedModels& models) {
    const auto inside = lock_.exclusive();
    unpack(models, [this](const KeyId& key, std::span<const std::byte> bytes) {
      flight_.put_in(key, bytes);
    });
  }
  // Drops the models that were handed in and have not entered; they are still in the file.
  void forget_brought() {
    const auto inside = lock_.exclusive();
    flight_.clear_in();
  }
  // Calls take(key, bytes) for the models that left since the last call, to be written to the file;
  // returns the keys that came back from it.
  template <class Take>
  std::vector<KeyId> take_out(Take take) {
    const auto inside = lock_.exclusive();
    flight_.take_out(take);
    return flight_.take_back();
  }

  // ---- models as bytes --------------------------------------------------------------------------

  // The models of bucket `bucket` of `buckets`, in the order of their keys. Equal fleets have equal
  // bytes.
  PackedModels pack(std::size_t bucket, std::size_t buckets) {
    const auto inside = lock_.shared();
    PackedModels models;
    std::vector<std::pair<KeyId, BlockHandle>> found;
    std::size_t total = 0;
    arena_.each([&](BlockHandle handle, const Block& block) {
      if (block.head().key.bucket(buckets) != bucket) return;
      found.emplace_back(block.head().key, handle);
      total += block.byte_count();
    });
    std::sort(found.begin(), found.end());
    models.keys.reserve(found.size());
    models.bytes.reserve(total);
    for (const auto& [key, handle] : found) {
      models.keys.push_back(key);
      Flight::append(models.bytes, arena_[handle]);
      models.ends.push_back(static_cast<std::int64_t>(models.bytes.size()));
    }
    return models;
  }
  // Takes over models of another fleet with the same settings; they replace those of equal keys.
  void unpack(const PackedModels& models) {
    const auto inside = lock_.exclusive();
    unpack(models, [this](const KeyId& key, std::span<const std::byte> bytes) {
      const BlockHandle old = table_.find(key, arena_);
      if (old != kNoBlock) forget(old);
      flight_.erase(key);
      enter(key, bytes);
      tidy();
    });
  }
  // Deletes the models of these keys, which are in the file from now on.
  void drop(std::span<const KeyId> keys) {
    const auto inside = lock_.exclusive();
    for (const KeyId& key : keys) {
      const BlockHandle old = table_.find(key, arena_);
      if (old != kNoBlock) forget(old);
      flight_.erase(key);
      tidy();
    }
  }
  // Throws if one of the models could not be taken over.
  void check(const PackedModels& models) {
    const auto inside = lock_.shared();
    unpack(models, [](const KeyId&, std::span<const std::byte>) {});
  }
  // The keys in memory, in sorted order.
  std::vector<KeyId> all_keys() {
    const auto inside = lock_.shared();
    std::vector<KeyId> keys;
    arena_.each([&](BlockHandle, const Block& block) { keys.push_back(block.head().key); });
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  // The number of keys with 0, 1, 2, ... examples.
  std::vector<std::int64_t> sizes() {
    const auto inside = lock_.shared();
    std::vector<std::int64_t> counts(learner_->budget() + 1, 0);
    arena_.each([&](BlockHandle, const Block& block) { ++counts[block.size()]; });
    return counts;
  }
  // The examples of a key in the units of the rows, and their coefs; false if the key is unknown.
  bool look(const KeyId& key, std::vector<double>& examples, std::vector<double>& coefs) {
    const auto inside = lock_.shared();
    const Block block = find_anywhere(key);
    if (!block) return false;
    const std::size_t n = block.size();
    examples.resize(n * width_);
    coefs.resize(n * outputs_);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        const auto value = static_cast<double>(block.values()[j * n + i]);
        examples[i * width_ + j] = value * units_.sizes[j] + units_.centres[j];
      }
      for (std::size_t k = 0; k < outputs_; ++k) {
        coefs[i * outputs_ + k] = block.coefs()[k * n + i];
      }
    }
    return true;
  }

  // ---- events, state ----------------------------------------------------------------------------

  void watch(bool on) {
    const auto inside = lock_.exclusive();
    watched_ = on;
    events_.clear();
  }
  std::vector<FleetEvent> take_events() {
    const auto inside = lock_.exclusive();
    return std::exchange(events_, {});
  }

  // Everything but the models (`pack`).
  State save() {
    const auto inside = lock_.exclusive();
    StateVisitor visitor = StateVisitor::saver();
    visit_state(visitor);
    return visitor.take();
  }
  void load(const State& state) {
    const auto inside = lock_.exclusive();
    StateVisitor visitor = StateVisitor::loader(state);
    visit_state(visitor);
    visitor.check_all_read();
  }

  void check_invariants() {
    const auto inside = lock_.shared();
    arena_.check_invariants();
    heap_.check_invariants(arena_);
    std::size_t keys = 0;
    std::size_t charged = 0;
    std::size_t content = 0;
    arena_.each([&](BlockHandle handle, const Block& block) {
      ++keys;
      charged += charge(block.size());
      content += content_of(block.size());
      if (table_.find(block.head().key, arena_) != handle || !learner_->sound(block)) {
        throw std::logic_error("fleet invariant broken: a model");
      }
    });
    if (keys != table_.size() || keys != heap_.size() || charged != charged_ ||
        content != content_ || charged_ > limit_) {
      throw std::logic_error("fleet invariant broken: what models are charged");
    }
  }

 private:
  static constexpr std::size_t kAhead = 8;   // rows whose block is prefetched
  static constexpr std::size_t kTick = 16;   // rows per tick of the clock
  static constexpr double kFarthest = 1e15;  // coordinates are clipped here
  static constexpr double kLeastPrice = 1e-12;
  // Rows from which the prior of the weights is found.
  static constexpr std::int64_t kStraightRows = 200;
  static constexpr double kLargest = 1e150;
  static constexpr double kErrors = 1000.0;   // regression: rows over which the mean error is taken
  static constexpr double kFarTarget = 10.0;  // units: larger errors count as this
  static constexpr std::size_t kPage = 4096;  // slabs of eight and more are whole pages
  // Bytes per key beside its block.
  static constexpr std::size_t kBytesAKey = KeyTable::kBytesAKey + PriceHeap::kBytesAKey;

  static std::size_t slab_for(std::size_t memory, const BlockLayout& layout, std::size_t budget) {
    const std::size_t fair = memory / (64 * (budget + 1));
    const std::size_t least = std::max<std::size_t>(4096, 4 * layout.bytes(budget) + 128);
    const std::size_t slab = std::max(least, std::min(fair, kLargeSlab));
    return slab < kPage * 8 ? slab / 64 * 64 : (slab + kPage - 1) / kPage * kPage;
  }
  static std::size_t parts_for(std::size_t memory) {
    return std::bit_floor(std::clamp<std::size_t>(memory >> 17, 1, 1024));
  }
  void reserve_slabs(BlockArena& arena, std::size_t memory) const {
    arena.reserve(memory / arena.slab_size() + 3 * (learner_->budget() + 1) + 8);
  }
  // The memory that a fleet needs, if only for a moment, beside the charge of its models.
  [[nodiscard]] std::size_t fixed_for(std::size_t memory) const {
    const std::size_t budget = learner_->budget();
    BlockArena arena(layout_, budget, slab_for(memory, layout_, budget));
    reserve_slabs(arena, memory);
    const std::size_t parts = parts_for(memory);
    // A part of the table is rebuilt beside the old one; parts differ in size.
    const std::size_t keys =
        memory / (arena.charge(learner_->has_empty() ? 0 : 1) + kBytesAKey) / parts;
    const std::size_t rebuilt = 3 * keys * KeyTable::kBytesAKey / 2;
    std::size_t file = 0;
    if (rules_.has_file) {
      const std::size_t room = room_for(memory, layout_, budget);
      file = cache_for(memory) + Flight::most_bytes(room, layout_.bytes(budget));
    }
    return rules_.shared_bytes + sizeof(*this) + arena.bytes() +
           2 * (budget + 1) * arena.slab_size() + arena.piece_bytes() +
           KeyTable::least_bytes(parts) + rebuilt + 3 * PriceHeap::segment_bytes() + memory / 256 +
           width_ * 16 * sizeof(double) + file;
  }
  static std::size_t cache_for(std::size_t memory) {
    return std::clamp<std::size_t>(memory / 64, 1 << 16, 2 << 20);
  }
  static std::size_t room_for(std::size_t memory, const BlockLayout& layout, std::size_t budget) {
    return std::clamp<std::size_t>(memory / 128, layout.bytes(budget),
                                   std::max<std::size_t>(layout.bytes(budget), 4 << 20));
  }
  [[nodiscard]] std::size_t charge(std::size_t n) const { return arena_.charge(n) + kBytesAKey; }
  [[nodiscard]] std::size_t content_of(std::size_t n) const {
    return n * (sizeof(float) * width_ + sizeof(double) * outputs_);
  }
  [[nodiscard]] float priority(const Block& block) const {
    const double ticks = rules_.half_life / static_cast<double>(kTick);
    const float price = rules_.has_file ? 0.0F : log_price(block);
    return price + static_cast<float>(static_cast<double>(block.head().seen) / ticks);
  }
  [[nodiscard]] std::uint32_t now() const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(counts_.seen) / kTick);
  }

  // ---- units ------------------------------------------------------------------------------------

  // How a row becomes coordinates, per feature.
  struct Units {
    Units(std::size_t width, double gamma)
        : centres(width, 0.0),
          sizes(width, 1.0),
          scales(width, static_cast<float>(gamma)),
          priors(width, 1.0),
          low(width, -std::numeric_limits<double>::infinity()),
          high(width, std::numeric_limits<double>::infinity()) {}

    std::vector<double> centres;
    std::vector<double> sizes;   // 0: the feature has no unit yet
    std::vector<float> scales;   // g_j in the kernel
    std::vector<double> priors;  // variances of the weights before the first row
    std::vector<double> low;     // values are clipped to [low, high]
    std::vector<double> high;
  };

  [[nodiscard]] const Preparation<Real>* preparation() const {
    return shared_ != nullptr ? shared_->preparation() : nullptr;
  }
  // Whether own models may learn.
  [[nodiscard]] bool settled() const {
    if (referred_) return true;
    const bool targets = !rules_.regression || shared_->target_units() == nullptr ||
                         shared_->target_units()->known();
    return targets && (preparation() == nullptr || !preparation()->warming_up());
  }
  // The current unit of targets of the shared model.
  [[nodiscard]] double shared_scale() const {
    const TargetUnits* const targets = shared_ != nullptr ? shared_->target_units() : nullptr;
    return targets != nullptr && targets->known() ? targets->scale() : target_scale_;
  }

  // Updates how features are shown to own models, by the current shared units.
  void follow_units() {
    const Preparation<Real>* const rows = preparation();
    const std::uint64_t stamp = rows != nullptr ? rows->stamp() : 0;
    const double gamma = shared_ != nullptr ? shared_->gamma() : gamma_;
    if (shown_ && stamp == stamp_ && gamma == gamma_) return;
    gamma_ = gamma;
    stamp_ = stamp;
    find_scales(units_);
    if (!referred_ && rules_.regression && shared_->target_units() != nullptr) {
      target_scale_ = shared_->target_units()->scale();
      if (!rules_.adds_shared) target_centre_ = shared_->target_units()->centre();
    }
    shown_ = referred_ = true;
  }
  void find_scales(Units& units) const {
    const Preparation<Real>* const rows = preparation();
    const double gamma = shared_ != nullptr ? shared_->gamma() : gamma_;
    for (std::size_t j = 0; j < width_; ++j) {
      const auto feature = static_cast<std::int32_t>(j);
      const auto shown =
          rows != nullptr ? rows->shown(feature) : typename Preparation<Real>::Shown{};
      const bool none = std::isinf(shown.size);
      if (!referred_) units.centres[j] = shown.centre;
      if (!referred_ || units.sizes[j] == 0.0) units.sizes[j] = none ? 0.0 : shown.size;
      const double ratio = none ? 0.0 : units.sizes[j] / shown.size;
      units.scales[j] = static_cast<float>(std::min(gamma * ratio * ratio, 1e30));
      units.priors[j] = none ? 1.0 : ratio * ratio;
      if (rows == nullptr || none) continue;
      const double most = rows->clip() * shown.size * rows->metric().factor(feature);
      units.low[j] = shown.centre - most;
      units.high[j] = shown.centre + most;
    }
  }
  // A row in the units of the blocks; a missing value becomes the mean of its feature.
  void show(const Units& units, const Real* values, float* x) const {
    for (std::size_t j = 0; j < width_; ++j) {
      x[j] = shown(units, j, static_cast<double>(values[j]));
    }
  }
  [[nodiscard]] float shown(const Units& units, std::size_t j, double value) const {
    if (units.sizes[j] == 0.0) return 0.0F;
    if (std::isnan(value) && preparation() != nullptr) {
      value = preparation()->shown(static_cast<std::int32_t>(j)).mean;
    }
    if (std::isnan(value)) return 0.0F;
    value = std::clamp(value, units.low[j], units.high[j]);
    const double coordinate = (value - units.centres[j]) / units.sizes[j];
    return static_cast<float>(std::clamp(coordinate, -kFarthest, kFarthest));
  }
  // ---- one row ----------------------------------------------------------------------------------

  [[gnu::always_inline]] void look_ahead(std::span<const KeyId> keys, std::size_t i) const {
    if (i + 2 * kAhead < keys.size()) table_.prefetch(keys[i + 2 * kAhead].hash());
    if (i + kAhead < keys.size()) {
      const BlockHandle handle = table_.guess(keys[i + kAhead].hash());
      if (handle != kNoBlock) arena_.prefetch(handle);
    }
  }

  void learn_row(const KeyId& key, const LabelledRow<Real>& row, Calibration::Counter& counter) {
    const bool own = settled();
    if (own) {
      follow_units();
      show(units_, row.x.values, x_.data());
    }
    shared_decision_.assign(outputs_, target_centre_);
    if (shared_ != nullptr) {
      shared_->learn_one(row.x, row.target, row.weight, [this](std::span<const double> said) {
        if (rules_.adds_shared) shared_decision_.assign(said.begin(), said.end());
      });
    }
    BlockHandle handle = own ? find(key) : kNoBlock;
    bool mistake = decide(handle, row);
    if (row.weight == 0.0) return;
    counts_.mistakes += mistake;
    if (!rules_.regression) {
      counter.count(decision_, static_cast<std::size_t>(row.target), row.weight);
    }
    if (own) {
      count_straight(row.x.values);
      said_ = decision_;
      const double error = -margin_;
      learn_own(key, handle, row);
      if (rules_.regression) count_error(error);
      decision_ = said_;
    }
    ++counts_.seen;
    tidy();
  }

  // Sets decision, direction and margin; returns true if the decision is wrong.
  bool decide(BlockHandle handle, const LabelledRow<Real>& row) {
    decision_ = shared_decision_;
    if (rules_.regression) {
      double own = 0.0;
      if (handle != kNoBlock) {
        learner_->decide(arena_[handle], x_.data(), units_.scales.data(), row_.data(), &own);
      }
      decision_[0] += target_scale_ * own;
      // A target that is very far off teaches no more than one that is moderately far off.
      const double most = kFarTarget * shared_scale() / target_scale_;
      const double error = std::clamp((row.target - decision_[0]) / target_scale_, -most, most);
      margin_ = -std::abs(error);
      direction_[0] = (error < 0.0 ? -1.0 : 1.0) * row.weight;
      return false;
    }
    if (handle != kNoBlock) {
      learner_->decide(arena_[handle], x_.data(), units_.scales.data(), row_.data(),
                       decision_.data());
    }
    const auto code = static_cast<std::size_t>(row.target);
    bool mistake = false;
    if (outputs_ == 1) {
      const bool positive = code == 1;
      direction_[0] = positive ? 1.0 : -1.0;
      margin_ = direction_[0] * decision_[0];
      mistake = (decision_[0] >= 0.0) != positive;
    } else {
      std::size_t best = 0;
      std::size_t wrong = code == 0 ? 1 : 0;
      for (std::size_t k = 1; k < outputs_; ++k) {
        if (decision_[k] > decision_[best]) best = k;
        if (k != code && decision_[k] > decision_[wrong]) wrong = k;
      }
      std::fill(direction_.begin(), direction_.end(), 0.0);
      direction_[code] = 0.5;
      direction_[wrong] = -0.5;
      margin_ = decision_[code] - decision_[wrong];
      mistake = best != code;
    }
    for (double& u : direction_) u *= row.weight;
    return mistake;
  }

  void learn_own(const KeyId& key, BlockHandle handle, const LabelledRow<Real>& row) {
    if (!std::isfinite(margin_) || std::abs(margin_) * row.weight > kLargest) return;
    if (handle != kNoBlock) arena_[handle].head().seen = now();
    while (true) {
      const Sight sight = this->sight(row);
      const Wish wish = learner_->wish(block_of(handle), sight);
      if (wish == Wish::nothing) return;
      const bool fresh = handle == kNoBlock;
      if (wish == Wish::grow || fresh) {
        const std::size_t before = block_of(handle).size();
        const std::size_t after = wish == Wish::grow ? before + 1 : before;
        // Only whole models move to the file, but never the one that grows, however many were seen
        // in this tick. `resize` sets again when it was seen.
        if (rules_.has_file && !fresh) {
          arena_[handle].head().seen = std::numeric_limits<std::uint32_t>::max();
        }
        if (make_room(charge(after) - (fresh ? 0 : charge(before)))) {
          // Making room may have changed or deleted this very model.
          const BlockHandle found = table_.find(key, arena_);
          if (found == kNoBlock ? !fresh : arena_[found].size() != before) {
            handle = found;
            decide(handle, row);
            continue;
          }
          handle = found;
        }
        handle = resize(key, handle, after);
        ++counts_.growths;
        const Block block = arena_[handle];
        if (wish == Wish::grow) {
          learner_->grow(block, sight);
        } else {
          learner_->begin(block, sight);
          learner_->change(block, sight);
        }
        file(handle, fresh);
        if (fresh) report(FleetEvent::Kind::start, block);
      } else {
        learner_->change(arena_[handle], sight);
        file(handle, false);
      }
      ++counts_.changes;
      return;
    }
  }

  [[nodiscard]] Sight sight(const LabelledRow<Real>& row) {
    return {.x = x_.data(),
            .scales = units_.scales.data(),
            .priors = units_.priors.data(),
            .tau = tau(),
            .row = row_.data(),
            .direction = direction_,
            .margin = margin_,
            .weight = row.weight,
            .usual = mean_error_,
            .random = &random_};
  }
  // Regression, in units: an error counts as at most ten means.
  void count_error(double error) {
    if (!std::isfinite(error)) return;
    if (mean_error_ > 0.0) error = std::min(error, 10.0 * mean_error_);
    mean_error_ += (error - mean_error_) / std::min(static_cast<double>(++errors_), kErrors);
  }
  // The initial variance of the weights, as in straight_part.hpp.
  [[nodiscard]] double tau() const { return std::min(0.2, 2.0 / (1.0 + mean_square_)); }
  void count_straight(const Real* values) {
    if (straight_rows_ >= kStraightRows || !learner_->has_empty()) return;
    double square = 0.0;
    for (std::size_t j = 0; j < width_; ++j) {
      const auto shown = preparation() != nullptr
                             ? preparation()->shown(static_cast<std::int32_t>(j))
                             : typename Preparation<Real>::Shown{};
      const double value =
          std::clamp(static_cast<double>(values[j]), units_.low[j], units_.high[j]);
      const double coordinate = (value - shown.centre) / shown.size;
      if (std::isfinite(coordinate)) square += coordinate * coordinate;
    }
    mean_square_ += (square - mean_square_) / static_cast<double>(++straight_rows_);
  }

  // ---- memory -----------------------------------------------------------------------------------

  [[nodiscard]] Block block_of(BlockHandle handle) const {
    return handle != kNoBlock ? arena_[handle] : Block();
  }
  // The block of a key; if its model was handed in from the file, it enters.
  BlockHandle find(const KeyId& key) {
    const BlockHandle handle = table_.find(key, arena_);
    if (handle != kNoBlock || !rules_.has_file) return handle;
    ModelBytes bytes;
    return flight_.take(key, bytes) ? come_back(key, bytes) : kNoBlock;
  }
  BlockHandle come_back(const KeyId& key, const ModelBytes& bytes) {
    const BlockHandle handle = enter(key, Flight::whole(bytes));
    arena_[handle].head().seen = now();
    ++counts_.returned;
    report(FleetEvent::Kind::back, arena_[handle]);
    return handle;
  }
  [[nodiscard]] Block find_anywhere(const KeyId& key) {
    const BlockHandle handle = table_.find(key, arena_);
    if (handle != kNoBlock) return arena_[handle];
    return flight_.find(key, layout_);
  }

  // A block of this many examples for a key: a copy of its old one with room for one more, or a new
  // one.
  BlockHandle resize(const KeyId& key, BlockHandle from, std::size_t examples) {
    const BlockHandle to = arena_.take(examples);
    const Block block = arena_[to];
    if (examples > 0) {
      block.copy_with_room(block_of(from));
    } else {
      std::memset(block.bytes(), 0, layout_.bytes(0));
    }
    block.head().key = key;
    block.head().seen = now();
    charged_ += charge(examples);
    content_ += content_of(examples);
    if (from == kNoBlock) {
      table_.add(key, to);
      return to;
    }
    charged_ -= charge(arena_[from].size());
    content_ -= content_of(arena_[from].size());
    replace(from, to);
    return to;
  }
  // The bytes of the model are now in `to`.
  void replace(BlockHandle from, BlockHandle to) {
    const BlockHead& head = arena_[to].head();
    table_.move(head.key, from, to);
    heap_.move(head.heap_at, to);
    arena_.give_back(from);
    untidy_ = true;
  }
  // Updates the heap: the model changed, and so did its price.
  void file(BlockHandle handle, bool fresh) {
    const float now = priority(arena_[handle]);
    if (fresh) {
      heap_.add(handle, now, arena_);
    } else {
      heap_.lower(handle, now, arena_);
    }
  }
  [[nodiscard]] float log_price(const Block& block) const {
    return static_cast<float>(std::log2(std::max(learner_->price(block).loss, kLeastPrice)));
  }

  // Makes room until `bytes` can be charged; returns true if models had to shrink or leave.
  bool make_room(std::size_t bytes) {
    bool paid = false;
    while (charged_ + bytes > limit_) {
      if (heap_.size() == 0) throw std::logic_error("fleet: no memory for one model");
      const BlockHandle handle =
          heap_.least(arena_, [this](const Block& block) { return priority(block); });
      if (rules_.has_file) {
        move_out(handle);
      } else {
        shrink(handle);
      }
      paid = true;
    }
    return paid;
  }
  void shrink(BlockHandle from) {
    const Block block = arena_[from];
    const std::size_t n = block.size();
    if (n > 0) ++counts_.leavers;
    if (n == 0 || (n == 1 && !learner_->has_empty())) {
      ++counts_.lost;
      report(FleetEvent::Kind::drop, block);
      forget(from);
      return;
    }
    const BlockHandle to = arena_.take(n - 1);
    learner_->leave(block, arena_[to], learner_->price(block).example);
    charged_ -= charge(n) - charge(n - 1);
    content_ -= content_of(1);
    replace(from, to);
    file(to, false);
    report(FleetEvent::Kind::evict, arena_[to]);
  }
  void move_out(BlockHandle handle) {
    const Block block = arena_[handle];
    flight_.put_out(block);
    ++counts_.moved;
    report(FleetEvent::Kind::move, block);
    forget(handle);
  }
  void forget(BlockHandle handle) {
    const Block block = arena_[handle];
    charged_ -= charge(block.size());
    content_ -= content_of(block.size());
    table_.remove(block.head().key, handle);
    heap_.remove(block.head().heap_at, arena_);
    arena_.give_back(handle);
    untidy_ = true;
  }
  BlockHandle enter(const KeyId& key, std::span<const std::byte> bytes) {
    const std::size_t size = reinterpret_cast<const BlockHead*>(bytes.data())->heap_at;
    make_room(charge(size));
    const BlockHandle handle = arena_.take(size);
    std::memcpy(arena_[handle].bytes(), bytes.data(), bytes.size());
    charged_ += charge(size);
    content_ += content_of(size);
    table_.add(key, handle);
    file(handle, true);
    return handle;
  }
  void tidy() {
    if (!untidy_) return;
    untidy_ = false;
    arena_.tidy([this](BlockHandle from, BlockHandle to) {
      const BlockHead& head = arena_[to].head();
      table_.move(head.key, from, to);
      heap_.move(head.heap_at, to);
    });
  }

  // ---- bytes ------------------------------------------------------------------------------------

  // Calls take(key, bytes) for every model, after checking all of them.
  template <class Take>
  void unpack(const PackedModels& models, Take take) {
    std::vector<std::size_t> ends;
    std::size_t at = 0;
    ModelBytes copy;
    for (const KeyId& key : models.keys) {
      require(models.bytes.size() - at >= sizeof(BlockHead), "models of a fleet");
      BlockHead head;
      std::memcpy(&head, models.bytes.data() + at, sizeof(head));
      const std::size_t size = head.heap_at;
      require(size <= learner_->budget() && head.key == key && (size > 0 || learner_->has_empty()),
              "models of a fleet");
      const std::size_t length = layout_.bytes(size);
      require(models.bytes.size() - at >= length, "models of a fleet");
      copy.assign(models.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  models.bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
      require(sound(Block::in_file(layout_, copy.data())), "a model of a fleet");
      at += length;
      ends.push_back(at);
    }
    require(at == models.bytes.size(), "models of a fleet");
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const std::size_t begin = i > 0 ? ends[i - 1] : 0;
      take(models.keys[i],
           std::span<const std::byte>(models.bytes).subspan(begin, ends[i] - begin));
    }
  }
  [[nodiscard]] bool sound(const Block& block) const {
    const std::size_t n = block.size();
    for (std::size_t i = 0; i < n * width_; ++i) {
      if (!(std::abs(static_cast<double>(block.values()[i])) <= 2.0 * kFarthest)) return false;
    }
    for (std::size_t i = 0; i < n * outputs_; ++i) {
      if (!(std::abs(block.coefs()[i]) <= kLargest)) return false;
    }
    return learner_->sound(block);
  }

  void report(FleetEvent::Kind kind, const Block& block) {
    if (!watched_) return;
    const bool none = kind == FleetEvent::Kind::drop;
    events_.push_back(
        {kind, block.head().key, counts_.seen, none ? 0 : static_cast<std::int64_t>(block.size())});
  }

  void visit_state(StateVisitor& visitor) {
    visitor.fixed("classes", classes_);
    visitor.fixed("width", width_);
    visitor.fixed("budget", learner_->budget());
    visitor.field("seen", counts_.seen);
    visitor.field("mistakes", counts_.mistakes);
    visitor.field("changes", counts_.changes);
    visitor.field("growths", counts_.growths);
    visitor.field("leavers", counts_.leavers);
    visitor.field("lost", counts_.lost);
    visitor.field("moved", counts_.moved);
    visitor.field("returned", counts_.returned);
    visitor.part("random", random_);
    visitor.part("calibration", calibration_);
    visitor.field("mean_square", mean_square_);
    visitor.field("straight_rows", straight_rows_);
    visitor.field("referred", referred_);
    if (rules_.regression) {
      visitor.field("mean_error", mean_error_);
      visitor.field("errors", errors_);
      visitor.field("target_scale", target_scale_);
      visitor.field("target_centre", target_centre_);
    }
    visitor.field("centres", units_.centres);
    visitor.field("sizes", units_.sizes);
    if (!visitor.loading()) return;
    const std::vector<double>& sizes = units_.sizes;
    require(units_.centres.size() == width_ && sizes.size() == width_ &&
                all_finite(units_.centres) && all_finite(sizes) && mean_square_ >= 0.0 &&
                std::isfinite(mean_square_) &&
                std::all_of(sizes.begin(), sizes.end(), [](double size) { return size >= 0.0; }),
            "units of a fleet");
    require(target_scale_ > 0.0 && std::isfinite(target_scale_) && std::isfinite(target_centre_) &&
                mean_error_ >= 0.0 && std::isfinite(mean_error_) && errors_ >= 0,
            "target units of a fleet");
    shown_ = false;
  }

  Model<Real>* shared_;
  FleetRules rules_;
  std::size_t classes_;
  std::size_t width_;
  std::size_t outputs_;
  std::unique_ptr<SmallLearner> learner_;
  BlockLayout layout_;
  std::size_t slab_bytes_;
  BlockArena arena_;
  KeyTable table_;
  PriceHeap heap_;
  Flight flight_;            // keys on their way to and from the file
  std::size_t limit_ = 0;    // of the charge of all models
  std::size_t charged_ = 0;  // charge of all models
  std::size_t content_ = 0;
  bool untidy_ = false;
  Random random_;
  Calibration calibration_;
  FleetCounts counts_;
  // Units of the blocks, and how a row becomes coordinates now.
  double gamma_;
  std::uint64_t stamp_ = 0;
  bool shown_ = false;     // scales and bounds belong to stamp_ and gamma_
  bool referred_ = false;  // centres and sizes are those of the end of the warm-up
  Units units_;
  double target_scale_ = 1.0;   // regression only
  double target_centre_ = 0.0;  // answer for a key without a model, if there is no shared model
  double mean_error_ = 0.0;     // a running mean, in units
  std::int64_t errors_ = 0;
  double mean_square_ = 0.0;  // of rows in units
  std::int64_t straight_rows_ = 0;
  // Scratch for the current row:
  std::vector<float> x_;
  std::vector<float> row_;
  std::vector<double> shared_decision_;
  std::vector<double> decision_;
  std::vector<double> said_;
  std::vector<double> direction_;
  double margin_ = 0.0;
  bool watched_ = false;
  std::vector<FleetEvent> events_;
  ModelLock lock_;
};

extern template class Fleet<float>;  // fleet.cpp
extern template class Fleet<double>;

}  // namespace budgetron
