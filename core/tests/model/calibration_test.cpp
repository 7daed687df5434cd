#include "model/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "tests/harness.hpp"

using budgetron::Calibration;
using budgetron::ClassChange;
using budgetron::State;
using budgetron::StateVisitor;

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double probability(const Calibration& calibration, double output) {
  double answer[2];
  calibration.answer({&output, 1}, answer);
  CHECK(std::abs(answer[0] + answer[1] - 1.0) < 1e-15);
  CHECK(output >= 0.0 ? answer[1] > answer[0] : answer[0] > answer[1]);
  return answer[1];
}

void count(Calibration& calibration, std::span<const double> outputs, std::size_t code,
           double weight) {
  Calibration::Counter(&calibration).count(outputs, code, weight);
}

State state_of(Calibration& calibration) {
  StateVisitor saver = StateVisitor::saver();
  calibration.visit_state(saver);
  return saver.take();
}

}  // namespace

TEST(without_rows_it_is_the_plain_logistic) {
  const Calibration calibration(1);
  CHECK_EQ(probability(calibration, 0.0), 0.5 + 0.5 * kEpsilon);  // predicted: the second class
  CHECK(std::abs(probability(calibration, 2.0) - 1.0 / (1.0 + std::exp(-2.0))) < 1e-15);
}

TEST(rows_of_any_size_and_weight_leave_it_finite_and_rising) {
  Calibration calibration(1);
  std::size_t row = 0;
  for (const double size : {0.0, 1e-300, 1e-160, 1e-90, 1.0, 1e49, 1e60, 1e200, 1e308}) {
    for (const double weight : {1e-300, 1e-100, 1.0, 1e99, 1e200}) {
      for (const double sign : {1.0, -1.0, -1.0, 1.0}) {
        const double output = sign * size;
        count(calibration, {&output, 1}, ++row % 3 == 0 ? 1 : 0, weight);
        const double low = probability(calibration, -1.0);
        const double high = probability(calibration, 1.0);
        CHECK(low >= 0.0 && low <= high && high <= 1.0);
      }
    }
  }
}

TEST(the_best_of_many_classes_is_never_lost_to_underflow) {
  Calibration calibration(3);
  const double outputs[] = {-1e40, 1e40, 0.0};
  double answer[3];
  calibration.answer(outputs, answer);
  CHECK_EQ(answer[1], 1.0);
  const double equal[] = {-5e3, -5e3, -5e3};
  calibration.answer(equal, answer);
  for (const double each : answer) CHECK(std::abs(each - 1.0 / 3.0) < 1e-15);
  CHECK(answer[0] > answer[1] && answer[1] == answer[2]);  // the first of equal classes
}

// Rows of a rare class are mostly predicted as the common one, whatever the outputs are.
TEST(the_predicted_class_is_the_likeliest_where_all_rows_say_otherwise) {
  for (const std::size_t classes : {3, 4, 7}) {
    Calibration calibration(classes);
    std::vector<double> outputs(classes);
    std::vector<double> answer(classes);
    for (int i = 0; i < 2000; ++i) {
      for (std::size_t k = 0; k < classes; ++k) {
        outputs[k] = std::round(3.0 * std::sin(1.0 + 7.3 * i + 2.1 * static_cast<double>(k)));
        if (i % 5 == 0) outputs[k] = 1.0 + kEpsilon * outputs[k];  // equal except for rounding
      }
      calibration.answer(outputs, answer);
      const auto best = std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
      double sum = 0.0;
      for (std::size_t k = 0; k < classes; ++k) {
        sum += answer[k];
        CHECK(answer[k] >= 0.0);
        if (static_cast<std::ptrdiff_t>(k) != best) {
          CHECK(answer[k] < answer[static_cast<std::size_t>(best)]);
        }
      }
      CHECK(std::abs(sum - 1.0) < 1e-14);
      count(calibration, outputs, i % 11 == 0 ? 1 : 0, 1.0);
    }
  }
}

TEST(a_class_that_is_out_of_the_question_has_probability_0) {
  const double nothing = -std::numeric_limits<double>::infinity();
  const double outputs[] = {0.5, nothing, 0.25, nothing};
  double answer[4];
  Calibration(4).answer(outputs, answer);
  CHECK(answer[1] == 0.0 && answer[3] == 0.0);
  CHECK(answer[0] > answer[2] && answer[2] > 0.0);
  CHECK(std::abs(answer[0] + answer[2] - 1.0) < 1e-15);
}

// The line below 0 would cross 1/2 at f = -1; the line above 0 starts at 0.9.
TEST(two_classes_pass_through_one_half_where_f_does_and_rise_everywhere) {
  Calibration calibration(1);
  for (int i = 0; i < 4000; ++i) {
    const double output = 3.0 * std::sin(1.7 * i);
    const double share = 0.5 + 0.5 * std::sin(2.3 * i);  // independent of the outputs
    count(calibration, {&output, 1}, share < (output < -1.0 ? 0.2 : output < 0.0 ? 0.6 : 0.9), 1.0);
  }
  CHECK(probability(calibration, 0.5) > 0.75);
  CHECK(probability(calibration, -0.2) > 0.45);
  CHECK(probability(calibration, -2.9) < 0.3);
  CHECK(probability(calibration, 1e-6) < 0.51);  // no jump
  double before = 0.0;
  for (double output = -4.0; output < 4.0; output += 1e-3) {
    const double now = probability(calibration, output);
    CHECK(now > before);
    before = now;
  }
}

// Rows are buffered within a call, and never longer.
TEST(rows_of_a_call_count_as_they_do_one_by_one) {
  Calibration apart(1);
  Calibration together(1);
  for (int begin = 0; begin < 600;) {
    Calibration::Counter counter(&together);
    for (const int end = std::min(600, begin + 1 + begin % 53); begin < end; ++begin) {
      const double output = std::sin(1.7 * begin);
      const std::size_t code = std::sin(3.0 * begin) + output > 0.2 ? 1 : 0;
      counter.count({&output, 1}, code, 1.0 + begin % 3);
      count(apart, {&output, 1}, code, 1.0 + begin % 3);
    }
  }
  CHECK(state_of(together) == state_of(apart));
}

TEST(two_classes_are_the_same_with_one_output_or_two) {
  Calibration one(1);
  Calibration two(2);
  for (int i = 0; i < 500; ++i) {
    const double output = std::sin(i) + 0.3;
    const double outputs[] = {-0.5 * output, 0.5 * output};
    const std::size_t code = std::sin(3.0 * i) + output > 0.2 ? 1 : 0;
    count(one, {&output, 1}, code, 1.0 + i % 3);
    count(two, outputs, code, 1.0 + i % 3);
    double answer[2];
    two.answer(outputs, answer);
    CHECK_EQ(answer[1], probability(one, output));
  }
  // A single class is on the side above; as the first of two it keeps its sums.
  const double output = 0.7;
  Calibration alone(1);
  Calibration named(1);
  for (int i = 0; i < 20; ++i) {
    const double ours = output;
    const double negative = -output;
    count(alone, {&ours, 1}, 1, 1.0);
    count(named, {&negative, 1}, 0, 1.0);
  }
  alone.rearrange({1, 2, {0, -1}});
  CHECK_EQ(probability(alone, -0.3), probability(named, -0.3));
  CHECK_EQ(probability(alone, 0.3), probability(named, 0.3));
  // With three classes the first two keep their sums.
  one.rearrange({2, 3, {0, 1, -1}});
  two.rearrange({2, 3, {0, 1, -1}});
  const double outputs[] = {0.1, 0.7, 0.0};
  double ours[3];
  double theirs[3];
  one.answer(outputs, ours);
  two.answer(outputs, theirs);
  for (int k = 0; k < 3; ++k) CHECK_EQ(ours[k], theirs[k]);
}
