// The list of budgets: a new one adds its header and its line here.
#include "budget.hpp"

#include <stdexcept>
#include <string>

#include "budgets/halve.hpp"
#include "budgets/unlimited.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Budget<Real>> make_budget(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "unlimited") return std::make_unique<Unlimited<Real>>(spec);
  if (kind == "halve") return std::make_unique<Halve<Real>>(spec);
  throw std::invalid_argument("no budget is called '" + kind + "'");
}

template std::unique_ptr<Budget<float>> make_budget<float>(const Spec&);
template std::unique_ptr<Budget<double>> make_budget<double>(const Spec&);

}  // namespace budgetron
