// The list of budgets: a new one adds its header and its line here.
#include "budget.hpp"

#include <stdexcept>
#include <string>

#include "budgets/absorb.hpp"
#include "budgets/halve.hpp"
#include "budgets/merge.hpp"
#include "budgets/project.hpp"
#include "budgets/remove.hpp"
#include "budgets/sample.hpp"
#include "budgets/unlimited.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Budget<Real>> make_budget(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "unlimited") return std::make_unique<Unlimited<Real>>(spec);
  if (kind == "remove-oldest") return std::make_unique<RemoveOldest<Real>>(spec);
  if (kind == "remove-random") return std::make_unique<RemoveRandom<Real>>(spec);
  if (kind == "remove-margin") return std::make_unique<RemoveMargin<Real>>(spec);
  if (kind == "remove-smallest") return std::make_unique<RemoveSmallest<Real>>(spec);
  if (kind == "refuse") return std::make_unique<Refuse<Real>>(spec);
  if (kind == "absorb") return std::make_unique<Absorb<Real>>(spec);
  if (kind == "sample") return std::make_unique<Sampled<Real>>(spec);
  if (kind == "halve") return std::make_unique<Halve<Real>>(spec);
  if (kind == "project") return std::make_unique<Project<Real>>(spec);
  if (kind == "project-smallest") return std::make_unique<ProjectSmallest<Real>>(spec);
  if (kind == "merge") return std::make_unique<Merge<Real>>(spec);
  throw std::invalid_argument("no budget is called '" + kind + "'");
}

template std::unique_ptr<Budget<float>> make_budget<float>(const Spec&);
template std::unique_ptr<Budget<double>> make_budget<double>(const Spec&);

}  // namespace budgetron
