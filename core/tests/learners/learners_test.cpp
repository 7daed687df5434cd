// Every update, budget and learner under the sanitizers, dense and sparse, two and three classes,
// float and double: invariants after each change (debug builds check them), resuming, joining.
#include <limits>
#include <set>

#include "tests/harness.hpp"
#include "tests/learners.hpp"
#include "tests/reference_lapack.hpp"

using namespace budgetron;
using namespace learners;

namespace {

template <class Real>
void exercise(const Spec& spec, Task task, std::size_t classes, bool sparse) {
  constexpr std::size_t count = 120;
  const Data<Real> data(count, task == Task::regression ? 5 : classes);
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = 0.5 * static_cast<double>((i * i) % 5);
  const std::string average = sparse ? "suffix" : "mean";
  const auto fresh = [&](std::uint64_t seed) {
    return std::make_unique<Model<Real>>(spec, task, classes, seed, false, PreparationRules{},
                                         average);
  };
  const auto model = fresh(5);
  Model<Real>& whole = *model;
  std::vector<double> decisions;
  Batch<Real> all = data.rows(sparse, 0, count);
  all.weights = weights.data();
  Batch<Real> recorded = all;
  recorded.decisions = &decisions;
  whole.learn(recorded);
  for (const double decision : decisions) CHECK(decision == decision);
  CHECK(whole.counts().updates > 0);
  const auto half = fresh(5);
  half->learn(all.piece(0, 50));
  const auto resumed = fresh(99);
  resumed->load(half->save());
  resumed->learn(all.piece(50, count));
  CHECK(whole.save() == resumed->save());
  whole.check_invariants();
  const Answers answers = whole.predict(all);
  CHECK_EQ(answers.width, whole.outputs());
  CHECK(answers.numbers == whole.predict(all, 3).numbers);
  if (classes == 2) {
    whole.join({2, 3, {0, -1, 1}});
    CHECK_EQ(whole.predict(data.rows(sparse, 0, 3)).numbers.size(), 9u);
    Batch<Real> joined = data.rows(sparse, 0, 60);
    joined.unseen = true;
    whole.learn(joined);
    whole.check_invariants();
  }
  CHECK(whole.memory_bytes() > sizeof(Real));
}

// Values that a damaged or forged file may have in place of a number.
template <class T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {Limits::quiet_NaN(), Limits::infinity(), T(-1), T(0), Limits::max()};
  } else {
    return {static_cast<T>(-1), T(0), T(7), Limits::max(), Limits::min()};
  }
}

// A state with an error is refused, or makes a usable model: nothing worse may happen.
template <class Real>
struct Damage {
  const Spec& spec;
  Task task;
  std::size_t classes;
  PreparationRules rules;
  Data<Real> data{80, 2};
  std::size_t refused = 0;

  void load(const State& state) {
    Model<Real> model(spec, task, classes, 5, false, rules);
    try {
      model.load(state);
    } catch (const std::invalid_argument&) {
      ++refused;
      return;
    }
    model.predict(data.rows(true, 0, 3));
    if (task == Task::classification) {
      model.predict(data.rows(true, 0, 3), 1, Answer::probabilities);
    }
    try {
      model.learn(data.rows(false, 60, 72));
    } catch (const std::logic_error&) {  // a debug build recomputes the forged value
    }
  }

  void everywhere() {
    Model<Real> model(spec, task, classes, 5, false, rules);
    model.learn(data.rows(false, 0, 30));
    model.learn(data.rows(true, 30, 60));
    const State sound = model.save();
    for (const auto& [name, array] : sound) {
      State state = sound;
      state.erase(name);
      CHECK_THROWS(model.load(state), std::invalid_argument);
      std::visit([&](const auto& values) { spoil(sound, name, values); }, array);
    }
    Model<Real> younger(spec, task, classes, 5, false, rules);
    younger.learn(data.rows(false, 0, 7));
    graft(sound, younger.save());
    graft(younger.save(), sound);
    State longer = sound;
    longer["nobody reads this"] = std::vector<double>{1.0};
    CHECK_THROWS(model.load(longer), std::invalid_argument);
    CHECK(refused > 20);
  }

  // Puts each field of one state into the other: each is valid, but may have another size.
  void graft(const State& into, const State& from) {
    std::set<std::string> pieces;
    for (const auto& [name, values] : from) {
      for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
        pieces.insert(name.substr(0, at + 1));
      }
    }
    for (const std::string& piece : pieces) {
      State state = into;
      for (const auto& [name, values] : from) {
        if (name.starts_with(piece)) state[name] = values;
      }
      load(state);
    }
  }

  template <class T>
  void spoil(const State& sound, const std::string& name, const std::vector<T>& values) {
    State state = sound;
    const auto with = [&](std::vector<T> other) {
      state[name] = std::move(other);
      load(state);
    };
    std::vector<T> other = values;
    other.push_back(T(1));
    with(other);
    if (values.empty()) return;
    with({values.begin(), values.end() - 1});
    for (const T extreme : extremes<T>()) {
      for (const std::size_t at : std::set{std::size_t{0}, values.size() - 1}) {
        other = values;
        other[at] = extreme;
        with(other);
      }
    }
  }
};

}  // namespace

TEST(no_damaged_state_does_harm) {
  reference::install_lapack();
  for (const auto& spec : every_learner()) {
    Damage<float>{*spec, Task::classification, 3, {}}.everywhere();
  }
  for (const auto& spec : every_regressor()) {
    Damage<float>{*spec, Task::regression, 1, {}}.everywhere();
  }
  Damage<float>{*novelty(), Task::novelty, 1, {}}.everywhere();
  const PreparationRules rules{"auto", "median", 4};
  Damage<float>{*novelty(), Task::novelty, 1, rules}.everywhere();
  const auto spec = round_of(part("perceptron"), part("unlimited"));
  Damage<float>{*spec, Task::classification, 2, rules}.everywhere();
}

TEST(every_learner_survives_the_sanitizers) {
  reference::install_lapack();
  for (const auto& spec : every_learner()) {
    for (const std::size_t classes : {std::size_t{2}, std::size_t{3}}) {
      for (const bool sparse : {false, true}) {
        exercise<double>(*spec, Task::classification, classes, sparse);
        exercise<float>(*spec, Task::classification, classes, sparse);
      }
    }
  }
}

TEST(every_regressor_survives_the_sanitizers) {
  reference::install_lapack();
  for (const auto& spec : every_regressor()) {
    for (const bool sparse : {false, true}) {
      exercise<double>(*spec, Task::regression, 1, sparse);
      exercise<float>(*spec, Task::regression, 1, sparse);
    }
  }
}
