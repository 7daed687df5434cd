// Every update, budget and page under the sanitizers, dense and sparse, two and three classes,
// float and double: invariants after each change (debug builds check them), resuming, joining.
#include <initializer_list>
#include <limits>

#include "harness.hpp"
#include "model.hpp"
#include "reference_lapack.hpp"

using namespace budgetron;

namespace {

using Fields = std::initializer_list<std::pair<const char*, Spec::Value>>;

std::shared_ptr<Spec> part(const char* kind, Fields fields = {}) {
  auto spec = std::make_shared<Spec>();
  spec->set("kind", std::string(kind));
  for (const auto& [name, value] : fields) spec->set(name, value);
  return spec;
}
Spec::Value whole(std::int64_t value) { return value; }
Spec::Value text(const char* value) { return std::string(value); }
std::shared_ptr<Spec> rbf() { return part("rbf", {{"gamma", 0.5}}); }
std::shared_ptr<Spec> hinge() { return part("hinge"); }

std::shared_ptr<Spec> round_of(std::shared_ptr<Spec> update, std::shared_ptr<Spec> budget,
                               double radius = std::numeric_limits<double>::infinity()) {
  return part("round",
              {{"kernel", rbf()}, {"update", update}, {"budget", budget}, {"radius", radius}});
}

std::vector<std::shared_ptr<Spec>> every_learner() {
  const auto pegasos = [] {
    return part("pegasos", {{"regularization", 0.02}, {"loss", hinge()}});
  };
  const auto gradient = [] {
    return part("gradient", {{"step", 0.5}, {"regularization", 0.01}, {"loss", hinge()}});
  };
  const auto perceptron = [] { return part("perceptron"); };
  const auto avp = [] { return part("avp", {{"step", 0.4}, {"epsilon", 0.5}, {"damping", 0.1}}); };
  const auto sized = [](const char* kind) { return part(kind, {{"size", whole(9)}}); };
  std::vector<std::shared_ptr<Spec>> specs;
  for (const char* kind : {"remove-oldest", "remove-random", "remove-margin", "remove-smallest",
                           "refuse", "absorb", "project-smallest", "merge"}) {
    specs.push_back(round_of(perceptron(), sized(kind)));
    specs.push_back(round_of(pegasos(), sized(kind), 5.0));
  }
  for (const char* sampling : {"uniform", "nonuniform"}) {
    specs.push_back(round_of(
        gradient(),
        part("sample", {{"size", whole(9)}, {"sampling", text(sampling)}, {"clip", 0.6}}), 3.0));
  }
  specs.push_back(
      round_of(perceptron(), part("project", {{"size", whole(9)}, {"threshold", 0.1}}), 4.0));
  specs.push_back(
      round_of(avp(), part("halve", {{"size", whole(10)}, {"ridge", 5e-4}, {"norm", 0.0}}), 2.0));
  specs.push_back(round_of(part("shrinking", {{"shrink", 0.9}}), part("unlimited")));
  specs.push_back(round_of(part("alma", {{"alpha", 0.9}, {"margin", 3.0}, {"C", 1.4}}),
                           part("unlimited"), 1.0));
  specs.push_back(
      round_of(part("passive-aggressive", {{"C", 1.0}, {"variant", text("II")}}), sized("absorb")));
  for (const char* variant : {"basic", "self-tuned", "greedy"}) {
    specs.push_back(part("forgetron", {{"kernel", rbf()},
                                       {"size", whole(9)},
                                       {"variant", text(variant)},
                                       {"update", perceptron()},
                                       {"signed", true}}));
  }
  specs.push_back(
      part("projectron-plus", {{"kernel", rbf()}, {"size", whole(9)}, {"threshold", 0.5}}));
  specs.push_back(part("pomdr", {{"kernel", rbf()},
                                 {"size", whole(10)},
                                 {"radius", 5.0},
                                 {"window", whole(4)},
                                 {"first", whole(3)},
                                 {"near", 0.1}}));
  for (const char* replace : {"auto", "never", "always"}) {
    specs.push_back(part("budgetron", {{"kernel", rbf()},
                                       {"budget", whole(9)},
                                       {"r", 0.1},
                                       {"jitter", 0.01},
                                       {"replace", text(replace)},
                                       {"admission", text("mistake")}}));
  }
  specs.push_back(part("fogd", {{"kernel", rbf()},
                                {"n_components", whole(13)},
                                {"step", 0.5},
                                {"loss", hinge()},
                                {"seed", whole(3)}}));
  specs.push_back(part("nogd", {{"kernel", rbf()},
                                {"rank", whole(3)},
                                {"budget", whole(9)},
                                {"step", 0.5},
                                {"loss", hinge()}}));
  for (const char* cover : {"sphere", "rectangle"}) {
    specs.push_back(part("avm", {{"kernel", rbf()},
                                 {"width", whole(4)},
                                 {"regularization", 0.01},
                                 {"delta", 1.0},
                                 {"cover", text(cover)},
                                 {"beta", 1.0},
                                 {"rho", 0.5},
                                 {"budget", whole(20)},
                                 {"loss", hinge()}}));
  }
  return specs;
}

std::vector<std::shared_ptr<Spec>> every_regressor() {
  const auto tube = [] { return part("tube", {{"step", 0.6}, {"epsilon", 0.1}}); };
  const auto squared = [] { return part("squared", {{"epsilon", 0.1}}); };
  const auto sized = [](const char* kind) { return part(kind, {{"size", whole(9)}}); };
  std::vector<std::shared_ptr<Spec>> specs;
  specs.push_back(round_of(tube(), sized("remove-random")));
  specs.push_back(round_of(tube(), part("project", {{"size", whole(9)}, {"threshold", 0.1}})));
  specs.push_back(round_of(
      part("tube-passive-aggressive", {{"C", 1.0}, {"variant", text("I")}, {"epsilon", 0.1}}),
      part("unlimited")));
  specs.push_back(
      round_of(part("gradient", {{"step", 0.3},
                                 {"regularization", 0.01},
                                 {"loss", part("epsilon-insensitive", {{"epsilon", 0.1}})}}),
               part("sample", {{"size", whole(9)}, {"sampling", text("uniform")}, {"clip", 0.6}})));
  specs.push_back(part("forgetron", {{"kernel", rbf()},
                                     {"size", whole(9)},
                                     {"variant", text("self-tuned")},
                                     {"update", tube()},
                                     {"signed", false}}));
  specs.push_back(part("fogd", {{"kernel", rbf()},
                                {"n_components", whole(13)},
                                {"step", 0.3},
                                {"loss", squared()},
                                {"seed", whole(3)}}));
  specs.push_back(part("nogd", {{"kernel", rbf()},
                                {"rank", whole(3)},
                                {"budget", whole(9)},
                                {"step", 0.3},
                                {"loss", part("absolute")}}));
  specs.push_back(part("budgetron", {{"kernel", rbf()},
                                     {"budget", whole(9)},
                                     {"r", 0.1},
                                     {"jitter", 0.01},
                                     {"replace", text("never")},
                                     {"admission", text("error")}}));
  for (const double regularization : {0.01, 2.0}) {
    specs.push_back(part("avm", {{"kernel", rbf()},
                                 {"width", whole(4)},
                                 {"regularization", regularization},
                                 {"delta", 1.0},
                                 {"cover", text("sphere")},
                                 {"beta", 1.0},
                                 {"rho", 0.5},
                                 {"budget", whole(20)},
                                 {"loss", squared()}}));
  }
  return specs;
}

// Rows with zeros and repeats, as CSR and as a dense matrix.
template <class Real>
struct Data {
  static constexpr std::size_t width = 4;
  std::vector<Real> dense;
  std::vector<Real> values;
  std::vector<std::int64_t> ends{0};
  std::vector<std::int32_t> indices;
  std::vector<double> targets;

  Data(std::size_t count, std::size_t classes) {
    Random random(17);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        Real value = random.below(4) == 0 ? Real(0) : static_cast<Real>(random.uniform() * 3 - 1.5);
        if (i % 7 == 6) value = dense[(i - 3) * width + j];
        dense.push_back(value);
        if (value == Real(0)) continue;
        values.push_back(value);
        indices.push_back(static_cast<std::int32_t>(j));
      }
      ends.push_back(static_cast<std::int64_t>(values.size()));
      targets.push_back(static_cast<double>(random.below(classes)));
    }
  }
  [[nodiscard]] Rows<Real> rows(bool sparse, std::size_t from, std::size_t to) const {
    Rows<Real> out;
    out.count = to - from;
    if (sparse) {
      out.values = values.data();
      out.indices = indices.data();
      out.ends = ends.data() + from;
    } else {
      out.values = dense.data() + from * width;
      out.width = width;
    }
    return out;
  }
};

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
  whole.learn(data.rows(sparse, 0, count), data.targets.data(), weights.data(), &decisions, false);
  for (const double decision : decisions) CHECK(decision == decision);
  CHECK(whole.counts().updates > 0);
  const auto half = fresh(5);
  half->learn(data.rows(sparse, 0, 50), data.targets.data(), weights.data(), nullptr, false);
  const auto resumed = fresh(99);
  resumed->load(half->save());
  resumed->learn(data.rows(sparse, 50, count), data.targets.data() + 50, weights.data() + 50,
                 nullptr, false);
  CHECK(whole.save() == resumed->save());
  whole.check_invariants();
  std::vector<double> answers;
  CHECK_EQ(whole.predict(data.rows(sparse, 0, count), answers), whole.outputs());
  std::vector<double> shared;
  whole.predict(data.rows(sparse, 0, count), shared, 3);
  CHECK(answers == shared);
  if (classes == 2) {
    whole.join({2, 3, {0, -1, 1}});
    whole.predict(data.rows(sparse, 0, 3), answers);
    CHECK_EQ(answers.size(), 9u);
    whole.learn(data.rows(sparse, 0, 60), data.targets.data(), nullptr, nullptr, true);
    whole.check_invariants();
  }
  CHECK(whole.memory_bytes() > sizeof(Real));
}

// What a damaged or made-up file may put in the place of a number.
template <class T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {Limits::quiet_NaN(), Limits::infinity(), T(-1), T(0), Limits::max()};
  } else {
    return {static_cast<T>(-1), T(0), T(7), Limits::max(), Limits::min()};
  }
}

// A state with something wrong is refused, or makes a model that can be used: never more than that.
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
    std::vector<double> answers;
    model.predict(data.rows(true, 0, 3), answers);
    if (task == Task::classification) {
      model.predict(data.rows(true, 0, 3), answers, 1, Answer::probabilities);
    }
    try {
      model.learn(data.rows(false, 60, 72), data.targets.data() + 60, nullptr, nullptr, false);
    } catch (const std::logic_error&) {  // a debug build recomputes what was made up
    }
  }

  void everywhere() {
    Model<Real> model(spec, task, classes, 5, false, rules);
    model.learn(data.rows(false, 0, 30), data.targets.data(), nullptr, nullptr, false);
    model.learn(data.rows(true, 30, 60), data.targets.data() + 30, nullptr, nullptr, false);
    const State sound = model.save();
    for (const auto& [name, array] : sound) {
      State state = sound;
      state.erase(name);
      CHECK_THROWS(model.load(state), std::invalid_argument);
      std::visit([&](const auto& values) { spoil(sound, name, values); }, array);
    }
    Model<Real> younger(spec, task, classes, 5, false, rules);
    younger.learn(data.rows(false, 0, 7), data.targets.data(), nullptr, nullptr, false);
    graft(sound, younger.save());
    graft(younger.save(), sound);
    State longer = sound;
    longer["nobody reads this"] = std::vector<double>{1.0};
    CHECK_THROWS(model.load(longer), std::invalid_argument);
    CHECK(refused > 20);
  }

  // Each piece of one state in the other: sound in itself, but perhaps not of the other's size.
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
    const auto with = [&](std::vector<T> other) {
      State state = sound;
      state[name] = std::move(other);
      load(state);
    };
    std::vector<T> other = values;
    other.push_back(T(1));
    with(other);
    if (values.empty()) return;
    with({values.begin(), values.end() - 1});
    for (const T extreme : extremes<T>()) {
      for (const std::size_t at : {std::size_t{0}, values.size() - 1}) {
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
  const PreparationRules rules{"auto", "median", 4};
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
