// The loop around a real learner: chunks, counts, saving, joining.
#include "model/model.hpp"

#include "tests/harness.hpp"

using namespace budgetron;

namespace {

Spec perceptron() {
  auto kernel = std::make_shared<Spec>();
  kernel->set("kind", std::string("rbf"));
  kernel->set("gamma", 0.7);
  auto update = std::make_shared<Spec>();
  update->set("kind", std::string("perceptron"));
  auto budget = std::make_shared<Spec>();
  budget->set("kind", std::string("unlimited"));
  Spec spec;
  spec.set("kind", std::string("round"));
  spec.set("kernel", kernel);
  spec.set("update", update);
  spec.set("budget", budget);
  spec.set("radius", std::numeric_limits<double>::infinity());
  return spec;
}

struct Data {
  std::vector<float> values;
  std::vector<double> targets;
  std::size_t width = 5;

  explicit Data(std::size_t rows, std::size_t classes) {
    Random random(3);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        values.push_back(static_cast<float>(random.uniform() * 4.0 - 2.0));
      }
      targets.push_back(static_cast<double>(random.below(classes)));
    }
  }
  [[nodiscard]] Batch<float> rows(std::size_t from, std::size_t to) const {
    Batch<float> rows;
    rows.count = to - from;
    rows.values = values.data() + from * width;
    rows.width = width;
    rows.targets = targets.data() + from;
    return rows;
  }
};

}  // namespace

TEST(model_learns_the_same_in_any_chunks) {
  for (const std::size_t classes : {std::size_t{2}, std::size_t{4}}) {
    const Data data(300, classes);
    Model<float> whole(perceptron(), Task::classification, classes, 0);
    Model<float> pieces(perceptron(), Task::classification, classes, 0);
    std::vector<double> first;
    std::vector<double> second;
    Batch<float> all = data.rows(0, 300);
    all.decisions = &first;
    whole.learn(all);
    for (std::size_t i = 0; i < 300; i += 7) {
      const std::size_t end = std::min<std::size_t>(i + 7, 300);
      Batch<float> some = all.piece(i, end);
      some.decisions = &second;
      pieces.learn(some);
    }
    CHECK_EQ(first.size(), 300 * whole.outputs());
    CHECK(first == second);
    CHECK(whole.save() == pieces.save());
    CHECK_EQ(whole.counts().seen, 300);
    CHECK(whole.counts().mistakes > 50);
    CHECK(whole.memory_bytes() > 300 * sizeof(float));
    whole.check_invariants();
  }
}

TEST(model_resumes_from_its_state) {
  const Data data(200, 3);
  Model<float> whole(perceptron(), Task::classification, 3, 0);
  whole.learn(data.rows(0, 200));
  Model<float> half(perceptron(), Task::classification, 3, 0);
  half.learn(data.rows(0, 90));
  Model<float> resumed(perceptron(), Task::classification, 3, 5);
  resumed.load(half.save());
  resumed.learn(data.rows(90, 200));
  CHECK(whole.save() == resumed.save());
}

TEST(model_refuses_a_damaged_state) {
  const Data data(50, 2);
  Model<float> model(perceptron(), Task::classification, 2, 0);
  model.learn(data.rows(0, 50));
  State state = model.save();
  State missing = state;
  missing.erase("learner/expansion/coefs");
  CHECK_THROWS(model.load(missing), std::invalid_argument);
  State wrong = state;
  wrong["learner/expansion/coefs"] = std::vector<float>{1.0f};
  CHECK_THROWS(model.load(wrong), std::invalid_argument);
  State cut = state;
  cut["learner/expansion/coefs"] = std::vector<double>{1.0};
  CHECK_THROWS(model.load(cut), std::invalid_argument);
}

TEST(a_piece_of_a_batch_takes_its_targets_and_weights_along) {
  const std::vector<float> values{0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  const std::vector<double> targets{0.0, 1.0, 2.0};
  const std::vector<double> weights{0.5, 0.25, 4.0};
  const std::vector<std::int64_t> ends{0, 2, 3, 6};
  const std::vector<std::int32_t> indices{0, 1, 7, 2, 3, 4};
  Batch<float> dense{3, values.data(), 2};
  Batch<float> sparse{3, values.data(), 0, ends.data(), indices.data()};
  for (Batch<float>* batch : {&dense, &sparse}) {
    batch->targets = targets.data();
    batch->unseen = true;
    CHECK(batch->labelled(0).unseen && !batch->labelled(1).unseen);
    CHECK_EQ(batch->labelled(2).weight, 1.0);
    batch->weights = weights.data();
    const Batch<float> piece = batch->piece(1, 3);
    CHECK_EQ(piece.count, 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const LabelledRow<float> row = piece.labelled(i);
      CHECK(row.x.values == (*batch)[i + 1].values && row.x.indices == (*batch)[i + 1].indices);
      CHECK_EQ(row.x.count, (*batch)[i + 1].count);
      CHECK_EQ(row.target, targets[i + 1]);
      CHECK_EQ(row.weight, weights[i + 1]);
      CHECK(!row.unseen);
    }
    CHECK(batch->piece(0, 1).unseen);
  }
}
