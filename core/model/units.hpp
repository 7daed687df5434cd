// Units that follow the stream: the rule of scale="auto" (docs/develop/decisions/0037, and
// papers/units.py, which states it in NumPy).
//
//   z = clip((x - c)/s, 4)      c, s: centre and size of the feature, its unit in force
//
// State of one feature. Only values other than 0 touch it; t = 1, 2, ... is the number of the row,
// T = 1 + ... + t, so that a dense and a sparse row mean the same:
//
//   R         sum of t over the rows in which it was not 0; p = R/T is their share, recent ones
//   more Q         as R, begun anew at a jump; a value moves centre and square by the gain g = t/Q
//   m, v      centre and mean square deviation of its values:
//             e = x - m, at most 8 sqrt(v);  m += g e;  v = (1 - g)(v + g e^2)
//   block     of the values since the last check: count, how many were far (|e| > 8 sqrt(v)),
//             mean and squares; mean and deviation of the block before
//   values    the first two different ones, and whether there were more
//
// Its own unit (s = 0 counts as none; `none`: coordinate 0):
//
//   constant   none
//   two values c = the smaller, s = the difference
//   p < 1/2    c = 0, s = sqrt(m^2 + v)
//   otherwise  c = p m, s = sqrt(p v + m^2 p (1 - p)), which is called its deviation
//
// Kernels that are no distance: c = 0, and s = sqrt(p (m^2 + v)) in the last row.
//
// A stream is even until the largest deviation exceeds 1 and twice the median one (of two features
// the other one), or until the
// root of the summed variances is off by 30 from that at the last change, or until half of the
// features jump at once. While it is even, c = 0 and s = 1 (none for a constant other than 0), and
// nothing is clipped. Then it is uneven for good: features have their own units.
//
// Every 100 rows each feature with 20 values in its block is checked:
//
//   jump up    two checks running with most values far, the block 4 times as wide as before and its
//              mean where that of the block before was (no trend)
//   jump down  three checks running with blocks below a tenth of the unit
//              then m, v and Q are those of the block
//   birth      a feature without unit that varies at two checks running gets its own; stored
//              examples have coordinate 0
//
// Units change when one is off by 1.5 at two checks running, at a jump, or when the stream becomes
// uneven: all features then take their own, and stored examples are converted. At a jump by more
// than 4 those stored before it keep their coordinates: "1 km is now 1,000 m". An even stream off
// by 4 changes gamma alone. At most 10 + t/2000 changes.
//
// Features beyond those that have a state (`most`) share one unit, the root mean square of their
// values.
//
// All in float64. Cost: about 20 operations per value that is not 0, in dense rows eight features
// at a time (simd/unit_counts.hpp); O(features) per 100 rows. Memory: kFeatureBytes per feature,
// and its slot.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "hypothesis/unit_change.hpp"
#include "simd/unit_counts.hpp"
#include "storage/feature_table.hpp"

namespace budgetron {

struct Unit {
  double centre = 0.0;
  double size = std::numeric_limits<double>::infinity();  // none; then `centre` is the constant

  [[nodiscard]] bool none() const { return std::isinf(size); }
};

enum class Jump : std::uint8_t { none, up, down };

// Its first statistics are moved by values in `Units::counts_`, and copied here to be looked at.
struct FeatureState {
  double weight = 0.0;  // R
  double recent = 0.0;  // Q
  double mean = 0.0;    // m
  double square = 0.0;  // v
  double block_mean = 0.0;
  double block_square = 0.0;  // sum of squared deviations
  std::int32_t block_count = 0;
  std::int32_t block_far = 0;
  std::uint8_t values = 0;  // different ones other than 0: 1, 2, 3 for more
  std::uint8_t up = 0;      // checks running
  std::uint8_t down = 0;
  std::uint8_t wait = 0;  // checks since it varies, without a unit
  Jump jump = Jump::none;
  double first = 0.0;
  double second = 0.0;
  double mean_before = 0.0;  // of the block before
  double size_before = -1.0;
  Unit in_force;
  Unit own;   // at the last change
  Unit next;  // at the last check
  std::int64_t jumped_at = 0;
};

class Units final : public UnitChange {
 public:
  static constexpr std::int64_t kCheck = 100;         // rows
  static constexpr std::int64_t kChangeEvery = 2000;  // rows, in the long run
  static constexpr std::int64_t kChanges = 10;        // and at once
  static constexpr double kClip = 4.0;

  // `centres`: the kernel is a distance. `examples`: the most that are stored, 0 for no limit;
  // `value_bytes`: what a value of theirs takes.
  Units(bool centres, std::size_t examples, std::size_t value_bytes)
      : centres_(centres), examples_(examples), value_bytes_(value_bytes) {}

  [[nodiscard]] bool uneven() const { return uneven_; }
  // Rows are as they come.
  [[nodiscard]] bool identity() const { return identity_; }
  [[nodiscard]] std::int64_t changes() const { return changes_; }

  // Memory for rows of this width whose stored examples have so many features, and for `rows` rows
  // to start with.
  void reserve(std::size_t width, std::size_t slots, std::size_t rows);

  // Features that memory was taken for.
  [[nodiscard]] std::size_t reserved() const { return reserved_; }

  // x in the units in force; the answer looks into `out`, or is x.
  template <class Real>
  Sample<Real> transform(const Sample<Real>& x, OwnedSample<Real>& out) const {
    if (identity_) return x;
    out.dense = x.dense();
    out.values.clear();
    out.indices.clear();
    if (out.dense) {
      for (std::size_t j = 0; j < x.count; ++j) {
        out.values.push_back(coordinate(static_cast<std::int32_t>(j), x.values[j]));
      }
      return out.view();
    }
    std::size_t next = 0;  // of the features whose zero is not coordinate 0
    const auto add_until = [&](std::int64_t end) {
      for (; next < centred_.size() && centred_[next] < end; ++next) {
        append(centred_[next], Real(0), out);
      }
    };
    for (std::size_t k = 0; k < x.count; ++k) {
      add_until(x.indices[k]);
      if (next < centred_.size() && centred_[next] == x.indices[k]) ++next;
      append(x.indices[k], x.values[k], out);
    }
    add_until(std::int64_t{1} << 31);
    return out.view();
  }

  // Begins with these rows: robust statistics, and the units that follow from them.
  template <class Real>
  void start(std::span<const Sample<Real>> rows) {
    clear();
    for (const Sample<Real>& x : rows) {
      step();
      std::size_t values = 0;
      for (std::size_t k = 0; k < x.count; ++k) {
        if (x.values[k] == Real(0)) continue;
        ++values;
        const double value = countable(x.values[k]);
        const std::uint32_t slot = slot_of(x.feature(k));
        if (slot == kNoSlot) {
          pool(value);
        } else {
          states_[slot].weight += row_;
          note_value(states_[slot], value);
        }
      }
      widest_ = std::max(widest_, values);
    }
    for (std::size_t slot = 0; slot < states_.size(); ++slot) {
      numbers_.clear();
      for (const Sample<Real>& x : rows) {
        const double value = value_of(x, features_[slot]);
        if (value != 0.0) numbers_.push_back(value);
      }
      begin(states_[slot]);
    }
    settle();
  }

  // Counts a row. True if units are to change: then learners `convert`, and `commit` ends it.
  template <class Real>
  bool count(const Sample<Real>& x) {
    step();
    if (x.dense() && x.count == states_.size() && last_feature_ < x.count) {
      count_all(x);
    } else {
      std::size_t values = 0;
      for (std::size_t k = 0; k < x.count; ++k) {
        if (x.values[k] == Real(0)) continue;
        ++values;
        const double value = static_cast<double>(x.values[k]);
        const std::uint32_t slot = slot_of(x.feature(k));
        if (slot == kNoSlot) {
          pool(countable(value));
        } else {
          update(slot, value);
        }
      }
      widest_ = std::max(widest_, values);
    }
    return rows_ % kCheck == 0 && check();
  }
  void commit();

  [[nodiscard]] double convert(std::int32_t feature, double z) const override;
  [[nodiscard]] UnitStep step(std::int32_t feature) const override;
  [[nodiscard]] std::span<const std::int32_t> moved_zeros() const override { return moved_; }
  using UnitChange::convert;

  void follow_width(bool follows) { follows_width_ = follows; }

  void visit_state(StateVisitor& visitor);

 private:
  static constexpr std::size_t kPlace = 12;  // bytes of a stored value beside itself, without limit
  static constexpr std::size_t kFeatureBytes =
      sizeof(FeatureState) + (8 + 1) * sizeof(double) + sizeof(std::uint32_t) + 1;
  static constexpr double kFar = 8.0;             // deviations; a value counts as no farther
  static constexpr double kLargest = 1e15;        // coordinate where nothing is clipped
  static constexpr std::int64_t kMostMark = 200;  // of what a block or checks count
  static constexpr std::size_t kLeast = 64;       // features that have a state whatever it takes

  template <class Real>
  [[nodiscard]] static double countable(Real value) {
    return std::clamp(static_cast<double>(value), -kCountable, kCountable);
  }

  // ---- transforming ---------------------------------------------------------------------------
  [[nodiscard]] double coordinate(const Unit& unit, double x) const {
    if (unit.none()) return 0.0;
    const double most = uneven_ ? kClip : kLargest;
    return std::clamp((x - unit.centre) / unit.size, -most, most);
  }
  template <class Real>
  [[nodiscard]] Real coordinate(std::int32_t feature, Real value) const {
    const std::uint32_t slot = slots_.find(feature);
    if (slot != kNoSlot) {
      const Unit& unit = states_[slot].in_force;
      if (unit.size == 1.0 && unit.centre == 0.0 && !uneven_) return value;
      return static_cast<Real>(coordinate(unit, countable(value)));
    }
    if (!uneven_ || value == Real(0)) return value;
    return static_cast<Real>(coordinate(shared_.in_force, countable(value)));
  }
  template <class Real>
  void append(std::int32_t feature, Real value, OwnedSample<Real>& out) const {
    const Real z = coordinate(feature, value);
    if (z == Real(0)) return;
    out.values.push_back(z);
    out.indices.push_back(feature);
  }

  // ---- counting -------------------------------------------------------------------------------
  template <class Real>
  [[nodiscard]] static double value_of(const Sample<Real>& x, std::int32_t feature) {
    if (x.dense()) {
      const auto at = static_cast<std::size_t>(feature);
      return at < x.count ? countable(x.values[at]) : 0.0;
    }
    const std::int32_t* const end = x.indices + x.count;
    const std::int32_t* const found = std::lower_bound(x.indices, end, feature);
    return found != end && *found == feature ? countable(x.values[found - x.indices]) : 0.0;
  }
  void step() {
    row_ = static_cast<double>(++rows_);
    total_ += row_;
    credit_ = std::min(credit_ + 1, kChanges * kChangeEvery);
  }
  static void note_value(FeatureState& f, double x) {
    if (f.values > 2 || (f.values > 0 && x == f.first) || (f.values == 2 && x == f.second)) return;
    if (f.values == 0) f.first = x;
    if (f.values == 1) f.second = x;
    ++f.values;
  }
  [[nodiscard]] double* counts_of(std::size_t slot) {
    return counts_.data() + slot / kGroup * kGroupNumbers + slot % kGroup;
  }
  // As long as a feature has one value, only its weight and the count of its block move; `catch_up`
  // does the rest.
  void update(std::uint32_t slot, double x) {
    double* const f = counts_of(slot);
    const std::uint8_t values = values_[slot];
    if (values == 1) {
      if (x == f[kMean * kGroup]) {
        f[kWeight * kGroup] += row_;
        f[kBlockCount * kGroup] += 1.0;
        behind_ = true;
        return;
      }
      catch_up(f);
    }
    x = countable(x);
    if (values < 3) {
      note_value(states_[slot], x);
      values_[slot] = states_[slot].values;
    }
    count_value(f, x, row_);
  }
  static void catch_up(double* f) {
    f[kRecent * kGroup] = f[kWeight * kGroup];
    f[kBlockMean * kGroup] = f[kBlockCount * kGroup] > 0.0 ? f[kMean * kGroup] : 0.0;
  }
  void catch_up() {
    for (std::size_t slot = 0; behind_ && slot < values_.size(); ++slot) {
      if (values_[slot] == 1) catch_up(counts_of(slot));
    }
    behind_ = false;
  }
  // A dense row, all of whose features have a state and no other.
  template <class Real>
  void count_all(const Sample<Real>& x) {
    catch_up();
    if (widest_ < x.count) {
      const auto zeros = std::count(x.values, x.values + x.count, Real(0));
      widest_ = std::max(widest_, x.count - static_cast<std::size_t>(zeros));
    }
    if (!few_.empty()) {
      std::erase_if(few_, [&](std::uint32_t slot) {
        const double value = countable(x.values[static_cast<std::size_t>(features_[slot])]);
        if (value != 0.0) note_value(states_[slot], value);
        values_[slot] = states_[slot].values;
        return values_[slot] == 3;
      });
    }
    if (in_order_) {
      unit_count_functions<Real>().count_values(counts_.data(), x.values, x.count, row_);
      return;
    }
    for (std::size_t slot = 0; slot < x.count; ++slot) {
      dense_[slot] = static_cast<double>(x.values[static_cast<std::size_t>(features_[slot])]);
    }
    unit_count_functions<double>().count_values(counts_.data(), dense_.data(), x.count, row_);
  }
  void make_place(std::uint32_t slot);
  void forget_features();
  void pull();
  void push(std::size_t slot);
  void push();
  void pool(double x);
  // kNoSlot if it has none and gets none.
  std::uint32_t slot_of(std::int32_t feature) {
    const std::uint32_t found = slots_.find(feature);
    return found != kNoSlot ? found : new_slot(feature);
  }
  std::uint32_t new_slot(std::int32_t feature);
  [[nodiscard]] std::size_t most() const;

  // ---- checking -------------------------------------------------------------------------------
  void clear();
  void begin(FeatureState& f);
  void settle();
  bool check();
  bool check_block(FeatureState& f, bool& jumped);  // true if the block was closed
  void be_born(FeatureState& f);
  void find_units();
  void find_sizes();
  [[nodiscard]] Unit own_unit(const FeatureState& f) const;
  [[nodiscard]] double deviation(const FeatureState& f) const;
  [[nodiscard]] double share(const FeatureState& f) const {
    return std::min(1.0, f.weight / total_);
  }
  // How many different values it had, zeros too; 3 for more.
  [[nodiscard]] int different(const FeatureState& f) const {
    return f.values + (f.weight < total_ ? 1 : 0);
  }
  [[nodiscard]] double convert(const FeatureState& f, double z) const;
  // The unit before the change, of which the sizes of a jump are counted, and whether it is one.
  [[nodiscard]] const Unit& before(const FeatureState& f) const {
    return uneven_ ? f.in_force : f.own;
  }
  [[nodiscard]] bool jumps(const FeatureState& f) const;
  void look();
  void load(const std::vector<double>& numbers, const std::vector<std::int64_t>& marks);

  bool centres_;
  std::size_t examples_;
  std::size_t value_bytes_;
  std::size_t reserved_ = 0;  // features that memory was taken for; 0: as many as come
  bool follows_width_ = false;
  bool uneven_ = false;
  bool turns_ = false;  // the change makes it uneven
  bool identity_ = true;
  std::int64_t rows_ = 0;                          // t
  double row_ = 0.0;                               // the same
  double total_ = 0.0;                             // T
  std::size_t widest_ = 0;                         // values other than 0 of the fullest row
  std::int64_t credit_ = kChanges * kChangeEvery;  // rows that changes may be paid with
  std::int64_t changes_ = 0;
  std::int64_t off_ = 0;    // checks running that found the units off
  double common_ = 0.0;     // root of the summed variances
  double reference_ = 0.0;  // the same at the last change
  double largest_ = 0.0;    // deviation
  double middle_ = 0.0;
  FeatureState shared_;  // of the features without a state: weight, square and units
  FeatureTable slots_;
  std::vector<std::int32_t> features_;  // per slot, in the order they were first seen
  std::vector<FeatureState> states_;    // per slot
  AlignedVector<double> counts_;        // their statistics, in groups of kGroup
  AlignedVector<double> dense_;         // a dense row in the order of the slots, whole groups
  std::vector<std::uint8_t> values_;    // as in the states
  std::vector<std::uint32_t> few_;      // slots that had at most two values
  std::size_t last_feature_ = 0;
  bool in_order_ = true;               // slot j is feature j
  bool behind_ = false;                // a feature of one value has to catch up
  std::vector<std::int32_t> centred_;  // features whose zero is not coordinate 0, in their order
  std::vector<std::int32_t> moved_;    // likewise of the change
  std::vector<double> numbers_;        // of one feature, or one per feature
  std::vector<double> apart_;          // distances from their median
};

}  // namespace budgetron
