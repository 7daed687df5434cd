// The members of Model that users call, compiled once for float and double. They are here, not in
// the class, because a compiler translates again what is written in a class wherever it is called.
#include "model/model.hpp"

namespace budgetron {

template <class Real>
Model<Real>::Model(const Spec& spec, Task task, std::size_t classes, std::uint64_t seed, bool wide,
                   const PreparationRules& rules, const std::string& average,
                   const ByteLimit& limit, bool target_units, bool intervals)
    : task_(task),
      wide_(wide),
      averages_(average != "last"),
      classes_(classes),
      random_(seed),
      learner_(new_learner(spec)),
      gamma_(make_kernel(spec.part("kernel")).gamma),
      verdict_(task == Task::classification ? classes : 0),
      limit_(limit) {
  spec.check_all_used();
  resize_outputs();
  if (rules.any()) {
    preparation_ =
        std::make_unique<Preparation<Real>>(spec, rules, classes, seed, learner_->most_coefs());
    limit_.changes = limit_.given() && preparation_->may_scale() && rules.scale == "auto";
    limit_.finds_gamma = limit_.changes && preparation_->follows_width();
    if (task == Task::novelty) preparation_->see_constants();
  }
  if (target_units && task == Task::regression) units_ = std::make_unique<TargetUnits>();
  if (task == Task::classification) calibration_ = std::make_unique<Calibration>(outputs());
  // With a byte limit no metric races.
  if ((rules.race || (rules.metric && !limit.given())) && !averages_ && preparation_ != nullptr &&
      preparation_->follows_width()) {
    race_ = std::make_unique<Race<Real>>(rules.race, limit.given());
  }
  if (averages_) averaging_ = std::make_unique<Averaging<Real>>(average, outputs());
  if (intervals && task != Task::classification) intervals_ = std::make_unique<Intervals>();
  if (intervals && task == Task::classification) sets_ = std::make_unique<ClassSets>();
  if (limit.given()) reserve(rules);
}

template <class Real>
Model<Real>::~Model() = default;

template <class Real>
void Model<Real>::hold(const std::vector<std::uint64_t>& base) {
  const auto inside = lock_.exclusive();
  hold_ = std::make_unique<Hold>(Hold{base});
  be_held();
}

template <class Real>
void Model<Real>::decide_held() {
  const auto inside = lock_.exclusive();
  hold_.reset();
  if (preparation_ != nullptr) {
    preparation_->decide_held([this](UnitChange& change) { return change_units(change); });
  }
  if (units_ != nullptr && units_->known()) move_targets(units_->decide_held());
  learner_->decide_held(counts_.seen);
}

template <class Real>
bool Model<Real>::surveys() const {
  return (preparation_ != nullptr && preparation_->surveys()) ||
         (units_ != nullptr && units_->surveys());
}

template <class Real>
void Model<Real>::survey(const Batch<Real>& batch) {
  const auto inside = lock_.exclusive();
  assert(counts_.seen == 0);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const LabelledRow<Real> row = batch.labelled(i);
    if (row.weight == 0.0) continue;
    if (preparation_ != nullptr) preparation_->survey(row.x);
    if (units_ != nullptr && std::abs(row.target) < kLargest) units_->survey(row.target);
  }
}

template <class Real>
void Model<Real>::settle() {
  const auto inside = lock_.exclusive();
  if (preparation_ != nullptr && preparation_->settle()) rebuild();
  if (units_ != nullptr) units_->settle();
}

template <class Real>
void Model<Real>::learn(Batch<Real> batch) {
  const auto inside = lock_.exclusive();
  batch.gaps = takes_gaps() && any_gaps(batch.all());
  std::vector<double>* decisions = batch.decisions;
  const std::size_t begin = decisions != nullptr ? decisions->size() : 0;
  if (decisions != nullptr) decisions->resize(begin + batch.count * outputs());
  const BlockRelease releasing{look_ahead_};
  Calibration::Counter counter(batch.calibrate ? calibration_.get() : nullptr);
  for (std::size_t i = 0; i < batch.count; ++i) {
    learn_row(batch[i], batch.labelled(i), ready_row(batch, i), counter);
    if (decisions != nullptr) {
      std::copy(outputs_.begin(), outputs_.end(), decisions->data() + begin + i * outputs_.size());
    }
  }
}

template <class Real>
Answers Model<Real>::predict(const Batch<Real>& rows, std::size_t threads, Answer kind,
                             double coverage) {
  while (true) {
    const auto [classes, mode] =
        inspect([&](const auto&) { return std::pair(classes_, look_ahead_mode_); });
    const std::size_t width = this->width(kind, classes);
    std::vector<double> answers(rows.count * width);
    std::atomic<bool> stale = false;
    parallel_for(rows.count, kPiece, kThreadRows, threads, [&, classes, mode](Pieces& pieces) {
      Row<Real> row;
      OwnedSample<Real> scaled;
      LookAhead<Real> look_ahead(mode);
      const bool plain = kind == Answer::outputs;
      std::vector<double> outputs(plain ? 0 : outputs_of(classes));
      Batch<Real> share = rows;  // up to the end of this thread's piece
      share.count = 0;
      for (std::size_t i = 0; !stale;) {
        if (i == share.count && !pieces.take(i, share.count)) break;
        const auto inside = lock_.shared();
        if (classes_ != classes) stale = true;
        look_ahead.start();  // rows of a block are decided together, by one model
        do {
          if (stale) break;
          Row<Real>* ready = scales() ? nullptr : look_ahead.row(*learner_, share, i);
          const std::span<double> answer(answers.data() + i * width, width);
          const std::span<double> said = plain ? answer : outputs;
          const Shown shown = predict_row(rows[i], row, scaled, said, ready);
          if (!plain) finish(kind, shown, said, coverage, answer);
          ++i;
        } while (look_ahead.waiting());
      }
    });
    if (!stale) return {std::move(answers), width, classes};
  }
}

template <class Real>
void Model<Real>::join(const ClassChange& change) {
  const auto inside = lock_.exclusive();
  if (preparation_ != nullptr) preparation_->join(change);
  if (calibration_ != nullptr) calibration_->rearrange(change);
  verdict_.rearrange(change);
  rearrange(change);
}

template <class Real>
void Model<Real>::set_look_ahead(LookAheadMode mode) {
  const auto inside = lock_.exclusive();
  look_ahead_mode_ = mode;
  look_ahead_ = LookAhead<Real>(mode);
}

template <class Real>
void Model<Real>::watch(bool on) {
  const auto inside = lock_.exclusive();
  log_ = on ? std::make_unique<EventLog>(counts_.seen) : nullptr;
  learner_->watch(log_.get());
}

template <class Real>
std::vector<Event> Model<Real>::take_events() {
  const auto inside = lock_.exclusive();
  return log_ != nullptr ? log_->take() : std::vector<Event>{};
}

template <class Real>
State Model<Real>::save() {
  const auto inside = lock_.exclusive();  // scratch is used
  StateVisitor visitor = StateVisitor::saver();
  visit_state(visitor);
  return visitor.take();
}

template <class Real>
void Model<Real>::load(const State& state) {
  const auto inside = lock_.exclusive();
  StateVisitor visitor = StateVisitor::loader(state);
  visit_state(visitor);
  visitor.check_all_read();
  if (preparation_ != nullptr) check_warmup(preparation_->warmup());
  resize_outputs();
}

template <class Real>
void Model<Real>::lower(std::size_t budget, std::size_t slots) {
  const auto inside = lock_.exclusive();
  if (race_ != nullptr) slots > 0 ? race_->end_limited() : race_->end();
  learner_->lower(budget, slots, row_, random_);
  if (averaging_ == nullptr) return;
  if (learner_->expansion() != nullptr) {
    averaging_->follow(*learner_);
  } else {
    averaging_->restart(outputs());
  }
}

template <class Real>
std::size_t Model<Real>::memory_bytes() {
  const auto inside = lock_.exclusive();  // scratch is used
  return counted_bytes();
}

template <class Real>
void Model<Real>::check_invariants() {
  const auto inside = lock_.exclusive();  // scratch is used
  learner_->check_invariants();
  if (race_ != nullptr) race_->check_invariants();
}

template <class Real>
void Model<Real>::learn_alone(const Sample<Real>& x, double target, double weight) {
  const bool whole = finite(x);
  const bool sound = whole || (takes_gaps() && !has_infinity(x));
  if (!sound || !std::isfinite(target)) weight = 0.0;
  Calibration::Counter counter(calibration_.get());
  learn_row(x, {.x = x, .target = target, .weight = weight, .gaps = !whole}, nullptr, counter);
}

template <class Real>
void Model<Real>::predict_alone(const Sample<Real>& x) {
  predict_row(x, row_, prepared_, outputs_);
}

template <class Real>
void Model<Real>::answer_alone(const Sample<Real>& x, Answer kind, double coverage) {
  probabilities_.resize(width(kind, classes_));
  finish(kind, predict_row(x, row_, prepared_, outputs_), outputs_, coverage, probabilities_);
}

template <class Real>
Sample<Real> Model<Real>::shown_alone(const Sample<Real>& x, OwnedSample<Real>& out) const {
  return prepared(x, out);
}

template <class Real>
std::vector<Share<Real>> Model<Real>::shares() const {
  const bool averaged = averaging_ != nullptr && averaging_->any();
  return averaged ? averaging_->shares(*learner_) : learner_->shares();
}

template class Model<float>;
template class Model<double>;

}  // namespace budgetron
