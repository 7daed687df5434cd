// The detector of strange rows: what its masses sum to, what its scores are at least, and that
// neither the layout of the rows nor a stop changes them.
#include <cmath>
#include <numeric>

#include "tests/harness.hpp"
#include "tests/learners.hpp"

using namespace budgetron;
using namespace learners;

namespace {

constexpr std::size_t kCount = 300;

template <class Real>
std::unique_ptr<Model<Real>> detector(double memory, std::int64_t budget, std::uint64_t seed = 5) {
  return std::make_unique<Model<Real>>(*novelty(memory, budget), Task::novelty, 1, seed);
}

template <class Real>
std::vector<double> masses(Model<Real>& model) {
  return model.inspect_coefs([](const auto& learner, auto coef) {
    std::vector<double> found;
    for (std::size_t i = 0; i < learner.expansion()->size(); ++i) found.push_back(coef(i, 0));
    return found;
  });
}

template <class Real>
std::vector<double> scores(Model<Real>& model, Batch<Real> rows) {
  std::vector<double> found;
  rows.decisions = &found;
  model.learn(rows);
  return found;
}

template <class Real>
void check(bool sparse) {
  const Data<Real> data(kCount, 2);
  const double memory = 40.0;
  const auto roomy = detector<Real>(memory, 1000);
  const std::vector<double> found = scores(*roomy, data.rows(sparse, 0, kCount));
  for (const double score : found) CHECK(score >= 0.0 && std::isfinite(score));
  // While nothing leaves, every row is in exactly one mass: 1 + q + q^2 + ..., q = 1 - 1/memory.
  const double q = 1.0 - 1.0 / memory;
  const std::vector<double> kept = masses(*roomy);
  const double sum = std::accumulate(kept.begin(), kept.end(), 0.0);
  CHECK(std::abs(sum - (1.0 - std::pow(q, static_cast<double>(kCount))) / (1.0 - q)) < 1e-9);
  CHECK(kept.size() < kCount);  // a row that came before is not stored again

  const auto small = detector<Real>(memory, 9);
  const std::vector<double> whole = scores(*small, data.rows(sparse, 0, kCount));
  small->check_invariants();
  CHECK_EQ(masses(*small).size(), 9u);
  for (const double mass : masses(*small)) CHECK(mass >= 0.0);
  // Rows in the other layout, with a stop: the same scores to rounding, and to the bit after it.
  const auto half = detector<Real>(memory, 9);
  std::vector<double> again = scores(*half, data.rows(sparse, 0, 110));
  const auto resumed = detector<Real>(memory, 9, 99);
  resumed->load(half->save());
  for (const double score : scores(*resumed, data.rows(sparse, 110, kCount))) {
    again.push_back(score);
  }
  CHECK(again == whole);
  CHECK(resumed->save() == small->save());
  const auto other = detector<Real>(memory, 9);
  const std::vector<double> turned = scores(*other, data.rows(!sparse, 0, kCount));
  for (std::size_t i = 0; i < kCount; ++i) CHECK(std::abs(turned[i] - whole[i]) < 1e-3);
}

// Whether a feature that was 5 in all rows, and is 5.01 now, has a score above all before.
template <class Real>
void check_constant(Real size, bool sparse) {
  constexpr std::size_t kRows = 600;
  constexpr std::size_t kWidth = 4;
  Random random(3);
  std::vector<Real> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> ends{0};
  for (std::size_t i = 0; i <= kRows; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      const Real scale = j == 0 ? size : Real(1);
      values.push_back(scale * static_cast<Real>(random.uniform() * 2 - 1));
      if (j == 3) values.back() = i < kRows ? Real(5) : static_cast<Real>(5.01);
      indices.push_back(static_cast<std::int32_t>(j));
    }
    ends.push_back(static_cast<std::int64_t>(values.size()));
  }
  const PreparationRules rules{"auto", "median", kWidth};
  Model<Real> model(*novelty(5000.0, 64), Task::novelty, 1, 5, false, rules);
  const std::vector<double> targets(kRows + 1);
  Batch<Real> rows;
  rows.count = kRows + 1;
  rows.values = values.data();
  rows.targets = targets.data();
  if (sparse) {
    rows.indices = indices.data();
    rows.ends = ends.data();
  } else {
    rows.width = kWidth;
  }
  const std::vector<double> found = scores(model, rows);
  double most = 0.0;
  for (std::size_t i = 300; i < kRows; ++i) most = std::max(most, found[i]);
  CHECK(found[kRows] > 1.5 * most);
}

}  // namespace

TEST(masses_of_a_detector_count_rows_and_its_scores_are_sound) {
  for (const bool sparse : {false, true}) {
    check<double>(sparse);
    check<float>(sparse);
  }
}

TEST(a_detector_sees_a_constant_feature_move) {
  for (const bool sparse : {false, true}) {
    for (const double size : {1.0, 1000.0}) {  // even, uneven
      check_constant<double>(size, sparse);
      check_constant<float>(static_cast<float>(size), sparse);
    }
  }
}
