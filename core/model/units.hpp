// Units that follow the stream: the rule of scale="auto" (docs/develop/decisions/0037, and
// papers/units.py, which states it in NumPy).
//
//   z = clip((x - c)/s, 4)      c, s: centre and size of the feature, its unit in force
//
// All of the first 1,000 rows are counted, then one in eight, chosen by its number alone: row t if
// t mod 8 equals the three highest bits of floor(t/8) 2^64/phi, so that no period of the stream
// falls in step with it. It counts eightfold.
//
// State of one feature. Only nonzero values touch it, so that dense and sparse rows mean the same;
// w is the weight of the row, its number t or 8 t, and T the sum of the weights so far:
//
//   R         sum of w over the rows in which it was not 0; p = R/T is their share, recent ones
//             count more
//   Q         as R, restarted at a jump; a value moves centre and square by the gain g = w/Q
//   m, v      centre and mean square deviation of its values:
//             e = x - m, at most 8 sqrt(v), or 4 if p < 1/2;  m += g e;  v = (1 - g)(v + g e^2)
//   block     of the values since the last check: count, how many were farther than that limit,
//             mean and squares; mean and deviation of the block before
//   values    the first two different ones, and whether there were more
//
// Its own unit (s = 0 counts as none; `none`: coordinate 0):
//
//   constant   none; a detector of strange rows sees it move (`see_constants`): its coordinate is
//              then +-4 times the root of the summed variances, in the units in force
//   two values c = the smaller, s = the difference
//   p < 1/2    c = 0, s = sqrt(m^2 + v); it stays so until p = 0.6, and the others until p < 0.4
//   otherwise  c = p m, s = sqrt(p v + m^2 p (1 - p)), which is called its deviation
//
// For kernels that are not a distance c = 0, and s = sqrt(p (m^2 + v)) in the last line. The s of a
// trend is four times as large.
//
// A trend is a feature whose values only grow, or only fall, like a date or a row number: values do
// not come again, and coming rows are far from all stored examples. In a wide unit they are near;
// what depends on the feature can still be learned. A feature is a trend if the rows of `start`, 16
// or more, are sorted by it and half of them differ from the row before, or if at ten checks the
// mean of its block left the range of all block means so far on the same side, by more than blocks
// are wide. A check without such a move takes away two of those, and a mean within the range takes
// away all: such values were seen before. It stays a trend until fewer than three are left.
//
// Rare features share one unit, c = 0 and s the root mean square of all their values: features with
// p < 0.01, until p is 0.01 again; a feature that was not rare becomes rare at p < 0.008. Features
// beyond the `most` that have a state share it too. A mean square counts as at most 64 times that
// of the current unit.
//
// A stream is even until the largest deviation exceeds 1 and twice the median one (with two
// features the other one), or 4 while the median one exceeds 2.5 times a small size; or until it
// exceeds 1e12 or is below 1e-12, where squares soon overflow or vanish; or until the root of the
// summed variances is off by 30 from that at the last change, or half of the features jump at once,
// or one jumps aside by more than that root, or a feature is a trend, or a mean is 1,000 times that
// root: then distances would be rounded. The small size is the least s of their own units without
// rare features, or of n features the one with n/16 smaller ones. It is s and not a deviation, so
// that what is often 0 (a flag, a pixel near the border) is not called small; and standardised
// features, of which a skewed one has a small robust s, are below 4. While the stream is even, c =
// 0 and s = 1 (none for a constant other than 0), and nothing is clipped. After that it is uneven
// for good: features have their own units.
//
// Every 100 rows each feature with 10 values in its block is checked:
//
//   jump up    at two checks in a row most values are far, the block is 4 times as wide as before
//              and its mean is where that of the block before was (no trend)
//   aside      the block's mean leaves the range of all block means so far by more than 3 units and
//              3 of its own deviations, and at the next check it is still there (p >= 1/2)
//   jump down  at three checks in a row the block is below a tenth of the unit, or at two below a
//              hundredth; then m, v and Q are those of the block
//   birth      a feature without unit that varies at two checks in a row gets its own; m, v and Q
//              are those of the block, and stored examples have coordinate 0
//   step       at three checks in a row all features are wider or narrower by one factor, or half
//              of them are elsewhere; then m, v and Q of all are those of the last two blocks
//
// The pace is the variance of a block over v, for the middle feature: v follows too slowly to show
// that all features change together by a factor of 2 to 10, which no single feature's block shows
// for sure. A step is a pace above 2.25 or below 1/2.25 that leaves the range of all paces so far
// by 1.5 (the range itself once it has begun), while three of four features are within 2.25 of it
// and the last two paces within 2.25 of each other. If such a pace does not last for three checks,
// the range becomes 2.25 times as wide: some streams are now calm, now wild. Or half of the block
// means leave the range of all block means so far by 1.5 deviations, and stay there. Or, whatever
// the range, five paces in a row above 2.25 show that all features grow. It is no step if the units
// are right afterwards: then a few rows had spoiled m and v. While a step may have begun, units
// wait.
//
// Units change when one is off by 1.5, or its centre by 2 units, at two checks in a row (not if the
// feature may be about to jump up or aside), at a jump, or when the stream becomes uneven: all
// features then take their own, and stored examples are converted. At a jump by more than 4
// examples stored before it keep their coordinates: "1 km is now 1,000 m". An even stream that is
// off by 4 changes gamma alone, and at the third time becomes uneven. There are at most 10 + t/2000
// changes; with less than a third of the 10 left, units must be off by twice as much.
//
// At a step an even stream becomes uneven. Examples older than its 300 rows keep their coordinates,
// the others are converted. All examples keep them if units change because all features grow: sizes
// by 1.25 to 4, three of four within 1.5 of the middle one, while the pace is above 1.5. gamma is
// found from stored examples. Their median squared distance counts as at least a quarter of the
// mean one between rows, which follows from the statistics: old examples of a growing stream are
// closer and closer together.
//
// The first pass of `fit` takes rows in a random order, which has no trend: it starts with the
// first of them, counts all others, w = t, without a check, and then decides: units are found as
// after the first rows.
//
// A missing value (NaN) gets the coordinate of p m, the mean over all rows; 0 before the first
// value and for features without a state. In a counted row it does not change m, v, Q and the
// block, and R += p w keeps the share p. A feature that was missing from the first row on has R = T
// and no value: then its first value finds p = 1, and until then it is rare. On request a missing
// value has a flag: the feature with the number `flags` + its own is 1, or, while the stream is
// even, the largest deviation at the start. Rows with flags are sparse.
//
// Everything is float64. Cost: about 20 operations per nonzero value of a counted row, in dense
// rows eight features at a time (simd/unit_counts.hpp); O(features) per check. Memory:
// kFeatureBytes per feature, and its slot.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/feature_table.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "hypothesis/unit_change.hpp"
#include "simd/unit_counts.hpp"

namespace budgetron {

struct Unit {
  double centre = 0.0;
  // Infinite: no unit; then `centre` is the constant.
  double size = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool none() const { return std::isinf(size); }
};

enum class Jump : std::uint8_t { none, up, down, aside, step };

// The statistics that values change: one column of `Units::counts_`, in the order of UnitCount.
struct FeatureCounts {
  double weight = 0.0;  // R
  double recent = 0.0;  // Q
  double mean = 0.0;    // m
  double square = 0.0;  // v
  double block_count = 0.0;
  double block_far = 0.0;
  double block_mean = 0.0;
  double block_square = 0.0;  // sum of squared deviations
};

// The state that checks change.
struct FeatureState {
  double first = 0.0;  // the first two different values
  double second = 0.0;
  double mean_before = 0.0;  // of the block before
  double size_before = -1.0;
  double low = kCountable;  // range of the means of all blocks; initially empty
  double high = -kCountable;
  Unit in_force;
  Unit own;                 // at the last change
  std::uint8_t values = 0;  // number of different nonzero values: 1, 2, or 3 for more
  std::uint8_t up = 0;      // checks in a row
  std::uint8_t down = 0;
  std::uint8_t wait = 0;  // checks since it started to vary, without a unit
  Jump jump = Jump::none;
  std::uint8_t jump_age = 0;  // checks since it jumped
  bool rare = true;           // it uses the shared unit
  std::uint8_t rising = 0;    // checks at which its block was above the range, or below
  std::uint8_t falling = 0;
  bool trend = false;
};

class Units final : public UnitChange {
 public:
  static constexpr std::int64_t kCheck = 100;         // rows
  static constexpr std::int64_t kAllRows = 1000;      // the first rows are all counted,
  static constexpr std::int64_t kEvery = 8;           // then one in this many
  static constexpr std::int64_t kChangeEvery = 2000;  // rows per change in the long run
  static constexpr std::int64_t kChanges = 10;        // changes at once
  static constexpr double kClip = 4.0;

  // `centres`: the kernel is a distance. `examples`: the most that are stored; 0: no limit.
  // `value_bytes`: the memory of one stored value.
  Units(bool centres, std::size_t examples, std::size_t value_bytes)
      : centres_(centres), examples_(examples), value_bytes_(value_bytes) {}

  [[nodiscard]] bool uneven() const { return uneven_; }
  // Whether rows are shown as they come.
  [[nodiscard]] bool identity() const { return identity_; }
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  // An upper bound of |coordinate|.
  [[nodiscard]] double clip() const {
    return uneven_ ? kClip : std::numeric_limits<double>::infinity();
  }

  // Allocates memory for rows of this width whose stored examples have so many features, and for
  // `rows` rows at the start.
  void reserve(std::size_t width, std::size_t slots, std::size_t rows);

  // `start` will not be called again: frees its memory, unless memory was reserved.
  void forget_rows();

  // The number of features that have a state.
  [[nodiscard]] std::size_t features() const { return states_.size(); }
  // The number of features for which memory was reserved.
  [[nodiscard]] std::size_t reserved() const { return reserved_; }

  // x in the current units; the result points into `out`, or is x.
  template <class Real>
  Sample<Real> transform(const Sample<Real>& x, OwnedSample<Real>& out) const {
    if (identity_) return x;
    if (x.dense()) return {show(x, out), nullptr, x.count};
    return list(x, out, [](std::int32_t, Real value) { return static_cast<double>(value); });
  }
  // The same for a row with gaps.
  template <class Real>
  Sample<Real> transform_gaps(const Sample<Real>& x, OwnedSample<Real>& out) const {
    const auto known = [this](std::int32_t feature, Real value) {
      return std::isnan(value) ? stand_in(feature) : static_cast<double>(value);
    };
    if (x.dense() && flags_ == 0) {
      out.dense = true;
      out.indices.clear();
      out.values.resize(x.count);
      for (std::size_t j = 0; j < x.count; ++j) {
        const auto feature = static_cast<std::int32_t>(j);
        out.values[j] = coordinate<Real>(feature, known(feature, x.values[j]));
      }
      return out.view();
    }
    list(x, out, known);
    if (flags_ == 0) return out.view();
    for (std::size_t k = 0; k < x.count; ++k) {
      if (!std::isnan(x.values[k])) continue;
      out.values.push_back(static_cast<Real>(flag_));
      out.indices.push_back(flags_ + x.feature(k));
    }
    return out.view();
  }

  // The values of a dense row in the current units, in `out`.
  template <class Real>
  const Real* show(const Sample<Real>& x, OwnedSample<Real>& out) const {
    out.dense = true;
    out.indices.clear();
    if (out.values.size() != x.count) out.values.resize(x.count);
    show(x, out.values.data());
    return out.values.data();
  }
  // The same, into an array.
  template <class Real>
  void show(const Sample<Real>& x, Real* out) const {
    const std::size_t known = std::min(x.count, shown_);
    unit_count_functions<Real>().show_values(x.values, shown_centres_.data(), shown_sizes_.data(),
                                             clip(), out, known);
    if (any_constant_) {
      for (std::size_t j = 0; j < known; ++j) {
        if (std::isinf(shown_sizes_[j])) {
          out[j] = static_cast<Real>(moved(static_cast<double>(x.values[j]), shown_centres_[j]));
        }
      }
    }
    for (std::size_t j = known; j < x.count; ++j) {
      out[j] = coordinate<Real>(static_cast<std::int32_t>(j), static_cast<double>(x.values[j]));
    }
  }

  // The current unit of a feature.
  [[nodiscard]] Unit unit_of(std::int32_t feature) const {
    if (static_cast<std::size_t>(feature) < shown_) {
      const auto at = static_cast<std::size_t>(feature);
      return {shown_centres_[at], shown_sizes_[at]};
    }
    const std::uint32_t slot = slots_.find(feature);
    if (slot != kNoSlot) return states_[slot].in_force;
    return uneven_ ? shared_.in_force : Unit{0.0, 1.0};
  }
  // The same for a feature or a flag, which is 1 or 0.
  [[nodiscard]] Unit unit_of_any(std::int32_t feature) const {
    return flags_ > 0 && feature >= flags_ ? Unit{0.0, 1.0 / flag_} : unit_of(feature);
  }
  // The mean of a feature over all rows; 0 if it had no value.
  [[nodiscard]] double stand_in(std::int32_t feature) const {
    const std::uint32_t slot = slots_.find(feature);
    if (slot == kNoSlot) return 0.0;
    const FeatureCounts c = counts(slot);
    return share(c) * c.mean;
  }

  // A number that changes whenever rows are shown in another way.
  [[nodiscard]] std::uint64_t stamp() const { return stamp_; }

  // Starts with these rows: robust statistics, and the units that follow from them.
  template <class Real>
  void start(std::span<const Sample<Real>> rows) {
    clear();
    for (const Sample<Real>& x : rows) {
      ++rows_;
      weigh(static_cast<double>(rows_));
      std::size_t values = 0;
      for (std::size_t k = 0; k < x.count; ++k) {
        if (x.values[k] == Real(0)) continue;
        ++values;
        const double value = countable(x.values[k]);
        const std::uint32_t slot = slot_of(x.feature(k));
        if (std::isnan(value)) {
          if (slot != kNoSlot) counts_of(slot)[kRecent * kGroup] += row_;  // until `begin`
        } else if (slot == kNoSlot) {
          pool(value);
        } else {
          counts_of(slot)[kWeight * kGroup] += row_;
          note_value(states_[slot], value);
        }
      }
      widest_ = std::max(widest_, values);
    }
    order_slots();
    for (std::size_t slot = 0; slot < states_.size(); ++slot) {
      numbers_.clear();
      for (const Sample<Real>& x : rows) {
        const double value = value_of(x, features_[slot]);
        if (value != 0.0 && !std::isnan(value)) numbers_.push_back(value);
      }
      begin(slot);
    }
    settle();
  }

  // Counts a row. True if units must change: then learners `convert`, and `commit` ends the change.
  // `gaps`: values are missing.
  template <class Real>
  bool count(const Sample<Real>& x, bool gaps = false) {
    return ++rows_ >= next_row_ && count_this(x, gaps);
  }
  // Counts a row of the first pass of `fit`, without a check; `decide` ends the pass.
  template <class Real>
  void add(const Sample<Real>& x, bool gaps) {
    ++rows_;
    weigh(static_cast<double>(rows_));
    count_row(x, gaps);
  }
  // Finds the units from all rows since `start`.
  void decide();
  // Units do not change, though rows are counted, until `check_held`, which tells whether they must
  // change after a merge; it is one check.
  void hold() { held_ = true; }
  bool check_held();
  // Whether any feature has had two different values.
  [[nodiscard]] bool varies() const;
  void commit();

  [[nodiscard]] double convert(std::int32_t feature, double z, bool older) const override;
  [[nodiscard]] UnitStep step(std::int32_t feature) const override;
  [[nodiscard]] std::span<const std::int32_t> moved_zeros() const override { return moved_; }
  using UnitChange::convert;

  // A feature without a unit has a coordinate where its value is not the one it has had.
  void see_constants() { sees_constants_ = true; }

  // The number of the first flag, above those of all features; 0: no flags.
  void set_flags(std::int32_t first) { flags_ = first; }

  void visit_state(StateVisitor& visitor);

 private:
  // Bytes of a stored value beside itself, without a limit.
  static constexpr std::size_t kPlace = 12;
  static constexpr std::size_t kFeatureBytes = sizeof(FeatureState) + sizeof(FeatureCounts) +
                                               (2 + 2) * sizeof(double) +
                                               4 * sizeof(std::uint32_t) + 1;
  static constexpr double kFar = 8.0;             // deviations; a farther value counts as this far
  static constexpr std::int64_t kMostMark = 200;  // limit of what a block or checks count
  static constexpr std::size_t kLeast = 64;       // features that always have a state
  static constexpr std::uint8_t kApart = 2;       // counts as two values: nothing is postponed

  template <class Real>
  [[nodiscard]] static double countable(Real value) {
    return std::clamp(static_cast<double>(value), -kCountable, kCountable);
  }

  // ---- transforming ---------------------------------------------------------------------------
  template <class Real>
  [[nodiscard]] Real coordinate(std::int32_t feature, double value) const {
    const Unit unit = unit_of(feature);
    if (sees_constants_ && unit.none()) return static_cast<Real>(moved(value, unit.centre));
    return static_cast<Real>(shown_value(value, unit.centre, unit.size, clip()));
  }
  // The coordinate of a feature without a unit that had the value `centre` so far. The sum goes
  // over the features only where it has moved.
  [[nodiscard]] double moved(double value, double centre) const;
  // A sparse row of the nonzero coordinates; known(feature, value) is the value to use.
  template <class Real, class Known>
  Sample<Real> list(const Sample<Real>& x, OwnedSample<Real>& out, Known known) const {
    // No more values than there are features: memory was reserved for these.
    const std::int32_t last = std::max(x.count > 0 ? x.feature(x.count - 1) : -1,
                                       centred_.empty() ? -1 : centred_.back());
    const std::size_t most =
        std::min(x.count + centred_.size(), static_cast<std::size_t>(std::int64_t{last} + 1));
    out.dense = false;
    out.values.resize(most);
    out.indices.resize(most);
    Real* values = out.values.data();
    std::int32_t* indices = out.indices.data();
    const auto append = [&](std::int32_t feature, double value) {
      *values = coordinate<Real>(feature, value);
      *indices = feature;
      const bool there = *values != Real(0);
      values += there;
      indices += there;
    };
    std::size_t next = 0;  // index into the features whose zero is not coordinate 0
    const auto add_until = [&](std::int64_t end) {
      for (; next < centred_.size() && centred_[next] < end; ++next) {
        append(centred_[next], 0.0);
      }
    };
    for (std::size_t k = 0; k < x.count; ++k) {
      const std::int32_t feature = x.feature(k);
      add_until(feature);
      if (next < centred_.size() && centred_[next] == feature) ++next;
      append(feature, known(feature, x.values[k]));
    }
    add_until(std::int64_t{1} << 31);
    const auto count = static_cast<std::size_t>(values - out.values.data());
    out.values.resize(count);
    out.indices.resize(count);
    return out.view();
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
  // The row that is counted among those from kEvery n on.
  static std::int64_t counted(std::int64_t n) {
    const std::uint64_t which = static_cast<std::uint64_t>(n) * 0x9E3779B97F4A7C15u >> 61;
    return n * kEvery + static_cast<std::int64_t>(which);
  }
  [[nodiscard]] double weight() const {
    return static_cast<double>(rows_ > kAllRows ? rows_ * kEvery : rows_);
  }
  template <class Real>
  [[gnu::noinline]] bool count_this(const Sample<Real>& x, bool gaps) {
    if (rows_ <= kAllRows || rows_ == counted(rows_ / kEvery)) {
      weigh(weight());
      count_row(x, gaps);
    }
    next_row_ = rows_ + 1;
    if (next_row_ > kAllRows) {
      std::int64_t next = counted(next_row_ / kEvery);
      if (next < next_row_) next = counted(next_row_ / kEvery + 1);
      next_row_ = std::min(next, (rows_ / kCheck + 1) * kCheck);
    }
    if (rows_ % kCheck != 0) return false;
    if (!held_) return check();
    begin_blocks();
    return false;
  }
  // The values since the last check are counted, but no decision uses their block.
  void begin_blocks() {
    catch_up();
    for (std::size_t slot = 0; slot < states_.size(); ++slot) {
      FeatureCounts c = counts(slot);
      c.block_count = c.block_far = c.block_mean = c.block_square = 0.0;
      set_counts(slot, c);
    }
  }
  void weigh(double weight) {
    row_ = weight;
    total_ += weight;
  }
  template <class Real>
  void count_row(const Sample<Real>& x, bool gaps) {
    if (gaps) {
      count_each<true>(x);
    } else if (x.dense() && x.count == states_.size() && last_feature_ < x.count) {
      count_all(x);
    } else {
      count_each<false>(x);
    }
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
  [[nodiscard]] FeatureCounts counts(std::size_t slot) const {
    const double* f = counts_.data() + slot / kGroup * kGroupNumbers + slot % kGroup;
    return {f[kWeight * kGroup],    f[kRecent * kGroup],     f[kMean * kGroup],
            f[kSquare * kGroup],    f[kBlockCount * kGroup], f[kBlockFar * kGroup],
            f[kBlockMean * kGroup], f[kBlockSquare * kGroup]};
  }
  void set_counts(std::size_t slot, const FeatureCounts& c);
  // While a feature has only one value, only its weight and the count of its block change;
  // `catch_up` does the rest.
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
    if (values < 3) note_first(slot, x);
    count_value(f, x, row_, total_ / 2.0);
  }
  // Notes a value of a feature that had at most two values.
  void note_first(std::uint32_t slot, double x) {
    const bool gaps = values_[slot] == 0 && missing_so_far(slot);
    if (x != 0.0) note_value(states_[slot], x);
    values_[slot] = std::max(values_[slot], states_[slot].values);
    if (gaps && values_[slot] == 1) values_[slot] = kApart;
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
  template <bool kGaps, class Real>
  void count_each(const Sample<Real>& x) {
    std::size_t values = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0)) continue;
      ++values;
      const double value = static_cast<double>(x.values[k]);
      if constexpr (kGaps) {
        if (std::isnan(value)) {
          hold(slots_.find(x.feature(k)));
          continue;
        }
      }
      const std::uint32_t slot = slot_of(x.feature(k));
      if (slot == kNoSlot) {
        pool(countable(value));
      } else {
        update(slot, value);
      }
    }
    widest_ = std::max(widest_, values);
  }
  // A value of the feature is missing: its share does not change.
  void hold(std::uint32_t slot) {
    if (slot == kNoSlot) return;
    double* const f = counts_of(slot);
    double& weight = f[kWeight * kGroup];
    if (values_[slot] == 0) {
      if (missing_so_far(slot)) weight = total_;
      return;
    }
    if (values_[slot] == 1) {
      catch_up(f);
      values_[slot] = kApart;
    }
    weight += weight / (total_ - row_) * row_;
  }
  // Whether a feature without a value was missing in all rows before this one. If there were zeros,
  // its weight is 0.
  bool missing_so_far(std::uint32_t slot) {
    double& weight = counts_of(slot)[kWeight * kGroup];
    if (weight < total_ - row_) weight = 0.0;
    return weight > 0.0;
  }
  // A dense row whose features all have a state, and no other feature has one.
  template <class Real>
  void count_all(const Sample<Real>& x) {
    catch_up();
    if (widest_ < x.count) {
      std::uint32_t zeros = 0;  // as wide as a value, so that the loop is vectorised
      for (std::size_t j = 0; j < x.count; ++j) zeros += x.values[j] == Real(0);
      widest_ = std::max(widest_, x.count - zeros);
    }
    if (any_new(x)) note_new(x);
    if (in_order_) {
      unit_count_functions<Real>().count_values(counts_.data(), x.values, x.count, row_,
                                                total_ / 2.0);
      return;
    }
    for (std::size_t slot = 0; slot < x.count; ++slot) {
      dense_[slot] = static_cast<double>(x.values[static_cast<std::size_t>(features_[slot])]);
    }
    unit_count_functions<double>().count_values(counts_.data(), dense_.data(), x.count, row_,
                                                total_ / 2.0);
  }
  // Whether a feature of at most two values has another one here, or had none yet. Without
  // branches.
  template <class Real>
  [[nodiscard]] bool any_new(const Sample<Real>& x) const {
    bool any = false;
    for (const std::uint32_t slot : few_) {
      const FeatureState& f = states_[slot];
      const auto value = static_cast<double>(x.values[static_cast<std::size_t>(features_[slot])]);
      any |= (f.values == 0) | ((value != 0.0) & (value != f.first) & (value != f.second));
    }
    return any;
  }
  template <class Real>
  [[gnu::noinline]] void note_new(const Sample<Real>& x) {
    bool many = false;  // a feature has more than two values now
    for (const std::uint32_t slot : few_) {
      const FeatureState& f = states_[slot];
      const double value = countable(x.values[static_cast<std::size_t>(features_[slot])]);
      if (f.values > 0 && (value == 0.0 || value == f.first)) continue;
      note_first(slot, value);
      many |= f.values > 2;
    }
    if (many) note_few();
  }
  void make_place(std::uint32_t slot);
  void order_slots();
  void forget_features();
  void note_few();
  void pool(double x);
  // kNoSlot if the feature has no slot and gets none.
  std::uint32_t slot_of(std::int32_t feature) {
    const std::uint32_t found = slots_.find(feature);
    return found != kNoSlot ? found : new_slot(feature);
  }
  std::uint32_t new_slot(std::int32_t feature);
  [[nodiscard]] std::size_t most() const;

  // ---- checking -------------------------------------------------------------------------------
  void clear();
  void begin(std::size_t slot);
  void settle();
  bool check();
  // The factor by which limits grow while less than a third of the changes at once is left.
  [[nodiscard]] double thrift() const { return 3 * credit_ < kChanges * kChangeEvery ? 2.0 : 1.0; }
  [[nodiscard]] static bool paced(const FeatureState& f, const FeatureCounts& c);
  bool find_step();
  bool follow_pace(bool moved);
  void take_step(FeatureState& f, FeatureCounts& c);
  void find_growth();
  [[nodiscard]] double least_squared_distance() const;
  // True if the block was closed.
  bool check_block(FeatureState& f, FeatureCounts& c, bool& jumped);
  void be_born(FeatureState& f, const FeatureCounts& c);
  void find_shared();
  void find_sizes();
  [[nodiscard]] Unit own_unit(const FeatureState& f, const FeatureCounts& c) const;
  [[nodiscard]] Unit next_unit(std::size_t slot) const;
  // Whether apart_ holds centre and size of every next unit while units change.
  [[nodiscard]] bool keeps_next() const { return reserved_ == 0; }
  [[nodiscard]] double variance(const FeatureCounts& c) const {
    const double p = share(c);
    return p * c.square + c.mean * c.mean * p * (1.0 - p);
  }
  [[nodiscard]] double share(const FeatureCounts& c) const {
    return std::min(1.0, c.weight / total_);
  }
  // How many different values it had, including 0; 3 for more.
  [[nodiscard]] int different(const FeatureState& f, const FeatureCounts& c) const {
    return f.values + (c.weight < total_ ? 1 : 0);
  }
  [[nodiscard]] double convert(const FeatureState& f, const Unit& next, double z, bool older) const;
  // The unit before the change, in which the size of a jump is measured, and whether there is one;
  // or a step of all features.
  [[nodiscard]] const Unit& before(const FeatureState& f) const {
    return uneven_ ? f.in_force : f.own;
  }
  [[nodiscard]] bool steps(const FeatureState& f) const;
  [[nodiscard]] bool jumps(const FeatureState& f, const Unit& next) const;
  [[nodiscard]] double half(const FeatureState& f) const;
  [[nodiscard]] bool any_trend() const;
  void find_small();
  // Whether the sizes require units.
  [[nodiscard]] bool sizes_differ() const;
  static void follow_trend(FeatureState& f, double mean, double width);
  void look();
  void load(const std::vector<double>& numbers, const std::vector<std::int64_t>& marks);

  bool centres_;
  std::size_t examples_;
  std::size_t value_bytes_;
  std::size_t reserved_ = 0;  // features for which memory was reserved; 0: as many as come
  std::int32_t flags_ = 0;
  double flag_ = 1.0;  // the value of a flag
  bool uneven_ = false;
  bool held_ = false;
  bool turns_ = false;  // the change makes the stream uneven
  bool identity_ = true;
  bool sees_constants_ = false;
  bool any_constant_ = false;  // sees_constants_, and one is shown
  std::uint64_t stamp_ = 0;
  std::int64_t rows_ = 0;                          // t
  std::int64_t next_row_ = 0;                      // next row to count
  double row_ = 0.0;                               // w
  double total_ = 0.0;                             // T
  std::size_t widest_ = 0;                         // most nonzero values of a row
  std::int64_t credit_ = kChanges * kChangeEvery;  // rows that pay for changes
  std::int64_t changes_ = 0;
  std::int64_t off_ = 0;    // checks in a row that found the units off
  double common_ = 0.0;     // root of the summed variances
  double reference_ = 0.0;  // the same at the last change
  double largest_ = 0.0;    // largest deviation
  double middle_ = 0.0;
  double small_ = 0.0;       // size of a small unit, while the stream is even
  double farthest_ = 0.0;    // largest |mean|
  std::size_t varying_ = 0;  // features that vary
  struct {
    double weight = 0.0;  // R and mean square of the features without a state
    double square = 0.0;
    Unit in_force;
    Unit next;  // at the last check
  } shared_;    // unit of rare features
  // How wide blocks are relative to the statistics: the ratio of their variances, for the middle
  // feature.
  struct Pace {
    enum Kind : std::int64_t { kNone, kWider, kNarrower, kElsewhere };
    double low = 1.0;  // range of the paces that were no step
    double high = 1.0;
    double last = 1.0;          // at the last check
    std::int64_t kind = kNone;  // what the last check found,
    std::int64_t running = 0;   // and how many checks in a row
    std::int64_t wide = 0;      // checks in a row that are wider, whatever the range

    void visit_state(StateVisitor& visitor) {
      visitor.field("low", low);
      visitor.field("high", high);
      visitor.field("last", last);
      visitor.field("kind", kind);
      visitor.field("running", running);
      visitor.field("wide", wide);
      require(low >= 1.0 / kCountable && low <= 1.0 && high >= 1.0 && high <= kCountable &&
                  last >= 1.0 / kCountable && last <= kCountable && kind <= kElsewhere,
              "pace");
    }
  } pace_;
  FeatureTable slots_;
  std::vector<std::int32_t> features_;  // per slot, in the order of first appearance
  std::vector<FeatureState> states_;    // per slot
  AlignedVector<double> counts_;        // their statistics, in groups of kGroup
  AlignedVector<double> dense_;         // a dense row in the order of the slots, in whole groups
  std::vector<std::uint8_t> values_;    // as in the states; kApart instead of 1 if Q is not R
  std::vector<std::uint32_t> few_;      // slots with at most two values so far
  std::size_t last_feature_ = 0;
  bool in_order_ = true;               // slot j is feature j
  bool behind_ = false;                // a feature of one value has to catch up
  std::size_t shown_ = 0;              // number of features 0, 1, ... in these arrays:
  std::vector<double> shown_centres_;  // of the current units
  std::vector<double> shown_sizes_;
  std::vector<std::int32_t> centred_;  // features whose zero is not coordinate 0, sorted
  std::vector<std::int32_t> moved_;    // the same for the change
  std::vector<double> numbers_;        // scratch: numbers of one feature, or one per feature
  std::vector<double> apart_;          // scratch: distances from their median; or the next units
};

}  // namespace budgetron
