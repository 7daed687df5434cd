#include "model/units.hpp"

#include <numeric>

namespace budgetron {
namespace {

constexpr double kOff = 1.5;          // a unit is off by this factor ...
constexpr double kCentreOff = 2.0;    // ... and its centre by this many units
constexpr double kFarthest = 1000.0;  // deviations from 0: beyond it distances are rounded
constexpr double kCommonOff = 30.0;   // an even stream whose size is off by this becomes uneven
constexpr double kLargest = 1e12;     // largest deviation of an even stream
constexpr double kSmallest = 1e-12;
constexpr double kAbove = 2.0;     // the largest deviation is more than this times the median one
constexpr double kStandard = 4.0;  // no deviation of standardised features is larger,
constexpr double kBelow = 2.5;     // above it: the median one is more than this times a small size
constexpr std::size_t kFew = 16;   // one in this many features may be smaller than small
constexpr double kWidthOff = 4.0;  // factor at which gamma is found again
constexpr int kRunning = 2;        // checks in a row
constexpr int kRunningDown = 3;
constexpr double kBlock = 10.0;  // least number of values in a block
constexpr double kUp = 4.0;      // a jump is by more than this factor
constexpr double kDown = 0.1;
constexpr double kAside = 3.0;     // units; a jump aside is by more than this
constexpr double kFarDown = 0.01;  // a fall to this is noticed sooner
constexpr double kBefore = 3.9;    // units from the centre: the example was stored before the jump
constexpr double kStep = 2.25;     // squared; a step is by more than this factor
constexpr double kBeyond = 1.5;    // squared; and leaves the range so far by more than this
constexpr double kMoved = 1.5;     // deviations; or all means move by more
constexpr std::int64_t kStepChecks = 3;  // checks in a row
constexpr std::int64_t kWideChecks = 5;  // checks in a row, whatever the range
constexpr double kTogether = 1.25;       // growth of all sizes by one factor is by more than this
constexpr std::size_t kSortedRows = 16;  // the fewest rows whose order shows a trend
constexpr std::uint8_t kTrend = 10;      // checks that make a trend
constexpr std::uint8_t kTrendLeft = 3;   // and that keep it
constexpr std::uint8_t kMostTrend = 12;
constexpr double kWide = 4.0;     // units of a trend are this much wider
constexpr double kRare = 0.01;    // share of rows from which on a feature is no longer rare
constexpr double kRarer = 0.008;  // and below which it is rare again

std::size_t whole_groups(std::size_t count) { return (count + kGroup - 1) / kGroup * kGroup; }

bool off_by(double factor, double a, double b) { return a > factor * b || b > factor * a; }

}  // namespace

std::size_t Units::most() const {
  if (reserved_ > 0) return reserved_;
  if (examples_ == 0) return std::numeric_limits<std::uint32_t>::max();
  return std::max(kLeast, examples_ * widest_ * (value_bytes_ + kPlace) / kFeatureBytes);
}

double Units::moved(double value, double centre) const {
  if (value == centre || std::isnan(value)) return 0.0;
  double most = reference_;
  if (uneven_) {
    const auto has_unit = [](const FeatureState& f) { return !f.in_force.none(); };
    const auto units = std::count_if(states_.begin(), states_.end(), has_unit);
    most = std::sqrt(static_cast<double>(units));
  }
  const double far = kClip * (most > 0.0 ? most : 1.0);
  return value > centre ? far : -far;
}

void Units::reserve(std::size_t width, std::size_t slots, std::size_t rows) {
  reserved_ = std::min(width, std::max(kLeast, examples_ * slots * value_bytes_ / kFeatureBytes));
  slots_.reserve(width, reserved_);
  features_.reserve(reserved_);
  states_.reserve(reserved_);
  counts_.reserve(whole_groups(reserved_) * kGroup);
  dense_.reserve(whole_groups(reserved_));
  shown_centres_.reserve(std::min(width, 2 * reserved_));
  shown_sizes_.reserve(std::min(width, 2 * reserved_));
  values_.reserve(reserved_);
  few_.reserve(reserved_);
  centred_.reserve(reserved_);
  moved_.reserve(reserved_);
  numbers_.reserve(std::max(reserved_, rows));
  apart_.reserve(rows);
}

void Units::forget_rows() {
  if (reserved_ > 0) return;
  std::vector<double>().swap(apart_);
  std::vector<double>().swap(numbers_);
  numbers_.reserve(states_.size());  // scratch for checks
  features_.shrink_to_fit();         // as after loading
}

std::uint32_t Units::new_slot(std::int32_t feature) {
  if (states_.size() >= most()) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(states_.size());
  slots_.insert(feature, slot);
  features_.push_back(feature);
  states_.emplace_back();
  FeatureState& f = states_.back();  // rare, and shown as before
  f.in_force = uneven_ ? shared_.in_force : Unit{0.0, 1.0};
  if (uneven_) f.own = f.in_force;
  make_place(slot);
  return slot;
}

// Makes a place for the statistics of a slot.
void Units::make_place(std::uint32_t slot) {
  if (slot % kGroup == 0) {
    counts_.resize(counts_.size() + kGroupNumbers, 0.0);
    dense_.resize(dense_.size() + kGroup, 0.0);
  }
  values_.push_back(states_[slot].values);
  few_.push_back(slot);
  last_feature_ = std::max(last_feature_, static_cast<std::size_t>(features_[slot]));
  in_order_ &= static_cast<std::uint32_t>(features_[slot]) == slot;
}

void Units::forget_features() {
  slots_.clear();
  states_.clear();
  counts_.clear();
  dense_.clear();
  values_.clear();
  few_.clear();
  last_feature_ = 0;
  in_order_ = true;
  behind_ = false;
}

// Puts slots in the order of their features, as far as these are known. Precondition: only R, Q and
// values were counted.
void Units::order_slots() {
  if (in_order_) return;
  const std::size_t count = states_.size();
  few_.resize(count);
  std::iota(few_.begin(), few_.end(), 0u);
  std::sort(few_.begin(), few_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return features_[a] < features_[b]; });
  for (std::size_t to = 0; to < count; ++to) {
    std::size_t from = few_[to];
    while (from < to) from = few_[from];  // it was moved there
    std::swap(states_[to], states_[from]);
    std::swap(features_[to], features_[from]);
    std::swap(counts_of(to)[kWeight * kGroup], counts_of(from)[kWeight * kGroup]);
    std::swap(counts_of(to)[kRecent * kGroup], counts_of(from)[kRecent * kGroup]);
  }
  slots_.clear();
  in_order_ = true;
  for (std::size_t slot = 0; slot < count; ++slot) {
    slots_.insert(features_[slot], static_cast<std::uint32_t>(slot));
    in_order_ &= static_cast<std::size_t>(features_[slot]) == slot;
  }
}

void Units::set_counts(std::size_t slot, const FeatureCounts& c) {
  double* const f = counts_of(slot);
  f[kWeight * kGroup] = c.weight;
  f[kRecent * kGroup] = c.recent;
  f[kMean * kGroup] = c.mean;
  f[kSquare * kGroup] = c.square;
  f[kBlockCount * kGroup] = c.block_count;
  f[kBlockFar * kGroup] = c.block_far;
  f[kBlockMean * kGroup] = c.block_mean;
  f[kBlockSquare * kGroup] = c.block_square;
}
void Units::note_few() {
  few_.clear();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const FeatureState& f = states_[slot];
    const FeatureCounts c = counts(slot);
    values_[slot] = f.values == 1 && c.recent != c.weight ? kApart : f.values;
    if (values_[slot] < 3) few_.push_back(static_cast<std::uint32_t>(slot));
  }
}

void Units::pool(double x) {
  shared_.weight += row_;
  const double square = x * x;
  const double gain = shared_.square > 0.0 ? row_ / shared_.weight : 1.0;
  const double most = shared_.square > 0.0 ? kFar * kFar * shared_.square : square;
  shared_.square += gain * (std::min(square, most) - shared_.square);
}

void Units::clear() {
  forget_features();
  features_.clear();
  centred_.clear();
  shown_ = 0;
  shown_centres_.clear();
  shown_sizes_.clear();
  shared_ = {};
  rows_ = next_row_ = 0;
  total_ = 0.0;
  widest_ = 0;
  credit_ = kChanges * kChangeEvery;
  off_ = 0;
  uneven_ = turns_ = false;
  pace_ = {};
}

// Computes m and v from the feature's values, numbers_: their mean and variance about the median,
// with values farther than kFar sizes clipped. The size is that of the middle half, or of the
// nearest 95 % if that is 0, or of all. Precondition: R is summed, and Q is the sum of t over the
// rows in which the value was missing.
void Units::begin(std::size_t slot) {
  const std::size_t n = numbers_.size();
  FeatureState& f = states_[slot];
  FeatureCounts c = counts(slot);
  const double known = total_ - c.recent;
  const bool zeros = c.weight < known;
  const bool missing = c.recent > 0.0;
  c.recent = c.weight;
  if (missing) c.weight = known > 0.0 ? c.weight / known * total_ : total_;
  set_counts(slot, c);
  if (n == 0) return;
  f.rare = share(c) < kRare;
  if (n >= kSortedRows && f.values > 2 && !zeros) {
    std::size_t up = 0;
    std::size_t down = 0;
    for (std::size_t i = 1; i < n; ++i) {
      up += numbers_[i] > numbers_[i - 1];
      down += numbers_[i] < numbers_[i - 1];
    }
    if (down == 0 && 2 * up >= n) f.rising = kTrend;
    if (up == 0 && 2 * down >= n) f.falling = kTrend;
    f.trend = f.rising > 0 || f.falling > 0;
  }
  std::vector<double>& sorted = apart_;
  sorted = numbers_;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted.front();
  const bool constant = low == sorted.back();
  const double width = sorted[std::min(3 * n / 4, n - 1)] - sorted[n / 4];
  const double centre = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0;
  double size = width / 1.349;
  if (!(size > 0.0)) {
    for (double& value : sorted) value = (value - centre) * (value - centre);
    std::sort(sorted.begin(), sorted.end());
    const std::size_t nearest = n - (n + 19) / 20;
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == nearest && sum > 0.0) break;
      sum += sorted[i];
      size = std::sqrt(sum / static_cast<double>(i + 1));
    }
  }
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : numbers_) {
    const double e = std::clamp(value - centre, -kFar * size, kFar * size);
    sum += e;
    squares += e * e;
  }
  sum /= static_cast<double>(n);
  c.mean = constant ? low : centre + sum;
  c.square = constant ? 0.0 : std::max(0.0, squares / static_cast<double>(n) - sum * sum);
  set_counts(slot, c);
}

// The share of rows below which a feature counts as 0 in most of them. Near a half a feature keeps
// its kind.
double Units::half(const FeatureState& f) const {
  if (!centres_ || f.own.none()) return 0.5;
  return f.own.centre == 0.0 ? 0.6 : 0.4;
}

Unit Units::own_unit(const FeatureState& f, const FeatureCounts& c) const {
  const int values = different(f, c);
  const bool zeros = c.weight < total_;
  if (f.values == 0) return uneven_ || turns_ ? shared_.next : Unit();
  if (values < 2 && centres_) return {f.first};
  if (f.rare) return shared_.next;
  const double p = share(c);
  Unit unit;
  if (values == 2 && (centres_ || zeros)) {
    const double other = zeros ? 0.0 : f.second;
    unit = {centres_ ? std::min(f.first, other) : 0.0, std::abs(f.first - other)};
  } else if (p < half(f)) {
    unit.size = std::sqrt(c.mean * c.mean + c.square);
  } else if (centres_) {
    unit = {p * c.mean, std::sqrt(variance(c))};
  } else {
    unit.size = std::sqrt(p * (c.mean * c.mean + c.square));
  }
  if (f.trend) unit.size *= kWide;
  if (!(unit.size > 0.0)) unit = {f.in_force.none() ? f.in_force.centre : 0.0};
  return unit;
}

// The unit of a feature after a change; a feature that gets none keeps its current one.
Unit Units::next_unit(std::size_t slot) const {
  const FeatureState& f = states_[slot];
  const Unit own = own_unit(f, counts(slot));
  if (f.values == 0) return own;
  return converts && (own.none() || f.in_force.none()) ? f.in_force : own;
}

// The unit of the rare features, from the statistics of each.
void Units::find_shared() {
  double most = 0.0;
  if (shared_.in_force.none()) {
    numbers_.clear();
    for (std::size_t slot = 0; slot < states_.size(); ++slot) {
      if (!states_[slot].rare || states_[slot].values == 0) continue;
      const FeatureCounts c = counts(slot);
      numbers_.push_back(c.mean * c.mean + c.square);
    }
    if (!numbers_.empty()) {
      const auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(numbers_.size() / 2);
      std::nth_element(numbers_.begin(), at, numbers_.end());
      most = kFar * kFar * *at;
    }
  } else {
    most = kFar * kFar * shared_.in_force.size * shared_.in_force.size;
  }
  double weight = shared_.weight;
  double sum = shared_.weight * shared_.square;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (!states_[slot].rare || states_[slot].values == 0) continue;
    const FeatureCounts c = counts(slot);
    weight += c.weight;
    sum += c.weight * std::min(c.mean * c.mean + c.square, most);
  }
  shared_.next = Unit();
  if (sum > 0.0) shared_.next.size = std::sqrt(sum / weight);
}

// Measures how even the features are. Compares variances, and takes few roots.
void Units::find_sizes() {
  numbers_.clear();
  double largest = 0.0;
  double sum = 0.0;
  farthest_ = 0.0;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const FeatureState& f = states_[slot];
    const FeatureCounts c = counts(slot);
    if (different(f, c) < 2 || f.trend) continue;
    double variance = this->variance(c);
    if (!(variance > 0.0)) {
      const Unit unit = own_unit(f, c);
      if (unit.none()) continue;
      variance = unit.size * unit.size;
    }
    numbers_.push_back(variance);
    largest = std::max(largest, variance);
    farthest_ = std::max(farthest_, std::abs(c.mean));
    sum += variance;
  }
  largest_ = std::sqrt(largest);
  common_ = std::sqrt(sum);
  const std::size_t n = varying_ = numbers_.size();
  middle_ = 0.0;
  if (n == 0) return;
  const auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(numbers_.begin(), at, numbers_.end());
  middle_ = std::sqrt(*at);
  if (n % 2 == 1) return;
  const double below = std::sqrt(*std::max_element(numbers_.begin(), at));
  // With two features the larger is never twice their median: it is compared with the other.
  middle_ = n == 2 ? below : (below + middle_) / 2.0;
}

// For an even stream. Precondition: the unit of rare features does not matter.
void Units::find_small() {
  numbers_.clear();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const FeatureState& f = states_[slot];
    const FeatureCounts c = counts(slot);
    if (f.rare || f.trend || different(f, c) < 2) continue;
    const Unit unit = own_unit(f, c);
    if (!unit.none()) numbers_.push_back(unit.size);
  }
  small_ = std::numeric_limits<double>::infinity();
  if (numbers_.empty()) return;
  const auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(numbers_.size() / kFew);
  std::nth_element(numbers_.begin(), at, numbers_.end());
  small_ = *at;
}

bool Units::sizes_differ() const {
  if (largest_ > kLargest || (largest_ > 0.0 && largest_ < kSmallest)) return true;
  if (centres_ && farthest_ > kFarthest * common_) return true;
  return (largest_ > 1.0 && largest_ > kAbove * middle_) ||
         (largest_ > kStandard && middle_ > kBelow * small_);
}

// The units after `start`.
void Units::settle() {
  find_shared();
  find_sizes();
  find_small();
  uneven_ = sizes_differ() || any_trend();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    const FeatureCounts c = counts(slot);
    f.own = own_unit(f, c);
    const bool constant = centres_ && f.values > 0 && different(f, c) < 2;
    f.in_force = uneven_ || constant ? f.own : Unit{0.0, 1.0};
  }
  shared_.in_force = shared_.next;
  reference_ = common_;
  flag_ = uneven_ || !(largest_ > 0.0) ? 1.0 : largest_;
  look();
  note_few();
}

void Units::decide() {
  catch_up();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    FeatureCounts c = counts(slot);
    c.block_count = c.block_far = c.block_mean = c.block_square = 0.0;
    set_counts(slot, c);
    f.rare = f.values == 0 || share(c) < kRare;
    f.mean_before = 0.0;
    f.size_before = -1.0;
  }
  settle();
}

bool Units::any_trend() const {
  return std::any_of(states_.begin(), states_.end(), [](const FeatureState& f) { return f.trend; });
}

bool Units::varies() const {
  if (shared_.weight > 0.0) return true;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (different(states_[slot], counts(slot)) > 1) return true;
  }
  return false;
}

// Call after the current units changed: finds the zeros that are not at 0, and whether any row
// changes.
void Units::look() {
  identity_ = !uneven_;
  ++stamp_;
  centred_.clear();
  const std::size_t width = states_.empty() ? 0 : last_feature_ + 1;
  shown_ = width <= 2 * states_.size() ? width : 0;
  const Unit other = uneven_ ? shared_.in_force : Unit{0.0, 1.0};
  shown_centres_.assign(shown_, other.centre);
  shown_sizes_.assign(shown_, other.size);
  any_constant_ = sees_constants_ && shown_ > 0 && other.none();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const Unit& unit = states_[slot].in_force;
    if (unit.none() || unit.centre != 0.0) identity_ = false;
    const bool seen = sees_constants_ || !unit.none();
    if (seen && unit.centre != 0.0) centred_.push_back(features_[slot]);
    any_constant_ = any_constant_ || (sees_constants_ && shown_ > 0 && unit.none());
    if (shown_ == 0) continue;
    shown_centres_[static_cast<std::size_t>(features_[slot])] = unit.centre;
    shown_sizes_[static_cast<std::size_t>(features_[slot])] = unit.size;
  }
  std::sort(centred_.begin(), centred_.end());
}

void Units::follow_trend(FeatureState& f, double mean, double width) {
  const auto less = [](std::uint8_t n) { return static_cast<std::uint8_t>(n > 2 ? n - 2 : 0); };
  const auto more = [](std::uint8_t n) { return static_cast<std::uint8_t>(n + (n < kMostTrend)); };
  if (mean >= f.low && mean <= f.high) {
    f.rising = f.falling = 0;
  } else if (std::max(mean - f.high, f.low - mean) < width) {
    f.rising = less(f.rising);
    f.falling = less(f.falling);
  } else {
    f.rising = mean > f.high ? more(f.rising) : std::uint8_t{0};
    f.falling = mean < f.low ? more(f.falling) : std::uint8_t{0};
  }
  f.trend = std::max(f.rising, f.falling) >= (f.trend ? kTrendLeft : kTrend);
}

bool Units::check_block(FeatureState& f, FeatureCounts& c, bool& jumped) {
  const bool varies = f.in_force.none() && different(f, c) > 1;
  if (varies && f.wait < kRunning) ++f.wait;
  if (c.block_count < kBlock && !varies) return false;
  const double variance = c.block_count > 0.0 ? c.block_square / c.block_count : 0.0;
  const double size = std::sqrt(variance);
  const double before = std::sqrt(c.square);
  const bool far = 2.0 * c.block_far > c.block_count && size > 0.0;
  const auto take_block = [&] {
    c.mean = c.block_mean;
    c.square = variance;
    c.recent = c.block_count * weight();
  };
  if (varies) {
    // The old constant says nothing about the new values: use their block alone.
    if (f.wait >= kRunning && size > 0.0 && c.block_count >= kBlock) take_block();
    f.up = f.down = 0;
  } else {
    const bool still = f.size_before > 0.0 &&
                       std::abs(c.block_mean - f.mean_before) < std::max(size, f.size_before);
    const bool wider = far && (c.square == 0.0 || size > kUp * before);
    const bool placed =
        centres_ && 2.0 * c.weight >= total_ && !f.own.none() && size > 0.0 && f.low <= f.high;
    const double out = std::max(c.block_mean - f.high, f.low - c.block_mean);
    const bool leaps = placed && out > kAside * std::max(size, f.own.size);
    const bool aside =
        placed && still && f.up > 0 && std::abs(c.block_mean - f.own.centre) > kAside * f.own.size;
    const bool up = leaps || aside || (still && wider);
    const double unit = std::max(before, f.own.none() ? 0.0 : f.own.size);
    const bool down = size > 0.0 && still && c.square > 0.0 && size < kDown * unit &&
                      f.size_before < kDown * unit;
    f.up = up ? static_cast<std::uint8_t>(f.up + 1) : std::uint8_t{0};
    f.down = down ? static_cast<std::uint8_t>(f.down + 1) : std::uint8_t{0};
    const int falls = std::max(size, f.size_before) < kFarDown * unit ? kRunning : kRunningDown;
    if (f.up >= kRunning || f.down >= falls) {
      if (!f.rare) {
        const bool all = std::abs(c.block_mean - f.own.centre) > reference_;
        f.jump = aside && all ? Jump::aside : f.up > 0 ? Jump::up : Jump::down;
        f.jump_age = 0;
        jumped = true;
      }
      f.up = f.down = 0;
      take_block();
    }
  }
  if (c.block_count >= kBlock) {
    if (f.low <= f.high) follow_trend(f, c.block_mean, std::max(size, f.size_before));
    f.low = std::min(f.low, c.block_mean);
    f.high = std::max(f.high, c.block_mean);
  }
  f.mean_before = c.block_mean;
  f.size_before = size;
  c.block_count = c.block_far = c.block_mean = c.block_square = 0.0;
  return true;
}

// All stored examples have coordinate 0: the place of the constant if it is one of two values,
// otherwise the centre.
void Units::be_born(FeatureState& f, const FeatureCounts& c) {
  const double constant = f.in_force.centre;
  f.own = own_unit(f, c);
  if (uneven_) {
    if (centres_ && !f.rare && different(f, c) == 2) f.own.centre = constant;
    f.in_force = f.own;
  } else {
    f.in_force = {constant == 0.0 ? 0.0 : c.mean, 1.0};
  }
  f.wait = 0;
}

namespace {

// Whether three of four numbers are within `factor` of the middle one. Reorders them.
bool alike(std::vector<double>& numbers, double factor, double& middle) {
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), at, numbers.end());
  middle = *at;
  const auto near = std::count_if(numbers.begin(), numbers.end(),
                                  [&](double each) { return !off_by(factor, each, middle); });
  return 4 * static_cast<std::size_t>(near) >= 3 * numbers.size();
}

}  // namespace

// Whether the feature has a block and a previous one that can be compared with its statistics.
bool Units::paced(const FeatureState& f, const FeatureCounts& c) {
  return !f.rare && !f.trend && !f.in_force.none() && c.square > 0.0 && f.size_before > 0.0;
}

// Finds the pace and whether it shows a step. True if units must follow it.
bool Units::find_step() {
  const auto has_block = [](const FeatureCounts& c) {
    return c.block_count >= kBlock && c.block_square > 0.0;
  };
  numbers_.clear();
  std::size_t known = 0;
  std::size_t moved = 0;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    if (f.jump == Jump::step) f.jump = Jump::none;
    if (!(f.size_before > 0.0)) continue;  // flags have none: this pass costs them little
    const FeatureCounts c = counts(slot);
    if (!paced(f, c)) continue;
    ++known;
    if (!has_block(c)) continue;
    const double variance = c.block_square / c.block_count;
    numbers_.push_back(variance / c.square);
    const double size = std::sqrt(std::max(variance, c.square));
    const double out = std::max(c.block_mean - f.high, f.low - c.block_mean);
    const bool there = pace_.kind == Pace::kElsewhere
                           ? std::abs(c.block_mean - f.mean_before) < size
                           : f.low <= f.high && out > kMoved * size;
    moved += centres_ && there && std::abs(c.block_mean - c.mean) > kMoved * size;
  }
  const std::size_t n = numbers_.size();
  if (n == 0 || 4 * n < known) return false;
  if (!follow_pace(2 * moved >= n)) return false;
  std::size_t taken = 0;
  std::size_t off = 0;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    FeatureCounts c = counts(slot);
    if (!paced(f, c) || !has_block(c)) continue;
    take_step(f, c);
    set_counts(slot, c);
    const Unit own = own_unit(f, c);
    const Unit& before = uneven_ ? f.in_force : f.own;
    ++taken;
    off += own.none() || before.none() || off_by(kOff, own.size, before.size) ||
           std::abs(own.centre - before.centre) > before.size;
  }
  if (2 * off >= taken) return true;
  for (FeatureState& f : states_) {  // it was the way back
    if (f.jump == Jump::step) f.jump = Jump::none;
  }
  return false;
}

// True if there was a step. Precondition: numbers_ has the ratios of the features, at least one.
bool Units::follow_pace(bool moved) {
  double pace = 1.0;
  const bool all = alike(numbers_, kStep, pace);
  const double wide = std::max(kBeyond, pace_.high) * (pace_.kind == Pace::kWider ? 1.0 : kBeyond);
  const double narrow =
      std::min(1.0 / kBeyond, pace_.low) / (pace_.kind == Pace::kNarrower ? 1.0 : kBeyond);
  const std::int64_t kind = all && pace > wide     ? Pace::kWider
                            : all && pace < narrow ? Pace::kNarrower
                            : moved                ? Pace::kElsewhere
                                                   : Pace::kNone;
  const bool steady = pace_.running + 1 < kStepChecks || !off_by(kStep, pace, pace_.last);
  const bool goes_on = kind == pace_.kind && steady;
  // It was not a step: the pace varies this much.
  if (!goes_on && pace_.kind == Pace::kWider) pace_.high = std::min(pace_.high * kStep, kCountable);
  if (!goes_on && pace_.kind == Pace::kNarrower) {
    pace_.low = std::max(pace_.low / kStep, 1.0 / kCountable);
  }
  pace_.running = kind == Pace::kNone ? 0 : goes_on ? pace_.running + 1 : 1;
  pace_.kind = kind;
  pace_.last = std::clamp(pace, 1.0 / kCountable, kCountable);
  pace_.wide = pace > kStep * thrift() * thrift() ? pace_.wide + 1 : 0;
  if (kind == Pace::kNone) {
    pace_.low = std::min(pace_.low, pace_.last);
    pace_.high = std::max(pace_.high, pace_.last);
  }
  if (pace_.running < kStepChecks && pace_.wide < kWideChecks) return false;
  pace_.running = pace_.wide = 0;
  pace_.kind = Pace::kNone;
  pace_.last = 1.0;
  return true;
}

void Units::take_step(FeatureState& f, FeatureCounts& c) {
  const double half = (c.block_mean - f.mean_before) / 2.0;
  const double variance = c.block_square / c.block_count;
  c.mean = f.mean_before + half;
  c.square = (variance + f.size_before * f.size_before) / 2.0 + half * half;
  c.recent = 2.0 * c.block_count * weight();
  f.low = std::min(c.block_mean, f.mean_before);
  f.high = std::max(c.block_mean, f.mean_before);
  f.up = f.down = 0;
  f.jump = Jump::step;
  f.jump_age = 0;
}

// Whether nearly all sizes change by about one factor: then the features have grown together, and
// stored examples keep their coordinates.
void Units::find_growth() {
  const auto factor = [this](std::size_t slot) {
    const FeatureState& f = states_[slot];
    if (f.rare || f.trend || f.values < 2 || f.in_force.none()) return 0.0;
    return next_unit(slot).size / f.in_force.size;
  };
  numbers_.clear();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (factor(slot) > 0.0) numbers_.push_back(factor(slot));
  }
  double middle = 1.0;
  if (numbers_.empty() || !alike(numbers_, kOff, middle)) return;
  if (!off_by(kTogether, middle, 1.0) || off_by(kUp, middle, 1.0)) return;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (factor(slot) > 0.0 && states_[slot].jump == Jump::none) states_[slot].jump = Jump::step;
  }
}

// A quarter of the mean squared distance between rows in the new units.
double Units::least_squared_distance() const {
  double sum = 0.0;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const Unit unit = next_unit(slot);
    if (!unit.none()) sum += variance(counts(slot)) / (unit.size * unit.size);
  }
  return sum / 2.0;
}

bool Units::check() {
  credit_ = std::min(credit_ + kCheck, kChanges * kChangeEvery);
  bool jumped = false;
  catch_up();
  const bool step = find_step();
  rounds = step ? kStepChecks * kCheck : 0;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    FeatureCounts c = counts(slot);
    f.rare = f.values == 0 || share(c) < (f.rare ? kRare : kRarer);
    if (f.jump != Jump::none && f.jump_age <= kRunning) ++f.jump_age;
    if (check_block(f, c, jumped)) set_counts(slot, c);
  }
  find_sizes();
  if (!uneven_) find_small();
  if (uneven_) find_shared();
  if (uneven_ && shared_.in_force.none()) shared_.in_force = shared_.next;
  bool born = false;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    const bool shares = uneven_ && f.rare && f.in_force.none();
    if (f.wait < kRunning && !shares) continue;
    const FeatureCounts c = counts(slot);
    if (own_unit(f, c).none()) continue;
    be_born(f, c);
    born = true;
  }
  if (born) look();

  bool now = step || (uneven_ && jumped);
  bool off = false;
  bool width = false;
  spread = 1.0;
  turns_ = false;
  converts = true;
  if (uneven_) {
    const double far = kOff * thrift();
    const auto is_off = [far](const Unit& next, const Unit& in_force) {
      return !next.none() && !in_force.none() &&
             (off_by(far, next.size, in_force.size) ||
              std::abs(next.centre - in_force.centre) > kCentreOff * in_force.size);
    };
    off = is_off(shared_.next, shared_.in_force);
    for (std::size_t slot = 0; slot < states_.size() && !off; ++slot) {
      const FeatureState& f = states_[slot];
      off = f.up == 0 && is_off(next_unit(slot), f.in_force);
    }
  } else {
    std::size_t jumps = 0;
    std::size_t coming = 0;  // jumps that the next check will find
    bool aside = false;
    for (FeatureState& f : states_) {
      if (f.jump_age > kRunning) f.jump = Jump::none;
      jumps += f.jump != Jump::none;
      aside |= f.jump == Jump::aside;
      coming += f.up > 0;
    }
    const bool waits = coming > 0 && 2 * coming >= varying_;
    const bool comparable = reference_ > 0.0 && common_ > 0.0 && !waits;
    now |= aside || (jumps > 0 && 2 * jumps >= varying_);
    turns_ = now || any_trend() || (!waits && sizes_differ()) ||
             (comparable && off_by(kCommonOff, common_, reference_));
    width = !turns_ && by_distance() && comparable && off_by(kWidthOff, common_, reference_);
    if (width && changes_ > 1) {  // for the third time
      width = false;
      turns_ = true;
    }
    off = turns_ || width;
    if (comparable && (turns_ || width)) {
      const double after = width ? common_ * common_ : static_cast<double>(varying_);
      spread = after / (reference_ * reference_);
    }
  }
  off = off && pace_.running == 0;  // it may be a step
  off_ = off ? off_ + 1 : 0;
  if (!(off_ >= kRunning || now) || credit_ < kChangeEvery) return false;
  find_shared();
  converts = !width;
  moved_.clear();
  if (keeps_next()) apart_.clear();
  least_squared = converts ? least_squared_distance() : 0.0;
  if (!converts) return true;
  if (shared_.next.none()) shared_.next = shared_.in_force;
  if (uneven_ && !step && pace_.last > kBeyond) find_growth();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const FeatureState& f = states_[slot];
    const Unit next = next_unit(slot);
    if (keeps_next()) apart_.insert(apart_.end(), {next.centre, next.size});
    if (convert(f, next, 0.0, false) != 0.0 || convert(f, next, 0.0, true) != 0.0) {
      moved_.push_back(features_[slot]);
    }
  }
  std::sort(moved_.begin(), moved_.end());
  return true;
}

bool Units::check_held() {
  held_ = false;
  return check();
}

void Units::commit() {
  if (keeps_next()) std::vector<double>().swap(apart_);
  credit_ -= kChangeEvery;
  ++changes_;
  off_ = 0;
  reference_ = common_;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    const Unit next = next_unit(slot);
    if (!converts && next.none()) continue;
    f.own = next;
    if (converts) f.in_force = next;
    f.jump = Jump::none;
  }
  if (!converts) return;
  shared_.in_force = shared_.next;
  flag_ = 1.0;
  uneven_ |= turns_;
  look();
}

double Units::convert(std::int32_t feature, double z, bool older) const {
  if (flags_ > 0 && feature >= flags_) return z / flag_;
  const std::uint32_t slot = slots_.find(feature);
  if (slot != kNoSlot) {
    // Every stored example asks for it: it is computed once per change.
    const double* const kept = keeps_next() && !apart_.empty() ? &apart_[2 * slot] : nullptr;
    const Unit next = kept != nullptr ? Unit{kept[0], kept[1]} : next_unit(slot);
    return convert(states_[slot], next, z, older);
  }
  if (shared_.next.none()) return std::clamp(z, -kClip, kClip);
  const double x = uneven_ ? z * shared_.in_force.size : z;
  return std::clamp(x / shared_.next.size, -kClip, kClip);
}

UnitStep Units::step(std::int32_t feature) const {
  if (flags_ > 0 && feature >= flags_) return {flag_, 0.0};
  const std::uint32_t slot = slots_.find(feature);
  Unit old = uneven_ ? shared_.in_force : Unit{0.0, 1.0};
  Unit next = shared_.next;
  if (slot != kNoSlot) {
    const FeatureState& f = states_[slot];
    old = f.in_force;
    next = next_unit(slot);
    if (steps(f) || jumps(f, next)) next = before(f);
  }
  if (old.none() || next.none()) return {};
  const double ratio = next.size / old.size;
  const double shift = (next.centre - old.centre) / old.size;
  if (!uneven_) return {ratio, shift};
  // No weight was learned beyond the clip: 1 in the new unit, and its centre, were at most kClip.
  return {std::min(ratio, kClip), std::clamp(shift, -kClip, kClip)};
}

bool Units::steps(const FeatureState& f) const { return f.jump == Jump::step && !before(f).none(); }

bool Units::jumps(const FeatureState& f, const Unit& next) const {
  const Unit& before = this->before(f);
  if (before.none() || (f.jump == Jump::none && uneven_)) return false;
  const double factor = next.size / before.size;
  const double moved = std::abs(next.centre - before.centre);
  return factor > kUp || factor < 1.0 / kUp ||
         (f.jump != Jump::none && moved > kClip * before.size);
}

double Units::convert(const FeatureState& f, const Unit& next, double z, bool older) const {
  if (f.in_force.none()) return z;
  const Unit& before = this->before(f);
  const double x = z * f.in_force.size + f.in_force.centre;
  double converted = (x - next.centre) / next.size;
  if (steps(f)) {
    if (older) converted = (x - before.centre) / before.size;
  } else if (jumps(f, next)) {
    const double kept = (x - before.centre) / before.size;
    const bool earlier = next.size / before.size > 1.0 / kUp ? std::abs(kept) <= kBefore
                                                             : std::abs(converted) > kBefore;
    if (earlier) {
      converted = kept;
    } else if (uneven_ && std::abs(z) >= kClip) {
      converted = z > 0.0 ? 1.0 : -1.0;  // it was clipped, so its size is lost
    }
  }
  return std::clamp(converted, -kClip, kClip);
}

namespace {

// Calls number(x) or mark(n) with everything that is saved of a feature.
template <class Number, class Mark>
void visit(FeatureState& f, FeatureCounts& c, Number number, Mark mark) {
  for (double* value : {&c.weight, &c.recent, &c.mean, &c.square, &c.block_mean, &c.block_square,
                        &f.first, &f.second, &f.mean_before, &f.size_before, &f.in_force.centre,
                        &f.in_force.size, &f.own.centre, &f.own.size, &f.low, &f.high}) {
    number(*value);
  }
  mark(c.block_count);
  mark(c.block_far);
  mark(f.values);
  mark(f.up);
  mark(f.down);
  mark(f.wait);
  mark(f.jump);
  mark(f.jump_age);
  mark(f.rare);
  mark(f.rising);
  mark(f.falling);
  mark(f.trend);
}
constexpr std::size_t kNumbers = 16;
constexpr std::size_t kMarks = 12;

}  // namespace

void Units::visit_state(StateVisitor& visitor) {
  visitor.object(slots_.bytes());
  visitor.scratch(states_);
  visitor.scratch(counts_);
  visitor.scratch(dense_);
  visitor.scratch(values_);
  visitor.scratch(few_);
  visitor.scratch(shown_centres_);
  visitor.scratch(shown_sizes_);
  visitor.scratch(centred_);
  visitor.scratch(moved_);
  visitor.scratch(numbers_);
  visitor.scratch(apart_);
  visitor.field("uneven", uneven_);
  visitor.field("rows", rows_);
  visitor.field("total", total_);
  visitor.field("widest", widest_);
  visitor.field("credit", credit_);
  visitor.field("changes", changes_);
  visitor.field("off", off_);
  visitor.field("reference", reference_);
  visitor.field("shared_weight", shared_.weight);
  visitor.field("shared_square", shared_.square);
  visitor.field("shared_size", shared_.in_force.size);
  visitor.field("features", features_);
  visitor.part_if(pace_.kind != Pace::kNone || pace_.low != pace_.high, "pace", pace_);
  if (flags_ > 0) {
    visitor.field("flag", flag_);
    require(flag_ > 0.0 && flag_ <= kCountable, "flag");
  }
  if (visitor.mode() == StateVisitor::Mode::count) return;
  std::vector<double> numbers;
  std::vector<std::int64_t> marks;
  if (visitor.mode() == StateVisitor::Mode::save) {
    catch_up();
    for (std::size_t slot = 0; slot < states_.size(); ++slot) {
      FeatureCounts c = counts(slot);
      visit(
          states_[slot], c, [&](double& value) { numbers.push_back(value); },
          [&](auto& value) { marks.push_back(static_cast<std::int64_t>(value)); });
    }
  }
  visitor.field("numbers", numbers);
  visitor.field("marks", marks);
  if (visitor.mode() == StateVisitor::Mode::load) load(numbers, marks);
}

void Units::load(const std::vector<double>& numbers, const std::vector<std::int64_t>& marks) {
  const char* const what = "units";
  const std::size_t count = features_.size();
  require(count <= most() && numbers.size() == kNumbers * count && marks.size() == kMarks * count,
          what);
  const auto sized = [](double size) { return size > 0.0; };  // infinite: none
  const auto sound = [](double value) { return std::isfinite(value); };
  require(std::isfinite(total_) && total_ >= static_cast<double>(rows_) &&
              (total_ == 0.0) == (rows_ == 0) && credit_ <= kChanges * kChangeEvery &&
              sound(reference_) && reference_ >= 0.0 && sound(shared_.weight) &&
              shared_.weight >= 0.0 && sound(shared_.square) && shared_.square >= 0.0 &&
              sized(shared_.in_force.size),
          what);
  next_row_ = 0;
  forget_features();
  auto number = numbers.begin();
  auto mark = marks.begin();
  for (std::size_t slot = 0; slot < count; ++slot) {
    FeatureState& f = states_.emplace_back();
    require(features_[slot] >= 0 && slots_.find(features_[slot]) == kNoSlot, what);
    slots_.insert(features_[slot], static_cast<std::uint32_t>(slot));
    make_place(static_cast<std::uint32_t>(slot));
    FeatureCounts c;
    visit(
        f, c, [&](double& value) { value = *number++; },
        [&](auto& value) {
          require(*mark >= 0 && *mark <= kMostMark, what);
          value = static_cast<std::remove_reference_t<decltype(value)>>(*mark++);
        });
    const bool any = f.values > 0;  // none: it was missing in the first rows
    require(c.weight <= total_ && (any ? c.weight > 0.0 : c.weight >= 0.0) &&
                (any ? c.recent > 0.0 : c.recent == 0.0) && sound(c.recent) && c.square >= 0.0 &&
                sound(c.square) && c.block_square >= 0.0 && sound(c.block_square) &&
                sound(f.size_before) && sized(f.in_force.size) && sized(f.own.size) &&
                f.values <= 3 && f.jump <= Jump::step && c.block_far <= c.block_count,
            what);
    for (const double value : {c.mean, c.block_mean, f.first, f.second, f.mean_before, f.low,
                               f.high, f.in_force.centre, f.own.centre}) {
      require(std::abs(value) <= kCountable, what);
    }
    set_counts(slot, c);
  }
  look();
  note_few();
}

}  // namespace budgetron
