// Every update, budget and learner as a spec, and rows to learn: tests of all learners run over
// these.
#pragma once

#include <initializer_list>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace learners {

using namespace budgetron;

using Fields = std::initializer_list<std::pair<const char*, Spec::Value>>;

inline std::shared_ptr<Spec> part(const char* kind, Fields fields = {}) {
  auto spec = std::make_shared<Spec>();
  spec->set("kind", std::string(kind));
  for (const auto& [name, value] : fields) spec->set(name, value);
  return spec;
}
inline Spec::Value whole(std::int64_t value) { return value; }
inline Spec::Value text(const char* value) { return std::string(value); }
inline std::shared_ptr<Spec> rbf() { return part("rbf", {{"gamma", 0.5}}); }
inline std::shared_ptr<Spec> hinge() { return part("hinge"); }

inline std::shared_ptr<Spec> round_of(std::shared_ptr<Spec> update, std::shared_ptr<Spec> budget,
                                      double radius = std::numeric_limits<double>::infinity()) {
  return part("round",
              {{"kernel", rbf()}, {"update", update}, {"budget", budget}, {"radius", radius}});
}

inline std::vector<std::shared_ptr<Spec>> every_learner() {
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
  for (const char* replace : {"auto", "never", "always", "recent"}) {
    for (const char* straight : {"none", "auto", "diagonal"}) {
      specs.push_back(part("budgetron", {{"kernel", rbf()},
                                         {"budget", whole(9)},
                                         {"r", 0.1},
                                         {"jitter", 0.01},
                                         {"replace", text(replace)},
                                         {"admission", text("mistake")},
                                         {"straight", text(straight)},
                                         {"floor", 0.003},
                                         {"reflex", std::string(straight) != "none"},
                                         {"relevance", true}}));
    }
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

inline std::vector<std::shared_ptr<Spec>> every_regressor() {
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
                                     {"admission", text("error")},
                                     {"straight", text("auto")},
                                     {"floor", 0.003},
                                     {"reflex", true},
                                     {"relevance", true}}));
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

inline std::shared_ptr<Spec> novelty(double memory = 40.0, std::int64_t budget = 9) {
  return part("novelty",
              {{"kernel", rbf()}, {"budget", whole(budget)}, {"memory", memory}, {"near", 0.99}});
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
  [[nodiscard]] Batch<Real> rows(bool sparse, std::size_t from, std::size_t to) const {
    Batch<Real> out;
    out.count = to - from;
    out.targets = targets.data() + from;
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

}  // namespace learners
