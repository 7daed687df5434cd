#include "fleet/small_learner.hpp"

#include <stdexcept>

#include "fleet/small_budgetron.hpp"
#include "fleet/small_descent.hpp"
#include "fleet/small_forgetron.hpp"
#include "fleet/small_perceptron.hpp"

namespace budgetron {

std::unique_ptr<SmallLearner> make_small_learner(const Spec& spec, std::size_t width,
                                                 std::size_t outputs) {
  const std::string& kind = spec.text("kind");
  const std::size_t budget = spec.count("budget");
  if (budget == 0 || budget > 256) {
    throw std::invalid_argument("budget must be 1 to 256 examples per key");
  }
  if (spec.flag("regression") && kind != "bogd" && kind != "budgetron") {
    throw std::invalid_argument("a fleet of '" + kind +
                                "' does no regression: use budgetron or bogd");
  }
  if (kind == "rbp") return std::make_unique<SmallPerceptron>(budget, width, outputs);
  if (kind == "forgetron") return std::make_unique<SmallForgetron>(budget, width, outputs);
  if (kind == "bogd") return std::make_unique<SmallDescent>(spec, budget, width, outputs);
  if (kind == "budgetron") return std::make_unique<SmallBudgetron>(spec, budget, width, outputs);
  throw std::invalid_argument("no algorithm of a fleet is called '" + kind + "'");
}

}  // namespace budgetron
