// The list of budgets: a new one adds its header and its line here.
#include "learners/budgets/budget.hpp"

#include <stdexcept>
#include <string>

#include "learners/budgets/absorb.hpp"
#include "learners/budgets/halve.hpp"
#include "learners/budgets/merge.hpp"
#include "learners/budgets/project.hpp"
#include "learners/budgets/remove.hpp"
#include "learners/budgets/sample.hpp"
#include "learners/budgets/unlimited.hpp"

namespace budgetron {

namespace {

template <class Made>
std::unique_ptr<Made> made(const Spec& spec) {
  auto budget = std::make_unique<Made>(spec);
  budget->object_bytes = sizeof(Made);
  return budget;
}

}  // namespace

template <class Real>
std::unique_ptr<Budget<Real>> make_budget(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "unlimited") return made<Unlimited<Real>>(spec);
  if (kind == "remove-oldest") return made<RemoveOldest<Real>>(spec);
  if (kind == "remove-random") return made<RemoveRandom<Real>>(spec);
  if (kind == "remove-margin") return made<RemoveMargin<Real>>(spec);
  if (kind == "remove-smallest") return made<RemoveSmallest<Real>>(spec);
  if (kind == "refuse") return made<Refuse<Real>>(spec);
  if (kind == "absorb") return made<Absorb<Real>>(spec);
  if (kind == "sample") return made<Sampled<Real>>(spec);
  if (kind == "halve") return made<Halve<Real>>(spec);
  if (kind == "project") return made<Project<Real>>(spec);
  if (kind == "project-smallest") return made<ProjectSmallest<Real>>(spec);
  if (kind == "merge") return made<Merge<Real>>(spec);
  throw std::invalid_argument("no budget is called '" + kind + "'");
}

template std::unique_ptr<Budget<float>> make_budget<float>(const Spec&);
template std::unique_ptr<Budget<double>> make_budget<double>(const Spec&);

}  // namespace budgetron
