#include "model/units.hpp"

namespace budgetron {
namespace {

constexpr double kOff = 1.5;         // a unit is off by this factor
constexpr double kCommonOff = 30.0;  // and the size of an even stream, so that it becomes uneven
constexpr double kWidthOff = 4.0;    // or so that gamma is found anew
constexpr int kRunning = 2;          // checks
constexpr int kRunningDown = 3;
constexpr std::int32_t kBlock = 20;  // values in a block at least
constexpr double kUp = 4.0;          // a jump is by more than this
constexpr double kDown = 0.1;
constexpr double kBefore = 3.9;  // units from the centre: stored before the jump

bool off_by(double factor, double a, double b) { return a > factor * b || b > factor * a; }

}  // namespace

std::size_t Units::most() const {
  if (reserved_ > 0) return reserved_;
  if (examples_ == 0) return std::numeric_limits<std::uint32_t>::max();
  return std::max(kLeast, examples_ * widest_ * (value_bytes_ + kPlace) / kFeatureBytes);
}

void Units::reserve(std::size_t width, std::size_t slots, std::size_t rows) {
  reserved_ = std::min(width, std::max(kLeast, examples_ * slots * value_bytes_ / kFeatureBytes));
  slots_.reserve(width, reserved_);
  features_.reserve(reserved_);
  states_.reserve(reserved_);
  counts_.reserve((reserved_ + kGroup - 1) / kGroup * kGroupNumbers);
  dense_.reserve((reserved_ + kGroup - 1) / kGroup * kGroup);
  values_.reserve(reserved_);
  few_.reserve(reserved_);
  centred_.reserve(reserved_);
  moved_.reserve(reserved_);
  numbers_.reserve(std::max(reserved_, rows));
  apart_.reserve(rows);
}

std::uint32_t Units::new_slot(std::int32_t feature) {
  if (states_.size() >= most()) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(states_.size());
  slots_.insert(feature, slot);
  features_.push_back(feature);
  states_.emplace_back();
  if (!uneven_) states_.back().in_force = {0.0, 1.0};
  make_place(slot);
  return slot;
}

// For the statistics of a slot.
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

// Statistics from where values move them to where they are looked at, and back.
void Units::pull() {
  catch_up();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    FeatureState& f = states_[slot];
    const double* const from = counts_of(slot);
    f.weight = from[kWeight * kGroup];
    f.recent = from[kRecent * kGroup];
    f.mean = from[kMean * kGroup];
    f.square = from[kSquare * kGroup];
    f.block_count = static_cast<std::int32_t>(from[kBlockCount * kGroup]);
    f.block_far = static_cast<std::int32_t>(from[kBlockFar * kGroup]);
    f.block_mean = from[kBlockMean * kGroup];
    f.block_square = from[kBlockSquare * kGroup];
  }
}
void Units::push(std::size_t slot) {
  const FeatureState& f = states_[slot];
  double* const to = counts_of(slot);
  to[kWeight * kGroup] = f.weight;
  to[kRecent * kGroup] = f.recent;
  to[kMean * kGroup] = f.mean;
  to[kSquare * kGroup] = f.square;
  to[kBlockCount * kGroup] = static_cast<double>(f.block_count);
  to[kBlockFar * kGroup] = static_cast<double>(f.block_far);
  to[kBlockMean * kGroup] = f.block_mean;
  to[kBlockSquare * kGroup] = f.block_square;
}
void Units::push() {
  few_.clear();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    push(slot);
    values_[slot] = states_[slot].values;
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
  shared_ = FeatureState();
  rows_ = 0;
  total_ = 0.0;
  widest_ = 0;
  credit_ = kChanges * kChangeEvery;
  off_ = 0;
  uneven_ = false;
}

// The values of the feature, numbers_, make m and v: their mean and variance about the median,
// those farther than kFar sizes brought there. The size is that of the middle half, or of the 95 %
// nearest if that is 0, or of all.
void Units::begin(FeatureState& f) {
  const std::size_t n = numbers_.size();
  f.recent = f.weight;
  if (n == 0) return;
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
  f.mean = constant ? low : centre + sum;
  f.square = constant ? 0.0 : std::max(0.0, squares / static_cast<double>(n) - sum * sum);
}

double Units::deviation(const FeatureState& f) const {
  const double p = share(f);
  return std::sqrt(p * f.square + f.mean * f.mean * p * (1.0 - p));
}

Unit Units::own_unit(const FeatureState& f) const {
  const int values = different(f);
  const bool zeros = f.weight < total_;
  if (values < 2 && centres_) return {f.first};
  const double p = share(f);
  Unit unit;
  if (values == 2 && (centres_ || zeros)) {
    const double other = zeros ? 0.0 : f.second;
    unit = {centres_ ? std::min(f.first, other) : 0.0, std::abs(f.first - other)};
  } else if (p < 0.5) {
    unit.size = std::sqrt(f.mean * f.mean + f.square);
  } else if (centres_) {
    unit = {p * f.mean, deviation(f)};
  } else {
    unit.size = std::sqrt(p * (f.mean * f.mean + f.square));
  }
  if (!(unit.size > 0.0)) unit = {f.in_force.none() ? f.in_force.centre : 0.0};
  return unit;
}

// `next` of all features.
void Units::find_units() {
  for (FeatureState& f : states_) f.next = own_unit(f);
  shared_.next = Unit();
  if (shared_.square > 0.0) shared_.next.size = std::sqrt(shared_.square);
}

// How even they are. Variances are compared, and few roots taken.
void Units::find_sizes() {
  numbers_.clear();
  double largest = 0.0;
  double sum = 0.0;
  for (const FeatureState& f : states_) {
    if (different(f) < 2) continue;
    const double p = share(f);
    double variance = p * f.square + f.mean * f.mean * p * (1.0 - p);
    if (!(variance > 0.0)) {
      const Unit unit = own_unit(f);
      if (unit.none()) continue;
      variance = unit.size * unit.size;
    }
    numbers_.push_back(variance);
    largest = std::max(largest, variance);
    sum += variance;
  }
  largest_ = std::sqrt(largest);
  common_ = std::sqrt(sum);
  const std::size_t n = numbers_.size();
  middle_ = 0.0;
  if (n == 0) return;
  const auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(numbers_.begin(), at, numbers_.end());
  middle_ = std::sqrt(*at);
  if (n % 2 == 1) return;
  const double below = std::sqrt(*std::max_element(numbers_.begin(), at));
  // Of two features the larger is never twice their median: it is compared with the other.
  middle_ = n == 2 ? below : (below + middle_) / 2.0;
}

// The units after `start`.
void Units::settle() {
  find_units();
  find_sizes();
  uneven_ = largest_ > 1.0 && largest_ > 2.0 * middle_;
  for (FeatureState& f : states_) {
    f.own = f.next;
    const bool constant = centres_ && different(f) < 2;
    f.in_force = uneven_ || constant ? f.next : Unit{0.0, 1.0};
  }
  shared_.in_force = shared_.own = shared_.next;
  reference_ = common_;
  look();
  push();
}

// After units in force have changed: which zeros are not at 0, and whether any row changes.
void Units::look() {
  identity_ = !uneven_;
  centred_.clear();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    const Unit& unit = states_[slot].in_force;
    if (unit.none() || unit.centre != 0.0) identity_ = false;
    if (!unit.none() && unit.centre != 0.0) centred_.push_back(features_[slot]);
  }
  std::sort(centred_.begin(), centred_.end());
}

bool Units::check_block(FeatureState& f, bool& jumped) {
  const bool varies = f.in_force.none() && different(f) > 1;
  if (varies && f.wait < kRunning) ++f.wait;
  if (f.block_count < kBlock && !varies) return false;
  const double variance =
      f.block_count > 0 ? f.block_square / static_cast<double>(f.block_count) : 0.0;
  const double size = std::sqrt(variance);
  const double before = std::sqrt(f.square);
  const bool far = 2 * f.block_far > f.block_count && size > 0.0;
  const auto take_block = [&] {
    f.mean = f.block_mean;
    f.square = variance;
    f.recent = static_cast<double>(f.block_count) * row_;
  };
  if (varies) {
    if (f.wait >= kRunning && far && f.block_count >= kBlock) take_block();
    f.up = f.down = 0;
  } else {
    const bool still = f.size_before > 0.0 &&
                       std::abs(f.block_mean - f.mean_before) < std::max(size, f.size_before);
    const bool up = far && still && (f.square == 0.0 || size > kUp * before);
    const double unit = std::max(before, f.own.none() ? 0.0 : f.own.size);
    const bool down = size > 0.0 && still && f.square > 0.0 && size < kDown * unit &&
                      f.size_before < kDown * unit;
    f.up = up ? static_cast<std::uint8_t>(f.up + 1) : std::uint8_t{0};
    f.down = down ? static_cast<std::uint8_t>(f.down + 1) : std::uint8_t{0};
    if (f.up >= kRunning || f.down >= kRunningDown) {
      f.jump = f.up > 0 ? Jump::up : Jump::down;
      f.jumped_at = rows_;
      f.up = f.down = 0;
      take_block();
      jumped = true;
    }
  }
  f.mean_before = f.block_mean;
  f.size_before = size;
  f.block_count = f.block_far = 0;
  f.block_mean = f.block_square = 0.0;
  return true;
}

// All stored examples have coordinate 0: where the constant was if it is one of two values, else at
// the centre.
void Units::be_born(FeatureState& f) {
  const double constant = f.in_force.centre;
  f.own = f.next;
  if (uneven_) {
    f.in_force = f.next;
    if (centres_ && different(f) == 2) f.in_force.centre = constant;
    f.own = f.in_force;
  } else {
    f.in_force = {constant == 0.0 ? 0.0 : f.mean, 1.0};
  }
  f.wait = 0;
}

bool Units::check() {
  bool jumped = false;
  pull();
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (check_block(states_[slot], jumped)) push(slot);
  }
  find_sizes();
  if (uneven_) find_units();
  bool born = false;
  for (FeatureState& f : states_) {
    if (f.wait < kRunning) continue;
    f.next = own_unit(f);
    if (f.next.none()) continue;
    be_born(f);
    born = true;
  }
  if (uneven_ && shared_.in_force.none() && !shared_.next.none()) {
    shared_.in_force = shared_.own = shared_.next;
  }
  if (born) look();

  bool now = uneven_ && jumped;
  bool off = false;
  bool width = false;
  turns_ = false;
  if (uneven_) {
    off = !shared_.next.none() && !shared_.in_force.none() &&
          off_by(kOff, shared_.next.size, shared_.in_force.size);
    for (const FeatureState& f : states_) {
      off |= !f.next.none() && !f.in_force.none() && off_by(kOff, f.next.size, f.in_force.size);
    }
  } else {
    std::size_t jumps = 0;
    for (FeatureState& f : states_) {
      if (rows_ - f.jumped_at > 2 * kCheck) f.jump = Jump::none;
      jumps += f.jump != Jump::none;
    }
    const bool comparable = reference_ > 0.0 && common_ > 0.0;
    now = jumps > 0 && 2 * jumps >= numbers_.size();
    turns_ = now || (largest_ > 1.0 && largest_ > 2.0 * middle_) ||
             (comparable && off_by(kCommonOff, common_, reference_));
    width = !turns_ && follows_width_ && comparable && off_by(kWidthOff, common_, reference_);
    off = turns_ || width;
  }
  off_ = off ? off_ + 1 : 0;
  if (!(off_ >= kRunning || now) || credit_ < kChangeEvery) return false;
  find_units();
  converts = !width;
  finds_gamma = follows_width_;
  moved_.clear();
  if (!converts) return true;
  for (FeatureState& f : states_) {
    if (f.next.none() || f.in_force.none()) f.next = f.in_force;
  }
  if (shared_.next.none()) shared_.next = shared_.in_force;
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (convert(states_[slot], 0.0) != 0.0) moved_.push_back(features_[slot]);
  }
  std::sort(moved_.begin(), moved_.end());
  return true;
}

void Units::commit() {
  credit_ -= kChangeEvery;
  ++changes_;
  off_ = 0;
  reference_ = common_;
  for (FeatureState& f : states_) {
    if (!converts && f.next.none()) continue;
    f.own = f.next;
    if (converts) f.in_force = f.next;
    f.jump = Jump::none;
  }
  if (!converts) return;
  shared_.in_force = shared_.own = shared_.next;
  uneven_ |= turns_;
  look();
}

double Units::convert(std::int32_t feature, double z) const {
  const std::uint32_t slot = slots_.find(feature);
  if (slot != kNoSlot) return convert(states_[slot], z);
  if (shared_.next.none()) return std::clamp(z, -kClip, kClip);
  const double x = uneven_ ? z * shared_.in_force.size : z;
  return std::clamp(x / shared_.next.size, -kClip, kClip);
}

UnitStep Units::step(std::int32_t feature) const {
  const std::uint32_t slot = slots_.find(feature);
  if (slot == kNoSlot) {
    const double size = uneven_ ? shared_.in_force.size : 1.0;
    return std::isinf(size) || shared_.next.none() ? UnitStep{}
                                                   : UnitStep{shared_.next.size / size, 0.0};
  }
  const FeatureState& f = states_[slot];
  const Unit& old = f.in_force;
  if (old.none()) return {};
  const Unit& unit = jumps(f) ? before(f) : f.next;
  return {unit.size / old.size, (unit.centre - old.centre) / old.size};
}

bool Units::jumps(const FeatureState& f) const {
  const Unit& before = this->before(f);
  if (before.none() || (f.jump == Jump::none && uneven_)) return false;
  const double factor = f.next.size / before.size;
  const double moved = std::abs(f.next.centre - before.centre);
  return factor > kUp || factor < 1.0 / kUp ||
         (f.jump != Jump::none && moved > kClip * before.size);
}

double Units::convert(const FeatureState& f, double z) const {
  if (f.in_force.none()) return z;
  const Unit& before = this->before(f);
  const double x = z * f.in_force.size + f.in_force.centre;
  double converted = (x - f.next.centre) / f.next.size;
  if (jumps(f)) {
    const double kept = (x - before.centre) / before.size;
    const bool older = f.next.size / before.size > 1.0 / kUp ? std::abs(kept) <= kBefore
                                                             : std::abs(converted) > kBefore;
    if (older) {
      converted = kept;
    } else if (uneven_ && std::abs(z) >= kClip) {
      converted = z > 0.0 ? 1.0 : -1.0;  // it was clipped, its size is lost
    }
  }
  return std::clamp(converted, -kClip, kClip);
}

namespace {

// Calls number(x) or mark(n) with everything that is saved of a feature.
template <class Number, class Mark>
void visit(FeatureState& f, Number number, Mark mark) {
  for (double* value : {&f.weight, &f.recent, &f.mean, &f.square, &f.block_mean, &f.block_square,
                        &f.first, &f.second, &f.mean_before, &f.size_before, &f.in_force.centre,
                        &f.in_force.size, &f.own.centre, &f.own.size}) {
    number(*value);
  }
  mark(f.block_count);
  mark(f.block_far);
  mark(f.values);
  mark(f.up);
  mark(f.down);
  mark(f.wait);
  mark(f.jump);
  mark(f.jumped_at);
}
constexpr std::size_t kNumbers = 14;
constexpr std::size_t kMarks = 8;

}  // namespace

void Units::visit_state(StateVisitor& visitor) {
  visitor.object(slots_.bytes());
  visitor.scratch(states_);
  visitor.scratch(counts_);
  visitor.scratch(dense_);
  visitor.scratch(values_);
  visitor.scratch(few_);
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
  if (visitor.mode() == StateVisitor::Mode::count) return;
  std::vector<double> numbers;
  std::vector<std::int64_t> marks;
  if (visitor.mode() == StateVisitor::Mode::save) {
    pull();
    for (FeatureState& f : states_) {
      visit(
          f, [&](double& value) { numbers.push_back(value); },
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
  const auto sized = [](double size) { return size > 0.0; };  // infinity: none
  const auto sound = [](double value) { return std::abs(value) <= 1e300; };
  require(std::isfinite(total_) && total_ >= static_cast<double>(rows_) &&
              (total_ == 0.0) == (rows_ == 0) && credit_ <= kChanges * kChangeEvery &&
              sound(reference_) && reference_ >= 0.0 && sound(shared_.weight) &&
              shared_.weight >= 0.0 && sound(shared_.square) && shared_.square >= 0.0 &&
              sized(shared_.in_force.size),
          what);
  row_ = static_cast<double>(rows_);
  shared_.own = shared_.in_force;
  forget_features();
  auto number = numbers.begin();
  auto mark = marks.begin();
  for (std::size_t slot = 0; slot < count; ++slot) {
    FeatureState& f = states_.emplace_back();
    require(features_[slot] >= 0 && slots_.find(features_[slot]) == kNoSlot, what);
    slots_.insert(features_[slot], static_cast<std::uint32_t>(slot));
    make_place(static_cast<std::uint32_t>(slot));
    visit(
        f, [&](double& value) { value = *number++; },
        [&](auto& value) {
          using Mark = std::remove_reference_t<decltype(value)>;
          constexpr bool count_of_rows = std::is_same_v<Mark, std::int64_t>;
          require(*mark >= 0 && *mark <= (count_of_rows ? rows_ : kMostMark), what);
          value = static_cast<Mark>(*mark++);
        });
    require(f.weight > 0.0 && f.weight <= total_ && f.recent > 0.0 && sound(f.recent) &&
                f.square >= 0.0 && sound(f.square) && f.block_square >= 0.0 &&
                sound(f.block_square) && sound(f.size_before) && sized(f.in_force.size) &&
                sized(f.own.size) && f.values >= 1 && f.values <= 3 && f.jump <= Jump::down &&
                f.block_far <= f.block_count,
            what);
    for (const double value : {f.mean, f.block_mean, f.first, f.second, f.mean_before,
                               f.in_force.centre, f.own.centre}) {
      require(std::abs(value) <= kCountable, what);
    }
  }
  look();
  push();
}

}  // namespace budgetron
