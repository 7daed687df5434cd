// One thread learns, others predict, inspect and copy: tests the contract of model.hpp under
// ThreadSanitizer (`make tsan`).
#include <atomic>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/harness.hpp"
#include "tests/learners.hpp"
#include "tests/reference_lapack.hpp"

using namespace budgetron;
using namespace learners;

namespace {

constexpr std::size_t kRows = 600;
constexpr std::size_t kPiece = 20;

// A model that learns `data` piece by piece, in another thread.
template <class Real>
std::jthread learning(Model<Real>& model, const Data<Real>& data, std::atomic<bool>& done) {
  return std::jthread([&] {
    for (std::size_t i = 0; i < kRows; i += kPiece) {
      model.learn(data.rows(i % 40 == 0, i, i + kPiece));
      model.learn_one(data.rows(false, i, i + 1)[0], data.targets[i]);
    }
    done = true;
  });
}

// All operations that are allowed while a model learns. `twin` receives the copy.
template <class Real>
void use(Model<Real>& model, Model<Real>& twin, const Data<Real>& data) {
  const Answers answers = model.predict(data.rows(true, 0, 200), 2);
  CHECK_EQ(answers.classes, 2u);
  for (const double answer : answers.numbers) CHECK(std::isfinite(answer));
  model.predict(data.rows(false, 0, 5), 1, Answer::probabilities);
  double one = 0.0;
  model.predict_one(data.rows(false, 3, 4)[0], [&](auto outputs) { one = outputs[0]; });
  CHECK(std::isfinite(one));
  twin.load(model.save());
  model.inspect([&](const Learner<Real>& learner) {
    const Expansion<Real>* f = learner.expansion();
    for (std::size_t i = 0; f != nullptr && i < f->size(); ++i) CHECK(std::isfinite(f->coef(i, 0)));
    CHECK(model.counts().seen >= 0 && model.gamma() > 0.0);
  });
  CHECK(model.memory_bytes() > 0);
  model.take_events();
}

}  // namespace

TEST(threads_learn_predict_and_copy_at_once) {
  reference::install_lapack();
  const Data<float> data(kRows + kPiece, 2);
  for (const auto& spec : every_learner()) {
    const auto fresh = [&] {
      return std::make_unique<Model<float>>(*spec, Task::classification, 2, 5);
    };
    const auto model = fresh();
    model->watch(true);
    std::atomic<bool> done = false;
    {
      const std::jthread learner = learning(*model, data, done);
      std::vector<std::jthread> others;
      for (int i = 0; i < 2; ++i) {
        others.emplace_back([&] {
          const auto twin = fresh();
          while (!done) use(*model, *twin, data);
        });
      }
    }
    const auto alone = fresh();
    std::atomic<bool> finished = false;
    learning(*alone, data, finished).join();
    CHECK(model->save() == alone->save());
  }
}

// A round adds the same example with weight 1 to f again and again, so that f is an integer between
// two rounds, and not an integer within a round.
TEST(threads_see_a_row_between_two_rounds) {
  const auto spec = round_of(
      part("gradient", {{"step", 1.0}, {"regularization", 0.0}, {"loss", part("absolute")}}),
      part("unlimited"));
  Model<double> model(*spec, Task::regression, 1, 0);
  const std::vector<double> x{0.5, 0.25};
  const double target = 1e9;
  Batch<double> row{1, x.data(), x.size()};
  row.targets = &target;
  std::atomic<bool> done = false;
  const std::jthread learner([&] {
    for (int i = 0; i < 300; ++i) model.learn(row);
    done = true;
  });
  double last = 0.0;
  while (!done) {
    const double answer = model.predict(row).numbers[0];
    CHECK_EQ(answer, std::floor(answer));
    CHECK(answer >= last);
    last = answer;
  }
}

TEST(threads_make_and_destroy_models) {
  const std::int64_t before = live_models;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int j = 0; j < 20; ++j) {
          const Model<float> model(*every_learner().front(), Task::classification, 2, 0);
          CHECK(live_models > 0);
        }
      });
    }
  }
  CHECK_EQ(live_models.load(), before);
}
