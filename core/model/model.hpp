// A learner in service: the loop over rows, and what every learner needs around it.
//
// It turns targets into facts (margin, direction), records each decision before its row is learned,
// counts, owns the random generator, locks and saves. Learners and bindings do not know each other.
// A learner does not know that rows may be scaled or the learner rebuilt (preparation.hpp).
//
// Targets are numbers: a class code 0..K-1 (with two classes, 1 is the positive one), or the value
// to predict. Every row of a call must be valid; the callers check this first.
//
// A row that makes a kernel value or an output overflow is predicted and not learned. A row of
// weight 0 is predicted and changes nothing.
//
// Regression may learn targets in other units than they come in (target_units.hpp); decisions are
// in the units of the targets. A target is counted after its row was decided and before the row is
// learned. Rows that a warm-up replays are learned in the current units.
//
// Probabilities (calibration.hpp) are fitted to the recorded decisions. Rows that a warm-up replays
// or a later epoch repeats are not counted again.
//
// The recorded decisions are also compared with the simplest guess (verdict.hpp), and, if intervals
// or sets are requested, determine how wide these must be (intervals.hpp).
//
// Threads: learning holds the model's lock exclusively for the whole call; prediction holds it
// shared, one row or block of rows at a time, so that a row is always decided by one model between
// two rounds (model_lock.hpp). `inspect` holds it shared as well.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/instance_count.hpp"
#include "base/model_lock.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"
#include "learners/learner.hpp"
#include "learners/registry.hpp"
#include "model/averaging.hpp"
#include "model/calibration.hpp"
#include "model/gaps.hpp"
#include "model/hold.hpp"
#include "model/intervals.hpp"
#include "model/look_ahead.hpp"
#include "model/preparation.hpp"
#include "model/race.hpp"
#include "model/target_units.hpp"
#include "model/verdict.hpp"

namespace budgetron {

// Novelty has no targets: all are 0, and the decision is the error.
enum class Task { classification, regression, novelty };

// What predict returns per row: the outputs of f; the probability of every class; the ends of an
// interval; for every class 1 or 0, whether it is in the set; or the outputs followed by a standard
// deviation: in regression that of the target from f(x), in classification that of f(x) relative to
// the noise.
enum class Answer { outputs, probabilities, interval, set, deviation };
struct Answers {
  std::vector<double> numbers;
  std::size_t width;    // numbers per row
  std::size_t classes;  // the same for all rows
};

#ifndef NDEBUG
inline bool checks_every_change = true;  // off if the memory of the checks would be counted
#endif

struct Itself {
  std::span<const double> operator()(std::span<const double> numbers) const { return numbers; }
};

struct Counts {
  std::int64_t seen = 0;      // rows learned
  std::int64_t mistakes = 0;  // wrong predictions among them
  std::int64_t updates = 0;   // rounds that changed the model
};

template <class Real>
class Model : private InstanceCount {
 public:
  // `wide`: two classes get two outputs instead of one; a test checks that the decisions f_1 - f_0
  // are the same. `average`: `predict` answers with the "last" hypothesis or with a mean
  // (averaging.hpp); rounds decide and learn with the last. `limit`: allocate all memory now
  // (byte_limit.hpp); no class can join later. `target_units`: learn the targets of a regression in
  // units that follow the stream. `intervals`: keep what intervals and sets need.
  Model(const Spec& spec, Task task, std::size_t classes, std::uint64_t seed, bool wide = false,
        const PreparationRules& rules = {}, const std::string& average = "last",
        const ByteLimit& limit = {}, bool target_units = false, bool intervals = false);
  ~Model();

  [[nodiscard]] std::size_t outputs() const { return outputs_of(classes_); }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // False until gamma and scale are final: they determine it.
  [[nodiscard]] bool coarse() const {
    return coarse_ && (preparation_ == nullptr || !preparation_->warming_up());
  }
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }
  // Calls `say(verdict)` if there is a verdict that the user has not seen; then it counts as seen.
  template <class Say>
  void tell(Say say) {
    if (!news_.load(std::memory_order_relaxed)) return;
    {
      const auto inside = lock_.exclusive();
      if (!verdict_.news()) return;
      verdict_.tell();
      news_.store(false, std::memory_order_relaxed);
    }
    say(verdict_);  // it no longer changes
  }
  // The current gamma of the kernel.
  [[nodiscard]] double gamma() const {
    return preparation_ != nullptr ? preparation_->gamma() : gamma_;
  }
  // The diameter of the cells found from distances (avm.hpp); 0 if it was not found.
  [[nodiscard]] double delta() const {
    return preparation_ != nullptr ? preparation_->delta() : 0.0;
  }
  // How often units have changed (units.hpp).
  [[nodiscard]] std::int64_t unit_changes() const {
    return preparation_ != nullptr ? preparation_->unit_changes() : 0;
  }
  // Null if targets are learned as they come.
  [[nodiscard]] const TargetUnits* target_units() const { return units_.get(); }
  // Whether rows may have missing values (NaN).
  [[nodiscard]] bool takes_gaps() const {
    return preparation_ != nullptr && preparation_->takes_gaps();
  }
  // Null if rows are not prepared.
  [[nodiscard]] const Preparation<Real>* preparation() const { return preparation_.get(); }

  // Whether gamma and units are final and hypotheses are not averaged: otherwise it cannot be a
  // base.
  [[nodiscard]] bool can_hold() const {
    return averaging_ == nullptr && (preparation_ == nullptr || !preparation_->warming_up());
  }
  // Whether contenders race with it, or the learner follows a change of the stream.
  [[nodiscard]] bool unsettled() const {
    return (race_ != nullptr && race_->running()) || learner_->unsettled();
  }
  // Learns as a worker from now on (hold.hpp). Precondition: can_hold().
  void hold(const std::vector<std::uint64_t>& base);
  // The digest of its base; empty if it is not a worker.
  [[nodiscard]] std::vector<std::uint64_t> base() const {
    return hold_ != nullptr ? hold_->base : std::vector<std::uint64_t>();
  }
  // Stops being a worker, and makes the decisions that workers postpone.
  void decide_held();

  // The first pass of `fit`, before the first round, in a random order: rows and targets are
  // collected while `surveys`; then `settle` finds gamma, units and units of the targets from all
  // of them. Batches of these rows are marked `surveyed` when they are learned: nothing is counted
  // twice.
  [[nodiscard]] bool surveys() const;
  void survey(const Batch<Real>& batch);
  void settle();

  // Test, then train, row by row. Appends the outputs of every row to `batch.decisions`, unless
  // that is null.
  void learn(Batch<Real> batch);

  // Learns one row; returns the decision before it, outputs() numbers. `take` receives them while
  // the lock is held; without `take` no other thread may use the model. A row that is not finite is
  // predicted and not learned, unless all its non-finite values are gaps (gaps.hpp).
  template <class Take = Itself>
  auto learn_one(const Sample<Real>& x, double target, double weight = 1.0, Take take = {}) {
    const auto inside = lock_.exclusive();
    learn_alone(x, target, weight);
    return take(std::span<const double>(outputs_));
  }

  // The answer for every row, on so many threads. Starts again if a class joins meanwhile, so that
  // all rows are answered with the same classes. `coverage`: of intervals and sets.
  Answers predict(const Batch<Real>& rows, std::size_t threads = 1, Answer kind = Answer::outputs,
                  double coverage = 0.9);

  template <class Take = Itself>
  auto predict_one(const Sample<Real>& x, Take take = {}) {
    const auto inside = lock_.exclusive();  // row_ and outputs_ are scratch
    predict_alone(x);
    return take(std::span<const double>(outputs_));
  }
  // The same for another kind of answer, such as the probability of every class.
  template <class Take = Itself>
  auto answer_one(const Sample<Real>& x, Answer kind, double coverage, Take take = {}) {
    const auto inside = lock_.exclusive();  // row_, outputs_ and probabilities_ are scratch
    answer_alone(x, kind, coverage);
    return take(std::span<const double>(probabilities_));
  }

  void join(const ClassChange& change);

  void set_look_ahead(LookAheadMode mode);
  // How many kernel rows were computed in blocks, and how many of their values were recomputed.
  [[nodiscard]] std::int64_t rows_ahead() const { return look_ahead_.rows(); }
  [[nodiscard]] std::int64_t values_recomputed() const { return look_ahead_.values_recomputed(); }

  // Calls `look(learner)` while nothing changes.
  template <class Look>
  auto inspect(Look look) {
    const auto inside = lock_.shared();
    return look(*learner_);
  }

  // Calls `look(learner, shares, x, scale, constant)`: the answer of `predict` is the constant plus
  // `scale` times the sum of the shares and the learner's straight part; x is the row as the
  // learner sees it.
  template <class Look>
  auto explain(const Sample<Real>& x, Look look) {
    const auto inside = lock_.shared();
    OwnedSample<Real> scaled;
    return look(*learner_, shares(), shown_alone(x, scaled), target_scale(), constant());
  }

  // Calls `look(learner, coef)`: coef(i, k) is coef i of output k, of `coef_view`, in the
  // hypothesis that `predict` uses.
  template <class Look>
  auto inspect_coefs(Look look) {
    const auto inside = lock_.shared();
    const bool averaged = averaging_ != nullptr && averaging_->any();
    const CoefView view = learner_->coef_view();
    return look(*learner_, [&](std::size_t i, std::size_t k) {
      return averaged ? averaging_->coef(i, k) : view.factor * view.coefs[k * view.stride + i];
    });
  }

  // Starts or stops recording events of stored examples for `take_events`.
  void watch(bool on);
  std::vector<Event> take_events();

  State save();
  void load(const State& state);
  // Shrinks the support to a smaller budget, so that a model of that budget can load this state.
  void lower(std::size_t budget, std::size_t slots);
  std::size_t memory_bytes();
  void check_invariants();

 private:
  // The parts of the templates above that do not depend on their argument.
  void learn_alone(const Sample<Real>& x, double target, double weight);
  void predict_alone(const Sample<Real>& x);
  void answer_alone(const Sample<Real>& x, Answer kind, double coverage);
  Sample<Real> shown_alone(const Sample<Real>& x, OwnedSample<Real>& out) const;
  [[nodiscard]] std::vector<Share<Real>> shares() const;

  std::size_t counted_bytes() {
    StateVisitor visitor = StateVisitor::counter();
    visit_state(visitor);
    return visitor.bytes();
  }
  [[nodiscard]] std::size_t outputs_of(std::size_t classes) const {
    return wide_ ? classes : ClassChange::outputs(classes);
  }

  std::unique_ptr<Learner<Real>> new_learner(const Spec& spec) const {
    std::unique_ptr<Learner<Real>> learner = make_learner<Real>(spec, outputs());
    if (averages_) learner->be_averaged();
    return learner;
  }

  void resize_outputs() {
    outputs_.resize(outputs());
    direction_.resize(outputs());
  }

  static bool finite(const Sample<Real>& x) {
    Real sum(0);  // 0, unless there is a NaN or an infinity among them
    for (std::size_t k = 0; k < x.count; ++k) sum += Real(0) * x.values[k];
    return sum == Real(0);
  }

  struct BlockRelease {
    LookAhead<Real>& look_ahead;
    ~BlockRelease() { look_ahead.release(); }
  };

  // Whether rows are scaled by the rows before them.
  [[nodiscard]] bool scales() const { return preparation_ != nullptr && preparation_->scales(); }
  // The kernel row of row i if it was computed ahead, otherwise null. It is never ahead if the row
  // is scaled by the one before, if the learner may be rebuilt before its round, or if all memory
  // was allocated in advance.
  [[gnu::always_inline]] Row<Real>* ready_row(const Batch<Real>& rows, std::size_t i) {
    if (limit_.given() || !rows.dense()) return nullptr;
    if (preparation_ == nullptr) return look_ahead_.row(*learner_, rows, i);
    if (preparation_->warming_up() || preparation_->scales_by_row()) return nullptr;
    if (shown_as_ != preparation_->stamp()) {
      look_ahead_.start();
      shown_as_ = preparation_->stamp();
    }
    if (!scales()) return look_ahead_.row(*learner_, rows, i);
    return look_ahead_.row(*learner_, rows, i, [this](const Sample<Real>& x, Real* out) {
      preparation_->show(x, out);
    });
  }

  // predict answers constant() + target_scale() f(x), with f the last hypothesis or the mean.
  [[nodiscard]] double constant() const {
    if (units_ == nullptr) return 0.0;
    const bool averaged = averaging_ != nullptr && averaging_->any();
    return averaged ? averaging_->constant() : units_->centre();
  }
  [[nodiscard]] double target_scale() const { return units_ != nullptr ? units_->scale() : 1.0; }

  // x as the learner should see it: x itself, or a view of `out`.
  Sample<Real> prepared(const Sample<Real>& x, OwnedSample<Real>& out) const {
    if (preparation_ == nullptr) return x;
    Sample<Real> shown = x;
    preparation_->prepare(shown, out, preparation_->takes_gaps() && has_gaps(x));
    return shown;
  }

  // A row that was decided, as the learner saw it.
  struct Shown {
    Sample<Real> x;
    Row<Real>* row;
  };
  Shown predict_row(const Sample<Real>& x, Row<Real>& row, OwnedSample<Real>& scaled,
                    std::span<double> outputs, Row<Real>* ready = nullptr) const {
    const Sample<Real> shown = prepared(x, scaled);
    Row<Real>& used = decide(shown, row, ready, outputs);
    if (averaging_ != nullptr) averaging_->decide(*learner_, used, outputs);
    if (units_ != nullptr) outputs[0] = constant() + target_scale() * outputs[0];
    return {shown, &used};
  }

  // Turns known outputs of a row into the answer of this kind.
  void finish(Answer kind, const Shown& shown, std::span<const double> outputs, double coverage,
              std::span<double> answer) const {
    if (kind == Answer::probabilities) {
      calibration_->answer(outputs, answer);
    } else if (kind == Answer::interval) {
      const double local = intervals_->local(*shown.row, local_examples());
      const double size = intervals_->scale(local, learner_->variance(*shown.row, shown.x));
      const double half = intervals_->half(coverage, size);
      answer[0] = outputs[0] - half;
      answer[1] = outputs[0] + half;
    } else if (kind == Answer::set) {
      ClassSets::answer(outputs, sets_->threshold(coverage), answer);
    } else {
      const double spread = learner_->variance(*shown.row, shown.x);
      std::copy(outputs.begin(), outputs.end(), answer.begin());
      answer[outputs.size()] =
          intervals_ != nullptr ? intervals_->deviation(spread) : std::sqrt(spread);
    }
  }
  // The stored examples around which errors are known; null: none.
  [[nodiscard]] const Expansion<Real>* local_examples() const {
    if (!learner_->believes()) return nullptr;
    const Expansion<Real>* const f = learner_->expansion();
    return f != nullptr && f->kernel().isotropic() ? f : nullptr;
  }

  // Decides with the row that is ready, or computes `row`; returns the one used.
  Row<Real>& decide(const Sample<Real>& x, Row<Real>& row, Row<Real>* ready,
                    std::span<double> outputs) const {
    if (ready == nullptr) {
      learner_->decide(x, row, outputs);
      return row;
    }
    learner_->decide_by(*ready, x, outputs);
    return *ready;
  }

  // The number of values per answer.
  [[nodiscard]] std::size_t width(Answer kind, std::size_t classes) const {
    if (kind == Answer::outputs) return outputs_of(classes);
    if (kind == Answer::interval) {
      if (intervals_ == nullptr) throw std::invalid_argument("made without intervals");
      return 2;
    }
    if (kind == Answer::set && sets_ == nullptr) throw std::invalid_argument("made without sets");
    if (kind == Answer::deviation) {
      const bool lacks = task_ != Task::classification && intervals_ == nullptr;
      if (lacks || !learner_->believes()) throw std::invalid_argument("no deviation is known");
      return outputs_of(classes) + 1;
    }
    if (calibration_ == nullptr) throw std::invalid_argument("a regression has no probabilities");
    return classes;
  }

  void reserve(const PreparationRules& rules) {
    reserve_learner();
    learner_->reserve_row(row_);
    averaged_.reserve(outputs());
    probabilities_.reserve(intervals_ != nullptr ? 2 : classes_);
    if (intervals_ != nullptr && learner_->believes()) {
      intervals_->reserve(learner_->most_coefs());
    }
    if (preparation_ == nullptr) return;
    preparation_->reserve(rules, limit_);
    if (preparation_->warming_up()) decision_.reserve(outputs());
    if (preparation_->may_scale())
      prepared_.reserve(preparation_->most_shown(limit_.width, limit_));
  }
  void reserve_learner() {
    if (!limit_.given()) return;
    learner_->reserve(limit_);
    if (averaging_ == nullptr) return;
    averaging_->reserve(learner_->most_coefs(), learner_->expansion() != nullptr);
  }

  // Prepares one row, runs its round, and counts it in the preparation. `ready`: its kernel row, if
  // it was computed ahead. x is the row of `row`; it becomes what the learner sees.
  void learn_row(const Sample<Real>& x, LabelledRow<Real>&& row, Row<Real>* ready,
                 Calibration::Counter& counter) {
    if (preparation_ == nullptr) {
      run_round(row, ready, counter);
      return;
    }
    if (row.weight != 0.0) preparation_->make_place(x, row.surveyed, [this] { rebuild(); });
    row.gaps = row.gaps && preparation_->takes_gaps() && has_gaps(x);
    if (ready != nullptr) {
      row.x = look_ahead_.sample();
    } else if (row.gaps || preparation_->scales()) {
      preparation_->prepare(row.x, prepared_, row.gaps);
    }
    if (race_ != nullptr && race_->waiting() && !preparation_->warming_up() && hold_ == nullptr) {
      add_widths();
    }
    if (race_ != nullptr && row.weight != 0.0) race_->count(row.weight);
    raw_ = x;
    run_round(row, ready, counter);
    if (row.weight != 0.0) {
      preparation_->count(
          x, row, [this] { rebuild(); },
          [this](UnitChange& change) { return change_units(change); });
    }
    if (row.weight != 0.0 && race_ != nullptr && preparation_->metric_due(counts_.seen)) {
      add_metric();
    }
    if (row.weight != 0.0 && memory_due()) add_memory();
    won_ = false;
  }

  // Converts the stored examples of the learner.
  UnitsChanged change_units(UnitChange& change) {
    change.since = counts_.seen - change.rounds;
    const MeasuredChange measured(change, preparation_->metric());
    const UnitsChanged changed = learner_->change_units(measured, preparation_->gamma_factor());
    if (race_ != nullptr) race_->change_units(change, preparation_->metric());
    if (averaging_ != nullptr) averaging_->follow(*learner_);
    look_ahead_.start();
    if (log_ != nullptr) log_->add({EventKind::units, -1, -1, changed.moved});
#ifndef NDEBUG
    if (checks_every_change) learner_->check_invariants();
#endif
    return changed;
  }

  void be_held() {
    if (race_ != nullptr) race_->end();
    if (preparation_ != nullptr) preparation_->hold();
    learner_->hold();
  }

  // Replaces the learner by a new one and replays the kept rows. The counts and the decision of
  // this round stay.
  void rebuild() {
    const Counts counts = counts_;
    counts_ = {counts.seen - static_cast<std::int64_t>(preparation_->warmup().size())};
    decision_ = outputs_;
    Warmup<Real>& warmup = preparation_->warmup();
    coarse_ = false;
    random_ = Random(preparation_->seed());
    classes_ = warmup.classes();
    resize_outputs();
    learner_.reset();  // first: there is memory for only one
    learner_ = new_learner(preparation_->spec());
    if (averaging_ != nullptr) averaging_->restart(outputs());
    reserve_learner();
    Calibration::Counter counter(nullptr);  // a replay counts nothing
    warmup.replay([this](const ClassChange& change) { rearrange(change); },
                  [&](const Sample<Real>& x, double target, double weight) {
                    const Sample<Real> shown = preparation_->in_units(x, prepared_);
                    run_round({shown, target, weight}, nullptr, counter, true);
                  });
    counts_ = counts;
    outputs_ = decision_;
    if (!limit_.given()) std::vector<double>().swap(decision_);
    learner_->watch(log_.get());
    if (log_ != nullptr && warmup.size() > 0) log_->add({EventKind::restart});
  }

  void rearrange(const ClassChange& change) {
    learner_->rearrange(change);
    if (race_ != nullptr) race_->rearrange(change);
    if (averaging_ != nullptr) averaging_->rearrange(change);
    classes_ = change.after;
    resize_outputs();
  }

  // Decides, compares the decision with the target, learns. A row of weight 0 is only decided.
  // `again`: a new learner learns a row that an earlier one has learned; its target was counted.
  void run_round(const LabelledRow<Real>& now, Row<Real>* ready, Calibration::Counter& counter,
                 bool again = false) {
    Row<Real>& row = decide(now.x, row_, ready, outputs_);
    const bool judged =
        !again && now.weight != 0.0 && task_ != Task::novelty && !verdict_.reached();
    const bool silent = judged && is_silent(row);
    const std::int64_t mistakes = counts_.mistakes;
    const bool first = !again && !now.again && now.weight != 0.0;
    if (first && sets_ != nullptr) count_set(now, row);
    const bool measured = first && intervals_ != nullptr && std::abs(now.target) < kLargest;
    const Measured found = measured ? measure(now, row) : Measured{};
    if (units_ != nullptr) {
      learn_in_units(now, row, counter, again || (now.surveyed && units_->settled()));
    } else if (now.weight != 0.0) {
      learn_decided(now, row, counter, true);
    }
    if (measured) count_interval(now, found);
    if (intervals_ != nullptr) intervals_->follow(local_examples());
    if (judged) judge(now, counts_.mistakes != mistakes, silent);
  }

  // What a decided row says about the errors, before it is learned.
  struct Measured {
    double answer = 0.0;
    double local = 1.0;
  };
  Measured measure(const LabelledRow<Real>& now, const Row<Real>& row) {
    const double said = averaging_ != nullptr ? answer(row)[0] : outputs_[0];
    const double answer = constant() + target_scale() * said;
    return {answer, intervals_->look(row, local_examples(), std::abs(now.target - answer))};
  }
  void count_interval(const LabelledRow<Real>& now, const Measured& found) {
    const double spread = learner_->last_variance();
    if (now.span != nullptr) {
      const double size = intervals_->scale(found.local, spread);
      const double half = intervals_->half(now.coverage, size);
      now.span[0] = found.answer - half;
      now.span[1] = found.answer + half;
    }
    const double error = std::abs(now.target - found.answer);
    if (error < kLargest) intervals_->count(error, found.local, spread);
  }
  // The same for classes.
  void count_set(const LabelledRow<Real>& now, const Row<Real>& row) {
    if (classes_ < 2 || now.unseen) return;
    const auto code = static_cast<std::size_t>(now.target);
    const std::span<const double> said = answer(row);
    if (now.span != nullptr) {
      const double least = sets_->threshold(now.coverage);
      now.span[0] = 0.0;
      for (std::size_t k = 0; k < classes_; ++k) now.span[0] += ClassSets::holds(said, least, k);
      now.span[1] = ClassSets::holds(said, least, code) ? 1.0 : 0.0;
    }
    sets_->count(said, code);
  }

  // Whether no stored example contributes to the row just decided.
  [[nodiscard]] bool is_silent(const Row<Real>& row) const {
    for (const double output : outputs_) {
      if (output != 0.0) return false;
    }
    const Expansion<Real>* examples = learner_->expansion();
    return examples != nullptr && examples->size() > 0 && row.self > 0.0;
  }

  // Compares the decision in outputs_ with the guess.
  void judge(const LabelledRow<Real>& now, bool mistake, bool silent) {
    if (task_ == Task::classification) {
      verdict_.count_class(static_cast<std::size_t>(now.target), mistake, now.weight, silent);
    } else if (std::abs(now.target) < kLargest) {
      verdict_.count_target(now.target, outputs_[0], now.weight, silent);
    }
    if (verdict_.reached()) news_.store(true, std::memory_order_relaxed);
  }

  // Counts the target, unless it was counted before, and learns it in units. outputs_ then holds
  // the decision from before the round, in the units of the targets.
  void learn_in_units(const LabelledRow<Real>& now, Row<Real>& row, Calibration::Counter& counter,
                      bool again) {
    const double answered = units_->answer(outputs_[0]);
    if (now.weight != 0.0) {
      if (!again && std::abs(now.target) < kLargest) count_target(now.target);
      LabelledRow<Real> scaled = now;
      scaled.target = units_->scaled(now.target);
      const bool learns = again ? units_->known() : units_->learns();
      learn_decided(scaled, row, counter, learns && std::abs(now.target) * now.weight < kLargest);
    }
    outputs_[0] = answered;
  }

  // If the unit changes, f becomes the same function in the new one; if the centre changes, only if
  // f has a constant.
  void count_target(double target) {
    if (hold_ != nullptr) {
      units_->observe(target, outputs_[0]);
      return;
    }
    move_targets(units_->count(target, outputs_[0]));
  }
  void move_targets(double factor) {
    const double shift = units_->shift();
    if (shift != 0.0) {
      if (learner_->shift_targets(shift)) outputs_[0] += shift;
      if (race_ != nullptr) race_->shift_targets(shift);
    }
    if (units_->far_off()) {
      learner_->doubt();
      if (race_ != nullptr) race_->doubt();
    }
    if (factor == 1.0) return;
    if (log_ != nullptr) log_->add({EventKind::rescale});
    learner_->scale_targets(factor);
    if (race_ != nullptr) race_->scale_targets(factor);
    if (averaging_ != nullptr) averaging_->scale(factor);
    outputs_[0] *= factor;
  }

  // The rest of the round of a decided row. It is learned if `learns` is true and the row is sound.
  void learn_decided(const LabelledRow<Real>& now, Row<Real>& row, Calibration::Counter& counter,
                     bool learns) {
    if (counter.counts()) {
      // A single class is the positive one, as in `aim_at_class`.
      const std::size_t code = classes_ == 1 ? 1 : static_cast<std::size_t>(now.target);
      const std::span<const double> said = answer(row);
      if (now.chance != nullptr && classes_ > 1) {
        counter.flush();
        *now.chance = chance(said, code);
      }
      counter.count(said, code, now.weight);
    }
    Turn<Real> turn{
        {.self = row.self, .round = counts_.seen}, now.x, &row, outputs_, direction_, &random_};
    const bool mistake = aim(now, outputs_, direction_, turn);
    counts_.mistakes += mistake;
    coarse_ |= row.coarse;
    if (learns && sound(now, row, outputs_)) {
      if (averaging_ != nullptr) {
        averaging_->count(*learner_, units_ != nullptr ? units_->centre() : 0.0);
      }
      const bool changed = learner_->learn(turn);
      if (averaging_ != nullptr) averaging_->follow(*learner_);
      counts_.updates += changed;
#ifndef NDEBUG
      if (changed && checks_every_change) learner_->check_invariants();
#endif
    }
    if (race_ != nullptr && race_->running()) {
      run_contenders(now, raw_, learns, lost(mistake, turn));
    }
    ++counts_.seen;
  }

  // ---- the race (race.hpp) ----------------------------------------------------------------------

  // A learner like the model's with another gamma and this share of the budget.
  std::unique_ptr<Learner<Real>> learner_with(double gamma, double share) const {
    return make_learner<Real>(preparation_->spec_with(gamma, share), outputs());
  }
  [[nodiscard]] double share_of(const Contender<Real>& contender) const {
    return contender.is_width() ? race_->share() : 1.0;
  }
  // Allocates all memory of a contender if there is a limit.
  void reserve_contender(Contender<Real>& each, double share) const {
    each.outputs.reserve(outputs());
    each.direction.reserve(outputs());
    if (!limit_.given()) return;
    ByteLimit limit = limit_;
    if (!limit.all()) {
      limit.slots = std::max<std::size_t>(
          1, static_cast<std::size_t>(share * static_cast<double>(limit.slots)));
    }
    each.learner->reserve(limit);
    each.learner->reserve_row(each.row);
  }
  // The share of the budget with which all widths fit into the bytes that are left; 0: too small.
  // No trial takes more than is left for both: bytes grow at most with the square of the examples,
  // and fourfold when a straight part becomes full; the smallest needs little more than one
  // example.
  double share_within_limit() {
    const std::size_t most = learner_->most_coefs() / 2;
    const std::size_t taken = counted_bytes();
    if (taken >= limit_.bytes) return 0.0;
    const double room = static_cast<double>(limit_.bytes - taken) /
                        static_cast<double>(std::size(Race<Real>::kFactors));
    const auto share_of_examples = [&](std::size_t examples) {
      return (static_cast<double>(examples) + 0.5) / static_cast<double>(learner_->most_coefs());
    };
    const auto bytes_of = [&](std::size_t examples) {
      Contender<Real> each;
      each.learner = learner_with(preparation_->gamma(), share_of_examples(examples));
      reserve_contender(each, share_of_examples(examples));
      StateVisitor visitor = StateVisitor::counter();
      visitor.part("learner", *each.learner);
      visitor.part("row", each.row);
      return static_cast<double>(visitor.bytes() + sizeof(each) + 2 * outputs() * sizeof(double));
    };
    if (most < Race<Real>::kFewest || bytes_of(1) > room) return 0.0;
    std::size_t examples = Race<Real>::kFewest;
    double bytes = bytes_of(examples);
    if (bytes > room) return 0.0;
    while (bytes <= room) {
      auto next = static_cast<std::size_t>(static_cast<double>(examples) * std::sqrt(room / bytes));
      next = std::min(next, most);
      if (examples <= limit_.slots && next > limit_.slots && 4.0 * bytes > room) {
        next = limit_.slots;
      }
      if (next <= examples) break;
      bytes = bytes_of(next);
      if (bytes <= room) examples = next;
    }
    return share_of_examples(examples);
  }
  // The same learner with this gamma and the whole budget.
  std::unique_ptr<Learner<Real>> copied(Learner<Real>& learner, double gamma) const {
    StateVisitor saver = StateVisitor::saver();
    saver.part("learner", learner);
    const State state = saver.take();
    std::unique_ptr<Learner<Real>> copy = learner_with(gamma, 1.0);
    StateVisitor loader = StateVisitor::loader(state);
    loader.part("learner", *copy);
    return copy;
  }
  void add_widths() {
    race_->begin();
    if (limit_.given()) race_->begin_limited(share_within_limit());
    if (race_->share() == 0.0) return;
    race_->contenders().reserve(std::size(Race<Real>::kFactors) + 1);
    add_narrower();
    if (!limit_.given() && learner_->lost_straight()) add_straight();
  }
  // Adds contenders with narrower kernels, which keep the same examples as the model's learner.
  void add_narrower() {
    const double one = preparation_->gamma() / preparation_->gamma_factor();
    for (const double factor : Race<Real>::kFactors) {
      Contender<Real> each;
      each.factor = factor;
      each.gamma = factor * one;
      if (factor <= race_->factor() || !std::isfinite(static_cast<Real>(each.gamma))) continue;
      each.learner = learner_with(each.gamma, race_->share());
      if (learner_->recent()) each.learner->be_recent();
      reserve_contender(each, race_->share());
      race_->add(std::move(each));
    }
  }
  // Whether a contender with another memory starts now: at the times of metrics and at a drift.
  [[nodiscard]] bool memory_due() const {
    if (race_ == nullptr || !race_->finds_factor() || race_->waiting() || limit_.given() ||
        hold_ != nullptr || !learner_->can_be_recent()) {
      return false;
    }
    const std::span<const std::int64_t> drifts = learner_->drifts();
    const bool drift = !won_ && !drifts.empty() && drifts.back() + 1 == counts_.seen;
    return (drift || Relevance::due(counts_.seen)) && !race_->has_memory();
  }
  void add_memory() {
    Contender<Real> each = new_contender();
    each.memory = true;
    if (!learner_->recent()) each.learner->be_recent();
    race_->add(std::move(each));
  }
  // A contender with a new learner of the model's gamma and budget.
  [[nodiscard]] Contender<Real> new_contender() const {
    Contender<Real> each;
    each.factor = preparation_->gamma_factor();
    each.gamma = preparation_->gamma();
    each.learner = learner_with(each.gamma, 1.0);
    return each;
  }
  // Adds a contender with a straight part.
  void add_straight() {
    Contender<Real> each = new_contender();
    each.straight = true;
    each.learner->keep_straight();
    race_->add(std::move(each));
  }
  // Adds the model's learner in the metric that its gradients suggest.
  void add_metric() {
    const std::vector<double> relevance = learner_->take_relevance();
    if (relevance.empty() || race_->measures()) return;
    Contender<Real> each;
    each.metric.set(relevance, preparation_->metric().changes() + 1);
    if (!each.metric.differs(preparation_->metric())) return;
    each.measures = true;
    each.factor = preparation_->gamma_factor();
    each.learner = copied(*learner_, preparation_->gamma());
    const MetricChange change(preparation_->metric(), each.metric);
    each.gamma = each.learner->change_units(change, each.factor).gamma;
    race_->add(std::move(each));
  }
  // The loss of a decision.
  [[nodiscard]] double lost(bool mistake, const Turn<Real>& turn) const {
    return task_ == Task::classification ? mistake : std::abs(turn.error);
  }
  // The round of the contenders for a row (`raw`: before scaling), for which the model had this
  // loss.
  void run_contenders(const LabelledRow<Real>& now, const Sample<Real>& raw, bool learns,
                      double model_lost) {
    if (now.again) {
      race_->end();
      return;
    }
    for (Contender<Real>& each : race_->contenders()) {
      each.outputs.resize(outputs());
      each.direction.resize(outputs());
      LabelledRow<Real> row = now;
      if (each.measures) {
        row.x = each.metric.apply(preparation_->in_units(raw, each.shown), each.shown);
      }
      each.learner->decide(row.x, each.row, each.outputs);
      Turn<Real> turn{{.self = each.row.self, .round = counts_.seen},
                      row.x,
                      &each.row,
                      each.outputs,
                      each.direction,
                      &race_->random()};
      const bool mistake = aim(row, each.outputs, each.direction, turn);
      const bool learned = learns && sound(row, each.row, each.outputs) &&
                           (!limit_.given() || each.learner->fits_alone(row.x));
      each.count(learned ? model_lost - lost(mistake, turn) : 0.0, Race<Real>::bounded(now.weight));
      if (learned) each.learner->learn(turn);
    }
    bool other_memory = false;
    race_->check(
        [&](Contender<Real>& winner) {
          other_memory = winner.memory;
          replace_learner(winner);
        },
        [this](Contender<Real>& each) { each.learner = copied(*each.learner, each.gamma); });
    if (other_memory) add_narrower();
  }
  void replace_learner(Contender<Real>& winner) {
    const std::span<const std::int64_t> drifts = learner_->drifts();
    const std::vector<std::int64_t> log(drifts.begin(), drifts.end());
    if (winner.measures) {
      race_->change_metric(MetricChange(preparation_->metric(), winner.metric));
      preparation_->set_metric(winner.metric);
      learner_ = std::move(winner.learner);
    } else if (limit_.given()) {
      learner_.reset();  // first: there is memory for one of the two, and the copy
      StateVisitor saver = StateVisitor::saver();
      saver.part("learner", *winner.learner);
      const State state = saver.take();
      winner.learner.reset();
      learner_ = learner_with(winner.gamma, 1.0);
      reserve_learner();
      StateVisitor loader = StateVisitor::loader(state);
      loader.part("learner", *learner_);
    } else {
      learner_ = copied(*winner.learner, winner.gamma);
    }
    learner_->take_drifts(log);
    won_ = true;
    preparation_->set_gamma(winner.gamma, winner.factor);
    look_ahead_.start();
    learner_->watch(log_.get());
    if (log_ != nullptr) log_->add({EventKind::restart});
  }

  // ---- comparing ------------------------------------------------------------------------------

  // Whether a row can be learned. Rows with k(x, x) <= 0 (all zeros under a linear kernel) are only
  // predicted. So are rows that overflow, after which nothing would be finite, and rows with more
  // features than a byte limit has slots.
  [[nodiscard]] bool sound(const LabelledRow<Real>& now, const Row<Real>& row,
                           std::span<const double> outputs) const {
    bool sound = row.self > 0.0 && std::isfinite(row.self);
    if (limit_.given()) sound = sound && learner_->fits_alone(now.x);
    for (const double output : outputs) sound = sound && std::abs(output) * now.weight < kLargest;
    return sound && std::abs(now.target) * now.weight < kLargest;
  }

  // predict's answer for the row just decided: probabilities are fitted to these answers.
  std::span<const double> answer(const Row<Real>& row) {
    if (averaging_ == nullptr) return outputs_;
    averaged_ = outputs_;
    averaging_->decide(*learner_, row, averaged_);
    return averaged_;
  }

  // The probability of a class in predict's answer for a row.
  double chance(std::span<const double> said, std::size_t code) {
    double two[2];
    if (classes_ > 2) probabilities_.resize(classes_);
    const std::span<double> shares = classes_ > 2 ? std::span<double>(probabilities_) : two;
    calibration_->answer(said, shares);
    return shares[code];
  }

  // Compares a decision with the target: sets margin and direction, in regression the error. True
  // if a class was predicted wrongly.
  [[gnu::always_inline]] bool aim(const LabelledRow<Real>& now, std::span<const double> outputs,
                                  std::span<double> direction, Turn<Real>& turn) const {
    bool mistake = false;
    if (task_ != Task::classification) {
      turn.target = now.target;
      turn.error = now.target - outputs[0];
      turn.margin = -std::abs(turn.error);
      direction[0] = turn.error < 0.0 ? -1.0 : 1.0;
    } else {
      const auto code = static_cast<std::size_t>(now.target);
      mistake = aim_at_class(code, outputs, direction, turn) | now.unseen;
    }
    turn.weight = now.weight;
    if (now.weight != 1.0) {
      for (double& u : direction) u *= now.weight;
    }
    return mistake;
  }

  // Returns true if the prediction was wrong.
  [[gnu::always_inline]] bool aim_at_class(std::size_t code, std::span<const double> outputs,
                                           std::span<double> direction, Turn<Real>& turn) const {
    if (outputs.size() == 1) {
      // No branches: labels are not predictable.
      const bool positive = (code == 1) | (classes_ == 1);
      direction[0] = 2.0 * static_cast<double>(positive) - 1.0;
      turn.margin = direction[0] * outputs[0];
      return (classes_ > 1) & ((outputs[0] >= 0.0) != positive);
    }
    std::size_t best = 0;
    std::size_t wrong = code == 0 ? 1 : 0;
    for (std::size_t k = 1; k < outputs.size(); ++k) {
      if (outputs[k] > outputs[best]) best = k;
      if (k != code && outputs[k] > outputs[wrong]) wrong = k;
    }
    std::fill(direction.begin(), direction.end(), 0.0);
    direction[code] = 0.5;
    direction[wrong] = -0.5;
    turn.margin = outputs[code] - outputs[wrong];
    return best != code;
  }

  // Checks loaded rows: targets are codes of the classes that were known when the row came.
  void check_warmup(Warmup<Real>& warmup) const {
    std::size_t classes = warmup.classes();
    warmup.replay([&](const ClassChange& change) { classes = change.after; },
                  [&](const Sample<Real>&, double target, double weight) {
                    require(weight > 0.0, "weights");
                    const bool code = target >= 0.0 && target < static_cast<double>(classes) &&
                                      target == std::floor(target);
                    require(task_ == Task::classification ? code : std::isfinite(target),
                            "targets");
                  });
    require(warmup.size() == 0 || classes == classes_, "warm-up classes");
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this) + (log_ != nullptr ? log_->bytes() : 0));
    visitor.fixed("classes", classes_);
    visitor.field("seen", counts_.seen);
    visitor.field("mistakes", counts_.mistakes);
    visitor.field("updates", counts_.updates);
    visitor.field("coarse", coarse_);
    visitor.part("random", random_);
    if (preparation_ != nullptr) {
      visitor.part("preparation", *preparation_);
      if (visitor.loading()) {
        learner_.reset();
        learner_ = new_learner(preparation_->spec());
        if (averaging_ != nullptr) averaging_->restart(outputs());
        reserve_learner();
        learner_->watch(log_.get());
      }
    }
    if (units_ != nullptr) visitor.part("target_units", *units_);
    if (race_ != nullptr) {
      race_->visit_state(visitor, [this](Contender<Real>& each) {
        require(race_->finds_factor() || each.factor == preparation_->gamma_factor(), "race");
        each.learner = learner_with(each.gamma, share_of(each));
        reserve_contender(each, share_of(each));
      });
      if (visitor.loading() && race_->finds_factor()) {
        preparation_->set_gamma(preparation_->gamma(), race_->factor());
      }
    }
    visitor.part("learner", *learner_);
    if (averaging_ != nullptr) {
      visitor.part("averaging", *averaging_);
      if (units_ != nullptr) visitor.part("averaged_centres", averaging_->constants());
      if (visitor.loading()) require(averaging_->fits(*learner_), "averages");
    }
    if (calibration_ != nullptr) visitor.part("calibration", *calibration_);
    if (intervals_ != nullptr) {
      visitor.part("intervals", *intervals_);
      if (visitor.loading()) intervals_->arrange(local_examples());
    }
    if (sets_ != nullptr) visitor.part("sets", *sets_);
    visitor.part("verdict", verdict_);
    Hold hold = hold_ != nullptr ? *hold_ : Hold{};
    visitor.part_if(hold.on(), "held", hold);
    if (visitor.loading()) {
      hold_ = hold.on() ? std::make_unique<Hold>(hold) : nullptr;
      require(!hold.on() || can_hold(), "worker");
      if (hold.on()) be_held();
    }
    if (visitor.loading()) news_.store(verdict_.news(), std::memory_order_relaxed);
    visitor.part("row", row_);
    visitor.scratch(prepared_.values);
    visitor.scratch(prepared_.indices);
    visitor.scratch(outputs_);
    visitor.scratch(direction_);
    visitor.scratch(averaged_);
    visitor.scratch(probabilities_);
    visitor.scratch(decision_);
  }

  static constexpr double kLargest = 1e150;                    // squares of larger numbers overflow
  static constexpr std::size_t kPiece = 4 * kBlockRows;        // rows that a thread takes at a time
  static constexpr std::size_t kThreadRows = 16 * kBlockRows;  // the fewest rows per thread

  Task task_;
  bool wide_;
  bool coarse_ = false;
  bool averages_;  // predict does not answer with the last hypothesis
  std::size_t classes_;
  Counts counts_;
  Random random_;
  std::unique_ptr<Learner<Real>> learner_;
  double gamma_;  // of the spec
  std::unique_ptr<Preparation<Real>> preparation_;
  bool won_ = false;                            // in this row a contender has won
  std::unique_ptr<Race<Real>> race_;            // null: no race
  std::unique_ptr<Averaging<Real>> averaging_;  // null: predict answers with the last hypothesis
  std::unique_ptr<Calibration> calibration_;    // null in regression
  std::unique_ptr<TargetUnits> units_;          // null: targets are learned as they come
  std::unique_ptr<Intervals> intervals_;        // null: not requested
  std::unique_ptr<ClassSets> sets_;             // null: not requested
  Verdict verdict_;
  std::unique_ptr<Hold> hold_;      // null: not a worker
  std::atomic<bool> news_ = false;  // whether there is a verdict that the user has not seen
  Row<Real> row_;
  LookAheadMode look_ahead_mode_ = LookAheadMode::automatic;
  LookAhead<Real> look_ahead_;
  std::uint64_t shown_as_ = 0;  // stamp of the units in which waiting rows are shown
  OwnedSample<Real> prepared_;
  Sample<Real> raw_;  // the row of the round, before scaling
  std::vector<double> outputs_;
  std::vector<double> direction_;
  std::vector<double> averaged_;
  std::vector<double> probabilities_;
  std::vector<double> decision_;  // of the round in which the learner is rebuilt
  ByteLimit limit_;
  std::unique_ptr<EventLog> log_;  // null: nothing is reported
  ModelLock lock_;
};

extern template class Model<float>;  // model.cpp
extern template class Model<double>;

}  // namespace budgetron
