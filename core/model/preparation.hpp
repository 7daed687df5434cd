// Prepares rows for the learner: scales them, and finds the kernel width from the data.
//
// scale = "standard": row t is divided by the standard deviations of rows 1..t-1 (scaler.hpp), for
// deciding and for learning, and then counted. "auto": units that follow the stream (units.hpp). In
// the warm-up they are found again after rows 2, 4, 8, ..., 128 and kRows, from all rows so far;
// later they change when the stream does, and the learner's stored examples with them
// (docs/develop/decisions/0037). If all kRows rows are equal, the warm-up starts again.
//
// gamma = "median": 1 over the median squared distance between the rows so far, as the learner sees
// them. It is 1/d without two different rows and for kernels that do not depend on a distance. It
// is computed after rows 2, 4, 8, ..., 128 and for the last time after row kRows. d is the width of
// the array, or in streams of growing width the number of features so far (then also after row 1).
// `gamma_factor` multiplies whatever is found, also at a change of units.
//
// `delta_factor`: the learner's `delta`, the diameter of its cells, is this multiple of the root of
// that squared distance, found together with gamma; sqrt(d) times it if gamma is 1/d.
//
// In the warm-up, when gamma, delta or units change, the model makes a new learner and replays the
// kept rows (warmup.hpp). The new learner is, to the bit, one that had this gamma and scale from
// the start. The rows are freed at its end. Reasons: docs/develop/decisions/0012.
//
// `fit` has all rows and goes over them once before the first round (`survey`, in a random order):
// units start with the first kRows rows and count the rest, then `settle` finds the units of all
// rows, and gamma from the first kRows rows in these units. The rounds of `fit` count nothing;
// later rows do. With kRows rows or more the warm-up is over before the first round; with fewer it
// ends after kRows rounds, including those of later calls. If all rows are equal, or scale =
// "standard", everything is as in a stream (docs/develop/decisions/0042).
//
// With a byte limit (byte_limit.hpp) fewer rows may be kept: the warm-up ends when the memory for
// rows or for values is full.
//
// A NaN is a missing value, a gap (gaps.hpp): with "auto" the running mean replaces it. Kept rows
// keep their gaps; a new learner sees them filled with the mean of all rows so far.
//
// Cost: O(non-zeros) per row while scaling; in the warm-up O(kRows^2 non-zeros) for distances and
// less than 2.3 kRows rounds for the replays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/batch.hpp"
#include "base/spec.hpp"
#include "hypothesis/kernel.hpp"
#include "model/gaps.hpp"
#include "model/metric.hpp"
#include "model/scaler.hpp"
#include "model/units.hpp"
#include "model/warmup.hpp"

namespace budgetron {

// The requested rules. The defaults change neither rows nor gamma.
struct PreparationRules {
  std::string scale = "none";   // or "standard", "auto"
  std::string gamma = "fixed";  // as the spec has it, or "median"
  std::size_t width = 0;        // d; 0 if it grows with the stream
  std::size_t flags = 0;        // number of the first feature that flags a gap; 0: none
  std::size_t rows = 0;         // with a byte limit: the most rows to keep ...
  std::size_t values = 0;       // ... and values in all of them
  double gamma_factor = 1.0;    // factor of the gamma that "median" finds
  double delta_factor = 0.0;    // a cell's diameter in median distances; 0: as in the spec
  bool metric = false;          // features have relevances (metric.hpp)
  bool race = false;            // multiples of the median's gamma race (race.hpp)

  [[nodiscard]] bool any() const {
    return scale != "none" || gamma != "fixed" || delta_factor != 0.0;
  }
};

template <class Real>
class Preparation {
 public:
  // `examples`: the most that the learner stores; 0: no limit.
  Preparation(const Spec& spec, const PreparationRules& rules, std::size_t classes,
              std::uint64_t seed, std::size_t examples)
      : spec_(spec),
        seed_(seed),
        width_(rules.width),
        gamma_factor_(rules.gamma_factor),
        delta_factor_(rules.delta_factor),
        units_(make_kernel(spec.part("kernel")).isotropic(), examples, sizeof(Real)),
        warmup_(classes) {
    if (rules.scale == "standard") {
      scale_ = Scale::standard;
    } else if (rules.scale == "auto") {
      scale_ = Scale::units;
    } else if (rules.scale != "none") {
      throw std::invalid_argument("no scale is called '" + rules.scale + "'");
    }
    if (!(rules.gamma_factor > 0.0) || !std::isfinite(rules.gamma_factor)) {
      throw std::invalid_argument("a multiple of the median's gamma must be positive and finite");
    }
    if (!(rules.delta_factor >= 0.0) || !std::isfinite(rules.delta_factor)) {
      throw std::invalid_argument("a multiple of the median distance must be finite, not negative");
    }
    if (rules.gamma != "median" && rules.gamma != "fixed") {
      throw std::invalid_argument("no rule for gamma is called '" + rules.gamma + "'");
    }
    const Spec& part = spec.part("kernel");
    const Kernel kernel = make_kernel(part);
    gamma_ = kernel.gamma;
    by_distance_ = kernel.isotropic();
    // Without a distance there is only 1/d to find; if d is known, 1/d is already in the spec.
    finds_gamma_ = rules.gamma == "median" && part.has("gamma") && (by_distance_ || width_ == 0);
    finds_delta_ = delta_factor_ > 0.0;
    if (finds_delta_ && !(by_distance_ && spec.has("delta"))) {
      throw std::invalid_argument("delta can be found only for a learner with cells");
    }
    if (finds_delta_) delta_ = spec.number("delta");
    rule_ = scale_;
    warming_up_ = finds() || scale_ == Scale::units;
    if (finds_gamma_) spec_ = spec.with("kernel", "gamma", gamma_);  // a kernel of its own
    units_.finds_gamma = finds_gamma_ && by_distance_;
    units_.delta_factor = delta_factor_;
    units_.set_flags(static_cast<std::int32_t>(rules.flags));
    learns_metric_ = rules.metric && follows_width() && scale_ == Scale::units;
  }

  // "standard", "none", or "undecided" while "auto" is warming up.
  [[nodiscard]] const char* scale() const {
    if (scale_ == Scale::units && warming_up_) return "undecided";
    return scale_ == Scale::standard || (scale_ == Scale::units && units_.uneven()) ? "standard"
                                                                                    : "none";
  }
  // How often units have changed since the warm-up.
  [[nodiscard]] std::int64_t unit_changes() const { return units_.changes(); }
  // The current gamma.
  [[nodiscard]] double gamma() const { return gamma_; }
  [[nodiscard]] double gamma_factor() const { return gamma_factor_; }
  // Sets gamma, which is `factor` times that of the median rule.
  void set_gamma(double gamma, double factor) {
    gamma_ = gamma;
    gamma_factor_ = factor;
  }
  // The current diameter of the learner's cells; 0 if it is in the spec, or there are no cells.
  [[nodiscard]] double delta() const { return delta_; }
  [[nodiscard]] bool warming_up() const { return warming_up_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }  // of the generator
  [[nodiscard]] Warmup<Real>& warmup() { return warmup_; }
  // Whether rows are transformed before the learner sees them.
  [[nodiscard]] bool scales() const {
    return scale_ == Scale::standard || (scale_ == Scale::units && !units_.identity()) ||
           metric_.on();
  }
  // Whether gamma is found again when units change.
  [[nodiscard]] bool follows_width() const { return finds_gamma_ && by_distance_; }
  // Whether each row changes the scaling of the next one; otherwise it changes with `stamp` only.
  [[nodiscard]] bool scales_by_row() const { return scale_ == Scale::standard; }
  [[nodiscard]] std::uint64_t stamp() const {
    return units_.stamp() + static_cast<std::uint64_t>(metric_.changes());
  }
  [[nodiscard]] bool may_scale() const { return scale_ != Scale::none; }
  // Whether rows may have gaps.
  [[nodiscard]] bool takes_gaps() const { return scale_ == Scale::units; }
  [[nodiscard]] const GapCounts& gaps() const { return gaps_; }

  // Allocates all the memory it will ever need.
  void reserve(const PreparationRules& rules, const ByteLimit& limit) {
    if (scale_ == Scale::standard) scaler_.reserve(rules.width);
    if (scale_ == Scale::units) {
      units_.reserve(rules.width, limit.slots, rules.rows);
      gaps_.reserve(units_.reserved());
    }
    if (!warming_up_) return;
    warmup_.reserve(rules.rows, rules.values, rules.width, finds() && by_distance_);
    if (scale_ == Scale::units && finds()) warmup_.reserve_shown(most_shown(limit.width, limit));
  }
  // The values of a row as the learner sees it, or fewer if more cannot be stored anyway.
  [[nodiscard]] std::size_t most_shown(std::size_t width, const ByteLimit& limit) const {
    if (scale_ != Scale::units) return width;
    return std::min(width, limit.slots + units_.reserved());
  }
  // What to build, with the current gamma and delta. Nothing is copied: with a byte limit a copy
  // would count.
  [[nodiscard]] const Spec& spec() {
    if (finds_gamma_) spec_.set_in("kernel", "gamma", gamma_);
    if (finds_delta_) spec_.set("delta", delta_);
    return spec_;
  }
  // The same with another gamma and a share of the budget.
  [[nodiscard]] Spec spec_with(double gamma, double share) const {
    Spec changed = spec_.with("kernel", "gamma", gamma);
    const auto budget = static_cast<std::int64_t>(share * spec_.number("budget"));
    changed.set("budget", std::max<std::int64_t>(1, budget));
    return changed;
  }

  // Makes x what the learner should see: x stays, or is scaled into `out`. `gaps`: values are
  // missing.
  void prepare(Sample<Real>& x, OwnedSample<Real>& out, bool gaps) const {
    if (scale_ == Scale::standard) {
      x = scaler_.transform(x, out);
    } else if (scale_ == Scale::units && gaps) {
      x = units_.transform_gaps(x, out);
    } else if (scale_ == Scale::units && !units_.identity()) {
      if (x.dense()) {
        x.values = units_.show(x, out);  // nothing else needs to be copied
      } else {
        x = units_.transform(x, out);
      }
    }
    if (metric_.on()) x = metric_.apply(x, out);
  }
  // A dense row in units, into `out`. Precondition: `scales`, and not by row.
  void show(const Sample<Real>& x, Real* out) const {
    units_.show(x, out);
    if (metric_.on()) metric_.apply(out, x.count);
  }
  [[nodiscard]] const Metric& metric() const { return metric_; }
  // Whether the metric may change after this many rounds.
  [[nodiscard]] bool metric_due(std::int64_t rounds) const {
    return learns_metric_ && !warming_up_ && !held_ && Relevance::due(rounds);
  }
  void set_metric(const Metric& metric) { metric_ = metric; }
  // A kept row as the learner should see it.
  Sample<Real> in_units(const Sample<Real>& x, OwnedSample<Real>& out) const {
    if (scale_ != Scale::units) return x;
    return has_gaps(x) ? units_.transform_gaps(x, out) : units_.transform(x, out);
  }

  // How a value x of a feature is shown now: (x - centre)/size, without clipping; size is infinite
  // if the result is 0. And the mean of the feature over the rows; NaN if it is not known.
  struct Shown {
    double centre = 0.0;
    double size = 1.0;
    double mean = std::numeric_limits<double>::quiet_NaN();
  };
  [[nodiscard]] Shown shown(std::int32_t feature) const {
    if (scale_ == Scale::none) return {};
    if (scale_ == Scale::standard) return {0.0, scaler_.size(feature), scaler_.mean(feature)};
    const Unit unit = units_.unit_of_any(feature);
    return {unit.centre, unit.size / metric_.factor(feature), units_.stand_in(feature)};
  }

  // A feature that was constant and moves is seen.
  void see_constants() { units_.see_constants(); }

  // An upper bound of the values shown, before the metric.
  [[nodiscard]] double clip() const {
    return scale_ == Scale::units ? units_.clip() : std::numeric_limits<double>::infinity();
  }

  // Whether the first pass of `fit` should pass more rows.
  [[nodiscard]] bool surveys() const {
    return warming_up_ && scale_ != Scale::standard && (scale_ == Scale::units || !sampled_);
  }
  // A row of the first pass.
  void survey(const Sample<Real>& x) {
    if (!surveys()) return;
    const bool keeps = !sampled_ && warmup_.fits(x);
    if (keeps) warmup_.add(x, 0.0, 1.0);
    if (!sampled_ && (!keeps || warmup_.full())) {
      sampled_ = true;
      if (scale_ == Scale::units) units_.start(warmup_.rows());
    }
    if (!keeps && scale_ == Scale::units) units_.add(x, has_gaps(x));
  }
  // Ends the first pass. True if gamma or delta has changed.
  bool settle() {
    if (!warming_up_ || scale_ == Scale::standard) return false;
    if (scale_ == Scale::units) {
      if (sampled_) {
        units_.decide();
      } else {
        units_.start(warmup_.rows());
      }
      settled_ = units_.varies();
      if (!settled_) units_.start(std::span<const Sample<Real>>());
    } else {
      settled_ = !warmup_.all_equal(show());
    }
    const bool changed = settled_ && find_widths();
    warmup_.begin_anew();
    if (settled_ && sampled_) end_warmup();
    return changed;
  }

  // Counts x after its round; the learner saw it as `seen`. Calls rebuild() if a new learner must
  // be made from `spec` and `warmup`, and change(units) if units change, which returns
  // UnitsChanged. A row of the first pass changes nothing; gaps of a row that is learned again were
  // counted before.
  template <class Rebuild, class Change>
  void count(const Sample<Real>& x, const LabelledRow<Real>& seen, Rebuild rebuild, Change change) {
    const bool surveyed = seen.surveyed && settled_;
    if (seen.gaps && !seen.again) gaps_.count(x, most_counted());
    if (warming_up_) {
      count_first(x, seen, surveyed, rebuild);
    } else if (scale_ == Scale::standard) {
      if (!held_) scaler_.count(x);
    } else if (scale_ == Scale::units && !surveyed && units_.count(x, seen.gaps)) {
      change_units(change);
    }
  }

  // Call before the round of x: ends the warm-up if there is no memory to keep x.
  template <class Rebuild>
  void make_place(const Sample<Real>& x, bool surveyed, Rebuild rebuild) {
    if (!warming_up_ || warmup_.fits(x)) return;
    if (!(surveyed && settled_)) choose_units_and_gamma(true, rebuild);
    if (warming_up_ && !warmup_.fits(x)) end_warmup();
  }

  void join(const ClassChange& change) {
    if (warming_up_) warmup_.join(change);
  }

  // Units and metric stay as they are until `decide_held`. Precondition: the warm-up is over.
  void hold() {
    held_ = true;
    units_.hold();
  }
  template <class Change>
  void decide_held(Change change) {
    held_ = false;
    if (scale_ == Scale::units && units_.check_held()) change_units(change);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this) - sizeof(spec_) + spec_.bytes());
    auto scale = static_cast<std::int64_t>(scale_);
    visitor.field("scale", scale);
    require(scale >= 0 && scale <= 2, "scale");
    scale_ = static_cast<Scale>(scale);
    visitor.field("gamma", gamma_);
    if (finds_delta_) visitor.field("delta", delta_);
    visitor.field("seed", seed_);
    visitor.field("width", width_);
    visitor.field("features", features_);
    visitor.field("warming_up", warming_up_);
    visitor.part("scaler", scaler_);
    if (rule_ == Scale::units) visitor.part("units", units_);
    visitor.part_if(gaps_.total() > 0, "gaps", gaps_);
    visitor.part("warmup", warmup_);
    visitor.part_if(metric_.on(), "metric", metric_);
    if (!visitor.loading()) return;
    if (!warming_up_ && warmup_.size() == 0) end_warmup();
    require(std::isfinite(gamma_) && gamma_ > 0.0, "gamma");
    require(!finds_delta_ || (std::isfinite(delta_) && delta_ > 0.0), "delta");
    // Models of "auto" before format 4 were frozen (scaler.hpp) or did not change rows.
    require(scale_ == rule_ || rule_ == Scale::units, "scale");
    require(warming_up_ ? finds() || scale_ == Scale::units : warmup_.size() == 0, "warm-up");
    require(takes_gaps() || (!warmup_.gaps() && gaps_.total() == 0), "gaps");
    require(gaps_.features().size() <= most_counted(), "gaps");
    if (scale_ == Scale::units) scaler_ = Scaler();
  }

 private:
  enum class Scale { none, standard, units };

  // The number of features whose gaps are counted one by one.
  [[nodiscard]] std::size_t most_counted() const {
    if (units_.reserved() > 0) return units_.reserved();
    return std::max(GapCounts::kLeast, units_.features());
  }

  template <class Change>
  void change_units(Change change) {
    const UnitsChanged changed = change(units_);
    if (finds_gamma_) gamma_ = changed.gamma;
    if (finds_delta_) delta_ = changed.delta;
    units_.commit();
  }
  // Counts a row in the warm-up.
  template <class Rebuild>
  void count_first(const Sample<Real>& x, const LabelledRow<Real>& seen, bool surveyed,
                   Rebuild rebuild) {
    if (scale_ == Scale::standard) scaler_.count(x);
    warmup_.add(scale_ == Scale::units ? x : seen.x, seen.target, seen.weight);
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0)) continue;
      features_ = std::max(features_, static_cast<std::size_t>(x.feature(k)) + 1);
    }
    if (!surveyed) {
      choose_units_and_gamma(warmup_.full(), rebuild);
    } else if (warmup_.full()) {
      end_warmup();
    }
  }

  template <class Rebuild>
  void choose_units_and_gamma(bool last, Rebuild rebuild) {
    bool changed = false;
    if (scale_ == Scale::units && (last || (warmup_.size() > 1 && due(warmup_.size())))) {
      changed = !units_.identity() || warmup_.gaps();  // the means have changed
      units_.start(warmup_.rows());
      changed |= !units_.identity();
    }
    if (last || due(warmup_.size())) changed |= find_widths();
    if (changed) rebuild();
    if (!last) return;
    if (scale_ == Scale::units && warmup_.size() > 1 && warmup_.all_equal(show())) {
      warmup_.begin_anew();
    } else {
      end_warmup();
    }
  }
  void end_warmup() {
    warmup_.free();
    units_.forget_rows();
    warming_up_ = false;
  }

  // Whether gamma is found after this row: at the powers of two, before the last time.
  [[nodiscard]] bool due(std::size_t rows) const {
    return (rows & (rows - 1)) == 0 && (rows > 1 || width_ == 0);
  }

  // How kept rows are shown.
  [[nodiscard]] auto show() const {
    return [this](const Sample<Real>& x, OwnedSample<Real>& out) { return in_units(x, out); };
  }

  // Whether something depends on the distances between rows.
  [[nodiscard]] bool finds() const { return finds_gamma_ || finds_delta_; }

  // Finds gamma and delta from the kept rows. True if one has changed.
  bool find_widths() {
    if (!finds()) return false;
    double squared = by_distance_ ? warmup_.median_squared_distance(show()) : 0.0;
    if (!usable_gamma<Real>(gamma_factor_ / squared)) {
      const std::size_t width = width_ > 0 ? width_ : features_;
      squared = static_cast<double>(std::max<std::size_t>(width, 1));
    }
    const double gamma = finds_gamma_ ? gamma_factor_ / squared : gamma_;
    const double delta = finds_delta_ ? delta_factor_ * std::sqrt(squared) : delta_;
    const bool changed = gamma != gamma_ || delta != delta_;
    gamma_ = gamma;
    delta_ = delta;
    return changed;
  }

  Spec spec_;
  std::uint64_t seed_;
  std::size_t width_;
  double gamma_factor_;
  double delta_factor_;
  std::size_t features_ = 0;  // 1 + the largest feature number seen in the warm-up
  double gamma_;
  double delta_ = 0.0;
  bool by_distance_;
  bool finds_gamma_;
  bool finds_delta_;
  bool warming_up_;
  bool held_ = false;
  // For the first pass of `fit`; not used afterwards.
  bool sampled_ = false;  // the rows for gamma are complete
  bool settled_ = false;  // gamma and units are found
  Scale scale_ = Scale::none;
  Scale rule_ = Scale::none;  // the requested rule; scale_ may be that of an older model file
  Scaler scaler_;
  Units units_;
  bool learns_metric_ = false;
  Metric metric_;
  GapCounts gaps_;
  Warmup<Real> warmup_;
};

}  // namespace budgetron
