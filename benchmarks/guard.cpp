// A small fixed workload whose instructions guard.py counts under callgrind.
//
// Each learner gets the same few hundred rows, dense and then CSR. Only instructions within
// `rounds` are counted, and a dump follows each call of it; the lines on standard output give, in
// the order of the dumps, the learner and its result, which must be the same every time. None of
// the learners needs LAPACK, which is not our code.
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "tests/learners.hpp"

using namespace budgetron;
using namespace learners;

namespace {

constexpr std::size_t kRows = 300;
constexpr std::size_t kWidth = 40;
constexpr std::int64_t kBudget = 64;

// Two of three values are 0; the labels follow a line, with noise.
struct Stream {
  std::vector<float> dense;
  std::vector<float> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> ends{0};
  std::vector<double> targets;

  Stream() {
    Random random(7);
    for (std::size_t i = 0; i < kRows; ++i) {
      double score = 0.2 * (random.uniform() - 0.5);
      for (std::size_t j = 0; j < kWidth; ++j) {
        const bool zero = random.below(3) != 0;
        dense.push_back(zero ? 0.0f : static_cast<float>(random.uniform() - 0.5));
        if (zero) continue;
        values.push_back(dense.back());
        indices.push_back(static_cast<std::int32_t>(j));
        score += static_cast<double>(j % 2 == 0 ? dense.back() : -dense.back());
      }
      ends.push_back(static_cast<std::int64_t>(values.size()));
      targets.push_back(score > 0.0 ? 1.0 : 0.0);
    }
  }

  [[nodiscard]] Batch<float> rows(bool sparse, std::vector<double>& decisions) const {
    Batch<float> rows;
    rows.count = kRows;
    rows.targets = targets.data();
    rows.decisions = &decisions;
    if (sparse) {
      rows.values = values.data();
      rows.indices = indices.data();
      rows.ends = ends.data();
    } else {
      rows.values = dense.data();
      rows.width = kWidth;
    }
    return rows;
  }
};

std::vector<std::pair<const char*, std::shared_ptr<Spec>>> guarded() {
  const auto sized = [](const char* kind) { return part(kind, {{"size", whole(kBudget)}}); };
  return {
      {"rbp", round_of(part("perceptron"), sized("remove-random"))},
      {"forgetron", part("forgetron", {{"kernel", rbf()},
                                       {"size", whole(kBudget)},
                                       {"variant", text("self-tuned")},
                                       {"update", part("perceptron")},
                                       {"signed", true}})},
      {"bogd",
       round_of(part("gradient", {{"step", 0.5}, {"regularization", 1e-6}, {"loss", hinge()}}),
                part("sample",
                     {{"size", whole(kBudget)}, {"sampling", text("uniform")}, {"clip", 0.5}}))},
      {"bpas",
       round_of(part("passive-aggressive", {{"C", 1.0}, {"variant", text("I")}}), sized("absorb"))},
      {"bsgd-merge",
       round_of(part("pegasos", {{"regularization", 1e-3}, {"loss", hinge()}}), sized("merge"))},
      {"fogd", part("fogd", {{"kernel", rbf()},
                             {"n_components", whole(kBudget)},
                             {"step", 0.5},
                             {"loss", hinge()},
                             {"seed", whole(3)}})},
  };
}

}  // namespace

extern "C" [[gnu::noinline]] void rounds(Model<float>& dense, Model<float>& sparse,
                                         const Stream& stream, std::vector<double>& decisions) {
  dense.learn(stream.rows(false, decisions));
  sparse.learn(stream.rows(true, decisions));
}

int main() {
  try {
    const Stream stream;
    for (const auto& [name, spec] : guarded()) {
      Model<float> dense(*spec, Task::classification, 2, 0);
      Model<float> sparse(*spec, Task::classification, 2, 0);
      std::vector<double> decisions;
      rounds(dense, sparse, stream, decisions);
      double total = 0.0;
      for (const double decision : decisions) total += decision;
      std::printf("%s %lld %.6g\n", name, static_cast<long long>(dense.counts().updates), total);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guard: %s\n", error.what());
    return 1;
  }
  return 0;
}
